//! Workers by the identifiers of their stores.

use std::fmt;

/// A worker, by its store: one that comes back with its store is the same worker.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WorkerId(pub [u8; 16]);

impl WorkerId {
    /// The file system that all workers share, where layers lie with all of them: it holds files like a
    /// worker that is always there.
    pub const SHARED_STORE: Self = Self([0; 16]);
}

impl fmt::Display for WorkerId {
    /// Writes as many digits as tell workers apart.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..4].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for WorkerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
