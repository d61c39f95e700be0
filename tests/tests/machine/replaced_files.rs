//! A layer file that was replaced by another one, complete and of the same place in the same run, with valid
//! checksums: one state is in another place. Whoever opens the file compares its contents with what run.db
//! says was committed.

use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::{Journal, LayerRow};
use fathom_engine::observer::Observer;
use fathom_engine::run::{Depth, Geometry, ShardId, ShardReport, SpaceSpec, Task};
use fathom_engine::search::{Options, Stop, search};
use fathom_engine::task::{Kernel, Store};
use fathom_layer::LocalDisk;
use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::forge::move_state;
use fathom_tests::{Setup, fathom, fathom_worker, json, texts};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const SAYS: &str = "is not the file that was committed";

/// The run 3x3 up to depth 5, whose rows have three bits.
struct Run(tempfile::TempDir);

impl Run {
    fn new(more: &[&str]) -> Self {
        let run = Self(fathom_tests::tempdir().unwrap());
        run.command(&["run", "3x3", "--dir", "run", "-q", "--json"], more);
        run
    }

    fn of(&self, mut command: Command, arguments: &[&str]) -> Command {
        command.args(arguments).current_dir(self.0.path());
        command
    }

    fn command(&self, arguments: &[&str], more: &[&str]) -> serde_json::Value {
        json(&self.of(fathom(), arguments).args(more).output().unwrap())
    }

    /// Moves one state to another place in the file of a layer.
    fn replace(&self, depth: u32) {
        move_state(&self.file(depth), 3);
    }

    fn file(&self, depth: u32) -> PathBuf {
        self.0.path().join(format!("run/layers/d{depth:03}/s00000.layer"))
    }

    fn refuses(&self, command: Command, arguments: &[&str], depth: u32) {
        let output = self.of(command, arguments).output().unwrap();
        let (out, err) = texts(&output);
        assert_eq!((output.status.code(), out.as_str()), (Some(1), ""), "{arguments:?}: {err}");
        let file = format!("run/layers/d{depth:03}/s00000.layer {SAYS}");
        assert!(err.contains(&file), "{arguments:?}: {err}");
    }
}

#[test]
fn search_does_not_read_a_replaced_file() {
    for (keep, depth) in [("last", 5), ("last", 4), ("all", 5), ("all", 4)] {
        let run = Run::new(&["--max-depth", "5", "--keep", keep]);
        run.replace(depth);
        run.refuses(fathom(), &["resume", "run", "-q"], depth);
        run.refuses(fathom(), &["run", "3x3", "--dir", "run", "-q"], depth);
        run.refuses(fathom(), &["verify", "run"], depth);
        assert!(!run.file(6).exists());
    }
}

/// Moves a state in the file of a layer when the next layer is committed.
struct Replacing(PathBuf, Depth);

impl Observer for Replacing {
    fn layer_committed(&self, layer: &LayerRow) {
        if layer.depth == self.1.next() {
            move_state(&self.0.join(format!("layers/d{:03}/s00000.layer", self.1.0)), 3);
        }
    }
}

/// A search keeps the files of a layer open from one depth to the next.
#[test]
fn file_replaced_between_two_depths_is_not_read() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    let spec = SpaceSpec {
        source: PuzzleSpec::Board("3x3".parse().unwrap()),
        metric: Metric::Multi,
        labels: Labels::distinct(9),
    };
    let mut run = Setup { shards: Some(1), ..Setup::default() }.begin(spec, &path, &LocalDisk).unwrap();
    let options = Options {
        threads: 1,
        kernel: Kernel::Fastest,
        max_depth: None,
        memory_bytes: 1 << 30,
        checkpoint_every: Duration::ZERO,
    };
    let replacing = Replacing(path, Depth(4));
    let error = search(&mut run, &LocalDisk, options, &Stop::default(), &replacing).unwrap_err();
    let error = format!("{error:#}");
    assert!(error.contains(&format!("layers/d004/s00000.layer {SAYS}")), "{error}");
    assert_eq!(run.journal.layers().unwrap().len(), 6);
}

#[test]
fn layer_behind_a_link_stays_and_the_run_continues() {
    let run = Run::new(&["--max-depth", "5"]);
    let (layer, elsewhere) = (run.0.path().join("run/layers/d004"), run.0.path().join("elsewhere"));
    fs::rename(&layer, &elsewhere).unwrap();
    symlink(&elsewhere, &layer).unwrap();
    let found = run.command(&["resume", "run", "-q", "--json"], &[]);
    let whole = Run::new(&[]).command(&["status", "run", "--json"], &[]);
    assert_eq!(found["digest"], whole["digest"]);
    assert!(elsewhere.join("s00000.layer").exists());
}

