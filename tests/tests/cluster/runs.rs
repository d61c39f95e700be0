//! Runs on several workers: undisturbed runs, and workers that users stop, start and drain.

use fathom_tests::cluster::{Cluster, undisturbed};
use fathom_tests::forge::exchange_cosets;
use fathom_tests::layers::layer_files;
use fathom_tests::process::{free_port, signal, until, until_stopped, well};
use fathom_tests::{assert_same, fathom, fathom_worker, json, texts};
use rusqlite::Connection;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// 12! states in 14 layers.
const SPACE: [&str; 3] = ["3x4", "--shards", "8"];
/// 12! states in 17 layers.
const LONG: [&str; 5] = ["2x6", "--metric", "single", "--shards", "16"];

#[test]
fn worker_is_replaced_and_coordinator_restarted() {
    let mut cluster = Cluster::new(&SPACE, &["--replicas", "2"]);
    // Each file needs two copies, so no layer is completed while there is only one worker.
    cluster.serve_until("committed:9");
    cluster.join_until("w1", "computing:12");
    cluster.join(&["w2"]);
    cluster.dies("w1");
    // This worker starts with an empty store.
    cluster.join_by("w3", cluster.joining("w3"));
    cluster.coordinator_dies();
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert_eq!(cluster.logged("serving").len(), 2);
}

#[test]
fn without_replicas_the_run_waits_for_the_missing_holder() {
    let mut cluster = Cluster::new(&SPACE, &[]);
    cluster.serve();
    cluster.join_until("w1", "computing:48");
    cluster.dies("w1");
    cluster.join(&["w2"]);
    let waits = |status: &Value| status["waiting_for"] == serde_json::json!(["w1"]);
    let status = cluster.until_status("it waits for w1", waits);
    let obstacle = status["obstacle"].as_str().unwrap();
    assert!(obstacle.contains("waiting for w1 ("), "{obstacle}");
    assert!(obstacle.contains("to return with its store"), "{obstacle}");
    assert!(well(&cluster.ask("status", &[])).contains("waiting: "));
    let made = status["counts"].clone();
    assert_eq!(cluster.status().unwrap()["counts"], made);
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
}

/// Each retained layer is compressed once, however many layers follow, and the worker ends when all are
/// compressed.
#[test]
fn worker_compresses_each_layer_once() {
    let mut cluster = Cluster::new(&LONG, &["--keep", "all", "--audit", "0"]);
    cluster.serve();
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
    let retired = cluster.logged_by("w1", "layer retired");
    let depths: Vec<u64> = retired.iter().map(|line| line["depth"].as_u64().unwrap()).collect();
    let once: BTreeSet<u64> = depths.iter().copied().collect();
    assert!(depths.len() == once.len() && depths.len() > 10, "{depths:?}");
}

/// Nothing is computed while the only worker is suspended, so that much is left for the second one.
#[test]
fn late_worker_takes_shards() {
    let mut cluster = Cluster::new(&LONG, &[]);
    cluster.serve_up_to(7);
    cluster.join(&["w1"]);
    cluster.in_the_middle(|cluster| cluster.signal("w1", libc::SIGSTOP));
    cluster.join(&["w2"]);
    cluster.until_worker_is("w2", "alive");
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
    assert!(!cluster.logged_by("w2", "task done").is_empty(), "it was given nothing");
}

