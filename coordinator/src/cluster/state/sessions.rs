//! Workers that join, send messages, leave, are drained or lost.

use crate::cluster::event::{
    Command, Effect, LeaveReason, Millis, NoteKind, Progress, Registration, Reply, RequestId, note_of,
    note_of_worker,
};
use crate::cluster::parts::{CopyState, FailedAttempt, Presence, TaskProgress, Worker};
use crate::cluster::state::State;
use fathom_engine::run::{Depth, Keep, Task};
use fathom_proto::{Session, WorkerId};
use indicatif::HumanBytes;
use std::collections::BTreeSet;

impl State {
    /// Handles a worker that joins or comes back.
    pub(super) fn register(
        &mut self,
        now: Millis,
        request: RequestId,
        registration: Registration,
        effects: &mut Vec<Effect>,
    ) {
        let id = registration.worker;
        if let Some(reason) = self.members.refusal(&registration) {
            return effects.push(Effect::Reply(request, Reply::Refused(reason)));
        }
        let known = self.members.get(id);
        if let Some(Presence::Alive(session)) = known.map(Worker::presence) {
            let number = registration.number;
            if known.is_some_and(|known| number.is_some() && known.registration == number) {
                // The message came twice, or the response was lost. Since then the inventory may have
                // changed.
                self.members.heard(now, id);
                return effects.push(Effect::Reply(request, self.registered(session)));
            }
            // The process died and was restarted within its lease.
            self.remove_worker(now, id, Presence::Lost, NoteKind::BeginsAgain, effects);
        }
        let known = self.members.get(id);
        let Registration { name, address, .. } = &registration;
        if known.is_none_or(|worker| (&worker.name, &worker.address) != (name, address)) {
            effects.push(Effect::SaveWorker(id, name.clone(), address.clone()));
        }
        let held = self.files.held_by(id).clone();
        let session = self.members.new_session(&self.secret, self.epoch);
        self.dirty += self.members.join(now, session, &registration);
        let Registration { name, address, threads, memory_bytes, kernel, version, inventory, .. } =
            registration;
        let detail = format!(
            "{name} at {address}: version {version}, kernel {kernel}, threads {threads}, memory {}, files {}",
            HumanBytes(memory_bytes),
            inventory.len()
        );
        let ahead =
            inventory.iter().map(|stored| stored.task.depth).max().filter(|&depth| depth > self.depth());
        // Sort the inventory: right files, wrong files, and released files.
        let (mut right, mut other, mut given) = (BTreeSet::new(), Vec::new(), Vec::new());
        for stored in inventory.into_iter().filter(|_| !self.rules.shared_store) {
            match self.files.get(stored.task) {
                Some(file) if stored.digest.is_none_or(|digest| digest == file.digest) => {
                    right.insert(stored.task);
                }
                Some(_) => other.push(stored.task),
                None if self.scheduler.is_given_back(stored.task) => given.push(stored.task),
                None => {}
            }
        }
        let inventory = right;
        for &task in held.difference(&inventory) {
            self.dirty += self.files.remove_holder(task, id);
        }
        for &task in &inventory {
            self.dirty += self.files.add_holder(task, id);
        }
        effects.push(note_of_worker(NoteKind::Registered, id, Some(detail)));
        if let Some(depth) = ahead {
            let detail = format!(
                "it holds files of depth {depth}, but the run is at depth {}: the run's directory may be an old copy, or another one. The files are kept",
                self.depth()
            );
            effects.push(note_of_worker(NoteKind::IsAhead, id, Some(detail)));
        }
        effects.push(Effect::Reply(request, self.registered(session)));
        for task in other {
            self.order(id, Command::Discard(self.stored(task)));
            effects.push(note_of(NoteKind::OtherFile, Some(id), task, None));
        }
        for task in given {
            self.order(id, Command::Release(task));
        }
        if self.members[id].is_set_aside && self.rules.shared_store {
            // A file that the process is computing would replace the right file.
            self.dirty += self.members.order_to_leave(id, LeaveReason::Stopped);
        }
    }

    /// Returns the answer to a registration.
    fn registered(&self, session: Session) -> Reply {
        Reply::Registered { session, needed: self.needed() }
    }

    /// Returns the layers that workers should keep.
    fn needed(&self) -> Vec<Depth> {
        let first = match self.rules.keep {
            Keep::All => 0,
            Keep::Last | Keep::Two => self.depth().0.saturating_sub(2),
        };
        (first..=self.depth().0).map(Depth).collect()
    }

