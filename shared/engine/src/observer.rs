//! What a search tells while it works: to a terminal, a log, a page, or a program that uses the engine.

use crate::journal::LayerRow;
use fathom_run::{Depth, ShardReport};
use std::time::Duration;

/// How far the current layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Cosets that are done, out of those with which the layer began.
    pub cosets: u64,
    /// States found in them.
    pub states: u64,
}

/// Receives what a search tells. Each method does nothing unless it is implemented. Calls come from the
/// thread that searches, in the order of events; a slow observer delays the search.
pub trait Observer {
    /// The search begins to make its tables, or to read them.
    fn tables_begin(&self) {}

    /// The tables are there.
    fn tables_end(&self) {}

    /// The search begins to make the layer at `depth`, which has this many cosets and shards.
    fn layer_begins(&self, depth: Depth, cosets: u64, shards: u32) {
        let _ = (depth, cosets, shards);
    }

    /// The layer has come this far. Called about ten times a second and after each shard.
    fn progress(&self, progress: Progress) {
        let _ = progress;
    }

    /// A shard is made. Its file is durable when the layer is committed.
    fn shard_made(&self, report: &ShardReport, took: Duration) {
        let _ = (report, took);
    }

    /// All shards of the layer are made; the layer is not committed yet.
    fn layer_ends(&self, progress: Progress) {
        let _ = progress;
    }

    /// The layer is committed.
    fn layer_committed(&self, layer: &LayerRow) {
        let _ = layer;
    }
}

/// Ignores everything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// Tells both, one after the other.
#[derive(Clone, Copy)]
pub struct Both<'a>(pub &'a dyn Observer, pub &'a dyn Observer);

impl Observer for Both<'_> {
    fn layer_begins(&self, depth: Depth, cosets: u64, shards: u32) {
        self.0.layer_begins(depth, cosets, shards);
        self.1.layer_begins(depth, cosets, shards);
    }

    fn progress(&self, progress: Progress) {
        self.0.progress(progress);
        self.1.progress(progress);
    }

    fn shard_made(&self, report: &ShardReport, took: Duration) {
        self.0.shard_made(report, took);
        self.1.shard_made(report, took);
    }

    fn layer_ends(&self, progress: Progress) {
        self.0.layer_ends(progress);
        self.1.layer_ends(progress);
    }

    fn layer_committed(&self, layer: &LayerRow) {
        self.0.layer_committed(layer);
        self.1.layer_committed(layer);
    }
}

impl std::fmt::Debug for Both<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Both(..)")
    }
}
