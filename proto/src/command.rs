//! The commands of a coordinator to its workers.

use crate::{Attempt, StoredFile};
use fathom_engine::run::{Depth, Task};

/// The reason why a worker must leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeaveReason {
    /// The run is complete, or has reached its last depth.
    Done,
    /// A user stopped the run.
    Stopped,
    /// The run is complete, and the worker is to delete its files of the run.
    Clean,
    /// The worker was drained.
    Drained,
    /// The run has failed.
    Failed,
    /// The coordinator ends and will come back: the worker finishes its tasks and waits.
    CoordinatorGoes,
}

/// A command to a worker. `Holder` names a worker that holds a file: by its id on the coordinator, by the
/// address of its exchange on the way to a worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command<Holder> {
    /// Compute a shard. A complete file of the shard may be used instead.
    Compute(Task, Attempt),
    /// Compute a shard, even if there is a file of the shard: that file may be wrong.
    Recompute(Task, Attempt),
    /// Compute a shard again without keeping its file, if possible with another kernel than the named one.
    Audit(Task, Attempt, String),
    /// Copy a file from one of these workers.
    Copy(StoredFile, Vec<Holder>),
    /// Delete a file that is reported as damaged or as not the reported one, if it is.
    Discard(StoredFile),
    /// Delete a file that is no longer read.
    Release(Task),
    /// Delete a layer, or compress it if it is kept: tasks no longer read it, except to exclude visited
    /// states.
    RetireLayer(Depth),
    /// Leave the run.
    Leave(LeaveReason),
}

impl<Holder> Command<Holder> {
    /// Returns the command with other names of the holders. A holder without another name is omitted.
    pub fn with_holders<Other>(self, name: impl Fn(Holder) -> Option<Other>) -> Command<Other> {
        match self {
            Self::Compute(task, attempt) => Command::Compute(task, attempt),
            Self::Recompute(task, attempt) => Command::Recompute(task, attempt),
            Self::Audit(task, attempt, kernel) => Command::Audit(task, attempt, kernel),
            Self::Copy(file, holders) => Command::Copy(file, holders.into_iter().filter_map(name).collect()),
            Self::Discard(file) => Command::Discard(file),
            Self::Release(task) => Command::Release(task),
            Self::RetireLayer(depth) => Command::RetireLayer(depth),
            Self::Leave(reason) => Command::Leave(reason),
        }
    }
}
