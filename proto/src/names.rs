//! Identifiers of sessions and of task attempts.

use std::fmt;

/// The number of a worker's session, which lasts from registration until the worker leaves or is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session(pub u64);

/// The number of an order to compute a task. Later attempts are larger, also across epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt {
    /// How often the run was served when the order was given.
    pub epoch: u64,
    /// The number of the attempt in that epoch, from 1.
    pub number: u32,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.number)
    }
}
