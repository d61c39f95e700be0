//! What the coordinator knows of a run on many hosts.
//!
//! Three tables keep what depends on each other, and change it in one place each: [`Tasks`], [`Files`] and
//! [`Workers`].

#[cfg(test)]
mod check;
mod files;
mod tasks;
mod workers;

pub use files::{CopyState, Files, HeldFile};
pub use tasks::{TaskProgress, TaskState, Tasks};
pub use workers::{PendingPoll, Presence, Unreached, Worker, Workers};

use crate::cluster::audit::Audits;
use crate::cluster::bounds::{Bounds, Implausible};
use crate::cluster::event::{Ending, Holders, Holding, Millis, Order};
use crate::cluster::given::GivenBack;
use fathom_layer::{Digest, LayerDigest};
use fathom_proto::{Session, StoredFile};
use fathom_run::WorkerId;
use fathom_run::{Depth, Keep, Lookback, ShardId, ShardReport, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// What does not change while a coordinator lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Shards of a layer.
    pub shards: u32,
    /// The states of the space.
    pub states: u64,
    /// Which layers stay.
    pub keep: Keep,
    /// The layers from which a layer is made.
    pub lookback: Lookback,
    /// The last depth to make; `None` for all.
    pub max_depth: Option<u32>,
    /// Whether all workers see the layers in one file system.
    pub shared_store: bool,
    /// How many workers must hold a file before its task is done; 1 with a shared store.
    pub replicas: usize,
    /// A worker that is silent for longer is lost.
    pub lease: Duration,
    /// How often workers say that they live.
    pub heartbeat: Duration,
    /// What reports can say.
    pub bounds: Bounds,
    /// How much of the time of all shards audits may take, in millionths; 0 for none.
    pub audit: u32,
    /// Whether workers remove what they hold when the run is complete.
    pub clean_stores: bool,
}

/// What is known.
#[derive(Clone, Debug)]
pub struct State {
    /// What does not change.
    pub rules: Rules,
    /// Which life of the coordinator this is.
    pub epoch: u64,
    /// Sessions begun in it.
    pub sessions: u64,
    /// The secret that session numbers are derived from, so that they cannot be guessed. Zeros where nobody
    /// guesses.
    pub session_key: [u8; 32],
    /// The depth of the current layer.
    pub depth: Depth,
    /// When it was begun.
    pub begun: Millis,
    /// States of the layers before it.
    pub visited: u64,
    /// States of the newest of them.
    pub newest: Option<u64>,
    /// Its tasks, and those that make lost files again.
    pub tasks: Tasks,
    /// The files of the layers that are still read, and of the current one.
    pub files: Files,
    /// All workers that were ever there.
    pub workers: Workers,
    /// Shards of the current layer that are audited.
    pub audits: Audits,
    /// Shards of the current layer that cannot be made again.
    pub given: GivenBack,
    /// All shards before this one are done.
    pub done: u32,
    /// Files that are read and that nobody who is there has.
    pub missing: BTreeSet<Task>,
    /// Files that are read and whose holders somebody cannot reach.
    pub bridged: BTreeSet<Task>,
    /// What has to be looked at again.
    pub unsettled: Unsettled,
    /// The places of the layers, as workers are told them.
    pub told: Option<Arc<Holders>>,
    /// The number of the holder map. It grows with each change of the map and with each life of the
    /// coordinator, so that a number of one life never stands for a map of another.
    pub version: u64,
    /// Shards whose reports are not durable yet.
    pub unsaved: Vec<ShardId>,
    /// When reports were made durable last.
    pub saved: Millis,
    /// When it was looked last who is silent.
    pub looked: Millis,
    /// How the run ends, and until when workers have time to leave.
    pub ending: Option<(Ending, Millis)>,
    /// Whether the end was announced.
    pub ended: bool,
}

