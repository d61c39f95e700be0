//! The layers that tasks read, as far as they are here.

use crate::cluster::files::OpenFiles;
use crate::cluster::holders::Holders;
use fathom_layer::{Imports, LayerError};
use fathom_run::{Depth, Geometry, Keep, ShardId, Task};
use fathom_space::CosetId;
use fathom_task::{Job, Layer, Store};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// What tasks of one depth read: the layers [below](fathom_run::Lookback::below) it, the newest first.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// None for depth 0.
    pub layers: Vec<Arc<Layer>>,
    /// Their depths.
    pub depths: Vec<Depth>,
    /// The layer below these whose shards are given back one by one, in a run that keeps two: each is opened
    /// for its own task alone, so that its room is free when it is deleted.
    pub given_back: Option<Depth>,
}

impl Inputs {
    /// The files of a task's own shard that are not here.
    pub fn lacking(&self, store: &Store<'_>, shard: ShardId) -> Vec<Task> {
        let lacks = |(layer, _): &(&Arc<Layer>, &Depth)| !layer.has(shard);
        let lacking = self.layers.iter().zip(&self.depths).filter(lacks).map(|(_, &depth)| depth);
        let source = self.given_back.filter(|&depth| !store.path(depth, shard).exists());
        lacking.chain(source).map(|depth| Task { depth, shard }).collect()
    }

    /// The layers that the task of a shard reads, once nothing of it is lacking.
    ///
    /// # Errors
    /// [`LayerError`] if the file that is opened for this task alone is damaged, or another one.
    pub fn of_task(
        &self,
        store: &Store<'_>,
        geometry: &Geometry,
        holders: &Holders,
        shard: ShardId,
    ) -> Result<Vec<Arc<Layer>>, LayerError> {
        let mut layers = self.layers.clone();
        if let Some(depth) = self.given_back {
            // Not one of the open files, which would keep its room.
            let file = store.open_shard(geometry, depth, shard)?;
            let stored = holders.stored(Task { depth, shard });
            stored.digest.map_or(Ok(()), |digest| file.check_digest(digest))?;
            layers.push(Arc::new(Layer::of_shard(geometry.cut, shard, Some(file))));
        }
        Ok(layers)
    }

    /// Notes a file that has come.
    ///
    /// # Errors
    /// [`LayerError`] if it cannot be opened.
    pub fn add(&self, files: &OpenFiles, task: Task) -> Result<(), LayerError> {
        for (layer, _) in self.layers.iter().zip(&self.depths).filter(|(_, depth)| **depth == task.depth) {
            layer.add(task.shard, files.open(task)?);
        }
        Ok(())
    }

    /// Adds to `needed` the cosets that a task reads and that are not here. The files of its own shard must
    /// be.
    ///
    /// # Errors
    /// [`LayerError`] if a directory is damaged.
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

/// The inputs of the depths at which this worker is.
#[derive(Debug)]
pub struct AllInputs {
    job: &'static Job,
    store: &'static Store<'static>,
    files: OpenFiles,
    keep: Keep,
    /// The directory of cosets from peers; `None` if all layers are in the store.
    imports: Option<PathBuf>,
    of_depth: Mutex<BTreeMap<Depth, Inputs>>,
}

impl AllInputs {
    /// None yet. Without a directory for cosets from peers, the store must have all files of all layers.
    pub fn new(
        job: &'static Job,
        store: &'static Store<'static>,
        files: OpenFiles,
        keep: Keep,
        imports: Option<PathBuf>,
    ) -> Self {
        Self { job, store, files, keep, imports, of_depth: Mutex::default() }
    }

    /// What tasks of a depth read. Files that are in the store are opened, and must be those that were
    /// reported.
    ///
    /// # Errors
    /// [`LayerError`] if one of them is damaged, or another file.
    pub fn of(&self, depth: Depth, holders: &Holders) -> Result<Inputs, LayerError> {
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
                    let imports = newest.then(|| Imports::new(directory, cosets, geometry.tensor()));
                    let layer = Layer::partial(geometry.cut, imports);
                    for shard in self.store.shards(below)? {
                        let task = Task { depth: below, shard };
                        let file = self.files.open(task)?;
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
        // Tasks of earlier depths have ended, but for one that makes a lost file again.
        while all.len() >= 3 {
            all.pop_first();
        }
        Ok(all.entry(depth).or_insert(inputs).clone())
    }

    /// Notes a file that has come. If it cannot be opened, that is found when it is needed.
    pub fn came(&self, task: Task) {
        for inputs in self.lock().values() {
            let _ = inputs.add(&self.files, task);
        }
    }

    /// Forgets what is open of a layer, because files of it are discarded.
    pub fn forget(&self, depth: Depth) {
        self.lock().retain(|_, inputs| !inputs.depths.contains(&depth));
        self.files.forget(depth);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, BTreeMap<Depth, Inputs>> {
        self.of_depth.lock().expect("nothing panics with the inputs")
    }
}
