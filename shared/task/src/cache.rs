//! How much of the layers should be in memory: what is left of the memory that a process may take when its
//! tables and threads have theirs. Processes that share a machine share the memory too, as they come and go.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long the number of processes that share the memory is believed.
const BELIEVED: Duration = Duration::from_secs(1);
/// So much is taken for layers however little there is.
const LEAST: u64 = 1 << 20;

/// The memory for layers.
#[derive(Debug)]
pub struct Cache {
    /// Bytes that all who share it may take together.
    all: u64,
    /// Bytes that this process takes for other things.
    taken: u64,
    /// How many share it; `None` for one.
    sharers: Option<fn() -> usize>,
    /// How many there were when it was looked last.
    known: Mutex<Option<(Instant, usize)>>,
}

impl Cache {
    /// Of `memory_bytes` that a process may take, when `cache_bytes` are left of them.
    pub fn new(memory_bytes: u64, cache_bytes: u64) -> Self {
        let taken = memory_bytes.saturating_sub(cache_bytes);
        Self { all: memory_bytes, taken, sharers: None, known: Mutex::default() }
    }

    /// The same process, which has its share of `all` bytes alone. `sharers` counts those who share.
    #[must_use]
    pub fn shared(self, all: u64, sharers: fn() -> usize) -> Self {
        Self { all, sharers: Some(sharers), ..self }
    }

    /// Bytes of memory that this process may take now.
    pub fn memory_bytes(&self) -> u64 {
        let Some(sharers) = self.sharers else { return self.all };
        let now = Instant::now();
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = known.filter(|(looked, _)| now.duration_since(*looked) < BELIEVED);
        let (_, count) = *known.insert(fresh.unwrap_or_else(|| (now, sharers().max(1))));
        self.all / count as u64
    }

    /// Bytes of layers that should be in memory now, at most.
    pub fn bytes(&self) -> u64 {
        self.memory_bytes().saturating_sub(self.taken).max(LEAST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_who_share_have_equal_parts() {
        const GIB: u64 = 1 << 30;
        let alone = || Cache::new(8 * GIB, 7 * GIB);
        assert_eq!((alone().memory_bytes(), alone().bytes()), (8 * GIB, 7 * GIB));
        let two = alone().shared(8 * GIB, || 2);
        assert_eq!((two.memory_bytes(), two.bytes()), (4 * GIB, 3 * GIB));
        // A process that sees not even itself.
        assert_eq!(alone().shared(8 * GIB, || 0).bytes(), 7 * GIB);
        assert_eq!(alone().shared(8 * GIB, || 100).bytes(), LEAST);
    }
}
