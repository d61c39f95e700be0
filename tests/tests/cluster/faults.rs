//! Workers and coordinators that are killed, suspended, out of disk space, or have damaged files: the results
//! equal those of an undisturbed run.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::layers::{damage, damage_at};
use fathom_tests::process::{PATIENCE, until, well};
use fathom_tests::{assert_same, fathom, fathom_worker};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

/// 12! states in 17 layers, some 130 tasks for each of two workers.
const MANY_TASKS: [&str; 5] = ["2x6", "--metric", "single", "--shards", "16"];
/// Tasks of tenths of a second at depths 8 and 9, so that a test can catch a process in the middle of a task.
const LONG_TASKS: [&str; 5] = ["2x7", "--shards", "8", "--max-depth", "9"];

const TWO_COPIES: [&str; 2] = ["--replicas", "2"];

/// Kills one of two workers at a failpoint, and starts the worker again with its store.
fn kill_and_restart_worker(failpoint: &str, options: &[&str]) {
    let mut cluster = Cluster::new(&MANY_TASKS, options);
    cluster.serve();
    cluster.join_until("w1", failpoint);
    cluster.join(&["w2"]);
    cluster.dies("w1");
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
}

/// A suspended worker sends no requests, so the time since the last answer says nothing about the
/// coordinator.
#[test]
fn worker_suspended_beyond_its_patience_continues() {
    let mut cluster = Cluster::new(&MANY_TASKS, &[]);
    cluster.serve_up_to(3);
    let mut joining = cluster.joining("w1");
    joining.args(["--patience", "5s"]);
    cluster.join_by("w1", joining);
    cluster.until_coordinator_stopped();
    cluster.signal("w1", libc::SIGSTOP);
    // The worker's connection does not outlive this coordinator.
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    sleep(Duration::from_secs(6));
    cluster.serve();
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
}

/// Waits until a worker has logged why it could not reach its coordinator.
fn until_reason(cluster: &Cluster, name: &str, reason: &str) {
    until(reason, || {
        let lines = cluster.logged_by(name, "coordinator cannot be reached; trying again");
        lines.iter().any(|line| line["reason"].as_str().is_some_and(|logged| logged.contains(reason)))
    });
}

/// Answers a caller in place of the coordinator, and waits until the caller has read the answer and hung up.
fn answer(mut caller: TcpStream, bytes: &[u8]) -> io::Result<()> {
    caller.set_nonblocking(false)?;
    caller.set_read_timeout(Some(PATIENCE))?;
    // If bytes of the caller remained unread, the system would reset the connection.
    caller.read_exact(&mut [0; 24])?;
    caller.write_all(bytes)?;
    caller.shutdown(Shutdown::Write)?;
    io::copy(&mut caller, &mut io::sink()).map(drop)
}

/// While the coordinator is away, other services listen on its port.
#[test]
fn registered_worker_waits_out_other_services() {
    let mut cluster = Cluster::new(&MANY_TASKS, &[]);
    cluster.serve_up_to(3);
    cluster.join(&["w1"]);
    cluster.until_coordinator_stopped();
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    let listener = TcpListener::bind(&cluster.address).unwrap();
    listener.set_nonblocking(true).unwrap();
    let bad_gateway = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 12\r\n\r\nBad gateway\n";
    let tls_alert = [21, 3, 1, 0, 2, 2, 40];
    for bytes in [&bad_gateway[..], b"SSH-2.0-OpenSSH_9.9\r\n", &[0xff; 1000], &[0; 9], &tls_alert] {
        until("the worker notices the other service", || {
            listener.accept().is_ok_and(|(caller, _)| answer(caller, bytes).is_ok())
        });
    }
    until_reason(&cluster, "w1", "it does not speak HTTP/2");
    until_reason(&cluster, "w1", "TLS");
    drop(listener);
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    assert!(!cluster.logged_by("w1", "coordinator is back").is_empty());
}

