//! Cosets from other workers: in memory, on disk, in both, and fetched again.

use fathom_engine::directory::RunDirectory;
use fathom_engine::run::{Geometry, RunManifest, budget};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::task::job::shared_bytes;
use fathom_layer::LocalDisk;
use fathom_puzzle::{Metric, PuzzleSpec, family};
use fathom_space::{Colouring, CosetGraph, Labels, Plan, Shape};
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::{assert_same, fathom, fathom_worker, json};
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Layers of up to 2.8 MB.
const SPACE: [&str; 3] = ["2x6", "--shards", "16"];
const LAYER_BYTES: u64 = 2_800_000;
/// Layers of up to 5 MB; a task reads at most a sixth of one.
const PANCAKES: [&str; 3] = ["pancake:11", "--shards", "64"];

/// What a worker did with cosets from the other one, in bytes.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    received: u64,
    kept: u64,
    spilled: u64,
}

fn question(puzzle: &str) -> SpaceSpec {
    let (source, metric) = match puzzle.parse() {
        Ok(board) => (PuzzleSpec::Board(board), Metric::Multi),
        Err(_) => (PuzzleSpec::Defined(Box::new(family::by_name(puzzle).unwrap())), Metric::Given),
    };
    let labels = Labels::distinct(source.cells());
    SpaceSpec { source, metric, labels }
}

/// Returns the memory that a worker with one thread takes for anything but layers.
fn process_bytes(space: &[&str; 3]) -> u64 {
    let space = question(space[0]).space().unwrap();
    let plan = Plan::new(&space).unwrap();
    budget::memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, 1)
}

/// Returns what a worker did, after it has ended.
fn fetched_by(cluster: &Cluster, name: &str) -> Fetched {
    did(&cluster.logged_by(name, "worker ends")[0])
}

/// Returns what a worker did, from the last line of its log.
fn did(ends: &Value) -> Fetched {
    let bytes = |key: &str| ends[key].as_u64().unwrap();
    Fetched { received: bytes("received_bytes"), kept: bytes("kept_bytes"), spilled: bytes("spilled_bytes") }
}

/// Runs a space on two workers that have `cache_bytes` bytes for layers. Returns what each of them did.
fn fetched(space: &[&str; 3], cache_bytes: u64, options: &[&str]) -> [Fetched; 2] {
    let memory = format!("{}B", process_bytes(space) + cache_bytes);
    let mut cluster = Cluster::new(space, &["--audit", "0"]);
    let join = |cluster: &mut Cluster, name: &str| {
        let mut command = cluster.joining(name);
        command.args(["--memory", &memory]).args(options);
        cluster.join_by(name, command);
    };
    // The first worker waits until the second one has joined, so that both have shards of all large layers.
    cluster.serve_up_to(1);
    join(&mut cluster, "w1");
    cluster.in_the_middle(|cluster| cluster.signal("w1", libc::SIGSTOP));
    join(&mut cluster, "w2");
    cluster.until_worker_is("w2", "alive");
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(space));
    ["w1", "w2"].map(|name| fetched_by(&cluster, name))
}

/// Memory is enough for what a worker may fetch for one depth, but not for what it fetches for all depths.
#[test]
fn memory_is_released_after_each_depth() {
    for way in ["disk", "fetch"] {
        for Fetched { kept, spilled, .. } in fetched(&SPACE, LAYER_BYTES / 3 * 4, &["--beyond-memory", way]) {
            assert_eq!(spilled, 0);
            assert!(kept > LAYER_BYTES, "{kept} bytes would fit at once");
        }
    }
}

#[test]
fn least_memory_sends_most_cosets_to_disk() {
    for Fetched { kept, spilled, .. } in fetched(&SPACE, 1 << 20, &[]) {
        assert!(kept > 0 && spilled > 0, "{kept} bytes in memory, {spilled} on disk");
    }
}

/// If memory holds less than a task reads, the rest goes to disk.
#[test]
fn task_larger_than_memory_uses_the_disk() {
    let few = ["2x6", "--shards", "4"];
    for Fetched { kept, spilled, .. } in fetched(&few, 1 << 20, &["--beyond-memory", "fetch"]) {
        assert!(kept > 0 && spilled > 0, "{kept} bytes in memory, {spilled} on disk");
    }
}

