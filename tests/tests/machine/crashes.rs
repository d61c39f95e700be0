//! The process dies, or the power fails, at every single change that a run makes to its layers on disk; the
//! run is then resumed and must end as if nothing had happened.

use fathom_engine::directory::{Found, RunDirectory, look};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::summary::Summary;
use fathom_layer::{Disk, DiskFile, LocalDisk};
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::Setup;
use rusqlite::{Connection, OpenFlags};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tempfile::TempDir;

/// A disk that fails from a given operation on. The failing write may still write half of its bytes.
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
    /// The journal of the run, and its contents when the last operation before the failure began.
    journal: PathBuf,
    before: Option<Vec<u8>>,
    /// The directories of files whose contents were made durable.
    synced: BTreeSet<PathBuf>,
    /// The numbers of the files that were created, by their present names.
    names: BTreeMap<PathBuf, usize>,
    /// The files whose contents are not durable.
    unsynced: BTreeSet<usize>,
    /// Directories whose names are not durable.
    made: BTreeSet<PathBuf>,
    /// New names of files that are not durable.
    renamed: Vec<Rename>,
}

#[derive(Debug)]
struct Rename {
    from: PathBuf,
    to: PathBuf,
    /// The contents of the file that the renamed file replaced.
    replaced: Option<Vec<u8>>,
}

/// How a run is interrupted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Crash {
    /// The process dies, and the operating system keeps what was written.
    Process,
    /// The power fails. New names of files and directories that are not durable are lost, and so is half of
    /// the contents that are not.
    PowerWithNames,
    /// The power fails, and all names survive.
    PowerWithContents,
}

