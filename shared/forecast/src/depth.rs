//! Simulates one depth after the other: all workers at once, then the barrier.

use super::cluster::{Cluster, Owners};
use super::load::{COMPRESS_RATE, Loads, ShardLoad};
use super::simulation::{self, TaskTimes};
use super::{DepthForecast, Limit};
use fathom_engine::run::Keep;
use fathom_engine::task::{BeyondMemory, IMPORT_SHARE};
use fathom_space::CosetGraph;
use rayon::prelude::*;

/// Seconds to merge and commit a depth.
const BARRIER_SECONDS: f64 = 10e-3;

/// Bytes that a worker reports for each coset: the checksum.
const REPORT_BYTES: f64 = 32.0;

/// Seconds from a request for a task and its sources until the first of them arrive.
const REQUEST_SECONDS: f64 = 1e-3;

/// Seconds to sync a file and its directory.
const SYNC_SECONDS: f64 = 0.5e-3;

/// Bytes a second and thread that the operating system moves: from disk into the page cache and out of it,
/// and from the page cache to disk (`docs/performance.md`, *System*). Pages of memory for fetched cosets cost
/// as much as pages that are written.
const SYSTEM_READ_RATE: f64 = 1e9;
const SYSTEM_WRITE_RATE: f64 = 2e9;

/// The share of the memory for layers that holds what is read at random.
const WINDOW: f64 = 15.0 / 16.0;

/// The parameters that all depths share.
#[derive(Debug)]
pub(super) struct Simulation<'g> {
    pub(super) graph: &'g CosetGraph,
    pub(super) owners: &'g Owners,
    pub(super) cluster: Cluster,
    pub(super) cache_bytes: f64,
    /// Whether all threads of a worker make one shard together.
    pub(super) shares_tasks: bool,
}

/// Sums over a worker's shards of one layer.
#[derive(Clone, Copy, Debug, Default)]
struct Sum {
    loads: ShardLoad,
    /// Bytes of fetched cosets that do not fit in memory.
    spilled_bytes: f64,
    compressed_bytes: f64,
    disk_bytes: f64,
    seconds: f64,
    end_seconds: f64,
}

/// What a worker reads at random at one depth, in bytes.
#[derive(Clone, Copy, Debug)]
struct AtRandom {
    /// Cosets outside the memory for fetched cosets: the worker's own, and fetched ones on disk.
    others: f64,
    /// The share of these that the page cache holds.
    held: f64,
    /// Whether memory holds all that the worker reads and writes.
    all_fits: bool,
}

