//! Laws of the predictions, and comparisons with counts by other means.

use super::growth::Growth;
use super::load::{LayerStep, Loads};
use super::model::{GrowthModel, first_counts};
use super::sizes::{CosetSize, GrowthSource, LayerSizes};
use super::*;
use crate::wire;
use fathom_engine::run::budget::memory_bytes;
use fathom_engine::run::{Geometry, ShardCut};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_layer::chunk;
use fathom_puzzle::{Board, Metric};
use fathom_space::{CosetId, Labels};
use std::collections::{BTreeSet, HashMap, HashSet};

pub(super) struct Fixture {
    space: Space,
    plan: Plan,
    manifest: RunManifest,
    pub(super) graph: CosetGraph,
    pub(super) cut: ShardCut,
}

impl Fixture {
    pub(super) fn new(board: &str, metric: Metric, shards: Option<u32>) -> Self {
        let board: Board = board.parse().unwrap();
        let spec = SpaceSpec {
            source: fathom_puzzle::PuzzleSpec::Board(board),
            metric,
            labels: Labels::distinct(board.cells()),
        };
        let space = spec.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        let manifest = RunManifest::plan(spec, &space, &plan, shards, Keep::Last, false).unwrap();
        let graph = CosetGraph::build(&space, &plan.colouring).unwrap();
        let cut = Geometry::of(&manifest, &space, &plan.colouring).unwrap().cut;
        Self { space, plan, manifest, graph, cut }
    }

    /// Forecasts with a kernel that takes 100 us for a dense pull, whatever else this machine does.
    fn forecast(&self, cluster: Cluster) -> Forecast {
        self.forecast_of(cluster, Some(BeyondMemory::Disk))
    }

    /// Does the same with this way of cosets that exceed the memory; `None` for the faster one.
    fn forecast_of(&self, cluster: Cluster, way: Option<BeyondMemory>) -> Forecast {
        Forecast::with_pull_time(&self.manifest, &self.space, &self.plan, cluster, way, 1e-4).unwrap()
    }

    fn owners(&self, workers: u32) -> Owners {
        Owners::new(ShardOrder::by_bisection(&self.graph, self.cut, ShardOrder::MOST_BYTES), workers)
    }

    /// Returns the layers of a search, and the costs of each for `workers` workers.
    fn searched(&self, workers: u32) -> Vec<(LayerSizes, Loads)> {
        let mut growth = Growth::of(&self.manifest, &self.graph).unwrap();
        assert_eq!(growth.source(), GrowthSource::Measured);
        let owners = self.owners(workers);
        let mut layers: Vec<(LayerSizes, Loads)> = Vec::new();
        while let Some(next) = growth.next_layer().unwrap() {
            let before = |depths| layers.len().checked_sub(depths).map(|depth| &layers[depth].0);
            let step = LayerStep { next: &next, newest: before(1), older: before(2) };
            let loads = Loads::of(&self.graph, self.cut, &owners, step, 1e-6, None);
            layers.push((next, loads));
        }
        layers
    }
}

/// Returns a cluster whose network and disk are never waited for.
pub(super) fn cluster(workers: u32) -> Cluster {
    Cluster {
        workers,
        threads: 2,
        network_bits_per_second: 1 << 60,
        disk_bytes_per_second: 1 << 40,
        memory_bytes: 1 << 32,
        replicas: 1,
    }
}

#[test]
fn one_worker_sends_nothing() {
    let fixture = Fixture::new("3x4", Metric::Multi, None);
    let forecast = fixture.forecast(cluster(1));
    assert_eq!(forecast.sent_bytes, 0);
    assert_eq!((forecast.worker_received_bytes, forecast.worker_sent_bytes), (0, 0));
    assert_eq!(forecast.depths.iter().map(|depth| depth.states as u64).sum::<u64>(), 479_001_600);
}

#[test]
fn what_is_sent_is_received() {
    let fixture = Fixture::new("2x5", Metric::Multi, Some(7));
    for workers in [2, 3, 5, 7, 9] {
        for (depth, (_, loads)) in fixture.searched(workers).iter().enumerate() {
            let received: f64 = loads.shards.iter().map(|shard| shard.received_bytes).sum();
            let sent: f64 = loads.sent_bytes.iter().sum();
            assert!((received - sent).abs() < 1e-6 * sent.max(1.0), "{workers} workers, depth {depth}");
            assert_eq!(loads.sent_bytes.len(), workers as usize);
        }
    }
}

