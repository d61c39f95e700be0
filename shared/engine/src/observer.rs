//! The events of a search, for a terminal, a log, a page, or a program that uses the engine.

use crate::journal::LayerRow;
use crate::run::{Depth, ShardReport};
use std::time::Duration;

/// The progress of the current layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// The number of finished cosets, out of the number passed to [`Observer::layer_begins`].
    pub cosets: u64,
    /// The number of states found in them.
    pub states: u64,
}

/// Receives the events of a search. Each method does nothing unless it is implemented. The calls come from
/// the thread that searches, in the order of events, so a slow observer delays the search.
pub trait Observer {
    /// The search starts to build its tables, or to read them from the run's directory.
    fn tables_begin(&self) {}

    /// The tables are ready, or could not be built.
    fn tables_end(&self) {}

    /// The search starts the layer at `depth`, which has this many cosets and shards. A search by lists counts the
    /// states of the layer before as cosets.
    fn layer_begins(&self, depth: Depth, cosets: u64, shards: u32) {
        let _ = (depth, cosets, shards);
    }

    /// The layer has made this progress. Called at least ten times a second, and after each shard.
    fn progress(&self, progress: Progress) {
        let _ = progress;
    }

    /// A shard was computed. Its file need not be durable before the layer is committed.
    fn shard_made(&self, report: &ShardReport, took: Duration) {
        let _ = (report, took);
    }

    /// All shards of the layer were computed; the layer is not committed yet.
    fn layer_ends(&self, progress: Progress) {
        let _ = progress;
    }

    /// The layer was committed.
    fn layer_committed(&self, layer: &LayerRow) {
        let _ = layer;
    }
}

/// An observer that ignores all events.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {}

/// An observer that passes events on to two others, in order.
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
