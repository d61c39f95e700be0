//! Which cosets from peers a worker has while it makes its shards one after another: all that it has fetched
//! for the depth, or the newest of them, as a worker keeps them that drops the oldest
//! ([`fathom_engine::task::beyond`]).

use fathom_engine::task::beyond;

/// The cosets that a worker has fetched at one depth.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The memory for them in bytes; `None` if nothing is dropped.
    most_bytes: Option<f64>,
    /// The number of the generation with which each coset came, counted from 1 over all workers; 0 for none.
    came: Vec<u32>,
    /// The bytes of the generations that are here, the oldest first, and the number of the oldest.
    generations: Vec<f64>,
    oldest: u32,
    /// The worker's first generation.
    first: u32,
    /// The bytes that were dropped.
    dropped_bytes: f64,
}

impl Fetched {
    pub(crate) fn new(cosets: u32, most_bytes: Option<f64>) -> Self {
        Self {
            most_bytes,
            came: vec![0; cosets as usize],
            generations: vec![0.0],
            oldest: 1,
            first: 1,
            dropped_bytes: 0.0,
        }
    }

    /// Goes on to the next worker, which has fetched nothing.
    pub(crate) fn next_worker(&mut self) {
        self.oldest += self.generations.len() as u32;
        self.first = self.oldest;
        self.generations = vec![0.0];
        self.dropped_bytes = 0.0;
    }

    /// Returns whether a coset is here.
    pub(crate) fn has(&self, coset: u32) -> bool {
        self.came[coset as usize] >= self.oldest
    }

    /// Returns whether a coset is or was here.
    pub(crate) fn had(&self, coset: u32) -> bool {
        self.came[coset as usize] >= self.first
    }

    /// Returns whether cosets are dropped where memory is short.
    pub(crate) fn is_limited(&self) -> bool {
        self.most_bytes.is_some()
    }

    /// Returns the bytes that are here.
    pub(crate) fn bytes(&self) -> f64 {
        self.generations.iter().sum()
    }

    /// Returns the bytes that were here before, and were dropped.
    pub(crate) fn dropped_bytes(&self) -> f64 {
        self.dropped_bytes
    }

    /// Adds a coset.
    pub(crate) fn push(&mut self, coset: u32, bytes: f64) {
        self.came[coset as usize] = self.oldest + self.generations.len() as u32 - 1;
        *self.generations.last_mut().expect("there is always a generation") += bytes;
    }

    /// Begins a new generation before a task fetches, if the youngest has its share.
    pub(crate) fn age(&mut self) {
        let Some(most_bytes) = self.most_bytes else {
            return;
        };
        let bytes: Vec<u64> = self.generations.iter().map(|&bytes| bytes as u64).collect();
        if let Some(dropped) = beyond::dropped(&bytes, most_bytes as u64) {
            self.generations.push(0.0);
            (0..dropped).for_each(|_| self.drop_first());
        }
    }

    /// Makes room for so many bytes more, as far as possible. Returns whether a generation was dropped.
    pub(crate) fn make_room(&mut self, bytes: f64) -> bool {
        let Some(most_bytes) = self.most_bytes.filter(|_| bytes > 0.0) else {
            return false;
        };
        let is_short = self.bytes() + bytes > most_bytes && self.generations[0] > 0.0;
        if is_short {
            if self.generations.len() == 1 {
                self.generations.push(0.0);
            }
            self.drop_first();
        }
        is_short
    }

    /// Returns how many of `bytes` bytes more exceed the memory.
    pub(crate) fn excess(&self, bytes: f64) -> f64 {
        self.most_bytes.map_or(0.0, |most_bytes| (self.bytes() + bytes - most_bytes).clamp(0.0, bytes))
    }

    fn drop_first(&mut self) {
        self.dropped_bytes += self.generations.remove(0);
        self.oldest += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here(fetched: &Fetched) -> Vec<u32> {
        (0..64).filter(|&coset| fetched.has(coset)).collect()
    }

    /// The numbers are those of the test of the worker's own inputs.
    #[test]
    fn cosets_leave_as_they_leave_a_worker() {
        let mut fetched = Fetched::new(64, Some(16.0));
        for coset in 0..14 {
            fetched.age();
            fetched.push(coset, 1.0);
        }
        fetched.age();
        assert_eq!(here(&fetched), (2..14).collect::<Vec<_>>());
        assert_eq!((fetched.bytes(), fetched.dropped_bytes()), (12.0, 2.0));
        assert!(fetched.had(0) && !fetched.had(14));
        assert!(!fetched.make_room(4.0) && fetched.make_room(5.0));
        assert_eq!(here(&fetched), (4..14).collect::<Vec<_>>());
        assert_eq!(fetched.excess(7.0), 1.0);
        while fetched.make_room(20.0) {}
        assert_eq!((here(&fetched), fetched.bytes(), fetched.dropped_bytes()), (vec![], 0.0, 14.0));
        fetched.push(0, 1.0);
        fetched.next_worker();
        assert!(!fetched.has(0) && !fetched.had(0) && fetched.dropped_bytes() == 0.0);
    }

    #[test]
    fn with_no_limit_nothing_leaves() {
        let mut fetched = Fetched::new(64, None);
        for coset in 0..64 {
            fetched.age();
            assert!(!fetched.make_room(1e18));
            fetched.push(coset, 1e18);
        }
        assert_eq!((here(&fetched).len(), fetched.dropped_bytes(), fetched.excess(1e18)), (64, 0.0, 0.0));
    }
}
