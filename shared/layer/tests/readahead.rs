//! Reading ahead returns the same as the map, whatever the file system refuses.

use fathom_layer::direct_io::{ALIGNED_BYTES, Reader, Way};
use fathom_layer::readahead::ReadAhead;
use fathom_layer::{Disk, Identity, LayerError, LayerFile, LayerWriter, LocalDisk, ReadOnce, Totals};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const COSETS: u32 = 400;
const FIRST: u32 = 1000;
const PACKED_BYTES: u32 = 1000;
/// Buffers for a few cosets, so that a file has dozens of pieces.
const BUFFER_BYTES: usize = 5 * 4096;

fn identity() -> Identity {
    Identity {
        fingerprint: [5; 32],
        depth: 3,
        shard: 1,
        first_coset: FIRST,
        cosets: COSETS,
        packed_bytes: PACKED_BYTES,
        row_bits: 8,
    }
}

/// Writes a file of empty, sparse and dense cosets.
fn write(path: &Path) {
    let mut writer = LayerWriter::create(&LocalDisk, path, identity()).unwrap();
    let mut stored = 0;
    for coset in 0..COSETS {
        let mut packed = vec![0; PACKED_BYTES as usize];
        let states = [0, 3, 900, 1000][coset as usize % 4];
        packed.iter_mut().take(states).for_each(|byte| *byte = 1 << (coset % 8));
        writer.push(&packed, states as u32, states as u32).unwrap();
        stored += states as u64;
    }
    writer.finish(Totals { stored, states: stored, ..Totals::default() }).unwrap();
}

/// The outcome of reads of a [`Faulty`] disk.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The file system refuses.
    Refused,
    /// The disk fails.
    Failed,
    /// The thread that reads panics.
    Panicked,
}

/// A disk whose files are read by one method, or through the page cache if there is none, until a read fails.
#[derive(Clone, Debug)]
struct Faulty {
    way: Option<Way>,
    /// The reads before the fault.
    left: usize,
    end: End,
    reads: Arc<AtomicUsize>,
}

impl Faulty {
    fn new(way: Option<Way>, left: usize, end: End) -> Self {
        Self { way, left, end, reads: Arc::default() }
    }
}

#[derive(Debug)]
struct FaultyFile(Faulty, Box<dyn ReadOnce>);

/// A file that is read through the page cache.
#[derive(Debug)]
struct Plain(File);

impl ReadOnce for Plain {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64, _: usize) -> io::Result<usize> {
        self.0.read_at(buffer, offset)
    }
}

impl Disk for Faulty {
    fn open_once(&self, path: &Path) -> io::Result<Box<dyn ReadOnce>> {
        let file: Box<dyn ReadOnce> = match self.way {
            Some(way) => Box::new(Reader::open(path, way)?),
            None => Box::new(Plain(File::open(path)?)),
        };
        Ok(Box::new(FaultyFile(self.clone(), file)))
    }
}

impl ReadOnce for FaultyFile {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64, needed: usize) -> io::Result<usize> {
        let Self(disk, file) = self;
        if disk.reads.fetch_add(1, Ordering::Relaxed) < disk.left {
            return file.read_at(buffer, offset, needed);
        }
        match disk.end {
            End::Refused => Err(io::ErrorKind::Unsupported.into()),
            End::Failed => Err(io::Error::from_raw_os_error(libc::EIO)),
            End::Panicked => panic!("a read that panics"),
        }
    }
}

/// Reads all cosets but every 7th, each twice, and compares them with those that the map has. Returns whether
/// the file was read ahead at all.
fn compare(path: &Path, disk: &dyn Disk) -> Result<bool, LayerError> {
    let file = Arc::new(LayerFile::open(path, &identity())?);
    let wanted = |coset: &u32| !coset.is_multiple_of(7);
    let cosets = (FIRST..FIRST + COSETS).filter(wanted);
    let Some(mut ahead) = ReadAhead::begin(&file, disk, cosets.clone(), BUFFER_BYTES)? else {
        return Ok(false);
    };
    // A second map, because a coset that was checked in the first is not checked again.
    let other = LayerFile::open(path, &identity())?;
    for coset in cosets {
        for _ in 0..2 {
            let expected = other.coset(coset - FIRST);
            let stored = ahead.coset(coset)?;
            assert_eq!(stored.canonical(), expected?.canonical(), "coset {coset}");
        }
    }
    Ok(true)
}

/// Returns the methods by which a file can be read here.
fn ways(path: &Path) -> Vec<Option<Way>> {
    let mut memory = vec![0; 2 * ALIGNED_BYTES];
    let skip = memory.as_ptr().align_offset(ALIGNED_BYTES);
    let buffer = &mut memory[skip..][..ALIGNED_BYTES];
    let mut reads = |way| Reader::open(path, way).is_ok_and(|mut file| file.read_at(buffer, 0, 1).is_ok());
    let direct_io = [Way::DontCache, Way::Direct].into_iter().filter(|&way| reads(way)).map(Some);
    direct_io.chain([None]).collect()
}

