//! Workers with several stores: killed, with a store that is full or gone, and cleaned up.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::layers::layer_files;
use fathom_tests::process::well;
use fathom_tests::{assert_same, fathom_worker, json, texts};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// 12! states in 17 layers, some 130 tasks for each of two workers.
const SPACE: [&str; 5] = ["2x6", "--metric", "single", "--shards", "16"];
const TWO_COPIES: [&str; 4] = ["--replicas", "2", "--audit", "0"];

/// Returns the other store of a worker.
fn other(cluster: &Cluster, name: &str) -> PathBuf {
    cluster.store(&format!("{name}-other"))
}

/// Returns the command that joins with two stores.
fn joining(cluster: &Cluster, name: &str) -> Command {
    let mut command = cluster.joining(name);
    command.arg("--store").arg(other(cluster, name));
    command
}

/// Returns the shards of which a worker has files in its first store, and in its other one.
fn shards(cluster: &Cluster, name: &str) -> [Vec<u32>; 2] {
    [cluster.store(name), other(cluster, name)].map(|store| {
        let runs = fs::read_dir(store).unwrap().map(|entry| entry.unwrap().path());
        runs.flat_map(|run| layer_files(&run.join("layers"))).map(|(_, shard, _)| shard).collect()
    })
}

fn has_shard_of(line: &Value, number: u64) -> bool {
    line["shard"].as_u64().unwrap() % 2 == number
}

#[test]
fn a_worker_with_two_stores_is_killed_and_comes_back() {
    let mut cluster = Cluster::new(&SPACE, &[]);
    cluster.serve();
    let mut command = joining(&cluster, "w1");
    command.env("FATHOM_FAILPOINT", "writing:60");
    cluster.join_first("w1", command);
    cluster.join(&["w2"]);
    cluster.dies("w1");
    // Whichever is named first, the one with the worker's id is its own.
    let mut again = fathom_worker();
    again.args(["--join", &cluster.address, "--name", "w1", "--threads", "1"]);
    again.arg("--store").arg(other(&cluster, "w1")).arg("--store").arg(cluster.store("w1"));
    cluster.join_by("w1", again);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    let [first, second] = shards(&cluster, "w1");
    assert!(!first.is_empty() && first.iter().all(|shard| shard % 2 == 0), "{first:?}");
    assert!(!second.is_empty() && second.iter().all(|shard| shard % 2 == 1), "{second:?}");
    assert!(!other(&cluster, "w1").join("worker-id").exists());
    let on_stores = |word: &str| {
        let mut command = fathom_worker();
        command.arg(word).arg("--json").arg("--store").arg(cluster.store("w1"));
        command
    };
    let verified = json(&on_stores("verify").output().unwrap());
    assert_eq!(verified["files"], first.len() + second.len());
    let cleaned = json(&on_stores("clean").arg("--all").output().unwrap());
    assert!(cleaned["bytes"].as_u64() > verified["bytes"].as_u64(), "{cleaned}");
    assert!(!cluster.store("w1").exists() && !other(&cluster, "w1").exists());
}

/// The stores of a worker stay the same for a run.
#[test]
fn other_stores_of_a_worker_are_refused() {
    let mut cluster = Cluster::new(&SPACE, &["--audit", "0"]);
    cluster.serve_up_to(5);
    cluster.join_by("w1", joining(&cluster, "w1"));
    cluster.until_coordinator_stopped();
    cluster.kill(&["w1"]);
    cluster.signal_coordinator(libc::SIGCONT);
    let refused = |command: &mut Command, message: &str| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", texts(&output).1);
        assert!(texts(&output).1.contains(message), "{}", texts(&output).1);
    };
    refused(&mut cluster.joining("w1"), "it is not named with --store");
    let mut more = joining(&cluster, "w1");
    refused(more.arg("--store").arg(cluster.store("w1-third")), "it is none of the stores");
    // A worker of its own would give the store another id, and take it from the worker that has it.
    for names in [&["w1-other"][..], &["w3", "w1-other"]] {
        let mut alone = fathom_worker();
        alone.args(["--join", &cluster.address, "--name", "w3"]);
        for name in names {
            alone.arg("--store").arg(cluster.store(name));
        }
        refused(&mut alone, "it is a store of");
    }
    assert!(!other(&cluster, "w1").join("worker-id").exists());
    // The run goes on when the worker comes with its stores, and another one cannot have them then.
    cluster.join_by("w1", joining(&cluster, "w1"));
    cluster.until_worker_is("w1", "alive");
    let mut taken = cluster.joining("w2");
    taken.args(["--store"]).arg(other(&cluster, "w1"));
    refused(&mut taken, "it is a store of");
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// The disk of one store goes while the worker is there. Its shards are made and copied elsewhere, and the
/// other store goes on.
#[test]
fn a_store_that_is_gone_fails_alone() {
    let mut cluster = Cluster::new(&SPACE, &TWO_COPIES);
    cluster.serve_up_to(7);
    cluster.join_first("w1", joining(&cluster, "w1"));
    cluster.join(&["w2", "w3"]);
    cluster.in_the_middle(|cluster| {
        fs::rename(other(cluster, "w1"), cluster.store("unmounted")).unwrap();
    });
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    let failed: Vec<Value> =
        cluster.logged("task failed").into_iter().chain(cluster.logged("copy failed")).collect();
    let names_it = |line: &&Value| {
        let detail = line["detail"].as_str().unwrap_or_default();
        detail.contains("store 1 of 2") && detail.contains(other(&cluster, "w1").to_str().unwrap())
    };
    let of_store: Vec<&Value> = failed.iter().filter(names_it).collect();
    assert!(!of_store.is_empty(), "the store never failed: {failed:?}");
    assert!(of_store.iter().all(|line| has_shard_of(line, 1)), "{of_store:?}");
    assert!(!other(&cluster, "w1").exists(), "the store was made anew where its disk was");
    assert!(!cluster.files("w1").is_empty(), "the other store has stopped, too");
}

