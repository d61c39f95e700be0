//! A whole layer, open for reading.

use crate::run::{ShardCut, ShardId, ShardOrder};
use crate::task::layer_window::{Next, Window};
use fathom_kernel::Bits;
use fathom_layer::evict::evict;
use fathom_layer::{Digest, Disk, Imports, LayerError, LayerFile, ReadAhead, Stored};
use fathom_space::CosetId;
use std::sync::{Arc, OnceLock};

// Kernels read whole machine words, so layer files need enough slack bytes behind each tensor.
const _: () = assert!(fathom_layer::format::SLACK_BYTES as usize >= fathom_kernel::SLACK_BYTES);

/// One layer: the files of all its shards; or the files of some shards, and those cosets of the others that
/// tasks need.
#[derive(Debug)]
pub struct Layer {
    cut: ShardCut,
    /// The shard of the first of `files`.
    first: u32,
    files: Arc<[OnceLock<Arc<LayerFile>>]>,
    /// The generations of cosets that were fetched from other workers, the oldest first; empty if all files
    /// are local.
    imports: Vec<Arc<Imports>>,
    /// The cosets that are in memory, unless the whole layer may be.
    window: Option<Arc<Window>>,
}

impl Layer {
    /// Makes a layer of these files, one for each shard, in order.
    ///
    /// # Panics
    /// If there are not as many files as shards.
    pub fn new(cut: ShardCut, files: Vec<LayerFile>) -> Self {
        assert_eq!(files.len(), cut.shards() as usize, "one file a shard");
        let files = files.into_iter().map(|file| OnceLock::from(Arc::new(file))).collect();
        Self { cut, first: 0, files, imports: Vec::new(), window: None }
    }

    /// Makes a layer of which only one shard may be read; `None` if the shard was released. When all layers
    /// with the file are dropped, the file is closed, which frees its space if the file was removed.
    pub fn of_shard(cut: ShardCut, shard: ShardId, file: Option<Arc<LayerFile>>) -> Self {
        let file = file.map_or_else(OnceLock::new, OnceLock::from);
        Self { cut, first: shard.0, files: Arc::new([file]), imports: Vec::new(), window: None }
    }

    /// Makes a layer without files. Only cosets of shards that are [added](Self::add), and cosets of
    /// `imports`, can be read.
    pub fn partial(cut: ShardCut, imports: Option<Imports>) -> Self {
        let files = cut.ids().map(|_| OnceLock::new()).collect();
        Self { cut, first: 0, files, imports: imports.map(Arc::new).into_iter().collect(), window: None }
    }

    /// Returns the same layer with other generations of cosets from other workers, the oldest first. A file
    /// that is [added](Self::add) to one of the two is added to both.
    #[must_use]
    pub fn with_imports(&self, imports: Vec<Arc<Imports>>) -> Self {
        Self {
            cut: self.cut,
            first: self.first,
            files: Arc::clone(&self.files),
            imports,
            window: self.window.clone(),
        }
    }

    /// Returns a layer of the same files, which keeps no cosets from other workers in memory.
    #[must_use]
    pub fn files_only(&self) -> Self {
        self.with_imports(Vec::new())
    }

