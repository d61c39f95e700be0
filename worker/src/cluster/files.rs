//! The files of the store that are open: one map for tasks and peers alike, so that each coset is checked
//! once.

use fathom_layer::map::Stamp;
use fathom_layer::{LayerError, LayerFile};
use fathom_run::{Depth, Geometry, Task};
use fathom_task::Store;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Open files.
#[derive(Clone, Debug)]
pub struct OpenFiles {
    store: &'static Store<'static>,
    geometry: Geometry,
    open: Arc<Mutex<BTreeMap<Task, Open>>>,
}

/// A file, and what the file system said of it before it was opened.
type Open = (Stamp, Arc<LayerFile>);

impl OpenFiles {
    /// None yet, of a store.
    pub fn new(store: &'static Store<'static>, geometry: Geometry) -> Self {
        Self { store, geometry, open: Arc::default() }
    }

    /// Opens a file, unless it is open. One that was changed or replaced since is opened again, so that its
    /// cosets are checked again.
    ///
    /// # Errors
    /// [`LayerError`] if it is missing, damaged or not the right one.
    pub fn open(&self, task: Task) -> Result<Arc<LayerFile>, LayerError> {
        let path = self.store.path(task.depth, task.shard);
        let stamp = Stamp::of(&path);
        if let (Ok(stamp), Some((opened, file))) = (&stamp, self.lock().get(&task))
            && stamp == opened
        {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(self.store.open_shard(&self.geometry, task.depth, task.shard)?);
        let Ok(stamp) = stamp else { return Ok(file) };
        let mut open = self.lock();
        match open.get(&task) {
            // Another thread was faster, and what it has checked need not be checked again.
            Some((opened, file)) if *opened == stamp => Ok(Arc::clone(file)),
            _ => {
                open.insert(task, (stamp, Arc::clone(&file)));
                Ok(file)
            }
        }
    }

    /// Forgets the files of a layer, because some are removed.
    pub fn forget(&self, depth: Depth) {
        self.lock().retain(|task, _| task.depth != depth);
    }

    /// Forgets a file, because it is removed. Its room is free when nobody reads it any more.
    pub fn forget_file(&self, task: Task) {
        self.lock().remove(&task);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Task, Open>> {
        self.open.lock().expect("nothing panics with the files")
    }
}
