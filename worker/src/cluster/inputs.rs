//! The layers that tasks read, to the extent that they are in this store.

use crate::cluster::files::OpenFiles;
use crate::cluster::holders::Holders;
use fathom_engine::run::{Depth, Geometry, Keep, ShardId, Task};
use fathom_engine::task::{Job, Layer, SpillPolicy, Store, spill_policy};
use fathom_layer::{ImportMemory, Imports, LayerError, LayerFile};
use fathom_space::CosetId;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// The inputs of the tasks of one depth: the layers [below](fathom_engine::run::Lookback::below) it, the newest
/// first.
#[derive(Clone, Debug)]
pub struct Inputs {
    /// The layers; none for depth 0.
    pub layers: Vec<Arc<Layer>>,
    /// The depths of `layers`.
    pub depths: Vec<Depth>,
    /// The layer below these whose shards are released one by one, in a run that keeps two layers. Each of
    /// its files is opened only for its own task, so that its disk space is free once the file is deleted.
    pub given_back: Option<Depth>,
}

impl Inputs {
    /// Returns the files of a task's own shard that are not in the store.
    pub fn under_replicated(&self, store: &Store<'_>, shard: ShardId) -> Vec<Task> {
        let lacks = |(layer, _): &(&Arc<Layer>, &Depth)| !layer.has(shard);
        let under_replicated = self.layers.iter().zip(&self.depths).filter(lacks).map(|(_, &depth)| depth);
        let source = self.given_back.filter(|&depth| !store.path(depth, shard).exists());
        under_replicated.chain(source).map(|depth| Task { depth, shard }).collect()
    }

    /// Returns the layers that the task of a shard reads. No file of the shard may be missing.
    ///
    /// # Errors
    /// [`LayerError`] if the file that is opened only for this task is damaged, or is not the reported one.
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
            layers.push(Arc::new(Layer::of_shard(geometry.cut, shard, Some(Arc::new(file)))));
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

    /// Begins a new generation of cosets from peers if the youngest has its share of `most` bytes, and
    /// [drops](spill_policy::dropped) the oldest.
    fn age(&mut self, most: u64) {
        let Some(newest) = self.layers.first_mut() else {
            return;
        };
        let mut generations = newest.generations().to_vec();
        let bytes: Vec<u64> = generations.iter().map(|imports| imports.bytes()).collect();
        let (Some(dropped), Some(youngest)) = (spill_policy::dropped(&bytes, most), generations.last())
        else {
            return;
        };
        let successor = Arc::new(youngest.successor());
        generations.push(successor);
        generations.drain(..dropped);
        *newest = Arc::new(newest.with_imports(generations));
    }

    /// Drops the oldest generation of cosets from peers. Returns whether it had any.
    fn drop_oldest(&mut self) -> bool {
        let Some(newest) = self.layers.first_mut() else {
            return false;
        };
        let mut generations = newest.generations().to_vec();
        let Some(oldest) = generations.first().map(Arc::clone) else {
            return false;
        };
        generations.remove(0);
        if generations.is_empty() {
            generations.push(Arc::new(oldest.successor()));
        }
        *newest = Arc::new(newest.with_imports(generations));
        oldest.bytes() > 0
    }

    /// Returns [about](spill_policy::coset_bytes) how many bytes of memory a coset of the newest layer takes.
    fn bytes_of_coset(&self, geometry: &Geometry) -> u64 {
        let dense = u64::from(geometry.packed_bytes) + PADDING_BYTES;
        let files = self.layers.first().into_iter().flat_map(|newest| newest.files());
        let (bytes, cosets) = files.fold((0, 0), |(bytes, cosets), file| {
            (bytes + file.bytes(), cosets + u64::from(file.identity().cosets))
        });
        spill_policy::coset_bytes(bytes, cosets, dense)
    }

