//! Cosets from other workers in memory, on disk, and in both.

use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_run::budget;
use fathom_run::manifest::SpaceSpec;
use fathom_space::{Labels, Plan};
use fathom_tests::assert_same;
use fathom_tests::cluster::{Cluster, undisturbed};

/// Layers of up to 2.8 MB.
const SPACE: [&str; 3] = ["2x6", "--shards", "16"];
const LAYER_BYTES: u64 = 2_800_000;

/// Runs the space on two workers that have `cache_bytes` bytes for layers. Returns how many bytes each worker
/// kept in memory, and how many went to disk.
fn kept_and_spilled(cache_bytes: u64) -> Vec<(u64, u64)> {
    let source = PuzzleSpec::Board("2x6".parse().unwrap());
    let labels = Labels::distinct(12);
    let space = SpaceSpec { source, metric: Metric::Multi, labels }.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    let process = budget::memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, 1);
    let mut cluster = Cluster::new(&SPACE, &[]);
    let join = |cluster: &mut Cluster, name: &str| {
        let mut command = cluster.joining(name);
        command.args(["--memory", &format!("{}B", process + cache_bytes)]);
        cluster.join_by(name, command);
    };
    // The first worker sleeps until the second one is there, so that both have shards of all large layers.
    cluster.serve_up_to(1);
    join(&mut cluster, "w1");
    cluster.in_the_middle(|cluster| cluster.signal("w1", libc::SIGSTOP));
    join(&mut cluster, "w2");
    cluster.until_worker_is("w2", "alive");
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    let of = |name: &str| {
        let ends = cluster.logged_by(name, "worker ends");
        let bytes = |key: &str| ends[0][key].as_u64().unwrap();
        (bytes("kept_bytes"), bytes("spilled_bytes"))
    };
    ["w1", "w2"].map(of).into()
}

/// There is memory for what a worker may fetch for one depth, but not for what it fetches for all depths.
#[test]
fn memory_is_given_back_after_each_depth() {
    for (kept, spilled) in kept_and_spilled(LAYER_BYTES / 3 * 4) {
        assert_eq!(spilled, 0);
        assert!(kept > LAYER_BYTES, "{kept} bytes would fit at once");
    }
}

#[test]
fn with_the_least_memory_most_cosets_go_to_disk() {
    for (kept, spilled) in kept_and_spilled(1 << 20) {
        assert!(kept > 0 && spilled > 0, "{kept} bytes in memory, {spilled} on disk");
    }
}
