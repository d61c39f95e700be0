//! The time, disk and network of a run on several workers, by a formula.
//!
//! W workers of T threads compute the S shards of C cosets, depth by depth. At depth d, with s(d) of all
//! states:
//!
//! | symbol | meaning | value |
//! |---|---|---|
//! | n(d) | stored states | s(d) / symmetries |
//! | F(d) | bytes of the layer's files | 56 C + min(4 n(d), bytes of a dense layer) |
//! | Z(d) | the same, compressed | 5 C + 3 n(d) while sparse, then the dense bytes times H^0.8 |
//! | o(d) | share of cosets that are not complete | 1 - exp(-unvisited states of a coset) |
//! | L | cosets that workers fetch from each other for a dense layer / C | counted on the coset graph |
//! | B, D, M | bits a second of a link, bytes a second of a disk, bytes of memory for layers | given |
//!
//! H is the entropy of a bit of the dense layer, and H^0.8 the size to which zstd compresses random bits at
//! level 1, within a tenth. Each depth takes as long as the slowest of three, and a constant:
//!
//! - **Processors**: the pulls of [`Outlook`], each as long as a dense pull of this machine and the read of a
//!   dense coset from memory, and one pass of a thread over F(d), and over what is read of F(d - 1) and
//!   F(d - 2); all divided by the number of threads, or of shards if that is smaller.
//! - **Network**: L o(d) Z(d - 1) for cosets and 32 C (W - 1) for checksums, and Z(d) for each further copy
//!   of a file; all divided by W B / 8.
//! - **Disk**: F(d) for each copy, and as much of the layers that are read as W M cannot hold; all divided by
//!   W D.
//! - **Latency**: 10 ms, and half a millisecond for each shard of a thread.
//!
//! Fetched cosets may take three quarters of M. The excess is counted again: over the link if
//! workers fetch again, or written to disk and read from there. A run does so for each shard that reads a
//! coset, so this part is a lower bound, and so is what a worker reads of its own layers.
//!
//! **Error**: on the runs of `docs/scaling.md`, seconds are within a factor of two and sent bytes within
//! a third (the tests below). The formula does not model workers that differ, failures, switches that
//! are slower than the links together, or shared stores.

use crate::estimate::{Peak, dense_pull_time};
use crate::forecast::cluster::{Cluster, Owners, layers_sent};
use crate::forecast::growth::{GrowthSource, growth};
use crate::forecast::outlook::Outlook;
use crate::run::budget::Budget;
use crate::run::manifest::RunManifest;
use crate::run::{Geometry, ShardOrder};
use crate::task::job::shared_bytes;
use crate::task::{IMPORT_SHARE, SpillPolicy};
use anyhow::Result;
use fathom_kernel::SimdLevel;
use fathom_layer::format::ENTRY_BYTES;
use fathom_space::{CosetGraph, Plan, Space};
use serde::Serialize;

/// Seconds a pattern and thread to make the tables.
const TABLE_SECONDS: f64 = 120e-9;
/// Bytes a second that a thread reads from memory in any order, by cosets (`docs/performance.md`).
const MEMORY_RATE: f64 = 12e9;
/// Bytes a second of a thread that reads or writes files: the system's time, checksums, encoding, removing
/// known states.
const FILE_RATE: f64 = 1e9;
/// Seconds to merge and commit a depth.
const BARRIER_SECONDS: f64 = 10e-3;
/// Seconds to sync a file and its directory.
const SYNC_SECONDS: f64 = 0.5e-3;
/// Bytes of the checksum of a coset. A worker that fetches a coset needs the checksums of all cosets of its
/// shard.
const CHECKSUM_BYTES: f64 = 32.0;
/// Compressed bytes of the header of a coset, and of a state of a sparse one.
const HEADER_BYTES: f64 = 5.0;
const POSITION_BYTES: f64 = 3.0;

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
    /// Barriers and syncs.
    Latency,
}

impl Limit {
    const ALL: [Self; 4] = [Self::Processors, Self::Network, Self::Disk, Self::Latency];