#[test]
fn drained_worker_holds_no_only_copy() {
    let mut cluster = Cluster::new(&LONG, &[]);
    cluster.serve_up_to(7);
    cluster.join_together(&["w1", "w2"]);
    cluster.in_the_middle(|_| ());
    assert!(well(&cluster.ask("drain", &["w1"])).contains("it will leave once its files have been copied"));
    assert!(cluster.ends("w1").success(), "{}", cluster.said());
    assert_eq!(cluster.logged("worker is drained").len(), 1);
    // The files that w1 kept are deleted.
    fs::remove_dir_all(cluster.store("w1")).unwrap();
    let output = cluster.ask("drain", &["w2"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("is the last worker"), "{}", texts(&output).1);
    let output = cluster.ask("drain", &["w1"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("unknown worker \"w1\""), "{}", texts(&output).1);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
}

#[test]
fn stopped_worker_leaves_and_may_return() {
    let mut cluster = Cluster::new(&LONG, &[]);
    cluster.serve_up_to(7);
    cluster.join_together(&["w1", "w2"]);
    cluster.in_the_middle(|cluster| cluster.signal("w1", libc::SIGTERM));
    assert!(cluster.ends("w1").success());
    let status = cluster.until_worker_is("w1", "left");
    assert_eq!(status["complete"], false);
    assert_eq!(cluster.logged("worker left").len(), 1);
    assert!(cluster.logged("worker lost").is_empty());
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
}

#[test]
fn workers_wait_for_a_stopped_coordinator() {
    let mut cluster = Cluster::new(&LONG, &[]);
    cluster.serve_up_to(7);
    cluster.join_together(&["w1", "w2"]);
    cluster.in_the_middle(|cluster| cluster.signal_coordinator(libc::SIGTERM));
    assert!(cluster.coordinator_ends().success());
    until("the workers miss the coordinator", || {
        ["w1", "w2"]
            .iter()
            .all(|name| !cluster.logged_by(name, "coordinator cannot be reached; trying again").is_empty())
    });
    assert!(
        well(&fathom().arg("status").arg(cluster.run()).output().unwrap())
            .contains("continue with 'fathom serve")
    );
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
    assert!(!cluster.logged_by("w1", "coordinator is back").is_empty());
}

/// `timeout` signals a process, and then the process group. The worker still leaves in order.
#[test]
fn worker_signalled_twice_leaves_once() {
    let mut cluster = Cluster::new(&LONG, &[]);
    cluster.serve();
    cluster.join_until("w1", "computing:40:stop");
    cluster.until_stopped("w1");
    for number in [libc::SIGTERM, libc::SIGINT, libc::SIGCONT] {
        cluster.signal("w1", number);
    }
    assert!(cluster.ends("w1").success());
    until("the coordinator is informed", || !cluster.logged("worker left").is_empty());
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
}

#[test]
fn stopped_run_is_served_again() {
    let mut cluster = Cluster::new(&LONG, &[]);
    cluster.serve_up_to(7);
    cluster.join_together(&["w1", "w2"]);
    cluster.in_the_middle(|_| ());
    well(&cluster.ask("stop", &[]));
    assert!(cluster.coordinator_ends().success());
    for name in ["w1", "w2"] {
        assert!(cluster.ends(name).success());
    }
    cluster.serve();
    cluster.join(&["w2", "w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
    // A complete run prints its result without waiting for workers.
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
}

/// Shards of pancakes have an order by bisection, which is computed once and is the same for each run.
#[test]
fn shard_order_outlasts_the_coordinator() {
    let space = ["pancake:9", "--shards", "64"];
    let order_of = |cluster: &Cluster| {
        let journal = Connection::open(cluster.run().join("run.db")).unwrap();
        let mut query = journal.prepare("SELECT shard FROM shard_order ORDER BY place").unwrap();
        query.query_map([], |row| row.get(0)).unwrap().collect::<Result<Vec<u32>, _>>().unwrap()
    };
    let mut cluster = Cluster::new(&space, &[]);
    cluster.serve_until("committed:4");
    cluster.join_together(&["w1", "w2"]);
    cluster.coordinator_dies();
    let order = order_of(&cluster);
    assert_eq!(order.iter().copied().collect::<BTreeSet<u32>>(), (0..64).collect());
    assert!(!order.is_sorted());
    cluster.serve();
    assert_same(&cluster.finishes(), &undisturbed(&space));
    assert_eq!(order_of(&cluster), order);
    let mut other = Cluster::new(&space, &[]);
    other.serve();
    other.join(&["w1"]);
    assert_same(&other.finishes(), &undisturbed(&space));
    assert_eq!(order_of(&other), order);
}

#[test]
fn worker_gives_up_and_keeps_its_store() {
    let mut cluster = Cluster::new(&LONG, &[]);
    cluster.serve_until("committed:7");
    let mut command = cluster.joining("w1");
    command.args(["--patience", "2s"]);
    cluster.join_by("w1", command);
    cluster.coordinator_dies();
    assert_eq!(cluster.ends("w1").code(), Some(1));
    assert!(cluster.said().contains("The store is unchanged; run the same command to continue"));
    assert!(!cluster.files("w1").is_empty());
    cluster.serve();
    cluster.join(&["w1"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
}

/// The coordinator is killed once the last layer is committed. Its workers would wait until their patience
/// runs out, so the next coordinator informs them, and the one after it has no workers to inform.
#[test]
fn next_coordinator_ends_the_workers() {
    let space = ["3x3", "--shards", "4"];
    let found = undisturbed(&space);
    let layers = found["counts"].as_array().unwrap().len();
    let mut cluster = Cluster::new(&space, &["--clean-stores", "--replicas", "2"]);
    cluster.serve_until(&format!("committed:{layers}"));
    cluster.join(&["w1", "w2"]);
    cluster.coordinator_dies();
    assert_ne!(cluster.files("w1"), []);
    cluster.serve();
    assert_same(&cluster.finishes(), &found);
    for worker in ["w1", "w2"] {
        assert_eq!(cluster.files(worker), []);
        assert_eq!(cluster.logged_by(worker, "store cleaned").len(), 1);
    }
    assert_eq!(cluster.logged("serving").len(), 2);
    assert_same(&json(&cluster.serving().output().unwrap()), &found);
    assert_eq!(cluster.logged("serving").len(), 2);
}

#[test]
fn layers_are_stored_in_a_shared_store() {
    let mut cluster = Cluster::new(&SPACE, &["--shared-store"]);
    let shared = cluster.path().join("shared");
    fs::create_dir(&shared).unwrap();
    cluster.option(&shared);
    cluster.serve();
    cluster.join_until("w1", "computing:20");
    cluster.dies("w1");
    cluster.join(&["w2"]);
    cluster.join(&["w1"]);
    let found = cluster.finishes();
    assert_same(&found, &undisturbed(&SPACE));
    assert_eq!(cluster.files("w1"), []);
    let last = found["god_number"].as_u64().unwrap() as u32;
    let files = layer_files(&shared.join("layers"));
    assert!(
        files.iter().all(|(depth, _, _)| depth + 1 >= last),
        "layers that are no longer read remain: {files:?}"
    );
    assert_eq!(files.len(), 16);
    well(&fathom().arg("verify").arg(cluster.run()).output().unwrap());
}

#[test]
fn run_changes_from_one_process_to_many_and_back() {
    let mut cluster = Cluster::new(&SPACE, &["--shared-store"]);
    let mut begin = fathom();
    begin.arg("run").args(SPACE).args(["-q", "--max-depth", "5", "--dir"]).arg(cluster.run());
    well(&begin.output().unwrap());
    let run = cluster.run();
    cluster.option(&run);
    // The command is refused without the option, because the layers are in the run's own directory.
    let mut wrong = fathom();
    wrong.arg("serve").args(SPACE).args(["--listen", &cluster.address, "--dir"]).arg(cluster.run());
    let output = wrong.output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(texts(&output).1.contains("Use --shared-store"), "{}", texts(&output).1);
    cluster.serve_up_to(8);
    cluster.join_together(&["w1", "w2"]);
    cluster.in_the_middle(|cluster| cluster.signal_coordinator(libc::SIGTERM));
    assert!(cluster.coordinator_ends().success());
    for name in ["w1", "w2"] {
        cluster.signal(name, libc::SIGTERM);
        assert!(cluster.ends(name).success());
    }
    let found = json(&fathom().args(["resume", "-q", "--json"]).arg(cluster.run()).output().unwrap());
    assert_same(&found, &undisturbed(&SPACE));
    well(&fathom().arg("verify").arg(cluster.run()).output().unwrap());
}

/// Returns `fathom run --workers 3` in a directory.
fn local(path: &Path) -> Command {
    let mut command = fathom();
    command
        .arg("run")
        .args(LONG)
        .args(["--workers", "3", "--threads", "3", "--json", "-v", "--dir"])
        .arg(path);
    command
}

/// Returns the identifiers of the worker processes that a process has started.
fn children(of: &Child) -> Vec<u32> {
    let path = format!("/proc/{id}/task", id = of.id());
    let tasks = fs::read_dir(path).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|id| id.parse().unwrap()).collect::<Vec<_>>()).collect()
}

#[test]
fn workers_of_one_machine() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    // Each worker suspends itself in its 40th of some 270 tasks, so the run cannot end before its signal.
    let mut suspended = local(&path);
    suspended.env("FATHOM_FAILPOINT", "computing:40:stop").stdout(Stdio::piped()).stderr(Stdio::null());
    let child = suspended.spawn().unwrap();
    let begun = |depth: u32| layer_files(&path.join("layers")).iter().any(|(found, _, _)| *found >= depth);
    until("the second layer is begun", || begun(2));
    let log = path.join("log.jsonl");
    let logged = |message: &str| fs::read_to_string(&log).unwrap().matches(&format!("{message:?}")).count();
    until("all workers take part", || logged("worker registered") >= 3);
    let workers = children(&child);
    assert_eq!(workers.len(), 3);
    // A worker that dies is replaced.
    assert!(Command::new("kill").args(["-9", &workers[1].to_string()]).status().unwrap().success());
    until("another takes its place", || logged("worker registered") >= 4);
    // The same command continues an interrupted run.
    signal(&child, libc::SIGINT);
    until("the others leave", || logged("worker left") + logged("serving ends") > 0);
    for id in children(&child) {
        // It may have left already.
        Command::new("kill").args(["-CONT", &id.to_string()]).stderr(Stdio::null()).status().unwrap();
    }
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(128 + libc::SIGINT), "{}", texts(&output).1);
    let found = json(&local(&path).output().unwrap());
    assert_same(&found, &undisturbed(&LONG));
    assert!(workers.iter().all(|id| !Path::new(&format!("/proc/{id}")).exists()), "a worker still runs");
    // The command prints the result of a complete run.
    assert_same(&json(&local(&path).output().unwrap()), &undisturbed(&LONG));
}

/// Starts a run in a directory, or continues it.
fn run(path: &Path, more: &[&str]) -> Output {
    let mut command = fathom();
    command.arg("run").args(SPACE).args(["-q", "--json", "--threads", "2"]).args(more);
    command.arg("--dir").arg(path).output().unwrap()
}

/// One process and several share a run's directory, so that either can continue where the other stopped.
#[test]
fn one_process_and_several_continue_the_same_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    well(&run(&path, &["--workers", "2", "--max-depth", "6", "--keep", "all"]));
    well(&run(&path, &["--max-depth", "8"]));
    assert_same(&json(&run(&path, &["--workers", "2"])), &undisturbed(&SPACE));
    well(&fathom().arg("verify").arg(&path).output().unwrap());
    let report = fathom().arg("report").arg(&path).args(["--format", "json"]).output().unwrap();
    // Jia, Zhang and Xiang, Table 1, have two states at distance 13.
    assert_eq!(json(&report)["deepest"]["examples"][0]["class_states"], 2);
}

/// An intact file that is not the committed one would make all later counts wrong.
#[test]
fn workers_do_not_continue_from_a_replaced_file() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    well(&run(&path, &["--workers", "2", "--max-depth", "8"]));
    let file = path.join("layers/d008/s00003.layer");
    let right = fs::read(&file).unwrap();
    exchange_cosets(&file);
    let output = run(&path, &["--workers", "2"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        texts(&output).1.contains("s00003.layer is not the file that was committed"),
        "{}",
        texts(&output).1
    );
    fs::write(&file, right).unwrap();
    assert_same(&json(&run(&path, &["--workers", "2"])), &undisturbed(&SPACE));
}

/// Other workers would wait for the files of the workers that hold them.
#[test]
fn local_workers_do_not_continue_a_run_with_layers_elsewhere() {
    let mut cluster = Cluster::new(&SPACE, &["--max-depth", "5"]);
    cluster.serve();
    cluster.join(&["w1"]);
    cluster.finishes();
    let output = run(&cluster.run(), &["--workers", "1"]);
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(err.contains("are on its workers: continue with 'fathom serve'"), "{err}");
    assert!(!cluster.run().join("workers").exists() && !cluster.run().join("layers").exists());
}

/// Starts `fathom run --workers 2`, and waits until the coordinator has suspended itself after a number of
/// layers. Returns the coordinator and its workers.
fn stopped_at(path: &Path, layers: u32) -> (Child, Vec<u32>) {
    let mut command = fathom();
    command.arg("run").args(SPACE).args(["--workers", "2", "--threads", "2", "--json"]);
    command.env("FATHOM_FAILPOINT", format!("committed:{layers}:stop"));
    let child = command.arg("--dir").arg(path).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    until_stopped(&child);
    let workers = children(&child);
    assert_eq!(workers.len(), 2);
    (child, workers)
}

fn send(process: u32, signal: &str) {
    assert!(Command::new("kill").args([signal, &process.to_string()]).status().unwrap().success());
}

fn kill(process: u32) {
    send(process, "-9");
    until_dead(process);
}

fn until_dead(process: u32) {
    until("it is dead", || {
        !fs::read_to_string(format!("/proc/{process}/stat")).is_ok_and(|is| !is.contains(" Z "))
    });
}

#[test]
fn workers_of_a_killed_coordinator_end_and_the_run_continues() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    let (mut child, workers) = stopped_at(&path, 8);
    // A suspended worker does not end by itself.
    send(workers[0], "-STOP");
    child.kill().unwrap();
    child.wait().unwrap();
    // Workers write in the run's directory, where the next command continues.
    workers.into_iter().for_each(until_dead);
    let status = json(&fathom().args(["status", "--json"]).arg(&path).output().unwrap());
    assert_eq!(status["counts"].as_array().unwrap().len(), 8);
    assert_same(&json(&run(&path, &["--workers", "2"])), &undisturbed(&SPACE));
    well(&fathom().arg("verify").arg(&path).output().unwrap());
}

