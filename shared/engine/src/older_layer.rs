//! The older of the two layers that a layer is computed from.
//!
//! Only shard s of the new layer reads shard s of the older one. So each task gets only its own shard, and
//! the thread that has computed the new shard closes that file: to unmap a whole layer takes one thread
//! seconds.
//!
//! In a run that keeps two layers, shard s of the older layer is released, that is deleted, as soon as a
//! checkpoint has the new shard: its file is durable, and then its report is in the journal. A crash in
//! between leaves too many shards, never too few. As soon as its first shard may be deleted, the older layer
//! counts as removed in the journal, so nothing else looks for its files.
//!
//! A shard that was released cannot be computed again, because the layers before it are gone too. If the file
//! of a new shard does not match its report, the shard is computed again as long as its source exists;
//! otherwise the run ends.

use crate::removers::Removers;
use crate::run::{Depth, Geometry, ShardId, ShardReport, Task};
use crate::task::{Layer, Store, TaskError};
use fathom_layer::{Digest, LayerError, LayerFile};
use std::collections::BTreeMap;
use std::sync::Arc;
use tracing::{debug, warn};

/// The older layer, and the new shards whose sources are still to be released.
#[derive(Debug)]
pub(crate) struct Older {
    depth: Depth,
    /// The newer layer, from which the new shards are computed too.
    newest: Arc<Layer>,
    /// By shard: the size of the file in bytes, 0 if there is none.
    bytes: Box<[u64]>,
    /// The reports of new shards whose sources are not released yet.
    made: Vec<ShardReport>,
}

/// While at most one in this many sources waits to be released, and they are small, they keep waiting:
/// releasing one takes a transaction of the journal, which takes longer than computing a shard that has
/// almost no states.
const WAITING: usize = 8;

/// The size in bytes of the sources that do not wait for more of them.
const LARGE: u64 = 4 << 20;