impl Simulation<'_> {
    /// Returns the bytes of memory for fetched cosets.
    pub(super) fn import_bytes(&self) -> f64 {
        self.cache_bytes * IMPORT_SHARE
    }

    /// Returns whether some worker may drop cosets at a depth with these loads, in which each is fetched
    /// once. A worker expects a coset to take up to half as much again as it does.
    pub(super) fn may_drop(&self, loads: &Loads) -> bool {
        (0..self.owners.workers()).any(|worker| {
            let mine = &loads.shards[self.owners.places(worker)];
            mine.iter().map(|load| load.fetched_bytes).sum::<f64>() * 1.5 > self.import_bytes()
        })
    }

    /// Simulates one worker's part of a layer. `busiest_sent` is the number of bytes that the busiest peer
    /// sends: the worker fetches no faster than that peer serves.
    fn worker(&self, loads: &Loads, worker: u32, busiest_sent: f64, way: BeyondMemory) -> Sum {
        let Cluster { threads, disk_bytes_per_second, replicas, .. } = self.cluster;
        let mine = &loads.shards[self.owners.places(worker)];
        let mut sum = Sum::default();
        for load in mine {
            let all = &mut sum.loads;
            all.received_bytes += load.received_bytes;
            all.fetched_bytes += load.fetched_bytes;
            all.again_bytes += load.again_bytes;
            all.own_bytes += load.own_bytes;
            all.touched_bytes += load.touched_bytes;
            all.older_bytes += load.older_bytes;
            all.file_bytes += load.file_bytes;
            sum.compressed_bytes += load.compressed_bytes;
        }
        let link = self.cluster.network_bits_per_second as f64 / 8.0;
        let disk = disk_bytes_per_second as f64;
        let received = sum.loads.received_bytes;
        let fetch_seconds = if received > 0.0 { received.max(busiest_sent) / link } else { 0.0 };
        // All peers ask at once, each in an order of its own, so that a peer's read finds a coset in memory
        // with the chance that memory has this coset.
        let of_each = |bytes: &[f64]| bytes[worker as usize] / mine.len().max(1) as f64;
        let (served, tried) = (of_each(&loads.served_bytes), of_each(&loads.tried_bytes));
        let at_random = self.at_random(mine, &sum.loads, way);
        let missed = 1.0 - at_random.held;
        let copies = f64::from(replicas - 1);
        let mut tasks = Vec::with_capacity(mine.len());
        let mut fetched = 0.0;
        for load in mine {
            fetched += load.fetched_bytes;
            let mut read = at_random.read_bytes(load, &sum.loads) + served * missed;
            let spilled = match way {
                // What is fetched first is kept in memory.
                BeyondMemory::Disk => (fetched - self.import_bytes()).max(0.0) - sum.spilled_bytes,
                // The shard reads this once, and the next one drops it.
                BeyondMemory::Fetch => {
                    read += load.spilled_bytes;
                    load.spilled_bytes
                }
            };
            sum.spilled_bytes += spilled;
            let written = load.file_bytes * f64::from(replicas);
            let system = read / SYSTEM_READ_RATE + (load.fetched_bytes + written) / SYSTEM_WRITE_RATE;
            let seconds = load.seconds + tried / COMPRESS_RATE + system;
            let share = if received > 0.0 { load.received_bytes / received } else { 0.0 };
            sum.disk_bytes += read + spilled + written;
            sum.seconds += seconds;
            let times = TaskTimes {
                fetch: nanoseconds(fetch_seconds * share),
                sync: nanoseconds(SYNC_SECONDS),
                copy: nanoseconds(load.compressed_bytes * copies / link),
                span: load.span.map(|bytes| bytes as u64),
                ..TaskTimes::default()
            };
            tasks.push(match self.shares_tasks {
                // While one thread finishes the file, the others go on with the next task.
                true => TaskTimes {
                    read: nanoseconds((read + spilled + written) / disk),
                    compute: nanoseconds(seconds / threads as f64 + REQUEST_SECONDS),
                    ..times
                },
                false => TaskTimes {
                    read: nanoseconds((read + spilled) / disk),
                    compute: nanoseconds(seconds + REQUEST_SECONDS),
                    write: nanoseconds(written / disk),
                    ..times
                },
            });
        }
        let at_once = if self.shares_tasks { 1 } else { threads };
        sum.end_seconds = simulation::worker(&tasks, at_once, self.import_bytes() as u64) as f64 / 1e9;
        sum
    }

    /// Returns what a worker reads at random for the shards `mine`, whose sum is `all`.
    fn at_random(&self, mine: &[ShardLoad], all: &ShardLoad, way: BeyondMemory) -> AtRandom {
        let kept = match way {
            BeyondMemory::Disk => all.fetched_bytes.min(self.import_bytes()),
            BeyondMemory::Fetch => {
                // The mean from the first dropped coset on, while memory is full.
                let full = || mine.iter().filter(|load| load.span[0] > 0.0);
                let bytes: f64 = full().map(|load| load.span[1] - load.span[0]).sum();
                match full().count() {
                    0 => all.fetched_bytes,
                    shards => (bytes / shards as f64).min(self.import_bytes()),
                }
            }
        };
        let others = match way {
            BeyondMemory::Fetch if all.again_bytes > 0.0 => all.own_bytes,
            _ => all.own_bytes + all.fetched_bytes - kept,
        };
        let all_fits = kept + others + all.older_bytes + all.file_bytes <= self.cache_bytes;
        let held = match all_fits {
            true => 1.0,
            // A worker that reads nothing misses nothing.
            false if others <= 0.0 => 1.0,
            false => ((self.cache_bytes * WINDOW - kept) / others).clamp(0.0, 1.0),
        };
        AtRandom { others, held, all_fits }
    }
}

