//! The options of a search, how it is stopped, and how it ends.

use crate::task::Kernel;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The interval at which progress is shown and stop requests are noticed.
pub(crate) const TICK: Duration = Duration::from_millis(100);

/// The options of a search.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// The number of kernel threads.
    pub threads: usize,
    /// The kernel.
    pub kernel: Kernel,
    /// The last depth to compute; `None` for all depths.
    pub max_depth: Option<u32>,
    /// The memory budget in bytes: tables and tensors take their part, and the rest is for layers in the
    /// page cache.
    pub memory_bytes: u64,
    /// The minimum time between two checkpoints, unless disk space is short. A crash loses little more than
    /// this much work. With zero, each layer is durable before the next one starts.
    pub checkpoint_every: Duration,
}

impl Options {
    /// The usual value of `checkpoint_every`. A small search takes less than a second, and with a sync for
    /// each layer it would mostly wait for the disk.
    pub const CHECKPOINT_EVERY: Duration = Duration::from_secs(1);
}

/// The flags by which a search is asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// Set by the caller: the search stops at the next coset.
    pub requested: Arc<AtomicBool>,
    /// Set by the caller while the search builds its tables: the search does not read `requested` yet, and
    /// ending the process immediately would lose nothing. The search sets the flag to false when the tables
    /// are ready.
    pub at_once: Arc<AtomicBool>,
}

/// How a search ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every state was visited.
    Complete,
    /// The last depth that the options ask for was computed.
    MaxDepth,
    /// The stop flag was set.
    Stopped,
}
