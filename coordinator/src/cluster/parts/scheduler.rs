//! The layer under way: its tasks and those that recompute lost files, who computes them, and how far the
//! layer is ahead of the released sources.

use crate::cluster::event::Millis;
use crate::cluster::parts::Dirty;
use crate::cluster::parts::source_releases::Releases;
use crate::cluster::parts::tasks::{FailedAttempt, TaskProgress, Tasks};
use fathom_engine::run::{Depth, Keep, ShardId, ShardOrder, ShardReport, Task};
use fathom_proto::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The layer under way.
#[derive(Clone, Debug)]
pub struct Scheduler {
    keep: Keep,
    /// When the layer started.
    begun: Millis,
    tasks: Tasks,
    /// Shards whose sources were released, so that they cannot be computed again.
    given: Releases,
    /// All shards before this number are done.
    done: u32,
    /// Whether old layers of a shared store must be retired before more is computed.
    is_behind: bool,
}

impl Scheduler {
    /// Starts with a layer. `given_back` has the shards whose sources were released, and whether an audit
    /// agreed with the shard.
    pub fn new(
        depth: Depth,
        order: Arc<ShardOrder>,
        keep: Keep,
        given_back: BTreeMap<ShardId, bool>,
    ) -> Self {
        Self {
            keep,
            begun: Millis(0),
            tasks: Tasks::of_layer(depth, order),
            given: Releases::new(given_back),
            done: 0,
            is_behind: false,
        }
    }

    /// Starts the next layer: none of its tasks is started.
    pub fn begin_next_layer(&mut self, now: Millis) -> Dirty {
        let (depth, order) = (self.depth().next(), Arc::clone(self.tasks.order()));
        let is_behind = self.is_behind;
        *self = Self { begun: now, is_behind, ..Self::new(depth, order, self.keep, BTreeMap::new()) };
        Dirty::missing().and(Dirty::owners())
    }

    /// Returns the depth of the layer.
    pub fn depth(&self) -> Depth {
        self.tasks.depth()
    }

    /// Returns when the layer started.
    pub fn begun(&self) -> Millis {
        self.begun
    }

    /// Returns the order in which workers get shards.
    pub fn order(&self) -> &Arc<ShardOrder> {
        self.tasks.order()
    }

    /// Returns the tasks of the layer, and those that recompute lost files.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns whether old layers of a shared store must be retired before more is computed.
    pub fn is_behind(&self) -> bool {
        self.is_behind
    }

    /// Sets whether old layers of a shared store must be retired before more is computed.
    pub fn set_behind(&mut self, is_behind: bool) -> Dirty {
        let was_behind = std::mem::replace(&mut self.is_behind, is_behind);
        Dirty::all_workers().only_if(was_behind && !is_behind)
    }

    /// Enters a shard that was computed in an earlier epoch, with the worker that computed it, if known.
    pub fn restore(&mut self, report: ShardReport, producer: Option<WorkerId>) {
        self.given.note_made(report.task.shard);
        self.tasks.restore(report, producer);
    }

    /// Sets the owner of each shard of the layer.
    pub fn deal(&mut self, owners: Vec<Option<WorkerId>>) -> Dirty {
        self.tasks.deal(owners);
        Dirty::all_workers()
    }

