//! How the memory that a process may take is shared out: to tables and kernels, and the rest to layers in the
//! page cache.

use crate::RunError;
use fathom_space::{CosetGraph, Shape, Space};

/// A coset's checksum, on its way from the task to the layer's digest, and the coset's place in the window on
/// a layer.
const CHECKSUM_BYTES: u64 = 64;

/// What a kernel keeps: accumulators and copies of a source, and the tensor to be written.
const TENSORS: u64 = 6;

/// Axis maps and write buffers of a thread.
const THREAD_BYTES: u64 = 6 << 20;

/// The rest of the process.
const PROCESS_BYTES: u64 = 16 << 20;

/// The least cache: with less of a layer in memory, cosets would leave it before they are read.
const LEAST_CACHE_BYTES: u64 = 1 << 20;

/// Bytes of memory that are left for layers when a search may take `memory_bytes` in all.
///
/// # Errors
/// [`RunError::Memory`] if that is too little.
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

/// Bytes of memory besides the page cache: tables, a checksum for each coset of a layer, and for each thread
/// some tensors and buffers.
pub fn memory_bytes(space: &Space, patterns: u64, cosets: u64, shape: &Shape, threads: usize) -> u64 {
    let unpacked = u64::from(shape.rows()) * u64::from(shape.row_bits()).next_power_of_two().max(32) / 8;
    CosetGraph::table_bytes(space, patterns, cosets)
        + cosets * CHECKSUM_BYTES
        + threads as u64 * (TENSORS * (unpacked + u64::from(shape.packed_bytes())) + THREAD_BYTES)
        + PROCESS_BYTES
}