    /// Returns whether two layers share the same open files.
    pub fn has_files_of(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.files, &other.files)
    }

    /// Checks that the local files have the committed content. `digests` has the digest of each shard.
    ///
    /// # Errors
    /// [`LayerError::Replaced`] for the first file with other content, and another [`LayerError`] if a
    /// directory is damaged.
    ///
    /// # Panics
    /// If there are fewer digests than shards.
    pub fn check_digests(&self, digests: &[Digest]) -> Result<(), LayerError> {
        self.files().try_for_each(|file| file.check_digest(digests[file.identity().shard as usize]))
    }

    /// Checks that no program has written to the local files since they were opened. This queries the file
    /// system for each of them.
    ///
    /// # Errors
    /// [`LayerError::Changed`] for the first file that has changed.
    pub fn check_unchanged(&self) -> Result<(), LayerError> {
        self.files().try_for_each(LayerFile::check_unchanged)
    }

    /// Adds the file of a shard. Does nothing if the layer already has it.
    ///
    /// # Panics
    /// If the layer is [of another shard](Self::of_shard).
    pub fn add(&self, shard: ShardId, file: Arc<LayerFile>) {
        let _ = self.files[(shard.0 - self.first) as usize].set(file);
    }

    /// Returns whether the file of a shard is local.
    pub fn has(&self, shard: ShardId) -> bool {
        self.file(shard).is_some()
    }

    /// Returns whether no coset of a shard can be read, because its file was released.
    pub fn lacks(&self, shard: ShardId) -> bool {
        self.imports.is_empty() && !self.has(shard)
    }

    /// Returns whether a coset can be read locally.
    pub fn holds(&self, coset: CosetId) -> bool {
        self.has(self.cut.shard_of(coset.0)) || self.imports.iter().any(|imports| imports.holds(coset.0))
    }

    /// Returns the store to which cosets from other workers are added, if there is one.
    pub fn imports(&self) -> Option<&Imports> {
        self.imports.last().map(|youngest| &**youngest)
    }

    /// Returns the generations of cosets from other workers, the oldest first.
    pub fn generations(&self) -> &[Arc<Imports>] {
        &self.imports
    }

    /// Gives the layer a window: at most `most_bytes` of it stay in memory, including cosets from other
    /// workers, and cosets that will be read soon are [prefetched](Self::prefetch). `order` is the order in
    /// which shards are computed from the layer.
    pub fn with_window(self, most_bytes: u64, order: &ShardOrder) -> Self {
        // If most of a layer stays in memory, the pages around a page that is read are wanted soon as well,
        // and read-ahead helps. Otherwise it is turned off, and what is in memory since the file was written
        // leaves: the system keeps it in pieces that are larger than pages, and evicts no part of a piece.
        if most_bytes < self.bytes() / 4 * 3 {
            self.files().for_each(LayerFile::read_no_more_than_asked);
            self.files().for_each(LayerFile::release_all);
        }
        Self { window: Some(Arc::new(Window::new(self.cut, order, most_bytes))), ..self }
    }

    /// Returns the size of the local files in bytes.
    pub fn bytes(&self) -> u64 {
        self.files().map(LayerFile::bytes).sum()
    }

    /// Prefetches a coset that will be read soon. Does nothing if the layer has no window.
    ///
    /// # Errors
    /// [`LayerError`] if a directory is damaged.
    pub fn prefetch(&self, coset: CosetId) -> Result<(), LayerError> {
        let Some(window) = &self.window else {
            return Ok(());
        };
        let release = |cosets: Vec<u32>| {
            let part = |coset| {
                let (file, local) = self.place(CosetId(coset))?;
                let stays = |other| window.has(coset - local + other);
                // The coset was fetched before, so its directory is whole.
                file.part(local, stays).ok()?
            };
            let parts: Vec<_> = cosets.into_iter().filter_map(part).collect();
            evict(&parts);
        };
        let fetch = || self.place(coset).map_or(Ok(0), |(file, local)| file.prefetch(local));
        let imported = self.imports.iter().map(|imports| imports.memory_bytes()).sum();
        window.prefetch(coset.0, imported, fetch, release)
    }

    /// Records that a coset of the next depth was computed from this layer, and from which sources. `readers`
    /// returns the cosets for which a source is read, if they are known. Does nothing if the layer has no
    /// window.
    pub fn was_read_for<R: Iterator<Item = CosetId>>(
        &self,
        coset: CosetId,
        sources: impl Iterator<Item = CosetId>,
        readers: impl Fn(CosetId) -> Option<R>,
    ) {
        let Some(window) = &self.window else { return };
        window.made(coset.0);
        // A worker mostly computes shards whose files it has.
        let is_made_here = |reader: u32| self.imports.is_empty() || self.has(self.cut.shard_of(reader));
        for source in sources.chain([coset]) {
            let next = match readers(source) {
                None => Next::AfterThis(coset.0),
                Some(readers) => readers
                    .chain([source])
                    .map(|reader| reader.0)
                    .filter(|&reader| window.is_to_come(reader) && is_made_here(reader))
                    .min_by_key(|&reader| window.position(reader))
                    .map_or(Next::Never, Next::For),
            };
            window.was_read(source.0, next);
        }
    }

    /// Starts to read a shard once, bypassing the page cache, with buffers of that many bytes. Skips cosets
    /// that are not `wanted`. Returns `None` if the shard is not local or must be read through its map.
    ///
    /// # Errors
    /// [`LayerError`] if the directory of the file is damaged.
    pub fn read_ahead(
        &self,
        disk: &dyn Disk,
        shard: ShardId,
        buffer_bytes: usize,
        wanted: impl Fn(CosetId) -> bool,
    ) -> Result<Option<ReadAhead>, LayerError> {
        let Some(file) = self.file(shard) else {
            return Ok(None);
        };
        let cosets = self.cut.range(shard).filter(|&coset| wanted(CosetId(coset)));
        ReadAhead::begin(file, disk, cosets, buffer_bytes)
    }

    /// Returns whether the layer has a window.
    pub fn is_windowed(&self) -> bool {
        self.window.is_some()
    }

    /// Evicts a shard that will not be read again from memory.
    pub fn release(&self, shard: ShardId) {
        if let Some(file) = self.file(shard) {
            file.release_all();
        }
    }

    /// Returns the local files, in order of shards.
    pub fn files(&self) -> impl Iterator<Item = &LayerFile> {
        self.files.iter().filter_map(OnceLock::get).map(|file| &**file)
    }

    /// Returns the states of a coset.
    ///
    /// # Errors
    /// [`LayerError`] if the data of the coset are damaged.
    ///
    /// # Panics
    /// If the coset is not [held](Self::holds).
    pub fn coset(&self, coset: CosetId) -> Result<Stored<'_>, LayerError> {
        if let Some((file, local)) = self.place(coset) {
            return file.coset(local);
        }
        let imported = self.imports.iter().rev().find_map(|imports| imports.coset(coset.0));
        Ok(imported.expect("what a task reads is fetched before it begins"))
    }

    /// Returns the number of states of a coset in this layer, and in this layer and all before it.
    ///
    /// # Errors
    /// [`LayerError`] if the directory of the file is damaged.
    ///
    /// # Panics
    /// If the file of the coset's shard is not local.
    pub fn states(&self, coset: CosetId) -> Result<(u32, u32), LayerError> {
        let (file, local) =
            self.place(coset).expect("the files of a task's own shard are here before it begins");
        file.states(local)
    }

    /// Returns the file of a shard, if it is local.
    pub fn file(&self, shard: ShardId) -> Option<&Arc<LayerFile>> {
        let slot = shard.0.checked_sub(self.first)?;
        self.files.get(slot as usize)?.get()
    }

    fn place(&self, coset: CosetId) -> Option<(&LayerFile, u32)> {
        let file = self.file(self.cut.shard_of(coset.0))?;
        Some((file, coset.0 - file.identity().first_coset))
    }
}

