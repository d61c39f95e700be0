//! Tasks and their reports.

use fathom_layer::{Digest, Totals};
use std::fmt;

/// A distance from the solved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Depth(pub u32);

impl Depth {
    /// Returns the next depth.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the previous depth; `None` for depth 0.
    pub fn previous(self) -> Option<Self> {
        self.0.checked_sub(1).map(Self)
    }
}

impl fmt::Display for Depth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The number of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ShardId(pub u32);

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The task of computing one shard of the layer at one depth, from the layers before it. A task also names
/// the file that it writes. Tasks are ordered by depth, then by shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// The depth of the layer to compute.
    pub depth: Depth,
    /// The shard to compute.
    pub shard: ShardId,
}

/// The report of a finished shard: counts and checksums.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardReport {
    /// The task.
    pub task: Task,
    /// The counts of the shard's states and fixed pairs.
    pub totals: Totals,
    /// The size of the layer file in bytes.
    pub bytes: u64,
    /// The checksums of the cosets, in order.
    pub checksums: Vec<Digest>,
    /// The numbers of the watched states in the shard.
    pub watched: Vec<u32>,
}

impl ShardReport {
    /// Compares this report with `file`, the report that the shard's file gives of itself. Returns the
    /// difference; `None` if there is none. A file does not record which watched states it has.
    pub fn difference(&self, file: &Self) -> Option<String> {
        if self.totals != file.totals {
            return Some(format!("it counts {:?}, but the file counts {:?}", self.totals, file.totals));
        }
        let is_other = self.bytes != file.bytes || self.checksums != file.checksums;
        is_other.then(|| "its size or checksums differ".into())
    }
}
