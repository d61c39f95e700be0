//! Runs that keep two layers at the peak: a shard is released as soon as the only shard that is computed from
//! it is durable and in the journal.

use fathom_engine::run::{Keep, SpaceSpec};
use fathom_layer::{Disk, LocalDisk, tree_bytes};
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::{Setup, assert_same, fathom, json, texts};
use serde_json::Value;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

/// 12! states in 15 layers.
const SPACE: &str = "2x6";
const SHARDS: usize = 10;
/// Numbers of failpoints in depth 8, whose layer is large; depths 0 and 1 release nothing.
const IN_DEPTH_8: [usize; 3] = [6 * SHARDS + 1, 6 * SHARDS + 5, 7 * SHARDS];

fn run(path: &Path, keep: &str) -> Command {
    run_with(path, keep, 1)
}

fn run_with(path: &Path, keep: &str, threads: u32) -> Command {
    let mut command = fathom();
    command.args(["run", SPACE, "--json", "-q", "--threads", &threads.to_string(), "--keep", keep]);
    command.args(["--shards", &SHARDS.to_string(), "--dir"]).arg(path);
    command
}

fn undisturbed() -> Value {
    let directory = fathom_tests::tempdir().unwrap();
    json(&run(&directory.path().join("run"), "last").output().unwrap())
}

/// Runs until the process kills itself at a failpoint that it reaches for the n-th time.
fn killed(path: &Path, point: &str, n: usize) {
    let mut command = run(path, "two");
    let output = command.env("FATHOM_FAILPOINT", format!("{point}:{n}")).output().unwrap();
    assert_eq!(output.status.signal(), Some(libc::SIGKILL), "{point}:{n}: {}", texts(&output).1);
}

fn shards(path: &Path, depth: u32) -> Vec<PathBuf> {
    let directory = path.join(format!("layers/d{depth:03}"));
    let Ok(entries) = std::fs::read_dir(directory) else {
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "layer"));
    files.sort();
    files
}

#[test]
fn killed_around_release_and_resumed() {
    let expected = undisturbed();
    for (point, given) in [("deleting", 0), ("deleted", 1)] {
        for n in IN_DEPTH_8 {
            let directory = fathom_tests::tempdir().unwrap();
            let path = directory.path().join("run");
            killed(&path, point, n);
            let made = n - 6 * SHARDS;
            assert_eq!(shards(&path, 6).len(), SHARDS - made + 1 - given, "{point}:{n}");
            assert!(shards(&path, 8).len() >= made, "{point}:{n}");
            // The files agree with the journal, which says that depth 6 is removed.
            let verified = fathom().arg("verify").arg(&path).output().unwrap();
            assert!(verified.status.success(), "{}", texts(&verified).1);
            assert_same(&json(&run(&path, "two").output().unwrap()), &expected);
            let verified = fathom().arg("verify").arg(&path).output().unwrap();
            assert!(verified.status.success(), "{}", texts(&verified).1);
        }
    }
}

/// With at least eight kernel threads, other threads delete files. Two of them may be killed in the middle of
/// that.
#[test]
fn killed_while_threads_delete_and_resumed() {
    let expected = undisturbed();
    for keep in ["last", "two"] {
        for failpoint in ["deleting:1", "deleting:64", "deleted:65", "deleted:80"] {
            let directory = fathom_tests::tempdir().unwrap();
            let path = directory.path().join("run");
            let output = run_with(&path, keep, 16).env("FATHOM_FAILPOINT", failpoint).output().unwrap();
            assert_eq!(
                output.status.signal(),
                Some(libc::SIGKILL),
                "{keep} {failpoint}: {}",
                texts(&output).1
            );
            assert_same(&json(&run_with(&path, keep, 16).output().unwrap()), &expected);
            let verified = fathom().arg("verify").arg(&path).output().unwrap();
            assert!(verified.status.success(), "{}", texts(&verified).1);
        }
    }
}

