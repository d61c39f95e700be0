//! The layers that tasks read, as far as they are in this store.

use crate::cluster::files::OpenFiles;
use crate::cluster::holders::Holders;
use fathom_layer::{ImportMemory, Imports, LayerError};
use fathom_run::{Depth, Geometry, Keep, ShardId, Task};
use fathom_space::CosetId;
use fathom_task::{Job, Layer, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The inputs of the tasks of one depth: the layers [below](fathom_run::Lookback::below) it, the newest
/// first.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The layers; none for depth 0.
    pub layers: Vec<Arc<Layer>>,
    /// The depths of `layers`.
    pub depths: Vec<Depth>,
    /// The layer below these whose shards are given back one by one, in a run that keeps two layers. Each of
    /// its files is opened for its own task alone, so that its disk space is free once the file is deleted.
    pub given_back: Option<Depth>,
}

impl Inputs {
    /// Returns the files of a task's own shard that are not in the store.
    pub fn lacking(&self, store: &Store<'_>, shard: ShardId) -> Vec<Task> {
        let lacks = |(layer, _): &(&Arc<Layer>, &Depth)| !layer.has(shard);
        let lacking = self.layers.iter().zip(&self.depths).filter(lacks).map(|(_, &depth)| depth);
        let source = self.given_back.filter(|&depth| !store.path(depth, shard).exists());
        lacking.chain(source).map(|depth| Task { depth, shard }).collect()
    }

    /// Returns the layers that the task of a shard reads. No file of the shard may be lacking.
    ///
    /// # Errors
    /// [`LayerError`] if the file that is opened for this task alone is damaged, or is not the reported one.
    pub fn of_task(
        &self,
        store: &Store<'_>,
        geometry: &Geometry,
        holders: &Holders,
        shard: ShardId,
    ) -> Result<Vec<Arc<Layer>>, LayerError> {
        let mut layers = self.layers.clone();
        if let Some(depth) = self.given_back {
            // Not shared with the open files, which would keep the disk space of a deleted file.
            let file = store.open_shard(geometry, depth, shard)?;
            let stored = holders.stored(Task { depth, shard });
            stored.digest.map_or(Ok(()), |digest| file.check_digest(digest))?;
            layers.push(Arc::new(Layer::of_shard(geometry.cut, shard, Some(file))));
        }
        Ok(layers)
    }

    /// Adds a file that is new in the store.
    ///
    /// # Errors
    /// [`LayerError`] if the file cannot be opened.
    pub fn add(&self, files: &OpenFiles, task: Task) -> Result<(), LayerError> {
        for (layer, _) in self.layers.iter().zip(&self.depths).filter(|(_, depth)| **depth == task.depth) {
            layer.add(task.shard, files.open(task)?);
        }
        Ok(())
    }

    /// Adds to `needed` the cosets of the newest layer that a task reads and that are not here. No file of
    /// the task's own shard may be lacking.
    ///
    /// # Errors
    /// [`LayerError`] if the directory of a file is damaged.
    pub fn need(&self, job: &Job, shard: ShardId, needed: &mut BTreeSet<CosetId>) -> Result<(), LayerError> {
        let Some(newest) = self.layers.first() else {
            return Ok(());
        };
        for coset in job.geometry.cut.range(shard).map(CosetId) {
            if u64::from(newest.states(coset)?.1) < job.graph.states_per_coset() {
                let sources = job.graph.sources(coset).map(|(_, source)| source);
                needed.extend(sources.filter(|&source| !newest.holds(source)));
            }
        }
        Ok(())
    }
}

/// The inputs of the depths that this worker computes.
#[derive(Debug)]
pub struct AllInputs {
    job: &'static Job,
    store: &'static Store<'static>,
    files: OpenFiles,
    keep: Keep,
    /// The directory for cosets from peers; `None` if all layers are in the store.
    imports: Option<PathBuf>,
    /// The memory for cosets from peers.
    memory: Arc<ImportMemory>,
    of_depth: Mutex<BTreeMap<Depth, Inputs>>,
}

impl AllInputs {
    /// Creates an empty map. If `imports` is `None`, the store must have all files of all layers. The map
    /// sets the budget of `memory`, as the job's cache grows and shrinks.
    pub fn new(
        job: &'static Job,
        store: &'static Store<'static>,
        files: OpenFiles,
        keep: Keep,
        imports: Option<PathBuf>,
        memory: Arc<ImportMemory>,
    ) -> Self {
        Self { job, store, files, keep, imports, memory, of_depth: Mutex::default() }
    }

    /// Returns the inputs of the tasks of a depth. Opens the files that are in the store, and checks that
    /// they are the reported ones.
    ///
    /// # Errors
    /// [`LayerError`] if a file is damaged, or is not the reported one.
    pub fn of(&self, depth: Depth, holders: &Holders) -> Result<Inputs, LayerError> {
        self.memory.set_most(self.job.cache.import_bytes());
        if let Some(inputs) = self.lock().get(&depth) {
            return Ok(inputs.clone());
        }
        let given_back = depth.previous().and_then(Depth::previous).filter(|_| self.keep == Keep::Two);
        let mut inputs = Inputs { layers: Vec::new(), depths: Vec::new(), given_back };
        for below in self.job.lookback.below(depth).filter(|&below| Some(below) != given_back) {
            let newest = inputs.layers.is_empty();
            let layer = match &self.imports {
                None => self.store.open(&self.job.geometry, below)?,
                Some(directory) => {
                    let geometry = &self.job.geometry;
                    let cosets = geometry.cut.cosets();
                    let memory = || Arc::clone(&self.memory);
                    let imports =
                        newest.then(|| Imports::new(directory, cosets, geometry.tensor(), memory()));
                    let layer = Layer::partial(geometry.cut, imports);
                    for shard in self.store.shards(below)? {
                        let task = Task { depth: below, shard };
                        let file = match self.files.open(task) {
                            // The store has failed just now: its shards are lacking, and the others go on.
                            Err(_) if self.store.failure(shard).is_some() => continue,
                            opened => opened?,
                        };
                        holders.stored(task).digest.map_or(Ok(()), |digest| file.check_digest(digest))?;
                        layer.add(shard, file);
                    }
                    layer
                }
            };
            inputs.layers.push(Arc::new(self.job.windowed(layer, newest)));
            inputs.depths.push(below);
        }
        let mut all = self.lock();
        // The tasks of earlier depths have ended, except repairs of lost files, which open their inputs
        // again. Cosets from peers must not take memory for longer.
        all.retain(|&other, _| other >= depth);
        Ok(all.entry(depth).or_insert(inputs).clone())
    }

    /// Adds a file that is new in the store. An error in opening it shows when a task needs the file.
    pub fn came(&self, task: Task) {
        for inputs in self.lock().values() {
            let _ = inputs.add(&self.files, task);
        }
    }

    /// Closes the inputs that include a layer, because files of it are discarded.
    pub fn forget(&self, depth: Depth) {
        self.lock().retain(|_, inputs| !inputs.depths.contains(&depth));
        self.files.forget(depth);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Depth, Inputs>> {
        self.of_depth.lock().expect("no thread panics while it holds the lock")
    }
}
