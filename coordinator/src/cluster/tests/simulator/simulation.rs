//! The scheduler: runs one event after another, and checks the invariants after each.

mod calls;
mod decisions;
mod faults;
mod work;

use super::Planted;
use super::files::{DiskFile, Files};
use super::network::{Answer, Call, Cuts, Happening, Host, Inside, Request, Sender, Work};
use super::process::{Coordinator, Process, Worker};
use crate::cluster::event::{
    Command, Effect, Ending, Event, NoteKind, Progress, Registration, Reply, RequestId,
};
use crate::cluster::parts::PARTS;
use crate::cluster::parts::{Presence, Worker as WorkerState};
use crate::cluster::service::message_of_holders;
use crate::cluster::state::Rules;
use crate::cluster::tests::harness::{report, rules};
use fathom_engine::run::{Keep, Lookback, ShardId, ShardOrder, ShardReport, Task};
use fathom_proto::{Copied, Done, Failure, Session as SessionNumber, StoredFile, WorkerId};
use fathom_worker::cluster::holders::Holders;
use fathom_worker::cluster::session::{Action, Input, Session};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The last depth of every simulated run.
const LAST_DEPTH: u32 = 5;
/// Maximum time until which faults happen, in simulated milliseconds.
const FAULTS_END: u64 = 40_000;
/// Number of kinds of faults.
const KINDS: u8 = 14;
/// Maximum time from the last fault to the end of a run. The longest backoff of a worker takes 8 minutes of
/// it.
const BOUND: u64 = 1_800_000;
/// A worker gives up when the coordinator was silent for this time.
const PATIENCE: u64 = 300_000;

/// The result of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The run is complete, with the right counts.
    Right,
    /// What is wrong with the run.
    Wrong(String),
}

pub(super) struct Simulation {
    rng: fastrand::Rng,
    /// The time in simulated milliseconds.
    pub(super) now: u64,
    sequence: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    pub(super) coordinator: Coordinator,
    pub(super) workers: Vec<Worker>,
    /// The files of each worker, or of all workers in a shared store.
    disks: Vec<Files>,
    cuts: Cuts,
    requests: u64,
    /// The senders that wait for a reply of the coordinator.
    waiting: BTreeMap<RequestId, Sender>,
    /// Number of messages of each 256 that are lost.
    lossy: u8,
    /// Number of requests of each 256 that arrive twice.
    doubling: u8,
    /// Number of reports of each 256 in which a bit flips.
    flipping: u8,
    /// Until this time another service answers at the coordinator's address.
    foreign_until: u64,
    /// A worker that ended although it had registered.
    gone_for_good: Option<String>,
    /// The kinds of faults that may occur.
    kinds: Vec<u8>,
    heals_at: u64,
    /// Files that a disk, of this number, has lost, while the coordinator may still count on them.
    lost: BTreeSet<(usize, Task)>,
    ended: Option<Ending>,
    /// Shards that no other worker audited, according to the log.
    unaudited: BTreeSet<Task>,
    /// Whether a wrong shard was committed because no worker audited it.
    is_excused: bool,
    is_told: bool,
    planted: Option<Planted>,
}

pub(super) fn id(worker: usize) -> WorkerId {
    WorkerId([worker as u8 + 1; 16])
}

fn a_worker(rng: &mut fastrand::Rng) -> Worker {
    Worker { threads: rng.usize(1..3), ..Worker::default() }
}

fn address(worker: usize) -> String {
    format!("w{worker}:1")
}

