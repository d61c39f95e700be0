//! Predicts what a run on several workers needs in time, disk and network, for clusters that are not
//! available.
//!
//! Reading order: [`mod@cluster`], [`sizes`], [`model`] and [`growth`] (how many states each coset has at
//! each depth), [`wire`] (how many bytes these states take), `fetched` (which cosets from peers a worker
//! has), [`load`] (what each shard costs its worker), [`simulation`] (how long a worker takes for a depth),
//! `depth` (all workers, then the barrier), and here the resulting [`Forecast`]. [`expected`] predicts how
//! the growth of a run continues, [`outlook`] how long a running search still takes, and [`rate`] measures how
//! fast its counts grow.
//!
//! Workers are alike, and each owns a contiguous piece of the order of shards. A worker fetches the cosets of
//! the newest layer that it lacks, and keeps them in memory as far as they fit. Both [ways](BeyondMemory)
//! with those that do not fit are predicted. All links are busy at once, so that a worker fetches as fast as
//! its own link allows, or as the busiest peer sends.
//! `docs/scaling.md` has predictions, and compares them with real runs.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cluster;
mod depth;
pub mod expected;
mod fetched;
pub mod growth;
pub mod load;
pub mod model;
pub mod outlook;
pub mod rate;
pub mod simulation;
pub mod sizes;
#[cfg(test)]
mod tests;
pub mod wire;

pub use cluster::{Cluster, Owners};

use anyhow::Result;
use depth::{Simulation, Tally};
use fathom_engine::estimate::dense_pull_time;
use fathom_engine::run::budget::Budget;
use fathom_engine::run::lookback::most_in_the_making;
use fathom_engine::run::manifest::RunManifest;
use fathom_engine::run::tables::PATTERNS_WORTH_KEEPING;
use fathom_engine::run::{Geometry, ShardOrder};
use fathom_engine::task::BeyondMemory;
use fathom_engine::task::job::shared_bytes;
use fathom_kernel::Engine;
use fathom_space::{CosetGraph, Plan, Space};
use growth::Growth;
use load::{LayerStep, Loads};
use serde::Serialize;
use sizes::GrowthSource;

/// Seconds a pattern and thread to make the tables.
const TABLE_SECONDS: f64 = 120e-9;

/// The resource that takes most of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Limit {
    /// Kernels, checksums and compression.
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

    /// Returns the name of the limit.
    pub fn word(self) -> &'static str {
        match self {
            Self::Processors => "processors",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Latency => "latency",
        }
    }
}

/// The forecast of one depth.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DepthForecast {
    /// States at this depth.
    pub states: f64,
    /// Seconds.
    pub seconds: f64,
    /// Bytes sent between all workers.
    pub sent_bytes: u64,
    /// The resource that takes longest.
    pub limit: Limit,
}

/// What differs if the other happens to cosets that exceed the memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OtherWay {
    /// The other way.
    pub beyond_memory: BeyondMemory,
    /// Seconds.
    pub seconds: f64,
    /// The limit in which most of the seconds pass.
    pub limit: Limit,
    /// Disk space at the peak, in bytes. This and the next one are of the worker that needs most.
    pub worker_disk_bytes: u64,
    /// Bytes from peers.
    pub worker_received_bytes: u64,
    /// Bytes sent between all workers.
    pub sent_bytes: u64,
}

/// The forecast of a run on a cluster; the field `cluster` of `plan --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The cluster.
    #[serde(flatten)]
    pub cluster: Cluster,
    /// The number of shards.
    pub shards: u32,
    /// Whether all threads of a worker make one shard together, because memory cannot hold what as many
    /// shards as threads read.
    pub shared_shards: bool,
    /// Whether workers get shards in an order by bisection, and not by number.
    pub by_bisection: bool,
    /// How often all workers together fetch a dense layer: the number of cosets that they fetch from each
    /// other, each worker a coset once, as a share of all cosets.
    pub layers_sent: f64,
    /// The same number if workers got shards in the order of their numbers.
    pub layers_sent_by_number: f64,
    /// The source of the growth.
    pub growth: GrowthSource,
    /// What happens to cosets from peers that exceed the memory for them.
    pub beyond_memory: BeyondMemory,
    /// The forecast if the other happened to them.
    pub other_way: OtherWay,
    /// Seconds.
    pub seconds: f64,
    /// The limit in which most of the seconds pass.
    pub limit: Limit,
    /// Memory of a worker's process in bytes, without the page cache.
    pub worker_process_bytes: u64,
    /// Memory for layers in bytes, besides that of the process, with which a worker keeps all fetched cosets
    /// in memory and reads nothing from disk.
    pub worker_cache_bytes: u64,
    /// Disk space at the peak, in bytes. This and the next two are of the worker that needs most.
    pub worker_disk_bytes: u64,
    /// Bytes from peers.
    pub worker_received_bytes: u64,
    /// Bytes to peers.
    pub worker_sent_bytes: u64,
    /// Bytes sent between all workers.
    pub sent_bytes: u64,
    /// The forecast of each depth.
    pub depths: Vec<DepthForecast>,
}

