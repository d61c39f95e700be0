//! The reports of workers: computed shards, completed copies, and failures of both.

use crate::cluster::event::{Command, Effect, Ending, Millis, Note, NoteKind, note, note_of};
use crate::cluster::parts::backoff::PAUSE;
use crate::cluster::parts::{CopyState, Presence, TaskProgress};
use crate::cluster::state::{State, digest_of};
use fathom_engine::run::{ShardReport, Task};
use fathom_proto::{Attempt, Done, Failure, FailureKind, Outcome, WorkerId};
use std::sync::Arc;

impl State {
    /// Handles the result of a task or of a copy.
    pub(super) fn report(&mut self, now: Millis, id: WorkerId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let task = outcome.task;
        if outcome.attempt.is_none() {
            return self.report_copy(now, id, outcome, effects);
        }
        if self.audited(now, id, &outcome, effects) {
            return;
        }
        let expected = self.tasks().get(task).and_then(|state| match state.making {
            TaskProgress::Running(worker, _) if worker == id => {
                Some(Attempt { epoch: self.epoch, number: state.attempts })
            }
            _ => None,
        });
        if outcome.attempt != expected {
            let failure = outcome.result.as_ref().err().map(Failure::kind);
            let kind = match failure.filter(|kind| *kind == FailureKind::Stopped && self.ending().is_some()) {
                // At the end of a run, workers hand back what they were told to do for others, too.
                Some(stopped) => NoteKind::TaskFailed(stopped),
                None => NoteKind::LateReport,
            };
            effects.push(note(kind, Some(id), &outcome, None));
            return;
        }
        let is_found = matches!(outcome.result, Ok(Done::Found(_)));
        match outcome.result {
            Ok(Done::Made(report) | Done::Found(report)) => {
                if is_found && self.audits.is_disowned(task) {
                    effects.push(note_of(NoteKind::OtherFile, Some(id), task, None));
                    return match self.tasks().get(task) {
                        Some(state) if state.is_afresh => {
                            let reason =
                                "an existing file was reported for a shard that had to be recomputed";
                            self.refused(now, id, task, reason, effects);
                        }
                        // When the task was assigned, it was not known that the file may be wrong.
                        _ => self.set_waiting(task, now),
                    };
                }
                // A recomputed file was checked when it was first computed, and its digest is compared.
                if task.depth == self.depth()
                    && let Err(reason) = self.commit.check_report(&report, self.rules.states)
                {
                    let detail = Some(reason.to_string());
                    effects.push(note_of(NoteKind::Implausible, Some(id), task, detail));
                    return self.refused(now, id, task, &reason.to_string(), effects);
                }
                self.members.note_success(id);
                effects.push(Effect::Note(Note {
                    kind: NoteKind::TaskDone,
                    worker: Some(id),
                    task: Some(task),
                    attempt: outcome.attempt,
                    detail: Some(format!("{} states, {} bytes", report.totals.states, report.bytes)),
                }));
                self.record_report(now, id, report, is_found, effects);
            }
            Ok(Done::Copied(_)) => {
                self.set_waiting(task, now);
                effects.push(note(NoteKind::NoAnswer, Some(id), &outcome, None));
            }
            Err(ref failure) => {
                effects.push(note(
                    NoteKind::TaskFailed(failure.kind()),
                    Some(id),
                    &outcome,
                    Some(failure.to_string()),
                ));
                self.failed(now, id, task, failure, effects);
            }
        }
    }

    /// Accepts a report that passed its checks. `is_found` says whether the worker has found the file.
    fn record_report(
        &mut self,
        now: Millis,
        id: WorkerId,
        report: ShardReport,
        is_found: bool,
        effects: &mut Vec<Effect>,
    ) {
        let task = report.task;
        if self.scheduler.is_given_back(task) {
            // The file was lost and recomputed, and is no longer needed.
            self.scheduler.abandon_repair(task);
            return self.order(id, Command::Release(task));
        }
        let holder = if self.rules.shared_store { WorkerId::SHARED_STORE } else { id };
        let digest = digest_of(&report);
        let was_known = self.files.get(task).is_some();
        if let Err(known) = self.files.note(task, report.bytes, digest) {
            if task.depth < self.depth() {
                return self.made_otherwise(now, id, task, effects);
            }
            if task.depth == self.depth() && self.rules.audit > 0 {
                return self.doubt(id, task, effects);
            }
            let message = format!(
                "shard {} of depth {} was computed twice with different states, {known} and {digest}: one of them is wrong, and the run must not be used. Serve the run again with --audit 2%: then other workers compute the shard and decide",
                task.shard, task.depth
            );
            return self.end(now, Ending::Failed(message), effects);
        }
        self.dirty += self.files.add_holder(task, holder);
        if task.depth == self.depth() {
            self.commit.note_unsaved(task.shard);
            let producer = match (is_found, was_known) {
                (false, _) => Some(id),
                // The worker has found the very file that was reported.
                (true, true) => self.tasks().get(task).and_then(|state| state.producer),
                (true, false) => None,
            };
            let report = Arc::new(report);
            let took = self.scheduler.complete(Arc::clone(&report), producer, now);
            self.draw(producer, &report, took);
        } else {
            // The recomputed file is available.
            self.dirty += self.scheduler.end_repair(task);
        }
    }

