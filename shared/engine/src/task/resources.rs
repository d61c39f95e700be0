//! The limits of a process.

use crate::task::Kernel;

/// The resources that a process may use for its tasks.
#[derive(Clone, Copy, Debug)]
pub struct Resources {
    /// The kernel.
    pub kernel: Kernel,
    /// The number of kernel threads.
    pub threads: usize,
    /// The memory budget in bytes: tables and tensors take their part, and the rest is for layers in the
    /// page cache.
    pub memory_bytes: u64,
    /// The last depth that will be asked for, if that is known. It saves the reference engine work.
    pub max_depth: Option<u32>,
}