/// A worker begins without the disk of one of its stores, and goes on with the other.
#[test]
fn a_worker_starts_without_one_of_its_stores() {
    let mut cluster = Cluster::new(&SPACE, &TWO_COPIES);
    cluster.serve_up_to(7);
    cluster.join_first("w1", joining(&cluster, "w1"));
    cluster.join(&["w2", "w3"]);
    cluster.in_the_middle(|cluster| {
        cluster.kill(&["w1"]);
        fs::rename(other(cluster, "w1"), cluster.store("unmounted")).unwrap();
    });
    cluster.join_by("w1", joining(&cluster, "w1"));
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    let lines = cluster.logged_by("w1", "a store cannot be used any more; the others go on");
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0]["path"].as_str().unwrap().contains("w1-other"), "{lines:?}");
    assert!(cluster.files("w1").iter().all(|(_, shard, _)| shard % 2 == 0));
}

/// One store lies on a file system that really runs full: a tmpfs in a mount namespace.
#[test]
fn one_store_of_a_worker_runs_full() {
    const LONG_TASKS: [&str; 5] = ["2x7", "--shards", "8", "--max-depth", "9"];
    let mut cluster = Cluster::new(&LONG_TASKS, &[]);
    let store = other(&cluster, "w1");
    fs::create_dir(&store).unwrap();
    let mount = format!("mount -t tmpfs -o size=1m none {}", store.display());
    let possible = Command::new("unshare").args(["-m", "sh", "-ec", &mount]).status();
    if !possible.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "a tmpfs cannot be mounted here");
        eprintln!("skipped: a tmpfs cannot be mounted here");
        return;
    }
    cluster.serve();
    let joining = joining(&cluster, "w1");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-ec", &format!("{mount}; exec \"$@\""), "sh"]);
    command.arg(fathom_worker().get_program()).args(joining.get_args());
    cluster.join_first("w1", command);
    cluster.join(&["w2"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG_TASKS));
    // Tasks and audits alike fail for what they would keep there.
    let reason = |line: &Value| line["reason"].as_str().unwrap_or_default().to_owned();
    let mut full = cluster.logged_by("w1", "not done");
    full.retain(|line| reason(line).contains("No space left on device"));
    assert!(!full.is_empty(), "the store was never full");
    for line in &full {
        assert!(has_shard_of(line, 1) && reason(line).contains("store 1 of 2"), "{line}");
    }
    well(&fathom_worker().arg("verify").arg("--store").arg(cluster.store("w2")).output().unwrap());
}

/// What a run counts is not in its fingerprint, so a store can have files of the same layers without counts
/// that the run wants.
#[test]
fn files_without_the_counts_of_the_run_are_made_again() {
    const LARGE: [&str; 5] = ["2x7", "--shards", "4", "--max-depth", "3"];
    let counted: Vec<&str> = LARGE.iter().copied().chain(["--inverse-classes"]).collect();
    for (first, second) in [(&LARGE[..], &counted[..]), (&counted, &LARGE)] {
        let mut cluster = Cluster::new(first, &["--audit", "0"]);
        cluster.serve();
        cluster.join(&["w1"]);
        cluster.finishes();
        let mut other = Cluster::new(second, &["--audit", "0"]);
        fs::rename(cluster.store("w1"), other.store("w1")).unwrap();
        other.serve();
        other.join(&["w1"]);
        assert_same(&other.finishes(), &undisturbed(second));
    }
}
