//! Workers that keep two layers, and die while files that are no longer read are released.

use fathom_tests::assert_same;
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::layers::damage;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;

/// 12! states in 17 layers. Fewer than 16 shards may be [in
/// progress](fathom_engine::run::lookback::most_in_the_making) with up to three threads: each layer releases
/// some before it is complete.
const MANY_TASKS: [&str; 5] = ["2x6", "--metric", "single", "--shards", "16"];

fn two<'o>(more: &[&'o str]) -> Vec<&'o str> {
    [&["--keep", "two"], more].concat()
}

fn number(line: &Value, field: &str) -> u32 {
    u32::try_from(line[field].as_u64().unwrap()).unwrap()
}

/// Returns the number of shards that each depth has released, from the coordinator's log.
fn given_back(cluster: &Cluster) -> BTreeMap<u32, usize> {
    let mut given = BTreeMap::new();
    for line in cluster.logged("shard released") {
        *given.entry(number(&line, "depth")).or_default() += 1;
    }
    given
}

#[test]
fn shards_are_released_while_layers_are_computed() {
    let mut cluster = Cluster::new(&MANY_TASKS, &two(&["--replicas", "2"]));
    cluster.serve();
    cluster.join_together(&["w1", "w2", "w3"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    let given = given_back(&cluster);
    assert!((0..13).all(|depth| given.contains_key(&depth)), "{given:?}");
    // Both holders delete a released shard, and so does the worker that audited it.
    let deleted: usize =
        ["w1", "w2", "w3"].iter().map(|name| cluster.logged_by(name, "shard released").len()).sum();
    assert!(deleted > given.values().sum::<usize>(), "{deleted} files were deleted of {given:?}");
}

#[test]
fn coordinator_killed_around_release() {
    let mut cluster = Cluster::new(&MANY_TASKS, &two(&[]));
    let failpoints = ["releasing:5", "released:3", "releasing:2", "released:7"];
    for (number, failpoint) in failpoints.into_iter().enumerate() {
        cluster.serve_until(failpoint);
        if number == 0 {
            cluster.join_together(&["w1", "w2"]);
        }
        cluster.coordinator_dies();
    }
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    assert_eq!(cluster.logged("serving").len(), failpoints.len() + 1);
}

#[test]
fn worker_killed_around_release() {
    for failpoint in ["releasing:12", "released:12"] {
        let mut cluster = Cluster::new(&MANY_TASKS, &two(&[]));
        cluster.serve();
        cluster.join_until("w1", failpoint);
        cluster.join(&["w2"]);
        cluster.dies("w1");
        cluster.join(&["w1"]);
        assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    }
}

#[test]
fn worker_lost_around_release_with_replicas() {
    for failpoint in ["releasing:12", "released:12"] {
        let mut cluster = Cluster::new(&MANY_TASKS, &two(&["--replicas", "2"]));
        cluster.serve();
        cluster.join_until("w1", failpoint);
        cluster.join(&["w2", "w3"]);
        cluster.dies("w1");
        fs::remove_dir_all(cluster.store("w1")).unwrap();
        assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
        assert_eq!(cluster.logged("worker lost").len(), 1, "{failpoint}");
    }
}

/// A shard whose source has been released cannot be recomputed: the run waits for the lost file, and never
/// counts without it.
#[test]
fn lost_shard_without_copy_or_source_must_be_restored() {
    let mut cluster = Cluster::new(&MANY_TASKS, &two(&["--audit", "0"]));
    cluster.serve();
    // At least ten shards are released at each depth.
    cluster.join_until("w1", "released:55");
    cluster.dies("w1");
    let (depth, shard, path) = cluster
        .files("w1")
        .into_iter()
        .filter(|&(depth, shard, _)| {
            let source = |line: &Value| number(line, "depth") + 2 == depth && number(line, "shard") == shard;
            cluster.logged("shard released").iter().any(source)
        })
        .max_by_key(|&(depth, ..)| depth)
        .unwrap();
    let whole = fs::read(&path).unwrap();
    damage(&path);
    cluster.join(&["w1"]);
    cluster.join(&["w2"]);
    let status = cluster.until_status("it says what is missing", |status| {
        status["obstacle"].as_str().is_some_and(|obstacle| obstacle.contains("no intact copy is left"))
    });
    let obstacle = status["obstacle"].as_str().unwrap();
    assert!(obstacle.contains(&format!("shard {shard} of depth {depth}:")), "{obstacle}");
    cluster.signal("w1", libc::SIGTERM);
    assert!(cluster.ends("w1").success());
    fs::write(&path, whole).unwrap();
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
}

/// The coordinator deletes files in a shared store, and a single process can continue with the rest.
#[test]
fn shared_store_releases_shards_too() {
    let mut cluster = Cluster::new(&MANY_TASKS, &two(&[]));
    let store = cluster.path().join("shared");
    fs::create_dir(&store).unwrap();
    cluster.option("--shared-store".as_ref());
    cluster.option(&store);
    for (number, failpoint) in ["releasing:5", "released:9"].into_iter().enumerate() {
        cluster.serve_until(failpoint);
        if number == 0 {
            cluster.join_together(&["w1", "w2"]);
        }
        cluster.coordinator_dies();
    }
    let depths = |cluster: &Cluster| given_back(cluster).len();
    assert!(depths(&cluster) > 1);
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    let verified = fathom_tests::fathom().arg("verify").arg(cluster.run()).output().unwrap();
    assert!(verified.status.success(), "{}", fathom_tests::texts(&verified).1);
}