impl Simulation {
    pub(super) fn new(seed: u64, planted: Option<Planted>) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        // To find a liar there must be two other workers, and shards must be audited.
        let has_liar = rng.u8(..) < 64;
        let workers = if has_liar { rng.usize(3..5) } else { rng.usize(1..5) };
        let (keep, lookback) = match rng.u8(0..4) {
            0 => (Keep::All, Lookback::All),
            1 => (Keep::All, Lookback::Two),
            2 => (Keep::Two, Lookback::Two),
            _ => (Keep::Last, Lookback::Two),
        };
        let shared_store = rng.u8(0..4) == 0;
        let rules = Rules {
            keep,
            lookback,
            shared_store,
            replicas: if workers > 1 && !shared_store { rng.usize(1..3) } else { 1 },
            max_depth: Some(LAST_DEPTH),
            audit: if has_liar { PARTS / rng.u32(1..4) } else { rng.u32(0..2) * PARTS / 2 },
            ..rules(rng.u32(1..7))
        };
        let mut order: Vec<ShardId> = (0..rules.shards).map(ShardId).collect();
        rng.shuffle(&mut order);
        let order = ShardOrder::new(order).expect("each shard is there");
        let mut simulation = Self {
            coordinator: Coordinator::new(rules, order),
            workers: (0..workers).map(|_| a_worker(&mut rng)).collect(),
            disks: (0..if shared_store { 1 } else { workers }).map(|_| Files::default()).collect(),
            now: 0,
            sequence: 0,
            queue: BTreeMap::new(),
            cuts: Cuts::default(),
            requests: 0,
            waiting: BTreeMap::new(),
            lossy: if rng.bool() { rng.u8(0..40) } else { 0 },
            doubling: if rng.bool() { rng.u8(0..40) } else { 0 },
            flipping: 0,
            foreign_until: 0,
            gone_for_good: None,
            kinds: Vec::new(),
            heals_at: rng.u64(1000..FAULTS_END),
            lost: BTreeSet::new(),
            ended: None,
            unaudited: BTreeSet::new(),
            is_excused: false,
            is_told: false,
            planted,
            rng,
        };
        if has_liar {
            let liar = simulation.rng.usize(..workers);
            simulation.workers[liar].lies = true;
            simulation.workers[liar].is_consistent = simulation.rng.bool();
        }
        simulation.later(0, 10, Happening::StartCoordinator);
        for worker in 0..workers {
            simulation.later(0, 5000, Happening::StartWorker(worker));
        }
        let kinds = simulation.rng.usize(1..5);
        simulation.kinds = simulation.rng.choose_multiple(0..KINDS, kinds);
        for _ in 0..simulation.rng.u32(0..25) {
            let at = simulation.rng.u64(0..simulation.heals_at);
            simulation.at(at, Happening::Fault);
        }
        simulation.at(simulation.heals_at, Happening::Heal);
        simulation
    }

    /// Prints each event from now on.
    pub(super) fn told(mut self) -> Self {
        self.is_told = true;
        self
    }

    pub(super) fn run(mut self) -> Outcome {
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            self.now = at;
            if at > self.heals_at + BOUND {
                break;
            }
            self.tell(&happening);
            self.happen(happening);
            if self.is_excused {
                return Outcome::Right;
            }
            self.check();
            if let Some(what) = self.gone_for_good {
                return Outcome::Wrong(what);
            }
            match &self.ended {
                Some(Ending::MaxDepth) => return self.verdict(),
                Some(Ending::Failed(message)) if self.is_unjudged(message) => return Outcome::Right,
                Some(Ending::Failed(message)) => return Outcome::Wrong(message.clone()),
                _ => {}
            }
        }
        let counts = &self.coordinator.journal.counts;
        Outcome::Wrong(format!(
            "{} of {} depths are done {} s after the last fault",
            counts.len(),
            LAST_DEPTH + 1,
            BOUND / 1000
        ))
    }

    /// Returns whether a run may end with this message because a worker lies. Without a third worker nobody
    /// can determine which one does; if it is the only one there, it cannot recompute lost files. And a shard
    /// that may be wrong cannot be computed again once its source was released, which the next epoch reports
    /// too.
    fn is_unjudged(&self, message: &str) -> bool {
        let is_disputed = message.contains("was computed twice with different states")
            || message.contains("was lost and recomputed with other states than the committed ones");
        let is_given_back = self.coordinator.rules.keep == Keep::Two
            && (message.contains("must be recomputed, but its source was deleted")
                || message.contains("cannot be recomputed"));
        self.workers.iter().any(|worker| worker.lies) && (is_disputed || is_given_back)
    }

    fn verdict(&self) -> Outcome {
        let right = vec![u64::from(self.coordinator.rules.shards) * 10; LAST_DEPTH as usize + 1];
        let counts = &self.coordinator.journal.counts;
        if *counts == right { Outcome::Right } else { Outcome::Wrong(format!("counts {counts:?}")) }
    }

    /// Returns the number of the disk with a worker's files.
    fn disk(&self, worker: usize) -> usize {
        if self.coordinator.rules.shared_store { 0 } else { worker }
    }

    /// Returns the files that a worker sees.
    fn files(&self, worker: usize) -> &Files {
        &self.disks[self.disk(worker)]
    }

    fn files_mut(&mut self, worker: usize) -> &mut Files {
        let disk = self.disk(worker);
        &mut self.disks[disk]
    }

    fn tell(&self, happening: &Happening) {
        if self.is_told && !matches!(happening, Happening::Tick(_) | Happening::Inside(_, _, Inside::Wake)) {
            let text = format!("{happening:?}");
            eprintln!("{:>8} {}", self.now, text.chars().take(200).collect::<String>());
        }
    }

    fn at(&mut self, at: u64, happening: Happening) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), happening);
    }

    /// Schedules an event between `least` and `most` milliseconds from now.
    pub(super) fn later(&mut self, least: u64, most: u64, happening: Happening) {
        let at = self.now + self.rng.u64(least..=most);
        self.at(at, happening);
    }

    /// Schedules an event after the time of a message or a small piece of work: usually short, sometimes
    /// long.
    fn soon(&mut self, happening: Happening) {
        let most = if self.rng.u8(..) < 8 { 4000 } else { 30 };
        self.later(1, most, happening);
    }

    fn is_lost(&mut self) -> bool {
        self.rng.u8(..) < self.lossy
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrives(sender, epoch, request) => self.arrives(sender, epoch, request),
            Happening::Answered(sender, answer) => self.answered(sender, answer),
            Happening::Retry(sender) => self.retry(sender),
            Happening::Foreign(sender, code) => self.foreign(sender, code),
            Happening::Inside(worker, life, inside) => self.inside(worker, life, inside),
            Happening::Tick(epoch) => self.tick(epoch),
            Happening::StartCoordinator => {
                if self.coordinator.state.is_none() {
                    self.start_coordinator();
                    self.later(10, 1000, Happening::Tick(self.coordinator.epoch));
                }
            }
            Happening::StartWorker(worker) => self.start_worker(worker),
            Happening::Fault => self.fault(),
            Happening::Heal => self.heal(),
        }
    }
}
