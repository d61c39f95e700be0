//! Errors of tasks.

use crate::run::{Depth, Task};
use fathom_layer::LayerError;
use std::error::Error;
use std::path::PathBuf;

/// The reason why a task ended without a report. A stopped task is done later; the other errors end
/// the run.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A layer file could not be read or written.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// The task was asked to stop.
    #[error("stopped before it was done")]
    Stopped,
    /// A coset got more new states than it had left: the engine or the data are wrong.
    #[error(
        "shard {shard} at depth {depth}: coset {coset} has {found} new states, but only {left} were left",
        shard = task.shard, depth = task.depth
    )]
    TooManyStates {
        /// The task.
        task: Task,
        /// The coset.
        coset: u32,
        /// The number of new states found.
        found: u32,
        /// The number of states of the coset that were not visited before.
        left: u64,
    },
    /// Another process has finished the task's file in the meantime, with other states.
    #[error(
        "shard {shard} at depth {depth}: another process has written {path} with other states than were computed here: the memory or the disk of one of the two is faulty",
        shard = task.shard, depth = task.depth, path = path.display()
    )]
    MadeOtherwise {
        /// The task.
        task: Task,
        /// The file.
        path: PathBuf,
    },
    /// The file of the shard is missing or damaged, and cannot be computed again, because a shard that it was
    /// made from was released.
    #[error(
        "shard {shard} at depth {depth} cannot be recomputed, because its source was released",
        shard = task.shard, depth = task.depth
    )]
    GivenBack {
        /// The task.
        task: Task,
        /// What is wrong with the file.
        source: LayerError,
    },
    /// The thread that did the task panicked. The panic's message went to standard error.
    #[error("shard {shard} at depth {depth}: the kernel thread panicked", shard = task.shard, depth = task.depth)]
    Panicked {
        /// The task.
        task: Task,
    },
}

/// Returns an error with all its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |error: &&dyn Error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// Returns the advice for a file that is larger than files may be.
pub(crate) fn file_limit(depth: Depth, path: &str) -> String {
    format!(
        "a file of depth {depth} is larger than this process may write, or than its file system allows; raise the limit ('ulimit -f unlimited') or use another disk, then continue with 'fathom resume {path}'"
    )
}