#[test]
fn every_read_method_matches_the_map() {
    for directory in [std::env::temp_dir(), "/dev/shm".into()] {
        let directory = tempfile::tempdir_in(&directory).unwrap();
        let path = directory.path().join("s00001.layer");
        write(&path);
        compare(&path, &LocalDisk).unwrap();
        for way in ways(&path) {
            assert!(compare(&path, &Faulty::new(way, usize::MAX, End::Failed)).unwrap(), "{way:?}");
        }
    }
}

#[test]
fn midway_refusal_loses_no_data() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00001.layer");
    write(&path);
    let undisturbed = Faulty::new(None, usize::MAX, End::Refused);
    compare(&path, &undisturbed).unwrap();
    let reads = undisturbed.reads.load(Ordering::Relaxed);
    assert!(reads > 10, "the file has {reads} pieces");
    for end in [End::Refused, End::Panicked] {
        for left in 0..reads {
            let disk = Faulty::new(None, left, end);
            assert!(compare(&path, &disk).unwrap());
            assert_eq!(disk.reads.load(Ordering::Relaxed), left + 1, "the fault is met once");
        }
    }
}

#[test]
fn disk_failure_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00001.layer");
    write(&path);
    for left in [0, 1, 7] {
        let error = compare(&path, &Faulty::new(None, left, End::Failed)).unwrap_err();
        assert!(!error.is_damage());
        let LayerError::Io { action: "read", path: named, source } = error else {
            panic!("{error}");
        };
        assert_eq!((named, source.raw_os_error()), (path.clone(), Some(libc::EIO)));
    }
}

#[test]
fn damage_on_disk_is_detected() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00001.layer");
    write(&path);
    for way in ways(&path) {
        write(&path);
        let length = std::fs::metadata(&path).unwrap().len();
        let file = Arc::new(LayerFile::open(&path, &identity()).unwrap());
        let middle = File::options().write(true).open(&path).unwrap();
        let disk = Faulty::new(way, usize::MAX, End::Failed);
        // The file is opened, and is the one that is mapped; then its last dense coset changes.
        let open = || ReadAhead::begin(&file, &disk, FIRST..FIRST + COSETS, BUFFER_BYTES).unwrap().unwrap();
        let mut ahead = open();
        middle.write_all_at(&[0xff; 8], length - 500).unwrap();
        let last = FIRST + COSETS - 1;
        let error = (FIRST..=last).find_map(|coset| ahead.coset(coset).err()).expect("damage is found");
        assert!(matches!(error, LayerError::DamagedCoset { coset, .. } if coset == last), "{error}");
        drop(ahead);
    }
}

/// Where a map would end the process, a read returns an error that names the file and both lengths.
#[test]
fn shortened_file_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00001.layer");
    write(&path);
    // Within a block, and between two.
    for (way, kept) in ways(&path).into_iter().flat_map(|way| [(way, 60_000), (way, 61_440)]) {
        write(&path);
        let expected = std::fs::metadata(&path).unwrap().len();
        let file = Arc::new(LayerFile::open(&path, &identity()).unwrap());
        // The directory is read before the file is shortened.
        file.digest().unwrap();
        let disk = Faulty::new(way, usize::MAX, End::Failed);
        let mut ahead = ReadAhead::begin(&file, &disk, FIRST..FIRST + COSETS, BUFFER_BYTES).unwrap().unwrap();
        File::options().write(true).open(&path).unwrap().set_len(kept).unwrap();
        let error = (FIRST..FIRST + COSETS).find_map(|coset| ahead.coset(coset).err()).unwrap();
        let LayerError::WrongLength { got, expected: should, .. } = error else {
            panic!("{error}");
        };
        assert_eq!((got, should), (kept, expected));
    }
}

#[test]
fn replaced_file_is_not_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00001.layer");
    write(&path);
    let file = Arc::new(LayerFile::open(&path, &identity()).unwrap());
    let disk = Faulty::new(None, usize::MAX, End::Failed);
    let begins = || ReadAhead::begin(&file, &disk, FIRST..FIRST + COSETS, BUFFER_BYTES).unwrap().is_some();
    assert!(begins());
    write(&path);
    assert!(!begins(), "it has another inode");
    std::fs::remove_file(&path).unwrap();
    assert!(!begins());
}

#[test]
fn undersized_buffers_are_not_used() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00001.layer");
    write(&path);
    let file = Arc::new(LayerFile::open(&path, &identity()).unwrap());
    for (bytes, begins) in [(0, false), (2 * 4096, false), (3 * 4096, true)] {
        let disk = Faulty::new(None, usize::MAX, End::Failed);
        let ahead = ReadAhead::begin(&file, &disk, FIRST..FIRST + COSETS, bytes).unwrap();
        assert_eq!(ahead.is_some(), begins, "{bytes}");
    }
}
