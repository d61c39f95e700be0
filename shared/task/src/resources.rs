//! What may be taken of this machine.

use crate::Kernel;

/// What a process has for its tasks.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// The engine.
    pub kernel: Kernel,
    /// Kernel threads.
    pub threads: usize,
    /// Bytes of memory that may be taken: for tables and tensors, and what is left for layers in the page
    /// cache.
    pub memory_bytes: u64,
    /// The last depth that will be asked for, if that is known; it saves the reference engine work.
    pub max_depth: Option<u32>,
}
