//! What follows from what happens.
//!
//! [`State::apply`] is pure: it knows the time from its argument, and does nothing but change the state and return what is to be
//! done, in order. First the event changes what is known; then whatever follows from that is settled: a layer is
//! committed, copies are ordered, lost files are made again, workers that wait get their orders.

use crate::cluster::event::{
    Effect, Ending, Event, LeaveReason, Millis, Note, Order, Progress, Registration, Reply, RequestId,
};
use crate::cluster::state::{
    Copying, HeldFile, Making, Presence, State, Taker, TaskState, Worker, digest_of,
};
use fathom_proto::{Attempt, Done, Failure, Outcome, Session, WorkerId};
use fathom_run::{Depth, Keep, ShardReport, Task};
use std::collections::BTreeSet;
use std::time::Duration;

/// A task that failed waits so long before it is tried again.
const PAUSE: Duration = Duration::from_secs(1);
/// A task that failed so often will fail again.
const MOST_FAILURES: u32 = 5;
/// A worker whose disk is full gets nothing for so long.
const FULL: Duration = Duration::from_secs(30);
/// A request for orders is answered after so long, even if there are none.
const LONGEST_WAIT: Duration = Duration::from_secs(20);
/// Reports are durable after so long. Until then a worker's files stand for them.
const SAVE_EVERY: Duration = Duration::from_millis(500);
/// Workers that were told to leave may take so long.
const GRACE: Duration = Duration::from_secs(30);

