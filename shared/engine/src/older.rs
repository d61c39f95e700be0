//! The older of the two layers that a layer is made from, in a run that keeps two.
//!
//! Only shard s of the new layer reads shard s of the older one. So that shard is given back as soon as what
//! was made from it is durable and its report is in the journal, in this order: a crash between the two
//! leaves a shard too many, never one too few. From its first shard on that is given back, the older layer
//! counts as removed in the journal: nobody else looks for its files.
//!
//! What was given back cannot be made again, for the layers before it are gone too. A new shard that is not
//! what its report says is made again as long as the older one is there, and ends the run otherwise.

use crate::journal::Journal;
use anyhow::{Context, Result};
use fathom_command::failpoint;
use fathom_layer::{Digest, LayerError};
use fathom_run::{Depth, Geometry, ShardId, ShardReport, Task};
use fathom_task::{Layer, Store, TaskError};
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::{debug, warn};

/// The shards of the older layer that are still there.
#[derive(Debug)]
pub(crate) struct Older {
    depth: Depth,
    /// Reports of new shards whose sources are not given back yet.
    made: Vec<ShardReport>,
}

impl Older {
    /// Opens the layer at a depth, whose shards have these digests, for each task of the layer two above it.
    /// `made` are the digests of the shards of that layer whose reports are in the journal.
    ///
    /// # Errors
    /// [`TaskError::GivenBack`] if a shard is needed again that was given back; otherwise if files are
    /// missing, damaged or not those that were committed.
    pub(crate) fn open(
        store: &Store<'_>,
        geometry: &Geometry,
        depth: Depth,
        digests: &[Digest],
        made: &BTreeMap<ShardId, Digest>,
    ) -> Result<(Self, Vec<Arc<Layer>>), TaskError> {
        let open = |shard: ShardId| -> Result<Arc<Layer>, TaskError> {
            let file = store
                .open_shard(geometry, depth, shard)
                .and_then(|file| file.check_digest(digests[shard.0 as usize]).map(|()| file));
            let file = match (file, made.get(&shard)) {
                (Ok(file), _) => Some(file),
                (Err(error), Some(_)) if is_gone(&error) => None,
                (Err(error), _) => return Err(error.into()),
            };
            if let Some(&digest) = made.get(&shard) {
                check_made(
                    store,
                    geometry,
                    Task { depth: depth.next().next(), shard },
                    digest,
                    file.is_some(),
                )?;
            }
            Ok(Arc::new(Layer::of_shard(geometry.cut, shard, file)))
        };
        let layers = geometry.cut.ids().map(open).collect::<Result<_, _>>()?;
        Ok((Self { depth, made: Vec::new() }, layers))
    }

    /// Notes that a shard of the new layer is made.
    pub(crate) fn note_made(&mut self, report: &ShardReport) {
        self.made.push(report.clone());
    }

    /// Gives back what the new shards were made from, unless commits are held back: then the new files are
    /// not durable.
    ///
    /// # Errors
    /// If the journal cannot be written, or the disk refuses.
    pub(crate) fn give_back(&mut self, journal: &mut Journal, store: &Store<'_>) -> Result<()> {
        if self.made.is_empty() || journal.is_held() {
            return Ok(());
        }
        journal.give_back(&self.made, self.depth).context("cannot write run.db")?;
        for report in std::mem::take(&mut self.made) {
            let shard = report.task.shard;
            failpoint::point("giving back");
            store.discard(Task { depth: self.depth, shard })?;
            failpoint::point("given back");
            debug!(depth = self.depth.0, shard = shard.0, "shard given back");
        }
        Ok(())
    }
}

/// Compares a shard with its report in the journal. One that can be made again is deleted if it is damaged.
fn check_made(
    store: &Store<'_>,
    geometry: &Geometry,
    task: Task,
    digest: Digest,
    can_be_made: bool,
) -> Result<(), TaskError> {
    let file = store.open_shard(geometry, task.depth, task.shard);
    match file.and_then(|file| file.check_digest(digest)) {
        Ok(()) => Ok(()),
        Err(source) if is_gone(&source) && !can_be_made => Err(TaskError::GivenBack { task, source }),
        Err(error) if error.is_missing() => Ok(()),
        Err(error) if error.is_damage() => {
            warn!(%error, "an unfinished layer's file is not what was journalled, and is made again");
            Ok(store.discard(task)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Whether what was written is not there any more.
fn is_gone(error: &LayerError) -> bool {
    error.is_missing() || error.is_damage()
}
