//! Runs without a coordinator: several processes of `fathom-worker task` compute each layer, and `fathom
//! merge` commits the layer.

use fathom_tests::cluster::{self};
use fathom_tests::process::until_stopped;
use fathom_tests::{assert_same, fathom, fathom_worker, json, texts};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// 12! states in 14 layers.
const SPACE: &str = "3x4";
const SHARDS: u32 = 6;

/// At this depth tasks take tenths of a second, so that a test can catch a process in the middle of a task.
const SLOW_SPACE: &str = "2x7";
const SLOW_DEPTH: u32 = 9;

/// The directory of a run that was started, up to some depth.
struct Run {
    _temporary: tempfile::TempDir,
    path: PathBuf,
}

impl Run {
    fn begin(space: &str, depth: u32, more: &[&str]) -> Self {
        let temporary = fathom_tests::tempdir().unwrap();
        let path = temporary.path().join("run");
        let mut command = fathom();
        command.args(["run", space, "-q", "--json", "--shards", &SHARDS.to_string()]);
        command.args(["--max-depth", &depth.to_string(), "--dir"]).arg(&path).args(more);
        assert_eq!(json(&command.output().unwrap())["complete"], false);
        Self { _temporary: temporary, path }
    }

    /// Starts a run whose tasks at [`SLOW_DEPTH`] take a while.
    fn slow() -> Self {
        Self::begin(SLOW_SPACE, SLOW_DEPTH - 1, &[])
    }

    fn task(&self, depth: u32, shards: &str) -> Command {
        let mut command = fathom_worker();
        command.args(["task", "-q", "--threads", "2", "--run"]).arg(&self.path);
        command.args(["--depth", &depth.to_string(), "--shards", shards]);
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn merge(&self, depth: u32) -> Command {
        let mut command = fathom();
        command.args(["merge", "-q", "--json", "--depth", &depth.to_string()]).arg(&self.path);
        command
    }

    fn status(&self) -> Value {
        json(&fathom().args(["status", "--json"]).arg(&self.path).output().unwrap())
    }

    fn resume(&self) -> Command {
        let mut command = fathom();
        command.args(["resume", "-q", "--json"]).arg(&self.path);
        command
    }

    fn layer(&self, depth: u32) -> PathBuf {
        self.path.join(format!("layers/d{depth:03}"))
    }

    fn file(&self, depth: u32, shard: u32) -> PathBuf {
        self.layer(depth).join(format!("s{shard:05}.layer"))
    }

    /// Returns the unfinished files of a layer.
    fn unfinished(&self, depth: u32) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(self.layer(depth)) else { return Vec::new() };
        let paths = entries.map(|entry| entry.unwrap().path());
        paths.filter(|path| path.extension().is_some_and(|extension| extension == "tmp")).collect()
    }

    /// Computes a layer with three processes in parallel, and merges the layer.
    fn advance(&self, depth: u32) -> Value {
        let tasks = ["0-2", "3,5", "4"].map(|shards| self.task(depth, shards).spawn().unwrap());
        for task in tasks {
            succeeds(&task.wait_with_output().unwrap());
        }
        json(&self.merge(depth).output().unwrap())
    }

    /// Advances to a depth, or to the end. Returns the output of the last merge.
    fn drive(&self, to: Option<u32>) -> Value {
        let mut found = self.status();
        loop {
            let next = found["counts"].as_array().unwrap().len() as u32;
            if found["complete"] == true || to.is_some_and(|to| next > to) {
                return found;
            }
            found = self.advance(next);
            assert_eq!(found["counts"].as_array().unwrap().len() as u32, next + 1);
        }
    }

    /// Waits until a process is in the middle of a task.
    fn meet(&self, depth: u32, process: &mut Child) {
        let begun = Instant::now();
        while self.unfinished(depth).is_empty() {
            assert!(process.try_wait().unwrap().is_none(), "the process ended before it was observed");
            assert!(begun.elapsed() < Duration::from_secs(120), "no task of depth {depth} was started");
            sleep(Duration::from_micros(200));
        }
    }