impl Older {
    /// Opens the layer at `depth`, one [`Layer`] for each shard: the sources of the tasks of the layer two
    /// above. Files that are open as part of `opened` are not opened again. `digests` has the committed
    /// digest of each shard. `made` has the digests of those shards of the layer two above whose reports are
    /// in the journal.
    ///
    /// # Errors
    /// [`TaskError::GivenBack`] if a shard that was released is needed again; otherwise if files are
    /// missing, damaged, or not those that were committed.
    pub(crate) fn open(
        store: &Store<'_>,
        geometry: &Geometry,
        newest: &Arc<Layer>,
        depth: Depth,
        opened: Option<&Layer>,
        digests: &[Digest],
        made: &BTreeMap<ShardId, Digest>,
    ) -> Result<(Self, Vec<Arc<Layer>>), TaskError> {
        let open = |shard: ShardId| -> Result<Arc<Layer>, TaskError> {
            let opened = opened.and_then(|layer| layer.file(shard)).filter(|file| file.is_at_its_path());
            let open = || -> Result<Arc<LayerFile>, LayerError> {
                let file = store.open_shard(geometry, depth, shard)?;
                file.check_digest(digests[shard.0 as usize])?;
                Ok(Arc::new(file))
            };
            let file = opened.map_or_else(open, |file| {
                // Pages may have been evicted and read again from a bad disk.
                file.forget_checks();
                Ok(Arc::clone(file))
            });
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
        let layers: Vec<Arc<Layer>> = geometry.cut.ids().map(open).collect::<Result<_, _>>()?;
        let bytes = layers.iter().map(|layer| layer.bytes()).collect();
        Ok((Self { depth, newest: Arc::clone(newest), bytes, made: Vec::new() }, layers))
    }

    /// Records that a shard of the new layer is computed.
    pub(crate) fn note_made(&mut self, report: &ShardReport) {
        self.made.push(report.clone());
    }

    /// Returns the depth of the layer.
    pub(crate) fn depth(&self) -> Depth {
        self.depth
    }

    /// Returns the reports of the new shards whose sources are to be released now: none, unless there are
    /// enough of them. What is not released is deleted with its layer.
    ///
    /// # Errors
    /// If the newer layer has changed since it was opened, so that new shards may be wrong.
    pub(crate) fn due(&mut self) -> Result<Vec<ShardReport>, LayerError> {
        if self.made.is_empty() || self.may_wait() {
            return Ok(Vec::new());
        }
        self.newest.check_unchanged()?;
        Ok(std::mem::take(&mut self.made))
    }

    /// Deletes the sources of new shards. A checkpoint must already record the shards, and that the sources
    /// may be deleted.
    ///
    /// # Errors
    /// If a file cannot be deleted.
    pub(crate) fn give_back(
        &self,
        made: &[ShardReport],
        removers: &mut Removers<'_>,
    ) -> Result<(), LayerError> {
        for shard in made.iter().map(|report| report.task.shard) {
            removers.remove(Task { depth: self.depth, shard })?;
            debug!(depth = self.depth.0, shard = shard.0, "shard released");
        }
        Ok(())
    }

    /// Returns how many tasks with large sources are under way at once with `threads` threads: one for each
    /// thread, and some that wait while the journal is written.
    pub(crate) fn tasks_at_once(threads: usize) -> usize {
        threads + threads.div_ceil(4)
    }

    /// Returns how many new shards may be on the disk, whole or in part, together with their sources, with
    /// `threads` threads, besides those whose small sources [wait](Self::waiting_bytes).
    pub(crate) fn most_at_once(threads: usize) -> u64 {
        (Self::tasks_at_once(threads) + Removers::beside(threads)) as u64
    }

    fn may_wait(&self) -> bool {
        let bytes = self.made.iter().map(|report| self.bytes[report.task.shard.0 as usize]).sum();
        may_wait(self.made.len(), self.bytes.len(), bytes)
    }

    /// Returns how many bytes of an older layer of `bytes` bytes in `shards` shards may wait to be given
    /// back, besides those of the last shard that was computed.
    pub(crate) fn waiting_bytes(bytes: u64, shards: u32) -> u64 {
        let sources = (shards as usize / WAITING).saturating_sub(1) as u64;
        (u128::from(bytes) * u128::from(sources) / u128::from(shards)).min(LARGE.into()) as u64
    }
}

/// Returns whether `sources` files of `bytes` bytes in all, of a layer of `shards` shards, wait for more.
fn may_wait(sources: usize, shards: usize, bytes: u64) -> bool {
    sources < shards / WAITING && bytes < LARGE
}

/// Checks that the file of a shard matches its report in the journal. A damaged file is deleted if the
/// shard can be computed again.
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
            warn!(%error, "an unfinished layer's file does not match the journal and will be recomputed");
            Ok(store.discard_wrong(geometry, task)?)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns whether the error means that written data is lost.
fn is_gone(error: &LayerError) -> bool {
    error.is_missing() || error.is_damage()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_sources_are_few() {
        assert!(may_wait(15, 128, 1000) && !may_wait(16, 128, 1000));
        assert!(may_wait(1, 128, LARGE - 1) && !may_wait(1, 128, LARGE));
        // With few shards, each one counts.
        assert!(!may_wait(1, 15, 1000));
        for shards in [1, 7, 8, 16, 128, 1000] {
            for bytes_of_shard in [0, 1, 4096, LARGE / 10, LARGE, 3 * LARGE] {
                let sources =
                    (0..=shards).take_while(|&n| n == 0 || may_wait(n, shards, n as u64 * bytes_of_shard));
                let waiting = (sources.count() - 1) as u64 * bytes_of_shard;
                let expected = Older::waiting_bytes(shards as u64 * bytes_of_shard, shards as u32);
                assert!(
                    waiting <= expected,
                    "{shards} shards of {bytes_of_shard}: {waiting}, not {expected}"
                );
            }
        }
    }
}