/// A transaction of the journal takes longer than a shard with almost no states: an eighth of a small layer
/// is released in one transaction.
#[test]
fn small_shards_are_released_together() {
    const MANY: usize = 32;
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    let run = || {
        let mut command = fathom();
        command.args(["run", SPACE, "--json", "-q", "--threads", "1", "--keep", "two"]);
        command.args(["--shards", &MANY.to_string(), "--max-depth", "4", "--dir"]).arg(&path);
        command
    };
    // Depth 2 is the first one that releases files. One thread has two tasks in progress, which may end
    // together: the first transaction has an eighth of the files, or one more.
    for (n, made) in [(1, MANY / 8), (MANY / 8 + 2, MANY / 4)] {
        let _ = std::fs::remove_dir_all(&path);
        let output = run().env("FATHOM_FAILPOINT", format!("deleting:{n}")).output().unwrap();
        assert_eq!(output.status.signal(), Some(libc::SIGKILL), "deleting:{n}: {}", texts(&output).1);
        assert_eq!(shards(&path, 0).len(), MANY + 1 - n);
        assert!(shards(&path, 2).len() >= made, "deleting:{n}");
    }
    let resumed = json(&run().output().unwrap());
    std::fs::remove_dir_all(&path).unwrap();
    assert_same(&resumed, &json(&run().output().unwrap()));
}

/// A new shard that is damaged, lost or exchanged is recomputed as long as its source exists. Once the source
/// is released, the run ends with an error: it never counts without the shard.
#[test]
fn damaged_new_shards_are_recomputed() {
    let expected = undisturbed();
    let spoil: [fn(&Path, &Path); 3] = [
        |file, _| {
            let mut bytes = std::fs::read(file).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle..middle + 4096].iter_mut().for_each(|byte| *byte ^= 0x55);
            std::fs::write(file, bytes).unwrap();
        },
        |file, _| std::fs::remove_file(file).unwrap(),
        |file, other| {
            std::fs::copy(other, file).unwrap();
        },
    ];
    // A valid file of the same place with other states, from a search with another solved state.
    let other = fathom_tests::tempdir().unwrap();
    let other = other.path().join("run");
    let ended = run(&other, "last").args(["--max-depth", "8"]).output().unwrap();
    assert!(ended.status.success());
    for spoil in spoil {
        for (point, can_be_made) in [("deleting", true), ("deleted", false)] {
            let directory = fathom_tests::tempdir().unwrap();
            let path = directory.path().join("run");
            killed(&path, point, 6 * SHARDS + 3);
            let file = path.join("layers/d008/s00002.layer");
            spoil(&file, &other.join("layers/d007/s00002.layer"));
            let output = run(&path, "two").output().unwrap();
            if can_be_made {
                assert_same(&json(&output), &expected);
                continue;
            }
            assert_eq!(output.status.code(), Some(1));
            let (_, err) = texts(&output);
            assert!(err.contains("s00002.layer"), "{err}");
            assert!(err.contains("its source was released"), "{err}");
            assert!(err.contains("start again"), "{err}");
            assert!(err.contains("shard 2 at depth 8"), "{err}");
            // The other files stay, so that a copy of the lost file is enough to continue.
            assert_eq!(shards(&path, 7).len(), SHARDS);
        }
    }
}

#[test]
fn lost_source_is_an_error() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    killed(&path, "deleted", 6 * SHARDS + 3);
    std::fs::remove_file(path.join("layers/d006/s00007.layer")).unwrap();
    let output = run(&path, "two").output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (_, err) = texts(&output);
    assert!(err.contains("s00007.layer") && err.contains("start again"), "{err}");
}

/// A disk that records the largest number of bytes that the files of a run take, and may refuse to delete.
#[derive(Debug)]
struct Watching {
    run: PathBuf,
    most: Mutex<u64>,
    deletes: bool,
}

impl Watching {
    fn watch(&self) -> io::Result<()> {
        let bytes = tree_bytes(&self.run.join("layers"))?;
        let most = &mut *self.most.lock().unwrap();
        *most = bytes.max(*most);
        Ok(())
    }
}

impl Disk for Watching {
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        LocalDisk.rename(from, to)?;
        self.watch()
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        LocalDisk.rename_new(from, to)?;
        self.watch()
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        if self.deletes { LocalDisk.remove(path) } else { Err(io::ErrorKind::PermissionDenied.into()) }
    }
}

fn question() -> SpaceSpec {
    let board: Board = SPACE.parse().unwrap();
    SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Multi, labels: Labels::distinct(12) }
}