    /// Returns all files but logs, with their contents.
    fn contents(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        fn walk(path: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
            for entry in fs::read_dir(path).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    found.insert(path.clone(), Vec::new());
                    walk(&path, found);
                } else if path.extension().is_none_or(|extension| extension != "jsonl") {
                    found.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        let mut found = BTreeMap::new();
        walk(&self.path, &mut found);
        found.remove(&self.path.join("logs"));
        found
    }

    /// Asserts that a command fails and changes nothing.
    fn refuses(&self, command: &mut Command, code: i32, says: &str) {
        let before = self.contents();
        let output = command.output().unwrap();
        let (out, err) = texts(&output);
        assert_eq!(output.status.code(), Some(code), "{command:?}: {err}");
        assert!(err.contains(says), "{command:?}: {err}");
        assert_eq!(out, "");
        assert!(self.contents() == before, "{command:?} changed the run's files");
    }
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", texts(output).1);
}

fn signal(process: &Child, number: i32) {
    let (number, id) = (format!("-{number}"), process.id().to_string());
    assert!(Command::new("kill").args([number, id]).status().unwrap().success());
}

/// Returns the result of an undisturbed `fathom run`.
fn undisturbed(space: &str, more: &[&str]) -> Value {
    cluster::undisturbed(&[&[space, "--shards", &SHARDS.to_string()], more].concat())
}

#[test]
fn search_by_tasks_ends_like_a_run() {
    let run = Run::begin(SPACE, 0, &[]);
    let found = run.drive(None);
    let expected = undisturbed(SPACE, &[]);
    assert_same(&found, &expected);
    assert_eq!(found["complete"], true);
    assert_eq!(found["layer_bytes"], expected["layer_bytes"]);
    succeeds(&fathom().arg("verify").arg(&run.path).output().unwrap());
    // The last two layers are kept, as `run` keeps them.
    let last = found["god_number"].as_u64().unwrap() as u32;
    let kept: Vec<u32> = (0..=last).filter(|&depth| run.layer(depth).exists()).collect();
    assert_eq!(kept, [last - 1, last]);
}

#[test]
fn run_alternates_between_tasks_and_one_process() {
    let expected = undisturbed(SPACE, &[]);
    let begun_by_run = Run::begin(SPACE, 5, &[]);
    assert_same(&begun_by_run.drive(None), &expected);

    let begun_by_tasks = Run::begin(SPACE, 0, &[]);
    begun_by_tasks.drive(Some(7));
    // Tasks compute some shards of the next layer too, and `resume` uses those shards unchanged.
    succeeds(&begun_by_tasks.task(8, "1-3").output().unwrap());
    let made = fs::metadata(begun_by_tasks.file(8, 2)).unwrap().ino();
    let mut to_depth_8 = begun_by_tasks.resume();
    json(&to_depth_8.args(["--max-depth", "8"]).output().unwrap());
    assert_eq!(fs::metadata(begun_by_tasks.file(8, 2)).unwrap().ino(), made, "the shard was recomputed");
    assert_same(&json(&begun_by_tasks.resume().output().unwrap()), &expected);
}

#[test]
fn completed_task_or_merge_is_not_repeated() {
    let run = Run::begin(SPACE, 4, &[]);
    succeeds(&run.task(5, "0-5").output().unwrap());
    let inodes = || [0, 1, 2, 3, 4, 5].map(|shard| fs::metadata(run.file(5, shard)).unwrap().ino());
    let made = inodes();
    succeeds(&run.task(5, "0-3").output().unwrap());
    assert_eq!(inodes(), made, "shards were recomputed");

    let merged = json(&run.merge(5).output().unwrap());
    assert_eq!(merged["counts"].as_array().unwrap().len(), 6);
    let contents = run.contents();
    for depth in [5, 2] {
        assert_eq!(json(&run.merge(depth).output().unwrap()), merged);
    }
    assert!(run.contents() == contents);
    assert_same(&run.drive(None), &undisturbed(SPACE, &[]));
}

#[test]
fn two_processes_may_compute_the_same_shard() {
    let run = Run::slow();
    let mut first = run.task(SLOW_DEPTH, "0").spawn().unwrap();
    run.meet(SLOW_DEPTH, &mut first);
    signal(&first, libc::SIGSTOP);
    let file = run.file(SLOW_DEPTH, 0);
    assert!(!file.exists(), "the first process was observed too late");
    succeeds(&run.task(SLOW_DEPTH, "0").output().unwrap());
    let made = (fs::read(&file).unwrap(), fs::metadata(&file).unwrap().ino());
    signal(&first, libc::SIGCONT);
    succeeds(&first.wait_with_output().unwrap());
    assert!(run.unfinished(SLOW_DEPTH).is_empty(), "the first process has completed its file");
    assert_eq!(fs::metadata(&file).unwrap().ino(), made.1, "the existing file was kept");
    assert!(fs::read(&file).unwrap() == made.0);
}

#[test]
fn killed_task_is_run_again() {
    let run = Run::slow();
    let mut task = run.task(SLOW_DEPTH, "0-5").spawn().unwrap();
    run.meet(SLOW_DEPTH, &mut task);
    task.kill().unwrap();
    assert_eq!(task.wait().unwrap().signal(), Some(libc::SIGKILL));
    assert!(!run.unfinished(SLOW_DEPTH).is_empty(), "nothing was left unfinished");
    run.refuses(&mut run.merge(SLOW_DEPTH), 2, "shards: run 'fathom-worker task");
    succeeds(&run.task(SLOW_DEPTH, "0-5").output().unwrap());
    let found = json(&run.merge(SLOW_DEPTH).output().unwrap());
    assert_same(&found, &undisturbed(SLOW_SPACE, &["--max-depth", &SLOW_DEPTH.to_string()]));
    assert!(run.unfinished(SLOW_DEPTH).is_empty(), "the file of the killed task remains");
}

#[test]
fn task_stops_at_sigterm_and_continues() {
    let run = Run::slow();
    for number in [libc::SIGTERM, libc::SIGINT] {
        let mut task = run.task(SLOW_DEPTH, "0-5").spawn().unwrap();
        run.meet(SLOW_DEPTH, &mut task);
        signal(&task, number);
        let output = task.wait_with_output().unwrap();
        let (out, err) = texts(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(128 + number), ""), "{err}");
        assert!(err.contains("stopped; run the same command to continue"), "{err}");
        assert!(run.unfinished(SLOW_DEPTH).is_empty());
    }
    succeeds(&run.task(SLOW_DEPTH, "0-5").output().unwrap());
    let found = json(&run.merge(SLOW_DEPTH).output().unwrap());
    assert_same(&found, &undisturbed(SLOW_SPACE, &["--max-depth", &SLOW_DEPTH.to_string()]));
}

