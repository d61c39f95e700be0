//! A whole layer, open for reading.

use fathom_kernel::Bits;
use fathom_layer::{LayerError, LayerFile, Stored};
use fathom_proto::ShardCut;
use fathom_space::CosetId;

/// The files of all shards of one layer.
#[derive(Debug)]
pub struct Layer {
    cut: ShardCut,
    files: Vec<LayerFile>,
}

impl Layer {
    /// A layer of these files, one a shard, in order.
    pub fn new(cut: ShardCut, files: Vec<LayerFile>) -> Self {
        assert_eq!(files.len(), cut.shards() as usize, "one file a shard");
        Self { cut, files }
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
