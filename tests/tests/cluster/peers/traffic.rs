//! What workers send each other, compared with what `fathom plan --workers` predicts.

use super::{in_time, serve};
use fathom_engine::directory::RunDirectory;
use fathom_engine::forecast::{Cluster, Forecast, Owners};
use fathom_engine::observer::Silent;
use fathom_engine::run::{Keep, RunManifest, SpaceSpec};
use fathom_engine::run::{Lookback, Producers, ShardOrder};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::task::{Job, Kernel, Layer, Resources, Store};
use fathom_layer::{ImportMemory, Imports, LocalDisk};
use fathom_proto::access::{Access, AccessArguments};
use fathom_proto::v1;
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::{CosetId, Labels, Plan};
use fathom_worker::cluster::Meter;
use fathom_worker::cluster::files::OpenFiles;
use fathom_worker::cluster::holders::Holders;
use fathom_worker::cluster::peer_client::Fetcher;
use fathom_worker::cluster::peer_server::Exchange;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

const MEMORY: u64 = 1 << 30;
/// Number of tasks whose inputs a worker fetches together.
const TOGETHER: usize = 2;

/// Lets each of `workers` workers fetch what its tasks read, depth by depth, from one peer that has all files
/// of the run. Returns the number of bytes that the peer sent.
async fn sent(manifest: &RunManifest, path: &Path, workers: u32) -> u64 {
    let resources = Resources { kernel: Kernel::Fastest, threads: 1, memory_bytes: MEMORY, max_depth: None };
    let Job { graph, geometry, .. } = Job::load(manifest, path, resources, &LocalDisk).unwrap();
    let cut = geometry.cut;
    let owners = Owners::new(ShardOrder::by_bisection(&graph, cut, ShardOrder::MAX_BYTES), workers);
    let store: &'static Store<'static> = Box::leak(Box::new(Store::at(path, &LocalDisk).unwrap()));
    let meter = Arc::new(Meter::default());
    let peer = serve(Exchange::new(OpenFiles::new(store, geometry), geometry, Arc::clone(&meter))).await;
    let depths = store.depths().unwrap();
    // No task reads the last layer.
    for &depth in &depths[..depths.len() - 1] {
        let files = store.open(&geometry, depth).unwrap();
        let held = |shard| {
            let digest = store.open_shard(&geometry, depth, shard).unwrap().digest().unwrap();
            v1::HeldShard { holders: vec![0], digest: digest.0.to_vec().into() }
        };
        let layers = vec![v1::HeldLayer { depth: depth.0, shards: cut.ids().map(held).collect() }];
        let told = v1::Holders { version: 1, addresses: vec![peer.clone()], layers };
        let holders = Arc::new(Holders::new(told));
        for worker in 0..workers {
            let access = Access::load(&AccessArguments::default()).unwrap();
            let fetcher = Arc::new(Fetcher::new(access, geometry, Arc::default()));
            let imports =
                Imports::new(path, cut.cosets(), geometry.tensor(), Arc::new(ImportMemory::new(MEMORY)));
            let fetched = Arc::new(Layer::partial(cut, Some(imports)));
            for tasks in owners.shards(worker).chunks(TOGETHER) {
                let made = tasks.iter().flat_map(|&shard| cut.range(shard)).map(CosetId);
                let is_left =
                    |coset: &CosetId| u64::from(files.states(*coset).unwrap().1) < graph.states_per_coset();
                let read = made.filter(is_left).flat_map(|coset| graph.sources(coset));
                let lacks =
                    |source: &CosetId| owners.of(cut.shard_of(source.0)) != worker && !fetched.holds(*source);
                let needed: BTreeSet<CosetId> = read.map(|(_, source)| source).filter(lacks).collect();
                if !needed.is_empty() {
                    let needed: Vec<CosetId> = needed.into_iter().collect();
                    let cosets = fetcher.cosets(depth, &needed, &fetched, &holders);
                    in_time("cosets", cosets).await.unwrap();
                }
            }
        }
    }
    meter.sent.load(Ordering::Relaxed)
}

/// The formula of `plan` allows a deviation of a third; a coset that is fetched twice, or is not compressed,
/// exceeds that.
#[tokio::test(flavor = "multi_thread")]
async fn workers_send_as_much_as_predicted() {
    for (board, workers) in [("3x4", 2), ("3x4", 4), ("2x6", 2)] {
        let board: Board = board.parse().unwrap();
        let labels = Labels::distinct(board.cells());
        let spec = SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Multi, labels };
        let space = spec.space().unwrap();
        let plan = Plan::new(&space).unwrap();
        let producers = Producers { processes: workers, ..Producers::unknown() };
        let shards = producers.shards(&plan, Lookback::new(&space));
        let manifest = RunManifest::plan(spec, &space, &plan, Some(shards), Keep::All, false).unwrap();
        let cluster = Cluster {
            workers,
            threads: 1,
            network_bits_per_second: 1 << 30,
            disk_bytes_per_second: 1 << 30,
            memory_bytes: MEMORY,
            replicas: 1,
        };
        let predicted = Forecast::new(&manifest, &space, &plan, cluster).unwrap().sent_bytes;
        let directory = fathom_tests::tempdir().unwrap();
        let path = directory.path().join("run");
        let mut run = RunDirectory::create(&path, manifest.clone(), &[], &LocalDisk).unwrap();
        let options = Options {
            threads: 2,
            kernel: Kernel::Fastest,
            max_depth: None,
            memory_bytes: MEMORY,
            checkpoint_every: Options::CHECKPOINT_EVERY,
        };
        search(&mut run, &LocalDisk, options, &Stop::default(), &Silent).unwrap();
        let sent = sent(&manifest, &path, workers).await;
        let error = predicted as f64 / sent as f64 - 1.0;
        assert!(error.abs() < 1.0 / 3.0, "{board}, {workers} workers: {sent} bytes, not {predicted}");
    }
}
