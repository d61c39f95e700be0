//! `fathom verify` and `fathom-worker verify`: what they read, and that they never report a file as verified
//! that they have not read.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::forge::{exchange_cosets, move_state, set_visited};
use fathom_tests::layers::{damage, layer_files};
use fathom_tests::{assert_same, fathom, fathom_worker, json, texts};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

fn verify(path: &Path, more: &[&str]) -> Output {
    fathom().arg("verify").arg(path).args(more).output().unwrap()
}

fn verify_store(path: &Path, more: &[&str]) -> Output {
    fathom_worker().args(["verify", "--store"]).arg(path).args(more).output().unwrap()
}

fn fails(output: &Output, code: i32, says: &str) {
    let (out, err) = texts(output);
    assert_eq!((output.status.code(), out.as_str()), (Some(code), ""), "{err}");
    assert!(err.contains(says), "{err}");
}

/// A process that died may leave files of a layer that counts as removed.
#[test]
fn files_of_a_removed_layer_are_ignored() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    let arguments = ["run", "3x3", "--max-depth", "5", "--keep", "last", "-q", "--dir"];
    assert!(fathom().args(arguments).arg(&run).output().unwrap().status.success());
    fs::create_dir(run.join("layers/d003")).unwrap();
    fs::write(run.join("layers/d003/s00000.layer"), "half a file").unwrap();
    let output = verify(&run, &[]);
    assert!(output.status.success(), "{}", texts(&output).1);
}

/// Has two workers search a space; they keep the layers in their stores.
fn by_workers() -> Cluster {
    let mut cluster = Cluster::new(&["3x4", "--shards", "4"], &["--audit", "0"]);
    cluster.serve();
    cluster.join_together(&["w1", "w2"]);
    assert_eq!(cluster.finishes()["complete"], true);
    cluster
}

#[test]
fn layers_held_by_workers_are_verified() {
    let cluster = by_workers();
    let run = cluster.run();
    let says = "nothing to verify: the layers of the run in";
    fails(&verify(&run, &[]), 1, says);
    let output = verify(&run, &["--json"]);
    assert_eq!(output.status.code(), Some(1));
    let found: Value = serde_json::from_str(&texts(&output).0).unwrap();
    assert_eq!((&found["verified"], &found["layers"]), (&false.into(), &0.into()));
    // The message says what to do.
    assert!(texts(&output).1.contains("fathom-worker verify --store DIR"), "{}", texts(&output).1);
    let mut files = Vec::new();
    let mut verified = 0;
    // One worker may hold all files of the last layers.
    for worker in ["w1", "w2"].into_iter().filter(|worker| !cluster.files(worker).is_empty()) {
        let store = cluster.store(worker);
        let found = json(&verify_store(&store, &["--json"]));
        assert_eq!((&found["verified"], &found["runs"]), (&true.into(), &1.into()));
        verified += found["files"].as_u64().unwrap();
        let said = verify_store(&store, &[]);
        assert!(said.status.success() && texts(&said).0.starts_with("verified: "));
        let in_store = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path());
        let of_run = in_store.into_iter().find(|path| path.join("layers").is_dir()).unwrap();
        let (_, _, last) = layer_files(&of_run.join("layers")).pop().unwrap();
        files.push((store, of_run, last));
    }
    assert_eq!(verified, 8);
    let (store, of_run, file) = &files[0];
    let whole = fs::read(file).unwrap();
    // The header counts one state too many, and its checksum is valid.
    let mut bytes = whole.clone();
    bytes[80] ^= 1;
    fathom_tests::forge::reseal(&mut bytes);
    fs::write(file, &bytes).unwrap();
    fails(&verify_store(store, &[]), 1, "its header says");
    let mut bytes = whole.clone();
    // Damages the checksum of a coset.
    bytes[280] ^= 4;
    fs::write(file, &bytes).unwrap();
    fails(&verify_store(store, &[]), 1, "has a damaged directory");
    fs::write(file, &whole).unwrap();
    assert!(verify_store(store, &[]).status.success());
    fs::remove_file(of_run.join("run.toml")).unwrap();
    fails(&verify_store(store, &[]), 1, "has no run.toml");
}

