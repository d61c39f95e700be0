//! What is committed, and which reports of the current layer are durable.

use crate::cluster::event::Millis;
use crate::cluster::report_bounds::{Bounds, Implausible, counted};
use fathom_engine::run::{ShardId, ShardReport};
use std::sync::Arc;

/// The totals of the committed layers, and the reports of the current layer that are not durable yet.
#[derive(Clone, Debug)]
pub struct Commit {
    /// Number of states in all committed layers.
    visited: u64,
    /// Number of states in the newest committed layer.
    newest: Option<u64>,
    /// Bounds that reports of the current layer must satisfy.
    bounds: Bounds,
    /// Shards of the current layer whose reports are not durable yet.
    unsaved: Vec<ShardId>,
    /// When reports were last made durable.
    saved: Millis,
}

impl Commit {
    /// Restores what is committed: `counts` has the number of states at each depth.
    pub fn new(counts: &[u64], bounds: Bounds) -> Self {
        Self {
            visited: counts.iter().sum(),
            newest: counts.last().copied(),
            bounds,
            unsaved: Vec::new(),
            saved: Millis(0),
        }
    }

    /// Returns the number of states in all committed layers.
    pub fn visited(&self) -> u64 {
        self.visited
    }

    /// Checks whether a report of the current layer is plausible, given what is known without its file.
    /// `states` is the number of states of the space.
    ///
    /// # Errors
    /// The first bound that the report violates.
    pub fn check_report(&self, report: &ShardReport, states: u64) -> Result<(), Implausible> {
        self.bounds.check(report, self.newest, states.saturating_sub(self.visited))
    }

    /// Adds the current layer, which has these reports. They become durable with it.
    pub fn add_layer(&mut self, reports: &[Arc<ShardReport>]) {
        if let Some(report) = reports.first() {
            self.bounds.counted.get_or_insert_with(|| counted(report));
        }
        let states = reports.iter().map(|report| report.totals.states).sum();
        self.visited += states;
        self.newest = Some(states);
        self.unsaved.clear();
    }

    /// Records that the report of a shard was received, and is not durable yet.
    pub fn note_unsaved(&mut self, shard: ShardId) {
        self.unsaved.push(shard);
    }

    /// Forgets the report of a shard, because the shard is computed again.
    pub fn forget(&mut self, shard: ShardId) {
        self.unsaved.retain(|unsaved| *unsaved != shard);
    }

    /// Returns whether the report of a shard is durable, if it was received.
    pub fn is_saved(&self, shard: ShardId) -> bool {
        !self.unsaved.contains(&shard)
    }

    /// Returns when reports were last made durable.
    pub fn saved(&self) -> Millis {
        self.saved
    }

    /// Takes the shards whose reports are made durable now.
    pub fn take_unsaved(&mut self, now: Millis) -> Vec<ShardId> {
        self.saved = now;
        std::mem::take(&mut self.unsaved)
    }
}
