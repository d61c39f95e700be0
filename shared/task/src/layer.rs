//! A whole layer, open for reading.

use crate::window::Window;
use fathom_kernel::Bits;
use fathom_layer::{Digest, Imports, LayerError, LayerFile, Stored};
use fathom_run::{ShardCut, ShardId};
use fathom_space::CosetId;
use std::sync::{Arc, OnceLock};

// What layer files have behind each tensor suffices for kernels, which read whole words.
const _: () = assert!(fathom_layer::format::SLACK_BYTES as usize >= fathom_kernel::SLACK_BYTES);

/// One layer: the files of all its shards; or of some, and cosets of the others as far as tasks need them.
#[derive(Debug)]
pub struct Layer {
    cut: ShardCut,
    /// The shard of the first of `files`.
    first: u32,
    files: Box<[OnceLock<Arc<LayerFile>>]>,
    /// Cosets from other workers.
    imports: Option<Imports>,
    /// What is in memory, if the layer may not be there as a whole.
    window: Option<Window>,
}

impl Layer {
    /// A layer of these files, one a shard, in order.
    pub fn new(cut: ShardCut, files: Vec<LayerFile>) -> Self {
        assert_eq!(files.len(), cut.shards() as usize, "one file a shard");
        let files = files.into_iter().map(|file| OnceLock::from(Arc::new(file))).collect();
        Self { cut, first: 0, files, imports: None, window: None }
    }

    /// A layer of which only one shard may be read; `None` if that is gone. The file is closed, and its room
    /// free if it was removed, when the layer is dropped.
    pub fn of_shard(cut: ShardCut, shard: ShardId, file: Option<LayerFile>) -> Self {
        let file = file.map_or_else(OnceLock::new, |file| OnceLock::from(Arc::new(file)));
        Self { cut, first: shard.0, files: Box::new([file]), imports: None, window: None }
    }

    /// A layer of which no file is here yet. Without imports, only cosets of shards that are added can be
    /// read.
    pub fn partial(cut: ShardCut, imports: Option<Imports>) -> Self {
        Self { cut, first: 0, files: cut.ids().map(|_| OnceLock::new()).collect(), imports, window: None }
    }

    /// Checks that the files that are here hold what was committed, of which these are the digests, by shard.
    ///
    /// # Errors
    /// [`LayerError::Replaced`] for the first that holds something else, and another [`LayerError`] if a
    /// directory is damaged.
    ///
    /// # Panics
    /// If there are fewer digests than shards.
    pub fn check_digests(&self, digests: &[Digest]) -> Result<(), LayerError> {
        self.files().try_for_each(|file| file.check_digest(digests[file.identity().shard as usize]))
    }

    /// Adds the file of a shard; nothing happens if it is there.
    ///
    /// # Panics
    /// If the layer is [of another shard](Self::of_shard).
    pub fn add(&self, shard: ShardId, file: Arc<LayerFile>) {
        let _ = self.files[(shard.0 - self.first) as usize].set(file);
    }

    /// Whether the file of a shard is here.
    pub fn has(&self, shard: ShardId) -> bool {
        self.file(shard).is_some()
    }

    /// Whether no coset of a shard can be read here: its file was given back.
    pub fn lacks(&self, shard: ShardId) -> bool {
        self.imports.is_none() && !self.has(shard)
    }

    /// Whether a coset can be read here.
    pub fn holds(&self, coset: CosetId) -> bool {
        self.has(self.cut.shard_of(coset.0)) || self.imports().is_some_and(|imports| imports.holds(coset.0))
    }

    /// The store of cosets from other workers, if there is one.
    pub fn imports(&self) -> Option<&Imports> {
        self.imports.as_ref()
    }

    /// The same layer, of which no more than so many bytes are kept in memory, and what is wanted is fetched.
    pub fn with_window(self, most_bytes: u64) -> Self {
        // Where most of a layer stays, what is read around a page is wanted soon as well.
        if most_bytes < self.bytes() / 4 * 3 {
            self.files().for_each(LayerFile::read_no_more_than_asked);
        }
        Self { window: Some(Window::new(self.cut.cosets(), most_bytes)), ..self }
    }

    /// The bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files().map(LayerFile::bytes).sum::<u64>() + self.imports().map_or(0, Imports::bytes)
    }

    /// Notes that a coset will be read soon.
    ///
    /// # Errors
    /// [`LayerError`] if a directory is damaged.
    pub fn prefetch(&self, coset: CosetId) -> Result<(), LayerError> {
        let Some(window) = &self.window else {
            return Ok(());
        };
        let release = |coset| {
            if let Some((file, local)) = self.place(CosetId(coset)) {
                // It was fetched, so its directory is whole.
                let _ = file.release(local);
            }
        };
        let fetch = || self.place(coset).map_or(Ok(0), |(file, local)| file.prefetch(local));
        window.prefetch(coset.0, fetch, release)
    }

    /// Whether it may not be in memory as a whole.
    pub fn is_windowed(&self) -> bool {
        self.window.is_some()
    }

    /// Notes that a shard will not be read again.
    pub fn release(&self, shard: ShardId) {
        if let Some(file) = self.file(shard) {
            file.release_all();
        }
    }

    /// The files that are here, in order of shards.
    pub fn files(&self) -> impl Iterator<Item = &LayerFile> {
        self.files.iter().filter_map(OnceLock::get).map(|file| &**file)
    }

    /// The states of a coset.
    ///
    /// # Errors
    /// [`LayerError`] if they are damaged.
    ///
    /// # Panics
    /// If the coset is not [held](Self::holds).
    pub fn coset(&self, coset: CosetId) -> Result<Stored<'_>, LayerError> {
        if let Some((file, local)) = self.place(coset) {
            return file.coset(local);
        }
        let imported = self.imports().and_then(|imports| imports.coset(coset.0));
        Ok(imported.expect("what a task reads is fetched before it begins"))
    }

    /// How many states of a coset lie in this layer, and how many in this layer and all before it.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    ///
    /// # Panics
    /// If the file of its shard is not here.
    pub fn states(&self, coset: CosetId) -> Result<(u32, u32), LayerError> {
        let (file, local) =
            self.place(coset).expect("the files of a task's own shard are here before it begins");
        file.states(local)
    }

    fn file(&self, shard: ShardId) -> Option<&LayerFile> {
        let slot = shard.0.checked_sub(self.first)?;
        Some(&**self.files.get(slot as usize)?.get()?)
    }

    fn place(&self, coset: CosetId) -> Option<(&LayerFile, u32)> {
        let file = self.file(self.cut.shard_of(coset.0))?;
        Some((file, coset.0 - file.identity().first_coset))
    }
}

/// The states of a coset, as kernels take them.
pub fn bits<'a>(stored: &'a Stored<'_>) -> Bits<'a> {
    match stored {
        Stored::Empty => Bits::Empty,
        Stored::Sparse(positions) => Bits::Sparse(positions),
        Stored::Dense(packed) => Bits::Dense(packed),
        Stored::Decompressed(packed) => Bits::Dense(packed),
    }
}
