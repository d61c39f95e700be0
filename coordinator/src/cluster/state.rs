//! What the coordinator knows of a run on many hosts.

use crate::cluster::event::{Ending, Holders, LeaveReason, Millis, Order, Progress, RequestId};
use fathom_layer::{Digest, LayerDigest};
use fathom_proto::{Session, WorkerId};
use fathom_run::{Depth, Keep, ShardId, ShardReport, Task};
use std::collections::{BTreeMap, BTreeSet};
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
}

/// Whether a worker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its session lasts.
    Alive(Session),
    /// It was there in an earlier life of the coordinator, and may come back at any moment.
    Awaited,
    /// It was silent for longer than its lease.
    Lost,
    /// It has left.
    Left,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// For people.
    pub name: String,
    /// Where its peers reach it.
    pub address: String,
    /// Kernel threads.
    pub threads: u32,
    /// Whether it is there.
    pub presence: Presence,
    /// When it was heard last.
    pub heard: Millis,
    /// How far it is.
    pub progress: Progress,
    /// Whether it shall leave when others hold all that it holds.
    pub draining: bool,
    /// Until when it gets nothing that takes room on its disk.
    pub full_until: Millis,
    /// Orders that wait until it asks.
    pub orders: Vec<Order>,
    /// Its request that waits for orders.
    pub taker: Option<Taker>,
    /// Why it was told to leave, if it was.
    pub leaving: Option<LeaveReason>,
}

/// A worker's request that waits for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taker {
    /// The request.
    pub request: RequestId,
    /// How many tasks it would take.
    pub tasks: u32,
    /// The version of the holders that it knows.
    pub version: u64,
    /// Since when it waits.
    pub since: Millis,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Making {
    /// Nobody is at it.
    Waiting,
    /// A worker is at it.
    Running(WorkerId, Millis),
    /// It was made.
    Made(ShardReport),
}

/// A task of the layer in the making, or one that makes a lost file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// How often it was given out in this life of the coordinator.
    pub attempts: u32,
    /// How often it failed in a way that another attempt may not mend.
    pub failures: u32,
    /// It is not given out before.
    pub not_before: Millis,
    /// How far it is.
    pub making: Making,
}

impl TaskState {
    /// One that nobody has begun.
    pub fn new() -> Self {
        Self { attempts: 0, failures: 0, not_before: Millis(0), making: Making::Waiting }
    }
}

impl Default for TaskState {
    fn default() -> Self {
        Self::new()
    }
}

/// A layer file, wherever it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    /// Who has it, whether they are there or not.
    pub holders: BTreeSet<WorkerId>,
    /// Its bytes.
    pub bytes: u64,
    /// The digest of its cosets' checksums.
    pub digest: Digest,
}

/// A copy that was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copying {
    /// Since then.
    Ordered(Millis),
    /// It failed, and is not ordered again before.
    Failed(Millis),
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
    /// The depth of the layer in the making.
    pub depth: Depth,
    /// When it was begun.
    pub begun: Millis,
    /// States of the layers before it.
    pub visited: u64,
    /// Its tasks, and those that make lost files again.
    pub tasks: BTreeMap<Task, TaskState>,
    /// The files of the layers that are still read, and of the one in the making.
    pub files: BTreeMap<Task, HeldFile>,
    /// Copies that are under way.
    pub copies: BTreeMap<(Task, WorkerId), Copying>,
    /// All workers that were ever there.
    pub workers: BTreeMap<WorkerId, Worker>,
    /// Who should make which shard.
    pub owners: Vec<Option<WorkerId>>,
    /// Files that are read and that nobody who is there has.
    pub missing: BTreeSet<Task>,
    /// Whether holders have changed since `missing` was found.
    pub moved: bool,
    /// Changes with the holders.
    pub version: u64,
    /// Shards whose reports are not durable yet.
    pub unsaved: Vec<ShardId>,
    /// When reports were made durable last.
    pub saved: Millis,
    /// When it was looked last who is silent.
    pub looked: Millis,
    /// How the run ends, and since when it does.
    pub ending: Option<(Ending, Millis)>,
    /// Whether the end was announced.
    pub ended: bool,
}

/// What is known of a run from before this life of the coordinator.
#[derive(Clone, Debug, Default)]
pub struct Past {
    /// States at each depth.
    pub counts: Vec<u64>,
    /// Workers: name and address.
    pub workers: Vec<(WorkerId, String, String)>,
    /// The files of the newest layers: bytes, digests, holders.
    pub files: Vec<(Task, HeldFile)>,
    /// Reports of the layer in the making, with those that held its files.
    pub reports: Vec<ShardReport>,
}

