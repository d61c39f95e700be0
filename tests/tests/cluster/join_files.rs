//! `--join-file`: workers find the coordinator, follow it, and end with the run; `--requeue-code`.

use fathom_proto::{JoinFile, JoinState};
use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::process::{free_port, until, well};
use fathom_tests::{assert_same, fathom, fathom_worker, texts};
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

const SPACE: [&str; 1] = ["3x4"];

/// A cluster with keys and a join file.
fn cluster(options: &[&str]) -> (Cluster, PathBuf) {
    let mut cluster = Cluster::new(&SPACE, options);
    let (keys, join) = (cluster.path().join("keys"), cluster.path().join("join"));
    well(&fathom().arg("keys").arg(&keys).output().unwrap());
    for (option, path) in [("--keys", &keys), ("--join-file", &join)] {
        cluster.option(option.as_ref());
        cluster.option(path);
    }
    (cluster, join)
}

/// Returns the command of a worker that knows only the join file and the keys.
fn joining(cluster: &Cluster, name: &str) -> Command {
    let mut command = fathom_worker();
    command
        .arg("--join-file")
        .arg(cluster.path().join("join"))
        .arg("--keys")
        .arg(cluster.path().join("keys"));
    command.arg("--store").arg(cluster.store(name)).args(["--name", name, "--threads", "1"]);
    command
}

fn refused(output: &Output, says: &str) {
    let (_, err) = texts(output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains(says), "{err}");
}

#[test]
fn workers_wait_for_a_coordinator_and_follow_it() {
    let (mut cluster, join) = cluster(&[]);
    // The first worker starts before there is a coordinator.
    let first = joining(&cluster, "first");
    cluster.join_by("first", first);
    until("the worker waits", || {
        !cluster.logged_by("first", "coordinator cannot be reached; trying again").is_empty()
    });
    cluster.serve_until("committed:7");
    let second = joining(&cluster, "second");
    cluster.join_by("second", second);
    cluster.coordinator_dies();
    assert_eq!(JoinFile::read(&join).unwrap().state, JoinState::Serving);
    let before = cluster.address.clone();
    cluster.address = format!("127.0.0.1:{}", free_port());
    assert_ne!(cluster.address, before);
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    let left = JoinFile::read(&join).unwrap();
    assert_eq!((left.state, left.address), (JoinState::Ended, cluster.address.clone()));
    // A worker that comes too late has nothing to do.
    let late = joining(&cluster, "late").output().unwrap();
    assert!(late.status.success(), "{}", texts(&late).1);
}

#[test]
fn processes_that_stop_early_exit_with_the_given_code() {
    let (mut cluster, join) = cluster(&["--requeue-code", "75"]);
    cluster.serve_up_to(6);
    let asked = |cluster: &Cluster, name: &str| {
        let mut command = joining(cluster, name);
        command.args(["--requeue-code", "76"]);
        command
    };
    for name in ["one", "two"] {
        let command = asked(&cluster, name);
        cluster.join_by(name, command);
    }
    cluster.until_coordinator_stopped();
    cluster.signal("one", libc::SIGTERM);
    cluster.signal_coordinator(libc::SIGCONT);
    assert_eq!(cluster.ends("one").code(), Some(76));
    cluster.signal_coordinator(libc::SIGTERM);
    assert_eq!(cluster.coordinator_ends().code(), Some(75));
    assert_eq!(JoinFile::read(&join).unwrap().state, JoinState::Stopped);
    cluster.serve();
    let again = asked(&cluster, "one");
    cluster.join_by("one", again);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// A batch system starts a worker again that ended because a user stopped the run.
#[test]
fn workers_of_a_stopped_run_exit_with_the_given_code() {
    let (mut cluster, join) = cluster(&[]);
    cluster.serve();
    let mut worker = joining(&cluster, "one");
    worker.args(["--requeue-code", "75"]);
    cluster.join_first("one", worker);
    let keys = cluster.path().join("keys");
    well(&cluster.ask("stop", &["--keys", keys.to_str().unwrap()]));
    assert_eq!(cluster.coordinator_ends().code(), Some(0));
    assert_eq!(cluster.ends("one").code(), Some(75));
    assert_eq!(JoinFile::read(&join).unwrap().state, JoinState::Stopped);
}

#[test]
fn other_keys_and_other_files_are_refused() {
    let (mut cluster, join) = cluster(&[]);
    cluster.serve();
    let other = cluster.path().join("other");
    well(&fathom().arg("keys").arg(&other).output().unwrap());
    let mut command = fathom_worker();
    command.arg("--join-file").arg(&join).arg("--keys").arg(&other).arg("--store").arg(cluster.store("x"));
    refused(&command.output().unwrap(), "has other keys than this worker");

    let notes = cluster.path().join("notes");
    fs::write(&notes, "my notes\n").unwrap();
    let mut command = fathom_worker();
    command.arg("--join-file").arg(&notes).arg("--store").arg(cluster.store("x"));
    refused(&command.output().unwrap(), "was not written by 'fathom serve --join-file'");
    let mut command = fathom();
    command
        .args(["serve", "3x3", "--dir"])
        .arg(cluster.path().join("another"))
        .arg("--join-file")
        .arg(&notes);
    refused(&command.output().unwrap(), "Choose another name");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "my notes\n");
    assert!(!cluster.path().join("another").exists());
}
