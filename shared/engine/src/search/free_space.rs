//! Checks whether the disk has space for the next layer.

use super::Search;
use crate::estimate::Need;
use crate::older_layer::Older;
use crate::run::{Depth, Keep};
use anyhow::{Context, Result, anyhow};
use fathom_command::shell;
use fathom_layer::Disk;
use indicatif::HumanBytes;
use tracing::warn;

/// The factor by which a layer is not expected to exceed its estimated size.
const GUESS: u64 = 2;

/// Too little free space for a layer. Sizes are in bytes.
struct Shortage {
    needed: u64,
    free: u64,
    /// Whether the layer cannot be smaller; otherwise `needed` is an estimate.
    certain: bool,
}

impl Search<'_> {
    /// Checks that the disk can hold the layer at `depth`. Only warns when the size is an estimate: if the
    /// disk does run full, the run can be resumed. `left` is the number of states that are not visited yet.
    pub(super) fn require_room(&mut self, depth: Depth, left: u64) -> Result<()> {
        // A checkpoint allows layers to be removed. Because the need is a guess, there must be space for more
        // than the guess to do without a checkpoint.
        if !self.retired.is_empty() && self.shortage(depth, left, GUESS)?.is_some() {
            self.checkpoint(None)?;
            self.remove_retired()?;
        }
        let Some(Shortage { needed, free, certain }) = self.shortage(depth, left, 1)? else {
            return Ok(());
        };
        let path = shell::path(&self.run.path);
        let (limit, way_out) = match self.disk.limit_bytes() {
            Some(limit) => (
                format!(" within --disk-limit {}", HumanBytes(limit)),
                "free some space or raise --disk-limit",
            ),
            None => (String::new(), "free some space"),
        };
        let message = format!(
            "depth {depth} will need about {} of disk space, but only {} are free at {}{limit} ({} short)",
            HumanBytes(needed),
            HumanBytes(free),
            self.store.place().display(),
            HumanBytes(needed - free)
        );
        if certain {
            return Err(anyhow!("{message}; {way_out}, then continue with 'fathom resume {path}'"));
        }
        warn!("{message}. This is an estimate, and the run continues");
        Ok(())
    }

    /// Returns by how much the disk is too small for `times` the layer at `depth`; `None` if there is enough
    /// space.
    fn shortage(&self, depth: Depth, left: u64, times: u64) -> Result<Option<Shortage>> {
        let layers = self.run.journal.layers().context("cannot read run.db")?;
        let Need { bytes, certain } = Need::after(&layers, left, &self.job.geometry);
        let shards = self.job.geometry.cut.shards();
        let share =
            |bytes: u64, part: u64| (u128::from(bytes) * u128::from(part) / u128::from(shards)) as u64;
        let free = self.store.free_bytes().with_context(|| {
            format!("cannot determine the free space for {}", shell::path(&self.run.path))
        })?;
        let made = self.store.shards(depth)?.into_iter().filter(|shard| shard.0 < shards).count() as u64;
        let missing = u64::from(shards).saturating_sub(made);
        let needed = match (self.run.manifest.keep, &layers[..]) {
            // Shards of the older layer that are released free space, except for the last ones and for what
            // may wait.
            (Keep::Two, [.., older, _]) => {
                let at_once = missing.min(Older::most_at_once(self.options.threads));
                (share(bytes, missing) + Older::waiting_bytes(older.bytes, shards))
                    .saturating_sub(share(older.bytes, missing - at_once))
                    .max(share(bytes, at_once))
            }
            _ => share(bytes, missing),
        };
        let needed = needed.saturating_mul(times);
        Ok((needed > free).then_some(Shortage { needed, free, certain }))
    }
}
