//! When a search makes spot checks, and what it does with their results.

use super::Search;
use crate::audit::spot::{Row, SpotChecks};
use crate::journal::Files;
use anyhow::{Result, anyhow};
use fathom_run::{Depth, Keep, ShardReport};
use fathom_task::Layer;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// The age of a search at its first check, unless it ends before that.
const FIRST_AGE: Duration = Duration::from_millis(500);

impl Search<'_> {
    /// Holds states of the layer at `depth`, which is made and not committed, and of the layer before it
    /// against the puzzle's moves, if it is time or the run ends with this layer. `left` is the number of
    /// states that are not visited by the layers before.
    ///
    /// # Errors
    /// If a state contradicts the moves.
    pub(super) fn check_spots(&mut self, depth: Depth, reports: &[ShardReport], left: u64) -> Result<()> {
        let states: u64 = reports.iter().map(|report| report.totals.states).sum();
        let is_last = states >= left || self.options.max_depth == Some(depth.0);
        let age = self.begun.elapsed();
        if self.spot_checks.is_none() && (is_last || age >= FIRST_AGE) {
            self.spot_checks = Some(SpotChecks::of(&self.run.manifest, &self.job.graph)?);
        }
        if self.stop.requested.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Some(mut checks) = self.spot_checks.take_if(|checks| checks.are_due(age, is_last)) else {
            return Ok(());
        };
        let begun = Instant::now();
        let looked = self.rows(depth, reports).and_then(|rows| checks.look(rows, age, begun));
        self.spot_checks = Some(checks);
        match looked {
            Ok((looked_at, None)) => {
                debug!(depth = depth.0, states = looked_at, "spot check agrees");
                Ok(())
            }
            Ok((_, Some(contradiction))) => {
                let at = contradiction.depth.unwrap_or(depth.0);
                let (state, reason) = (contradiction.state, contradiction.reason);
                Err(anyhow!(
                    "depth {depth} contradicts the puzzle's moves: of the state {state} at depth {at}: {reason}"
                ))
            }
            // What cannot be read now is an error where the search needs it.
            Err(error) => {
                warn!(depth = depth.0, error = format!("{error:#}"), "spot check cannot be made");
                Ok(())
            }
        }
    }

    /// Returns all layers by depth, with those open that a check reads.
    fn rows(&self, depth: Depth, reports: &[ShardReport]) -> Result<Vec<Row>> {
        let open = |depth: Depth| -> Result<Option<Arc<Layer>>> {
            Ok(Some(Arc::new(self.store.open(&self.job.geometry, depth)?)))
        };
        let layers = self.run.visited()?.layers;
        let mut rows = Vec::with_capacity(layers.len() + 1);
        for row in &layers {
            // Shards of the older of two layers are given back.
            let before = if self.run.manifest.keep == Keep::Two { 1 } else { 2 };
            let is_read = row.depth.0 + before >= depth.0 && row.files != Files::Removed;
            let layer = if is_read { open(row.depth)? } else { None };
            rows.push(Row { states: row.states, stored: row.stored, layer });
        }
        let sum = |number: fn(&ShardReport) -> u64| reports.iter().map(number).sum();
        rows.push(Row {
            states: sum(|report| report.totals.states),
            stored: sum(|report| report.totals.stored),
            layer: open(depth)?,
        });
        Ok(rows)
    }
}
