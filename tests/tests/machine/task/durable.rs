//! Which directories of a store are synced, and how often.

use fathom_engine::run::Depth;
use fathom_engine::task::Store;
use fathom_layer::{Disk, LocalDisk};
use std::io;
use std::path::Path;
use std::sync::Mutex;

/// Records the names of the directories that are synced.
#[derive(Debug, Default)]
struct Recording(Mutex<Vec<String>>);

impl Recording {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }
}

impl Disk for Recording {
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.0.lock().unwrap().push(path.file_name().unwrap().to_str().unwrap().into());
        LocalDisk.sync_directory(path)
    }
}

#[test]
fn directory_of_a_layer_is_synced_once_for_all_shards() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    std::fs::create_dir(&run).unwrap();
    let disk = Recording::default();
    let store = Store::at(&run, &disk).unwrap();
    let prepare = |depth| {
        store.prepare(Depth(depth)).unwrap();
        disk.take()
    };
    let both = ["layers", "run"];
    assert_eq!(prepare(0), both);
    assert!(prepare(0).is_empty());
    assert_eq!(prepare(1), both);
    assert!(prepare(1).is_empty());
    // A directory that is created again is a new one.
    store.remove_empty(Depth(1)).unwrap();
    assert_eq!(prepare(1), both);
    std::fs::remove_dir(run.join("layers/d001")).unwrap();
    assert_eq!(prepare(1), both);
}
