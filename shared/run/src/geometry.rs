//! Which layer file holds which shard of which layer, for those who need no more of the cosets than their number.

use crate::{Definition, Depth, ShardCut, ShardId};
use anyhow::{Context, Result, anyhow};
use fathom_layer::Identity;
use fathom_space::{Colouring, Shape, Space};

/// The shards of a run, and what their files are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// How cosets are cut into shards.
    pub cut: ShardCut,
    /// The run's fingerprint.
    pub fingerprint: [u8; 32],
    /// Bytes of a packed tensor.
    pub packed_bytes: u32,
}

impl Geometry {
    /// Of a run, for whose definition space and colouring were derived.
    ///
    /// # Errors
    /// If the definition contradicts itself.
    pub fn of(definition: &Definition, space: &Space, colouring: &Colouring) -> Result<Self> {
        let shape = Shape::of(space, colouring).context("the cosets are too large")?;
        let cosets = u32::try_from(definition.representative_cosets).ok();
        let cut = cosets.and_then(|cosets| ShardCut::new(cosets, definition.shards)).ok_or_else(|| {
            anyhow!(
                "{} cosets cannot be cut into {} shards",
                definition.representative_cosets,
                definition.shards
            )
        })?;
        Ok(Self { cut, fingerprint: definition.fingerprint.0, packed_bytes: shape.packed_bytes() })
    }

    /// Which layer file holds a shard of a layer.
    pub fn identity(&self, depth: Depth, shard: ShardId) -> Identity {
        let cosets = self.cut.range(shard);
        Identity {
            fingerprint: self.fingerprint,
            depth: depth.0,
            shard: shard.0,
            first_coset: cosets.start,
            cosets: cosets.end - cosets.start,
            packed_bytes: self.packed_bytes,
        }
    }
}