/// One of four workers dies while it serves others, and never returns. Each remaining worker lacks a third of
/// the files, and fetches what it reads of them from any holder, as often as its memory requires.
#[test]
fn cosets_of_a_lost_worker_are_refetched_from_another() {
    let mut cluster = Cluster::new(&PANCAKES, &["--replicas", "2"]);
    cluster.serve();
    let memory = format!("{}B", process_bytes(&PANCAKES) + 1_600_000);
    for name in ["w1", "w2", "w3", "w4"] {
        let mut command = cluster.joining(name);
        command.args(["--memory", &memory, "--beyond-memory", "fetch"]);
        if name == "w1" {
            command.env("FATHOM_FAILPOINT", "serving:40");
        }
        cluster.join_by(name, command);
    }
    cluster.dies("w1");
    fs::remove_dir_all(cluster.store("w1")).unwrap();
    assert_same(&cluster.finishes(), &undisturbed(&PANCAKES));
    assert_eq!(cluster.logged("worker lost").len(), 1);
    let fetched = ["w2", "w3", "w4"].map(|name| fetched_by(&cluster, name));
    let kept: u64 = fetched.iter().map(|worker| worker.kept).sum();
    let spilled: u64 = fetched.iter().map(|worker| worker.spilled).sum();
    assert!(kept > 20 * spilled, "{kept} bytes in memory, {spilled} on disk");
}

/// If memory holds less than a worker fetches at a depth, dropped cosets are fetched again instead of being
/// written to disk.
#[test]
fn dropped_cosets_are_refetched() {
    let [disk, fetch] = ["disk", "fetch"].map(|way| {
        let both = fetched(&PANCAKES, 1_600_000, &["--beyond-memory", way]);
        let sum = |of: fn(&Fetched) -> u64| both.iter().map(of).sum::<u64>();
        (sum(|worker| worker.received), sum(|worker| worker.spilled))
    });
    // A task that starts while the one before it is being synced may find the memory taken.
    assert!(disk.1 > 20 * fetch.1, "{} and {} bytes on disk", disk.1, fetch.1);
    assert!(fetch.0 > disk.0 * 5 / 4, "{} bytes instead of {}", fetch.0, disk.0);
}

/// The threads of a worker share shards, because cosets are large, and fetch again what they have dropped.
/// The first worker has computed the layers so far, has no free space for more, and serves them. The run has
/// larger cosets than one planned now would have: it continues with those of its `run.toml`.
#[test]
fn threads_share_shards_with_refetched_sources() {
    const CACHE_BYTES: u64 = 1_300_000;
    const SHARDS: u32 = 30;
    let question = question("2x6");
    let space = question.space().unwrap();
    let colouring = Colouring::new(&[0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], &space).unwrap();
    let graph = CosetGraph::build(&space, &colouring).unwrap();
    let mut plan = Plan::new(&space).unwrap();
    plan.representative_cosets = graph.len().into();
    plan.shape = Shape::of(&space, &colouring).unwrap();
    plan.patterns = CosetGraph::table_entries(&space, &colouring);
    plan.colouring = colouring;
    let manifest = RunManifest::plan(question, &space, &plan, Some(SHARDS), Keep::Last, false).unwrap();
    let geometry = Geometry::new(&manifest, &space, &plan.colouring).unwrap();
    assert!(shared_bytes(&graph, &geometry, 2, CACHE_BYTES).is_some(), "threads share shards");
    let process = budget::memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, 2);
    let begin = |path: &Path| drop(RunDirectory::create(path, manifest.clone(), &[], &LocalDisk).unwrap());
    let directory = fathom_tests::tempdir().unwrap();
    let alone = directory.path().join("alone");
    begin(&alone);
    let alone = json(&fathom().arg("resume").arg(&alone).args(["-q", "--json"]).output().unwrap());
    let fetched = |way: &str| {
        let mut cluster = Cluster::new(&["2x6"], &["--audit", "0"]);
        begin(&cluster.run());
        cluster.serve();
        cluster.alone_until("w1", 10, SHARDS);
        let mut command = cluster.joining("w1");
        command.args(["--disk-limit", "1B"]);
        cluster.join_by("w1", command);
        let mut command = fathom_worker();
        command.args(["--join", &cluster.address, "--name", "w2", "--threads", "2"]);
        command.args(["--memory", &format!("{}B", process + CACHE_BYTES), "--beyond-memory", way]);
        command.arg("--store").arg(cluster.store("w2"));
        cluster.join_by("w2", command);
        assert_same(&cluster.finishes(), &alone);
        fetched_by(&cluster, "w2")
    };
    let (again, once) = (fetched("fetch"), fetched("disk"));
    assert!(again.received > once.received, "{} bytes instead of {}", again.received, once.received);
    let Fetched { kept, spilled, .. } = again;
    assert!(kept > 20 * spilled, "{kept} bytes in memory, {spilled} on disk");
}
