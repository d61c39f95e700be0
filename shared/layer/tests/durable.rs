//! A layer file gets its final name when it is durable, and is not written afterwards.

use fathom_layer::map::Stamp;
use fathom_layer::{Disk, DiskFile, Identity, LayerWriter, LocalDisk, Totals, Written};
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::{Arc, Mutex};

type Steps = Arc<Mutex<Vec<&'static str>>>;

/// Records the operations on the local file system.
#[derive(Debug, Default)]
struct Noting(Steps);

#[derive(Debug)]
struct NotingFile(Steps, Box<dyn DiskFile>);

fn note(steps: &Steps, step: &'static str) {
    let mut steps = steps.lock().unwrap();
    if steps.last() != Some(&step) {
        steps.push(step);
    }
}

impl Disk for Noting {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        note(&self.0, "create");
        Ok(Box::new(NotingFile(Arc::clone(&self.0), LocalDisk.create(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        note(&self.0, "rename");
        LocalDisk.rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        note(&self.0, "rename");
        LocalDisk.rename_new(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        note(&self.0, "remove");
        LocalDisk.remove(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        note(&self.0, "sync directory");
        LocalDisk.sync_directory(path)
    }
}

impl DiskFile for NotingFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        note(&self.0, "write");
        self.1.write_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        note(&self.0, "sync");
        self.1.sync()
    }
}

fn begun<'d>(disk: &'d dyn Disk, path: &Path) -> LayerWriter<'d> {
    let identity = Identity {
        fingerprint: [0; 32],
        depth: 1,
        shard: 0,
        first_coset: 0,
        cosets: 1,
        packed_bytes: 64,
        row_bits: 8,
    };
    let mut writer = LayerWriter::create(disk, path, identity).unwrap();
    writer.push(&[1; 64], 64, 64).unwrap();
    writer
}

fn finished(writer: LayerWriter<'_>) -> Written {
    writer.finish(Totals { stored: 64, states: 64, ..Totals::default() }).unwrap()
}

/// Two processes write the same file of a shared store, with or without an existing file.
#[test]
fn rename_replaces_only_the_observed_file() {
    for is_first in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s00000.layer");
        let inode = || fs::metadata(&path).ok().map(|file| file.ino());
        if !is_first {
            finished(begun(&LocalDisk, &path));
        }
        let before = inode();
        assert_eq!(before.is_none(), is_first);
        let [one, other] = [(), ()].map(|()| {
            let mut writer = begun(&LocalDisk, &path);
            writer.replace_only_what_is_there();
            writer
        });
        assert!(finished(one).is_in_place);
        let there = inode();
        assert_ne!(there, before);
        assert!(!finished(other).is_in_place);
        assert_eq!((inode(), fs::read_dir(directory.path()).unwrap().count()), (there, 1));
        // A process that has read the file has claimed it; a missing file may be replaced by any other.
        let mut writer = begun(&LocalDisk, &path);
        writer.replace_only_what_is_there();
        Stamp::claim(&path).unwrap();
        assert!(!finished(writer).is_in_place);
        let mut writer = begun(&LocalDisk, &path);
        writer.replace_only_what_is_there();
        fs::remove_file(&path).unwrap();
        assert!(finished(writer).is_in_place);
        // A dangling link does not count as a file.
        for target in ["absent", "s00000.layer"] {
            let mut writer = begun(&LocalDisk, &path);
            writer.replace_only_what_is_there();
            fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
            assert!(finished(writer).is_in_place);
            assert!(fs::symlink_metadata(&path).unwrap().is_file());
        }
    }
}

#[test]
fn file_is_synced_before_rename() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00000.layer");
    let disk = Noting::default();
    finished(begun(&disk, &path));
    assert_eq!(*disk.0.lock().unwrap(), ["create", "write", "sync", "rename", "sync directory"]);
}
