//! Links between processes, and the calls that go over them.

use fathom_engine::run::Task;
use fathom_proto::{Outcome, StoredFile};
use fathom_worker::cluster::session::Input;
use std::collections::BTreeMap;

/// The coordinator, or a worker by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Host {
    Coordinator,
    Worker(usize),
}

/// A call of a worker to the coordinator, repeated until it is answered.
#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) request: Request,
    /// Number of failed attempts. An answer to an earlier attempt is dropped.
    pub(super) attempt: u32,
    /// The time of the first attempt.
    pub(super) since: u64,
}

/// The request of a worker.
#[derive(Clone, Debug)]
pub(super) enum Request {
    /// Registration, with the inventory at the time of the call.
    Register(Vec<StoredFile>),
    /// The session, and the commands under way.
    Beat(u64, Vec<Task>),
    /// The number of the request, the session, the number of tasks, and the version of the holder map.
    Ask(u64, u64, u32, u64),
    /// The session, the number of the report, and the outcomes.
    Report(u64, u64, Vec<Outcome>),
    /// The session.
    Leave(u64),
}

/// The target of an answer: the worker, the number of its process, the call and its attempt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Sender {
    pub(super) worker: usize,
    pub(super) life: u32,
    pub(super) call: u64,
    pub(super) attempt: u32,
}

/// An event of the simulation.
#[derive(Clone, Debug)]
pub(super) enum Happening {
    /// A request arrives at the coordinator of this epoch.
    Arrives(Sender, u64, Request),
    /// An answer arrives at a worker.
    Answered(Sender, Answer),
    /// A worker notices that an attempt has failed, and tries again.
    Retry(Sender),
    /// Something else than the coordinator answers an attempt.
    Foreign(Sender, tonic::Code),
    /// Something happens inside the process of a worker, which has this number.
    Inside(usize, u32, Inside),
    /// The coordinator of this epoch has a tick.
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
    /// An input of the worker's session.
    Input(Input),
    /// The answer to a worker that leaves.
    Left,
}

/// A task, whether it is an audit, and whether an existing file of it must be ignored.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) task: Task,
    pub(super) audit: bool,
    pub(super) afresh: bool,
}

/// An event inside a worker's process.
#[derive(Clone, Debug)]
pub(super) enum Inside {
    /// The time at which the session asked to be woken.
    Wake,
    /// The wait for the inputs of a task has ended.
    Prepared(Work),
    /// A kernel thread has finished a task.
    Computed(Work),
    /// A copy was transferred.
    Copied(StoredFile, Vec<String>),
    /// A file that was reported as damaged is checked.
    Discarded(StoredFile),
}

/// Cut links, each until a time.
#[derive(Debug, Default)]
pub(super) struct Cuts(BTreeMap<(Host, Host), u64>);

impl Cuts {
    pub(super) fn cut(&mut self, from: Host, to: Host, until: u64) {
        self.0.insert((from, to), until);
    }

    pub(super) fn heal(&mut self) {
        self.0.clear();
    }

    /// Returns whether a message gets from one host to another.
    pub(super) fn passes(&self, from: Host, to: Host, now: u64) -> bool {
        self.0.get(&(from, to)).is_none_or(|&until| until <= now)
    }

    /// Returns whether messages pass in both directions.
    pub(super) fn connected(&self, one: Host, other: Host, now: u64) -> bool {
        self.passes(one, other, now) && self.passes(other, one, now)
    }
}
