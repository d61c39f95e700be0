//! Identifiers of workers, of their sessions, and of task attempts.

use std::fmt;

/// The identifier of a worker, which is stored in its store: a worker that comes back with its store is the
/// same worker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub [u8; 16]);

impl WorkerId {
    /// The holder of all files in a store that the workers share. Counts as a worker that is always present.
    pub const SHARED_STORE: Self = Self([0; 16]);
}

impl fmt::Display for WorkerId {
    /// Writes the first four bytes in hexadecimal, which suffices to distinguish workers.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The number of a worker's session, which lasts from registration until the worker leaves or is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Session(pub u64);

/// The number of a command to compute a task. Later attempts are larger, also across epochs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Attempt {
    /// How often the run was served when the command was given.
    pub epoch: u64,
    /// The number of the attempt in that epoch, from 1.
    pub number: u32,
}

impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.epoch, self.number)
    }
}
