//! A file written by another thread has the same bytes, and an error of that thread is returned by the
//! writer.

use fathom_layer::{Disk, DiskFile, Identity, LayerError, LayerWriter, LocalDisk, Totals};
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const COSETS: u32 = 300;
const PACKED_BYTES: u32 = 5000;
/// The buffers that are passed to the other thread.
const BUFFER_BYTES: usize = 4 * 4096;

/// A disk whose writes fail after a number of writes, on any thread.
#[derive(Clone, Debug)]
struct Failing {
    left: usize,
    /// The error, or a panic.
    error: Option<io::ErrorKind>,
    writes: Arc<AtomicUsize>,
}

#[derive(Debug)]
struct FailingFile(Failing, Box<dyn DiskFile>);

impl Disk for Failing {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(FailingFile(self.clone(), LocalDisk.create(path)?)))
    }
}

impl DiskFile for FailingFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let Self(disk, file) = self;
        if disk.writes.fetch_add(1, Ordering::Relaxed) < disk.left {
            return file.write_at(bytes, offset);
        }
        Err(disk.error.expect("a write that panics").into())
    }
    fn sync(&mut self) -> io::Result<()> {
        self.1.sync()
    }
    fn uncache(&mut self) {
        self.1.uncache();
    }
}

/// Writes a file.
fn write(disk: &dyn Disk, path: &Path, behind: bool) -> Result<(), LayerError> {
    let identity = Identity {
        fingerprint: [7; 32],
        depth: 2,
        shard: 0,
        first_coset: 0,
        cosets: COSETS,
        packed_bytes: PACKED_BYTES,
        row_bits: 8,
    };
    let mut writer = LayerWriter::create(disk, path, identity)?;
    writer.uncache();
    if behind {
        writer.write_behind(BUFFER_BYTES);
    }
    let mut stored = 0;
    for coset in 0..COSETS {
        let states = [0, 5, 4000, 5000][coset as usize % 4];
        let mut packed = vec![0; PACKED_BYTES as usize];
        packed.iter_mut().take(states).for_each(|byte| *byte = 1 << (coset % 8));
        writer.push(&packed, states as u32, states as u32)?;
        stored += states as u64;
    }
    writer.finish(Totals { stored, states: stored, ..Totals::default() })?;
    Ok(())
}

fn never() -> Failing {
    Failing { left: usize::MAX, error: None, writes: Arc::default() }
}

#[test]
fn writeback_produces_identical_bytes() {
    for directory in [std::env::temp_dir(), "/dev/shm".into()] {
        let directory = tempfile::tempdir_in(&directory).unwrap();
        let [here, behind] = ["here", "behind"].map(|name| directory.path().join(name));
        write(&LocalDisk, &here, false).unwrap();
        write(&LocalDisk, &behind, true).unwrap();
        assert!(std::fs::read(here).unwrap() == std::fs::read(behind).unwrap());
    }
}

#[test]
fn writeback_error_reaches_the_writer() {
    let directory = tempfile::tempdir().unwrap();
    let undisturbed = never();
    write(&undisturbed, &directory.path().join("whole"), true).unwrap();
    let writes = undisturbed.writes.load(Ordering::Relaxed);
    assert!(writes > 20, "a file takes {writes} writes");
    std::fs::remove_file(directory.path().join("whole")).unwrap();
    for error in [Some(io::ErrorKind::StorageFull), None] {
        for left in 0..writes - 1 {
            let disk = Failing { left, error, writes: Arc::default() };
            let failed = write(&disk, &directory.path().join("layer"), true).unwrap_err();
            assert_eq!(failed.is_disk_full(), error.is_some(), "{failed}");
            let LayerError::Io { action: "write", .. } = failed else {
                panic!("{failed}");
            };
            assert_eq!(disk.writes.load(Ordering::Relaxed), left + 1, "nothing is written after an error");
            assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "after {left} writes");
        }
    }
}