#[test]
fn run_survives_its_workers() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    let (child, workers) = stopped_at(&path, 8);
    kill(workers[0]);
    signal(&child, libc::SIGCONT);
    assert_same(&json(&child.wait_with_output().unwrap()), &undisturbed(&SPACE));
    let status = json(&fathom().args(["status", "--json"]).arg(&path).output().unwrap());
    assert_same(&status, &undisturbed(&SPACE));
}

/// A directory restored from an old copy has no record of the newest layers, and workers must not delete
/// them: they are all that is left of the run when the right directory comes back.
#[test]
fn old_copy_of_the_run_directory_deletes_no_later_layers() {
    const SPACE: [&str; 5] = ["2x6", "--metric", "single", "--shards", "8"];
    let place = fathom_tests::tempdir().unwrap();
    let (run, old, store) = (place.path().join("run"), place.path().join("old"), place.path().join("store"));
    let begin = |max_depth: &str| {
        let address = format!("127.0.0.1:{}", free_port());
        let mut serve = fathom();
        serve.args(["serve", "--audit", "0", "--listen", &address, "--max-depth", max_depth]).args(SPACE);
        serve.arg("--dir").arg(&run).stdout(Stdio::null()).stderr(Stdio::null());
        let mut worker = fathom_worker();
        worker.args(["--join", &address, "--threads", "1", "--store"]).arg(&store);
        worker.stdout(Stdio::null()).stderr(Stdio::null());
        [serve.spawn().unwrap(), worker.spawn().unwrap()]
    };
    let run_to = |max_depth: &str| {
        begin(max_depth).iter_mut().for_each(|child| assert!(child.wait().unwrap().success()));
    };
    let copy = |from: &Path, to: &Path| {
        assert!(Command::new("cp").arg("-a").args([from, to]).status().unwrap().success());
    };
    run_to("3");
    copy(&run, &old);
    run_to("6");
    let new = place.path().join("new");
    fs::rename(&run, &new).unwrap();
    fs::rename(&old, &run).unwrap();
    let mut children = begin("8");
    until("the coordinator notices", || {
        fs::read_to_string(run.join("log.jsonl")).is_ok_and(|log| log.contains("worker is ahead of this run"))
    });
    for child in &mut children {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    fs::remove_dir_all(&run).unwrap();
    fs::rename(&new, &run).unwrap();
    run_to("8");
    let status = json(&fathom().args(["status", "--json"]).arg(&run).output().unwrap());
    assert_same(&status, &undisturbed(&[&SPACE[..], &["--max-depth", "8"]].concat()));
}

/// A store was copied, with the id of its worker: the two would take the session from each other forever.
#[test]
fn second_worker_with_the_same_id_is_refused() {
    // Two workers must hold each file, so the run waits for a third one.
    let mut cluster = Cluster::new(&LONG, &["--audit", "0", "--replicas", "2"]);
    cluster.serve();
    for name in ["one", "two"] {
        fs::create_dir(cluster.store(name)).unwrap();
        fs::write(cluster.store(name).join("worker-id"), "0123456789abcdef".repeat(2)).unwrap();
        cluster.join(&[name]);
    }
    assert_eq!(cluster.ends("one").code(), Some(2));
    cluster.join(&["three"]);
    assert_same(&cluster.finishes(), &undisturbed(&LONG));
}

/// The worker has a layer that it was told to delete, by an order that did not arrive.
#[test]
fn layer_whose_deletion_was_lost_is_deleted_with_the_next() {
    const SPACE: [&str; 3] = ["3x3", "--shards", "2"];
    let mut cluster = Cluster::new(&SPACE, &["--audit", "0", "--lease", "60s"]);
    cluster.serve();
    // Two tasks for each depth: this is the first one of depth 4, and depth 0 was deleted long ago.
    cluster.join_until("w1", "computing:9:stop");
    cluster.until_stopped("w1");
    let (_, _, file) = cluster.files("w1").remove(0);
    let lost = file.parent().unwrap().with_file_name("d000");
    std::fs::create_dir_all(&lost).unwrap();
    std::fs::write(lost.join("s00000.layer"), "of depth 0").unwrap();
    cluster.signal("w1", libc::SIGCONT);
    assert_same(&cluster.finishes(), &undisturbed(&SPACE));
    assert!(!lost.exists());
}

/// What a run counts is not part of its fingerprint, so a store can have files of the same layers without the
/// counts that the run needs.
#[test]
fn files_without_required_counts_are_recomputed() {
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

/// A served run ends with a check of states of its last layers, wherever the files are.
#[test]
fn last_layers_of_a_served_run_are_checked() {
    const SPACE: [&str; 3] = ["3x3", "--shards", "2"];
    for keep in ["last", "two", "all", "shared"] {
        let mut cluster = match keep {
            "shared" => Cluster::new(&SPACE, &["--shared-store"]),
            _ => Cluster::new(&SPACE, &["--keep", keep]),
        };
        if keep == "shared" {
            let shared = cluster.path().join("shared");
            fs::create_dir(&shared).unwrap();
            cluster.option(&shared);
        }
        cluster.serve();
        cluster.join_together(&["w1", "w2"]);
        let found = cluster.finishes();
        assert_same(&found, &undisturbed(&SPACE));
        let checked = cluster.logged("spot check agrees");
        assert_eq!(checked.len(), 1, "{keep}: {checked:?}");
        assert_eq!(checked[0]["depth"], found["god_number"], "{keep}");
        // The last layer of 3x3 has fewer states than a check draws, and the one before has more.
        assert!(checked[0]["states"].as_u64().unwrap() > 100, "{keep}: {checked:?}");
        assert_eq!(cluster.logged("spot check failed to run").len(), 0, "{keep}");
    }
}

/// Without audits, a worker with bad memory is found at the end of the run, also after a restart.
#[test]
fn served_run_whose_last_layers_contradict_the_moves_fails() {
    // Without symmetries, so that the number of fixed states cannot show the fault.
    let space = ["pancake:8", "--labels", "0,0,1,2,3,4,5,6", "--shards", "2"];
    let mut cluster = Cluster::new(&space, &["--audit", "0", "--max-depth", "5"]);
    cluster.serve();
    cluster.join_until("bad", "found:20:flip");
    for _ in 0..2 {
        assert_eq!(cluster.coordinator_ends().code(), Some(1));
        let said = cluster.said();
        assert!(said.contains("depth 5 contradicts the puzzle's moves in the state "), "{said}");
        cluster.serve();
    }
}