impl AtRandom {
    /// Returns the bytes of layers that a task reads from disk, because they have left memory. `all` is the
    /// sum over the worker's tasks. Fetched cosets that are kept in memory stay there. A share f of the
    /// others that are read at random fits into the rest.
    ///
    /// Each of the worker's own cosets is read once, and again for (1 - sqrt f)^2 of the other shards that
    /// need it. Counted on the coset graph of 4x4, where a coset is needed by 17.6 of 512 shards, and memory
    /// keeps [what is read next](fathom_engine::task::window): 9.2, 7.4, 6.2, 4.5 and 2.6 times with f = 0.1, 0.15,
    /// 0.2, 0.3 and 0.5. Of fetched cosets on disk the system keeps those that were read last: they are read
    /// for (1 - f)^2 of the shards that need them.
    fn read_bytes(&self, load: &ShardLoad, all: &ShardLoad) -> f64 {
        if self.all_fits {
            return 0.0;
        }
        let distinct = all.own_bytes + all.fetched_bytes - all.again_bytes;
        if distinct <= 0.0 || self.others <= 0.0 {
            return load.older_bytes + load.own_bytes;
        }
        let touched = load.touched_bytes * self.others / distinct;
        let own_touched = touched * (all.own_bytes / self.others).min(1.0);
        let own_again = (own_touched - load.own_bytes).max(0.0) * (1.0 - self.held.sqrt()).powi(2);
        let fetched = (touched - own_touched) * (1.0 - self.held).powi(2);
        load.older_bytes + load.own_bytes + own_again + fetched
    }
}

