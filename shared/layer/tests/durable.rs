//! A layer file gets its name when it is durable, and is not written afterwards.

use fathom_layer::{Disk, DiskFile, Identity, LayerWriter, LocalDisk, Totals};
use std::io;
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

    fn remove(&self, path: &Path) -> io::Result<()> {
        note(&self.0, "remove");
        LocalDisk.remove(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        LocalDisk.create_directory(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        LocalDisk.remove_directory(path)
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

#[test]
fn a_file_is_durable_before_it_has_its_name() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s00000.layer");
    let disk = Noting::default();
    let identity = Identity {
        fingerprint: [0; 32],
        depth: 1,
        shard: 0,
        first_coset: 0,
        cosets: 1,
        packed_bytes: 64,
        row_bits: 8,
    };
    let mut writer = LayerWriter::create(&disk, &path, identity).unwrap();
    writer.push(&[1; 64], 64, 64).unwrap();
    writer.finish(Totals { stored: 64, states: 64, ..Totals::default() }).unwrap();
    assert_eq!(*disk.0.lock().unwrap(), ["create", "write", "sync", "rename", "sync directory"]);
}
