//! The union of all layers before the one being computed, as one tensor for each coset, for runs whose tasks
//! read all layers.
//!
//! If the moves are not closed under inverses, moves may lead back to any depth, so the states of all earlier
//! layers must be subtracted from a new layer. Reading all of them at each depth takes time that grows with
//! the depth. The union grows by only one layer a depth: a task adds the newest layer, and subtracts the
//! union.
//!
//! The union exists only in memory. A process that starts, or a worker that computes a shard for the first
//! time, adds all layers once. So nothing has to be made durable, and the union cannot contradict the files.
//! If memory cannot hold the union, there is none, and tasks read all layers.

use crate::run::{ShardCut, ShardId};
use crate::task::Layer;
use fathom_kernel::{Bits, SLACK_BYTES};
use fathom_layer::{LayerError, Stored};
use fathom_space::CosetId;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The union of layers, shard by shard.
#[derive(Debug)]
pub struct Union {
    cut: ShardCut,
    packed_bytes: usize,
    shards: Box<[Mutex<OfShard>]>,
}

/// One shard of the union.
#[derive(Debug, Default)]
struct OfShard {
    /// The packed tensors of the shard's cosets, one after the other; empty until the first layer is added.
    bits: Vec<u8>,
    /// The number of layers in the union, from depth 0 on.
    layers: usize,
}

/// The shard of the union that a task reads. While it exists, no other task can add to the shard.
#[derive(Debug)]
pub struct OfTask<'a> {
    of: MutexGuard<'a, OfShard>,
    first: u32,
    packed_bytes: usize,
}

impl Union {
    /// Makes a union without layers, for cosets that take `packed_bytes` bytes each.
    pub fn new(cut: ShardCut, packed_bytes: u32) -> Self {
        let shards = cut.ids().map(|_| Mutex::default()).collect();
        Self { cut, packed_bytes: packed_bytes as usize, shards }
    }

    /// Returns the memory of a union with layers in all shards, in bytes.
    pub fn bytes(cut: ShardCut, packed_bytes: u32) -> u64 {
        u64::from(cut.cosets()) * u64::from(packed_bytes) + u64::from(cut.shards()) * SLACK_BYTES as u64
    }

    /// Adds the layers of `before` that are missing to a shard of the union, and returns the shard. `before`
    /// has all layers that a task of the shard reads, the newest first. Returns `None` if the union already
    /// has more layers than these, because the task computes a lost file again.
    ///
    /// # Errors
    /// [`LayerError`] if a layer is damaged, or its file changes in the meantime. The shard's union is then
    /// empty again.
    ///
    /// # Panics
    /// If a coset of the shard is not [held](Layer::holds) by one of the layers to add.
    pub fn of_task(&self, shard: ShardId, before: &[&Layer]) -> Result<Option<OfTask<'_>>, LayerError> {
        // A panic may have left a partly added layer, so this shard's union starts again.
        let lock = &self.shards[shard.0 as usize];
        let mut of = lock.lock().unwrap_or_else(|poisoned| {
            lock.clear_poison();
            let mut of = PoisonError::into_inner(poisoned);
            *of = OfShard::default();
            of
        });
        let Some(missing) = before.len().checked_sub(of.layers) else {
            return Ok(None);
        };
        let cosets = self.cut.range(shard);
        if of.bits.is_empty() {
            of.bits = vec![0; cosets.len() * self.packed_bytes + SLACK_BYTES];
        }
        let missing = &before[..missing];
        for layer in missing {
            for (coset, bits) in cosets.clone().zip(of.bits.chunks_exact_mut(self.packed_bytes)) {
                if let Err(error) = layer.coset(CosetId(coset)).map(|stored| add(&stored, bits)) {
                    *of = OfShard::default();
                    return Err(error);
                }
            }
        }
        // What a changed file has left here would stay, whatever becomes of the file.
        let mut files = missing.iter().filter_map(|layer| layer.file(shard));
        if let Err(error) = files.try_for_each(|file| file.check_unchanged()) {
            *of = OfShard::default();
            return Err(error);
        }
        of.layers = before.len();
        Ok(Some(OfTask { of, first: cosets.start, packed_bytes: self.packed_bytes }))
    }
}

impl OfTask<'_> {
    /// Returns the states of a coset in any of the layers.
    pub fn coset(&self, coset: CosetId) -> Bits<'_> {
        let start = (coset.0 - self.first) as usize * self.packed_bytes;
        Bits::Dense(&self.of.bits[start..start + self.packed_bytes + SLACK_BYTES])
    }
}

/// Adds the states of a coset to a packed tensor.
fn add(stored: &Stored<'_>, bits: &mut [u8]) {
    let packed = match stored {
        Stored::Empty => return,
        Stored::Sparse(positions) => {
            for position in positions.as_chunks().0.iter().map(|&bytes| u32::from_le_bytes(bytes)) {
                bits[position as usize / 8] |= 1 << (position % 8);
            }
            return;
        }
        Stored::Dense(packed) => packed,
        Stored::Decompressed(packed) => &packed[..],
    };
    for (byte, more) in bits.iter_mut().zip(packed) {
        *byte |= more;
    }
}
