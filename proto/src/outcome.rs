//! The outcomes of commands, and the reasons of failures.

use crate::Attempt;
use fathom_engine::run::{ShardReport, Task};
use fathom_layer::Digest;

/// A worker's report on a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The file that the command concerned.
    pub task: Task,
    /// The attempt at a task or an audit; `None` for a copy.
    pub attempt: Option<Attempt>,
    /// The result.
    pub result: Result<Done, Failure>,
}

/// A file that a worker has, or should have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StoredFile {
    /// The layer and shard of the file.
    pub task: Task,
    /// The digest of its cosets' checksums, if known. A different file of the same shard has another digest.
    pub digest: Option<Digest>,
}

/// The result of a command that was carried out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Done {
    /// The shard was computed for this command.
    Made(ShardReport),
    /// A complete file of the shard existed already. Its producer is not known.
    Found(ShardReport),
    /// The file was copied.
    Copied(Copied),
}

/// A file that was copied, or that was found complete in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Copied {
    /// The size in bytes.
    pub bytes: u64,
    /// The digest of its cosets' checksums.
    pub digest: Digest,
}

/// The reason why a command failed. The kind decides what happens next.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// The worker stopped first. The task is assigned again.
    #[error("stopped before completion")]
    Stopped,
    /// No holder served a file. The command is tried again.
    #[error("shard {} of depth {} could not be fetched: {message}", file.shard, file.depth)]
    Unreachable {
        /// The file that was needed.
        file: Task,
        /// The exchange addresses that were tried.
        addresses: Vec<String>,
        /// The error of the last holder that was tried.
        message: String,
    },
    /// A file is damaged, missing, or not the reported one. It is discarded, and copied from another holder
    /// or computed again.
    #[error("shard {} of depth {} is damaged: {message}", file.shard, file.depth)]
    Damaged {
        /// The damaged file.
        file: Task,
        /// The exchange address of its holder; `None` for the worker that reports.
        address: Option<String>,
        /// What is wrong with it.
        message: String,
    },
    /// The worker has no space for a file: its disk is full, its quota is used up, or files may not be so large.
    /// Others do the task.
    #[error("cannot write a file: {0}")]
    DiskFull(String),
    /// Any other failure. The task is tried again a limited number of times.
    #[error("{0}")]
    Other(String),
    /// The inputs of the task contradict each other. The run ends if a second worker finds the same.
    #[error("{0}")]
    Contradiction(String),
}

/// The kind of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureKind {
    /// [`Failure::Stopped`].
    Stopped,
    /// [`Failure::Unreachable`].
    Unreachable,
    /// [`Failure::Damaged`].
    Damaged,
    /// [`Failure::DiskFull`].
    DiskFull,
    /// [`Failure::Contradiction`].
    Contradiction,
    /// [`Failure::Other`].
    Other,
}

impl FailureKind {
    /// Returns the display name of the kind.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stopped => "stopped",
            Self::Unreachable => "peer unreachable",
            Self::Damaged => "file damaged",
            Self::DiskFull => "disk full",
            Self::Contradiction => "contradiction",
            Self::Other => "other",
        }
    }
}

impl Failure {
    /// Returns the kind of this failure.
    pub fn kind(&self) -> FailureKind {
        match self {
            Self::Stopped => FailureKind::Stopped,
            Self::Unreachable { .. } => FailureKind::Unreachable,
            Self::Damaged { .. } => FailureKind::Damaged,
            Self::DiskFull(_) => FailureKind::DiskFull,
            Self::Contradiction(_) => FailureKind::Contradiction,
            Self::Other(_) => FailureKind::Other,
        }
    }
}
