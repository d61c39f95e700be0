//! The division of a process's memory budget: tables and kernels take their part, and the rest is for layers
//! in the page cache.

use crate::run::RunError;
use fathom_space::{CosetGraph, Shape, Space};

/// The bytes for each coset of a layer: the checksum, until it is added to the layer's digest, and the place
/// in the window on a layer.
const CHECKSUM_BYTES: u64 = 64;

/// The number of tensors of a thread: the kernel's accumulators and copies of a source, and the tensor to be
/// written.
const TENSORS: u64 = 6;

/// The bytes of a thread's axis maps and write buffers, if memory holds no more maps.
const THREAD_BYTES: u64 = 6 << 20;

/// The bytes of a thread's axis maps that fit into [`THREAD_BYTES`].
const MIN_MAP_BYTES: u64 = 11 << 19;

/// The maximum number of bytes of a thread's axis maps: 2x7, which has the largest ones among boards, needs
/// 43 MiB.
pub const MAX_MAP_BYTES: u64 = 64 << 20;

/// The share of the memory for layers that axis maps may take, as a divisor.
const MAP_SHARE: u64 = 8;

/// The longest axis of which a thread keeps all maps in [`MIN_MAP_BYTES`], as boards need them.
const MAX_OF_FEW_MAPS: u32 = 24;

/// The bytes of the rest of the process.
const PROCESS_BYTES: u64 = 16 << 20;

/// The smallest cache in bytes: in a smaller one, cosets would leave memory before they are read.
const MIN_CACHE_BYTES: u64 = 1 << 20;

/// The parts of a search's memory that grow with its budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The bytes for layers, in the page cache.
    pub cache_bytes: u64,
    /// The bytes of the axis maps of each thread, with what kernels derive from them. Maps that exceed this
    /// are dropped, and built again when they are needed.
    pub map_bytes: usize,
}

impl Budget {
    /// Divides the memory of a search that may take `memory_bytes` in all.
    ///
    /// # Errors
    /// [`RunError::Memory`] if `memory_bytes` is too little.
    pub fn new(
        memory_bytes: u64,
        space: &Space,
        patterns: u64,
        cosets: u64,
        shape: &Shape,
        threads: usize,
    ) -> Result<Self, RunError> {
        let least = self::memory_bytes(space, patterns, cosets, shape, threads) + MIN_CACHE_BYTES;
        let Some(rest) = memory_bytes.checked_sub(least) else {
            return Err(RunError::Memory { space: space.slug(), needed: least, allowed: memory_bytes });
        };
        let threads = threads.max(1) as u64;
        let more_maps = match shape.lengths().iter().any(|&length| length > MAX_OF_FEW_MAPS) {
            true => (rest / MAP_SHARE / threads).min(MAX_MAP_BYTES - MIN_MAP_BYTES),
            false => 0,
        };
        Ok(Self {
            cache_bytes: rest + MIN_CACHE_BYTES - more_maps * threads,
            map_bytes: (MIN_MAP_BYTES + more_maps) as usize,
        })
    }
}

/// Returns the bytes of memory that a search needs besides the page cache: the tables, a checksum for each
/// coset of a layer, and some tensors, axis maps and buffers for each thread.
pub fn memory_bytes(space: &Space, patterns: u64, cosets: u64, shape: &Shape, threads: usize) -> u64 {
    let unpacked = u64::from(shape.rows()) * u64::from(shape.row_bits()).next_power_of_two().max(32) / 8;
    CosetGraph::table_bytes(space, patterns, cosets)
        + cosets * CHECKSUM_BYTES
        + threads as u64 * (TENSORS * (unpacked + u64::from(shape.packed_bytes())) + THREAD_BYTES)
        + PROCESS_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Metric, PuzzleSpec};
    use fathom_space::{Labels, Plan};

    #[test]
    fn parts_add_up_and_boards_keep_their_maps() {
        const THREADS: usize = 2;
        // Bytes of all maps, as counted by `Transforms`: 4x4 0.43 MiB, 2x7 42.7 MiB.
        for (board, needed) in [("4x4", 1 << 19), ("3x4", 1 << 19), ("2x7", 43 << 20)] {
            let source = PuzzleSpec::by_name(board).unwrap();
            let labels = Labels::from_values(source.solved());
            let space = Space::new(source.puzzle(Metric::Multi).unwrap(), Metric::Multi, labels).unwrap();
            let Plan { patterns, representative_cosets: cosets, shape, .. } = Plan::new(&space).unwrap();
            let least = memory_bytes(&space, patterns, cosets, &shape, THREADS) + MIN_CACHE_BYTES;
            for more in [0, 1 << 20, 1 << 30, 1 << 34] {
                let budget = Budget::new(least + more, &space, patterns, cosets, &shape, THREADS).unwrap();
                let Budget { cache_bytes, map_bytes } = budget;
                let more_maps = (map_bytes as u64 - MIN_MAP_BYTES) * THREADS as u64;
                assert_eq!(cache_bytes + more_maps, more + MIN_CACHE_BYTES, "{board} {more}");
                assert!(more_maps <= more / MAP_SHARE, "{board} {more}");
                assert!(map_bytes >= needed || more < 1 << 30, "{board} {more}: {map_bytes}");
            }
            assert!(Budget::new(least - 1, &space, patterns, cosets, &shape, THREADS).is_err());
        }
    }
}
