//! Why a task did not end with a report.

use fathom_layer::LayerError;
use fathom_run::Task;
use std::error::Error;

/// The kinds call for different answers: stopped tasks are done later, the others end the run.
#[derive(Debug, thiserror::Error)]
pub enum TaskError {
    /// A layer file could not be read or written.
    #[error(transparent)]
    Layer(#[from] LayerError),
    /// It was asked to stop.
    #[error("stopped before it was done")]
    Stopped,
    /// More states than can be: the engine or the data are wrong.
    #[error(
        "shard {shard} at depth {depth}: coset {coset} has {found} new states, but only {left} were left",
        shard = task.shard, depth = task.depth
    )]
    TooManyStates {
        /// The task.
        task: Task,
        /// The coset.
        coset: u32,
        /// New states found.
        found: u32,
        /// States of the coset that were not visited before.
        left: u64,
    },
    /// The file of the shard is not what was written, and a layer that it was made from was given back.
    #[error(
        "shard {shard} at depth {depth} cannot be made again, for what it was made from was given back",
        shard = task.shard, depth = task.depth
    )]
    GivenBack {
        /// The task.
        task: Task,
        /// What is wrong with the file.
        source: LayerError,
    },
    /// The thread that did it panicked; its message went to standard error.
    #[error("shard {shard} at depth {depth}: the kernel thread panicked", shard = task.shard, depth = task.depth)]
    Panicked {
        /// The task.
        task: Task,
    },
}

/// An error with all its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let causes = std::iter::successors(Some(error), |error: &&dyn Error| (*error).source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}
