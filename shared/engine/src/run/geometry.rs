//! The sizes and identities of a run's layer files, for code that does not need the coset graph.

use crate::run::{Depth, RunError, RunManifest, ShardCut, ShardId};
use fathom_layer::{Identity, Tensor};
use fathom_space::{Colouring, CosetGraph, Shape, Space};

/// The shards of a run, and the sizes of the tensors in their files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The division of the cosets into shards.
    pub cut: ShardCut,
    /// The run's fingerprint.
    pub fingerprint: [u8; 32],
    /// The size of a packed tensor in bytes.
    pub packed_bytes: u32,
    /// The length of a row of a tensor in bits.
    pub row_bits: u32,
    /// The size in bytes of the tensors of a layer if every coset is dense that can have states.
    pub dense_bytes: u64,
}

impl Geometry {
    /// Returns the geometry of a run. `space` and `colouring` must be those of the manifest.
    ///
    /// # Errors
    /// [`RunError::TensorTooLarge`] or [`RunError::Cut`] if the manifest contradicts itself.
    pub fn new(manifest: &RunManifest, space: &Space, colouring: &Colouring) -> Result<Self, RunError> {
        let shape = Shape::of(space, colouring).ok_or(RunError::TensorTooLarge)?;
        let (cosets, shards) = (manifest.plan.cosets()?.cosets, manifest.shards);
        let cut = u32::try_from(cosets).ok().and_then(|cosets| ShardCut::new(cosets, shards));
        let cut = cut.ok_or(RunError::Cut { cosets, shards })?;
        Ok(Self {
            cut,
            fingerprint: manifest.fingerprint.0,
            packed_bytes: shape.packed_bytes(),
            row_bits: shape.row_bits(),
            dense_bytes: cosets.div_ceil(colouring.period(space)) * u64::from(shape.packed_bytes()),
        })
    }

    /// Checks that a graph has as many cosets as the run's manifest says.
    ///
    /// # Errors
    /// [`RunError::CosetCount`] if it has not.
    pub fn check_graph(&self, graph: &CosetGraph) -> Result<(), RunError> {
        let (expected, found) = (self.cut.cosets(), graph.len());
        if found == expected { Ok(()) } else { Err(RunError::CosetCount { expected, found }) }
    }

    /// Returns the identity of the file that holds a shard of a layer.
    pub fn identity(&self, depth: Depth, shard: ShardId) -> Identity {
        let cosets = self.cut.range(shard);
        Identity {
            fingerprint: self.fingerprint,
            depth: depth.0,
            shard: shard.0,
            first_coset: cosets.start,
            cosets: cosets.end - cosets.start,
            packed_bytes: self.packed_bytes,
            row_bits: self.row_bits,
        }
    }

    /// Returns the sizes of each coset's tensor.
    pub fn tensor(&self) -> Tensor {
        Tensor { packed_bytes: self.packed_bytes, row_bits: self.row_bits }
    }
}
