//! The files of the store that are open: one map for tasks and peers alike, so that each coset is checked once.

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
    open: Arc<Mutex<BTreeMap<Task, Arc<LayerFile>>>>,
}

impl OpenFiles {
    /// None yet, of a store.
    pub fn new(store: &'static Store<'static>, geometry: Geometry) -> Self {
        Self { store, geometry, open: Arc::default() }
    }

    /// Opens a file, unless it is open.
    ///
    /// # Errors
    /// [`LayerError`] if it is missing, damaged or not the right one.
    pub fn open(&self, task: Task) -> Result<Arc<LayerFile>, LayerError> {
        if let Some(file) = self.lock().get(&task) {
            return Ok(Arc::clone(file));
        }
        let file = Arc::new(self.store.open_shard(&self.geometry, task.depth, task.shard)?);
        Ok(Arc::clone(self.lock().entry(task).or_insert(file)))
    }

    /// Forgets the files of a layer, because some are removed.
    pub fn forget(&self, depth: Depth) {
        self.lock().retain(|task, _| task.depth != depth);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Task, Arc<LayerFile>>> {
        self.open.lock().expect("nothing panics with the files")
    }
}