    /// Handles a lost shard of a committed layer that a worker has recomputed with other states than the
    /// committed ones: the worker's file is deleted, and others compute the shard. The file has replaced a
    /// right copy that the worker took in the meantime, and a copy that is still under way will replace the
    /// file.
    fn made_otherwise(&mut self, now: Millis, id: WorkerId, task: Task, effects: &mut Vec<Effect>) {
        if self.rules.shared_store {
            effects.push(Effect::DiscardShared(task));
        } else if !self.is_copied(task, id) {
            self.dirty += self.files.remove_holder(task, id);
            self.order(id, Command::Discard(self.stored(task)));
        }
        let reason = format!(
            "shard {} of depth {} was lost and recomputed with other states than the committed ones: either the worker or the run is wrong",
            task.shard, task.depth
        );
        effects.push(note_of(NoteKind::Implausible, Some(id), task, Some(reason.clone())));
        self.refused(now, id, task, &reason, effects);
    }

    /// Handles the result of a command to copy a file.
    fn report_copy(&mut self, now: Millis, id: WorkerId, outcome: Outcome, effects: &mut Vec<Effect>) {
        let task = outcome.task;
        let was_ordered = self.files.copy(task, id).is_some();
        self.dirty += self.files.forget_copy(task, id);
        match &outcome.result {
            Ok(Done::Copied(copied)) => {
                // A copy that was not commanded, or no longer is, counts too if the file is known.
                self.members.note_success(id);
                let of_file = self.files.get(task).map(|file| file.digest);
                if of_file.is_some_and(|digest| digest != copied.digest) {
                    // The copied file was replaced by a new one in the meantime.
                    self.dirty += self.files.remove_holder(task, id);
                    self.order(id, Command::Discard(self.stored(task)));
                    effects.push(note_of(NoteKind::OtherFile, Some(id), task, None));
                } else if of_file.is_some() {
                    self.dirty += self.files.add_holder(task, id);
                    effects.push(note(NoteKind::CopyDone, Some(id), &outcome, None));
                } else if self.scheduler.is_given_back(task) {
                    self.order(id, Command::Release(task));
                } else if task.depth < self.depth() {
                    self.order(id, Command::RetireLayer(task.depth));
                }
            }
            Ok(Done::Made(_) | Done::Found(_)) => {
                effects.push(note(NoteKind::LateReport, Some(id), &outcome, None));
            }
            Err(failure) if was_ordered => {
                effects.push(note(
                    NoteKind::CopyFailed(failure.kind()),
                    Some(id),
                    &outcome,
                    Some(failure.to_string()),
                ));
                self.files.set_copy(task, id, CopyState::Failed(now.after(PAUSE)));
                match failure {
                    Failure::Damaged { file, address, .. } => {
                        if self.damaged(id, *file, address.as_deref(), effects) {
                            self.strike(now, id, effects);
                        }
                    }
                    Failure::DiskFull(_) => self.rest(now, id),
                    Failure::Unreachable { file, addresses, message } => {
                        self.unreached(now, id, *file, addresses, message, effects);
                    }
                    _ => self.strike(now, id, effects),
                }
            }
            Err(_) => {}
        }
    }

    /// Returns the shards of the current layer that have no holder left and can be computed again.
    pub(super) fn find_orphans(&self) -> Vec<Task> {
        // Holders known from an earlier epoch may still come back.
        let may_have = |id: WorkerId| {
            self.members.is_alive(id)
                || self.members.get(id).is_some_and(|w| w.presence() == Presence::Reconnecting)
        };
        let made = self.tasks().reports().map(|(report, _)| report.task);
        // A shard that cannot be computed again is waited for.
        let can_be_made = |task: &Task| self.scheduler.can_be_made(task.shard);
        let made = made.filter(can_be_made);
        made.filter(|&task| !self.files.holders(task).any(may_have)).collect()
    }
}