/// Returns the states of a coset as kernels take them.
pub fn bits<'a>(stored: &'a Stored<'_>) -> Bits<'a> {
    match stored {
        Stored::Empty => Bits::Empty,
        Stored::Sparse(positions) => Bits::Sparse(positions),
        Stored::Dense(packed) => Bits::Dense(packed),
        Stored::Decompressed(packed) => Bits::Dense(packed),
    }
}

/// A copy of the stored states of a coset.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// Whether `bytes` are positions.
    is_sparse: bool,
    /// Nothing, positions, or a packed tensor and its slack.
    bytes: Vec<u8>,
}

impl Copied {
    /// Replaces the states by others.
    pub(crate) fn fill(&mut self, stored: &Stored<'_>) {
        self.is_sparse = matches!(stored, Stored::Sparse(_));
        self.bytes.clear();
        self.bytes.extend_from_slice(match stored {
            Stored::Empty => &[],
            Stored::Sparse(bytes) | Stored::Dense(bytes) => bytes,
            Stored::Decompressed(bytes) => bytes,
        });
    }

    /// Returns the states as kernels take them.
    pub(crate) fn bits(&self) -> Bits<'_> {
        match &self.bytes[..] {
            [] => Bits::Empty,
            positions if self.is_sparse => Bits::Sparse(positions),
            packed => Bits::Dense(packed),
        }
    }
}