/// What has to be looked at again, because something has happened that it depends on. Events are many, and
/// shards are too: what an event does not touch is not looked at.
#[derive(Clone, Debug, Default)]
pub struct Unsettled {
    /// Somebody came or went, or lost a file that is read: what is missing, and what can be done about it.
    pub moved: bool,
    /// Somebody may have lost a file of the current layer.
    pub unheld: bool,
    /// Who should make which shard.
    pub owners: bool,
    /// Files that may have to be copied.
    pub files: BTreeSet<Task>,
    /// Files that have to be copied, when somebody can take a copy.
    pub lacking: BTreeSet<Task>,
    /// Somebody may be able to now.
    pub targets: bool,
    /// When it was tried last.
    pub tried: Millis,
    /// Workers for which there may be orders.
    pub awake: BTreeSet<WorkerId>,
    /// There may be orders for all.
    pub all_awake: bool,
}

/// What is known of a run from before this life of the coordinator.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// States at each depth.
    pub counts: Vec<u64>,
    /// Workers: name and address.
    pub workers: Vec<(WorkerId, String, String)>,
    /// Those that were set aside.
    pub set_aside: BTreeSet<WorkerId>,
    /// Shards of the current layer of which a wrong file may lie with anybody.
    pub disowned: BTreeSet<Task>,
    /// The files of the newest layers: bytes, digests, holders.
    pub files: Vec<(Task, HeldFile)>,
    /// Reports of the current layer.
    pub reports: Vec<ShardReport>,
    /// Shards of the current layer whose sources were given back, and whether an audit has agreed with them.
    pub given_back: BTreeMap<ShardId, bool>,
}

impl State {
    /// Restores the state from the journal; an empty `Past` starts a new run.
    pub fn new(rules: Rules, epoch: u64, past: Past) -> Self {
        let depth = Depth(past.counts.len() as u32);
        let mut state = Self {
            rules,
            epoch,
            sessions: 0,
            session_key: [0; 32],
            depth,
            begun: Millis(0),
            visited: past.counts.iter().sum(),
            newest: past.counts.last().copied(),
            tasks: Tasks::of_layer(depth, rules.shards),
            files: Files::new(past.files),
            workers: Workers::default(),
            audits: Audits::default(),
            given: GivenBack::new(past.given_back),
            done: 0,
            missing: BTreeSet::new(),
            bridged: BTreeSet::new(),
            // A file may have been lost while the last life was ending.
            unsettled: Unsettled { moved: true, unheld: true, owners: true, ..Unsettled::default() },
            told: None,
            version: epoch << 32 | 1,
            unsaved: Vec::new(),
            saved: Millis(0),
            looked: Millis(0),
            ending: None,
            ended: false,
        };
        for (id, name, address) in past.workers {
            let is_set_aside = past.set_aside.contains(&id);
            let mut worker = Worker::known(name, address);
            (worker.draining, worker.is_set_aside) = (is_set_aside, is_set_aside);
            state.workers.insert(id, worker);
        }
        state.audits.disowned = past.disowned.into_iter().filter(|task| task.depth == depth).collect();
        state.unsettled.files = state.files.iter().map(|(task, _)| task).collect();
        for report in past.reports.into_iter().filter(|report| report.task.depth == depth) {
            if state.files.contains(report.task) {
                state.given.note_made(report.task.shard);
                state.tasks.set(report.task, TaskProgress::Made(Arc::new(report)), Millis(0));
            }
        }
        // The last life may have ended between the last layer and the end.
        state.ending = state.is_through().map(|ending| (ending, Millis(0)));
        state
    }

    /// The tasks of the current layer, none of them begun.
    pub fn begin_tasks(&mut self) {
        self.tasks = Tasks::of_layer(self.depth, self.rules.shards);
        self.given = GivenBack::new(BTreeMap::new());
        self.done = 0;
        self.unsettled.owners = true;
    }

    /// How the run ends, if no layer is left to make.
    pub fn is_through(&self) -> Option<Ending> {
        let is_deep_enough =
            self.depth.previous().is_some_and(|last| self.rules.max_depth.is_some_and(|max| last.0 >= max));
        match self.visited >= self.rules.states {
            true => Some(Ending::Complete),
            false => is_deep_enough.then_some(Ending::MaxDepth),
        }
    }

