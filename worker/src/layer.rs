//! A whole layer, open for reading.

use crate::window::Window;
use fathom_kernel::Bits;
use fathom_layer::{LayerError, LayerFile, Stored};
use fathom_run::{ShardCut, ShardId};
use fathom_space::CosetId;

/// The files of all shards of one layer.
#[derive(Debug)]
pub struct Layer {
    cut: ShardCut,
    files: Vec<LayerFile>,
    /// Of a layer that may not be in memory.
    window: Option<Window>,
}

impl Layer {
    /// A layer of these files, one a shard, in order.
    pub fn new(cut: ShardCut, files: Vec<LayerFile>) -> Self {
        assert_eq!(files.len(), cut.shards() as usize, "one file a shard");
        Self { cut, files, window: None }
    }

    /// The same layer, of which no more than so many bytes are kept in memory, and what is wanted is fetched.
    pub fn with_window(self, most_bytes: u64) -> Self {
        // Where most of a layer stays, what is read around a page is wanted soon as well.
        if most_bytes < self.bytes() / 4 * 3 {
            self.files.iter().for_each(LayerFile::read_no_more_than_asked);
        }
        Self { window: Some(Window::new(self.cut.cosets(), most_bytes)), ..self }
    }

    /// The bytes of its files.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(LayerFile::bytes).sum()
    }

    /// Notes that a coset will be read soon.
    ///
    /// # Errors
    /// [`LayerError`] if a directory is damaged.
    pub fn want(&self, coset: CosetId) -> Result<(), LayerError> {
        let Some(window) = &self.window else {
            return Ok(());
        };
        let release = |coset| {
            let (file, local) = self.place(CosetId(coset));
            // It was fetched, so its directory is whole.
            let _ = file.release(local);
        };
        let fetch = || {
            let (file, local) = self.place(coset);
            file.prefetch(local)
        };
        window.want(coset.0, fetch, release)
    }

    /// Whether it may not be in memory as a whole.
    pub fn is_windowed(&self) -> bool {
        self.window.is_some()
    }

    /// Notes that a shard will not be read again.
    pub fn release(&self, shard: ShardId) {
        self.files[shard.0 as usize].release_all();
    }

    /// The files, one a shard.
    pub fn files(&self) -> &[LayerFile] {
        &self.files
    }

    /// The states of a coset.
    ///
    /// # Errors
    /// [`LayerError`] if they are damaged.
    pub fn coset(&self, coset: CosetId) -> Result<Stored<'_>, LayerError> {
        let (file, local) = self.place(coset);
        file.coset(local)
    }

    /// How many states of a coset lie in this layer, and how many in this layer and all before it.
    ///
    /// # Errors
    /// [`LayerError`] if the directory is damaged.
    pub fn states(&self, coset: CosetId) -> Result<(u32, u32), LayerError> {
        let (file, local) = self.place(coset);
        file.states(local)
    }

    fn place(&self, coset: CosetId) -> (&LayerFile, u32) {
        let file = &self.files[self.cut.shard_of(coset.0).0 as usize];
        (file, coset.0 - file.identity().first_coset)
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
