//! Links between processes, and the calls that go over them.

use fathom_proto::{Outcome, StoredFile};
use fathom_run::Task;
use fathom_worker::cluster::session::Input;
use std::collections::BTreeMap;

/// The coordinator, or a worker by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Host {
    Coordinator,
    Worker(usize),
}

/// A call of a worker to the coordinator, made again until it is answered.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    /// Attempts so far. An answer to an earlier attempt arrives at nobody.
    pub(super) attempt: u32,
    /// When it was made first.
    pub(super) since: u64,
}

/// What a worker asks.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// Registration; the inventory is taken when the call is made.
    Register(Vec<StoredFile>),
    /// Session, and what is under way.
    Beat(u64, Vec<Task>),
    /// Number, session, tasks, version of the holder map.
    Ask(u64, u64, u32, u64),
    /// Session, the number of the report, and outcomes.
    Report(u64, u64, Vec<Outcome>),
    /// Session.
    Leave(u64),
}

/// Where an answer goes: the worker, which life of its process, the call and its attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) worker: usize,
    pub(super) life: u32,
    pub(super) call: u64,
    pub(super) attempt: u32,
}

/// What happens at a certain time.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// A request arrives at the coordinator of this epoch.
    Arrives(Sender, u64, Request),
    /// An answer arrives at a worker.
    Answered(Sender, Answer),
    /// A worker notices that an attempt has failed, and tries again.
    Retry(Sender),
    /// Something inside a worker's process, in that life of it.
    Inside(usize, u32, Inside),
    /// The coordinator, in this epoch, looks at its clock.
    Tick(u64),
    /// The coordinator is started.
    StartCoordinator,
    /// A worker is started.
    StartWorker(usize),
    /// The next fault.
    Fault,
    /// All faults end.
    Heal,
}

/// An answer to a worker.
#[derive(Clone, Debug)]
pub(super) enum Answer {
    /// For its session.
    Input(Input),
    /// To a worker that leaves.
    Left,
}

/// A task, whether it is an audit, and whether a file of it that is there counts for nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) task: Task,
    pub(super) audit: bool,
    pub(super) afresh: bool,
}

/// What happens inside a worker's process.
#[derive(Clone, Debug)]
pub(super) enum Inside {
    /// The session wanted to be woken.
    Wake,
    /// What a task reads is there, or cannot be had.
    Prepared(Work),
    /// A kernel thread has ended with a task.
    Computed(Work),
    /// A copy was transferred.
    Copied(StoredFile, Vec<String>),
    /// A file that was said to be damaged was looked at.
    Discarded(StoredFile),
}

/// Links that are cut, each until a time.
#[derive(Debug, Default)]
pub(super) struct Cuts(BTreeMap<(Host, Host), u64>);

impl Cuts {
    pub(super) fn cut(&mut self, from: Host, to: Host, until: u64) {
        self.0.insert((from, to), until);
    }

    pub(super) fn heal(&mut self) {
        self.0.clear();
    }

    /// Whether a message gets from one host to another.
    pub(super) fn passes(&self, from: Host, to: Host, now: u64) -> bool {
        self.0.get(&(from, to)).is_none_or(|&until| until <= now)
    }

    /// Whether a request and its answer both pass.
    pub(super) fn connected(&self, one: Host, other: Host, now: u64) -> bool {
        self.passes(one, other, now) && self.passes(other, one, now)
    }
}