#[test]
fn more_workers_are_not_slower_without_a_network_to_wait_for() {
    let fixture = Fixture::new("3x5", Metric::Multi, None);
    let seconds = |workers| fixture.forecast(cluster(workers)).depths.iter().map(|depth| depth.seconds).sum();
    let times: Vec<f64> = [1, 4, 16].map(seconds).into();
    // Sources that come from peers cost time of their own.
    assert!(times.is_sorted_by(|before, after| *after < before * 1.03), "{times:?}");
    assert!(times[2] < times[0] / 3.0, "{times:?}");
}

/// With much memory, fetched cosets take no disk. With next to none, all of them do, and the less memory, the
/// more.
#[test]
fn cosets_that_fit_in_memory_take_no_disk() {
    let fixture = Fixture::new("3x5", Metric::Multi, Some(512));
    let slow_disk = Cluster { disk_bytes_per_second: 100_000_000, ..cluster(4) };
    let least = fixture.forecast(slow_disk).worker_process_bytes + (2 << 20);
    let forecasts = [0, 64 << 20, 256 << 20, 1 << 30, 2 << 30, 64 << 30]
        .map(|more| fixture.forecast(Cluster { memory_bytes: least + more, ..slow_disk }));
    let disk = forecasts.each_ref().map(|forecast| forecast.worker_disk_bytes);
    assert!(disk.is_sorted_by(|less, more| less >= more) && disk[1] > disk[2], "{disk:?}");
    let seconds = forecasts.each_ref().map(|forecast| forecast.seconds);
    assert!(seconds.is_sorted_by(|less, more| less >= more) && seconds[0] > 1.5 * seconds[5], "{seconds:?}");
    // Four workers store together what one alone does, which fetches nothing.
    let alone = fixture.forecast(Cluster { workers: 1, ..slow_disk }).worker_disk_bytes;
    assert!(disk[5] * 4 < alone * 11 / 10, "{disk:?} and {alone}");
    let sent = forecasts.each_ref().map(|forecast| forecast.sent_bytes);
    assert!(sent.iter().all(|&bytes| bytes == sent[0]), "memory changes nothing of what is sent");
}

/// With memory for everything, nothing is fetched again. The less memory, the more is.
#[test]
fn less_memory_has_more_fetched_again() {
    let fixture = Fixture::new("3x5", Metric::Multi, Some(512));
    let least = fixture.forecast(cluster(4)).worker_process_bytes + (2 << 20);
    let of =
        |more: u64, way| fixture.forecast_of(Cluster { memory_bytes: least + more, ..cluster(4) }, Some(way));
    let once = of(64 << 30, BeyondMemory::Disk);
    let all_fits = of(64 << 30, BeyondMemory::Fetch);
    let OtherWay { beyond_memory, seconds, sent_bytes, .. } = all_fits.other_way;
    assert_eq!((beyond_memory, seconds, sent_bytes), (BeyondMemory::Disk, once.seconds, once.sent_bytes));
    let as_disk =
        Forecast { beyond_memory: BeyondMemory::Disk, other_way: once.other_way, ..all_fits.clone() };
    assert_eq!(as_disk, once);
    let sent =
        [1 << 30, 512 << 20, 256 << 20, 128 << 20].map(|more| of(more, BeyondMemory::Fetch).sent_bytes);
    assert!(sent[0] > once.sent_bytes && sent[3] > sent[0] * 3 / 2, "{sent:?} and {}", once.sent_bytes);
    assert!(sent.is_sorted(), "{sent:?}");
    // The disks have the files alone.
    let disk = of(128 << 20, BeyondMemory::Fetch).worker_disk_bytes;
    assert_eq!(disk, all_fits.worker_disk_bytes);
    assert!(of(128 << 20, BeyondMemory::Disk).worker_disk_bytes > disk);
}

/// Whatever the memory, a worker fetches each remote source that its shards read, and what it fetches beside
/// these it had before.
#[test]
fn each_source_is_fetched_at_least_once() {
    let fixture = Fixture::new("3x4", Metric::Multi, Some(70));
    let owners = fixture.owners(3);

    let layers: Vec<LayerSizes> = fixture.searched(3).into_iter().map(|(layer, _)| layer).collect();
    let mut again_in_all = Vec::new();
    for most_bytes in [1e9, 600e3, 300e3, 100e3, 1.0] {
        let mut again = 0.0;
        for depth in 2..layers.len() {
            let [older, newest, next] = [2, 1, 0].map(|before| &layers[depth - before]);
            let step = LayerStep { next, newest: Some(newest), older: Some(older) };
            let of = |most_bytes| Loads::of(&fixture.graph, fixture.cut, &owners, step, 1e-6, most_bytes);
            let (once, loads) = (of(None), of(Some(most_bytes)));
            for worker in 0..3 {
                let sum = |loads: &Loads, of: fn(&load::ShardLoad) -> f64| -> f64 {
                    loads.shards[owners.places(worker)].iter().map(of).sum()
                };
                let fetched = sum(&loads, |load| load.fetched_bytes);
                let again_here = sum(&loads, |load| load.again_bytes);
                let distinct = sum(&once, |load| load.fetched_bytes);
                assert!((fetched - again_here - distinct).abs() < 1e-6, "depth {depth}, {most_bytes} bytes");
                again += again_here;
                assert_eq!(sum(&once, |load| load.again_bytes), 0.0);
                assert_eq!(sum(&loads, |load| load.own_bytes), sum(&once, |load| load.own_bytes));
            }
        }
        again_in_all.push(again);
    }
    assert_eq!(again_in_all[0], 0.0);
    assert!(again_in_all.is_sorted() && again_in_all[1] > 0.0, "{again_in_all:?}");
}