impl Forecast {
    /// Forecasts a run on a cluster. With `way` of `None`, cosets that exceed the memory go the way that is
    /// faster.
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if a worker's memory does not suffice; others if the search of a
    /// small space fails.
    pub fn of(
        manifest: &RunManifest,
        space: &Space,
        plan: &Plan,
        cluster: Cluster,
        way: Option<BeyondMemory>,
    ) -> Result<Self> {
        let pull = dense_pull_time(&plan.shape, Engine::fastest(&plan.shape));
        let pull_seconds = pull.expect("the fastest engine does the shape").as_secs_f64();
        Self::with_pull_time(manifest, space, plan, cluster, way, pull_seconds)
    }

    /// Forecasts a run on a cluster whose kernels take `pull_seconds` for a dense pull.
    fn with_pull_time(
        manifest: &RunManifest,
        space: &Space,
        plan: &Plan,
        cluster: Cluster,
        way: Option<BeyondMemory>,
        pull_seconds: f64,
    ) -> Result<Self> {
        let Cluster { workers, threads, memory_bytes, .. } = cluster;
        let cosets = plan.representative_cosets;
        let colouring = manifest.plan.colouring(space)?;
        let geometry = Geometry::of(manifest, space, &colouring)?;
        let budget = Budget::of(memory_bytes, space, plan.patterns, cosets, &plan.shape, threads)?;
        let graph = CosetGraph::build(space, &colouring)?;
        let shared = shared_bytes(&graph, &geometry, threads, budget.cache_bytes);
        let cache = budget.cache_bytes - shared.unwrap_or(0);
        let cut = geometry.cut;
        let by_number = Owners::new(ShardOrder::by_number(manifest.shards), workers);
        let order = match workers > 1 && ShardOrder::is_sought(space, &colouring, cosets) {
            true => ShardOrder::by_bisection(&graph, cut, ShardOrder::MOST_BYTES),
            false => ShardOrder::by_number(manifest.shards),
        };
        let by_bisection = !order.is_by_number();
        let owners = Owners::new(order, workers);
        let layers_sent_by_number = cluster::layers_sent(&graph, cut, &by_number);
        let layers_sent = match by_bisection {
            true => cluster::layers_sent(&graph, cut, &owners),
            false => layers_sent_by_number,
        };
        let (cache_bytes, shares_tasks) = (cache as f64, shared.is_some());
        let simulation = Simulation { graph: &graph, owners: &owners, cluster, cache_bytes, shares_tasks };
        let mut growth = Growth::of(manifest, &graph)?;
        let ahead = most_in_the_making(manifest.shards, u64::from(workers) * threads as u64);
        let ahead = ahead as f64 / f64::from(manifest.shards);
        let mut tallies = [BeyondMemory::Disk, BeyondMemory::Fetch]
            .map(|way| Tally::new(workers, manifest.keep, ahead, way));
        let (mut newest, mut older) = (None, None);
        while let Some(next) = growth.next_layer()? {
            let step = LayerStep { next: &next, newest: newest.as_ref(), older: older.as_ref() };
            let once = Loads::of(&graph, cut, &owners, step, pull_seconds, None);
            let most_bytes = simulation.may_drop(&once).then(|| simulation.import_bytes());
            let again = most_bytes.map(|_| Loads::of(&graph, cut, &owners, step, pull_seconds, most_bytes));
            tallies[0].add(&simulation, next.states, &once);
            tallies[1].add(&simulation, next.states, again.as_ref().unwrap_or(&once));
            (older, newest) = (newest, Some(next));
        }
        let tables = plan.patterns as f64 * TABLE_SECONDS / threads as f64;
        let kept = if plan.patterns < PATTERNS_WORTH_KEEPING { 0 } else { plan.table_bytes(space) };
        let most = |of: &[f64]| of.iter().copied().fold(0.0, f64::max) as u64;
        let seconds = |tally: &Tally| tables + tally.depths.iter().map(|depth| depth.seconds).sum::<f64>();
        let sent_bytes = |tally: &Tally| tally.sent.iter().sum::<f64>() as u64;
        let [disk, fetch] = tallies;
        let faster = if seconds(&fetch) < seconds(&disk) { BeyondMemory::Fetch } else { BeyondMemory::Disk };
        let (tally, other) = match way.unwrap_or(faster) {
            BeyondMemory::Disk => (disk, fetch),
            BeyondMemory::Fetch => (fetch, disk),
        };
        Ok(Self {
            cluster,
            shards: manifest.shards,
            shared_shards: shares_tasks,
            by_bisection,
            layers_sent,
            layers_sent_by_number,
            growth: growth.source(),
            beyond_memory: tally.way,
            other_way: OtherWay {
                beyond_memory: other.way,
                seconds: seconds(&other),
                limit: other.limit(),
                worker_disk_bytes: other.disk_bytes as u64 + kept,
                worker_received_bytes: most(&other.received),
                sent_bytes: sent_bytes(&other),
            },
            seconds: seconds(&tally),
            limit: tally.limit(),
            worker_process_bytes: memory_bytes - cache,
            worker_cache_bytes: tally.cache_bytes as u64,
            worker_disk_bytes: tally.disk_bytes as u64 + kept,
            worker_received_bytes: most(&tally.received),
            worker_sent_bytes: most(&tally.sent),
            sent_bytes: sent_bytes(&tally),
            depths: tally.depths,
        })
    }

    /// Returns the number of threads for which there is no shard.
    pub fn idle_threads(&self) -> u64 {
        let Cluster { workers, threads, .. } = self.cluster;
        if self.shared_shards {
            return 0;
        }
        (u64::from(workers) * threads as u64).saturating_sub(self.shards.into())
    }
}