#[test]
fn missing_or_empty_store_is_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    fails(&verify_store(directory.path(), &[]), 2, "is not a worker's store");
    fails(&verify_store(&directory.path().join("nowhere"), &[]), 2, "is not a worker's store");
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    fs::write(directory.path().join("worker-id"), "0".repeat(32)).unwrap();
    fails(&verify_store(directory.path(), &[]), 1, "nothing could be verified: there are no layer files in");
}

/// Creates the run 3x3 up to depth 5. Returns its directory.
fn half(directory: &Path) -> PathBuf {
    let path = directory.join("run");
    let mut command = fathom();
    command.args(["run", "3x3", "-q", "--json", "--max-depth", "5", "--keep", "all", "--dir"]).arg(&path);
    json(&command.output().unwrap());
    path
}

/// The number of visited states of a coset follows from the previous layer; counts and digests do not depend
/// on it.
#[test]
fn wrong_numbers_of_visited_states_are_found() {
    for (depth, change) in [(0, 1), (3, 1), (4, -1), (5, 1)] {
        let directory = fathom_tests::tempdir().unwrap();
        let run = half(directory.path());
        assert!(verify(&run, &[]).status.success());
        set_visited(&run.join(format!("layers/d{depth:03}/s00000.layer")), change);
        fails(&verify(&run, &[]), 1, "states visited, with");
    }
}

#[test]
fn run_without_layers_is_not_verified() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = half(directory.path());
    rusqlite::Connection::open(run.join("run.db"))
        .unwrap()
        .execute_batch("DELETE FROM shard; DELETE FROM layer;")
        .unwrap();
    fails(&verify(&run, &[]), 1, "nothing to verify: the run in");
}

/// A file that cannot be opened shows nothing about the counts.
#[test]
fn file_that_cannot_be_opened() {
    let directory = fathom_tests::tempdir().unwrap();
    let file = half(directory.path()).join("layers/d005/s00000.layer");
    fs::remove_file(&file).unwrap();
    fails(&verify(&directory.path().join("run"), &[]), 1, "depth 5 does not match run.db");
    std::os::unix::fs::symlink(&file, &file).unwrap();
    fails(&verify(&directory.path().join("run"), &[]), 1, "depth 5 cannot be checked: cannot open");
}

/// Watched states are looked up in the committed files.
#[test]
fn replaced_file_of_a_run_is_found() {
    let directory = fathom_tests::tempdir().unwrap();
    let run = half(directory.path());
    move_state(&run.join("layers/d005/s00000.layer"), 3);
    fails(&verify(&run, &[]), 1, "s00000.layer is not the file that was committed");
}

/// Given the coordinator's address, workers verify the files in their own stores, and find damaged and
/// replaced files.
#[test]
fn workers_verify_their_files_while_the_run_is_served() {
    const SPACE: [&str; 5] = ["2x6", "--metric", "single", "--shards", "16"];
    let mut cluster = Cluster::new(&SPACE, &["--audit", "0"]);
    cluster.stands_still("here", 7);
    let (out, err) = texts(&cluster.ask("verify", &[]));
    assert!(out.starts_with("verified: 2 layers in 32 files ("), "{out}{err}");
    assert!(out.contains("on 1 worker, ") && out.contains("all matching the coordinator's records"), "{out}");
    let found = json(&cluster.ask("verify", &["--json"]));
    assert_eq!((&found["verified"], &found["files"]), (&true.into(), &32.into()));

    let depth = cluster.status().unwrap()["depth"].as_u64().unwrap() as u32 - 1;
    let mut files = cluster.files("here").into_iter().filter(|(of, _, _)| *of == depth);
    let (_, _, path) = files.next_back().expect("the newest layer has files");
    let right = fs::read(&path).unwrap();
    exchange_cosets(&path);
    fails(&cluster.ask("verify", &[]), 1, "files do not match the coordinator's records: shard ");
    fs::write(&path, &right).unwrap();
    damage(&path);
    fails(&cluster.ask("verify", &[]), 1, "files do not match the coordinator's records: shard ");
    fs::remove_file(&path).unwrap();
    fails(&cluster.ask("verify", &[]), 1, "the worker does not have the file");
    fs::write(&path, &right).unwrap();
    cluster.join(&["another"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}
