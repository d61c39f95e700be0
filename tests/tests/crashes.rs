//! The process dies, or the power fails, at every single change that a run makes to its layers on disk; the
//! run is then resumed and must end as if nothing had happened.

use fathom_engine::directory::{Found, RunDirectory, look};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::summary::Summary;
use fathom_layer::{Disk, DiskFile, LocalDisk};
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::Setup;
use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tempfile::TempDir;

/// A disk that fails from some operation on. The failing write may still write half of its bytes.
#[derive(Clone, Debug)]
struct FailingDisk(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    /// The number of operations before the first failure.
    left: usize,
    /// The kind of the error that failing operations return.
    error: io::ErrorKind,
    /// The operation that failed first.
    failed: Option<&'static str>,
    done: usize,
    /// The directories of files whose contents were made durable.
    synced: BTreeSet<PathBuf>,
    /// Files whose contents are not durable, and new names that are not.
    unsynced: BTreeSet<PathBuf>,
    renamed: Vec<Rename>,
}

#[derive(Debug)]
struct Rename {
    from: PathBuf,
    to: PathBuf,
    /// The contents of the file that the renamed file replaced.
    replaced: Option<Vec<u8>>,
}

impl FailingDisk {
    fn after(operations: usize, error: io::ErrorKind) -> Self {
        let (failed, synced, unsynced, renamed) = (None, BTreeSet::new(), BTreeSet::new(), Vec::new());
        let state = State { left: operations, error, failed, done: 0, synced, unsynced, renamed };
        Self(Arc::new(Mutex::new(state)))
    }

    fn operation(&self, name: &'static str) -> io::Result<()> {
        let mut state = self.0.lock().unwrap();
        if state.left == 0 {
            state.failed.get_or_insert(name);
            return Err(state.error.into());
        }
        state.left -= 1;
        state.done += 1;
        Ok(())
    }

    /// Lets another process go on, for so many operations: what is not durable stays so.
    fn go_on_for(&self, operations: usize) {
        let mut state = self.0.lock().unwrap();
        (state.left, state.failed) = (operations, None);
    }

    /// Undoes what a power cut may undo: renames that are not durable, and half of the contents that are not.
    fn cut_power(&self) {
        let state = &mut *self.0.lock().unwrap();
        for Rename { from, to, replaced } in state.renamed.iter().rev() {
            let _ = std::fs::rename(to, from);
            if state.unsynced.remove(to) {
                state.unsynced.insert(from.clone());
            }
            if let Some(contents) = replaced {
                std::fs::write(to, contents).unwrap();
            }
        }
        for path in &state.unsynced {
            if let Ok(file) = File::options().write(true).open(path) {
                let length = file.metadata().unwrap().len();
                file.set_len(length / 2).unwrap();
            }
        }
    }
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.operation("create")?;
        self.0.lock().unwrap().unsynced.insert(path.into());
        Ok(Box::new(FailingFile { disk: self.clone(), path: path.into(), file: LocalDisk.create(path)? }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.operation("rename")?;
        let replaced = std::fs::read(to).ok();
        let state = &mut *self.0.lock().unwrap();
        state.renamed.push(Rename { from: from.into(), to: to.into(), replaced });
        state.unsynced.remove(to);
        if state.unsynced.remove(from) {
            state.unsynced.insert(to.into());
        }
        LocalDisk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        match to.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.rename(from, to),
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.operation("remove")?;
        let state = &mut *self.0.lock().unwrap();
        state.unsynced.remove(path);
        state.renamed.retain(|rename| rename.to != path);
        LocalDisk.remove(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.operation("create directory")?;
        LocalDisk.create_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.operation("remove directory")?;
        LocalDisk.remove_directory(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.operation("sync directory")?;
        self.0.lock().unwrap().renamed.retain(|rename| rename.to.parent() != Some(path));
        LocalDisk.sync_directory(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.operation("sync file")?;
        self.0.lock().unwrap().unsynced.remove(path);
        LocalDisk.sync_file(path)
    }
}

#[derive(Debug)]
struct FailingFile {
    disk: FailingDisk,
    path: PathBuf,
    file: Box<dyn DiskFile>,
}

impl DiskFile for FailingFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Err(error) = self.disk.operation("write") {
            self.file.write_at(&bytes[..bytes.len() / 2], offset)?;
            return Err(error);
        }
        self.file.write_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.disk.operation("sync")?;
        let state = &mut *self.disk.0.lock().unwrap();
        state.synced.extend(self.path.parent().map(Path::to_owned));
        // A file that was not synced may have its final name by now.
        if !state.unsynced.remove(&self.path)
            && let Some(rename) = state.renamed.iter().rev().find(|rename| rename.from == self.path)
        {
            state.unsynced.remove(&rename.to);
        }
        self.file.sync()
    }
}

fn question() -> SpaceSpec {
    let board: Board = "2x4".parse().unwrap();
    SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Single, labels: Labels::distinct(8) }
}

/// Begins a run on `disk`, or resumes the run that is there. The layers go into `store` beside the run, or into
/// its directory.
fn attempt_in(
    store: Option<&str>,
    question: &SpaceSpec,
    setup: Setup,
    path: &Path,
    disk: &dyn Disk,
) -> anyhow::Result<Summary> {
    let store = store.map(|store| path.with_file_name(store));
    let mut run = match look(path)? {
        Found::Run => RunDirectory::open(path)?,
        Found::Nothing => setup.begin_in(question.clone(), path, store.as_deref(), disk)?,
        Found::Other => panic!("the run directory is not recognised any more"),
    };
    setup.go_on(&mut run, disk)
}

fn attempt(question: &SpaceSpec, setup: Setup, path: &Path, disk: &dyn Disk) -> anyhow::Result<Summary> {
    attempt_in(None, question, setup, path, disk)
}

/// Makes a temporary directory: [`FailingDisk`] decides what becomes durable.
fn directory() -> TempDir {
    fathom_tests::tempdir().unwrap()
}

/// Fails a run at each of its operations, and resumes each failed run. Returns the operations that failed.
fn fail_everywhere(
    question: &SpaceSpec,
    keep: Keep,
    error: io::ErrorKind,
    power_cut: bool,
) -> BTreeSet<&'static str> {
    let setup = Setup { threads: 1, shards: Some(2), keep, ..Setup::default() };
    fail_everywhere_with(setup, None, question, error, power_cut)
}

