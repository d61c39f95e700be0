//! The processes: the coordinator with its journal, and workers with their disks.

use super::network::{Call, Request, Work};
use crate::cluster::event::{Held, Millis};
use crate::cluster::state::{HeldFile, Past, Rules, State, digest_of};
use crate::cluster::tests::table::{report, task};
use fathom_layer::Digest;
use fathom_run::{Keep, ShardReport, Task, WorkerId};
use fathom_worker::cluster::holders::Holders;
use fathom_worker::cluster::session::Session;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// What is durable with the coordinator.
#[derive(Clone, Debug, Default)]
pub(super) struct Journal {
    pub(super) counts: Vec<u64>,
    pub(super) workers: BTreeMap<WorkerId, (String, String)>,
    pub(super) set_aside: BTreeSet<WorkerId>,
    disowned: BTreeSet<Task>,
    holders: BTreeMap<Task, BTreeSet<WorkerId>>,
    reports: BTreeMap<Task, ShardReport>,
    /// Files that may be deleted, and whether an audit has agreed with what was made of them.
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

    pub(super) fn save(&mut self, reports: &[Arc<ShardReport>], held: Held) {
        self.hold(held);
        self.reports.extend(reports.iter().map(|report| (report.task, (**report).clone())));
    }

    /// Notes that files may be deleted from now on.
    pub(super) fn give_back(&mut self, files: Vec<(Task, bool)>, held: Held) {
        self.hold(held);
        for (file, is_audited) in files {
            let new = Task { depth: file.depth.next().next(), shard: file.shard };
            assert_eq!(new.depth.0 as usize, self.counts.len(), "{file:?} is given back");
            assert!(self.reports.contains_key(&new), "{file:?} is given back, and nothing was made of it");
            self.given_back.insert(file, is_audited);
        }
    }

    /// Whether a file is read no longer.
    pub(super) fn is_given_back(&self, file: Task) -> bool {
        self.given_back.contains_key(&file) || file.depth.0 as usize + 2 < self.counts.len()
    }

    pub(super) fn forget(&mut self, tasks: &[Task]) {
        self.disowned.extend(tasks);
        for task in tasks {
            self.reports.remove(task);
            self.holders.remove(task);
        }
    }

    pub(super) fn commit(&mut self, reports: &[Arc<ShardReport>], held: Held) {
        self.hold(held);
        self.counts.push(reports.iter().map(|report| report.totals.states).sum());
        self.reports.clear();
        self.given_back.clear();
    }

    /// What the next life knows.
    fn past(&self, rules: &Rules) -> Past {
        let Self { counts, workers, set_aside, disowned, holders, reports, given_back } = self.clone();
        let file = |task: Task| {
            let holders = holders.get(&task).cloned().unwrap_or_default();
            let digest = digest_of(reports.get(&task).unwrap_or(&report(task.depth.0, task.shard.0)));
            (task, HeldFile { holders, bytes: 0, digest })
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
        Past { counts, workers, set_aside, disowned, files, reports, given_back }
    }
}

/// The coordinator.
pub(super) struct Coordinator {
    pub(super) rules: Rules,
    pub(super) journal: Journal,
    pub(super) epoch: u64,
    /// None while its process is gone.
    pub(super) state: Option<State>,
    /// It hears nothing before.
    pub(super) asleep_until: u64,
    /// When its process began, and how far its clock has jumped.
    began: u64,
    pub(super) jumped: u64,
}

impl Coordinator {
    pub(super) fn new(rules: Rules) -> Self {
        let journal = Journal::default();
        Self { rules, journal, epoch: 0, state: None, asleep_until: 0, began: 0, jumped: 0 }
    }

    pub(super) fn start(&mut self, now: u64) {
        self.epoch += 1;
        (self.began, self.jumped, self.asleep_until) = (now, 0, 0);
        let state = self.state.insert(State::new(self.rules, self.epoch, self.journal.past(&self.rules)));
        state.draw_again();
    }

    /// What its clock shows.
    pub(super) fn clock(&self, now: u64) -> Millis {
        Millis(now - self.began + self.jumped)
    }
}

/// A file on a worker's disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskFile {
    /// A bit is not what was written; whoever reads the file notices.
    pub(super) is_damaged: bool,
    /// The disk has given back something else that is whole, such as the file of a test run.
    pub(super) is_other: bool,
    /// It was made by a worker that lies, each time with other states; 0 if it is right.
    pub(super) lie: u32,
}

impl DiskFile {
    pub(super) fn is_right(self) -> bool {
        self == Self::default()
    }

    /// What it comes to for whoever reads it.
    pub(super) fn report(self, task: Task) -> ShardReport {
        let right = report(task.depth.0, task.shard.0);
        match (self.is_other, self.lie) {
            (true, _) => ShardReport { checksums: vec![Digest::of(b"another file")], ..right },
            (false, 0) => right,
            (false, lie) => ShardReport { checksums: vec![Digest::of(&lie.to_le_bytes())], ..right },
        }
    }

    /// The digest of its checksums.
    pub(super) fn digest(self, task: Task) -> Digest {
        digest_of(&self.report(task))
    }
}

/// A worker: its disk, and its process if there is one.
#[derive(Default)]
pub(super) struct Worker {
    pub(super) store: BTreeMap<Task, DiskFile>,
    pub(super) process: Option<Process>,
    /// Which process this is, or was.
    pub(super) life: u32,
    pub(super) asleep_until: u64,
    /// Nothing can be written before.
    pub(super) full_until: u64,
    /// Kernel threads.
    pub(super) threads: usize,
    /// Whether half of what it makes is wrong.
    pub(super) lies: bool,
}

/// A worker's process.
pub(super) struct Process {
    pub(super) session: Session,
    /// When it began.
    pub(super) began: u64,
    /// Who holds what, as the session has it.
    pub(super) holders: Arc<Holders>,
    pub(super) calls: BTreeMap<u64, Call>,
    pub(super) last_call: u64,
    /// When it wants to be woken.
    pub(super) wake: Option<u64>,
    pub(super) is_halted: bool,
    /// Tasks that wait for a kernel thread.
    pub(super) queue: VecDeque<Work>,
    /// Kernel threads that are at work.
    pub(super) busy: usize,
    /// What it still says before it ends, one after the other; none if it stays.
    pub(super) last_words: Option<VecDeque<Request>>,
}
