//! What the coordinator knows of tasks, and of the files that they make.

use crate::cluster::event::Millis;
use fathom_layer::Digest;
use fathom_run::{ShardReport, WorkerId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TaskProgress {
    /// Nobody is at it.
    Waiting,
    /// A worker is at it, and has last said so then, or was told to.
    Running(WorkerId, Millis),
    /// It was made.
    Made(Arc<ShardReport>),
}

/// A task of the current layer, or one that makes a lost file again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaskState {
    /// How often it was given out in this life of the coordinator.
    pub attempts: u32,
    /// How often it failed in a way that another attempt may not mend.
    pub failures: u32,
    /// Who has found last that its inputs contradict each other.
    pub contradicted_by: Option<WorkerId>,
    /// It is not given out before.
    pub not_before: Millis,
    /// When it was given out last.
    pub given: Millis,
    /// Who has made it, if that was in this life of the coordinator.
    pub maker: Option<WorkerId>,
    /// How far it is.
    pub making: TaskProgress,
}

impl TaskState {
    /// One that nobody has begun.
    pub fn new() -> Self {
        let making = TaskProgress::Waiting;
        Self {
            attempts: 0,
            failures: 0,
            contradicted_by: None,
            not_before: Millis(0),
            given: Millis(0),
            maker: None,
            making,
        }
    }
}

impl Default for TaskState {
    fn default() -> Self {
        Self::new()
    }
}

/// A layer file, wherever it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    /// Who has it, whether they are there or not.
    pub holders: BTreeSet<WorkerId>,
    /// Its bytes.
    pub bytes: u64,
    /// The digest of its cosets' checksums.
    pub digest: Digest,
}

/// A copy that was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// The worker has last said so then, or was told to.
    Ordered(Millis),
    /// It failed, and is not ordered again before.
    Failed(Millis),
}