/// While the coordinator is away, other coordinators take its place, with certificates of another authority
/// or with another token. A coordinator of another run ends the worker only if it has the keys of the run.
#[test]
fn registered_worker_waits_out_coordinators_with_other_keys() {
    let mut cluster = Cluster::new(&MANY_TASKS, &[]);
    let [ours, others] = ["ours", "others"].map(|name| cluster.path().join(name).display().to_string());
    for keys in [&ours, &others] {
        well(&fathom().args(["keys", keys]).output().unwrap());
    }
    cluster.option(Path::new("--keys"));
    cluster.option(Path::new(&ours));
    cluster.serve_up_to(3);
    let mut joining = cluster.joining("w1");
    joining.args(["--keys", &ours]);
    cluster.join_first("w1", joining);
    cluster.until_coordinator_stopped();
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    let address = cluster.address.clone();
    let other = |options: &[&str]| {
        let mut other = Cluster::new(&["3x3"], options);
        other.address.clone_from(&address);
        other.serve();
        other
    };
    let token = format!("{others}/token");
    for (options, reason) in [
        (&["--keys", &others][..], "its certificate is from another authority"),
        (&["--keys", &ours, "--token-file", &token], "wrong token"),
    ] {
        let _other = other(options);
        until_reason(&cluster, "w1", reason);
    }
    cluster.serve_up_to(2);
    cluster.until_coordinator_stopped();
    cluster.signal_coordinator(libc::SIGKILL);
    cluster.coordinator_dies();
    let _other = other(&["--keys", &ours]);
    assert_eq!(cluster.ends("w1").code(), Some(2));
    assert!(cluster.said().contains("this coordinator serves another run"), "{}", cluster.said());
}

#[test]
fn worker_killed_before_task() {
    kill_and_restart_worker("computing:60", &[]);
}

#[test]
fn worker_killed_before_file_is_complete() {
    kill_and_restart_worker("writing:60", &[]);
}

#[test]
fn worker_killed_before_report() {
    kill_and_restart_worker("reporting:10", &[]);
}

#[test]
fn worker_killed_while_serving_a_peer() {
    kill_and_restart_worker("serving:12", &[]);
}

#[test]
fn worker_killed_while_its_file_is_copied() {
    kill_and_restart_worker("pushing:30", &TWO_COPIES);
}

#[test]
fn worker_killed_while_copying() {
    kill_and_restart_worker("copying:30", &TWO_COPIES);
}

/// One of three workers dies at a failpoint, and never returns.
#[test]
fn lost_worker_is_replaced_by_replicas() {
    for failpoint in ["computing:40", "writing:40", "reporting:10", "serving:12", "pushing:30", "copying:30"]
    {
        let mut cluster = Cluster::new(&MANY_TASKS, &TWO_COPIES);
        cluster.serve();
        cluster.join_until("w1", failpoint);
        cluster.join(&["w2", "w3"]);
        cluster.dies("w1");
        fs::remove_dir_all(cluster.store("w1")).unwrap();
        assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
        assert_eq!(cluster.logged("worker lost").len(), 1, "{failpoint}");
    }
}

