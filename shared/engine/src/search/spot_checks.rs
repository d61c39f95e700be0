//! When a search makes spot checks, and what it does with their results.

use super::Search;
use crate::audit::spot_checks::{Row, SpotChecks};
use crate::journal::Files;
use crate::run::{Depth, Keep, ShardReport};
use crate::task::Layer;
use anyhow::{Result, anyhow};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use tracing::{debug, warn};

/// The age of a search at its first check, unless it ends before that.
const FIRST_AGE: Duration = Duration::from_millis(500);

impl Search<'_> {
    /// Checks states of the layer at `depth`, which is computed but not committed, and of the layer before it
    /// against the puzzle's moves, if it is time. The first layer of a process that continues a run and
    /// the last layer are always checked. `left` is the number of states that the layers before have not
    /// visited.
    ///
    /// # Errors
    /// If a state contradicts the moves.
    pub(super) fn check_spots(&mut self, depth: Depth, reports: &[ShardReport], left: u64) -> Result<()> {
        let is_last =
            sum(reports, |report| report.totals.states) >= left || self.options.max_depth == Some(depth.0);
        let must = is_last || std::mem::take(&mut self.must_check);
        let age = self.begun.elapsed();
        if self.spot_checks.is_none() && (must || age >= FIRST_AGE) {
            self.spot_checks = Some(SpotChecks::new(&self.run.manifest, &self.job.graph)?);
        }
        if self.stop.requested.load(Ordering::Relaxed) {
            return Ok(());
        }
        let Some(mut checks) = self.spot_checks.take_if(|checks| checks.are_due(age, must)) else {
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
                    "depth {depth} contradicts the puzzle's moves in the state {state}, at depth {at}: {reason}. The run is wrong: do not use its results. 'fathom audit {}' checks more states",
                    self.run.path.display()
                ))
            }
            // A failure to read becomes an error where the search needs the data.
            Err(error) => {
                warn!(depth = depth.0, error = format!("{error:#}"), "spot check failed to run");
                Ok(())
            }
        }
    }

    /// Returns all layers by depth; those that a check reads are open.
    fn rows(&self, depth: Depth, reports: &[ShardReport]) -> Result<Vec<Row>> {
        // Most cosets of the layer from which this one was computed were compared with their checksums.
        let opened = self.opened.as_ref().map(|(depth, layer)| (*depth, layer));
        let open = |depth: Depth| -> Result<Option<Arc<Layer>>> {
            match opened {
                Some((opened, layer)) if opened == depth => Ok(Some(Arc::clone(layer))),
                _ => Ok(Some(Arc::new(self.store.open(&self.job.geometry, depth)?))),
            }
        };
        let layers = self.run.visited()?.layers;
        let mut rows = Vec::with_capacity(layers.len() + 1);
        for row in &layers {
            // Shards of the older of two layers are released.
            let before = if self.run.manifest.keep == Keep::Two { 1 } else { 2 };
            let is_read = row.depth.0 + before >= depth.0 && row.files != Files::Removed;
            let layer = if is_read { open(row.depth)? } else { None };
            rows.push(Row { states: row.states, stored: row.stored, layer });
        }
        rows.push(Row {
            states: sum(reports, |report| report.totals.states),
            stored: sum(reports, |report| report.totals.stored),
            layer: open(depth)?,
        });
        Ok(rows)
    }
}

fn sum(reports: &[ShardReport], number: fn(&ShardReport) -> u64) -> u64 {
    reports.iter().map(number).fold(0, u64::saturating_add)
}