fn nanoseconds(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

/// Sums over the depths so far.
#[derive(Debug)]
pub(super) struct Tally {
    pub(super) way: BeyondMemory,
    keep: Keep,
    /// With `Keep::Two`, the share of a layer that exists in addition to two layers: its shards are made
    /// while those of the oldest layer are still needed.
    ahead: f64,
    pub(super) depths: Vec<DepthForecast>,
    /// Seconds in which each of [`Limit::ALL`] was the limit.
    limits: [f64; 4],
    pub(super) received: Vec<f64>,
    pub(super) sent: Vec<f64>,
    /// Bytes of the files of the three newest layers, by worker; the oldest layer comes first.
    files: Vec<[f64; 3]>,
    /// Bytes of the compressed layers that are kept for good, by worker.
    archived: Vec<f64>,
    pub(super) disk_bytes: f64,
    pub(super) cache_bytes: f64,
}

impl Tally {
    pub(super) fn new(workers: u32, keep: Keep, ahead: f64, way: BeyondMemory) -> Self {
        let workers = workers as usize;
        Self {
            way,
            keep,
            ahead,
            depths: Vec::new(),
            limits: [0.0; 4],
            received: vec![0.0; workers],
            sent: vec![0.0; workers],
            files: vec![[0.0; 3]; workers],
            archived: vec![0.0; workers],
            disk_bytes: 0.0,
            cache_bytes: 0.0,
        }
    }

    /// Simulates one depth, in which `states` states are found.
    pub(super) fn add(&mut self, simulation: &Simulation<'_>, states: f64, loads: &Loads) {
        let Simulation { graph, cluster, .. } = *simulation;
        let Cluster { workers, threads, replicas, .. } = cluster;
        let link = cluster.network_bits_per_second as f64 / 8.0;
        let busiest = loads.sent_bytes.iter().copied().fold(0.0, f64::max);
        let way = self.way;
        let of_worker = |worker| simulation.worker(loads, worker, busiest, way);
        let sums: Vec<Sum> = (0..workers).into_par_iter().map(of_worker).collect();
        let copies = f64::from(replicas - 1);
        let (mut bounds, mut sent_in_all) = ([0.0_f64; 3], 0.0);
        for (worker, sum) in sums.iter().enumerate() {
            // Copies are spread evenly: a worker receives as many as it sends.
            let copied = sum.compressed_bytes * copies;
            let sent = loads.sent_bytes[worker] + copied;
            let received = sum.loads.received_bytes + copied;
            self.sent[worker] += sent;
            self.received[worker] += received;
            sent_in_all += sent;
            let [processors, network, disk] = &mut bounds;
            *processors = processors.max(sum.seconds / threads as f64);
            *network = network.max(sent.max(received) / link);
            *disk = disk.max(sum.disk_bytes / cluster.disk_bytes_per_second as f64);
            self.store(worker, sum, replicas);
        }
        let end = sums.iter().map(|sum| sum.end_seconds).fold(bounds[1], f64::max);
        let reports = f64::from(graph.len()) * REPORT_BYTES / link;
        let reports = if workers > 1 { reports } else { 0.0 };
        let seconds = end + BARRIER_SECONDS + reports;
        let [processors, network, disk] = bounds;
        // The coordinator's link carries the reports after all tasks.
        let network = network + reports;
        let longest = processors.max(network).max(disk);
        let spent = [processors, network, disk, seconds - longest];
        let limit = (0..4).max_by(|&a, &b| spent[a].total_cmp(&spent[b])).expect("there are four");
        self.limits[limit] += seconds;
        self.depths.push(DepthForecast {
            states: states.round(),
            seconds,
            sent_bytes: sent_in_all as u64,
            limit: Limit::ALL[limit],
        });
    }

    /// Records what a worker stores while a layer is made.
    fn store(&mut self, worker: usize, sum: &Sum, replicas: u32) {
        let [oldest, older, newest] = &mut self.files[worker];
        (*oldest, *older, *newest) = (*older, *newest, sum.loads.file_bytes * f64::from(replicas));
        let files = match self.keep {
            // The shards of the new layer replace those of the oldest one.
            Keep::Two => *older + oldest.max(*newest) + self.ahead * oldest.min(*newest),
            Keep::Last | Keep::All => *oldest + *older + *newest,
        };
        if self.keep == Keep::All {
            // Layers are compressed up to two depths later, so that this errs on the side of more.
            self.archived[worker] += sum.compressed_bytes * f64::from(replicas);
        }
        let disk = files + sum.spilled_bytes + self.archived[worker];
        let ShardLoad { own_bytes, fetched_bytes, again_bytes, older_bytes, file_bytes, .. } = sum.loads;
        let once = fetched_bytes - again_bytes;
        let all = own_bytes + once + older_bytes + file_bytes;
        let cache = all.max(once / IMPORT_SHARE);
        self.disk_bytes = self.disk_bytes.max(disk);
        self.cache_bytes = self.cache_bytes.max(cache);
    }

    /// Returns the limit in which most of the time passes.
    pub(super) fn limit(&self) -> Limit {
        let longest = (0..4).max_by(|&a, &b| self.limits[a].total_cmp(&self.limits[b]));
        Limit::ALL[longest.expect("there are four")]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{Fixture, cluster};
    use fathom_engine::run::ShardOrder;
    use fathom_puzzle::Metric;

    /// What peers read comes from the disk as far as memory does not have it.
    #[test]
    fn peers_read_from_disk_what_has_left_memory() {
        let fixture = Fixture::new("2x4", Metric::Multi, Some(4));
        let owners = &Owners::new(ShardOrder::by_number(4), 2);
        let load = ShardLoad { own_bytes: 1e9, file_bytes: 1e9, ..ShardLoad::default() };
        let loads = |served: f64| Loads {
            shards: vec![load; 4],
            sent_bytes: vec![0.0; 2],
            served_bytes: vec![served; 2],
            tried_bytes: vec![served; 2],
        };
        // The worker has two shards, so it reads 2 GB of its own at random.
        for (cache_bytes, missed) in [(0.0, 1.0), (1e9 / WINDOW, 0.5), (4e9, 0.0)] {
            let (graph, cluster) = (&fixture.graph, cluster(2));
            let simulation = Simulation { graph, owners, cluster, cache_bytes, shares_tasks: false };
            let way = BeyondMemory::Disk;
            let disk_bytes = |served: f64| simulation.worker(&loads(served), 1, 0.0, way).disk_bytes;
            let more = disk_bytes(3e9) - disk_bytes(0.0);
            assert!((more - 3e9 * missed).abs() < 1.0, "{more} bytes with {cache_bytes} of memory");
        }
    }

    /// At depth 0 no worker reads anything, and files may exceed memory all the same.
    #[test]
    fn a_worker_that_reads_nothing_only_writes() {
        let fixture = Fixture::new("2x4", Metric::Multi, Some(4));
        let owners = &Owners::new(ShardOrder::by_number(4), 1);
        let load = ShardLoad { file_bytes: 1e9, ..ShardLoad::default() };
        let loads = Loads {
            shards: vec![load; 4],
            sent_bytes: vec![0.0],
            served_bytes: vec![0.0],
            tried_bytes: vec![0.0],
        };
        let (graph, cluster) = (&fixture.graph, cluster(1));
        let simulation = Simulation { graph, owners, cluster, cache_bytes: 1e6, shares_tasks: false };
        for way in [BeyondMemory::Disk, BeyondMemory::Fetch] {
            let sum = simulation.worker(&loads, 0, 0.0, way);
            assert_eq!(sum.disk_bytes, 4e9, "{way:?}");
            assert!(sum.seconds.is_finite() && sum.end_seconds > 4e9 / cluster.disk_bytes_per_second as f64);
        }
    }

    /// Where a link takes longer for checksums than for all else, the network is the limit.
    #[test]
    fn reports_take_time_of_the_network() {
        let fixture = Fixture::new("2x4", Metric::Multi, Some(4));
        let owners = &Owners::new(ShardOrder::by_number(4), 2);
        let cluster = Cluster { network_bits_per_second: 8, ..cluster(2) };
        let simulation =
            Simulation { graph: &fixture.graph, owners, cluster, cache_bytes: 1e9, shares_tasks: false };
        let loads = Loads {
            shards: vec![ShardLoad::default(); 4],
            sent_bytes: vec![0.0; 2],
            served_bytes: vec![0.0; 2],
            tried_bytes: vec![0.0; 2],
        };
        let mut tally = Tally::new(2, Keep::Last, 0.0, BeyondMemory::Disk);
        tally.add(&simulation, 1.0, &loads);
        assert_eq!(tally.limit(), Limit::Network);
        let reports = f64::from(fixture.graph.len()) * REPORT_BYTES;
        assert!((tally.depths[0].seconds - reports).abs() < 1.0, "{:?}", tally.depths[0]);
    }

    /// With cosets fetched again, memory has the worker's own cosets as far as fetched ones leave room.
    #[test]
    fn fetched_cosets_leave_memory_to_own_ones() {
        let fixture = Fixture::new("2x4", Metric::Multi, Some(4));
        let owners = &Owners::new(ShardOrder::by_number(4), 2);
        let load = ShardLoad { own_bytes: 1e9, fetched_bytes: 2e9, file_bytes: 1e9, ..ShardLoad::default() };
        // Of 4 GB that are fetched for two shards, 1 GB was dropped before, and 1 GB is in memory.
        let again = ShardLoad { again_bytes: 1e9, span: [1e9, 2e9], ..load };
        let simulation = Simulation {
            graph: &fixture.graph,
            owners,
            cluster: cluster(2),
            cache_bytes: 2e9 / WINDOW,
            shares_tasks: false,
        };
        let held = |load: ShardLoad, way| {
            let all = ShardLoad {
                own_bytes: 2e9,
                fetched_bytes: 4e9,
                again_bytes: 2.0 * load.again_bytes,
                file_bytes: 2e9,
                ..ShardLoad::default()
            };
            simulation.at_random(&[load; 2], &all, way).held
        };
        assert!((held(again, BeyondMemory::Fetch) - 0.5).abs() < 1e-9);
        // 1.6 GB of fetched cosets leave 0.4 GB to the other 2.4 GB and 2 GB of own cosets.
        assert!((held(load, BeyondMemory::Disk) - 0.4 / 4.4).abs() < 1e-9);
    }
}