impl FailingDisk {
    fn after(operations: usize, error: io::ErrorKind, run: &Path) -> Self {
        Self(Arc::new(Mutex::new(State {
            left: operations,
            error,
            failed: None,
            done: 0,
            journal: run.join("run.db"),
            before: None,
            synced: BTreeSet::new(),
            names: BTreeMap::new(),
            unsynced: BTreeSet::new(),
            made: BTreeSet::new(),
            renamed: Vec::new(),
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    fn operation(&self, name: &'static str) -> io::Result<MutexGuard<'_, State>> {
        let mut state = self.state();
        match state.left {
            0 => {
                state.failed.get_or_insert(name);
                return Err(state.error.into());
            }
            1 => state.before = contents_of(&state.journal),
            _ => {}
        }
        state.left -= 1;
        state.done += 1;
        Ok(state)
    }

    /// Lets another process continue for a number of operations: what is not durable stays so.
    fn go_on_for(&self, operations: usize) {
        let mut state = self.state();
        (state.left, state.failed) = (operations, None);
    }

    /// Undoes what the crash may undo.
    fn crash(&self, crash: Crash) {
        let state = &mut *self.state();
        if crash == Crash::Process {
            return;
        }
        if crash == Crash::PowerWithNames {
            for Rename { from, to, replaced } in state.renamed.iter().rev() {
                let _ = fs::rename(to, from);
                if let Some(number) = state.names.remove(to) {
                    state.names.insert(from.clone(), number);
                }
                if let Some(contents) = replaced {
                    fs::write(to, contents).unwrap();
                }
            }
            for directory in &state.made {
                let _ = fs::remove_dir_all(directory);
            }
        }
        for (path, _) in state.names.iter().filter(|(_, number)| state.unsynced.contains(number)) {
            if let Ok(file) = File::options().write(true).open(path) {
                let length = file.metadata().unwrap().len();
                file.set_len(length / 2).unwrap();
            }
        }
    }

    /// Restores the journal to its state when the last operation before the failure began: the run ended
    /// between that operation and the transaction after it, if there was one. Returns whether the state was a
    /// different one.
    fn forget_last_transaction(&self) -> bool {
        let state = self.state();
        let Some(before) = &state.before else { return false };
        let is_other = contents_of(&state.journal).as_ref() != Some(before);
        fs::write(&state.journal, before).unwrap();
        is_other
    }
}

/// Returns the contents of a database that another thread may be writing to.
fn contents_of(database: &Path) -> Option<Vec<u8>> {
    let connection = Connection::open_with_flags(database, OpenFlags::SQLITE_OPEN_READ_WRITE).ok()?;
    connection.busy_timeout(Duration::from_secs(60)).unwrap();
    // During this query no other thread changes the file.
    let mut query = connection.prepare("SELECT name FROM sqlite_schema").ok()?;
    let mut rows = query.query([]).unwrap();
    rows.next().unwrap()?;
    Some(fs::read(database).unwrap())
}

impl Disk for FailingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let mut state = self.operation("create")?;
        let number = state.done;
        state.unsynced.insert(number);
        state.names.insert(path.into(), number);
        Ok(Box::new(FailingFile {
            disk: self.clone(),
            path: path.into(),
            number,
            file: LocalDisk.create(path)?,
        }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.operation("rename")?;
        let replaced = fs::read(to).ok();
        state.renamed.push(Rename { from: from.into(), to: to.into(), replaced });
        state.names.remove(to);
        if let Some(number) = state.names.remove(from) {
            state.names.insert(to.into(), number);
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
        let mut state = self.operation("remove")?;
        state.names.remove(path);
        state.renamed.retain(|rename| rename.to != path);
        LocalDisk.remove(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.operation("create directory")?;
        state.made.extend(path.ancestors().take_while(|path| !path.exists()).map(Path::to_owned));
        LocalDisk.create_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.operation("remove directory")?;
        LocalDisk.remove_directory(path)?;
        state.made.remove(path);
        Ok(())
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        let mut state = self.operation("sync directory")?;
        state.renamed.retain(|rename| rename.to.parent() != Some(path));
        state.made.retain(|made| made.parent() != Some(path));
        LocalDisk.sync_directory(path)
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        let mut state = self.operation("sync file")?;
        if let Some(number) = state.names.get(path).copied() {
            state.unsynced.remove(&number);
        }
        LocalDisk.sync_file(path)
    }
}

#[derive(Debug)]
struct FailingFile {
    disk: FailingDisk,
    /// The path under which the file was created.
    path: PathBuf,
    number: usize,
    file: Box<dyn DiskFile>,
}

impl DiskFile for FailingFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if let Err(error) = self.disk.operation("write").map(drop) {
            self.file.write_at(&bytes[..bytes.len() / 2], offset)?;
            return Err(error);
        }
        self.file.write_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.operation("sync")?;
        state.synced.extend(self.path.parent().map(Path::to_owned));
        state.unsynced.remove(&self.number);
        self.file.sync()
    }
}

fn question() -> SpaceSpec {
    let board: Board = "2x4".parse().unwrap();
    SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Single, labels: Labels::distinct(8) }
}

/// Starts a run on `disk`, or resumes the existing run. The layers go into `store` beside the run, or into
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

/// Creates a temporary directory: [`FailingDisk`] decides what becomes durable.
fn directory() -> TempDir {
    fathom_tests::tempdir().unwrap()
}

/// A run that is interrupted at some operation.
#[derive(Clone, Copy, Debug)]
struct Plan<'a> {
    question: &'a SpaceSpec,
    setup: Setup,
    store: Option<&'a str>,
    /// The last depth that another process has computed before.
    begun: Option<u32>,
}

impl<'a> Plan<'a> {
    fn new(question: &'a SpaceSpec, keep: Keep) -> Self {
        let setup = Setup { threads: 1, shards: Some(2), keep, ..Setup::default() };
        Self { question, setup, store: None, begun: None }
    }

    /// All layers wait for one checkpoint at the end.
    fn with_one_checkpoint(self) -> Self {
        Self { setup: Setup { checkpoint_every: Duration::from_secs(3600), ..self.setup }, ..self }
    }

    /// Starts the run, or continues it.
    fn attempt(&self, path: &Path, disk: &dyn Disk) -> anyhow::Result<Summary> {
        attempt_in(self.store, self.question, self.setup, path, disk)
    }

    /// Computes the layers that the earlier process computed.
    fn begin(&self, path: &Path) {
        if self.begun.is_some() {
            let setup = Setup { max_depth: self.begun, ..self.setup };
            attempt_in(self.store, self.question, setup, path, &LocalDisk).unwrap();
        }
    }
}

/// Interrupts a run at each of its operations, and resumes each interrupted run. Returns the operations that
/// failed.
fn crash_everywhere(plan: Plan<'_>, crashes: &[Crash]) -> BTreeSet<&'static str> {
    let undisturbed = plan.setup.search(plan.question.clone());
    let temporary = directory();
    let path = temporary.path().join("run");
    plan.begin(&path);
    let mut failed = BTreeSet::new();
    let mut forgotten = 0;
    let crashes = || crashes.iter().flat_map(|&crash| [(crash, false), (crash, true)]);
    // On a busy machine tables are kept in a file, which takes a few more operations.
    let operations = (0..).find(|&number| {
        crashes().any(|(crash, forgets)| match crash_at(number, plan, crash, forgets, &undisturbed) {
            Some((operation, is_forgotten)) => {
                failed.insert(operation);
                forgotten += usize::from(is_forgotten);
                false
            }
            None => true,
        })
    });
    let operations = operations.expect("a run ends");
    assert!(operations > 50, "several layers in 2 shards have more changes than {operations}");
    // After the only checkpoint of a run nothing is left to do.
    let has_one_checkpoint = plan.setup.checkpoint_every > Duration::ZERO;
    assert!(forgotten > 0 || has_one_checkpoint, "no crash came between an operation and a transaction");
    failed
}

/// Interrupts a run at one operation, and resumes it. If `forgets`, the last transaction of the journal is
/// undone if it came after the previous operation. Returns the operation, and whether there was such a
/// transaction; `None` if the run has fewer operations.
fn crash_at(
    number: usize,
    plan: Plan<'_>,
    crash: Crash,
    forgets: bool,
    undisturbed: &Summary,
) -> Option<(&'static str, bool)> {
    let temporary = directory();
    let path = temporary.path().join("run");
    plan.begin(&path);
    let disk = FailingDisk::after(number, io::ErrorKind::Other, &path);
    let ended = plan.attempt(&path, &disk);
    let Some(failed) = disk.state().failed else {
        ended.expect("no operation failed");
        return None;
    };
    ended.expect_err("a run with a failed operation fails");
    assert!(disk.state().done == number);
    let is_forgotten = forgets && disk.forget_last_transaction();
    disk.crash(crash);
    let at = format!("{crash:?} at operation {number} ({failed}), forgets {forgets}");
    let resumed = plan.attempt(&path, &LocalDisk).unwrap_or_else(|error| panic!("{at}: {error:#}"));
    assert_eq!(resumed.digest, undisturbed.digest, "{at}");
    assert_eq!(resumed.counts, undisturbed.counts);
    assert_eq!(resumed.classes, undisturbed.classes);
    assert!(resumed.complete);
    // The directory has only the files that the run should keep.
    let root = plan.store.map_or(path.clone(), |store| path.with_file_name(store));
    let layers: BTreeSet<PathBuf> = walk(&root.join("layers")).into_iter().collect();
    let first = if plan.setup.keep == Keep::All { 0 } else { resumed.counts.len() - 2 };
    let expected: BTreeSet<PathBuf> = (first..resumed.counts.len())
        .flat_map(|depth| [0, 1].map(|shard| root.join(format!("layers/d{depth:03}/s{shard:05}.layer"))))
        .collect();
    assert_eq!(layers, expected, "{at}");
    Some((failed, is_forgotten))
}

fn walk(path: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(path).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(walk(&path)) } else { found.push(path) }
    }
    found
}

const ALL: [&str; 7] =
    ["create", "create directory", "remove", "remove directory", "rename", "sync", "sync directory"];

const POWER: [Crash; 2] = [Crash::PowerWithNames, Crash::PowerWithContents];

#[test]
fn process_dies_at_any_change() {
    for keep in [Keep::Last, Keep::Two] {
        let hit = crash_everywhere(Plan::new(&question(), keep), &[Crash::Process]);
        assert!(ALL.iter().chain(&["write"]).all(|operation| hit.contains(operation)), "{hit:?}");
    }
}

#[test]
fn power_fails_at_any_change() {
    for keep in [Keep::Last, Keep::Two] {
        let hit = crash_everywhere(Plan::new(&question(), keep), &POWER);
        assert!(ALL.iter().chain(&["write"]).all(|operation| hit.contains(operation)), "{hit:?}");
    }
}

/// Everything that a process computes waits for one checkpoint at its end; with two layers kept, for the next
/// released shard. The first process has made nothing durable before, the second one has some layers from
/// which the run must be able to continue.
#[test]
fn crash_between_two_checkpoints() {
    for keep in [Keep::Last, Keep::Two, Keep::All] {
        for begun in [None, Some(4)] {
            let question = question();
            let plan = Plan { begun, ..Plan::new(&question, keep).with_one_checkpoint() };
            let hit = crash_everywhere(plan, &[Crash::Process, POWER[0], POWER[1]]);
            assert!(
                ["sync", "sync directory", "rename"].iter().all(|operation| hit.contains(operation)),
                "{hit:?}"
            );
        }
    }
}

/// A process dies, another one continues with the files that the first one has left, and then the power
/// fails. Some of the first one's files are not durable: what depends on them must not be committed before
/// they are.
#[test]
fn power_fails_after_another_process_has_continued() {
    let question = question();
    for keep in [Keep::Last, Keep::Two] {
        let often = Plan::new(&question, keep);
        let undisturbed = often.setup.search(question.clone());
        for first in [often, often.with_one_checkpoint()] {
            for number in 20.. {
                let temporary = directory();
                let path = temporary.path().join("run");
                let disk = FailingDisk::after(number, io::ErrorKind::Other, &path);
                if first.attempt(&path, &disk).is_ok() {
                    break;
                }
                // Long enough for at most one or two layers.
                disk.go_on_for(5 + number * 7 % 40);
                let _ = often.attempt(&path, &disk);
                disk.crash(POWER[number % 2]);
                let found = often
                    .attempt(&path, &LocalDisk)
                    .unwrap_or_else(|error| panic!("{first:?}, after operation {number}: {error:#}"));
                assert_eq!(found.digest, undisturbed.digest, "{first:?}, after operation {number}");
            }
        }
    }
}

/// The run also creates the store and its mark.
#[test]
fn power_fails_at_any_change_of_a_run_with_a_store() {
    let question = question();
    for keep in [Keep::Last, Keep::Two] {
        let plan = Plan { store: Some("store"), ..Plan::new(&question, keep) };
        let hit = crash_everywhere(plan, &POWER[..1]);
        assert!(ALL.iter().chain(&["write"]).all(|operation| hit.contains(operation)), "{hit:?}");
    }
}

#[test]
fn power_fails_while_layers_are_compressed() {
    let hit = crash_everywhere(Plan::new(&question(), Keep::All), &POWER);
    assert!(hit.contains("rename"), "{hit:?}");
}

#[test]
fn layers_removed_before_a_checkpoint_are_never_synced() {
    let question = question();
    let temporary = directory();
    let path = temporary.path().join("run");
    let disk = FailingDisk::after(usize::MAX, io::ErrorKind::Other, &path);
    let summary = Plan::new(&question, Keep::Last).with_one_checkpoint().attempt(&path, &disk).unwrap();
    let newest = summary.counts.len() - 1;
    let kept = [newest - 1, newest].map(|depth| path.join(format!("layers/d{depth:03}")));
    assert_eq!(disk.state().synced, BTreeSet::from_iter(kept.into_iter().chain([path])));
}

/// A disk that loses what was written to one file, and reports it once, when the file is synced.
#[derive(Debug)]
struct LosingDisk {
    lost: PathBuf,
    losses: AtomicUsize,
}

#[derive(Debug)]
struct LosingFile(Box<dyn DiskFile>);

impl Disk for LosingDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        let file = LocalDisk.create(path)?;
        // A layer is written under a temporary name that begins with the name of the layer.
        let name = |path: &Path| path.file_name().unwrap().to_str().unwrap().to_owned();
        let is_it = path.parent() == self.lost.parent() && name(path).starts_with(&name(&self.lost));
        match is_it && self.losses.fetch_add(1, Ordering::Relaxed) == 0 {
            true => Ok(Box::new(LosingFile(file))),
            false => Ok(file),
        }
    }
}

impl DiskFile for LosingFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        Err(io::Error::other("lost writes"))
    }
}

