//! The simulated processes: the coordinator with its journal, and workers.

use super::files::Files;
use super::network::{Call, Request, Work};
use crate::cluster::event::{Held, MadeShard, Millis};
use crate::cluster::parts::FileHolders;
use crate::cluster::state::{Past, Rules, State, digest_of};
use crate::cluster::tests::harness::{report, task};
use fathom_engine::run::{Keep, ShardOrder, ShardReport, Task};
use fathom_proto::WorkerId;
use fathom_worker::cluster::holders::Holders;
use fathom_worker::cluster::session::Session;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// The durable state of the coordinator.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    pub(super) counts: Vec<u64>,
    order: Option<ShardOrder>,
    pub(super) workers: BTreeMap<WorkerId, (String, String)>,
    pub(super) quarantined: BTreeSet<WorkerId>,
    invalidated: BTreeSet<Task>,
    pub(super) suspected: BTreeSet<Task>,
    holders: BTreeMap<Task, BTreeSet<WorkerId>>,
    reports: BTreeMap<Task, ShardReport>,
    producers: BTreeMap<Task, WorkerId>,
    /// Files that were released, and whether an audit agreed with the shards computed from them.
    given_back: BTreeMap<Task, bool>,
}

impl Journal {
    fn hold(&mut self, held: Held) {
        for (task, _) in &held {
            self.holders.remove(task);
        }
        for (task, id) in held {
            self.holders.entry(task).or_default().insert(id);
        }
    }

    pub(super) fn save(&mut self, made: Vec<MadeShard>, held: Held) {
        self.hold(held);
        for (report, producer) in made {
            self.producers.remove(&report.task);
            self.producers.extend(producer.map(|producer| (report.task, producer)));
            self.reports.insert(report.task, (*report).clone());
        }
    }

    /// Records that files may be deleted from now on.
    pub(super) fn give_back(&mut self, files: Vec<(Task, bool)>, held: Held) {
        self.hold(held);
        for (file, is_audited) in files {
            let new = Task { depth: file.depth.next().next(), shard: file.shard };
            assert_eq!(new.depth.0 as usize, self.counts.len(), "{file:?} is released");
            assert!(
                self.reports.contains_key(&new),
                "{file:?} is released, but nothing was computed from it"
            );
            self.given_back.insert(file, is_audited);
        }
    }

    /// Returns whether a file is no longer read.
    pub(super) fn is_given_back(&self, file: Task) -> bool {
        self.given_back.contains_key(&file) || file.depth.0 as usize + 2 < self.counts.len()
    }

    pub(super) fn forget(&mut self, tasks: &[Task]) {
        self.invalidated.extend(tasks);
        for task in tasks {
            self.reports.remove(task);
            self.producers.remove(task);
            self.holders.remove(task);
        }
    }

    pub(super) fn commit(&mut self, reports: &[Arc<ShardReport>], held: Held) {
        self.hold(held);
        self.counts.push(reports.iter().map(|report| report.totals.states).sum());
        self.reports.clear();
        self.producers.clear();
        self.given_back.clear();
    }

    /// Returns the state that the next epoch starts from.
    fn past(&self, rules: &Rules) -> Past {
        let Self {
            counts,
            order,
            workers,
            quarantined,
            invalidated,
            suspected,
            holders,
            reports,
            producers,
            given_back,
        } = self.clone();
        let file = |task: Task| {
            let holders = holders.get(&task).cloned().unwrap_or_default();
            let digest = digest_of(reports.get(&task).unwrap_or(&report(task.depth.0, task.shard.0)));
            (task, FileHolders { holders, bytes: 0, digest })
        };
        let depth = counts.len() as u32;
        let first = if rules.keep == Keep::All { 0 } else { depth.saturating_sub(2) };
        let committed =
            (first..depth).flat_map(|depth| (0..rules.shards).map(move |shard| task(depth, shard)));
        let committed = committed.filter(|file| !given_back.contains_key(file));
        let files = committed.chain(reports.keys().copied()).map(file).collect();
        let workers = workers.into_iter().map(|(id, (name, address))| (id, name, address)).collect();
        let given_back = given_back.into_iter().map(|(file, is_audited)| (file.shard, is_audited)).collect();
        let reports = reports.into_values().collect();
        Past {
            counts,
            order,
            workers,
            quarantined,
            invalidated,
            suspected,
            files,
            reports,
            producers,
            given_back,
        }
    }
}

/// The coordinator.
pub(super) struct Coordinator {
    pub(super) rules: Rules,
    pub(super) journal: Journal,
    pub(super) epoch: u64,
    /// `None` while the process is dead.
    pub(super) state: Option<State>,
    /// The process receives nothing before this time.
    pub(super) asleep_until: u64,
    /// When the process started, and below it the offset of its clock.
    began: u64,
    pub(super) jumped: u64,
}

impl Coordinator {
    pub(super) fn new(rules: Rules, order: ShardOrder) -> Self {
        let journal = Journal { order: Some(order), ..Journal::default() };
        Self { rules, journal, epoch: 0, state: None, asleep_until: 0, began: 0, jumped: 0 }
    }

    /// Starts the process. In a shared store, which is `disk`, it drops the reports that contradict files.
    pub(super) fn start(&mut self, now: u64, disk: &Files) {
        self.epoch += 1;
        (self.began, self.jumped, self.asleep_until) = (now, 0, 0);
        let mut past = self.journal.past(&self.rules);
        if self.rules.shared_store {
            let (right, wrong): (Vec<_>, Vec<_>) =
                past.reports.into_iter().partition(|report| disk.supports(report));
            past.reports = right;
            past.files.retain(|(task, _)| wrong.iter().all(|report| report.task != *task));
            past.invalidated.extend(wrong.iter().map(|report| report.task));
            past.files.iter_mut().for_each(|(_, file)| file.holders = [WorkerId::SHARED_STORE].into());
        }
        let state = self.state.insert(State::new(self.rules, self.epoch, past));
        state.draw_again();
        state.check();
    }

    /// Returns the time on the process's own clock.
    pub(super) fn clock(&self, now: u64) -> Millis {
        Millis(now - self.began + self.jumped)
    }
}

/// A worker: its process while there is one, and the data that outlive it.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) process: Option<Process>,
    /// The number of the present or last process.
    pub(super) life: u32,
    pub(super) asleep_until: u64,
    /// Number of kernel threads.
    pub(super) threads: usize,
    /// Whether half of its results are wrong.
    pub(super) lies: bool,
    /// Whether it is wrong about the same shards each time, in the same way.
    pub(super) is_consistent: bool,
}

/// A worker's process.
pub(super) struct Process {
    pub(super) session: Session,
    /// When the process started.
    pub(super) began: u64,
    /// The holder map of the session.
    pub(super) holders: Arc<Holders>,
    pub(super) calls: BTreeMap<u64, Call>,
    pub(super) last_call: u64,
    /// Whether the coordinator has ever registered this process.
    pub(super) has_registered: bool,
    /// The time at which the session asks to be woken.
    pub(super) wake: Option<u64>,
    pub(super) is_halted: bool,
    /// Tasks that wait for a kernel thread.
    pub(super) queue: VecDeque<Work>,
    /// Number of kernel threads at work.
    pub(super) busy: usize,
    /// The last requests before the process ends, in order; `None` if it is not ending.
    pub(super) last_words: Option<VecDeque<Request>>,
}