#[test]
fn merge_after_a_killed_merge_leaves_nothing_behind() {
    let run = Run::begin(SPACE, 6, &[]);
    // Reproduces the state after a power cut between the commit of depth 7 and the removal of depth 5.
    let old: Vec<_> =
        (0..SHARDS).map(|shard| run.file(5, shard)).map(|path| (fs::read(&path).unwrap(), path)).collect();
    let merged = run.advance(7);
    assert!(!run.layer(5).exists());
    fs::create_dir(run.layer(5)).unwrap();
    old.iter().for_each(|(bytes, path)| fs::write(path, bytes).unwrap());
    assert_eq!(json(&run.merge(7).output().unwrap()), merged);
    assert!(!run.layer(5).exists(), "a layer that is no longer read remains");
    assert!(run.layer(6).exists() && run.layer(7).exists());
}

#[test]
fn missing_shards_are_named() {
    let run = Run::begin(SPACE, 3, &[]);
    run.refuses(&mut run.merge(4), 2, "depth 4 is missing 6 of 6 shards");
    succeeds(&run.task(4, "1,4").output().unwrap());
    run.refuses(&mut run.merge(4), 2, "depth 4 is missing 4 of 6 shards");
    run.refuses(&mut run.merge(4), 2, "--depth 4 --shards 0,2-3,5'");
    // The message says what to do.
    succeeds(&run.task(4, "0,2-3,5").output().unwrap());
    succeeds(&run.merge(4).output().unwrap());
}