/// With one kernel thread the search thread deletes files, with sixteen other threads do.
#[test]
fn undeletable_file_ends_the_run_which_can_continue() {
    let expected = undisturbed();
    for (keep, threads) in [(Keep::Last, 1), (Keep::Last, 16), (Keep::Two, 1), (Keep::Two, 16)] {
        let directory = fathom_tests::tempdir().unwrap();
        let path = directory.path().join("run");
        let setup = Setup { threads, shards: Some(SHARDS as u32), keep, ..Setup::default() };
        let refusing = Watching { run: path.clone(), most: Mutex::new(0), deletes: false };
        let mut run = setup.begin(question(), &path, &refusing).unwrap();
        let error = format!("{:#}", setup.go_on(&mut run, &refusing).unwrap_err());
        assert!(error.contains("could not be deleted; continue with 'fathom resume"), "{error}");
        assert!(error.contains("layers/d000/s0000"), "{error}");
        // What is released in depth 2 must be deleted before that depth is committed.
        let made = if keep == Keep::Two { 2 } else { 3 };
        assert_eq!(run.journal.layers().unwrap().len(), made, "{keep}, {threads} threads");
        let ended = setup.go_on(&mut run, &LocalDisk).unwrap();
        assert_eq!(expected["digest"], ended.digest.to_string(), "{keep}, {threads} threads");
    }
}

#[test]
fn peak_is_two_layers_and_the_shards_in_progress() {
    let peak = |keep| {
        let directory = fathom_tests::tempdir().unwrap();
        let path = directory.path().join("run");
        let setup = Setup { threads: 1, shards: Some(SHARDS as u32), keep, ..Setup::default() };
        let watching = Watching { run: path.clone(), most: Mutex::new(0), deletes: true };
        let mut run = setup.begin(question(), &path, &watching).unwrap();
        let summary = setup.go_on(&mut run, &watching).unwrap();
        let largest = run.journal.layers().unwrap().iter().map(|layer| layer.bytes).max().unwrap();
        (watching.most.into_inner().unwrap() as f64 / largest as f64, summary.digest)
    };
    let (three, expected) = peak(Keep::Last);
    let (two, digest) = peak(Keep::Two);
    assert_eq!(digest, expected);
    assert!(three > 2.8, "with --keep last the peak is three layers, not {three}");
    // One thread computes a shard while the source of another one is released; files end with whole blocks.
    assert!(two < 2.0 + 2.5 / SHARDS as f64, "{two} layers at the peak");
}

/// If three layers do not fit but two do, a run keeps two automatically, and `plan` has predicted it.
#[test]
fn disk_for_two_layers_is_enough() {
    let expected = undisturbed();
    let plan = |keep: &[&str]| {
        let mut command = fathom();
        json(&command.args(["plan", SPACE, "--json", "--threads", "1"]).args(keep).output().unwrap())
    };
    let planned = plan(&[]);
    let (three, two) = (&planned["disk_peak_bytes"], &planned["disk_peak_bytes_of_two"]);
    assert_eq!(two, &plan(&["--keep", "two"])["disk_peak_bytes"]);
    let (three, two) = (three.as_u64().unwrap(), two.as_u64().unwrap());
    assert!(two < three);
    let directory = fathom_tests::tempdir().unwrap();
    let begin = |name: &str, limit: u64, more: &[&str]| {
        let mut command = fathom();
        command.args(["run", SPACE, "--json", "--threads", "1", "--disk-limit", &format!("{limit}B")]);
        command.args(more).arg("--dir").arg(directory.path().join(name)).output().unwrap()
    };
    let found = begin("two", three - 1, &[]);
    assert!(texts(&found).1.contains("keeping two"), "{}", texts(&found).1);
    assert_eq!(json(&found)["counts"], expected["counts"]);
    let definition = std::fs::read_to_string(directory.path().join("two/run.toml")).unwrap();
    assert!(definition.contains("keep = \"two\""), "{definition}");
    for (limit, more) in [(two - 1, &[][..]), (three - 1, &["--keep", "last"])] {
        let refused = begin("refused", limit, more);
        assert_eq!(refused.status.code(), Some(2));
        assert!(texts(&refused).1.contains("needs up to"), "{}", texts(&refused).1);
        assert!(!directory.path().join("refused").exists());
    }
    // Workers of one machine share the files, and each may be ahead by some shards.
    let found = begin("workers", three - 1, &["--workers", "2", "--shards", "100"]);
    assert!(texts(&found).1.contains("keeping two"), "{}", texts(&found).1);
    assert_eq!(json(&found)["digest"], expected["digest"]);
}