    /// Records a worker's progress, and puts commands back into the queue that the worker does not know.
    pub(super) fn heartbeat(
        &mut self,
        now: Millis,
        session: Session,
        progress: Progress,
        effects: &mut Vec<Effect>,
    ) -> Reply {
        let Some(id) = self.members.touch(now, session) else {
            return Reply::Unknown;
        };
        // The listed commands are under way, or their reports are on their way here. A command that was not
        // listed for a while is lost with the reply that carried it, or its report with an earlier session.
        // The wait covers replies that are still on their way.
        let underway: BTreeSet<Task> = progress.underway.iter().copied().collect();
        let is_order_lost = |since: Millis| now.since(since) > 3 * self.rules.heartbeat;
        let worker = &self.members[id];
        let waits = |task: Task| {
            worker.commands.iter().any(|order| matches!(order, Command::Copy(file, _) if file.task == task))
        };
        let (mut heard, mut lost) = (Vec::new(), Vec::new());
        for &task in self.tasks().running(id) {
            match self.tasks().get(task).map(|state| &state.making) {
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
            self.scheduler.hear(task, id, now);
        }
        for task in heard_copies {
            self.files.set_copy(task, id, CopyState::Ordered(now));
        }
        if !lost.is_empty() || !lost_copies.is_empty() {
            self.strike(now, id, effects);
        }
        for task in self.audits.hear(id, &underway, now, 3 * self.rules.heartbeat) {
            effects.push(note_of(NoteKind::CommandLost, Some(id), task, None));
        }
        for task in lost {
            self.set_waiting(task, now);
            effects.push(note_of(NoteKind::CommandLost, Some(id), task, None));
        }
        for task in lost_copies {
            self.dirty += self.files.forget_copy(task, id);
            effects.push(note_of(NoteKind::CommandLost, Some(id), task, None));
        }
        self.members.note_progress(now, id, progress);
        Reply::Known
    }

    /// Handles a worker that has left or was lost.
    pub(super) fn remove_worker(
        &mut self,
        now: Millis,
        id: WorkerId,
        presence: Presence,
        kind: NoteKind,
        effects: &mut Vec<Effect>,
    ) {
        self.audits.give_up(id);
        for task in self.tasks().running(id).clone() {
            self.scheduler.note_failed_attempt(task, FailedAttempt { worker: id, at: now, failure: None });
            self.set_waiting(task, Millis(0));
        }
        self.dirty += self.files.lose(id);
        let (poll, dirty) = self.members.end_session(id, presence);
        self.dirty += dirty;
        if let Some(poll) = poll {
            let reply = match presence {
                // The worker itself announced that it leaves, so it does not wait for the reply.
                Presence::Left => Reply::Commands(Vec::new(), None),
                _ => Reply::Unknown,
            };
            effects.push(Effect::Reply(poll.request, reply));
        }
        effects.push(note_of_worker(kind, id, Some(self.members[id].name.clone())));
    }

    /// Marks a worker to leave once others hold its files. Returns the message for the caller.
    ///
    /// # Errors
    /// The reason for the caller, if no single worker has this name, or if no other worker could take over.
    pub(super) fn drain(&mut self, name: &str, effects: &mut Vec<Effect>) -> Result<String, String> {
        let is_meant = |id: &WorkerId, worker: &Worker| {
            worker.name == name || (!name.is_empty() && id.to_string().starts_with(name))
        };
        let meant: Vec<WorkerId> =
            self.members.alive().filter(|(id, worker)| is_meant(id, worker)).map(|(id, _)| id).collect();
        let [id] = meant[..] else {
            let known: Vec<String> =
                self.members.alive().map(|(id, worker)| format!("{id} ({})", worker.name)).collect();
            return Err(match (meant.len(), known.is_empty()) {
                (_, true) => "no worker is connected".into(),
                (0, _) => format!("unknown worker {name:?}. Connected workers: {}", known.join(", ")),
                _ => format!("{name:?} matches {} workers; use an id: {}", meant.len(), known.join(", ")),
            });
        };
        if !self.members.alive().any(|(other, worker)| other != id && !worker.draining) {
            return Err(format!(
                "{name:?} is the last worker, and no other could take over its files. Start another worker, or stop the run with '{}'",
                self.commands.stop()
            ));
        }
        let name = self.members[id].name.clone();
        self.dirty += self.members.drain(id).and(self.files.evacuate(id));
        effects.push(note_of_worker(NoteKind::Drained, id, None));
        Ok(format!("draining {name} ({id}): it will leave once its files have been copied"))
    }
}
