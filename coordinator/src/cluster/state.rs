//! The state of a run on many hosts, as the coordinator knows it, and the coordinator's decisions.
//!
//! A [`State`] has [parts](crate::cluster::parts), each with its own data. The decisions are functions of the
//! state, in files by subject. They read all parts, and change each only through its methods. Such a change
//! returns what it has affected, which is collected in one place; `reconcile` takes from there what must be
//! reconsidered after an event.
//!
//! Reading order: `apply` (what an event changes), `sessions` (workers that join, leave or are lost), `reports` (what
//! workers report), `failures` (how failed commands are handled), `audits` (shards that are computed twice),
//! `verdicts` (what follows from the results of audits), `reconcile` (what follows from the state),
//! `source_release` (sources released while a layer is computed), `placement` (which worker computes which shard), `invariants`
//! (for tests). A worker whose lease has expired: `tick` in `apply` calls `remove_worker` in `sessions`, and
//! `reconcile` has its files copied or recomputed.

mod apply;
mod audits;
pub(super) mod failures;
#[cfg(test)]
mod invariants;
mod placement;
mod reconcile;
mod reports;
mod sessions;
mod source_release;
mod verdicts;

use crate::cluster::event::{Command, Ending, Holders, Holding, Millis};
use crate::cluster::parts::{
    Audits, Commit, Dirty, FileHolders, Files, HolderMap, Members, Scheduler, Secret, Shutdown, Tasks,
};
use crate::cluster::report_bounds::Bounds;
use crate::cluster::suggested_commands::Commands;
use fathom_engine::run::{Depth, Keep, Lookback, ShardId, ShardOrder, ShardReport, Task};
use fathom_layer::{Digest, LayerDigest};
use fathom_proto::{StoredFile, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Settings that do not change while a coordinator runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Number of shards of each layer.
    pub shards: u32,
    /// Number of states of the space.
    pub states: u64,
    /// Which layers are kept.
    pub keep: Keep,
    /// Which earlier layers a layer is computed from.
    pub lookback: Lookback,
    /// The last depth to compute; `None` for all.
    pub max_depth: Option<u32>,
    /// Whether all workers keep the layers in one shared file system.
    pub shared_store: bool,
    /// Number of workers that must hold a file before its task is done; 1 with a shared store.
    pub replicas: usize,
    /// A worker that is silent for longer than the lease is lost.
    pub lease: Duration,
    /// Interval between the heartbeats of a worker.
    pub heartbeat: Duration,
    /// Bounds that a report must satisfy when the coordinator starts.
    pub bounds: Bounds,
    /// Share of the time of all shards that audits may take, in millionths; 0 for no audits.
    pub audit: u32,
    /// Whether workers delete their files of the run when the run is complete.
    pub clean_stores: bool,
}

/// The state of a run, as the coordinator knows it.
#[derive(Clone, Debug)]
pub struct State {
    rules: Rules,
    /// The commands that messages mention.
    commands: Commands,
    /// Number of the present epoch: how often the run was served.
    epoch: u64,
    secret: Secret,
    members: Members,
    files: Files,
    holder_map: HolderMap,
    scheduler: Scheduler,
    audits: Audits,
    commit: Commit,
    shutdown: Shutdown,
    /// The holders of the last committed layer and of the two before it, when it was committed.
    newest: Vec<(Depth, Vec<Holding>)>,
    /// What [`State::apply`] must still reconsider.
    dirty: Dirty,
}

/// The state of a run from earlier epochs, as read from the journal.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// Number of states at each depth.
    pub counts: Vec<u64>,
    /// The order in which workers get shards; `None` for the order of their numbers.
    pub order: Option<ShardOrder>,
    /// The workers: id, name and address.
    pub workers: Vec<(WorkerId, String, String)>,
    /// Workers that were quarantined.
    pub quarantined: BTreeSet<WorkerId>,
    /// Shards of the current layer of which some store may contain a wrong file.
    pub invalidated: BTreeSet<Task>,
    /// Shards of the current layer that were computed twice with different states.
    pub suspected: BTreeSet<Task>,
    /// The files of the newest layers: size, digest and holders.
    pub files: Vec<(Task, FileHolders)>,
    /// Reports of the current layer.
    pub reports: Vec<ShardReport>,
    /// The workers that computed these shards, as far as known.
    pub producers: BTreeMap<Task, WorkerId>,
    /// Shards of the current layer whose sources were released, and whether an audit agreed with the
    /// shard.
    pub given_back: BTreeMap<ShardId, bool>,
}