#[test]
fn replaced_layer_is_not_compressed() {
    let run = Run::new(&["--max-depth", "5", "--keep", "all"]);
    run.replace(4);
    // The search computes depth 6 from depths 5 and 4, and then compresses depth 4.
    run.refuses(fathom(), &["resume", "run", "-q", "--max-depth", "6"], 4);
    let ended = Run::new(&["--keep", "all"]);
    let last = ended.command(&["status", "run", "--json"], &[])["god_number"].as_u64().unwrap() as u32;
    // The file from before its compression counts as the same.
    let earlier = Run::new(&["--max-depth", &(last - 1).to_string()]);
    fs::copy(earlier.file(last - 2), ended.file(last - 2)).unwrap();
    assert!(ended.of(fathom(), &["verify", "run"]).output().unwrap().status.success());
    ended.replace(last - 2);
    ended.refuses(fathom(), &["verify", "run"], last - 2);
}

#[test]
fn tasks_and_merges_compare_too() {
    let run = Run::new(&["--max-depth", "5"]);
    let whole = fs::read(run.file(5)).unwrap();
    run.replace(5);
    let task = ["task", "-q", "--run", "run", "--depth", "6", "--shards", "0"];
    run.refuses(fathom_worker(), &task, 5);
    assert!(!run.file(6).exists());
    fs::write(run.file(5), &whole).unwrap();
    assert!(run.of(fathom_worker(), &task).output().unwrap().status.success());
    // The sources of the layer changed before the merge: what the task has read is unknown.
    run.replace(5);
    run.refuses(fathom(), &["merge", "run", "-q", "--depth", "6"], 5);
    fs::write(run.file(5), &whole).unwrap();
    let merged = run.command(&["merge", "run", "-q", "--json", "--depth", "6"], &[]);
    assert_eq!(merged["counts"].as_array().unwrap().len(), 7);
}

/// A process continues without workers after a coordinator has noted something about a shard, and the shard's
/// file has been replaced. The process recomputes the shard, and a merge refuses the layer.
fn goes_on_from_another_file(note: impl Fn(&mut Journal, Task, ShardReport), merge_says: &str) {
    let run = Run::new(&["--max-depth", "5"]);
    let arguments = ["task", "-q", "--run", "run", "--depth", "6", "--shards", "0"];
    assert!(run.of(fathom_worker(), &arguments).output().unwrap().status.success());
    let mut directory = RunDirectory::open(&run.0.path().join("run")).unwrap();
    let task = Task { depth: Depth(6), shard: ShardId(0) };
    let (space, colouring) = directory.manifest.open().unwrap();
    let geometry = Geometry::new(&directory.manifest, &space, &colouring).unwrap();
    let store = Store::at(&directory.path, &LocalDisk).unwrap();
    let report = store.read_back(&geometry, task).unwrap();
    note(&mut directory.journal, task, report);
    drop(directory);
    run.replace(6);
    let merge = run.of(fathom(), &["merge", "run", "-q", "--depth", "6"]).output().unwrap();
    let (_, err) = texts(&merge);
    assert!(merge.status.code() == Some(2) && err.contains(merge_says), "{err}");
    let found = run.command(&["resume", "run", "-q", "--json"], &[]);
    let whole = Run::new(&[]).command(&["status", "run", "--json"], &[]);
    assert_eq!(found["digest"], whole["digest"]);
}

#[test]
fn file_invalidated_by_a_coordinator_is_recomputed() {
    let disown = |journal: &mut Journal, task, _| {
        journal.change(|change| change.forget_reports(&[task])).unwrap();
    };
    goes_on_from_another_file(disown, "files of shards 0 are suspect");
}

#[test]
fn file_suspected_by_a_coordinator_is_recomputed() {
    let doubt = |journal: &mut Journal, task, _| journal.doubt(task).unwrap();
    goes_on_from_another_file(doubt, "files of shards 0 are suspect");
}

#[test]
fn file_that_differs_from_its_report_is_recomputed() {
    let save = |journal: &mut Journal, _, report: ShardReport| {
        journal.change(|change| change.save_reports(&[(&report, None)])).unwrap();
    };
    goes_on_from_another_file(save, "files of shards 0 do not match their reports in run.db");
}

#[test]
fn answers_about_states_come_from_committed_files() {
    let run = Run::new(&["--max-depth", "5", "--keep", "all"]);
    let found = run.command(&["antipodes", "run", "--depth", "5", "--json"], &[]);
    let state = found["representatives"][0]["state"].as_str().unwrap().to_owned();
    run.replace(5);
    run.refuses(fathom(), &["antipodes", "run", "--depth", "5"], 5);
    run.refuses(fathom(), &["solve", "run", &state], 5);
    run.refuses(fathom(), &["report", "run", "--format", "json"], 5);
}