/// Cosets that compress are all compressed. Of those of which half of the bits are set, some chunks are tried
/// of each answer. There is one answer for each of two workers that make a shard each.
#[test]
fn of_what_does_not_compress_little_is_tried() {
    let fixture = Fixture::new("3x4", Metric::Multi, Some(2));
    let (owners, shape) = (fixture.owners(2), fixture.graph.shape());
    let served_and_tried = |share: f64| -> Vec<(f64, f64)> {
        let states = share * shape.bits() as f64;
        let coset = CosetSize {
            left: shape.bits() as f32,
            states: states as f32,
            data_bytes: wire::data_bytes(states, shape) as f32,
            sent_bytes: wire::random_bytes(states, shape) as f32,
        };
        let cosets = vec![coset; fixture.graph.len() as usize];
        let layer = LayerSizes { states: cosets.len() as f64 * states, cosets };
        let step = LayerStep { next: &layer, newest: Some(&layer), older: None };
        let loads = Loads::of(&fixture.graph, fixture.cut, &owners, step, 1e-6, None);
        loads.served_bytes.into_iter().zip(loads.tried_bytes).collect()
    };
    for (served, tried) in served_and_tried(0.1) {
        assert!(served > 0.0 && (tried - served).abs() < 1e-6, "{tried} of {served}");
    }
    for (served, tried) in served_and_tried(0.5) {
        assert_eq!(tried, chunk::tried_bytes(served));
        assert!(tried < 0.6 * served, "{tried} of {served}");
    }
}

/// A slow link makes the disk the better place, and a slow disk the other workers.
#[test]
fn the_faster_way_is_chosen() {
    let fixture = Fixture::new("3x5", Metric::Multi, Some(512));
    let memory_bytes = fixture.forecast(cluster(4)).worker_process_bytes + (256 << 20);
    let (slow, fast) = (20_000_000, 1 << 40);
    for (disk, network, expected) in
        [(fast, 8 * slow, BeyondMemory::Disk), (slow, 8 * fast, BeyondMemory::Fetch)]
    {
        let cluster = Cluster {
            memory_bytes,
            disk_bytes_per_second: disk,
            network_bits_per_second: network,
            ..cluster(4)
        };
        let chosen = fixture.forecast_of(cluster, None);
        assert_eq!(chosen.beyond_memory, expected);
        assert!(chosen.seconds < chosen.other_way.seconds, "{chosen:?}");
        let other = fixture.forecast_of(cluster, Some(chosen.other_way.beyond_memory));
        assert_eq!((other.seconds, other.other_way.seconds), (chosen.other_way.seconds, chosen.seconds));
    }
}

/// Where memory is short and cosets are large, no thread lacks a shard.
#[test]
fn threads_that_share_a_shard_are_not_idle() {
    let fixture = Fixture::new("2x7", Metric::Multi, Some(2));
    let of = |memory_bytes| fixture.forecast(Cluster { threads: 8, memory_bytes, ..cluster(1) });
    let alone = of(1 << 40);
    let Plan { patterns, representative_cosets: cosets, shape, .. } = &fixture.plan;
    let shared = of(memory_bytes(&fixture.space, *patterns, *cosets, shape, 8) + (256 << 20));
    assert_eq!((shared.shared_shards, shared.idle_threads()), (true, 0));
    assert_eq!((alone.shared_shards, alone.idle_threads()), (false, 6));
    assert!(shared.seconds < alone.seconds / 2.0, "{} and {}", shared.seconds, alone.seconds);
}

#[test]
fn copies_are_sent_too() {
    let fixture = Fixture::new("3x4", Metric::Multi, None);
    let one = fixture.forecast(cluster(2));
    let two = fixture.forecast(Cluster { replicas: 2, ..cluster(2) });
    assert!(two.sent_bytes > one.sent_bytes * 3 / 2);
    assert!(two.worker_disk_bytes > one.worker_disk_bytes * 3 / 2);
}