    /// Returns the name of the limit.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Processors => "processors",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Latency => "latency",
        }
    }

    /// Returns the limit with the most seconds, and these seconds.
    fn longest(seconds: [f64; 4]) -> (Self, f64) {
        let pairs = Self::ALL.into_iter().zip(seconds);
        pairs.max_by(|a, b| a.1.total_cmp(&b.1)).expect("there are four limits")
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

/// The forecast of a run on a cluster; the field `cluster` of `plan --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Forecast {
    /// The cluster.
    #[serde(flatten)]
    pub cluster: Cluster,
    /// The number of shards.
    pub shards: u32,
    /// Whether all threads of a worker compute one shard together, because memory cannot hold what as many
    /// shards as threads read.
    pub shared_shards: bool,
    /// How often all workers together fetch a dense layer: the number of cosets that they fetch from each
    /// other, each worker a coset once, as a share of all cosets.
    pub layers_sent: f64,
    /// The source of the growth.
    pub growth: GrowthSource,
    /// The faster way with fetched cosets that exceed the memory for them; `None` if they all fit.
    pub spill_policy: Option<SpillPolicy>,
    /// Seconds.
    pub seconds: f64,
    /// The limit in which most of the seconds pass.
    pub limit: Limit,
    /// Memory of a worker's process in bytes, without the page cache.
    pub worker_process_bytes: u64,
    /// Memory for layers in bytes, besides that of the process, with which a worker keeps all fetched cosets
    /// in memory and reads nothing from disk.
    pub worker_cache_bytes: u64,
    /// Disk space of a worker at the peak, in bytes.
    pub worker_disk_bytes: u64,
    /// Bytes that a worker sends, and receives.
    pub worker_sent_bytes: u64,
    /// Bytes sent between all workers.
    pub sent_bytes: u64,
    /// The forecast of each depth.
    pub depths: Vec<DepthForecast>,
}

/// One layer of all workers.
#[derive(Clone, Copy, Debug, Default)]
struct Layer {
    /// Bytes of its files.
    file: f64,
    /// Bytes of its cosets, compressed.
    compressed: f64,
    /// The share of cosets with states that are in neither this layer nor an earlier one.
    open: f64,
}

impl Layer {
    /// Returns a layer of `stored` states if `left` of the states to store remain.
    fn new(stored: f64, left: f64, plan: &Plan) -> Self {
        let (cosets, dense) = (plan.representative_cosets as f64, plan.layer_bytes() as f64);
        let positions = stored * 4.0;
        let share = stored / (dense * 8.0);
        let data = match positions < dense {
            true => stored * POSITION_BYTES,
            false => dense * entropy(share).powf(0.8),
        };
        Self {
            file: cosets * ENTRY_BYTES as f64 + positions.min(dense),
            compressed: cosets * HEADER_BYTES + data,
            open: -(-left / cosets).exp_m1(),
        }
    }
}

/// Returns the entropy in bits of a bit that is set with this probability.
fn entropy(share: f64) -> f64 {
    let term = |p: f64| if p <= 0.0 { 0.0 } else { -p * p.log2() };
    term(share) + term(1.0 - share)
}

impl Forecast {
    /// Forecasts a run on a cluster. Measures the kernel for about 20 ms.
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if a worker's memory does not suffice.
    pub fn new(manifest: &RunManifest, space: &Space, plan: &Plan, cluster: Cluster) -> Result<Self> {
        let pull = dense_pull_time(&plan.shape, SimdLevel::fastest(&plan.shape));
        let pull_seconds = pull.expect("the fastest engine does the shape").as_secs_f64();
        Self::with_pull_time(manifest, space, plan, cluster, pull_seconds)
    }