impl State {
    /// Restores the state from the journal; an empty `Past` starts a new run.
    pub fn new(rules: Rules, epoch: u64, past: Past) -> Self {
        let depth = Depth(past.counts.len() as u32);
        let order = past.order.unwrap_or_else(|| ShardOrder::by_number(rules.shards));
        let mut state = Self {
            rules,
            commands: Commands::default(),
            epoch,
            secret: Secret::default(),
            members: Members::default(),
            files: Files::new(past.files),
            holder_map: HolderMap::new(epoch),
            scheduler: Scheduler::new(depth, Arc::new(order), rules.keep, past.given_back),
            audits: Audits::default(),
            commit: Commit::new(&past.counts, rules.bounds),
            shutdown: Shutdown::default(),
            newest: Vec::new(),
            // A file may have been lost while the last epoch was ending.
            dirty: Dirty::missing().and(Dirty::orphans()).and(Dirty::owners()),
        };
        for (id, name, address) in past.workers {
            state.members.restore(id, name, address, past.quarantined.contains(&id));
        }
        state.dirty += Dirty::copies(state.files.iter().map(|(task, _)| task));
        for report in past.reports.into_iter().filter(|report| report.task.depth == depth) {
            if state.files.contains(report.task) {
                let producer = past.producers.get(&report.task).copied();
                let producer = producer.filter(|&id| state.members.get(id).is_some());
                state.scheduler.restore(report, producer);
            }
        }
        let of_layer = |tasks: BTreeSet<Task>| tasks.into_iter().filter(|task| task.depth == depth).collect();
        let is_made = |task| state.scheduler.tasks().is_made(task);
        state.audits.restore(of_layer(past.invalidated), of_layer(past.suspected), is_made);
        // The last epoch may have ended between the last commit and the end of the run. Its workers are
        // informed.
        if let Some(ending) = state.is_through() {
            state.shutdown.begin(Millis(0), ending);
        }
        state
    }

    /// Returns this state with this secret.
    pub fn with_secret(self, secret: Secret) -> Self {
        Self { secret, ..self }
    }

    /// Returns this state with the commands that messages mention.
    pub fn with_commands(self, commands: Commands) -> Self {
        Self { commands, ..self }
    }

    /// Returns the fixed settings.
    pub fn rules(&self) -> &Rules {
        &self.rules
    }

    /// Returns the number of the present epoch: how often the run was served.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns the commands that messages mention.
    pub fn commands(&self) -> &Commands {
        &self.commands
    }

    /// Returns how the run ends; `None` if it is not ending yet.
    pub fn ending(&self) -> Option<&Ending> {
        self.shutdown.ending()
    }

    /// Returns the depth of the current layer.
    pub fn depth(&self) -> Depth {
        self.scheduler.depth()
    }

    /// Returns the layer under way.
    pub fn scheduler(&self) -> &Scheduler {
        &self.scheduler
    }

    /// Returns the tasks of the current layer, and those that recompute lost files.
    pub fn tasks(&self) -> &Tasks {
        self.scheduler.tasks()
    }

    /// Sets whether old layers of a shared store must be retired before more is computed.
    pub fn set_behind(&mut self, is_behind: bool) {
        self.dirty += self.scheduler.set_behind(is_behind);
    }

    /// Returns the open audits, and their results.
    pub fn audits(&self) -> &Audits {
        &self.audits
    }

    /// Returns the files of the newest layers.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns the workers of the run.
    pub fn members(&self) -> &Members {
        &self.members
    }

    /// Returns how the run ends, or `None` if a layer is left to compute.
    fn is_through(&self) -> Option<Ending> {
        let is_deep_enough =
            self.depth().previous().is_some_and(|last| self.rules.max_depth.is_some_and(|max| last.0 >= max));
        match self.commit.visited() >= self.rules.states {
            true => Some(Ending::Complete),
            false => is_deep_enough.then_some(Ending::MaxDepth),
        }
    }

