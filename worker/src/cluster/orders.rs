//! What a worker does when it is told to.

use crate::cluster::session::{Happened, Shared, Worker};
use anyhow::Result;
use fathom_proto::v1::{self, LeaveReason};
use fathom_proto::{Attempt, Done, Outcome, convert};
use fathom_run::{Depth, Keep, Task};
use std::sync::Arc;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::block_in_place;
use tracing::{debug, info, warn};

/// Copies that are taken at once.
const COPIES_AT_ONCE: usize = 4;

impl Shared {
    /// Does what is ordered, or has it done. Returns why to leave, if that is ordered.
    pub(super) fn obey(
        self: &Arc<Self>,
        order: v1::order::Kind,
        prepare: &mpsc::UnboundedSender<Task>,
    ) -> Result<Option<LeaveReason>> {
        use v1::order::Kind;
        let geometry = &self.worker.job.geometry;
        match order {
            Kind::MakeShard(v1::MakeShard { file, attempt }) => {
                let task = convert::file(file.as_ref(), geometry)?;
                let attempt = attempt.map_or(Attempt { epoch: 0, number: 0 }, Attempt::from);
                let mut underway = self.underway();
                if underway.depth != Some(task.depth) {
                    underway.depth = Some(task.depth);
                    self.worker.counters.begin();
                }
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "task ordered");
                // One that was ordered before, in another session, goes on for this attempt.
                if underway.tasks.insert(task, attempt).is_none() {
                    let _ = prepare.send(task);
                }
            }
            Kind::TakeCopy(v1::TakeCopy { file, addresses }) => {
                let task = convert::file(file.as_ref(), geometry)?;
                if self.underway().copies.insert(task) {
                    debug!(depth = task.depth.0, shard = task.shard.0, "copy ordered");
                    tokio::spawn(Arc::clone(self).copy(task, addresses));
                }
            }
            Kind::Discard(file) => {
                let task = convert::file(Some(&file), geometry)?;
                // Here and now: the next order may be to make this very file.
                block_in_place(|| self.discard(task));
            }
            Kind::RetireLayer(v1::RetireLayer { depth }) => {
                let this = Arc::clone(self);
                tokio::task::spawn_blocking(move || {
                    // What stays is removed when this worker registers next.
                    if let Err(error) = this.retire(Depth(depth)) {
                        warn!(depth, error = format!("{error:#}"), "layer not retired");
                    }
                });
            }
            Kind::Leave(v1::Leave { reason }) => {
                let reason = LeaveReason::try_from(reason).unwrap_or(LeaveReason::Unspecified);
                if reason != LeaveReason::CoordinatorGoes {
                    return Ok(Some(reason));
                }
                info!("the coordinator goes, and is waited for");
            }
        }
        Ok(None)
    }

    /// Deletes a file that is said to be damaged, if it is: what a peer says may be the fault of its own memory, and this may be
    /// the last copy. One that is whole is told of.
    fn discard(&self, task: Task) {
        let Worker { store, job, .. } = &self.worker;
        let (depth, shard) = (task.depth.0, task.shard.0);
        self.inputs.forget(task.depth);
        let checked = store
            .open_shard(&job.geometry, task.depth, task.shard)
            .and_then(|file| file.check_all().map(|()| file.bytes()));
        match checked {
            Ok(bytes) => {
                warn!(depth, shard, "a file was said to be damaged, and is whole: it stays");
                let result = Ok(Done::Copied(bytes));
                let _ = self.happened.send(Happened::Ended(Outcome { task, attempt: None, result }));
            }
            Err(error) => {
                warn!(depth, shard, %error, "damaged file discarded");
                if let Err(error) = store.discard(task) {
                    warn!(depth, shard, %error, "it cannot be deleted");
                }
            }
        }
    }

    pub(super) fn retire(&self, depth: Depth) -> Result<()> {
        self.prepared().remove(&depth);
        let Worker { store, job, keep, .. } = &self.worker;
        match keep {
            Keep::Last => {
                self.inputs.forget(depth);
                store.remove(depth)?;
            }
            Keep::All => {
                for shard in store.shards(depth)? {
                    store.archive_shard(&job.geometry, depth, shard)?;
                }
                // Who reads what was there before goes on with it.
                self.worker.files.forget(depth);
            }
        }
        debug!(depth = depth.0, "layer retired");
        Ok(())
    }

    async fn copy(self: Arc<Self>, task: Task, addresses: Vec<String>) {
        static TURNS: Semaphore = Semaphore::const_new(COPIES_AT_ONCE);
        let _turn = TURNS.acquire().await;
        let Worker { store, disk, .. } = self.worker;
        let copied = self.fetcher.copy(store, disk, task, &addresses).await;
        let result = copied.map(Done::Copied);
        if result.is_ok() {
            self.inputs.came(task);
        }
        let _ = self.happened.send(Happened::Ended(Outcome { task, attempt: None, result }));
    }
}
