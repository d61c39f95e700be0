//! Cosets from other workers in memory, on disk, and in both.

use fathom_puzzle::{Metric, PuzzleSpec, family};
use fathom_run::budget;
use fathom_run::manifest::SpaceSpec;
use fathom_space::{Labels, Plan};
use fathom_tests::assert_same;
use fathom_tests::cluster::{Cluster, undisturbed};
use std::fs;

/// Layers of up to 2.8 MB.
const SPACE: [&str; 3] = ["2x6", "--shards", "16"];
const LAYER_BYTES: u64 = 2_800_000;
/// Layers of up to 5 MB, of which a task reads a sixth at most.
const PANCAKES: [&str; 3] = ["pancake:11", "--shards", "64"];

/// What a worker did with cosets from the other one, in bytes.
#[derive(Clone, Copy, Debug)]
struct Fetched {
    received: u64,
    kept: u64,
    spilled: u64,
}

/// Returns what a worker of one thread takes for other things than layers.
fn process_bytes(space: &[&str; 3]) -> u64 {
    let (source, metric) = match space[0].parse() {
        Ok(board) => (PuzzleSpec::Board(board), Metric::Multi),
        Err(_) => (PuzzleSpec::Defined(Box::new(family::by_name(space[0]).unwrap())), Metric::Given),
    };
    let labels = Labels::distinct(source.cells());
    let space = SpaceSpec { source, metric, labels }.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    budget::memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, 1)
}

/// Returns what a worker that has ended did.
fn fetched_by(cluster: &Cluster, name: &str) -> Fetched {
    let ends = cluster.logged_by(name, "worker ends");
    let bytes = |key: &str| ends[0][key].as_u64().unwrap();
    Fetched { received: bytes("received_bytes"), kept: bytes("kept_bytes"), spilled: bytes("spilled_bytes") }
}

/// Runs a space on two workers that have `cache_bytes` bytes for layers. Returns what each of them did.
fn fetched(space: &[&str; 3], cache_bytes: u64, options: &[&str]) -> [Fetched; 2] {
    let memory = format!("{}B", process_bytes(space) + cache_bytes);
    let mut cluster = Cluster::new(space, &[]);
    let join = |cluster: &mut Cluster, name: &str| {
        let mut command = cluster.joining(name);
        command.args(["--memory", &memory]).args(options);
        cluster.join_by(name, command);
    };
    // The first worker sleeps until the second one is there, so that both have shards of all large layers.
    cluster.serve_up_to(1);
    join(&mut cluster, "w1");
    cluster.in_the_middle(|cluster| cluster.signal("w1", libc::SIGSTOP));
    join(&mut cluster, "w2");
    cluster.until_worker_is("w2", "alive");
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(space));
    ["w1", "w2"].map(|name| fetched_by(&cluster, name))
}

/// There is memory for what a worker may fetch for one depth, but not for what it fetches for all depths.
#[test]
fn memory_is_given_back_after_each_depth() {
    for way in ["disk", "fetch"] {
        for Fetched { kept, spilled, .. } in fetched(&SPACE, LAYER_BYTES / 3 * 4, &["--beyond-memory", way]) {
            assert_eq!(spilled, 0);
            assert!(kept > LAYER_BYTES, "{kept} bytes would fit at once");
        }
    }
}

#[test]
fn with_the_least_memory_most_cosets_go_to_disk() {
    for Fetched { kept, spilled, .. } in fetched(&SPACE, 1 << 20, &[]) {
        assert!(kept > 0 && spilled > 0, "{kept} bytes in memory, {spilled} on disk");
    }
}

/// There is memory for what a task reads, but not for what all tasks of a depth read.
#[test]
fn what_was_dropped_is_fetched_again() {
    let received = |way: &str| {
        let both = fetched(&PANCAKES, 1_600_000, &["--beyond-memory", way]);
        let sum = |of: fn(&Fetched) -> u64| both.iter().map(of).sum::<u64>();
        (sum(|worker| worker.received), sum(|worker| worker.spilled))
    };
    let (once, spilled) = received("disk");
    let (again, still_spilled) = received("fetch");
    assert!(again > once, "{again} bytes instead of {once}");
    // How large cosets are is known when they have come, so a few may exceed the memory.
    assert!(spilled > 20 * still_spilled, "{still_spilled} bytes on disk, {spilled} otherwise");
}

/// With memory for less than a task reads, the rest goes to disk.
#[test]
fn a_task_that_reads_more_than_fits_uses_the_disk() {
    let few = ["2x6", "--shards", "4"];
    for Fetched { kept, spilled, .. } in fetched(&few, 1 << 20, &["--beyond-memory", "fetch"]) {
        assert!(kept > 0 && spilled > 0, "{kept} bytes in memory, {spilled} on disk");
    }
}

/// One of four workers dies as it serves others, and never returns. Those that are left lack a third of the
/// files each, and fetch what they read of them from whoever has a copy, as often as memory makes them.
#[test]
fn what_a_lost_worker_held_is_fetched_again_from_another() {
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
