//! Fetches the inputs of a task before a kernel thread starts it.

use crate::cluster::driver::{Shared, Worker};
use crate::cluster::inputs::Inputs;
use crate::cluster::session::Input;
use fathom_command::failpoint;
use fathom_engine::run::{Depth, Task};
use fathom_engine::task::SpillPolicy;
use fathom_engine::task::pool::Purpose;
use fathom_layer::LayerError;
use fathom_proto::Failure;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::task::block_in_place;

/// Interval at which a wait for peers checks whether the worker should stop.
const HALT_CHECK: Duration = Duration::from_millis(50);
/// Tasks are prepared together up to this many bytes of cosets: for small tasks, separate requests would
/// take longer than the tasks.
const TOGETHER_BYTES: u64 = 4 << 20;
/// Tasks that are prepared together take at most this part of the memory for cosets from peers, as a
/// divisor, if cosets that exceed that memory are fetched again.
const TASKS_IN_MEMORY: u64 = 64;

/// A task for the kernel threads, once its inputs are available.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) task: Task,
    pub(super) purpose: Purpose,
}

impl Shared {
    /// Prepares tasks in the order of their commands, and passes them to the kernel threads.
    pub(super) async fn prepare_all(self: Arc<Self>, mut tasks: mpsc::UnboundedReceiver<Work>) {
        let geometry = &self.worker.job.geometry;
        let a_task =
            u64::from(geometry.cut.cosets() / geometry.cut.shards()) * u64::from(geometry.packed_bytes);
        let together = match self.worker.spill_policy {
            SpillPolicy::Spill => TOGETHER_BYTES,
            // The inputs of a task are a multiple of its output, and must fit beside the inputs of others.
            SpillPolicy::Refetch => {
                TOGETHER_BYTES.min(self.worker.job.cache.import_bytes() / TASKS_IN_MEMORY)
            }
        };
        let most = (together / a_task.max(1)).max(1) as usize;
        let mut ahead = None;
        let mut other = None;
        loop {
            let Some(first) = (match other.take() {
                Some(work) => Some(work),
                None => tasks.recv().await,
            }) else {
                return;
            };
            let mut together = vec![first];
            while together.len() < most
                && other.is_none()
                && let Ok(work) = tasks.try_recv()
            {
                match work.task.depth == first.task.depth {
                    true => together.push(work),
                    false => other = Some(work),
                }
            }
            // The kernel threads must get these same layers: layers opened later would lack the cosets that
            // are fetched now.
            let mut inputs = block_in_place(|| self.inputs.of(first.task.depth, &self.holders()))
                .map_err(|error| self.failure(&error));
            let prepared = tokio::select! {
                prepared = self.prepare(&mut inputs, &together) => prepared,
                // A silent peer must not delay the stop.
                () = self.halted() => Err(Failure::Stopped),
            };
            block_in_place(|| {
                for work in together {
                    self.fetching().remove(&work.task);
                    if let Err(failure) = self.begin(work, &inputs, &prepared) {
                        let Work { task, purpose } = work;
                        let audit = purpose.is_audit();
                        self.happened(Input::TaskEnded { task, audit, result: Err(failure), took: None });
                    }
                }
            });
            // While tasks run, create the directory of the next layer, except in a store that others use too.
            let next = first.task.depth.next();
            if self.worker.imports.is_some() && prepared.is_ok() && ahead.replace(next) != Some(next) {
                let this = Arc::clone(&self);
                // An error shows when a task needs the directory.
                tokio::task::spawn_blocking(move || this.prepare_directory(next));
            }
        }
    }

    async fn halted(&self) {
        while !self.worker.halt.load(Ordering::Relaxed) {
            tokio::time::sleep(HALT_CHECK).await;
        }
    }

    /// Fetches all inputs of some tasks of one depth. To free memory, cosets that earlier tasks have read may
    /// be dropped from the inputs.
    async fn prepare(&self, inputs: &mut Result<Inputs, Failure>, work: &[Work]) -> Result<(), Failure> {
        let Worker { job, store, disk, imports, .. } = &self.worker;
        let failed = |error: LayerError| self.failure(&error);
        let inputs = inputs.as_mut().map_err(|failure| failure.clone())?;
        if imports.is_none() {
            return Ok(());
        }
        let holders = self.holders();
        for file in work.iter().flat_map(|work| inputs.under_replicated(store, work.task.shard)) {
            self.fetcher.copy(store, *disk, holders.stored(file), &holders.of(file)).await?;
            block_in_place(|| inputs.add(&self.worker.files, file)).map_err(failed)?;
        }
        let needed = loop {
            let mut needed = BTreeSet::new();
            let mut need = || work.iter().try_for_each(|work| inputs.need(job, work.task.shard, &mut needed));
            block_in_place(&mut need).map_err(failed)?;
            if self.inputs.has_room(inputs, needed.len()) {
                break needed;
            }
            // The running tasks release memory of older cosets when they end. If there are no such tasks and
            // no older cosets, the rest goes to disk.
            if self.computing.load(Ordering::Relaxed) > 0 {
                self.task_ended.notified().await;
            } else if !self.inputs.drop_oldest(work[0].task.depth, inputs) {
                break needed;
            }
        };
        if let (Some(newest), Some(&depth)) = (inputs.layers.first(), inputs.depths.first())
            && !needed.is_empty()
        {
            let needed: Vec<_> = needed.into_iter().collect();
            self.fetcher.cosets(depth, &needed, newest, &holders).await?;
        }
        Ok(())
    }

    /// Passes a task to the kernel threads. If the preparation failed, the task starts only if all of its
    /// inputs are available: the failure may concern another task that was prepared with it.
    fn begin(
        &self,
        Work { task, purpose }: Work,
        inputs: &Result<Inputs, Failure>,
        prepared: &Result<(), Failure>,
    ) -> Result<(), Failure> {
        let inputs = inputs.as_ref().map_err(Failure::clone)?;
        if let Err(failure) = prepared
            && (*failure == Failure::Stopped || self.lacks(inputs, task)?)
        {
            return Err(failure.clone());
        }
        self.prepare_directory(task.depth).map_err(|error| self.failure(&error))?;
        let Worker { store, job, .. } = &self.worker;
        let layers = inputs
            .of_task(store, &job.geometry, &self.holders(), task.shard)
            .map_err(|error| self.failure(&error))?;
        failpoint::point("computing");
        self.computing.fetch_add(1, Ordering::Relaxed);
        self.pool.submit(task, purpose, layers);
        Ok(())
    }

    fn lacks(&self, inputs: &Inputs, task: Task) -> Result<bool, Failure> {
        if !inputs.under_replicated(self.worker.store, task.shard).is_empty() {
            return Ok(true);
        }
        let mut needed = BTreeSet::new();
        let scanned = inputs.need(self.worker.job, task.shard, &mut needed);
        scanned.map_err(|error| self.failure(&error))?;
        Ok(!needed.is_empty())
    }

    /// Creates the directory of a layer, once: its name must be durable, which takes longer than a small
    /// task.
    fn prepare_directory(&self, depth: Depth) -> Result<(), LayerError> {
        if !self.prepared().contains(&depth) {
            self.worker.store.prepare(depth)?;
            self.prepared().insert(depth);
        }
        Ok(())
    }
}
