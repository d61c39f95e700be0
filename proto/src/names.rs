//! Identifiers of sessions and of task attempts.

use std::fmt;

/// The time between a worker's registration and its being lost or gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session(pub u64);

/// How often a task was given out. Later attempts are larger, over all lives of the coordinator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt {
    /// The life of the coordinator.
    pub epoch: u64,
    /// The attempt in that life, from 1.
    pub number: u32,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.number)
    }
}
