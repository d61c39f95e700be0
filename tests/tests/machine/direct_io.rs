//! A search whose layers do not fit into its memory: the older layer is read ahead and bypasses the page
//! cache, and the new one is written behind, whatever a file system supports, refuses or loses.

use fathom_engine::directory::RunDirectory;
use fathom_engine::run::budget::memory_bytes;
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::summary::Summary;
use fathom_layer::direct_io::{Reader, Way};
use fathom_layer::{Disk, DiskFile, LocalDisk, ReadOnce};
use fathom_puzzle::{Board, Metric, PuzzleSpec};
use fathom_space::{Labels, Plan};
use fathom_tests::{Setup, assert_same, fathom, json, texts};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// 12! states in 14 layers; the largest have 1.4 MB.
const SPACE: &str = "3x4";
const LAYERS: usize = 14;
const SHARDS: usize = 2;

fn question() -> SpaceSpec {
    let board: Board = SPACE.parse().unwrap();
    SpaceSpec { source: PuzzleSpec::Board(board), metric: Metric::Multi, labels: Labels::distinct(12) }
}

/// Returns the memory with which the largest layers take two thirds of the cache.
fn little_memory() -> u64 {
    let space = question().space().unwrap();
    let plan = Plan::new(&space).unwrap();
    memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, 1) + (2 << 20)
}

fn setup(keep: Keep) -> Setup {
    Setup { threads: 1, shards: Some(SHARDS as u32), keep, memory_bytes: little_memory(), ..Setup::default() }
}

/// A disk that counts the reads that bypass the page cache and the writes behind, and fails at some point.
#[derive(Clone, Debug)]
struct Faulty {
    /// The way of reading that is tried first; `None` means through the page cache.
    way: Option<Way>,
    /// The number of reads of each file before its file system refuses.
    reads_left: usize,
    /// The number of writes behind before the disk is full.
    writes_left: usize,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    reads: AtomicUsize,
    refusals: AtomicUsize,
    writes_behind: AtomicUsize,
}

impl Default for Faulty {
    fn default() -> Self {
        Self { way: None, reads_left: usize::MAX, writes_left: usize::MAX, counts: Arc::default() }
    }
}

impl Faulty {
    fn count(&self, of: impl Fn(&Counts) -> &AtomicUsize) -> usize {
        of(&self.counts).load(Ordering::Relaxed)
    }
}

#[derive(Debug)]
struct FaultyFile(Faulty, Box<dyn DiskFile>);

#[derive(Debug)]
struct FaultyReader(Faulty, Box<dyn ReadOnce>);

/// A file that is read through the page cache.
#[derive(Debug)]
struct Plain(File);

impl ReadOnce for Plain {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64, _: usize) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

impl Disk for Faulty {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FaultyFile(self.clone(), LocalDisk.create(path)?)))
    }
    fn open_once(&self, path: &Path) -> io::Result<Box<dyn ReadOnce>> {
        let file: Box<dyn ReadOnce> = match self.way {
            Some(way) => Box::new(Reader::open(path, way)?),
            None => Box::new(Plain(File::open(path)?)),
        };
        Ok(Box::new(FaultyReader(self.clone(), file)))
    }
}

impl DiskFile for FaultyFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Self(disk, file) = self;
        if std::thread::current().name() == Some("write-behind") {
            let before = disk.counts.writes_behind.fetch_add(1, Ordering::Relaxed);
            if before >= disk.writes_left {
                file.write_at(&bytes[..bytes.len() / 2], offset)?;
                return Err(io::ErrorKind::StorageFull.into());
            }
        }
        file.write_at(bytes, offset)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.1.sync()
    }
    fn uncache(&mut self) {
        self.1.uncache();
    }
}

impl ReadOnce for FaultyReader {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64, needed: usize) -> io::Result<usize> {
        let Self(disk, file) = self;
        disk.counts.reads.fetch_add(1, Ordering::Relaxed);
        match disk.reads_left.checked_sub(1) {
            Some(left) => {
                disk.reads_left = left;
                file.read_at(buffer, offset, needed)
            }
            None => {
                disk.counts.refusals.fetch_add(1, Ordering::Relaxed);
                Err(io::ErrorKind::Unsupported.into())
            }
        }
    }
}

/// Searches on a disk, to the end if it can.
fn search(setup: Setup, path: &Path, disk: &dyn Disk) -> anyhow::Result<Summary> {
    let mut run = match path.exists() {
        true => RunDirectory::open(path)?,
        false => setup.begin(question(), path, disk)?,
    };
    setup.go_on(&mut run, disk)
}

fn assert_equal(found: &Summary, expected: &Summary) {
    assert_eq!(found.digest, expected.digest);
    assert_eq!(found.counts, expected.counts);
    assert_eq!(found.classes, expected.classes);
    assert!(found.complete);
}

