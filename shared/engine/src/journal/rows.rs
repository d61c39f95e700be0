//! What the journal records: layers, shards, processes and watched states.

use crate::run::{Depth, ShardId, ShardReport};
use crate::task::Waits;
use fathom_layer::{Digest, LayerDigest, Totals};
use serde::Serialize;

/// The state of a layer's files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Files {
    /// The files are as the search wrote them.
    Live,
    /// The files are compressed.
    Archived,
    /// The files are deleted, or about to be.
    Removed,
}

impl Files {
    pub(super) const ALL: [Self; 3] = [Self::Live, Self::Archived, Self::Removed];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Archived => "archived",
            Self::Removed => "removed",
        }
    }
}

/// A finished layer.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerRow {
    /// The depth.
    pub depth: Depth,
    /// The number of states.
    pub states: u64,
    /// The number of states up to symmetry, if counted.
    pub classes: Option<u64>,
    /// The number of states up to symmetry and inversion, if counted.
    pub classes_with_inverse: Option<u64>,
    /// The number of states in the stored representatives.
    pub stored: u64,
    /// The size of the layer's files in bytes, as the search wrote them.
    pub bytes: u64,
    /// Wall-clock seconds that the layer took, without interruptions.
    pub seconds: f64,
    /// The digest of the layer.
    pub digest: Digest,
    /// The state of the layer's files.
    pub files: Files,
}

/// A finished shard of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardRow {
    /// The shard.
    pub shard: ShardId,
    /// The counts of the shard's states and fixed pairs.
    pub totals: Totals,
    /// The digest of the checksums of the shard's cosets.
    pub digest: Digest,
}

impl ShardRow {
    /// Returns the row of a report.
    pub fn new(report: &ShardReport) -> Self {
        let mut digest = LayerDigest::new(report.task.depth.0);
        digest.add(&report.checksums);
        Self { shard: report.task.shard, totals: report.totals, digest: digest.finish() }
    }
}

/// A process that has worked on a run. The fields of `status --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessRow {
    /// When the process started, in seconds since 1970.
    pub begun: u64,
    /// The version of Fathom.
    pub version: String,
    /// The name of the processor, as the operating system reports it.
    pub processor: Option<String>,
    /// The number of kernel threads.
    pub threads: usize,
    /// The name of the kernel: a SIMD level, `reference`, or `lists`.
    pub kernel: String,
    /// The memory budget, in bytes.
    pub memory_bytes: u64,
    /// The part of the budget that is for layers in the page cache, in bytes.
    pub cache_bytes: u64,
    /// Wall-clock seconds from the start of the process to its last commit of a layer.
    pub seconds: f64,
    /// The largest amount of anonymous memory, in bytes, that the process had at the commit of a layer.
    pub peak_anonymous_bytes: Option<u64>,
}

/// A state that is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watched {
    /// The number of the tile on each cell, row by row, and after them, if pieces have orientations, the orientation
    /// on each cell: a byte each, or two, the lower first, if they are more than 256 numbers.
    pub tiles: Box<[u8]>,
    /// The depth; `None` until the state is found.
    pub depth: Option<Depth>,
}

/// A layer, with everything that is committed together with it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The layer.
    pub layer: LayerRow,
    /// Its shards, in order.
    pub shards: Vec<ShardRow>,
    /// The layer whose files are marked as removed.
    pub retired: Option<Depth>,
    /// The numbers of the watched states in the layer.
    pub found: Vec<u32>,
    /// The row of this process, if it computed the layer.
    pub process: Option<ProcessRow>,
    /// The time that the threads of this process spent on each activity, if the process computed the layer.
    pub waits: Option<Waits>,
}
