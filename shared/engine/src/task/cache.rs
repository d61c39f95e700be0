//! The memory for layers: the part of a process's memory budget that tables and threads leave.
//! Processes on one machine may share a budget, whose shares change as they come and go.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The time for which a count of the sharing processes is reused.
const BELIEVED: Duration = Duration::from_secs(1);
/// The bytes for layers if the budget leaves fewer.
const LEAST: u64 = 1 << 20;

/// The share of the memory for layers that cosets from other workers may take.
pub const IMPORT_SHARE: f64 = 0.75;

/// The memory for layers.
#[derive(Debug)]
pub struct Cache {
    /// The budget of all sharing processes together, in bytes.
    all: u64,
    /// The bytes that this process takes for anything but layers.
    taken: u64,
    /// Counts the sharing processes; `None` if this process does not share.
    sharers: Option<fn() -> usize>,
    /// The last count, and its time.
    known: Mutex<Option<(Instant, usize)>>,
}

impl Cache {
    /// Makes the cache of a process with a budget of `memory_bytes`, of which `cache_bytes` are for layers.
    pub fn new(memory_bytes: u64, cache_bytes: u64) -> Self {
        let taken = memory_bytes.saturating_sub(cache_bytes);
        Self { all: memory_bytes, taken, sharers: None, known: Mutex::default() }
    }

    /// Makes the process share a budget of `all` bytes equally with other processes. `sharers` counts the
    /// processes, this one included.
    #[must_use]
    pub fn shared(self, all: u64, sharers: fn() -> usize) -> Self {
        Self { all, sharers: Some(sharers), ..self }
    }

    /// Returns the bytes of memory that this process may take now.
    pub fn memory_bytes(&self) -> u64 {
        let Some(sharers) = self.sharers else { return self.all };
        let now = Instant::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.filter(|(looked, _)| now.duration_since(*looked) < BELIEVED);
        let (_, count) = *known.insert(fresh.unwrap_or_else(|| (now, sharers().max(1))));
        self.all / count as u64
    }

    /// Returns the maximum number of bytes of layers that should be in memory now.
    pub fn bytes(&self) -> u64 {
        self.memory_bytes().saturating_sub(self.taken).max(LEAST)
    }

    /// Returns the maximum number of bytes of cosets from other workers that should be in memory now. The
    /// rest is for the worker's own part of the newest layer, and for files that are read once or written.
    pub fn import_bytes(&self) -> u64 {
        (self.bytes() as f64 * IMPORT_SHARE) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_budget_is_divided_equally() {
        const GIB: u64 = 1 << 30;
        let alone = || Cache::new(8 * GIB, 7 * GIB);
        assert_eq!((alone().memory_bytes(), alone().bytes()), (8 * GIB, 7 * GIB));
        let two = alone().shared(8 * GIB, || 2);
        assert_eq!((two.memory_bytes(), two.bytes()), (4 * GIB, 3 * GIB));
        // A count of 0 means that a process does not even see itself.
        assert_eq!(alone().shared(8 * GIB, || 0).bytes(), 7 * GIB);
        assert_eq!(alone().shared(8 * GIB, || 100).bytes(), LEAST);
    }
}