/// Until the machine is restarted, the file can be read as it was written.
#[test]
fn failed_sync_ends_the_run_and_the_file_is_recomputed() {
    let question = question();
    for (keep, checkpoint_every) in
        [(Keep::Last, Duration::ZERO), (Keep::Last, Duration::MAX), (Keep::Two, Duration::MAX)]
    {
        let plan = Plan::new(&question, keep);
        let plan = Plan { setup: Setup { checkpoint_every, ..plan.setup }, ..plan };
        let undisturbed = plan.setup.search(question.clone());
        let temporary = directory();
        let path = temporary.path().join("run");
        // One of the last two layers, which are synced in any case.
        let lost = path.join(format!("layers/d{:03}/s00001.layer", undisturbed.counts.len() - 2));
        let disk = LosingDisk { lost: lost.clone(), losses: AtomicUsize::new(0) };
        let error = format!("{:#}", plan.attempt(&path, &disk).unwrap_err());
        assert!(error.contains("could not be synced to disk") && error.contains("lost writes"), "{error}");
        assert!(error.contains(&format!("fathom resume {}", path.display())), "{error}");
        assert!(error.contains(&format!("cannot sync {}", lost.display())), "{error}");
        assert!(!lost.exists(), "{keep}");
        let committed = RunDirectory::open(&path).unwrap().journal.layers().unwrap().len();
        assert!(committed <= undisturbed.counts.len() - 2, "{keep}: {committed}");
        let found = plan.attempt(&path, &disk).unwrap();
        assert_eq!(found.digest, undisturbed.digest);
        assert_eq!(disk.losses.into_inner(), 2, "the file was written twice");
    }
}

