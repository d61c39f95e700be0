//! Tasks and their reports.

use fathom_layer::{Digest, Totals};
use std::fmt;

/// A distance from solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Depth(pub u32);

impl Depth {
    /// The depth after this one.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The depth before this one, if there is one.
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

/// A task makes one shard of the layer at one depth, from the layers before it. It also names the file that
/// it makes. Tasks are ordered by depth, then by shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Task {
    /// The depth of the layer to make.
    pub depth: Depth,
    /// The shard to make.
    pub shard: ShardId,
}

/// What a finished shard of a layer adds up to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardReport {
    /// What was made.
    pub task: Task,
    /// Its states, and what is counted of them.
    pub totals: Totals,
    /// Bytes of the layer file.
    pub bytes: u64,
    /// Checksums of the cosets in order.
    pub checksums: Vec<Digest>,
    /// Numbers of the watched states that lie in it.
    pub watched: Vec<u32>,
}
