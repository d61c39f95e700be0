//! How an order ended, and why not well.

use crate::Attempt;
use fathom_layer::Digest;
use fathom_run::{ShardReport, Task};

/// What a worker reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The file that the order was about.
    pub task: Task,
    /// The attempt at a task; none for a copy.
    pub attempt: Option<Attempt>,
    /// How it ended.
    pub result: Result<Done, Failure>,
}

/// A file that somebody has, or should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// Its layer and shard.
    pub task: Task,
    /// The digest of its cosets' checksums, where it is known: another file of the same place has another
    /// one.
    pub digest: Option<Digest>,
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The shard was made.
    Made(ShardReport),
    /// The file was copied.
    Copied(Copied),
}

/// A file that was copied, or found there whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// Its bytes.
    pub bytes: u64,
    /// The digest of its cosets' checksums, if the worker tells it.
    pub digest: Option<Digest>,
}

/// Why an order was not done: the kind decides what happens next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Stopped before it was done. Somebody does it later.
    #[error("stopped before it was done")]
    Stopped,
    /// No holder of a file served it. Tried again.
    #[error("shard {} of depth {} cannot be had: {message}", file.shard, file.depth)]
    Unreachable {
        /// The file.
        file: Task,
        /// What was tried.
        message: String,
    },
    /// A file is not what was written. It is discarded, and taken from another holder or made again.
    #[error("shard {} of depth {} is damaged: {message}", file.shard, file.depth)]
    Damaged {
        /// The file.
        file: Task,
        /// The exchange of the worker that holds it; none for the worker that reports.
        address: Option<String>,
        /// What does not fit.
        message: String,
    },
    /// No room is left on the worker's disk. Others do it.
    #[error("the disk is full: {0}")]
    DiskFull(String),
    /// Anything else. Tried again, but not for ever.
    #[error("{0}")]
    Other(String),
    /// The data contradict each other. The run must not go on.
    #[error("{0}")]
    Contradiction(String),
}