fn fail_everywhere_with(
    setup: Setup,
    store: Option<&str>,
    question: &SpaceSpec,
    error: io::ErrorKind,
    power_cut: bool,
) -> BTreeSet<&'static str> {
    let undisturbed = setup.search(question.clone());
    let temporary = directory();
    let disk = FailingDisk::after(usize::MAX, error);
    attempt_in(store, question, setup, &temporary.path().join("run"), &disk).unwrap();
    let operations = disk.0.lock().unwrap().done;
    assert!(operations > 100, "a run of 11 layers or more in 2 shards has more changes than {operations}");
    let fail = |number| fail_at(number, setup, store, question, error, power_cut, &undisturbed);
    (0..operations).map(fail).collect()
}

/// Fails a run at one operation, and resumes it. Returns the operation.
fn fail_at(
    number: usize,
    setup: Setup,
    store: Option<&str>,
    question: &SpaceSpec,
    error: io::ErrorKind,
    power_cut: bool,
    undisturbed: &Summary,
) -> &'static str {
    let temporary = directory();
    let path = temporary.path().join("run");
    let disk = FailingDisk::after(number, error);
    attempt_in(store, question, setup, &path, &disk).unwrap_err();
    let failed = disk.0.lock().unwrap().failed.expect("an operation failed");
    assert!(disk.0.lock().unwrap().done == number);
    if power_cut {
        disk.cut_power();
    }
    let resumed = attempt_in(store, question, setup, &path, &LocalDisk)
        .unwrap_or_else(|error| panic!("after operation {number} ({failed}): {error:#}"));
    assert_eq!(resumed.digest, undisturbed.digest, "after operation {number} ({failed})");
    assert_eq!(resumed.counts, undisturbed.counts);
    assert_eq!(resumed.classes, undisturbed.classes);
    assert!(resumed.complete);
    // The directory has only the files that the run should keep.
    let root = store.map_or(path.clone(), |store| path.with_file_name(store));
    let layers: BTreeSet<PathBuf> = walk(&root.join("layers")).into_iter().collect();
    let first = if setup.keep == Keep::All { 0 } else { resumed.counts.len() - 2 };
    let expected: BTreeSet<PathBuf> = (first..resumed.counts.len())
        .flat_map(|depth| [0, 1].map(|shard| root.join(format!("layers/d{depth:03}/s{shard:05}.layer"))))
        .collect();
    assert_eq!(layers, expected, "after operation {number} ({failed})");
    failed
}