    /// Returns all shards of a layer.
    pub fn shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..self.rules.shards).map(ShardId)
    }

    /// Returns the live workers that hold a file.
    pub fn holders_alive(&self, task: Task) -> impl Iterator<Item = WorkerId> {
        self.files.holders(task).filter(|&holder| self.members.is_alive(holder))
    }

    /// Returns the holders of a file, alive or not, in the form in which they are made durable.
    fn held_by(&self, task: Task) -> impl Iterator<Item = (Task, WorkerId)> {
        self.files.holders(task).map(move |holder| (task, holder))
    }

    /// Returns a file with its digest, in the form that workers receive.
    pub fn stored(&self, task: Task) -> StoredFile {
        StoredFile { task, digest: self.files.get(task).map(|file| file.digest) }
    }

    /// Returns whether a live worker holds a file.
    pub fn is_held(&self, task: Task) -> bool {
        self.holders_alive(task).next().is_some()
    }

    /// Returns whether a task is done: its report was received, and enough live workers hold the file.
    pub fn is_done(&self, task: Task) -> bool {
        self.tasks().is_made(task) && self.holders_alive(task).count() >= self.rules.replicas
    }

    /// Returns whether all shards of the current layer are done and no audit is open.
    fn is_layer_done(&mut self) -> bool {
        let Self { rules, members, files, scheduler, audits, .. } = self;
        let holders = |task| files.holders(task).filter(|&holder| members.is_alive(holder)).count();
        scheduler.is_layer_done(|task| holders(task) >= rules.replicas) && audits.is_empty()
    }

    /// Returns the files of a layer, indexed by shard.
    fn layer(&self, depth: Depth) -> Vec<Option<&FileHolders>> {
        let mut layer = vec![None; self.rules.shards as usize];
        for (shard, file) in self.files.of_layer(depth) {
            if let Some(place) = layer.get_mut(shard.0 as usize) {
                *place = Some(file);
            }
        }
        layer
    }

    /// Returns the files of a layer that no live worker holds.
    fn orphaned(&self, depth: Depth) -> Vec<Task> {
        let is_held = |file: &FileHolders| file.holders.iter().any(|&holder| self.members.is_alive(holder));
        let shards = self.shards().zip(self.layer(depth));
        let orphaned = shards.filter(|(_, file)| !file.is_some_and(is_held));
        orphaned.map(|(shard, _)| Task { depth, shard }).collect()
    }

    /// Returns the holder map of the layers that tasks read now. It need not be sent to workers that have the
    /// present version.
    fn holders(&mut self) -> Arc<Holders> {
        if let Some(holders) = self.holder_map.broadcast() {
            return Arc::clone(holders);
        }
        let mut depths: BTreeSet<Depth> = self.rules.lookback.below(self.depth()).collect();
        for (repaired, _) in self.tasks().repairs() {
            depths.extend(self.rules.lookback.below(repaired.depth));
        }
        let layers = self.holders_of(depths);
        self.holder_map.set_broadcast(layers)
    }

    /// Returns the holder map of the kept committed layers. Every worker can read a shared store, so there
    /// each shard names one worker, in turn.
    pub fn kept(&self) -> Holders {
        let depths: BTreeSet<Depth> = self.files.iter().map(|(task, _)| task.depth).collect();
        let is_kept = |depth: &Depth| *depth < self.depth() && self.scheduler.removed_layer() != Some(*depth);
        let layers = self.holders_of(depths.into_iter().filter(is_kept));
        let mut kept = Holders { version: self.holder_map.version(), layers };
        if self.rules.shared_store {
            let workers: Vec<WorkerId> = self.members.alive().map(|(id, _)| id).collect();
            for (_, shards) in &mut kept.layers {
                for (shard, holding) in shards.iter_mut().enumerate() {
                    holding.holders =
                        workers.iter().copied().cycle().skip(shard % workers.len().max(1)).take(1).collect();
                }
            }
        }
        kept
    }

    /// Returns the holders of the layer that was committed last and of the two before it, at that time.
    pub fn newest(&self) -> &[(Depth, Vec<Holding>)] {
        &self.newest
    }

    fn holders_of(&self, depths: impl IntoIterator<Item = Depth>) -> Vec<(Depth, Vec<Holding>)> {
        let of_shard = |file: Option<&FileHolders>| {
            let holders = file.into_iter().flat_map(|file| &file.holders);
            let holders = holders.copied().filter(|&holder| self.members.is_alive(holder)).collect();
            Holding { digest: file.map(|file| file.digest), holders }
        };
        let of_layer = |depth| (depth, self.layer(depth).into_iter().map(of_shard).collect());
        depths.into_iter().map(of_layer).collect()
    }

    /// Queues a command for a worker, to be sent when the worker next asks.
    fn order(&mut self, id: WorkerId, order: Command) {
        self.dirty += self.members.command(id, order);
    }

    /// Puts a task back into the queue. If it was computed, its audit is forgotten.
    fn set_waiting(&mut self, task: Task, not_before: Millis) {
        self.dirty += self.scheduler.wait(task, not_before);
        self.audits.forget(task);
    }

    /// Returns the workers that must come back for the run to continue: the holders of the missing files.
    pub fn waiting_for(&self) -> BTreeSet<WorkerId> {
        self.files.missing().iter().flat_map(|task| self.files.holders(*task)).collect()
    }
}

/// Returns the digest of a shard's checksums, which identifies the contents of its file.
pub fn digest_of(report: &ShardReport) -> Digest {
    let mut digest = LayerDigest::new(report.task.depth.0);
    digest.add(&report.checksums);
    digest.finish()
}