/// At the peak, `Keep::Two` stores two of three layers, and the shards that workers are ahead.
#[test]
fn two_layers_take_less_disk_than_three() {
    let fixture = |keep| {
        let fixture = Fixture::new("3x5", Metric::Multi, Some(512));
        Fixture { manifest: RunManifest { keep, ..fixture.manifest }, ..fixture }
    };
    let disk = |keep| fixture(keep).forecast(cluster(2)).worker_disk_bytes as f64;
    let (three, two) = (disk(Keep::Last), disk(Keep::Two));
    assert!(two < three * 0.8 && two > three * 0.6, "{two} and {three}");
}

/// Compares the bytes between two workers with a plain search over words, without tables of sources.
#[test]
fn bytes_for_two_workers_are_those_of_a_plain_count() {
    for (board, metric, shards) in [("3x3", Metric::Multi, 5), ("2x4", Metric::Single, 2)] {
        let fixture = Fixture::new(board, metric, Some(shards));
        let Fixture { space, graph, cut, .. } = &fixture;
        let owners = fixture.owners(2);
        let apply = |word: &[u8], step: &fathom_space::WordMove| {
            let mut image = vec![0; word.len()];
            step.cells.iter().zip(word).for_each(|(&to, &label)| image[usize::from(to)] = label);
            image
        };
        let mut layers: Vec<HashMap<u32, BTreeSet<u32>>> = Vec::new();
        let mut newest = vec![space.labels().of_pieces().to_vec()];
        let mut seen: HashSet<Vec<u8>> = newest.iter().cloned().collect();
        while !newest.is_empty() {
            let mut layer: HashMap<u32, BTreeSet<u32>> = HashMap::new();
            for word in &newest {
                let (coset, position) = graph.locate(word).unwrap();
                layer.entry(coset.0).or_default().insert(position);
            }
            layers.push(layer);
            let images = newest.iter().flat_map(|word| space.moves().iter().map(|step| apply(word, step)));
            newest = images.filter(|image| seen.insert(image.clone())).collect();
        }
        let packed = u64::from(graph.shape().packed_bytes());
        let searched = fixture.searched(2);
        assert_eq!(searched.len(), layers.len());
        for (depth, (_, loads)) in searched.iter().enumerate().skip(1) {
            let states =
                |depth: usize, coset: u32| layers[depth].get(&coset).map_or(0, |set| set.len() as u64);
            for worker in 0..2 {
                let mut needed = BTreeSet::new();
                for coset in owners.shards(worker).iter().flat_map(|&shard| cut.range(shard)) {
                    let visited: u64 = (0..depth).map(|depth| states(depth, coset)).sum();
                    if visited == graph.states_per_coset() {
                        continue;
                    }
                    let word = graph.word_at(CosetId(coset), 0);
                    // The moves are closed under inverses, so the sources of a coset are its images.
                    needed.extend(
                        space.moves().iter().map(|step| graph.locate(&apply(&word, step)).unwrap().0.0),
                    );
                }
                let remote = needed.into_iter().filter(|&coset| owners.of(cut.shard_of(coset)) != worker);
                let bytes: u64 = remote
                    .map(|coset| match states(depth - 1, coset) {
                        states if states * 256 <= packed * 8 => states * 4,
                        _ => packed,
                    })
                    .sum();
                let loads = &loads.shards[owners.places(worker)];
                let got: f64 = loads.iter().map(|load| load.fetched_bytes).sum();
                assert_eq!(got as u64, bytes, "{board} {metric} depth {depth} worker {worker}");
            }
        }
    }
}

#[test]
fn the_model_comes_near_a_search() {
    let fixture = Fixture::new("3x4", Metric::Multi, None);
    let graph = &fixture.graph;
    // Only the first depths are counted, as for large spaces.
    let counts = first_counts(&fixture.space)[..6].to_vec();
    assert_eq!(counts, [1, 17, 195, 2147, 22_888, 227_316]);
    let mut model = GrowthModel::new(graph, counts, GrowthSource::Modelled);
    let searched = fixture.searched(1);
    let sum = |layer: &LayerSizes| layer.cosets.iter().map(|size| f64::from(size.sent_bytes)).sum::<f64>();
    let (mut of_model, mut of_search, mut depths) = (0.0, 0.0, 0);
    while let Some(layer) = model.next_layer() {
        of_model += sum(&layer);
        depths += 1;
    }
    for (layer, _) in &searched {
        of_search += sum(layer);
    }
    assert!((searched.len() - 2..=searched.len() + 1).contains(&depths), "{depths} depths");
    assert!((of_model / of_search - 1.0).abs() < 0.15, "{of_model} bytes, not {of_search}");
}
