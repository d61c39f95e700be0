//! The handling of failed commands.
//!
//! Each kind of failure has a bound. Beyond the bound there is an alternative, or the run ends with a
//! message:
//!
//! - Stopped, or copy failed: retried after [`PAUSE`]. After [`MAX_STRIKES`] failures in a row the
//!   worker backs off, and others take over; each further failure doubles the backoff, up to [`MAX_BACKOFF`].
//! - Command lost: reissued immediately, with the same bound as stopped tasks.
//! - Peer unreachable: the task is tried again after [`PAUSE`]. After [`MAX_UNREACHED`] failures the pair of
//!   workers is marked for [`RETRY`]. A worker that cannot reach a file that tasks read computes nothing, and
//!   a third worker takes a copy of that file; `status` names the pair.
//! - File damaged: the file is discarded, and copied from another holder or computed again. The bound is that
//!   of stopped tasks.
//! - Disk full: the worker backs off for [`REST`], each time; `status` says when all workers back off.
//! - Report implausible: the report is refused, and the shard is computed again, by others if there are any.
//!   The bound is that of other failures.
//! - Contradiction: the worker backs off, and another worker computes the shard. If a second worker finds a
//!   contradiction too, or there is no other worker, the run ends with the message.
//! - An audit fails: it is tried again after [`PAUSE`]. After five failures the shard is not audited, and the
//!   log says so.
//! - Commands that neither end nor fail, on a worker that still sends heartbeats: its disk may hang. After [`STALL`]
//!   without any progress the worker counts as lost, and others take over; `status` names it earlier.
//! - Other failures: the task is tried again after [`PAUSE`], by others if there are any. After
//!   [`MAX_FAILURES`] failures of one task the run ends with the message.
//!
//! A success resets the worker's count of failures in a row. Failures of a worker within [`PAUSE`] count as
//! one, including failures to reach the same peer.
//!
//! [`MAX_STRIKES`]: crate::cluster::parts::backoff::MAX_STRIKES
//! [`MAX_BACKOFF`]: crate::cluster::parts::backoff::MAX_BACKOFF
//! [`MAX_UNREACHED`]: crate::cluster::parts::backoff::MAX_UNREACHED
//! [`RETRY`]: crate::cluster::parts::backoff::RETRY

use crate::cluster::event::{Command, Effect, Ending, Millis, NoteKind, note_of, note_of_worker};
use crate::cluster::parts::backoff::{PAUSE, REST};
use crate::cluster::parts::{CopyState, FailedAttempt, Presence, Worker};
use crate::cluster::state::State;
use fathom_engine::run::Task;
use fathom_proto::{Failure, WorkerId};
use std::time::Duration;

/// Number of failures of one task, of a kind that another attempt rarely fixes, after which the run ends.
pub(in crate::cluster) const MAX_FAILURES: u32 = 5;
/// Time without any progress after which a worker that has commands counts as lost. A worker that tries all
/// holders of a file three times without success gives up sooner.
pub(in crate::cluster) const STALL: Duration = Duration::from_secs(15 * 60);

impl State {
    /// Handles a task that failed.
    pub(super) fn failed(
        &mut self,
        now: Millis,
        id: WorkerId,
        task: Task,
        failure: &Failure,
        effects: &mut Vec<Effect>,
    ) {
        let failed = FailedAttempt { worker: id, at: now, failure: Some(failure.kind()) };
        self.scheduler.note_failed_attempt(task, failed);
        match failure {
            // The pause keeps the task from a worker that is stopping, and that may have asked for commands
            // before it stopped.
            Failure::Stopped => {
                self.set_waiting(task, now.after(PAUSE));
                self.strike(now, id, effects);
            }
            Failure::Unreachable { file, addresses, message } => {
                self.set_waiting(task, now.after(PAUSE));
                self.unreached(now, id, *file, addresses, message, effects);
            }
            Failure::Damaged { file, address, .. } => {
                self.set_waiting(task, now.after(PAUSE));
                if self.damaged(id, *file, address.as_deref(), effects) {
                    self.strike(now, id, effects);
                }
            }
            Failure::DiskFull(_) => {
                self.set_waiting(task, now);
                self.rest(now, id);
            }
            Failure::Other(message) => self.refused(now, id, task, message, effects),
            Failure::Contradiction(message) => {
                self.set_waiting(task, now);
                self.contradicted(now, id, task, message, effects);
            }
        }
    }

    /// Handles a task whose inputs contradict each other, according to one worker. The memory of that worker
    /// may be at fault, or the worker may lie. The run ends when a second worker finds the same, or if there
    /// is no second worker. A worker in backoff counts as present.
    fn contradicted(
        &mut self,
        now: Millis,
        id: WorkerId,
        task: Task,
        message: &str,
        effects: &mut Vec<Effect>,
    ) {
        let is_other = |(other, worker): (WorkerId, &Worker)| other != id && worker.is_staying();
        let has_other = self.members.iter().any(is_other);
        let before = self.scheduler.note_contradiction(task, id);
        if has_other && before.is_none_or(|before| before == id) {
            self.rest(now, id);
        } else {
            self.end(now, Ending::Failed(message.to_owned()), effects);
        }
    }