#[test]
fn all_ways_of_reading_and_writing_give_the_same_digest() {
    let expected = Setup::default().search(question());
    for keep in [Keep::Last, Keep::Two] {
        for (root, way, reads_left) in [
            (std::env::temp_dir(), None, usize::MAX),
            (std::env::temp_dir(), Some(Way::DontCache), usize::MAX),
            (std::env::temp_dir(), Some(Way::Direct), usize::MAX),
            // A file system that refuses immediately, or in the middle of each file.
            (std::env::temp_dir(), None, 0),
            (std::env::temp_dir(), None, 20),
            // Linux 6.18 cannot bypass the page cache for files in memory.
            ("/dev/shm".into(), Some(Way::DontCache), usize::MAX),
        ] {
            let Ok(directory) = tempfile::tempdir_in(&root) else {
                continue;
            };
            let disk = Faulty { way, reads_left, ..Faulty::default() };
            assert_equal(&search(setup(keep), &directory.path().join("run"), &disk).unwrap(), &expected);
            assert!(disk.count(|counts| &counts.writes_behind) > 100);
            let (reads, refusals) =
                (disk.count(|counts| &counts.reads), disk.count(|counts| &counts.refusals));
            match (way, reads_left) {
                (Some(_), _) => {}
                (None, usize::MAX) => assert!(reads > 100 && refusals == 0, "{reads} {refusals}"),
                // A file with fewer pieces is read whole.
                (None, left) => assert!(refusals > 1 && reads >= refusals * (left + 1), "{reads} {refusals}"),
            }
        }
    }
    // With more memory nothing bypasses the page cache.
    let directory = tempfile::tempdir().unwrap();
    let disk = Faulty::default();
    let found = search(Setup::default(), &directory.path().join("run"), &disk).unwrap();
    assert_equal(&found, &expected);
    assert_eq!(disk.count(|counts| &counts.reads) + disk.count(|counts| &counts.writes_behind), 0);
}

#[test]
fn disk_fills_up_during_writeback() {
    let expected = Setup::default().search(question());
    for keep in [Keep::Last, Keep::Two] {
        let whole = Faulty::default();
        let directory = tempfile::tempdir().unwrap();
        search(setup(keep), &directory.path().join("whole"), &whole).unwrap();
        let writes = whole.count(|counts| &counts.writes_behind);
        let step = writes / fathom_slow::choose(7, 61);
        for writes_left in (0..writes).step_by(step) {
            let path = directory.path().join(writes_left.to_string());
            let disk = Faulty { writes_left, ..Faulty::default() };
            let error = search(setup(keep), &path, &disk).unwrap_err();
            assert!(format!("{error:#}").contains("the disk is full at depth"), "{error:#}");
            // The error ends the task, but a task of the other file may be in progress.
            assert!(disk.count(|counts| &counts.writes_behind) > writes_left);
            assert_equal(&search(setup(keep), &path, &LocalDisk).unwrap(), &expected);
        }
    }
}

/// Damage to the older layer on the disk is found wherever the layer is read, and a copy of the file is
/// enough to continue.
#[test]
fn damage_to_the_older_layer_is_found() {
    let expected = Setup::default().search(question());
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let half = Setup { max_depth: Some(9), ..setup(Keep::Last) };
    search(half, &path, &LocalDisk).unwrap();
    let damaged = path.join("layers/d008/s00001.layer");
    let whole = std::fs::read(&damaged).unwrap();
    let refusing = Faulty { reads_left: 0, ..Faulty::default() };
    for disk in [Faulty::default(), refusing] {
        let at = whole.len() as u64 / 3 * 2;
        let byte = whole[at as usize] ^ 0x55;
        File::options().write(true).open(&damaged).unwrap().write_all_at(&[byte], at).unwrap();
        let error = format!("{:#}", search(setup(Keep::Last), &path, &disk).unwrap_err());
        assert!(error.contains("d008/s00001.layer is damaged at coset"), "{error}");
        assert!(error.contains("restore the file from a backup"), "{error}");
        assert!(disk.count(|counts| &counts.reads) > 0);
        std::fs::write(&damaged, &whole).unwrap();
    }
    assert_equal(&search(setup(Keep::Last), &path, &LocalDisk).unwrap(), &expected);
}

/// Files that are synced while the next ones are computed count only as started, until their tasks are
/// reported.
#[test]
fn killed_between_write_and_sync() {
    let run = |path: &Path, keep: &str| {
        let mut command: Command = fathom();
        command.args(["run", SPACE, "--json", "-q", "--threads", "1"]);
        command.args(["--keep", keep, "--shards", &SHARDS.to_string()]);
        command.args(["--memory", &format!("{}B", little_memory()), "--dir"]).arg(path);
        command
    };
    let directory = tempfile::tempdir().unwrap();
    let expected = json(&run(&directory.path().join("whole"), "last").output().unwrap());
    for keep in ["last", "two"] {
        for n in [LAYERS / 2 * SHARDS, 9 * SHARDS + 1, 10 * SHARDS, 11 * SHARDS + 1] {
            let path = directory.path().join(format!("{keep}-{n}"));
            let output = run(&path, keep).env("FATHOM_FAILPOINT", format!("writing:{n}")).output().unwrap();
            assert_eq!(output.status.signal(), Some(libc::SIGKILL), "{n}: {}", texts(&output).1);
            assert_same(&json(&run(&path, keep).output().unwrap()), &expected);
            let verified = fathom().arg("verify").arg(&path).output().unwrap();
            assert!(verified.status.success(), "{}", texts(&verified).1);
        }
    }
}