    /// Whether a report can be true, by what is known without its files.
    ///
    /// # Errors
    /// The reason why not.
    pub fn check_report(&self, report: &ShardReport) -> Result<(), Implausible> {
        // A file that is made again was checked when it was made first, and its digest is compared.
        if report.task.depth != self.depth {
            return Ok(());
        }
        let left = self.rules.states.saturating_sub(self.visited);
        self.rules.bounds.check(report, self.newest, left)
    }

    /// All shards.
    pub fn shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..self.rules.shards).map(ShardId)
    }

    /// Whether a worker is there; a shared store always is.
    pub fn is_alive(&self, worker: WorkerId) -> bool {
        worker == WorkerId::SHARED_STORE || self.workers.get(worker).is_some_and(Worker::is_alive)
    }

    /// Returns the number of a new session: a function of the key, the epoch and the sessions before, and
    /// never 0.
    pub fn new_session(&mut self) -> Session {
        self.sessions += 1;
        let (epoch, number) = (self.epoch.to_le_bytes(), self.sessions.to_le_bytes());
        let digest = Digest::of(&[&self.session_key[..], &epoch, &number].concat());
        let number = digest.0.first_chunk().expect("a digest has 32 bytes");
        Session(u64::from_le_bytes(*number).max(1))
    }

    /// Those who are there and have a file.
    pub fn holders_alive(&self, task: Task) -> impl Iterator<Item = WorkerId> {
        self.files.holders(task).filter(|&holder| self.is_alive(holder))
    }

    /// A file as workers are told of it.
    pub fn stored(&self, task: Task) -> StoredFile {
        StoredFile { task, digest: self.files.get(task).map(|file| file.digest) }
    }

    /// Whether somebody who is there has a file.
    pub fn is_held(&self, task: Task) -> bool {
        self.holders_alive(task).next().is_some()
    }

    /// Whether a task is done: made, and held as often as it should be.
    pub fn is_done(&self, task: Task) -> bool {
        let is_made = self.tasks.get(task).is_some_and(|state| state.report().is_some());
        is_made && self.holders_alive(task).count() >= self.rules.replicas
    }

    /// Whether all shards of the current layer are done, and audited as far as they are to be. Looks at each
    /// shard once, until somebody loses a file.
    pub fn is_layer_done(&mut self) -> bool {
        let depth = self.depth;
        while self.done < self.rules.shards && self.is_done(Task { depth, shard: ShardId(self.done) }) {
            self.done += 1;
        }
        self.done == self.rules.shards && self.audits.is_empty()
    }

    /// The files of a layer, by shard.
    pub fn layer(&self, depth: Depth) -> Vec<Option<&HeldFile>> {
        let mut layer = vec![None; self.rules.shards as usize];
        for (shard, file) in self.files.of_layer(depth) {
            if let Some(place) = layer.get_mut(shard.0 as usize) {
                *place = Some(file);
            }
        }
        layer
    }

    /// The files of a layer that nobody who is there has.
    pub fn unheld(&self, depth: Depth) -> Vec<Task> {
        let is_held = |file: &HeldFile| file.holders.iter().any(|&holder| self.is_alive(holder));
        let shards = self.shards().zip(self.layer(depth));
        let unheld = shards.filter(|(_, file)| !file.is_some_and(is_held));
        unheld.map(|(shard, _)| Task { depth, shard }).collect()
    }

    /// Where the layers lie that tasks read now. Copies that were taken since it was put together, and do not
    /// matter to anybody yet, are not in it: it is large, and all workers get it when it changes.
    pub fn holders(&mut self) -> Arc<Holders> {
        if let Some(told) = self.told.as_ref().filter(|told| told.version == self.version) {
            return Arc::clone(told);
        }
        let mut depths: BTreeSet<Depth> = self.rules.lookback.below(self.depth).collect();
        for (repaired, _) in self.tasks.repairs() {
            depths.extend(self.rules.lookback.below(repaired.depth));
        }
        let holders = Arc::new(self.holders_of(depths));
        self.told = Some(Arc::clone(&holders));
        holders
    }

    /// Where the finished layers lie that are kept. Those in a shared store are with every worker: each is
    /// told some of them.
    pub fn kept(&self) -> Holders {
        let depths: BTreeSet<Depth> = self.files.iter().map(|(task, _)| task.depth).collect();
        let is_kept = |depth: &Depth| *depth < self.depth && self.removed_layer() != Some(*depth);
        let mut kept = self.holders_of(depths.into_iter().filter(is_kept));
        if self.rules.shared_store {
            let workers: Vec<WorkerId> = self.workers.alive().map(|(id, _)| id).collect();
            for (_, shards) in &mut kept.layers {
                for (shard, holding) in shards.iter_mut().enumerate() {
                    holding.holders =
                        workers.iter().copied().cycle().skip(shard % workers.len().max(1)).take(1).collect();
                }
            }
        }
        kept
    }

    fn holders_of(&self, depths: impl IntoIterator<Item = Depth>) -> Holders {
        let of_shard = |file: Option<&HeldFile>| {
            let holders = file.into_iter().flat_map(|file| &file.holders);
            let holders = holders.copied().filter(|&holder| self.is_alive(holder)).collect();
            Holding { digest: file.map(|file| file.digest), holders }
        };
        let of_layer = |depth| (depth, self.layer(depth).into_iter().map(of_shard).collect());
        Holders { version: self.version, layers: depths.into_iter().map(of_layer).collect() }
    }

    /// The worker of an id that was named before.
    pub fn worker(&mut self, id: WorkerId) -> &mut Worker {
        self.workers.get_mut(id).expect("workers that were named once stay known")
    }

    /// Has a worker do something when it asks.
    pub fn order(&mut self, id: WorkerId, order: Order) {
        self.worker(id).orders.push(order);
        self.unsettled.awake.insert(id);
    }

    /// Changes how far a task is. One that waits is not given out before then.
    pub fn set_progress(&mut self, task: Task, making: TaskProgress, not_before: Millis) {
        let waits = making == TaskProgress::Waiting;
        if task.depth == self.depth {
            match &making {
                TaskProgress::Made(_) => self.given.note_made(task.shard),
                TaskProgress::Waiting | TaskProgress::Running(..) => self.given.unmade(task.shard),
            }
        }
        match self.tasks.set(task, making, not_before) {
            None => return,
            Some(TaskProgress::Made(_)) => self.audits.forget(task),
            Some(TaskProgress::Waiting | TaskProgress::Running(..)) => {}
        }
        if waits {
            match self.tasks.owner(task) {
                Some(owner) => self.unsettled.awake.insert(owner),
                None => std::mem::replace(&mut self.unsettled.all_awake, true),
            };
        }
    }

    /// A worker, or the shared store, has a file now that is known.
    pub fn add_holder(&mut self, task: Task, id: WorkerId) {
        if self.files.add_holder(task, id) {
            self.unsettled.files.insert(task);
            // Somebody may be able to work again.
            self.unsettled.owners |= self.bridged.contains(&task);
        }
    }

    /// A worker does not have a file, or has it no longer. Returns whether it had the file.
    pub fn remove_holder(&mut self, task: Task, id: WorkerId) -> bool {
        let was_held = self.files.remove_holder(task, id);
        if was_held {
            self.mark_lost([task]);
        }
        was_held
    }

    /// Notes that files are with fewer workers than they were.
    pub fn mark_lost(&mut self, tasks: impl IntoIterator<Item = Task>) {
        self.done = 0;
        self.unsettled.moved = true;
        self.unsettled.unheld = true;
        self.unsettled.files.extend(tasks);
    }

    /// Forgets that a copy comes to a worker. Returns how far it was.
    pub fn forget_copy(&mut self, task: Task, id: WorkerId) -> Option<CopyState> {
        self.unsettled.files.insert(task);
        self.files.forget_copy(task, id)
    }

    /// The workers that would have to come back for the run to go on: those that have what nobody else has.
    pub fn waiting_for(&self) -> BTreeSet<WorkerId> {
        self.missing.iter().flat_map(|task| self.files.holders(*task)).collect()
    }
}

/// The digest of a shard's checksums, by which files of one shard are compared.
pub fn digest_of(report: &ShardReport) -> Digest {
    let mut digest = LayerDigest::new(report.task.depth.0);
    digest.add(&report.checksums);
    digest.finish()
}