    /// Assigns a task to a worker, perhaps to be recomputed. Returns the number of the attempt.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn begin(&mut self, task: Task, worker: WorkerId, is_afresh: bool, now: Millis) -> u32 {
        self.tasks.begin(task, worker, is_afresh, now)
    }

    /// Records that a worker listed a task that it computes.
    pub fn hear(&mut self, task: Task, worker: WorkerId, now: Millis) {
        self.tasks.set(task, TaskProgress::Running(worker, now), now);
    }

    /// Enters the report of a task of the layer, with the worker that computed the shard, if known. Returns
    /// the time from command to report.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn complete(
        &mut self,
        report: Arc<ShardReport>,
        producer: Option<WorkerId>,
        now: Millis,
    ) -> Duration {
        let task = report.task;
        let took = self.tasks.note_producer(task, producer, now);
        self.given.note_made(task.shard);
        self.tasks.set(task, TaskProgress::Made(report), now);
        took
    }

    /// Puts a task back into the queue, from which it is not assigned before `not_before`.
    pub fn wait(&mut self, task: Task, not_before: Millis) -> Dirty {
        if task.depth == self.depth() {
            self.given.unmade(task.shard);
        }
        let is_known = self.tasks.set(task, TaskProgress::Waiting, not_before).is_some();
        self.tasks.owner(task).map_or_else(Dirty::all_workers, Dirty::worker).only_if(is_known)
    }

    /// Stores a failed attempt at a task.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn note_failed_attempt(&mut self, task: Task, attempt: FailedAttempt) {
        self.tasks.note_failed_attempt(task, attempt);
    }

    /// Counts a failure of a kind that another attempt rarely fixes. Returns the number of such failures.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn note_failure(&mut self, task: Task) -> u32 {
        self.tasks.note_failure(task)
    }

    /// Records that a worker found that the inputs of a task contradict each other. Returns the worker that
    /// last found the same, if any.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn note_contradiction(&mut self, task: Task, worker: WorkerId) -> Option<WorkerId> {
        self.tasks.note_contradiction(task, worker)
    }

    /// Adds a task that recomputes a lost file. Returns whether it is new.
    pub fn add_repair(&mut self, task: Task) -> bool {
        self.tasks.add_repair(task)
    }

    /// Removes a task whose file was recomputed.
    pub fn end_repair(&mut self, task: Task) -> Dirty {
        self.tasks.forget(task);
        Dirty::missing()
    }

    /// Removes a task whose file is no longer needed.
    pub fn abandon_repair(&mut self, task: Task) {
        self.tasks.forget(task);
    }

    /// Returns whether all shards of the layer are computed, and enough workers hold them. Checks each shard
    /// once, until [`Scheduler::recount`].
    pub fn is_layer_done(&mut self, is_held: impl Fn(Task) -> bool) -> bool {
        let (depth, shards) = (self.depth(), self.order().shards().len() as u32);
        let is_done = |task| self.tasks.is_made(task) && is_held(task);
        while self.done < shards && is_done(Task { depth, shard: ShardId(self.done) }) {
            self.done += 1;
        }
        self.done == shards
    }

    /// Returns the shards of the layer that are known to be done.
    #[cfg(test)]
    pub fn done(&self) -> impl Iterator<Item = Task> {
        let depth = self.depth();
        (0..self.done).map(move |shard| Task { depth, shard: ShardId(shard) })
    }

    /// Records that shards that were done may no longer be done.
    pub fn recount(&mut self) {
        self.done = 0;
    }

    /// Returns the layer whose shards are released while this one is computed, if the run does so.
    pub fn given_layer(&self) -> Option<Depth> {
        let older = self.depth().previous().and_then(Depth::previous);
        older.filter(|_| self.keep == Keep::Two)
    }

    /// Returns whether a file was released.
    pub fn is_given_back(&self, task: Task) -> bool {
        self.given_layer() == Some(task.depth) && self.given.contains(task.shard)
    }

    /// Returns the older layer once any of its shards was released: it then counts as removed.
    pub fn removed_layer(&self) -> Option<Depth> {
        self.given_layer().filter(|_| self.given.shards().next().is_some())
    }

    /// Returns whether a shard of the layer can be computed again: its source was not released.
    pub fn can_be_made(&self, shard: ShardId) -> bool {
        !self.given.contains(shard)
    }

    /// Returns whether a shard of the layer cannot be computed again, and need not be, because an audit
    /// agreed with it.
    pub fn is_settled(&self, task: Task) -> bool {
        task.depth == self.depth() && self.given.is_settled(task.shard)
    }

    /// Returns the shards of the layer that cannot be computed again.
    pub fn given_back(&self) -> impl Iterator<Item = Task> {
        let depth = self.depth();
        self.given.shards().map(move |shard| Task { depth, shard })
    }

    /// Returns the shards that are computed and whose sources still exist.
    pub fn ahead(&self) -> impl Iterator<Item = ShardId> {
        self.given.ahead()
    }

    /// Returns whether sources must be released before more shards are assigned.
    pub fn is_full(&self) -> bool {
        self.given_layer().is_some() && self.given.is_full()
    }

    /// Returns how many tasks of the layer may be assigned.
    pub fn room_ahead(&self) -> usize {
        if self.given_layer().is_some() { self.given.room(self.tasks.underway()) } else { usize::MAX }
    }

    /// Sets the limits on shards ahead, for a total of `threads` kernel threads.
    pub fn bound_ahead(&mut self, threads: u64) {
        self.given.bound(self.order().shards().len() as u32, threads);
    }

    /// Records that a worker may take a copy of the source of a shard, to compute or to audit the shard.
    pub fn note_reader(&mut self, task: Task, worker: WorkerId) {
        if task.depth == self.depth() && self.given_layer().is_some() {
            self.given.read_by(task.shard, worker);
        }
    }

    /// Records that an audit by another worker agreed with a shard.
    pub fn note_audited(&mut self, shard: ShardId) {
        self.given.audited(shard);
    }

    /// Returns whether an audit by another worker agreed with a shard whose source still exists.
    pub fn is_audited(&self, shard: ShardId) -> bool {
        self.given.is_audited(shard)
    }

    /// Records that the source of a shard is released. Returns the workers that may have a copy of it.
    pub fn give_back(&mut self, shard: ShardId) -> (BTreeSet<WorkerId>, Dirty) {
        let source = self.given_layer().map(|depth| Task { depth, shard });
        // The source may be waiting to be recomputed.
        let is_repaired = source.is_some_and(|source| self.tasks.get(source).is_some());
        (self.given.give_back(shard), Dirty::all_workers().and(Dirty::missing().only_if(is_repaired)))
    }
}
