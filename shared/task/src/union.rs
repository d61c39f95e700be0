//! All layers before the one that is made, in one tensor a coset, where all are read.
//!
//! Moves that are not closed under inverses may lead back to any depth, so a new layer is what moves lead to
//! without all layers before it. Reading each of these at each depth takes time that grows with the depth.
//! The union grows by one layer a depth instead: a task adds the newest layer, and subtracts the union.
//!
//! The union is in memory alone. A process that begins, or a worker that makes a shard for the first time,
//! adds all layers once; nothing has to be made durable, and nothing can contradict the files. Where memory
//! does not hold the union, there is none, and tasks read all layers.

use crate::Layer;
use fathom_kernel::{Bits, SLACK_BYTES};
use fathom_layer::{LayerError, Stored};
use fathom_run::{ShardCut, ShardId};
use fathom_space::CosetId;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The union, shard by shard.
#[derive(Debug)]
pub struct Union {
    cut: ShardCut,
    packed_bytes: usize,
    shards: Box<[Mutex<OfShard>]>,
}

/// A shard of it.
#[derive(Debug, Default)]
struct OfShard {
    /// The packed tensors of its cosets, one after the other; empty if nothing was added.
    bits: Vec<u8>,
    /// The number of layers in it, from depth 0 on.
    layers: usize,
}

/// The shard that a task reads. No other task adds to it meanwhile.
#[derive(Debug)]
pub struct OfTask<'a> {
    of: MutexGuard<'a, OfShard>,
    first: u32,
    packed_bytes: usize,
}

impl Union {
    /// Without any layer, of cosets that take so many bytes each.
    pub fn new(cut: ShardCut, packed_bytes: u32) -> Self {
        let shards = cut.ids().map(|_| Mutex::default()).collect();
        Self { cut, packed_bytes: packed_bytes as usize, shards }
    }

    /// Bytes of memory that it takes when something was added to each shard.
    pub fn bytes(cut: ShardCut, packed_bytes: u32) -> u64 {
        u64::from(cut.cosets()) * u64::from(packed_bytes) + u64::from(cut.shards()) * SLACK_BYTES as u64
    }

    /// The union of all layers that a task of this shard reads, the newest first, to which it adds those that
    /// are not in it yet. `None` if it has more than these: the task makes a lost file again.
    ///
    /// # Errors
    /// [`LayerError`] if a layer is damaged; then nothing of the shard is in the union any more.
    ///
    /// # Panics
    /// If the files of the shard are not here.
    pub fn of_task(&self, shard: ShardId, before: &[&Layer]) -> Result<Option<OfTask<'_>>, LayerError> {
        // Whoever panicked has left half of a layer here.
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
        for layer in &before[..missing] {
            for (coset, bits) in cosets.clone().zip(of.bits.chunks_exact_mut(self.packed_bytes)) {
                if let Err(error) = layer.coset(CosetId(coset)).map(|stored| add(&stored, bits)) {
                    *of = OfShard::default();
                    return Err(error);
                }
            }
        }
        of.layers = before.len();
        Ok(Some(OfTask { of, first: cosets.start, packed_bytes: self.packed_bytes }))
    }
}

impl OfTask<'_> {
    /// The states of a coset that lie in any of the layers.
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
