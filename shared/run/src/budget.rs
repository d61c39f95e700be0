//! The division of a process's memory budget: tables and kernels take their part, and the rest is for layers
//! in the page cache.

use crate::RunError;
use fathom_space::{CosetGraph, Shape, Space};

/// The bytes for each coset of a layer: the checksum, until it is added to the layer's digest, and the place
/// in the window on a layer.
const CHECKSUM_BYTES: u64 = 64;

/// The number of tensors of a thread: the kernel's accumulators and copies of a source, and the tensor to be
/// written.
const TENSORS: u64 = 6;

/// The bytes of a thread's axis maps and write buffers.
const THREAD_BYTES: u64 = 6 << 20;

/// The bytes of the rest of the process.
const PROCESS_BYTES: u64 = 16 << 20;

/// The smallest cache in bytes: in a smaller one, cosets would leave memory before they are read.
const LEAST_CACHE_BYTES: u64 = 1 << 20;

/// Returns the bytes of memory that are left for layers if a search may take `memory_bytes` in all.
///
/// # Errors
/// [`RunError::Memory`] if `memory_bytes` is too little.
pub fn cache_bytes(
    memory_bytes: u64,
    space: &Space,
    patterns: u64,
    cosets: u64,
    shape: &Shape,
    threads: usize,
) -> Result<u64, RunError> {
    let least = self::memory_bytes(space, patterns, cosets, shape, threads) + LEAST_CACHE_BYTES;
    match memory_bytes.checked_sub(least) {
        Some(rest) => Ok(rest + LEAST_CACHE_BYTES),
        None => Err(RunError::Memory { space: space.slug(), needed: least, allowed: memory_bytes }),
    }
}

/// Returns the bytes of memory that a search needs besides the page cache: the tables, a checksum for each
/// coset of a layer, and some tensors and buffers for each thread.
pub fn memory_bytes(space: &Space, patterns: u64, cosets: u64, shape: &Shape, threads: usize) -> u64 {
    let unpacked = u64::from(shape.rows()) * u64::from(shape.row_bits()).next_power_of_two().max(32) / 8;
    CosetGraph::table_bytes(space, patterns, cosets)
        + cosets * CHECKSUM_BYTES
        + threads as u64 * (TENSORS * (unpacked + u64::from(shape.packed_bytes())) + THREAD_BYTES)
        + PROCESS_BYTES
}
