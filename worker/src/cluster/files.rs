//! The open files of the store. Tasks and peers share one map, so that each coset is checked once.

use fathom_engine::run::{Depth, Geometry, Task};
use fathom_engine::task::Store;
use fathom_layer::map::Stamp;
use fathom_layer::{LayerError, LayerFile};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// The open files of a store.
#[derive(Clone, Debug)]
pub struct OpenFiles {
    store: &'static Store<'static>,
    geometry: Geometry,
    open: Arc<Mutex<BTreeMap<Task, Open>>>,
}

/// A file, and its metadata from just before it was opened.
type Open = (Stamp, Arc<LayerFile>);

impl OpenFiles {
    /// Creates an empty map of a store's files.
    pub fn new(store: &'static Store<'static>, geometry: Geometry) -> Self {
        Self { store, geometry, open: Arc::default() }
    }

    /// Opens a file, or returns it if it is open. A file that was changed or replaced in the meantime is
    /// opened again, so that its cosets are checked again.
    ///
    /// # Errors
    /// [`LayerError`] if the file is missing, damaged or of another shard.
    pub fn open(&self, task: Task) -> Result<Arc<LayerFile>, LayerError> {
        let path = self.store.path(task.depth, task.shard);
        let stamp = Stamp::new(&path);
        if let (Ok(stamp), Some((opened, file))) = (&stamp, self.lock().get(&task))
            && stamp == opened
        {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(self.store.open_shard(&self.geometry, task.depth, task.shard)?);
        let Ok(stamp) = stamp else { return Ok(file) };
        let mut open = self.lock();
        match open.get(&task) {
            // Another thread has opened the file in the meantime, and its checks need not be repeated.
            Some((opened, file)) if *opened == stamp => Ok(Arc::clone(file)),
            _ => {
                open.insert(task, (stamp, Arc::clone(&file)));
                Ok(file)
            }
        }
    }

    /// Forgets the files of a layer, because some of them are removed.
    pub fn forget(&self, depth: Depth) {
        self.lock().retain(|task, _| task.depth != depth);
    }

    /// Forgets a file, because it is removed. Its disk space is free once no reader has the file open.
    pub fn forget_file(&self, task: Task) {
        self.lock().remove(&task);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Task, Open>> {
        self.open.lock().expect("no thread panics while it holds the lock")
    }
}
