//! The coordinator's decisions.
//!
//! [`State::apply`] is pure: the time is an argument, and the call only changes the state and returns the
//! effects to carry out, in order. First the event changes what is known. Then the consequences are settled:
//! a layer is committed, copies are ordered, lost files are computed again, and waiting workers get their
//! orders.

use crate::cluster::event::{
    Effect, Ending, Event, LeaveReason, Millis, Note, NoteKind, Order, Progress, Registration, Reply,
    RequestId,
};
use crate::cluster::failures::PAUSE;
use crate::cluster::state::{CopyState, PendingPoll, Presence, State, TaskProgress, Worker, digest_of};
use fathom_proto::{Attempt, Done, Failure, Outcome, Session};
use fathom_run::WorkerId;
use fathom_run::{Depth, Keep, ShardReport, Task};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

/// A request for orders is answered after this time, even if there are none.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Reports are made durable after this time. Until then the files in the workers' stores stand for them.
const SAVE_EVERY: Duration = Duration::from_millis(500);
/// Time that workers have to leave when the run ends.
const GRACE: Duration = Duration::from_secs(30);

impl State {
    /// Handles an event. Returns the effects to carry out, in order.
    pub fn apply(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Register(request, registration) => self.register(now, request, registration, &mut effects),
            Event::Heartbeat(request, session, progress) => {
                let reply = self.heartbeat(now, session, progress, &mut effects);
                effects.push(Effect::Reply(request, reply));
            }
            Event::TakeOrders { request, session, tasks, version } => {
                let poll = PendingPoll { request, tasks, version, since: now };
                self.take_orders(now, session, poll, &mut effects);
            }
            Event::Report { request, session, number, outcomes } => {
                let reply = match self.touch_session(now, session) {
                    None => {
                        for outcome in &outcomes {
                            effects.push(note(NoteKind::LateReport, None, outcome, None));
                        }
                        Reply::Unknown
                    }
                    Some(worker) if number != 0 && number <= self.worker(worker).reports => Reply::Known,
                    Some(worker) => {
                        self.worker(worker).reports = number;
                        for outcome in outcomes {
                            self.report(now, worker, outcome, &mut effects);
                        }
                        Reply::Known
                    }
                };
                effects.push(Effect::Reply(request, reply));
            }
            Event::Leave(request, session) => {
                if let Some(worker) = self.touch_session(now, session) {
                    self.remove_worker(worker, Presence::Left, NoteKind::Left, &mut effects);
                }
                effects.push(Effect::Reply(request, Reply::Known));
            }
            Event::Drain(request, name) => {
                let reply = match self.drain(&name, &mut effects) {
                    Ok(said) => Reply::Said(said),
                    Err(refused) => Reply::Refused(refused),
                };
                effects.push(Effect::Reply(request, reply));
            }
            Event::Stop(request) => {
                let said = match self.workers.alive().count() {
                    0 => "stopping: no worker is there".into(),
                    1 => "stopping: 1 worker stops at the next coset".into(),
                    workers => format!("stopping: {workers} workers stop at the next coset"),
                };
                effects.push(Effect::Reply(request, Reply::Said(said)));
                self.end(now, Ending::Stopped, &mut effects);
            }
            Event::Terminate => self.end(now, Ending::Terminated, &mut effects),
            Event::Tick => {
                self.tick(now, &mut effects);
                self.release_drained();
            }
        }
        self.settle(now, &mut effects);
        effects
    }

    fn register(
        &mut self,
        now: Millis,
        request: RequestId,
        registration: Registration,
        effects: &mut Vec<Effect>,
    ) {
        let Registration { worker: id, name, address, threads, memory_bytes, kernel, version, inventory } =
            registration;
        if self.workers.get(id).is_some_and(Worker::is_alive) {
            // The process died and was restarted within its lease.
            self.remove_worker(id, Presence::Lost, NoteKind::BeginsAgain, effects);
        }
        let known = self.workers.get(id);
        if known.is_none_or(|worker| (&worker.name, &worker.address) != (&name, &address)) {
            effects.push(Effect::SaveWorker(id, name.clone(), address.clone()));
        }
        // A drained worker remains drained until it has said that it left.
        let is_set_aside = known.is_some_and(|worker| worker.is_set_aside);
        let draining = is_set_aside
            || known.is_some_and(|worker| worker.draining && worker.presence() != Presence::Left);
        let held = self.files.held_by(id).clone();
        let session = self.new_session();
        let detail = format!(
            "{name} at {address}, version {version}, {threads} threads of {kernel}, {memory_bytes} bytes of memory, {} files",
            inventory.len()
        );
        let mut worker = Worker::registered(name, address, threads, kernel, session, now);
        (worker.draining, worker.is_set_aside) = (draining, is_set_aside);
        self.workers.insert(id, worker);
        // Sort the inventory: right files, wrong files, and files that are given back.
        let (mut right, mut other, mut given) = (BTreeSet::new(), Vec::new(), Vec::new());
        for stored in inventory.into_iter().filter(|_| !self.rules.shared_store) {
            match self.files.get(stored.task) {
                Some(file) if stored.digest.is_none_or(|digest| digest == file.digest) => {
                    right.insert(stored.task);
                }
                Some(_) => other.push(stored.task),
                None if self.is_given_back(stored.task) => given.push(stored.task),
                None if stored.task.depth == self.depth => {
                    self.audits.unattributed.insert(stored.task);
                }
                None => {}
            }
        }
        let inventory = right;
        for &task in held.difference(&inventory) {
            self.remove_holder(task, id);
        }
        for &task in &inventory {
            self.add_holder(task, id);
        }
        self.unsettled.moved = true;
        self.unsettled.owners = true;
        self.unsettled.targets = true;
        effects.push(Effect::Note(Note {
            kind: NoteKind::Registered,
            worker: Some(id),
            task: None,
            attempt: None,
            detail: Some(detail),
        }));
        effects.push(Effect::Reply(request, Reply::Registered { session, needed: self.needed() }));
        for task in other {
            self.order(id, Order::Discard(self.stored(task)));
            effects.push(note_of(NoteKind::OtherFile, Some(id), task, None));
        }
        for task in given {
            self.order(id, Order::GiveBack(task));
        }
    }

    /// Returns the layers that workers should keep.
    fn needed(&self) -> Vec<Depth> {
        let first = match self.rules.keep {
            Keep::All => 0,
            Keep::Last | Keep::Two => self.depth.0.saturating_sub(2),
        };
        (first..=self.depth.0).map(Depth).collect()
    }

    /// Returns the worker of a session that lasts, and notes that it was heard.
    fn touch_session(&mut self, now: Millis, session: Session) -> Option<WorkerId> {
        let id = self.workers.of_session(session)?;
        self.worker(id).heard = now;
        Some(id)
    }

    fn heartbeat(
        &mut self,
        now: Millis,
        session: Session,
        progress: Progress,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let Some(id) = self.touch_session(now, session) else {
            return Reply::Unknown;
        };
        // The listed orders are under way. An order that was not listed for a while is lost, either with the
        // reply that carried it, or with its report in the worker's memory. The wait covers reports that are
        // still on their way here.
        let underway: BTreeSet<Task> = progress.underway.iter().copied().collect();
        let is_order_lost = |since: Millis| now.since(since) > 3 * self.rules.heartbeat;
        let worker = &self.workers[id];
        let waits = |task: Task| {
            worker.orders.iter().any(|order| matches!(order, Order::Copy(file, _) if file.task == task))
        };
        let (mut heard, mut lost) = (Vec::new(), Vec::new());
        for &task in self.tasks.running(id) {
            match self.tasks.get(task).map(|state| &state.making) {
                Some(TaskProgress::Running(_, _)) if underway.contains(&task) => heard.push(task),
                Some(TaskProgress::Running(_, since)) if is_order_lost(*since) => lost.push(task),
                _ => {}
            }
        }
        let (mut heard_copies, mut lost_copies) = (Vec::new(), Vec::new());
        for &task in self.files.coming_to(id) {
            match self.files.copy(task, id) {
                Some(CopyState::Ordered(_)) if underway.contains(&task) => heard_copies.push(task),
                Some(CopyState::Ordered(since)) if is_order_lost(since) && !waits(task) => {
                    lost_copies.push(task)
                }
                _ => {}
            }
        }
        for task in heard {
            self.set_progress(task, TaskProgress::Running(id, now), now);
        }
        for task in heard_copies {
            self.files.set_copy(task, id, CopyState::Ordered(now));
        }
        if !lost.is_empty() || !lost_copies.is_empty() {
            self.strike(now, id, effects);
        }
        for task in self.audits_heard(now, id, &underway) {
            effects.push(note_of(NoteKind::OrderLost, Some(id), task, None));
        }
        for task in lost {
            self.set_waiting(task, now);
            effects.push(note_of(NoteKind::OrderLost, Some(id), task, None));
        }
        for task in lost_copies {
            self.forget_copy(task, id);
            effects.push(note_of(NoteKind::OrderLost, Some(id), task, None));
        }
        let worker = self.worker(id);
        worker.rate.note(now, &progress);
        worker.progress = progress;
        Reply::Known
    }

    pub(super) fn set_waiting(&mut self, task: Task, not_before: Millis) {
        self.set_progress(task, TaskProgress::Waiting, not_before);
    }

    fn take_orders(&mut self, now: Millis, session: Session, poll: PendingPoll, effects: &mut Vec<Effect>) {
        let Some(id) = self.touch_session(now, session) else {
            effects.push(Effect::Reply(poll.request, Reply::Unknown));
            return;
        };
        self.unsettled.awake.insert(id);
        let worker = self.worker(id);
        if let Some(older) = worker.poll.replace(poll) {
            effects.push(Effect::Reply(older.request, Reply::Orders(Vec::new(), None)));
        }
        // A worker that asks although it was told to leave has lost that reply, so tell it again. But workers
        // go on asking a coordinator that goes, until it is gone.
        if let Some(reason) = worker.leaving.filter(|reason| *reason != LeaveReason::CoordinatorGoes)
            && !worker.orders.contains(&Order::Leave(reason))
        {
            worker.orders.push(Order::Leave(reason));
        }
    }

    fn report(&mut self, now: Millis, id: WorkerId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let task = outcome.task;
        if outcome.attempt.is_none() {
            return self.report_copy(now, id, outcome, effects);
        }
        if self.audited(now, id, &outcome, effects) {
            return;
        }
        let expected = self.tasks.get(task).and_then(|state| match state.making {
            TaskProgress::Running(worker, _) if worker == id => {
                Some(Attempt { epoch: self.epoch, number: state.attempts })
            }
            _ => None,
        });
        if outcome.attempt != expected {
            effects.push(note(NoteKind::LateReport, Some(id), &outcome, None));
            return;
        }
        match outcome.result {
            Ok(Done::Made(report)) => {
                if let Err(reason) = self.check_report(&report) {
                    let detail = Some(reason.to_string());
                    effects.push(note_of(NoteKind::Implausible, Some(id), task, detail));
                    return self.refused(now, id, task, &reason.to_string(), effects);
                }
                self.worker(id).strikes = 0;
                effects.push(Effect::Note(Note {
                    kind: NoteKind::TaskDone,
                    worker: Some(id),
                    task: Some(task),
                    attempt: outcome.attempt,
                    detail: Some(format!("{} states, {} bytes", report.totals.states, report.bytes)),
                }));
                self.record_report(now, id, report, effects);
            }
            Ok(Done::Copied(_)) => {
                self.set_waiting(task, now);
                effects.push(note(NoteKind::NoAnswer, Some(id), &outcome, None));
            }
            Err(ref failure) => {
                effects.push(note(NoteKind::TaskFailed, Some(id), &outcome, Some(failure.to_string())));
                self.failed(now, id, task, failure, effects);
            }
        }
    }

    fn record_report(&mut self, now: Millis, id: WorkerId, report: ShardReport, effects: &mut Vec<Effect>) {
        let task = report.task;
        if self.is_given_back(task) {
            // The file was lost and recomputed, and is no longer needed.
            self.tasks.forget(task);
            return self.order(id, Order::GiveBack(task));
        }
        let holder = if self.rules.shared_store { WorkerId::SHARED_STORE } else { id };
        let digest = digest_of(&report);
        if let Err(known) = self.files.note(task, report.bytes, digest) {
            let message = format!(
                "shard {} of depth {} was made twice with different states, {known} and {digest}: the run is wrong, and must not be used",
                task.shard, task.depth
            );
            return self.end(now, Ending::Failed(message), effects);
        }
        self.add_holder(task, holder);
        if task.depth == self.depth {
            self.unsaved.push(task.shard);
            let is_its_own =
                self.audits.disowned.contains(&task) || !self.audits.unattributed.contains(&task);
            let maker = Some(id).filter(|_| is_its_own);
            let took = self.tasks.note_maker(task, maker, now);
            self.draw(maker, &report, took);
            self.set_progress(task, TaskProgress::Made(Arc::new(report)), now);
        } else {
            // The recomputed file is there.
            self.tasks.forget(task);
            self.unsettled.moved = true;
        }
    }

    fn report_copy(&mut self, now: Millis, id: WorkerId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let task = outcome.task;
        let ordered = self.forget_copy(task, id);
        match &outcome.result {
            Ok(Done::Copied(copied)) => {
                // A copy that was not ordered, or no longer is, counts too if the file is known.
                self.worker(id).strikes = 0;
                let of_file = self.files.get(task).map(|file| file.digest);
                if of_file.is_some() && copied.digest.is_some() && of_file != copied.digest {
                    // The copied file was meanwhile replaced by a new one.
                    self.remove_holder(task, id);
                    self.order(id, Order::Discard(self.stored(task)));
                    effects.push(note_of(NoteKind::OtherFile, Some(id), task, None));
                } else if of_file.is_some() {
                    self.add_holder(task, id);
                    self.unsettled.moved |= self.missing.contains(&task);
                    effects.push(note(NoteKind::CopyDone, Some(id), &outcome, None));
                } else if self.is_given_back(task) {
                    self.order(id, Order::GiveBack(task));
                } else if task.depth < self.depth {
                    self.order(id, Order::Retire(task.depth));
                }
            }
            Ok(Done::Made(_)) => {
                effects.push(note(NoteKind::LateReport, Some(id), &outcome, None));
            }
            Err(failure) if ordered.is_some() => {
                effects.push(note(NoteKind::CopyFailed, Some(id), &outcome, Some(failure.to_string())));
                self.files.set_copy(task, id, CopyState::Failed(now.after(PAUSE)));
                match failure {
                    Failure::Damaged { file, address, .. } => {
                        if self.damaged(id, *file, address.as_deref(), effects) {
                            self.strike(now, id, effects);
                        }
                    }
                    Failure::DiskFull(_) => self.rest(now, id),
                    Failure::Unreachable { file, message } => {
                        self.unreached(now, id, *file, message, effects)
                    }
                    _ => self.strike(now, id, effects),
                }
            }
            Err(_) => {}
        }
    }

    /// Has the shards of the current layer computed again that have no holder left.
    pub(super) fn forget_unheld(&mut self) {
        // Holders known from an earlier epoch may still come back.
        let may_have = |id: WorkerId| {
            self.is_alive(id) || self.workers.get(id).is_some_and(|w| w.presence() == Presence::Awaited)
        };
        let made = self.tasks.reports().map(|(report, _)| report.task);
        // A shard that cannot be computed again is waited for.
        let can_be_made = |task: &Task| !self.given.contains(task.shard);
        let made = made.filter(can_be_made);
        let unheld: Vec<Task> = made.filter(|&task| !self.files.holders(task).any(may_have)).collect();
        for task in unheld {
            self.set_waiting(task, Millis(0));
        }
    }

    /// Handles a worker that has left or was lost.
    pub(super) fn remove_worker(
        &mut self,
        id: WorkerId,
        presence: Presence,
        kind: NoteKind,
        effects: &mut Vec<Effect>,
    ) {
        self.forget_peer(id);
        self.give_up_audits(id);
        for task in self.tasks.running(id).clone() {
            self.set_waiting(task, Millis(0));
        }
        for task in self.files.coming_to(id).clone() {
            self.forget_copy(task, id);
        }
        self.mark_lost(self.files.held_by(id).clone());
        self.unsettled.owners = true;
        self.workers.end_session(id, presence);
        let worker = self.worker(id);
        worker.orders.clear();
        if let Some(poll) = worker.poll.take() {
            let reply = match presence {
                // The worker itself said that it leaves, so it does not wait for the reply.
                Presence::Left => Reply::Orders(Vec::new(), None),
                _ => Reply::Unknown,
            };
            effects.push(Effect::Reply(poll.request, reply));
        }
        effects.push(Effect::Note(Note {
            kind,
            worker: Some(id),
            task: None,
            attempt: None,
            detail: Some(self.workers[id].name.clone()),
        }));
    }

    fn drain(&mut self, name: &str, effects: &mut Vec<Effect>) -> Result<String, String> {
        let is_meant = |id: &WorkerId, worker: &Worker| {
            worker.name == name || (!name.is_empty() && id.to_string().starts_with(name))
        };
        let meant: Vec<WorkerId> =
            self.workers.alive().filter(|(id, worker)| is_meant(id, worker)).map(|(id, _)| id).collect();
        let [id] = meant[..] else {
            let known: Vec<String> =
                self.workers.alive().map(|(id, worker)| format!("{id} ({})", worker.name)).collect();
            return Err(match (meant.len(), known.is_empty()) {
                (_, true) => "no worker is there".into(),
                (0, _) => format!("there is no worker {name:?}: there are {}", known.join(", ")),
                _ => format!(
                    "{name:?} may be {} workers: name one by its id: {}",
                    meant.len(),
                    known.join(", ")
                ),
            });
        };
        if !self.workers.alive().any(|(other, worker)| other != id && !worker.draining) {
            return Err(format!(
                "{name:?} is the last worker, and nobody could take over what it holds: start another one, or stop the run with 'fathom stop'"
            ));
        }
        self.worker(id).draining = true;
        self.unsettled.files.extend(self.files.held_by(id));
        self.unsettled.owners = true;
        effects.push(Effect::Note(Note {
            kind: NoteKind::Drained,
            worker: Some(id),
            task: None,
            attempt: None,
            detail: None,
        }));
        Ok(format!("{id} leaves when what it holds is with others"))
    }

    /// Begins to end the run. A run that is ending already keeps its ending, except that a failure replaces
    /// it. [`Ending::Terminated`] then only ends the wait for workers.
    pub(super) fn end(&mut self, now: Millis, ending: Ending, effects: &mut Vec<Effect>) {
        self.audits.clear();
        let until = if ending == Ending::Terminated { now } else { now.after(GRACE) };
        match &mut self.ending {
            None => {
                self.save(now, effects);
                self.ending = Some((ending, until));
            }
            Some((_, before)) if ending == Ending::Terminated => *before = until,
            Some((Ending::Failed(_), _)) => {}
            Some(before) if matches!(ending, Ending::Failed(_)) => *before = (ending, until),
            Some(_) => {}
        }
    }

    fn tick(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let lease = self.rules.lease;
        // After a pause of the coordinator itself nobody counts as silent: the messages of workers may still
        // be waiting to be handled.
        if now.since(self.looked) > lease / 2 {
            self.workers.iter_mut().for_each(|(_, worker)| worker.heard = now);
        }
        self.looked = now;
        let is_over = |worker: &Worker| match worker.presence() {
            Presence::Alive(_) | Presence::Awaited => now.since(worker.heard) > lease,
            Presence::Lost | Presence::Left => false,
        };
        let lost: Vec<WorkerId> =
            self.workers.iter().filter(|(_, worker)| is_over(worker)).map(|(id, _)| id).collect();
        for id in lost {
            self.remove_worker(id, Presence::Lost, NoteKind::Lost, effects);
        }
        let waited = |worker: &Worker| worker.poll.is_some_and(|poll| now.since(poll.since) > LONGEST_WAIT);
        for (_, worker) in self.workers.iter_mut().filter(|(_, worker)| waited(worker)) {
            if let Some(poll) = worker.poll.take() {
                effects.push(Effect::Reply(poll.request, Reply::Orders(Vec::new(), None)));
            }
        }
        if now.since(self.saved) > SAVE_EVERY {
            self.save(now, effects);
        }
        self.give_back(effects);
        self.retry_peers(now);
        let has_rested = |worker: &Worker| worker.rests_until != Millis(0) && worker.rests_until <= now;
        for (_, worker) in self.workers.iter_mut().filter(|(_, worker)| has_rested(worker)) {
            worker.rests_until = Millis(0);
            self.unsettled.owners = true;
            self.unsettled.targets = true;
        }
        if now.since(self.unsettled.tried) >= PAUSE {
            self.unsettled.tried = now;
            self.unsettled.targets = true;
        }
        self.unsettled.all_awake = true;
    }

    /// Makes the reports durable that are not yet.
    pub(super) fn save(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        self.saved = now;
        let shards = std::mem::take(&mut self.unsaved);
        let depth = self.depth;
        let reports: Vec<Arc<ShardReport>> = shards
            .into_iter()
            .filter_map(|shard| self.tasks.get(Task { depth, shard })?.report().cloned())
            .collect();
        if !reports.is_empty() {
            let holders = reports.iter().flat_map(|report| self.held_by(report.task)).collect();
            effects.push(Effect::SaveReports(reports, holders));
        }
    }

    pub(super) fn held_by(&self, task: Task) -> impl Iterator<Item = (Task, WorkerId)> {
        self.files.holders(task).map(move |holder| (task, holder))
    }
}

fn note(kind: NoteKind, worker: Option<WorkerId>, outcome: &Outcome, detail: Option<String>) -> Effect {
    Effect::Note(Note { kind, worker, task: Some(outcome.task), attempt: outcome.attempt, detail })
}

pub(super) fn note_of(
    kind: NoteKind,
    worker: Option<WorkerId>,
    task: Task,
    detail: Option<String>,
) -> Effect {
    Effect::Note(Note { kind, worker, task: Some(task), attempt: None, detail })
}