    /// Forecasts a run on a cluster whose kernels take `pull_seconds` for a dense pull.
    fn with_pull_time(
        manifest: &RunManifest,
        space: &Space,
        plan: &Plan,
        cluster: Cluster,
        pull_seconds: f64,
    ) -> Result<Self> {
        let Cluster { workers, threads, memory_bytes, replicas, .. } = cluster;
        let cosets = plan.representative_cosets;
        let colouring = manifest.plan.cosets()?.colouring(space)?;
        let geometry = Geometry::new(manifest, space, &colouring)?;
        let budget = Budget::new(memory_bytes, space, plan.patterns, cosets, &plan.shape, threads)?;
        let graph = CosetGraph::build(space, &colouring)?;
        let shared = shared_bytes(&graph, &geometry, threads, budget.cache_bytes);
        let memory = (budget.cache_bytes - shared.unwrap_or(0)) as f64;
        let order = match workers > 1 && ShardOrder::is_sought(space, &colouring, cosets) {
            true => ShardOrder::by_bisection(&graph, geometry.cut, ShardOrder::MAX_BYTES),
            false => ShardOrder::by_number(manifest.shards),
        };
        let layers_sent = layers_sent(&graph, geometry.cut, &Owners::new(order, workers));

        let (states, source) = growth(space)?;
        let pulls = Outlook::new(space, &plan.shape, &[]).pulls(&states);
        let (cosets, all_workers) = (cosets as f64, f64::from(workers));
        let all_threads = all_workers * threads as f64;
        let at_once = if shared.is_some() { all_threads } else { all_threads.min(manifest.shards.into()) };
        let pull_seconds = pull_seconds + f64::from(plan.shape.packed_bytes()) / MEMORY_RATE;
        let link = all_workers * cluster.network_bits_per_second as f64 / 8.0;
        let disk = all_workers * cluster.disk_bytes_per_second as f64;
        let (replicas, further) = (f64::from(replicas), f64::from(replicas - 1));
        let latency = BARRIER_SECONDS + SYNC_SECONDS * (f64::from(manifest.shards) / at_once).ceil();
        // A coset that left memory comes back over the link, or from disk.
        let way = if link > disk { SpillPolicy::Refetch } else { SpillPolicy::Spill };

        let symmetries = plan.symmetries_used as f64 / f64::from(space.free_order());
        let mut left: f64 = states.iter().sum::<f64>() / symmetries;
        let [mut before, mut newest] = [Layer::default(); 2];
        let (mut depths, mut limits, mut most_excess, mut most_memory) =
            (Vec::new(), [0.0; 4], 0.0_f64, 0.0_f64);
        for (&states, &pulls) in states.iter().zip(&pulls) {
            let stored = states / symmetries;
            left -= stored;
            let next = Layer::new(stored, left, plan);
            let fetched = layers_sent * newest.open * newest.file;
            let own = newest.open * (newest.file + before.file);
            let excess = (fetched - all_workers * memory * IMPORT_SHARE).max(0.0);
            let touched = own + fetched + next.file;
            let missing = (touched - all_workers * memory).clamp(0.0, own);
            let mut sent = layers_sent * newest.open * newest.compressed + further * next.compressed;
            if newest.open > 0.0 {
                sent += CHECKSUM_BYTES * cosets * (all_workers - 1.0);
            }
            let mut on_disk = replicas * next.file + missing;
            match way {
                SpillPolicy::Refetch => sent += excess,
                SpillPolicy::Spill => on_disk += 2.0 * excess,
            }
            let processors = (cosets * pulls * pull_seconds + (own + next.file) / FILE_RATE) / at_once;
            let spent = [processors, sent / link, on_disk / disk, latency];
            let seconds = spent[..3].iter().copied().fold(0.0, f64::max) + latency;
            let (limit, _) = Limit::longest(spent);
            limits[limit as usize] += seconds;
            most_excess = most_excess.max(excess);
            most_memory = most_memory.max(touched).max(fetched / IMPORT_SHARE);
            depths.push(DepthForecast { states: states.round(), seconds, sent_bytes: sent as u64, limit });
            (before, newest) = (newest, next);
        }
        let sent_bytes: u64 = depths.iter().map(|depth| depth.sent_bytes).sum();
        let peak = Peak {
            keep: manifest.keep,
            max_depth: None,
            threads: all_threads as usize,
            shards: Some(manifest.shards),
            workers: Some(workers),
        };
        let spilled = if way == SpillPolicy::Spill { most_excess / all_workers } else { 0.0 };
        Ok(Self {
            cluster,
            shards: manifest.shards,
            shared_shards: shared.is_some(),
            layers_sent,
            growth: source,
            spill_policy: (most_excess > 0.0).then_some(way),
            seconds: plan.patterns as f64 * TABLE_SECONDS / threads as f64
                + depths.iter().map(|depth| depth.seconds).sum::<f64>(),
            limit: Limit::longest(limits).0,
            worker_process_bytes: memory_bytes - memory as u64,
            worker_cache_bytes: (most_memory / all_workers) as u64,
            worker_disk_bytes: (peak.bytes(space, plan) as f64 * replicas / all_workers + spilled) as u64,
            worker_sent_bytes: sent_bytes / u64::from(workers),
            sent_bytes,
            depths,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::{Keep, SpaceSpec};
    use crate::run::{Lookback, Producers};
    use fathom_puzzle::{Metric, PuzzleSpec};
    use fathom_space::Labels;

    /// Returns a forecast with the shards that a run on this cluster has, and this time of a dense pull.
    fn forecast(space: &str, metric: Metric, keep: Keep, cluster: Cluster, pull_seconds: f64) -> Forecast {
        let source = PuzzleSpec::whole(space).unwrap();
        let labels = Labels::from_values(source.solved());
        let spec = SpaceSpec { source, metric, labels };
        let space = spec.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        let producers = Producers { processes: cluster.workers, ..Producers::unknown() };
        let shards = producers.shards(&plan, Lookback::new(&space));
        let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), keep, false).unwrap();
        Forecast::with_pull_time(&manifest, &space, &plan, cluster, pull_seconds).unwrap()
    }

    fn cluster(workers: u32) -> Cluster {
        Cluster {
            workers,
            threads: 2,
            network_bits_per_second: 10_000_000_000,
            disk_bytes_per_second: 960_000_000,
            memory_bytes: 20_000_000_000,
            replicas: 1,
        }
    }

    fn of(workers: u32) -> Forecast {
        forecast("3x4", Metric::Multi, Keep::Last, cluster(workers), 1e-6)
    }

    /// Seconds and bytes of the files of `records/*.json`, and pulls and the disk's rate of the machine on
    /// which they were made, from `docs/performance.md`.
    #[test]
    fn forecast_matches_recorded_times() {
        for (space, metric, pull_microseconds, seconds, disk_bytes) in [
            ("4x4", Metric::Multi, 2.22, 278.4, 62.28e9),
            ("4x4", Metric::Single, 2.22, 306.7, 62.29e9),
            ("3x5", Metric::Multi, 11.7, 31.0, 4.44e9),
            ("3x5", Metric::Single, 11.7, 36.1, 4.44e9),
            ("2x7", Metric::Multi, 452.0, 12.4, 1.62e9),
            ("2x7", Metric::Single, 452.0, 10.2, 1.62e9),
        ] {
            let got = forecast(space, metric, Keep::Last, cluster(1), pull_microseconds * 1e-6);
            assert!(got.seconds < seconds * 2.0 && got.seconds > seconds / 2.0, "{space} {metric}: {got:?}");
            let disk = got.worker_disk_bytes as f64 / disk_bytes;
            assert!(disk > 0.99 && disk < 1.05, "{space} {metric}: {} bytes", got.worker_disk_bytes);
        }
    }

    /// The bytes of the tables of `docs/scaling.md`.
    #[test]
    fn forecast_matches_measured_traffic() {
        for (space, workers, sent_bytes) in [
            ("3x4", 2, 3_267_470),
            ("3x4", 4, 8_198_312),
            ("2x6", 2, 8_002_489),
            ("2x6", 4, 19_418_974),
            ("2x7", 2, 1_652_490_367),
            ("2x7", 4, 3_941_505_374_u64),
        ] {
            let got = forecast(space, Metric::Multi, Keep::Last, cluster(workers), 1e-6).sent_bytes;
            assert!(got.abs_diff(sent_bytes) < sent_bytes / 3, "{space}, {workers} workers: {got} bytes");
        }
    }

    #[test]
    fn one_worker_sends_nothing() {
        let forecast = of(1);
        assert_eq!((forecast.sent_bytes, forecast.layers_sent), (0, 0.0));
        let states: f64 = forecast.depths.iter().map(|depth| depth.states).sum();
        assert!((states - 479_001_600.0).abs() < 20.0, "{states}");
    }

    #[test]
    fn copies_are_sent_and_stored() {
        let copied = forecast("3x4", Metric::Multi, Keep::Last, Cluster { replicas: 2, ..cluster(2) }, 1e-6);
        let once = of(2);
        assert!(copied.sent_bytes > once.sent_bytes * 3 / 2, "{copied:?}, not {once:?}");
        assert_eq!(copied.worker_disk_bytes, once.worker_disk_bytes * 2);
    }

    #[test]
    fn two_layers_take_less_disk_than_three() {
        let disk = |keep| forecast("3x5", Metric::Multi, keep, cluster(2), 1e-6).worker_disk_bytes as f64;
        let share = disk(Keep::Two) / disk(Keep::Last);
        assert!(share > 0.66 && share < 0.8, "{share}");
    }

    /// A link or a disk that is ten times as slow takes ten times as long if it is the limit.
    #[test]
    fn slowest_resource_decides() {
        let of = |cluster| forecast("2x7", Metric::Multi, Keep::Last, cluster, 1e-6);
        let slow = |rate| Cluster { network_bits_per_second: rate, ..cluster(4) };
        let (slow, slower) = (of(slow(10_000_000)), of(slow(1_000_000)));
        assert_eq!((slow.limit, slower.limit), (Limit::Network, Limit::Network));
        let times = slower.seconds / slow.seconds;
        assert!(times > 9.0 && times < 10.0, "{times}");
        let slow = |rate| Cluster { disk_bytes_per_second: rate, ..cluster(4) };
        let (slow, slower) = (of(slow(10_000_000)), of(slow(1_000_000)));
        assert_eq!((slow.limit, slower.limit), (Limit::Disk, Limit::Disk));
        let times = slower.seconds / slow.seconds;
        assert!(times > 9.0 && times < 10.0, "{times}");
        assert_eq!(of(cluster(4)).limit, Limit::Processors);
    }

    #[test]
    fn spilled_cosets_take_the_faster_way() {
        let of = |network: u64, memory_bytes| {
            let network_bits_per_second = network * 8;
            let cluster = Cluster { network_bits_per_second, memory_bytes, ..cluster(4) };
            forecast("2x7", Metric::Multi, Keep::Last, cluster, 1e-6)
        };
        let (slow, fast) = (900_000_000, 1_000_000_000);
        let much = of(fast, 20_000_000_000);
        let little = much.worker_process_bytes + (40 << 20);
        assert_eq!(much.spill_policy, None);
        let (fetch, disk) = (of(fast, little), of(slow, little));
        assert_eq!(fetch.spill_policy, Some(SpillPolicy::Refetch));
        assert_eq!(disk.spill_policy, Some(SpillPolicy::Spill));
        assert!(fetch.sent_bytes > disk.sent_bytes && fetch.worker_disk_bytes < disk.worker_disk_bytes);
        assert_eq!((much.sent_bytes, much.worker_disk_bytes), (disk.sent_bytes, fetch.worker_disk_bytes));
    }

    /// If memory is short and cosets are large, no thread lacks a shard.
    #[test]
    fn threads_sharing_a_shard_are_not_idle() {
        let of = |memory_bytes| {
            forecast(
                "2x7",
                Metric::Multi,
                Keep::Last,
                Cluster { threads: 512, memory_bytes, ..cluster(1) },
                1e-3,
            )
        };
        let much = of(1 << 40);
        assert_eq!((much.shared_shards, much.idle_threads()), (false, 512 - 170));
    }
}