/// The moves have no inverses, so every layer is read until the end of the run, compressed or not.
#[test]
fn power_fails_in_a_run_that_reads_all_layers() {
    let question = SpaceSpec { metric: Metric::Given, ..question() };
    let hit = crash_everywhere(Plan::new(&question, Keep::All), &POWER);
    assert!(hit.contains("rename"), "{hit:?}");
}

/// Both a write and a sync may find the disk full.
#[test]
fn full_disk_error_names_the_command_to_continue() {
    let question = question();
    let often = Plan::new(&question, Keep::Last);
    let digest = often.setup.search(question.clone()).digest;
    let mut failed = BTreeSet::new();
    for (plan, number) in (90..110).map(|number| (often, number)).chain([(often.with_one_checkpoint(), 90)]) {
        for (error, says) in [
            (io::ErrorKind::StorageFull, "the disk is full at depth"),
            (io::ErrorKind::QuotaExceeded, "the disk quota of this user is used up at depth"),
        ] {
            let temporary = directory();
            let path = temporary.path().join("run");
            let disk = FailingDisk::after(number, error, &path);
            let error = format!("{:#}", plan.attempt(&path, &disk).unwrap_err());
            failed.extend(disk.state().failed);
            assert!(error.contains(says), "{error}");
            assert!(error.contains(&format!("fathom resume {}", path.display())), "{error}");
            assert_eq!(plan.attempt(&path, &LocalDisk).unwrap().digest, digest);
        }
    }
    assert!(["write", "sync"].iter().all(|operation| failed.contains(operation)), "{failed:?}");
}
