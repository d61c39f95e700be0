//! Carries out the coordinator's commands that concern files.

use crate::cluster::driver::{Shared, Worker};
use crate::cluster::peer_client::whole;
use crate::cluster::session::Input;
use anyhow::Result;
use fathom_command::failpoint;
use fathom_engine::run::{Depth, Keep, Task};
use fathom_proto::{Done, StoredFile};
use std::sync::Arc;
use tokio::sync::Semaphore;
use tracing::{debug, warn};

/// Maximum number of concurrent copies.
const COPIES_AT_ONCE: usize = 4;

impl Shared {
    /// Deletes a file that was reported as damaged, but only if it is: a peer may have found damage because
    /// its own memory is faulty, and this may be the last copy. A file that cannot be read at present is
    /// kept, too. Reports the file if it is intact.
    pub(super) fn discard(&self, stored: StoredFile) {
        let task = stored.task;
        let Worker { store, job, .. } = &self.worker;
        let (depth, shard) = (task.depth.0, task.shard.0);
        self.inputs.forget(task.depth);
        let checked = store
            .open_shard(&job.geometry, task.depth, task.shard)
            .and_then(|file| whole(&file, stored.digest));
        let whole = match checked {
            Ok(copied) => {
                warn!(depth, shard, "file kept: reported as damaged, but intact");
                Some(copied)
            }
            Err(error) if error.is_damage() => {
                warn!(depth, shard, %error, "damaged file discarded");
                if let Err(error) = store.discard_wrong(&job.geometry, task) {
                    warn!(depth, shard, %error, "damaged file could not be deleted");
                }
                None
            }
            // The next inventory shows whether it exists.
            Err(error) => {
                warn!(depth, shard, %error, "file kept: reported as damaged, and cannot be read");
                None
            }
        };
        self.happened(Input::Discarded { task, whole });
    }

    /// Deletes a file that is no longer read. On an error the file is kept, and removed with its layer.
    pub(super) fn give_back(&self, task: Task) {
        let (depth, shard) = (task.depth.0, task.shard.0);
        failpoint::point("releasing");
        self.worker.files.forget_file(task);
        match self.worker.store.discard(task) {
            Ok(()) => debug!(depth, shard, "shard released"),
            Err(error) => warn!(depth, shard, %error, "shard not released"),
        }
        failpoint::point("released");
    }

    /// Retires the layers that are older than all in `needed`. Later layers are kept: if the run's directory
    /// is an old copy, or another one, they are all that is left of the run.
    pub(super) fn keep_only(&self, needed: &[Depth]) {
        let Some(&oldest) = needed.iter().min() else { return };
        match self.worker.imports.as_ref().map(|_| self.worker.store.depths()) {
            None => {}
            Some(Ok(depths)) => self.retire_all(depths.into_iter().filter(|&depth| depth < oldest)),
            Some(Err(error)) => warn!(error = %error, "unneeded layers could not be retired"),
        }
    }

    /// Retires a layer, and those before it that are still here because commands to retire them were lost.
    pub(super) fn retire_up_to(&self, depth: Depth) {
        let depths = self.worker.store.depths();
        self.retire_all(depths.into_iter().flatten().filter(|&earlier| earlier < depth).chain([depth]));
    }

    /// Retires layers in turn, if this process has not compressed them already. On an error the files of a
    /// layer are kept until the next layer is retired. Stops early when the process is told to stop.
    fn retire_all(&self, depths: impl Iterator<Item = Depth>) {
        let mut compressed =
            self.compressed.lock().expect("the lock is never poisoned: no code panics while holding it");
        for depth in depths {
            if self.is_told_to_stop() {
                return;
            }
            if compressed.contains(&depth) {
                continue;
            }
            match self.retire(depth) {
                // Further files of a layer that is deleted may arrive later.
                Ok(true) if self.worker.keep == Keep::All => drop(compressed.insert(depth)),
                Ok(true) => {}
                Ok(false) => return,
                Err(error) => warn!(depth = depth.0, error = format!("{error:#}"), "layer not retired"),
            }
        }
    }

    fn is_told_to_stop(&self) -> bool {
        *self.stop.borrow()
    }

    /// Retires a layer. Returns false if the process was told to stop in the meantime.
    fn retire(&self, depth: Depth) -> Result<bool> {
        self.prepared().remove(&depth);
        let Worker { store, job, keep, .. } = &self.worker;
        match keep {
            Keep::Last | Keep::Two => {
                self.inputs.forget(depth);
                store.remove(depth)?;
            }
            Keep::All => {
                for shard in store.shards(depth)? {
                    if self.is_told_to_stop() {
                        return Ok(false);
                    }
                    store.archive_shard(&job.geometry, depth, shard)?;
                }
                // Tasks and peers that have a file open can still read it.
                self.worker.files.forget(depth);
            }
        }
        debug!(depth = depth.0, "layer retired");
        Ok(true)
    }

    pub(super) async fn copy(self: Arc<Self>, file: StoredFile, addresses: Vec<String>) {
        let task = file.task;
        static TURNS: Semaphore = Semaphore::const_new(COPIES_AT_ONCE);
        let _turn = TURNS.acquire().await;
        let Worker { store, disk, .. } = self.worker;
        let copied = self.fetcher.copy(store, disk, file, &addresses).await;
        let result = copied.map(Done::Copied);
        if result.is_ok() {
            self.inputs.came(task);
        }
        self.happened(Input::CopyEnded { task, result });
    }
}
