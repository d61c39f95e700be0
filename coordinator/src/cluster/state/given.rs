//! Shards of the older layer that are given back while a layer is computed, in a run that keeps two layers.
//!
//! Shard s of the layer two depths before the current one is read by the tasks of shard s alone: those that
//! compute it, and those that audit it. So that file, the *source*, is given back as soon as the new shard is
//! durable in the journal, audited if it was drawn, and held by enough workers. The journal is written before
//! any worker is told to delete the file.
//!
//! A shard whose source is given back cannot be computed again. From then on it is treated like a shard of a
//! committed layer: it is copied when a holder is lost, and waited for when all are. If the worker that
//! computed it is set aside and no audit agreed with it, the run ends.
//!
//! Shards must not be computed much faster than their sources are given back, or the stores would hold three
//! layers after all. When [`most_ahead`] shards wait for copies or audits, no more are given out. The shards
//! that workers compute count too, up to [`most_in_the_making`], because workers finish small shards faster
//! than they report them.

use crate::cluster::event::{Effect, Ending, Millis, NoteKind, Order, note_of};
use crate::cluster::parts::Dirty;
use crate::cluster::state::State;
use fathom_engine::run::lookback::{most_ahead, most_in_the_making};
use fathom_engine::run::{Depth, Keep, ShardId, Task, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// The shards of the current layer, by the fate of their sources.
#[derive(Clone, Debug, Default)]
pub struct GivenBack {
    /// Shards whose sources were given back, and whether an audit agreed with the shard.
    shards: BTreeMap<ShardId, bool>,
    /// Shards that are made and whose sources still exist.
    ahead: BTreeSet<ShardId>,
    /// Shards with which an audit agreed.
    audited: BTreeSet<ShardId>,
    /// Workers that may have a copy of a source, to compute or to audit its shard.
    readers: BTreeMap<ShardId, BTreeSet<WorkerId>>,
    /// Largest number of shards in `ahead`.
    most_ahead: usize,
    /// Largest number of shards that are in `ahead` or running.
    most_in_the_making: usize,
}

impl GivenBack {
    /// Restores the given-back shards from the journal. There are no limits before [`State::bound_ahead`]
    /// sets them.
    pub(super) fn new(shards: BTreeMap<ShardId, bool>) -> Self {
        Self { shards, most_ahead: usize::MAX, most_in_the_making: usize::MAX, ..Self::default() }
    }

    /// Returns whether the source of a shard was given back.
    pub(super) fn contains(&self, shard: ShardId) -> bool {
        self.shards.contains_key(&shard)
    }

    /// Notes that a shard was made.
    pub(super) fn note_made(&mut self, shard: ShardId) {
        if !self.contains(shard) {
            self.ahead.insert(shard);
        }
    }

    /// Notes that a shard is computed again.
    pub(super) fn unmade(&mut self, shard: ShardId) {
        self.ahead.remove(&shard);
        self.audited.remove(&shard);
    }

    /// Notes that an audit by another worker agreed with the shard.
    pub(in crate::cluster) fn audited(&mut self, shard: ShardId) {
        self.audited.insert(shard);
    }

    /// Notes that a worker was ordered to compute or to audit a shard.
    pub(super) fn read_by(&mut self, shard: ShardId, worker: WorkerId) {
        self.readers.entry(shard).or_default().insert(worker);
    }

    /// Returns whether sources must be given back before more shards are given out.
    fn is_full(&self) -> bool {
        self.ahead.len() >= self.most_ahead
    }

    /// Returns how many more shards may be given out while `underway` tasks run.
    fn room(&self, underway: usize) -> usize {
        if self.is_full() { 0 } else { self.most_in_the_making.saturating_sub(self.ahead.len() + underway) }
    }
}

impl State {
    /// Returns the layer whose shards are given back while the current one is computed, if the run does so.
    pub fn given_layer(&self) -> Option<Depth> {
        let older = self.depth.previous().and_then(Depth::previous);
        older.filter(|_| self.rules.keep == Keep::Two)
    }

    /// Returns whether a file was given back.
    pub fn is_given_back(&self, task: Task) -> bool {
        self.given_layer() == Some(task.depth) && self.given.contains(task.shard)
    }

    /// Returns the older layer once any of its shards was given back: it then counts as removed.
    pub fn removed_layer(&self) -> Option<Depth> {
        self.given_layer().filter(|_| !self.given.shards.is_empty())
    }

    /// Returns how many tasks of the current layer may be given out.
    pub(super) fn room_ahead(&self) -> usize {
        if self.given_layer().is_some() { self.given.room(self.tasks.underway()) } else { usize::MAX }
    }

    /// Sets the limits on shards ahead, for a total of `threads` kernel threads.
    pub(super) fn bound_ahead(&mut self, threads: u64) {
        self.given.most_ahead = most_ahead(self.rules.shards, threads) as usize;
        self.given.most_in_the_making = most_in_the_making(self.rules.shards, threads) as usize;
    }

    /// Notes that a worker reads the source of a shard of the current layer.
    pub(super) fn note_reader(&mut self, task: Task, id: WorkerId) {
        let is_copied = self.given_layer().is_some() && !self.rules.shared_store;
        if task.depth == self.depth && is_copied {
            self.given.read_by(task.shard, id);
        }
    }

    /// Makes reports durable and gives sources back at once, if no shard can be given out before that.
    pub(super) fn make_room_ahead(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if self.given_layer().is_some() && self.given.is_full() {
            self.save(now, effects);
            self.give_back(effects);
        }
    }

    /// Gives back the sources of the shards that are durable, done and not being audited.
    pub(super) fn give_back(&mut self, effects: &mut Vec<Effect>) {
        let Some(older) = self.given_layer().filter(|_| self.ending.is_none()) else {
            return;
        };
        let depth = self.depth;
        let is_ready = |shard: &ShardId| {
            let task = Task { depth, shard: *shard };
            !self.unsaved.contains(shard) && self.is_done(task) && !self.audits.is_open(task)
        };
        let ready: Vec<ShardId> = self.given.ahead.iter().copied().filter(is_ready).collect();
        if ready.is_empty() {
            return;
        }
        let mut given = Vec::new();
        for &shard in &ready {
            self.given.ahead.remove(&shard);
            let is_audited = self.given.audited.contains(&shard);
            self.given.shards.insert(shard, is_audited);
            given.push((Task { depth: older, shard }, is_audited));
        }
        let held = ready.iter().flat_map(|&shard| self.held_by(Task { depth, shard })).collect();
        effects.push(Effect::GiveBack(given, held));
        for shard in ready {
            let source = Task { depth: older, shard };
            let (mut told, dirty) = self.files.release(source);
            self.dirty += dirty;
            told.extend(self.given.readers.remove(&shard).unwrap_or_default());
            told.retain(|&id| id != WorkerId::SHARED_STORE && self.members.is_alive(id));
            told.into_iter().for_each(|id| self.order(id, Order::GiveBack(source)));
            // The source may be waiting to be recomputed.
            self.dirty += Dirty::missing().only_if(self.tasks.get(source).is_some());
            effects.push(note_of(NoteKind::GivenBack, None, source, None));
        }
        self.dirty += Dirty::all_workers();
    }

    /// Returns the shards of the current layer that no live worker holds and that cannot be computed again.
    pub(super) fn given_and_unheld(&self) -> Vec<Task> {
        let shards = self.given.shards.keys().map(|&shard| Task { depth: self.depth, shard });
        shards.filter(|&task| !self.is_held(task)).collect()
    }

    /// Ends the run if a shard must be computed again whose source was given back: its report was dropped, or
    /// its maker was wrong.
    pub(super) fn check_given_back(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let is_made = |task| self.tasks.get(task).is_some_and(|state| state.report().is_some());
        let tasks = self.given.shards.keys().map(|&shard| Task { depth: self.depth, shard });
        let unmade = tasks.into_iter().find(|&task| !is_made(task));
        if let Some(task) = unmade {
            let message = format!(
                "shard {} of depth {} has to be made again, and cannot be: the run keeps two layers, and what the shard was made from was given back; begin again, or put the file back from a copy if it was lost",
                task.shard, task.depth
            );
            self.end(now, Ending::Failed(message), effects);
        }
    }

    /// Returns whether a shard of the current layer cannot be computed again, and need not be, because an
    /// audit agreed with it.
    pub(in crate::cluster) fn is_settled(&self, task: Task) -> bool {
        task.depth == self.depth && self.given.shards.get(&task.shard) == Some(&true)
    }
}