    /// Adds to `needed` the cosets of the newest layer that a task reads and that are not here. No file of
    /// the task's own shard may be missing.
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

/// Maximum number of bytes that a coset takes in memory beside its tensor.
const PADDING_BYTES: u64 = 128;

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
    /// The place of cosets that exceed this memory.
    spill_policy: SpillPolicy,
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
        spill_policy: SpillPolicy,
    ) -> Self {
        Self { job, store, files, keep, imports, memory, spill_policy, of_depth: Mutex::default() }
    }

    /// Returns the inputs of the tasks of a depth. Opens the files that are in the store, and checks that
    /// they are the reported ones.
    ///
    /// # Errors
    /// [`LayerError`] if a file is damaged, or is not the reported one.
    pub fn of(&self, depth: Depth, holders: &Holders) -> Result<Inputs, LayerError> {
        self.memory.set_most(self.job.cache.import_bytes());
        if let Some(inputs) = self.lock().get_mut(&depth) {
            if self.spill_policy == SpillPolicy::Refetch {
                inputs.age(self.memory.most());
            }
            return Ok(inputs.clone());
        }
        let given_back = depth.previous().and_then(Depth::previous).filter(|_| self.keep == Keep::Two);
        let mut inputs = Inputs { layers: Vec::new(), depths: Vec::new(), given_back };
        let mut are_checked = true;
        for below in self.job.lookback.below(depth).filter(|&below| Some(below) != given_back) {
            let newest = inputs.layers.is_empty();
            if let Some(layer) = self.still_open(depth, below, &inputs) {
                inputs.layers.push(layer);
                inputs.depths.push(below);
                continue;
            }
            let layer = match &self.imports {
                None => {
                    let layer = self.store.open(&self.job.geometry, below)?;
                    // Another worker may have replaced a file since the layer was committed.
                    layer.files().try_for_each(|file| {
                        let task = Task { depth: below, shard: ShardId(file.identity().shard) };
                        let digest = holders.stored(task).digest;
                        are_checked &= digest.is_some();
                        digest.map_or(Ok(()), |digest| file.check_digest(digest))
                    })?;
                    layer
                }
                Some(directory) => {
                    let geometry = &self.job.geometry;
                    let cosets = geometry.cut.cosets();
                    let memory = || Arc::clone(&self.memory);
                    let imports =
                        newest.then(|| Imports::new(directory, cosets, geometry.tensor(), memory()));
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
        if !are_checked {
            // Without a digest a file is not known to be the right one, so later tasks open all files again.
            // The digests come with the commands of the session.
            return Ok(inputs);
        }
        let mut all = self.lock();
        // The tasks of earlier depths have ended, except repairs of lost files, which open their inputs
        // again. Cosets from peers must not take memory for longer.
        all.retain(|&other, _| other >= depth);
        Ok(all.entry(depth).or_insert(inputs).clone())
    }

    /// Returns a layer that the tasks of the depth before have read, so that its files need not be opened,
    /// compared and mapped again. Returns `None` for a layer of a worker's own store, for a layer one of
    /// whose files is no longer at its path, and when memory is short: beside a layer with a window, nothing
    /// else remains in memory.
    fn still_open(&self, depth: Depth, below: Depth, inputs: &Inputs) -> Option<Arc<Layer>> {
        if self.imports.is_some() || inputs.layers.iter().any(|layer| layer.is_windowed()) {
            return None;
        }
        let all = self.lock();
        let before = all.get(&depth.previous()?)?;
        let (layer, _) = before.layers.iter().zip(&before.depths).find(|&(_, &depth)| depth == below)?;
        if layer.is_windowed() || !layer.files().all(LayerFile::is_at_its_path) {
            return None;
        }
        // Pages may have been evicted from memory and read again from a bad disk.
        layer.files().for_each(LayerFile::forget_checks);
        Some(Arc::clone(layer))
    }

    /// Returns whether `cosets` more cosets may be fetched now: they fit in memory, or what exceeds the
    /// memory goes to disk.
    pub fn has_room(&self, inputs: &Inputs, cosets: usize) -> bool {
        let bytes = || cosets as u64 * inputs.bytes_of_coset(&self.job.geometry);
        self.spill_policy == SpillPolicy::Spill || cosets == 0 || self.memory.has_room(bytes())
    }

    /// Drops the oldest cosets of the inputs of a depth. Returns whether there were any.
    pub fn drop_oldest(&self, depth: Depth, inputs: &mut Inputs) -> bool {
        let dropped = inputs.drop_oldest();
        if let Some(kept) = self.lock().get_mut(&depth) {
            kept.clone_from(inputs);
        }
        dropped
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

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_engine::run::ShardCut;
    use fathom_layer::{Encoding, Import, Tensor};

    /// A coset takes 1,024 bytes with its slack.
    const PACKED: usize = 1016;
    const MOST: u64 = 16 << 10;

    fn holds(inputs: &Inputs) -> Vec<u32> {
        (0..64).filter(|&coset| inputs.layers[0].holds(CosetId(coset))).collect()
    }

    #[test]
    fn oldest_cosets_are_dropped_and_fetched_again() {
        let directory = tempfile::tempdir().unwrap();
        let memory = Arc::new(ImportMemory::new(MOST));
        let tensor = Tensor { packed_bytes: PACKED as u32, row_bits: 8 };
        let imports = Imports::new(directory.path(), 64, tensor, Arc::clone(&memory));
        let cut = ShardCut::new(64, 1).unwrap();
        let layers = vec![Arc::new(Layer::partial(cut, Some(imports)))];
        let mut inputs = Inputs { layers, depths: vec![Depth(3)], given_back: None };
        let fetch = |inputs: &Inputs, coset| {
            let canonical = &[255; PACKED];
            let states = 8 * PACKED as u32;
            let import = Import { coset, encoding: Encoding::Dense, states, canonical };
            inputs.layers[0].imports().unwrap().push(&[import]).unwrap();
        };
        // A generation has two cosets, and all have twelve.
        let mut under_way = None;
        for coset in 0..14 {
            inputs.age(MOST);
            fetch(&inputs, coset);
            if coset == 11 {
                under_way = Some(inputs.clone());
                assert_eq!(holds(&inputs), (0..12).collect::<Vec<_>>());
            }
        }
        inputs.age(MOST);
        assert_eq!(holds(&inputs), (2..14).collect::<Vec<_>>());
        // A running task keeps its inputs, which take memory until the task ends.
        let task = under_way.unwrap();
        assert_eq!(holds(&task), (0..12).collect::<Vec<_>>());
        assert!(task.layers[0].coset(CosetId(0)).is_ok());
        assert_eq!(memory.taken(), 14 << 10);
        drop(task);
        assert_eq!(memory.taken(), 12 << 10);
        // Dropped cosets are fetched again.
        fetch(&inputs, 0);
        assert!(inputs.layers[0].holds(CosetId(0)));
        let mut dropped = 0;
        while inputs.drop_oldest() {
            dropped += 1;
        }
        assert_eq!((dropped, holds(&inputs), memory.taken()), (7, vec![], 0));
        assert!(!inputs.drop_oldest());
        fetch(&inputs, 1);
        assert_eq!(holds(&inputs), [1]);
    }
}
