//! The part of a large layer that is in memory: the cosets that tasks will read soon are fetched ahead of
//! them, and no more cosets stay than the memory budget allows.
//!
//! A coset is a source of about as many cosets as there are moves, some of them close to each other. The
//! cosets that came first are reviewed first when the window is over its budget (the clock algorithm): a
//! coset that was wanted again since its last review gets a second chance, and any other leaves. The window
//! only advises the operating system: a page that the system evicts on its own is read again when it is
//! needed.

use std::collections::VecDeque;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU8, Ordering};

const OUT: u8 = 0;
const IN: u8 = 1;
const READ_AGAIN: u8 = 2;

/// The cosets of one layer that are in memory.
#[derive(Debug)]
pub struct Window {
    most_bytes: u64,
    /// By coset: `OUT`, `IN` or `READ_AGAIN`.
    state: Box<[AtomicU8]>,
    queue: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    /// The cosets in memory, each with its bytes; the first one is reviewed next.
    cosets: VecDeque<(u32, u32)>,
    bytes: u64,
}

impl Window {
    /// Makes an empty window for a layer of `cosets` cosets, which keeps at most `most_bytes` bytes of them
    /// in memory.
    pub fn new(cosets: u32, most_bytes: u64) -> Self {
        let state = (0..cosets).map(|_| AtomicU8::new(OUT)).collect();
        Self { most_bytes, state, queue: Mutex::default() }
    }

    /// Records that a coset is about to be read. If the coset is not in the window, calls `fetch`, which
    /// returns its size in bytes, and then `release` for each coset that must leave. `others` are bytes of
    /// the layer that are in memory for good, and leave the window so much less.
    ///
    /// # Errors
    /// The errors of `fetch`.
    pub fn prefetch<E>(
        &self,
        coset: u32,
        others: u64,
        fetch: impl FnOnce() -> Result<u32, E>,
        mut release: impl FnMut(u32),
    ) -> Result<(), E> {
        let state = &self.state[coset as usize];
        let again = |state| (state != OUT).then_some(READ_AGAIN);
        if state.fetch_update(Ordering::Relaxed, Ordering::Relaxed, again).is_ok() {
            return Ok(());
        }
        let bytes = fetch()?;
        let mut leaving = Vec::new();
        {
            let mut queue = self.queue.lock().expect("no thread panics while it holds the lock");
            // Two threads may have fetched the coset at once; only one adds it.
            if state.compare_exchange(OUT, IN, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                queue.cosets.push_back((coset, bytes));
                queue.bytes += u64::from(bytes);
            }
            while queue.bytes > self.most_bytes.saturating_sub(others)
                && let Some((oldest, bytes)) = queue.cosets.pop_front()
            {
                let state = &self.state[oldest as usize];
                if state.compare_exchange(READ_AGAIN, IN, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                    queue.cosets.push_back((oldest, bytes));
                } else {
                    state.store(OUT, Ordering::Relaxed);
                    queue.bytes -= u64::from(bytes);
                    leaving.push(oldest);
                }
            }
        }
        leaving.into_iter().for_each(&mut release);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::convert::Infallible;

    /// Prefetches cosets of 10 bytes in this order. Returns the cosets that were fetched, and those that were
    /// released.
    fn follow(most_bytes: u64, wanted: &[u32]) -> (Vec<u32>, Vec<u32>) {
        follow_beside(0, most_bytes, wanted)
    }

    fn follow_beside(others: u64, most_bytes: u64, wanted: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let window = Window::new(10, most_bytes);
        let (mut fetched, mut released) = (Vec::new(), Vec::new());
        for &coset in wanted {
            let fetch = || {
                fetched.push(coset);
                Ok::<_, Infallible>(10)
            };
            window.prefetch(coset, others, fetch, |coset| released.push(coset)).unwrap();
        }
        (fetched, released)
    }

    #[test]
    fn what_fits_is_fetched_once_and_stays() {
        assert_eq!(follow(30, &[1, 2, 3, 1, 2, 3]), (vec![1, 2, 3], vec![]));
    }

    #[test]
    fn what_was_read_again_stays_longer() {
        assert_eq!(follow(20, &[1, 2, 1, 3]), (vec![1, 2, 3], vec![2]));
        assert_eq!(follow(20, &[1, 2, 3]), (vec![1, 2, 3], vec![1]));
        // A coset gets its second chance only once.
        assert_eq!(follow(20, &[1, 2, 1, 3, 4, 5]), (vec![1, 2, 3, 4, 5], vec![2, 3, 1]));
    }

    #[test]
    fn what_is_in_memory_for_good_leaves_less() {
        assert_eq!(follow_beside(10, 30, &[1, 2, 3]), follow(20, &[1, 2, 3]));
        assert_eq!(follow_beside(40, 30, &[1, 2]), follow(0, &[1, 2]));
    }

    #[test]
    fn a_window_smaller_than_a_coset_goes_on() {
        assert_eq!(follow(5, &[1, 2]), (vec![1, 2], vec![1, 2]));
    }
}
