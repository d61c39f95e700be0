//! Shards of the older layer that are released while a layer is computed, in a run that keeps two layers.
//!
//! Shard s of the layer two depths before the current one is read only by the tasks of shard s: those that
//! compute it, and those that audit it. So that file, the *source*, is released as soon as the new shard is
//! durable in the journal, audited if it was selected, and held by enough workers. The journal is written
//! before any worker gets the command to delete the file.
//!
//! A shard whose source is released cannot be computed again. From then on it is treated like a shard of a
//! committed layer: it is copied when a holder is lost, and waited for when all are lost. If the worker that
//! computed it is quarantined and no audit agreed with it, the run ends.
//!
//! Shards must not be computed much faster than their sources are released, or the stores would hold three
//! layers after all. When [`most_ahead`] shards wait for copies or audits, no more are assigned. The shards
//! that workers compute count too, up to [`most_in_the_making`], because workers finish small shards faster
//! than they report them.

use crate::cluster::event::{Command, Effect, Ending, Millis, NoteKind, note_of};
use crate::cluster::state::State;
use fathom_engine::run::{ShardId, Task};
use fathom_proto::WorkerId;

impl State {
    /// Records that a worker reads the source of a shard of the current layer.
    pub(super) fn note_reader(&mut self, task: Task, id: WorkerId) {
        if !self.rules.shared_store {
            self.scheduler.note_reader(task, id);
        }
    }

    /// Makes reports durable and releases sources immediately, if no shard can be assigned before that.
    pub(super) fn make_room_ahead(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if self.scheduler.is_full() {
            self.save(now, effects);
            self.give_back(effects);
        }
    }

    /// Releases the sources of the shards that are durable, done and not being audited.
    pub(super) fn give_back(&mut self, effects: &mut Vec<Effect>) {
        let Some(older) = self.scheduler.given_layer().filter(|_| self.ending().is_none()) else {
            return;
        };
        let depth = self.depth();
        let is_ready = |shard: &ShardId| {
            let task = Task { depth, shard: *shard };
            self.commit.is_saved(*shard) && self.is_done(task) && !self.audits.is_open(task)
        };
        let ready: Vec<ShardId> = self.scheduler.ahead().filter(is_ready).collect();
        if ready.is_empty() {
            return;
        }
        let given = |&shard: &ShardId| (Task { depth: older, shard }, self.scheduler.is_audited(shard));
        let given = ready.iter().map(given).collect();
        let held = ready.iter().flat_map(|&shard| self.held_by(Task { depth, shard })).collect();
        effects.push(Effect::Release(given, held));
        for shard in ready {
            let source = Task { depth: older, shard };
            let (mut told, dirty) = self.files.release(source);
            self.dirty += dirty;
            let (readers, dirty) = self.scheduler.give_back(shard);
            self.dirty += dirty;
            told.extend(readers);
            told.retain(|&id| id != WorkerId::SHARED_STORE && self.members.is_alive(id));
            told.into_iter().for_each(|id| self.order(id, Command::Release(source)));
            effects.push(note_of(NoteKind::Releases, None, source, None));
        }
    }

    /// Ends the run if a shard whose source was released must be computed again: its report was dropped, or
    /// its producer was wrong.
    pub(super) fn check_given_back(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let unmade = self.scheduler.given_back().find(|&task| !self.scheduler.tasks().is_made(task));
        if let Some(task) = unmade {
            let message = format!(
                "shard {} of depth {} must be recomputed, but its source was deleted because the run keeps only two layers. Restore the file from a copy if it was lost, or start a new run",
                task.shard, task.depth
            );
            self.end(now, Ending::Failed(message), effects);
        }
    }
}