#[test]
fn tasks_and_merges_out_of_order_are_refused() {
    let run = Run::begin(SPACE, 3, &[]);
    run.refuses(&mut run.merge(5), 2, "cannot merge depth 5: depth 4 is not finished");
    run.refuses(&mut run.task(5, "0"), 2, "depth 5 is computed from depth 4, which is not complete");
    succeeds(&run.task(4, "0-4").output().unwrap());
    run.refuses(&mut run.task(5, "0"), 2, "s00005.layer");
    run.refuses(&mut run.merge(5), 2, "cannot merge depth 5: depth 4 is not finished");
    run.refuses(&mut run.task(4, "3-6"), 2, "has shards 0 to 5; shard 6 does not exist");
    run.refuses(&mut run.task(4, "3-2"), 2, "\"3-2\" is not a range of shards");
    let temporary = fathom_tests::tempdir().unwrap();
    let elsewhere = temporary.path().to_owned();
    let nowhere = Run { _temporary: temporary, path: "nowhere".into() };
    for mut command in [nowhere.task(4, "0"), nowhere.merge(4)] {
        let output = command.current_dir(&elsewhere).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(texts(&output).1.contains("nowhere is not a run directory"), "{}", texts(&output).1);
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }
}

#[test]
fn tasks_exclude_a_deciding_process() {
    let busy = "another process is working on this run";
    let run = Run::slow();
    let mut task = run.task(SLOW_DEPTH, "0-5").spawn().unwrap();
    run.meet(SLOW_DEPTH, &mut task);
    signal(&task, libc::SIGSTOP);
    // `resume` and `merge` are refused while a task writes.
    until_stopped(&task);
    run.refuses(&mut run.resume(), 2, busy);
    run.refuses(&mut run.merge(SLOW_DEPTH), 2, busy);
    // A second task is allowed, and so are readers.
    succeeds(&run.task(SLOW_DEPTH, "5").output().unwrap());
    assert_eq!(run.status()["complete"], false);
    signal(&task, libc::SIGCONT);
    succeeds(&task.wait_with_output().unwrap());

    let mut whole = run.resume();
    let mut whole = whole.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    run.meet(SLOW_DEPTH + 1, &mut whole);
    signal(&whole, libc::SIGSTOP);
    until_stopped(&whole);
    run.refuses(&mut run.task(SLOW_DEPTH + 1, "5"), 2, busy);
    run.refuses(&mut run.merge(SLOW_DEPTH + 1), 2, busy);
    whole.kill().unwrap();
    whole.wait().unwrap();
    // A lock does not outlive its process. The killed process may not have committed its first depth.
    let next = run.status()["counts"].as_array().unwrap().len() as u32;
    succeeds(&run.task(next, "5").output().unwrap());
}

/// Flips a bit in the bytes of the last coset that a file stores.
fn damage(file: &Path) {
    let mut bytes = fs::read(file).unwrap();
    let at = bytes.len() - 100;
    bytes[at] ^= 4;
    fs::write(file, bytes).unwrap();
}

#[test]
fn damaged_file_of_the_unfinished_layer_is_recomputed() {
    let run = Run::begin(SPACE, 6, &[]);
    succeeds(&run.task(7, "0-5").output().unwrap());
    let (bits, header) = (run.file(7, 2), run.file(7, 4));
    let made = [fs::read(&bits).unwrap(), fs::read(&header).unwrap()];
    damage(&bits);
    fs::write(&header, &made[1][..300]).unwrap();
    run.refuses(&mut run.merge(7), 1, "--depth 7 --shards 2,4': ");
    run.refuses(&mut run.merge(7), 1, "s00002.layer is damaged at coset");
    let mut again = fathom_worker();
    let output = again.args(["task", "--depth", "7", "--shards", "0-5", "--run"]).arg(&run.path).output();
    let (_, err) = texts(&output.unwrap());
    assert_eq!(err.matches("is damaged and will be recomputed").count(), 2, "{err}");
    assert!([fs::read(&bits).unwrap(), fs::read(&header).unwrap()] == made);
    succeeds(&run.merge(7).output().unwrap());
    assert_same(&run.drive(None), &undisturbed(SPACE, &[]));
}