impl State {
    /// Of a run that goes on, or begins if nothing is known of it.
    pub fn new(rules: Rules, epoch: u64, past: Past) -> Self {
        let depth = Depth(past.counts.len() as u32);
        let mut state = Self {
            rules,
            epoch,
            sessions: 0,
            depth,
            begun: Millis(0),
            visited: past.counts.iter().sum(),
            tasks: BTreeMap::new(),
            files: past.files.into_iter().collect(),
            copies: BTreeMap::new(),
            workers: BTreeMap::new(),
            owners: vec![None; rules.shards as usize],
            missing: BTreeSet::new(),
            moved: true,
            version: 1,
            unsaved: Vec::new(),
            saved: Millis(0),
            looked: Millis(0),
            ending: None,
            ended: false,
        };
        for (id, name, address) in past.workers {
            state.workers.insert(id, Worker::known(name, address));
        }
        state.begin_tasks();
        for report in past.reports.into_iter().filter(|report| report.task.depth == depth) {
            if state.files.contains_key(&report.task)
                && let Some(task) = state.tasks.get_mut(&report.task)
            {
                task.making = Making::Made(report);
            }
        }
        state
    }

    /// The tasks of the layer in the making, none of them begun.
    pub fn begin_tasks(&mut self) {
        let depth = self.depth;
        self.tasks = self.shards().map(|shard| (Task { depth, shard }, TaskState::new())).collect();
    }

    /// All shards.
    pub fn shards(&self) -> impl Iterator<Item = ShardId> + use<> {
        (0..self.rules.shards).map(ShardId)
    }

    /// The layers that are read to make the one at a depth: the one before it, and the one before that.
    pub fn read_for(depth: Depth) -> impl Iterator<Item = Depth> {
        (1..=2).filter_map(move |back| depth.0.checked_sub(back).map(Depth))
    }

    /// Whether a worker is there.
    pub fn is_alive(&self, worker: WorkerId) -> bool {
        worker == WorkerId::SHARED_STORE
            || self.workers.get(&worker).is_some_and(|worker| matches!(worker.presence, Presence::Alive(_)))
    }

    /// Those who are there.
    pub fn alive(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.workers
            .iter()
            .filter(|(_, worker)| matches!(worker.presence, Presence::Alive(_)))
            .map(|(id, worker)| (*id, worker))
    }

    /// The worker of a session, if it lasts.
    pub fn of_session(&self, session: Session) -> Option<WorkerId> {
        self.alive().find(|(_, worker)| worker.presence == Presence::Alive(session)).map(|(id, _)| id)
    }

    /// The worker that its peers reach at an address.
    pub fn at_address(&self, address: &str) -> Option<WorkerId> {
        self.alive().find(|(_, worker)| worker.address == address).map(|(id, _)| id)
    }

    /// Those who are there and have a file.
    pub fn holders_alive(&self, task: Task) -> impl Iterator<Item = WorkerId> {
        let holders = self.files.get(&task).into_iter().flat_map(|file| &file.holders);
        holders.copied().filter(|&holder| self.is_alive(holder))
    }

    /// Whether somebody who is there has a file.
    pub fn is_held(&self, task: Task) -> bool {
        self.holders_alive(task).next().is_some()
    }

    /// Whether a task is done: made, and held as often as it should be.
    pub fn is_done(&self, task: Task) -> bool {
        let made = self.tasks.get(&task).is_some_and(|state| matches!(state.making, Making::Made(_)));
        made && self.holders_alive(task).count() >= self.rules.replicas
    }

    /// Where the layers lie that tasks read now.
    pub fn holders(&self) -> Holders {
        let mut depths: BTreeSet<Depth> = Self::read_for(self.depth).collect();
        for repaired in self.tasks.keys().filter(|task| task.depth != self.depth) {
            depths.extend(Self::read_for(repaired.depth));
        }
        let of_shard =
            |depth| move |shard| -> Vec<WorkerId> { self.holders_alive(Task { depth, shard }).collect() };
        let of_layer = |depth| (depth, self.shards().map(of_shard(depth)).collect());
        Holders { version: self.version, layers: depths.into_iter().map(of_layer).collect() }
    }

    /// The workers that would have to come back for the run to go on: those that have what nobody else has.
    pub fn waiting_for(&self) -> BTreeSet<WorkerId> {
        let holders = self.missing.iter().filter_map(|task| self.files.get(task));
        holders.flat_map(|file| file.holders.iter().copied()).collect()
    }
}

impl Worker {
    /// One that is known from an earlier life of the coordinator.
    fn known(name: String, address: String) -> Self {
        Self {
            name,
            address,
            threads: 1,
            presence: Presence::Awaited,
            heard: Millis(0),
            progress: Progress::default(),
            draining: false,
            full_until: Millis(0),
            orders: Vec::new(),
            taker: None,
            leaving: None,
        }
    }

    /// One that has just registered.
    pub fn registered(name: String, address: String, threads: u32, session: Session, now: Millis) -> Self {
        Self { threads, presence: Presence::Alive(session), heard: now, ..Self::known(name, address) }
    }
}

/// The digest of a shard's checksums, by which files of one shard are compared.
pub fn digest_of(report: &ShardReport) -> Digest {
    let mut digest = LayerDigest::new(report.task.depth.0);
    digest.add(&report.checksums);
    digest.finish()
}