    /// Handles a task that failed in a way that another attempt rarely fixes.
    pub(super) fn refused(
        &mut self,
        now: Millis,
        id: WorkerId,
        task: Task,
        message: &str,
        effects: &mut Vec<Effect>,
    ) {
        self.set_waiting(task, now.after(PAUSE));
        // A bad disk affects one worker only.
        if self.members.iter().any(|(other, worker)| other != id && worker.is_willing(now)) {
            self.rest(now, id);
        }
        if self.scheduler.note_failure(task) >= MAX_FAILURES {
            let message = format!(
                "shard {} of depth {} failed {MAX_FAILURES} times; last error: {message}",
                task.shard, task.depth
            );
            self.end(now, Ending::Failed(message), effects);
        }
    }

    /// Makes a worker back off: it is given nothing for a while, and others take over its tasks.
    pub(super) fn rest(&mut self, now: Millis, id: WorkerId) {
        self.dirty += self.members.rest(id, now.after(REST));
    }

    /// Counts a failure of a worker. After several failures in a row the worker backs off.
    pub(super) fn strike(&mut self, now: Millis, id: WorkerId, effects: &mut Vec<Effect>) {
        let (rest, dirty) = self.members.strike(now, id);
        self.dirty += dirty;
        if let Some((strikes, rest)) = rest {
            let detail = format!("{strikes} failures in a row; backs off for {} s", rest.as_secs());
            effects.push(note_of_worker(NoteKind::Rests, id, Some(detail)));
        }
    }

    /// Treats workers as lost that have made no progress for [`STALL`].
    pub(super) fn lose_stalled(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let stalled = self.members.alive().filter(|(_, worker)| worker.is_stuck(now, STALL));
        for id in stalled.map(|(id, _)| id).collect::<Vec<_>>() {
            let (name, minutes) = (&self.members[id].name, STALL.as_secs() / 60);
            let detail = format!("{name} has made no progress on its commands for {minutes} min");
            effects.push(note_of_worker(NoteKind::Stuck, id, Some(detail)));
            self.remove_worker(now, id, Presence::Lost, NoteKind::Lost, effects);
        }
    }

    /// Records that a worker could not fetch a file from the holders at some addresses. A holder that has
    /// restarted at another address in the meantime is not to blame.
    pub(super) fn unreached(
        &mut self,
        now: Millis,
        id: WorkerId,
        file: Task,
        addresses: &[String],
        message: &str,
        effects: &mut Vec<Effect>,
    ) {
        // A shared store, which has no address, is not a worker.
        let was_asked = |peer: &WorkerId| {
            *peer != id && self.members.get(*peer).is_some_and(|peer| addresses.contains(&peer.address))
        };
        let peers: Vec<WorkerId> = self.holders_alive(file).filter(was_asked).collect();
        self.strike(now, id, effects);
        for peer in peers {
            let (is_new, dirty) = self.members.note_unreached(now, id, peer, message);
            self.dirty += dirty;
            if is_new {
                let (from, to) = (&self.members[id], &self.members[peer]);
                let detail = format!("{} cannot reach {} at {}: {message}", from.name, to.name, to.address);
                effects.push(note_of(NoteKind::Unreachable, Some(id), file, Some(detail)));
            }
        }
    }

    /// Returns the files of the newest layer that have holders, none of them within the worker's reach.
    pub(super) fn beyond_reach(&self, id: WorkerId, now: Millis) -> Vec<Task> {
        let worker = &self.members[id];
        let Some(newest) =
            self.depth().previous().filter(|_| worker.unreached.values().any(|u| u.is_marked(now)))
        else {
            return Vec::new();
        };
        let is_beyond = |task: &Task| {
            let mut holders = self.holders_alive(*task).peekable();
            holders.peek().is_some() && holders.all(|holder| holder != id && worker.cannot_reach(holder, now))
        };
        self.shards().map(|shard| Task { depth: newest, shard }).filter(is_beyond).collect()
    }

    /// Handles a damaged file: its holder gets a command to delete it. Returns whether this counts as a failure of
    /// the reporter. It does not if the deletion has been commanded already, since several tasks may find the
    /// same damage.
    pub(super) fn damaged(
        &mut self,
        reporter: WorkerId,
        file: Task,
        address: Option<&str>,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let holder = match address {
            _ if self.rules.shared_store => Some(WorkerId::SHARED_STORE),
            Some(address) => self.members.at_address(address),
            None => Some(reporter),
        };
        let Some(holder) = holder else {
            return true;
        };
        let is_known = |order: &Command| matches!(order, Command::Discard(ordered) if ordered.task == file);
        if self.members.get(holder).is_some_and(|worker| worker.commands.iter().any(is_known)) {
            return false;
        }
        let was_held = self.files.holders(file).any(|of| of == holder);
        self.dirty += self.files.remove_holder(file, holder);
        // A file that the worker is computing or copying now is newer than the damage, and is kept: if it
        // were deleted, a report in flight would claim that it exists.
        let is_coming = self.is_copied(file, holder) || self.tasks().running(holder).contains(&file);
        match self.members.get(holder) {
            None if was_held => effects.push(Effect::DiscardShared(file)),
            // The worker's own file may be unknown here, for example if an earlier command to discard it was
            // lost. Such a file is discarded too, because it blocks the worker.
            Some(_) if (was_held || address.is_none()) && !is_coming => {
                self.order(holder, Command::Discard(self.stored(file)));
            }
            _ => return true,
        }
        effects.push(note_of(NoteKind::Discarded, Some(holder), file, None));
        true
    }

    /// Returns whether a worker is copying a file now.
    pub(super) fn is_copied(&self, file: Task, worker: WorkerId) -> bool {
        matches!(self.files.copy(file, worker), Some(CopyState::Ordered(_)))
    }
}
