//! Whether the disks have room for the next layer.

use super::Search;
use crate::estimate::Need;
use crate::older::Older;
use crate::run::{Depth, Keep, ShardId};
use crate::task::Room;
use anyhow::{Context, Result, anyhow};
use fathom_command::shell;
use fathom_layer::Disk;
use indicatif::{HumanBytes, HumanCount};
use std::collections::BTreeSet;
use std::path::PathBuf;
use tracing::warn;

/// A layer that takes more room than this many times its estimate is a surprise.
const GUESS: u64 = 2;

/// A disk with too little room for a layer. Sizes are in bytes.
struct Shortage {
    root: PathBuf,
    needed: u64,
    free: u64,
    /// Whether the layer cannot be smaller; otherwise `needed` is an estimate.
    certain: bool,
}

impl Search<'_> {
    /// Checks that the disks can hold the layer at `depth`. Only warns when the size is an estimate: if a
    /// disk does run full, the run can be resumed. `left` is the number of states that are not visited yet.
    pub(super) fn require_room(&mut self, depth: Depth, left: u64) -> Result<()> {
        // A checkpoint lets layers be removed. As the need is a guess, there must be room for more than that
        // without one.
        if !self.retired.is_empty() && !self.shortages(depth, left, GUESS)?.is_empty() {
            self.checkpoint(None)?;
            self.remove_retired()?;
        }
        for Shortage { root, needed, free, certain } in self.shortages(depth, left, 1)? {
            let path = shell::path(&self.run.path);
            let (limit, way_out) = match self.disk.limit_bytes() {
                Some(limit) => {
                    (format!(" within --disk-limit {}", HumanBytes(limit)), "make room or raise --disk-limit")
                }
                None => (String::new(), "make room"),
            };
            let message = format!(
                "depth {depth} will need about {} of disk, and {} are free at {}{limit}, {} bytes too few",
                HumanBytes(needed),
                HumanBytes(free),
                root.display(),
                HumanCount(needed - free)
            );
            if certain {
                return Err(anyhow!("{message}; {way_out}, then go on with 'fathom resume {path}'"));
            }
            warn!("{message}; this is a guess, and the run goes on");
        }
        Ok(())
    }

    /// Returns the disks that have too little room for `times` the layer at `depth`.
    fn shortages(&self, depth: Depth, left: u64, times: u64) -> Result<Vec<Shortage>> {
        let layers = self.run.journal.layers().context("cannot read run.db")?;
        let Need { bytes, certain } = Need::after(&layers, left, &self.job.geometry);
        let cut = self.job.geometry.cut;
        let made: BTreeSet<ShardId> = self.store.shards(depth)?.into_iter().collect();
        let share =
            |bytes: u64, part: u64| (u128::from(bytes) * u128::from(part) / u128::from(cut.shards())) as u64;
        let path = shell::path(&self.run.path);
        let rooms = self.store.rooms().with_context(|| format!("cannot ask for free space for {path}"))?;
        let shortage = |Room { stores, path: root, free }: Room| {
            let lies_there = |shard: &ShardId| stores.contains(&self.store.stores().number_of(*shard));
            let missing = cut.ids().filter(|shard| !made.contains(shard) && lies_there(shard)).count() as u64;
            let needed = match (self.run.manifest.keep, &layers[..]) {
                // Shards of the older layer that are given back make room, except for the last ones and for
                // what may wait.
                (Keep::Two, [.., older, _]) => {
                    let at_once = missing.min(Older::most_at_once(self.options.threads));
                    (share(bytes, missing) + Older::waiting_bytes(older.bytes, cut.shards()))
                        .saturating_sub(share(older.bytes, missing - at_once))
                        .max(share(bytes, at_once))
                }
                _ => share(bytes, missing),
            };
            let needed = needed.saturating_mul(times);
            (needed > free).then_some(Shortage { root, needed, free, certain })
        };
        Ok(rooms.into_iter().filter_map(shortage).collect())
    }
}