fn walk(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

const ALL: [&str; 7] =
    ["create", "create directory", "remove", "remove directory", "rename", "sync", "sync directory"];

#[test]
fn the_process_dies_at_any_change() {
    for keep in [Keep::Last, Keep::Two] {
        let hit = fail_everywhere(&question(), keep, io::ErrorKind::Other, false);
        assert!(ALL.iter().chain(&["write"]).all(|operation| hit.contains(operation)), "{hit:?}");
    }
}

#[test]
fn the_power_fails_at_any_change() {
    for keep in [Keep::Last, Keep::Two] {
        let hit = fail_everywhere(&question(), keep, io::ErrorKind::Other, true);
        assert!(ALL.iter().chain(&["write"]).all(|operation| hit.contains(operation)), "{hit:?}");
    }
}

/// A process dies, another one goes on with the files that the first one has left, and then the power fails.
/// Of the first one's files some are not durable: what rests on them must not be committed before they are.
#[test]
fn the_power_fails_after_another_process_has_gone_on() {
    let hour = Duration::from_secs(3600);
    for (keep, sync_after) in [(Keep::Last, hour), (Keep::Last, Duration::ZERO), (Keep::Two, Duration::ZERO)]
    {
        let setup = Setup { threads: 1, shards: Some(2), keep, ..Setup::default() };
        let undisturbed = setup.search(question());
        let first = Setup { sync_after, ..setup };
        for number in 20.. {
            let temporary = directory();
            let path = temporary.path().join("run");
            let disk = FailingDisk::after(number, io::ErrorKind::Other);
            if attempt(&question(), first, &path, &disk).is_ok() {
                break;
            }
            // Long enough for one or two layers, at most.
            disk.go_on_for(5 + number * 7 % 40);
            let _ = attempt(&question(), setup, &path, &disk);
            disk.cut_power();
            let found = attempt(&question(), setup, &path, &LocalDisk)
                .unwrap_or_else(|error| panic!("{keep:?}, after operation {number}: {error:#}"));
            assert_eq!(found.digest, undisturbed.digest, "{keep:?}, after operation {number}");
        }
    }
}

/// The store and its mark are made in the run, too.
#[test]
fn the_power_fails_at_any_change_of_a_run_with_a_store() {
    for keep in [Keep::Last, Keep::Two] {
        let setup = Setup { threads: 1, shards: Some(2), keep, ..Setup::default() };
        let hit = fail_everywhere_with(setup, Some("store"), &question(), io::ErrorKind::Other, true);
        assert!(ALL.iter().chain(&["write"]).all(|operation| hit.contains(operation)), "{hit:?}");
    }
}

#[test]
fn the_power_fails_while_layers_are_archived() {
    let hit = fail_everywhere(&question(), Keep::All, io::ErrorKind::Other, true);
    assert!(hit.contains("rename"), "{hit:?}");
}

/// All depths are made durable together at the end, so a crash before that undoes everything.
#[test]
fn the_power_fails_while_depths_wait_to_be_made_durable() {
    for keep in [Keep::Last, Keep::All] {
        let sync_after = Duration::from_secs(3600);
        let setup = Setup { threads: 1, shards: Some(2), keep, sync_after, ..Setup::default() };
        let hit = fail_everywhere_with(setup, None, &question(), io::ErrorKind::Other, true);
        assert!(hit.contains("sync") && hit.contains("rename"), "{hit:?}");
    }
}

#[test]
fn a_young_search_makes_durable_only_what_it_keeps() {
    let sync_after = Duration::from_secs(3600);
    let setup = Setup { threads: 1, shards: Some(2), sync_after, ..Setup::default() };
    let temporary = directory();
    let path = temporary.path().join("run");
    let disk = FailingDisk::after(usize::MAX, io::ErrorKind::Other);
    let summary = attempt(&question(), setup, &path, &disk).unwrap();
    let newest = summary.counts.len() - 1;
    let kept = [newest - 1, newest].map(|depth| path.join(format!("layers/d{depth:03}")));
    let synced = disk.0.lock().unwrap().synced.clone();
    assert_eq!(synced, BTreeSet::from_iter(kept.into_iter().chain([path])));
}

/// The moves have no inverses, so every layer is read until the end of the run, compressed or not.
#[test]
fn the_power_fails_where_all_layers_are_read() {
    let question = SpaceSpec { metric: Metric::Given, ..question() };
    let hit = fail_everywhere(&question, Keep::All, io::ErrorKind::Other, true);
    assert!(hit.contains("rename"), "{hit:?}");
}

#[test]
fn a_full_disk_is_an_error_that_says_how_to_go_on() {
    let setup = Setup { threads: 1, shards: Some(2), ..Setup::default() };
    let temporary = directory();
    let path = temporary.path().join("run");
    let disk = FailingDisk::after(100, io::ErrorKind::StorageFull);
    let error = format!("{:#}", attempt(&question(), setup, &path, &disk).unwrap_err());
    assert!(error.contains("the disk is full at depth"), "{error}");
    assert!(error.contains(&format!("fathom resume {}", path.display())), "{error}");
    let resumed = attempt(&question(), setup, &path, &LocalDisk).unwrap();
    assert_eq!(resumed.digest, setup.search(question()).digest);
}

#[test]
fn a_quota_that_is_used_up_is_told_as_that() {
    let setup = Setup { threads: 1, shards: Some(2), ..Setup::default() };
    let temporary = directory();
    let path = temporary.path().join("run");
    let disk = FailingDisk::after(100, io::ErrorKind::QuotaExceeded);
    let error = format!("{:#}", attempt(&question(), setup, &path, &disk).unwrap_err());
    assert!(error.contains("the quota of this user is used up at depth"), "{error}");
    assert!(error.contains(&format!("fathom resume {}", path.display())), "{error}");
}