impl State {
    /// What is to be done when something happens.
    pub fn apply(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Register(request, registration) => self.register(now, request, registration, &mut effects),
            Event::Heartbeat(request, session, progress) => {
                let reply = self.heartbeat(now, session, progress, &mut effects);
                effects.push(Effect::Reply(request, reply));
            }
            Event::TakeOrders(request, session, tasks, version) => {
                let taker = Taker { request, tasks, version, since: now };
                self.take_orders(now, session, taker, &mut effects);
            }
            Event::Report(request, session, outcomes) => {
                let reply = match self.hear(now, session) {
                    None => {
                        for outcome in &outcomes {
                            effects.push(note("late report ignored", None, outcome, None));
                        }
                        Reply::Unknown
                    }
                    Some(worker) => {
                        for outcome in outcomes {
                            self.report(now, worker, outcome, &mut effects);
                        }
                        Reply::Known
                    }
                };
                effects.push(Effect::Reply(request, reply));
            }
            Event::Leave(request, session) => {
                if let Some(worker) = self.hear(now, session) {
                    self.part(worker, Presence::Left, "worker left", &mut effects);
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
                let workers = self.alive().count();
                let said = format!("stopping: {workers} workers stop at the next coset");
                effects.push(Effect::Reply(request, Reply::Said(said)));
                self.end(now, Ending::Stopped, &mut effects);
            }
            Event::Terminate => self.end(now, Ending::Terminated, &mut effects),
            Event::Tick => self.tick(now, &mut effects),
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
        let Registration { worker: id, name, address, threads, inventory, .. } = registration;
        let known = self.workers.get(&id);
        if known.is_some_and(|worker| matches!(worker.presence, Presence::Alive(_))) {
            // Its process has died and begun again before it was missed.
            self.part(id, Presence::Lost, "worker begins again", effects);
        }
        let known = self.workers.get(&id);
        if known.is_none_or(|worker| (&worker.name, &worker.address) != (&name, &address)) {
            effects.push(Effect::SaveWorker(id, name.clone(), address.clone()));
        }
        self.sessions += 1;
        let session = Session(self.epoch << 32 | self.sessions);
        let detail = format!("{name} at {address}, {threads} threads, {} files", inventory.len());
        self.workers.insert(id, Worker::registered(name, address, threads, session, now));
        // What it has, as far as anybody needs it; and what it was thought to have and has not.
        let inventory: BTreeSet<Task> = inventory.into_iter().collect();
        for (task, file) in &mut self.files {
            match inventory.contains(task) && !self.rules.shared_store {
                true => file.holders.insert(id),
                false => file.holders.remove(&id),
            };
        }
        self.moved = true;
        // It may come back without files that were counted on.
        self.forget_unheld();
        self.plan_owners();
        effects.push(Effect::Note(Note {
            what: "worker registered",
            worker: Some(id),
            task: None,
            attempt: None,
            detail: Some(detail),
        }));
        effects.push(Effect::Reply(request, Reply::Registered { session, needed: self.needed() }));
    }

    /// The layers that workers should keep.
    fn needed(&self) -> Vec<Depth> {
        let first = match self.rules.keep {
            Keep::All => 0,
            Keep::Last => self.depth.0.saturating_sub(2),
        };
        (first..=self.depth.0).map(Depth).collect()
    }

    /// The worker of a session that lasts; it is heard.
    fn hear(&mut self, now: Millis, session: Session) -> Option<WorkerId> {
        let id = self.of_session(session)?;
        self.worker(id).heard = now;
        Some(id)
    }

    fn worker(&mut self, id: WorkerId) -> &mut Worker {
        self.workers.get_mut(&id).expect("workers that were named once stay known")
    }

    fn heartbeat(
        &mut self,
        now: Millis,
        session: Session,
        progress: Progress,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let Some(id) = self.hear(now, session) else {
            return Reply::Unknown;
        };
        // An order that was given a while ago and is not under way was lost with the reply that carried it.
        let underway: BTreeSet<Task> = progress.underway.iter().copied().collect();
        let is_lost = |task: &Task, since: Millis| {
            now.since(since) > 3 * self.rules.heartbeat && !underway.contains(task)
        };
        let lost_tasks: Vec<Task> = self
            .running_on(id)
            .filter(|&(task, since)| is_lost(&task, since))
            .map(|(task, _)| task)
            .collect();
        let lost_copies: Vec<Task> = self
            .copies
            .iter()
            .filter(|((task, target), copying)| {
                *target == id && matches!(copying, Copying::Ordered(since) if is_lost(task, *since))
            })
            .map(|((task, _), _)| *task)
            .collect();
        for task in lost_tasks {
            self.set_waiting(task, now);
            effects.push(note_of("order was lost", Some(id), task, None));
        }
        for task in lost_copies {
            self.copies.remove(&(task, id));
            effects.push(note_of("order was lost", Some(id), task, None));
        }
        self.worker(id).progress = progress;
        Reply::Known
    }

    fn running_on(&self, id: WorkerId) -> impl Iterator<Item = (Task, Millis)> {
        self.tasks.iter().filter_map(move |(task, state)| match state.making {
            Making::Running(worker, since) if worker == id => Some((*task, since)),
            _ => None,
        })
    }

    fn set_waiting(&mut self, task: Task, not_before: Millis) {
        if let Some(state) = self.tasks.get_mut(&task) {
            state.making = Making::Waiting;
            state.not_before = not_before;
        }
    }

    fn take_orders(&mut self, now: Millis, session: Session, taker: Taker, effects: &mut Vec<Effect>) {
        let Some(id) = self.hear(now, session) else {
            effects.push(Effect::Reply(taker.request, Reply::Unknown));
            return;
        };
        if let Some(older) = self.worker(id).taker.replace(taker) {
            effects.push(Effect::Reply(older.request, Reply::Orders(Vec::new(), None)));
        }
    }

    fn report(&mut self, now: Millis, id: WorkerId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let task = outcome.task;
        if outcome.attempt.is_none() {
            return self.report_copy(now, id, outcome, effects);
        }
        let expected = self.tasks.get(&task).and_then(|state| match state.making {
            Making::Running(worker, _) if worker == id => {
                Some(Attempt { epoch: self.epoch, number: state.attempts })
            }
            _ => None,
        });
        if outcome.attempt != expected {
            effects.push(note("late report ignored", Some(id), &outcome, None));
            return;
        }
        match outcome.result {
            Ok(Done::Made(report)) => {
                effects.push(Effect::Note(Note {
                    what: "task done",
                    worker: Some(id),
                    task: Some(task),
                    attempt: outcome.attempt,
                    detail: Some(format!("{} states, {} bytes", report.states, report.bytes)),
                }));
                self.made(now, id, report, effects);
            }
            Ok(Done::Copied(_)) => {
                self.set_waiting(task, now);
                effects.push(note("a copy is no answer to a task", Some(id), &outcome, None));
            }
            Err(ref failure) => {
                effects.push(note("task failed", Some(id), &outcome, Some(failure.to_string())));
                self.failed(now, id, task, failure, effects);
            }
        }
    }

    fn made(&mut self, now: Millis, id: WorkerId, report: ShardReport, effects: &mut Vec<Effect>) {
        let task = report.task;
        let holder = if self.rules.shared_store { WorkerId::SHARED_STORE } else { id };
        let digest = digest_of(&report);
        if let Some(file) = self.files.get_mut(&task).filter(|file| file.digest != digest) {
            let message = format!(
                "shard {} of depth {} was made twice with different states, {} and {digest}: the run is wrong, and must not be used",
                task.shard, task.depth, file.digest
            );
            return self.end(now, Ending::Failed(message), effects);
        }
        let file = HeldFile { holders: BTreeSet::new(), bytes: report.bytes, digest };
        self.files.entry(task).or_insert(file).holders.insert(holder);
        self.moved = true;
        if task.depth == self.depth {
            self.unsaved.push(task.shard);
            self.tasks.get_mut(&task).expect("it was running").making = Making::Made(report);
        } else {
            // A lost file is back.
            self.tasks.remove(&task);
        }
    }

    fn report_copy(&mut self, now: Millis, id: WorkerId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let task = outcome.task;
        let ordered = self.copies.remove(&(task, id));
        match &outcome.result {
            Ok(Done::Copied(_)) => {
                // Also one that was not ordered is one, if the file is still of use.
                if let Some(file) = self.files.get_mut(&task) {
                    file.holders.insert(id);
                    self.moved = true;
                    effects.push(note("copy done", Some(id), &outcome, None));
                }
            }
            Ok(Done::Made(_)) => {
                effects.push(note("late report ignored", Some(id), &outcome, None));
            }
            Err(failure) if ordered.is_some() => {
                effects.push(note("copy failed", Some(id), &outcome, Some(failure.to_string())));
                self.copies.insert((task, id), Copying::Failed(now.after(PAUSE)));
                match failure {
                    Failure::Damaged { file, address, .. } => {
                        self.damaged(id, *file, address.as_deref(), effects)
                    }
                    Failure::DiskFull(_) => self.worker(id).full_until = now.after(FULL),
                    _ => {}
                }
            }
            Err(_) => {}
        }
    }

    fn failed(
        &mut self,
        now: Millis,
        id: WorkerId,
        task: Task,
        failure: &Failure,
        effects: &mut Vec<Effect>,
    ) {
        match failure {
            Failure::Stopped => self.set_waiting(task, now),
            Failure::Unreachable { .. } => self.set_waiting(task, now.after(PAUSE)),
            Failure::Damaged { file, address, .. } => {
                self.set_waiting(task, now);
                self.damaged(id, *file, address.as_deref(), effects);
            }
            Failure::DiskFull(_) => {
                self.set_waiting(task, now);
                self.worker(id).full_until = now.after(FULL);
            }
            Failure::Other(message) => {
                self.set_waiting(task, now.after(PAUSE));
                let state = self.tasks.get_mut(&task).expect("it was running");
                state.failures += 1;
                if state.failures >= MOST_FAILURES {
                    let message = format!(
                        "shard {} of depth {} failed {MOST_FAILURES} times, last with: {message}",
                        task.shard, task.depth
                    );
                    self.end(now, Ending::Failed(message), effects);
                }
            }
            Failure::Contradiction(message) => {
                self.set_waiting(task, now);
                self.end(now, Ending::Failed(message.clone()), effects);
            }
        }
    }

    /// A file is not what was written: whoever has it deletes it.
    fn damaged(&mut self, reporter: WorkerId, file: Task, address: Option<&str>, effects: &mut Vec<Effect>) {
        let holder = match address {
            _ if self.rules.shared_store => Some(WorkerId::SHARED_STORE),
            Some(address) => self.at_address(address),
            None => Some(reporter),
        };
        let Some(holder) = holder else {
            return;
        };
        let was_held = self.files.get_mut(&file).is_some_and(|held| held.holders.remove(&holder));
        // What others say may be old. What a worker says of its own file is so, and it may have taken that file unasked, for a task.
        if !was_held && holder != reporter {
            return;
        }
        self.moved = true;
        match holder == WorkerId::SHARED_STORE {
            true => effects.push(Effect::DiscardShared(file)),
            false => self.worker(holder).orders.push(Order::Discard(file)),
        }
        effects.push(note_of("damaged file discarded", Some(holder), file, None));
        self.forget_unheld();
    }

    /// Shards of the layer in the making that nobody has any more are made again.
    fn forget_unheld(&mut self) {
        let depth = self.depth;
        let unheld: Vec<Task> = self
            .tasks
            .iter()
            .filter(|(task, state)| task.depth == depth && matches!(state.making, Making::Made(_)))
            .filter(|(task, _)| {
                let holders = self.files.get(task).map(|file| &file.holders);
                // Those of an earlier life of the coordinator may still come back.
                !holders.is_some_and(|holders| {
                    holders.iter().any(|&id| {
                        self.is_alive(id)
                            || self.workers.get(&id).is_some_and(|w| w.presence == Presence::Awaited)
                    })
                })
            })
            .map(|(task, _)| *task)
            .collect();
        for task in unheld {
            self.set_waiting(task, Millis(0));
        }
    }

    /// A worker is gone, one way or the other.
    fn part(&mut self, id: WorkerId, presence: Presence, what: &'static str, effects: &mut Vec<Effect>) {
        let running: Vec<Task> = self.running_on(id).map(|(task, _)| task).collect();
        for task in running {
            self.set_waiting(task, Millis(0));
        }
        self.copies.retain(|(_, target), _| *target != id);
        let worker = self.worker(id);
        worker.presence = presence;
        worker.orders.clear();
        if let Some(taker) = worker.taker.take() {
            let reply = match presence {
                // It has said so itself, and waits for nothing.
                Presence::Left => Reply::Orders(Vec::new(), None),
                _ => Reply::Unknown,
            };
            effects.push(Effect::Reply(taker.request, reply));
        }
        self.moved = true;
        self.forget_unheld();
        self.plan_owners();
        effects.push(Effect::Note(Note {
            what,
            worker: Some(id),
            task: None,
            attempt: None,
            detail: Some(self.workers[&id].name.clone()),
        }));
    }

    fn drain(&mut self, name: &str, effects: &mut Vec<Effect>) -> Result<String, String> {
        let is_meant = |id: &WorkerId, worker: &Worker| {
            worker.name == name || (!name.is_empty() && id.to_string().starts_with(name))
        };
        let meant: Vec<WorkerId> =
            self.alive().filter(|(id, worker)| is_meant(id, worker)).map(|(id, _)| id).collect();
        let [id] = meant[..] else {
            let known: Vec<String> =
                self.alive().map(|(id, worker)| format!("{id} ({})", worker.name)).collect();
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
        if !self.alive().any(|(other, worker)| other != id && !worker.draining) {
            return Err(format!(
                "{name:?} is the last worker, and nobody could take over what it holds: start another one, or stop the run with 'fathom stop'"
            ));
        }
        self.worker(id).draining = true;
        self.moved = true;
        self.plan_owners();
        effects.push(Effect::Note(Note {
            what: "worker is drained",
            worker: Some(id),
            task: None,
            attempt: None,
            detail: None,
        }));
        Ok(format!("{id} leaves when what it holds is with others"))
    }

    /// The run ends, unless it is ending already. That it has failed is told in any case.
    fn end(&mut self, now: Millis, ending: Ending, effects: &mut Vec<Effect>) {
        let before = self.ending.as_ref().map(|(before, _)| before);
        let stronger = matches!(ending, Ending::Failed(_)) || ending == Ending::Terminated;
        if before.is_some_and(|before| matches!(before, Ending::Failed(_)) || !stronger) {
            return;
        }
        if before.is_none() {
            self.save(now, effects);
        }
        self.ending = Some((ending, now));
    }

    fn tick(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let lease = self.rules.lease;
        // A coordinator that did not get to look cannot tell who was silent: its workers' words still wait to be heard.
        if now.since(self.looked) > lease / 2 {
            self.workers.values_mut().for_each(|worker| worker.heard = now);
        }
        self.looked = now;
        let is_over = |worker: &Worker| match worker.presence {
            Presence::Alive(_) | Presence::Awaited => now.since(worker.heard) > lease,
            Presence::Lost | Presence::Left => false,
        };
        let lost: Vec<WorkerId> =
            self.workers.iter().filter(|(_, worker)| is_over(worker)).map(|(id, _)| *id).collect();
        for id in lost {
            self.part(id, Presence::Lost, "worker lost", effects);
        }
        let waited =
            |worker: &Worker| worker.taker.is_some_and(|taker| now.since(taker.since) > LONGEST_WAIT);
        for worker in self.workers.values_mut().filter(|worker| waited(worker)) {
            if let Some(taker) = worker.taker.take() {
                effects.push(Effect::Reply(taker.request, Reply::Orders(Vec::new(), None)));
            }
        }
        if now.since(self.saved) > SAVE_EVERY {
            self.save(now, effects);
        }
    }

    /// Makes the reports durable that are not.
    fn save(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        self.saved = now;
        let shards = std::mem::take(&mut self.unsaved);
        let depth = self.depth;
        let reports: Vec<ShardReport> = shards
            .into_iter()
            .filter_map(|shard| match &self.tasks.get(&Task { depth, shard })?.making {
                Making::Made(report) => Some(report.clone()),
                _ => None,
            })
            .collect();
        if !reports.is_empty() {
            let holders = reports.iter().flat_map(|report| self.held_by(report.task)).collect();
            effects.push(Effect::SaveReports(reports));
            effects.push(Effect::SaveHolders(holders));
        }
    }

    fn held_by(&self, task: Task) -> impl Iterator<Item = (Task, WorkerId)> {
        let holders = self.files.get(&task).into_iter().flat_map(|file| &file.holders);
        holders.map(move |holder| (task, *holder))
    }

    /// Does what follows from what is known.
    fn settle(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        while self.ending.is_none()
            && self.shards().all(|shard| self.is_done(Task { depth: self.depth, shard }))
        {
            self.commit(now, effects);
        }
        if std::mem::take(&mut self.moved) {
            self.version += 1;
            self.find_missing();
            self.repair(now, effects);
        }
        if self.ending.is_none() {
            self.order_copies(now, effects);
            self.release_drained();
        }
        self.order_to_leave();
        self.give_orders(now, effects);
        self.finish(now, effects);
    }

    /// The layer in the making is done.
    fn commit(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let depth = self.depth;
        let reports: Vec<ShardReport> = self
            .tasks
            .values()
            .filter_map(|state| match &state.making {
                Making::Made(report) if report.task.depth == depth => Some(report.clone()),
                _ => None,
            })
            .collect();
        self.visited += reports.iter().map(|report| report.states).sum::<u64>();
        let took = now.since(self.begun);
        let holders = self.files.keys().copied().filter(|task| task.depth.0 + 1 >= depth.0);
        let holders = holders.flat_map(|task| self.held_by(task)).collect();
        effects.push(Effect::Commit(reports, took));
        effects.push(Effect::SaveHolders(holders));
        self.unsaved.clear();
        if let Some(retired) = depth.previous().and_then(Depth::previous) {
            if self.rules.shared_store {
                effects.push(Effect::RetireShared(retired));
            } else {
                self.workers.values_mut().for_each(|worker| worker.orders.push(Order::Retire(retired)));
            }
            if self.rules.keep == Keep::Last {
                self.files.retain(|task, _| task.depth > retired);
                self.copies.retain(|(task, _), _| task.depth > retired);
            }
        }
        self.depth = depth.next();
        self.begun = now;
        self.begin_tasks();
        self.plan_owners();
        self.moved = true;
        if self.visited >= self.rules.states {
            self.end(now, Ending::Complete, effects);
        } else if self.rules.max_depth.is_some_and(|max| depth.0 >= max) {
            self.end(now, Ending::MaxDepth, effects);
        }
    }

    /// Which files are read for the layer in the making, and are with nobody who is there.
    fn find_missing(&mut self) {
        let read = Self::read_for(self.depth)
            .flat_map(|depth| self.shards().map(move |shard| Task { depth, shard }));
        self.missing = read.filter(|&task| !self.is_held(task)).collect();
    }

    /// Has missing files made again, where the layers that they are made from are there.
    fn repair(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        for task in self.missing.clone() {
            if self.tasks.contains_key(&task) {
                continue;
            }
            let mut older = Self::read_for(task.depth);
            let sources = older
                .next()
                .is_none_or(|depth| self.shards().all(|shard| self.is_held(Task { depth, shard })));
            let visited = older.next().is_none_or(|depth| self.is_held(Task { depth, shard: task.shard }));
            if sources && visited {
                self.tasks.insert(task, TaskState::new());
                effects.push(note_of("file is made again", None, task, None));
            } else if self.rules.shared_store {
                let message = format!(
                    "shard {} of depth {} is damaged, and what it was made from is not there any more: put the file back from a copy, then serve the run again; or begin anew",
                    task.shard, task.depth
                );
                self.end(now, Ending::Failed(message), effects);
            }
        }
        let missing = &self.missing;
        let depth = self.depth;
        self.tasks.retain(|task, state| {
            task.depth == depth || missing.contains(task) || matches!(state.making, Making::Running(..))
        });
    }

    /// Has every file copied that should be with more workers than have it.
    fn order_copies(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if self.rules.shared_store {
            return;
        }
        let draining = self.alive().any(|(_, worker)| worker.draining);
        if self.rules.replicas == 1 && !draining {
            return;
        }
        let mut load: Vec<(usize, WorkerId)> = self
            .alive()
            .filter(|(_, worker)| !worker.draining && worker.leaving.is_none() && worker.full_until <= now)
            .map(|(id, _)| (0, id))
            .collect();
        for (underway, id) in &mut load {
            *underway = self.copies.keys().filter(|(_, target)| target == id).count();
        }
        let tasks: Vec<Task> = self.files.keys().copied().collect();
        for task in tasks {
            let from: Vec<WorkerId> = self.holders_alive(task).collect();
            let staying = from.iter().filter(|id| !self.workers[id].draining).count();
            let coming = load
                .iter()
                .filter(|(_, id)| matches!(self.copies.get(&(task, *id)), Some(Copying::Ordered(_))));
            let wanted = self.rules.replicas.saturating_sub(staying + coming.count());
            if from.is_empty() || wanted == 0 {
                continue;
            }
            load.sort_unstable();
            let free = |(_, id): &&mut (usize, WorkerId)| match self.copies.get(&(task, *id)) {
                Some(Copying::Ordered(_)) => false,
                Some(Copying::Failed(not_before)) => *not_before <= now,
                None => !from.contains(id),
            };
            let targets: Vec<&mut (usize, WorkerId)> = load.iter_mut().filter(free).take(wanted).collect();
            let ordered: Vec<WorkerId> = targets
                .into_iter()
                .map(|(underway, id)| {
                    *underway += 1;
                    *id
                })
                .collect();
            for id in ordered {
                self.copies.insert((task, id), Copying::Ordered(now));
                self.worker(id).orders.push(Order::Copy(task, from.clone()));
                effects.push(note_of("copy ordered", Some(id), task, None));
            }
        }
    }

    /// Lets those leave that are drained.
    fn release_drained(&mut self) {
        let alone = |id: WorkerId| {
            let mut held = self.files.keys().filter(|task| self.files[task].holders.contains(&id));
            held.any(|&task| !self.holders_alive(task).any(|other| !self.is_leaving(other)))
        };
        let free: Vec<WorkerId> = self
            .alive()
            .filter(|(_, worker)| worker.draining && worker.leaving.is_none())
            .map(|(id, _)| id)
            .filter(|&id| self.running_on(id).next().is_none() && !alone(id))
            .collect();
        for id in free {
            let worker = self.worker(id);
            worker.leaving = Some(LeaveReason::Drained);
            worker.orders.push(Order::Leave(LeaveReason::Drained));
        }
    }

    fn is_leaving(&self, id: WorkerId) -> bool {
        self.workers.get(&id).is_some_and(|worker| worker.draining || worker.leaving.is_some())
    }

    /// When the run ends, all are told.
    fn order_to_leave(&mut self) {
        let Some((ending, _)) = &self.ending else {
            return;
        };
        let reason = match ending {
            Ending::Complete | Ending::MaxDepth => LeaveReason::Done,
            Ending::Stopped => LeaveReason::Stopped,
            Ending::Terminated => LeaveReason::CoordinatorGoes,
            Ending::Failed(_) => LeaveReason::Failed,
        };
        for worker in self.workers.values_mut() {
            if matches!(worker.presence, Presence::Alive(_)) && worker.leaving != Some(reason) {
                worker.leaving = Some(reason);
                worker.orders.push(Order::Leave(reason));
            }
        }
    }

    /// Answers the workers that wait for orders, as far as there are any.
    fn give_orders(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let takers: Vec<(WorkerId, Taker)> =
            self.alive().filter_map(|(id, worker)| Some((id, worker.taker?))).collect();
        for (id, taker) in takers {
            let worker = self.worker(id);
            let mut orders = std::mem::take(&mut worker.orders);
            let willing = worker.leaving.is_none() && !worker.draining && worker.full_until <= now;
            if willing && self.ending.is_none() && taker.tasks > 0 {
                for task in self.tasks_for(id, taker.tasks as usize, now) {
                    let state = self.tasks.get_mut(&task).expect("it was chosen from the tasks");
                    state.attempts += 1;
                    state.making = Making::Running(id, now);
                    let attempt = Attempt { epoch: self.epoch, number: state.attempts };
                    orders.push(Order::Make(task, attempt));
                    effects.push(Effect::Note(Note {
                        what: "task given",
                        worker: Some(id),
                        task: Some(task),
                        attempt: Some(attempt),
                        detail: None,
                    }));
                }
            }
            // Who asks again has not heard that it should leave.
            if let Some(reason) = self.workers[&id].leaving.filter(|_| orders.is_empty()) {
                orders.push(Order::Leave(reason));
            }
            if orders.is_empty() {
                continue;
            }
            let news = !self.rules.shared_store && taker.version != self.version;
            let holders = news.then(|| self.holders());
            self.worker(id).taker = None;
            effects.push(Effect::Reply(taker.request, Reply::Orders(orders, holders)));
        }
    }

    /// When all have left, or have had the time to, the run is over.
    fn finish(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let Some((ending, since)) = &self.ending else {
            return;
        };
        let waits = match ending {
            // Workers need not leave: they wait for the next life.
            Ending::Terminated => false,
            _ => self.alive().next().is_some() && now.since(*since) < GRACE,
        };
        if waits || self.ended {
            return;
        }
        let ending = ending.clone();
        self.ended = true;
        self.save(now, effects);
        effects.push(Effect::End(ending));
    }
}

fn note(what: &'static str, worker: Option<WorkerId>, outcome: &Outcome, detail: Option<String>) -> Effect {
    Effect::Note(Note { what, worker, task: Some(outcome.task), attempt: outcome.attempt, detail })
}

fn note_of(what: &'static str, worker: Option<WorkerId>, task: Task, detail: Option<String>) -> Effect {
    Effect::Note(Note { what, worker, task: Some(task), attempt: None, detail })
}
