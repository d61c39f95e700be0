//! Shards of the older layer that are given back while a layer is made, in a run that keeps two.
//!
//! Of the layer two depths before the current one, shard s is read by the tasks of shard s alone: those that
//! make it, and those that audit it. So that file, the *source*, is given back as soon as the new shard is
//! journalled, audited if its turn came, and held as often as it should be. The journal knows before anybody
//! is told to delete.
//!
//! A shard whose source is given back cannot be made again. From then on it is like a shard of a finished
//! layer: it is copied when a holder is lost, waited for when all are, and if the worker that made it is set
//! aside and no audit has agreed with it, the run ends.
//!
//! Shards must not be made much faster than their sources can be given back, lest three layers are there
//! after all: when [`most_ahead`] shards wait for copies or audits, no more are given out. Nor are more than
//! [`most_in_the_making`] with those that workers are at: a worker makes small ones faster than it reports.

use crate::cluster::apply::note_of;
use crate::cluster::event::{Effect, Ending, Millis, NoteKind, Order};
use crate::cluster::state::State;
use fathom_run::lookback::{most_ahead, most_in_the_making};
use fathom_run::{Depth, Keep, ShardId, Task, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// The shards of the current layer by what has become of their sources.
#[derive(Clone, Debug, Default)]
pub struct GivenBack {
    /// Shards whose sources are given back, and whether an audit has agreed with the shard.
    shards: BTreeMap<ShardId, bool>,
    /// Shards that are made, and whose sources are still there.
    ahead: BTreeSet<ShardId>,
    /// Those of them with which an audit has agreed.
    audited: BTreeSet<ShardId>,
    /// Who may have taken a copy of a source, to make or to audit the shard.
    readers: BTreeMap<ShardId, BTreeSet<WorkerId>>,
    /// How many shards may be ahead.
    most_ahead: usize,
    /// How many shards may be ahead or in the making.
    most_in_the_making: usize,
}

impl GivenBack {
    /// Those of an earlier life of the coordinator.
    pub(super) fn new(shards: BTreeMap<ShardId, bool>) -> Self {
        Self { shards, most_ahead: usize::MAX, most_in_the_making: usize::MAX, ..Self::default() }
    }

    /// Whether the source of a shard is given back.
    pub(super) fn contains(&self, shard: ShardId) -> bool {
        self.shards.contains_key(&shard)
    }

    /// Notes that a shard is made.
    pub(super) fn note_made(&mut self, shard: ShardId) {
        if !self.contains(shard) {
            self.ahead.insert(shard);
        }
    }

    /// Notes that a shard is to be made again.
    pub(super) fn unmade(&mut self, shard: ShardId) {
        self.ahead.remove(&shard);
        self.audited.remove(&shard);
    }

    /// Notes that another worker than its maker has found a shard to be what it is.
    pub(super) fn audited(&mut self, shard: ShardId) {
        self.audited.insert(shard);
    }

    /// Notes that a worker was told to make or to audit a shard.
    pub(super) fn read_by(&mut self, shard: ShardId, worker: WorkerId) {
        self.readers.entry(shard).or_default().insert(worker);
    }

    /// Whether so many shards are made that sources must be given back first.
    fn is_full(&self) -> bool {
        self.ahead.len() >= self.most_ahead
    }

    /// How many more shards may be given out, where so many are in the making.
    fn room(&self, underway: usize) -> usize {
        if self.is_full() { 0 } else { self.most_in_the_making.saturating_sub(self.ahead.len() + underway) }
    }
}

impl State {
    /// The layer whose shards are given back while the current one is made, if any are.
    pub fn given_layer(&self) -> Option<Depth> {
        let older = self.depth.previous().and_then(Depth::previous);
        older.filter(|_| self.rules.keep == Keep::Two)
    }

    /// Whether a file was given back.
    pub fn is_given_back(&self, task: Task) -> bool {
        self.given_layer() == Some(task.depth) && self.given.contains(task.shard)
    }

    /// The older layer, from its first shard on that is given back: it counts as removed.
    pub fn removed_layer(&self) -> Option<Depth> {
        self.given_layer().filter(|_| !self.given.shards.is_empty())
    }

    /// How many tasks of the current layer may be given out.
    pub(super) fn room_ahead(&self) -> usize {
        if self.given_layer().is_some() { self.given.room(self.tasks.underway()) } else { usize::MAX }
    }

    /// Says how many shards may be ahead, by the threads that are there.
    pub(super) fn bound_ahead(&mut self, threads: u64) {
        self.given.most_ahead = most_ahead(self.rules.shards, threads) as usize;
        self.given.most_in_the_making = most_in_the_making(self.rules.shards, threads) as usize;
    }

    /// Notes that a worker reads what a shard of the current layer is made from.
    pub(super) fn note_reader(&mut self, task: Task, id: WorkerId) {
        let is_copied = self.given_layer().is_some() && !self.rules.shared_store;
        if task.depth == self.depth && is_copied {
            self.given.read_by(task.shard, id);
        }
    }

    /// Makes reports durable and gives sources back at once, where no more shards may be made before.
    pub(super) fn make_room_ahead(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        if self.given_layer().is_some() && self.given.is_full() {
            self.save(now, effects);
            self.give_back(effects);
        }
    }

    /// Gives back what is read no longer.
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
            let mut told = self.files.forget(source).unwrap_or_default();
            told.extend(self.given.readers.remove(&shard).unwrap_or_default());
            told.retain(|&id| id != WorkerId::SHARED_STORE && self.is_alive(id));
            told.into_iter().for_each(|id| self.order(id, Order::GiveBack(source)));
            self.unsettled.files.remove(&source);
            self.unsettled.lacking.remove(&source);
            // It may have been missing, or about to be made again.
            self.unsettled.moved |= self.missing.contains(&source) || self.tasks.get(source).is_some();
            effects.push(note_of(NoteKind::GivenBack, None, source, None));
        }
        self.unsettled.all_awake = true;
    }

    /// Shards of the current layer that nobody who is there has, and that cannot be made again.
    pub(super) fn given_and_unheld(&self) -> Vec<Task> {
        let shards = self.given.shards.keys().map(|&shard| Task { depth: self.depth, shard });
        shards.filter(|&task| !self.is_held(task)).collect()
    }

    /// Ends the run if a shard is to be made again whose source is given back: its report was dropped, or the
    /// worker that made it was wrong.
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

    /// Whether a shard of the current layer cannot be made again, and need not be: an audit has agreed with
    /// it.
    pub(super) fn is_settled(&self, task: Task) -> bool {
        task.depth == self.depth && self.given.shards.get(&task.shard) == Some(&true)
    }
}