#[test]
fn two_of_four_killed_and_one_returns() {
    let mut cluster = Cluster::new(&MANY_TASKS, &TWO_COPIES);
    cluster.serve_up_to(7);
    cluster.join_together(&["w1", "w2", "w3", "w4"]);
    cluster.in_the_middle(|cluster| cluster.kill(&["w1", "w2"]));
    cluster.join(&["w2"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    // Whether w2 was lost before it returned depends on timing.
    let lost = cluster.logged("worker lost");
    assert_eq!(lost.iter().filter(|line| line["detail"] == "w1").count(), 1, "{lost:?}");
}

#[test]
fn two_of_four_lost_with_three_replicas() {
    let mut cluster = Cluster::new(&MANY_TASKS, &["--replicas", "3"]);
    cluster.serve_up_to(7);
    cluster.join(&["w1", "w2", "w3", "w4"]);
    cluster.in_the_middle(|cluster| cluster.kill(&["w1", "w2"]));
    // A new file can have at most two holders, so the layer cannot be completed. The status says what is
    // missing.
    cluster.until_status("it asks for more workers", |status| {
        let obstacle = status["obstacle"].as_str().unwrap_or_default();
        obstacle.contains("3 workers must hold each file, but only 2 are connected")
    });
    cluster.join(&["w5"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    assert_eq!(cluster.logged("worker lost").len(), 2);
}

#[test]
fn coordinator_killed_five_times() {
    let mut cluster = Cluster::new(&LONG_TASKS, &[]);
    // The last of these leaves a layer without any reports.
    let failpoints = ["replying:20", "committing:1", "replying:10", "committed:1"];
    for (number, failpoint) in failpoints.into_iter().enumerate() {
        cluster.serve_until(failpoint);
        if number == 0 {
            cluster.join_together(&["w1", "w2"]);
        }
        cluster.coordinator_dies();
    }
    // Reports are saved before their layer is committed if the layer takes long. Two workers cannot complete
    // a layer whose files need three holders.
    let mut without_end = cluster.serving();
    without_end.args(["--replicas", "3"]).env("FATHOM_FAILPOINT", "saving:1");
    cluster.serve_by(without_end);
    cluster.coordinator_dies();
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&LONG_TASKS));
    assert_eq!(cluster.logged("serving").len(), 6);
}

/// A worker is suspended in the middle of a task, and resumes after another worker has done that task. With
/// three copies of each file and three workers, no layer is completed without the worker, so the run waits
/// for it.
#[test]
fn worker_sleeps_through_its_lease() {
    let mut cluster = Cluster::new(&MANY_TASKS, &["--replicas", "3", "--audit", "0"]);
    cluster.serve();
    cluster.join_until("w1", "computing:25:stop");
    cluster.join(&["w2", "w3"]);
    cluster.until_stopped("w1");
    let asleep = cluster.until_worker_is("w1", "lost");
    let id = Cluster::worker_id(&asleep, "w1").unwrap();
    // The worker's task is the last one that was assigned to it and that it did not complete.
    let file = |line: &Value| (line["depth"].as_u64(), line["shard"].as_u64());
    let by = |line: &&Value| line["worker"] == id.as_str();
    let done: BTreeSet<_> = cluster.logged("task done").iter().filter(by).map(file).collect();
    let given: BTreeSet<_> = cluster.logged("task given").iter().filter(by).map(file).collect();
    let task = *given.difference(&done).next().expect("it did not finish an assigned task");
    until("another worker does its task", || {
        cluster.logged("task done").iter().any(|line| !by(&line) && file(line) == task)
    });
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    assert_eq!(cluster.logged("worker lost").len(), 1);
    // What the worker reports about the task after it resumes is ignored.
    let done = cluster.logged("task done");
    assert!(!done.iter().any(|line| by(&line) && file(line) == task), "{done:?}");
}

/// A worker receives a signal to stop when the coordinator has received its registration but has not answered yet.
#[test]
fn worker_stopped_during_registration_leaves() {
    let mut cluster = Cluster::new(&["3x3"], &["--lease", "1h"]);
    cluster.serve_until("replying:1:stop");
    cluster.join_by("w1", cluster.joining("w1"));
    cluster.until_coordinator_stopped();
    cluster.signal("w1", libc::SIGTERM);
    until("the worker has received the signal", || {
        !cluster.logged_by("w1", "stopping at the next coset").is_empty()
    });
    cluster.signal_coordinator(libc::SIGCONT);
    assert_eq!(cluster.ends("w1").code(), Some(0));
    cluster.until_logged("worker left");
    cluster.join(&["w2"]);
    assert_eq!(cluster.finishes()["counts"], undisturbed(&["3x3"])["counts"]);
}

#[test]
fn suspended_coordinator_loses_no_worker() {
    let mut cluster = Cluster::new(&LONG_TASKS, &[]);
    cluster.serve_until("replying:20:stop");
    cluster.join_by("w1", cluster.joining("w1"));
    cluster.join_by("w2", cluster.joining("w2"));
    cluster.until_coordinator_stopped();
    // The pause is longer than the lease of 2 s.
    std::thread::sleep(std::time::Duration::from_secs(4));
    cluster.signal_coordinator(libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&LONG_TASKS));
    assert_eq!(cluster.logged("worker lost"), Vec::<Value>::new());
}

/// The store of a worker is on a file system that really fills up, in a mount namespace of its own.
#[test]
fn worker_with_full_disk() {
    let mut cluster = Cluster::new(&LONG_TASKS, &[]);
    let store = cluster.store("w1");
    fs::create_dir(&store).unwrap();
    let mount = format!("mount -t tmpfs -o size=24m none {}", store.display());
    let possible = Command::new("unshare").args(["-m", "sh", "-ec", &mount]).status();
    if !possible.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "a tmpfs cannot be mounted here");
        eprintln!("skipped: a tmpfs cannot be mounted here");
        return;
    }
    cluster.serve();
    let joining = cluster.joining("w1");
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-ec", &format!("{mount}; exec \"$@\""), "sh"]);
    command.arg(fathom_worker().get_program()).args(joining.get_args());
    cluster.join_first("w1", command);
    cluster.join(&["w2"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG_TASKS));
    let failed = cluster.logged("task failed");
    let full = |line: &Value| {
        line["detail"].as_str().is_some_and(|detail| detail.contains("No space left on device"))
    };
    assert!(failed.iter().any(full), "its disk was never full: {failed:?}");
}

