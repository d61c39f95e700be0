//! What a run on several workers will need: time, disk and network, predicted for clusters that are not at
//! hand.
//!
//! Reading order: [`mod@cluster`], [`sizes`], [`model`] and [`growth`] (how many states each coset has at
//! each depth), [`wire`] (how many bytes these are), [`load`] (what each shard costs its worker),
//! [`simulation`] (how long a worker takes for a depth), `depth` (all workers, then the barrier), and here
//! what comes of it. [`expected`] tells how growth goes on, and [`outlook`] how long a search that is at work
//! still takes.
//!
//! Workers are alike, and each has a contiguous range of shards. What a worker lacks of the newest layer it
//! fetches, each coset once a depth. All links are busy at once, so what a worker fetches comes as fast as
//! its own link takes it or as the busiest peer sends it. `docs/scaling.md` has the predictions, and how they
//! compare with real runs.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cluster;
mod depth;
pub mod expected;
pub mod growth;
pub mod load;
pub mod model;
pub mod outlook;
pub mod simulation;
pub mod sizes;
#[cfg(test)]
mod tests;
pub mod wire;

pub use cluster::{Cluster, Owners};

use anyhow::Result;
use depth::{Simulation, Tally};
use fathom_engine::estimate::dense_pull_time;
use fathom_kernel::Engine;
use fathom_run::Geometry;
use fathom_run::budget::cache_bytes;
use fathom_run::lookback::most_in_the_making;
use fathom_run::manifest::RunManifest;
use fathom_run::tables::PATTERNS_WORTH_KEEPING;
use fathom_space::{CosetGraph, Plan, Space};
use growth::Growth;
use load::LayerStep;
use serde::Serialize;
use sizes::GrowthSource;

/// Seconds to make the tables, a pattern and thread.
const TABLE_SECONDS: f64 = 120e-9;

/// What a run takes longest for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Kernels, checksums, compression.
    Processors,
    /// The links between workers.
    Network,
    /// The disks.
    Disk,
    /// Waiting: barriers, syncs, requests, and threads without a task while others have one.
    Latency,
}

impl Limit {
    const ALL: [Self; 4] = [Self::Processors, Self::Network, Self::Disk, Self::Latency];

    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            Self::Processors => "processors",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Latency => "latency",
        }
    }
}

/// What a depth will need.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DepthForecast {
    /// Its states.
    pub states: f64,
    /// Seconds.
    pub seconds: f64,
    /// Bytes from worker to worker, in all.
    pub sent_bytes: u64,
    /// What takes longest.
    pub limit: Limit,
}

/// What a run on a cluster will need. The field `cluster` of `plan --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The cluster.
    #[serde(flatten)]
    pub cluster: Cluster,
    /// Shards.
    pub shards: u32,
    /// The source of the growth.
    pub growth: GrowthSource,
    /// Seconds.
    pub seconds: f64,
    /// The limit in which most of the seconds pass.
    pub limit: Limit,
    /// Bytes of memory that a worker takes, without the page cache.
    pub worker_process_bytes: u64,
    /// Bytes of the page cache with which a worker reads nothing from disk.
    pub worker_cache_bytes: u64,
    /// Bytes of disk at the peak, of the worker that needs most. So are those below.
    pub worker_disk_bytes: u64,
    /// Bytes from peers.
    pub worker_received_bytes: u64,
    /// Bytes to peers.
    pub worker_sent_bytes: u64,
    /// Bytes from worker to worker, in all.
    pub sent_bytes: u64,
    /// The forecast of each depth.
    pub depths: Vec<DepthForecast>,
}

impl Forecast {
    /// The forecast of a run on a cluster.
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if a worker's memory does not suffice; others if the search of a
    /// small space fails.
    pub fn of(manifest: &RunManifest, space: &Space, plan: &Plan, cluster: Cluster) -> Result<Self> {
        let pull = dense_pull_time(&plan.shape, Engine::fastest(&plan.shape));
        let pull_seconds = pull.expect("the fastest engine does the shape").as_secs_f64();
        Self::with_pull_time(manifest, space, plan, cluster, pull_seconds)
    }

    /// The same where the time of a dense pull is known, in seconds.
    fn with_pull_time(
        manifest: &RunManifest,
        space: &Space,
        plan: &Plan,
        cluster: Cluster,
        pull_seconds: f64,
    ) -> Result<Self> {
        let Cluster { workers, threads, memory_bytes, .. } = cluster;
        let cosets = plan.representative_cosets;
        let cache = cache_bytes(memory_bytes, space, plan.patterns, cosets, &plan.shape, threads)?;
        let colouring = manifest.cut(space)?;
        let graph = CosetGraph::build(space, &colouring)?;
        let simulation = Simulation {
            cut: Geometry::of(manifest, space, &colouring)?.cut,
            owners: Owners { shards: manifest.shards, workers },
            graph: &graph,
            cluster,
            cache_bytes: cache as f64,
            pull_seconds,
        };
        let mut growth = Growth::of(manifest, &graph)?;
        let ahead = most_in_the_making(manifest.shards, u64::from(workers) * threads as u64);
        let ahead = ahead as f64 / f64::from(manifest.shards);
        let mut tally = Tally::new(workers, manifest.keep, ahead);
        let (mut newest, mut older) = (None, None);
        while let Some(next) = growth.next_layer()? {
            let step = LayerStep { next: &next, newest: newest.as_ref(), older: older.as_ref() };
            tally.add(&simulation, step);
            (older, newest) = (newest, Some(next));
        }
        let tables = plan.patterns as f64 * TABLE_SECONDS / threads as f64;
        let kept = if plan.patterns < PATTERNS_WORTH_KEEPING { 0 } else { plan.table_bytes(space) };
        let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max) as u64;
        Ok(Self {
            cluster,
            shards: manifest.shards,
            growth: growth.source(),
            seconds: tables + tally.depths.iter().map(|depth| depth.seconds).sum::<f64>(),
            limit: tally.limit(),
            worker_process_bytes: memory_bytes - cache,
            worker_cache_bytes: tally.cache_bytes as u64,
            worker_disk_bytes: tally.disk_bytes as u64 + kept,
            worker_received_bytes: most(&tally.received),
            worker_sent_bytes: most(&tally.sent),
            sent_bytes: tally.sent.iter().sum::<f64>() as u64,
            depths: tally.depths,
        })
    }

    /// Threads for which there is no shard.
    pub fn idle_threads(&self) -> u64 {
        let Cluster { workers, threads, .. } = self.cluster;
        (u64::from(workers) * threads as u64).saturating_sub(self.shards.into())
    }
}
