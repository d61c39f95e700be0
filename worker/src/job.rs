//! What a worker must know of a run: the same for all tasks of it.

use fathom_kernel::Engine;
use fathom_kernel::reference::Distances;
use fathom_layer::Identity;
use fathom_proto::{Depth, ShardCut, ShardId};
use fathom_space::CosetGraph;
use fathom_space::counting::Fixed;

/// A run, as far as tasks need it.
#[derive(Debug)]
pub struct Job {
    /// The cosets.
    pub graph: CosetGraph,
    /// For counting classes; `None` if they are not counted.
    pub fixed: Option<Fixed>,
    /// How cosets are cut into shards.
    pub cut: ShardCut,
    /// The run's fingerprint.
    pub fingerprint: [u8; 32],
    /// How new layers are found.
    pub method: Method,
    /// Bytes of layers that should be in memory, at most.
    pub cache_bytes: u64,
}

/// How new layers are found.
#[derive(Debug)]
pub enum Method {
    /// By pulling cosets through moves.
    Cosets(Engine),
    /// By looking up distances that a plain search found.
    Reference(Distances),
}

impl Job {
    /// Which layer file holds a shard of a layer.
    pub fn identity(&self, depth: Depth, shard: ShardId) -> Identity {
        let cosets = self.cut.range(shard);
        Identity {
            fingerprint: self.fingerprint,
            depth: depth.0,
            shard: shard.0,
            first_coset: cosets.start,
            cosets: cosets.end - cosets.start,
            packed_bytes: self.graph.shape().packed_bytes(),
        }
    }
}