/// Returns the files of a worker's newest complete layer.
fn newest(cluster: &Cluster, name: &str) -> Vec<(u32, u32, PathBuf)> {
    let depth = u32::try_from(cluster.status().unwrap()["depth"].as_u64().unwrap()).unwrap() - 1;
    let files = cluster.files(name);
    let newest: Vec<_> = files.into_iter().filter(|(found, _, _)| *found == depth).collect();
    assert!(!newest.is_empty(), "{name} has no files of depth {depth}");
    newest
}

/// Returns the files that the coordinator had discarded, or that w1 discarded when it checked its store.
fn discarded(cluster: &Cluster) -> BTreeSet<(u32, u32)> {
    let number = |field: &Value| u32::try_from(field.as_u64().unwrap()).unwrap();
    let mut lines = cluster.logged("damaged file discarded");
    lines.extend(cluster.logged_by("w1", "damaged file discarded"));
    lines.iter().map(|line| (number(&line["depth"]), number(&line["shard"]))).collect()
}

#[test]
fn damaged_files_are_replaced_by_copies() {
    let mut cluster = Cluster::new(&MANY_TASKS, &TWO_COPIES);
    cluster.serve();
    cluster.join_until("w1", "computing:55");
    cluster.join(&["w2"]);
    cluster.dies("w1");
    // One worker alone commits nothing: both have all files of the newest layer, and it stays the newest.
    let files = newest(&cluster, "w1");
    files.iter().for_each(|(_, _, path)| damage(path));
    cluster.join(&["w1", "w3"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    let damaged: BTreeSet<(u32, u32)> = files.iter().map(|(depth, shard, _)| (*depth, *shard)).collect();
    let discarded = discarded(&cluster);
    assert!(!discarded.is_empty(), "the damage was not found");
    assert!(discarded.is_subset(&damaged), "intact files were discarded: {discarded:?} of {damaged:?}");
}

#[test]
fn damaged_file_is_recomputed_from_older_layers() {
    let mut cluster = Cluster::new(&MANY_TASKS, &["--keep", "all", "--audit", "0"]);
    cluster.serve();
    cluster.alone_until("w1", 5, 16);
    cluster.join(&["w2"]);
    // The damaged file is not the first one that a peer requests.
    let (depth, shard, path) = newest(&cluster, "w1").pop().unwrap();
    damage(&path);
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
    assert_eq!(discarded(&cluster), BTreeSet::from([(depth, shard)]));
    let again = cluster.logged("lost file is recomputed");
    assert!(again.iter().any(|line| line["depth"] == depth && line["shard"] == shard), "{again:?}");
}

#[test]
fn damaged_file_without_copy_is_named_and_can_be_restored() {
    let mut cluster = Cluster::new(&MANY_TASKS, &["--audit", "0"]);
    cluster.serve();
    cluster.alone_until("w1", 5, 16);
    cluster.join(&["w2"]);
    let (depth, shard, path) = newest(&cluster, "w1").pop().unwrap();
    let whole = fs::read(&path).unwrap();
    damage(&path);
    cluster.join(&["w1"]);
    let status = cluster.until_status("it says what is missing", |status| {
        status["obstacle"].as_str().is_some_and(|obstacle| obstacle.contains("no intact copy is left"))
    });
    let obstacle = status["obstacle"].as_str().unwrap();
    assert!(obstacle.contains(&format!("shard {shard} of depth {depth}:")), "{obstacle}");
    assert_eq!(discarded(&cluster), BTreeSet::from([(depth, shard)]));
    cluster.signal("w1", libc::SIGTERM);
    assert!(cluster.ends("w1").success());
    fs::write(&path, whole).unwrap();
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&MANY_TASKS));
}

#[test]
fn damaged_file_of_unfinished_layer_is_recomputed() {
    // Without audits each task is done once, so the failpoint's number determines the task in which the
    // process dies.
    let mut cluster = Cluster::new(&LONG_TASKS, &["--audit", "0"]);
    cluster.serve();
    // One worker computes eight shards per layer, so number 77 is in the middle of depth 9, the last one.
    cluster.join_until("w1", "computing:77");
    cluster.dies("w1");
    // The coordinator has saved the completed tasks. When it returns, it relies on the files of w1.
    cluster.signal_coordinator(libc::SIGTERM);
    assert!(cluster.coordinator_ends().success());
    let files: Vec<_> = cluster.files("w1").into_iter().filter(|(depth, _, _)| *depth == 9).collect();
    files.iter().for_each(|(_, _, path)| damage_at(path, 20));
    cluster.serve();
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG_TASKS));
    assert_eq!(cluster.logged_by("w1", "damaged file discarded").len(), files.len());
    assert!(!files.is_empty());
}