#[test]
fn damaged_source_is_named_with_its_coset() {
    let run = Run::begin(SPACE, 6, &[]);
    let whole = fs::read(run.file(6, 3)).unwrap();
    damage(&run.file(6, 3));
    let task = || run.task(7, "0-5").output().unwrap();
    let output = task();
    let (_, err) = texts(&output);
    assert_eq!(output.status.code(), Some(1), "{err}");
    assert!(err.contains("layers/d006/s00003.layer is damaged at coset"), "{err}");
    run.refuses(&mut run.merge(7), 2, "depth 7 is missing");
    fs::write(run.file(6, 3), whole).unwrap();
    succeeds(&task());
    succeeds(&run.merge(7).output().unwrap());
    assert_same(&run.drive(None), &undisturbed(SPACE, &[]));
}

#[test]
fn watched_states_are_found_through_tasks() {
    let directory = fathom_tests::tempdir().unwrap();
    let list = directory.path().join("states");
    fs::write(
        &list,
        "0 1 2 3 4 5 6 7 8 9 10 11\n11 10 9 8 7 6 5 4 3 2 1 0\n1 0 2 3 4 5 6 7 8 9 11 10\n5 7 9 11 0 2 4 6 8 10 3 1\n",
    )
    .unwrap();
    let watch = ["--watch-states", list.to_str().unwrap()];
    let by_run = Run::begin(SPACE, 0, &watch);
    let expected = json(&by_run.resume().output().unwrap());
    let by_tasks = Run::begin(SPACE, 0, &watch);
    let found = by_tasks.drive(None);
    assert_same(&found, &expected);
    assert_eq!(found["watched"], expected["watched"]);
    let table = |run: &Run| fs::read_to_string(run.path.join("watched.csv")).unwrap();
    assert_eq!(
        table(&by_tasks).lines().filter(|line| !line.ends_with(',')).count(),
        5,
        "{}",
        table(&by_tasks)
    );
    assert_eq!(table(&by_tasks), table(&by_run));
}

/// An interrupted driver requests the tasks of a merged layer again.
#[test]
fn tasks_of_a_merged_layer_are_done() {
    let run = Run::begin(SPACE, 3, &[]);
    for depth in [0, 3] {
        let output = run.task(depth, "0-5").output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
    }
    assert!(!run.path.join("layers/d000").exists());
    assert!(json(&run.merge(3).output().unwrap())["counts"].as_array().unwrap().len() == 4);
}

/// A run's directory is not a worker's store: cleaning it would remove the run's log.
#[test]
fn directory_of_a_run_is_not_a_store() {
    let run = Run::begin(SPACE, 1, &[]);
    for arguments in [&["--join", "127.0.0.1:1", "--store"][..], &["clean", "--all", "--store"]] {
        let output = fathom_worker().args(arguments).arg(&run.path).output().unwrap();
        let (_, err) = texts(&output);
        assert_eq!(output.status.code(), Some(2), "{err}");
        assert!(err.contains("is a run's directory, not a worker's store"), "{err}");
    }
    assert!(!run.path.join("worker-id").exists() && run.path.join("log.jsonl").exists());
}

/// A run that keeps two layers deletes shards of the older one while it computes the next. Tasks cannot
/// compute the rest, and the message names the command that can.
#[test]
fn half_computed_depth_with_two_layers_needs_the_run() {
    let run = Run::begin(SPACE, 6, &["--keep", "two"]);
    let killed = run.resume().env("FATHOM_FAILPOINT", "deleted:2").output().unwrap();
    assert_eq!(killed.status.signal(), Some(libc::SIGKILL), "{}", texts(&killed).1);
    let depth = run.status()["counts"].as_array().unwrap().len() as u32;
    let says = format!("finish depth {depth} with 'fathom resume");
    run.refuses(&mut run.task(depth, "0-5"), 2, &says);
    run.refuses(&mut run.merge(depth), 2, &says);
    assert_same(&json(&run.resume().output().unwrap()), &cluster::undisturbed(&[SPACE]));
}

/// Tasks cannot recompute a missing file of a finished depth.
#[test]
fn missing_file_of_a_finished_depth_must_be_restored() {
    let run = Run::begin(SPACE, 5, &[]);
    fs::remove_file(run.file(5, 2)).unwrap();
    run.refuses(&mut run.task(6, "0"), 2, "which is finished but lacks a file: restore the file");
}
