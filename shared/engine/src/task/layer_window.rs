//! The part of a large layer that is in memory: the cosets that tasks will read soon are fetched ahead of
//! them, and no more cosets stay than the memory budget allows.
//!
//! A coset is a source of about as many cosets as there are moves. Which these are is known, and shards are
//! made nearly in a [known order](ShardOrder). So the window knows when each coset will be read next, and
//! when the window exceeds its budget, the cosets whose next use is furthest away leave. If the order were
//! exact, no other choice would need fewer reads from disk (Belady, "A study of replacement algorithms for a
//! virtual-storage computer", IBM Systems Journal 5, 1966). The window only advises the operating system: a
//! page that the system evicts on its own is read again when it is needed.

use crate::run::{ShardCut, ShardOrder};
use std::mem;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

/// Next uses are distinguished by this many stretches of the cosets.
const STRETCHES: u32 = 1024;

/// Cosets leave together, when they have more bytes than this, or more than this share of the window.
const LEAVE_TOGETHER: u64 = 8 << 20;
const LEAVING_SHARE: u64 = 64;

/// When a coset in the window is read next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// For this coset.
    For(u32),
    /// Not at this depth.
    Never,
    /// Unknown; the last time was for this coset. The cosets that were read first then leave first.
    AfterThis(u32),
}

/// The cosets of one layer that are in memory.
#[derive(Debug)]
pub struct Window {
    cut: ShardCut,
    /// By shard: what is added to the number of a coset, modulo 2^32, to get the coset's position in the
    /// order in which all are computed.
    offsets: Box<[u32]>,
    most_bytes: u64,
    /// By coset: whether it is in the window, its bytes, and in which of `queues`.
    places: Box<[AtomicU64]>,
    /// The bytes of all cosets in the window.
    bytes: AtomicU64,
    /// The cosets that may leave, by the stretch of their next use. The first queue has those that were
    /// fetched and not yet read, the last one those that are not read any more. A coset whose place has the
    /// number of another queue has moved there. A coset that was read and is needed again soon is in no
    /// queue: it leaves only after it was read, so that threads need not share the lock of the first queue.
    queues: Box<[Mutex<Queue>]>,
    /// The queues after this one are empty.
    furthest: AtomicU32,
    /// By shard: one more than the largest number of a coset that was computed; 0 if none was computed here.
    reached: Box<[AtomicU32]>,
    /// One more than the last position of a coset that was computed.
    frontier: AtomicU32,
    leaving: Mutex<Leaving>,
}

#[derive(Debug, Default)]
struct Queue {
    cosets: Vec<u32>,
    /// Entries of cosets that have moved are removed when there are more than this.
    most: usize,
}

/// Cosets that are out of the window, but not yet released.
#[derive(Debug, Default)]
struct Leaving {
    cosets: Vec<u32>,
    bytes: u64,
}

/// The place of a coset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Out,
    In { queue: u32, bytes: u32 },
}

impl Place {
    fn pack(self) -> u64 {
        match self {
            Self::Out => 0,
            Self::In { queue, bytes } => u64::from(queue + 1) << 32 | u64::from(bytes),
        }
    }

    fn unpack(packed: u64) -> Self {
        match (packed >> 32) as u32 {
            0 => Self::Out,
            queue => Self::In { queue: queue - 1, bytes: packed as u32 },
        }
    }
}

/// The queue of cosets that were fetched and not yet read.
const SOON: u32 = 0;

impl Window {
    /// Makes an empty window for a layer that is cut in this way and from which shards are computed in this
    /// order, which keeps at most `most_bytes` bytes of the layer in memory.
    pub fn new(cut: ShardCut, order: &ShardOrder, most_bytes: u64) -> Self {
        let zeros = |count: u32| (0..count).map(|_| AtomicU32::new(0)).collect();
        let mut offsets: Box<[u32]> = vec![0; cut.shards() as usize].into();
        let mut position = 0_u32;
        for &shard in order.shards() {
            let cosets = cut.range(shard);
            offsets[shard.0 as usize] = position.wrapping_sub(cosets.start);
            position += cosets.len() as u32;
        }
        Self {
            cut,
            offsets,
            most_bytes,
            places: (0..cut.cosets()).map(|_| AtomicU64::new(Place::Out.pack())).collect(),
            bytes: AtomicU64::new(0),
            queues: (0..STRETCHES + 2).map(|_| Mutex::default()).collect(),
            furthest: AtomicU32::new(0),
            reached: zeros(cut.shards()),
            frontier: AtomicU32::new(0),
            leaving: Mutex::default(),
        }
    }

    /// Records that a coset is about to be read. If the coset is not in the window, calls `fetch`, which
    /// returns its size in bytes, and `release` for cosets that must leave: together, because releasing
    /// them interrupts all threads once. `others` are bytes of the layer that stay in memory permanently and
    /// reduce the window.
    ///
    /// # Errors
    /// The errors of `fetch`.
    pub fn prefetch<E>(
        &self,
        coset: u32,
        others: u64,
        fetch: impl FnOnce() -> Result<u32, E>,
        release: impl FnOnce(Vec<u32>),
    ) -> Result<(), E> {
        if self.move_to(coset, SOON) {
            return Ok(());
        }
        let bytes = fetch()?;
        let place = Place::In { queue: SOON, bytes };
        // Two threads may have fetched the coset at the same time; only one adds it.
        let added = self.change(coset, |before| (before == Place::Out).then_some(place));
        if added.is_some() {
            self.bytes.fetch_add(bytes.into(), Ordering::Relaxed);
            self.enqueue(coset, SOON);
        }
        let leaving = self.leave(self.most_bytes.saturating_sub(others));
        if !leaving.is_empty() {
            release(leaving);
        }
        Ok(())
    }

    /// Returns whether a coset is in the window.
    pub fn has(&self, coset: u32) -> bool {
        self.places[coset as usize].load(Ordering::Relaxed) != Place::Out.pack()
    }

    /// Records that a coset was computed: its sources were read for it.
    pub fn made(&self, coset: u32) {
        let shard = self.cut.shard_of(coset);
        self.reached[shard.0 as usize].fetch_max(coset + 1, Ordering::Relaxed);
        self.frontier.fetch_max(self.position(coset) + 1, Ordering::Relaxed);
    }

    /// Returns the position of a coset in the order in which all cosets are computed.
    pub fn position(&self, coset: u32) -> u32 {
        coset.wrapping_add(self.offsets[self.cut.shard_of(coset).0 as usize])
    }

    /// Returns whether a coset has not been computed yet. A shard of which no coset was computed is assumed
    /// to be still to come if it is after all others.
    pub fn is_to_come(&self, coset: u32) -> bool {
        let shard = self.cut.shard_of(coset);
        match self.reached[shard.0 as usize].load(Ordering::Relaxed) {
            0 => self.frontier.load(Ordering::Relaxed) <= self.position(coset),
            reached => reached <= coset,
        }
    }

    /// Records that a coset was read, and when it is read next. Does nothing if it is not in the window.
    pub fn was_read(&self, coset: u32, next: Next) {
        let stretch = |coset: u32| {
            let stretch =
                u64::from(self.position(coset)) * u64::from(STRETCHES) / u64::from(self.cut.cosets());
            stretch as u32
        };
        let queue = match next {
            Next::For(reader) => 1 + stretch(reader),
            Next::Never => 1 + STRETCHES,
            Next::AfterThis(reader) => STRETCHES - stretch(reader),
        };
        if self.move_to(coset, queue) {
            self.enqueue(coset, queue);
        }
    }

    /// Changes the place of a coset, if `change` returns a new one. Returns the place before.
    fn change(&self, coset: u32, change: impl Fn(Place) -> Option<Place>) -> Option<Place> {
        let change = |packed| change(Place::unpack(packed)).map(Place::pack);
        let place = &self.places[coset as usize];
        place.fetch_update(Ordering::Relaxed, Ordering::Relaxed, change).ok().map(Place::unpack)
    }

    /// Gives a coset the number of another queue. Returns `false` if the coset is out of the window.
    fn move_to(&self, coset: u32, queue: u32) -> bool {
        self.change(coset, |before| match before {
            Place::Out => None,
            Place::In { bytes, .. } => Some(Place::In { queue, bytes }),
        })
        .is_some()
    }

    /// Returns whether a coset is in the window with the number of a queue.
    fn is_in(&self, coset: u32, queue: u32) -> bool {
        let place = self.places[coset as usize].load(Ordering::Relaxed);
        matches!(Place::unpack(place), Place::In { queue: of, .. } if of == queue)
    }

    /// Adds a coset to the queue whose number it has.
    fn enqueue(&self, coset: u32, number: u32) {
        const LEAST: usize = 64;
        let mut queue = lock(&self.queues[number as usize]);
        queue.cosets.push(coset);
        if queue.cosets.len() > queue.most.max(LEAST) {
            queue.cosets.sort_unstable();
            queue.cosets.dedup();
            queue.cosets.retain(|&coset| self.is_in(coset, number));
            queue.most = 2 * queue.cosets.len();
        }
        // While the queue is locked, no other thread can take it for empty.
        self.furthest.fetch_max(number, Ordering::Relaxed);
    }

    /// Takes the coset out of the window whose next use is furthest away. Returns it with its bytes, or
    /// `None` if no coset can leave.
    fn take_furthest(&self) -> Option<(u32, u32)> {
        loop {
            let number = self.furthest.load(Ordering::Relaxed);
            let mut queue = lock(&self.queues[number as usize]);
            let Some(coset) = queue.cosets.pop() else {
                let below = number.checked_sub(1)?;
                let _ = self.furthest.compare_exchange(number, below, Ordering::Relaxed, Ordering::Relaxed);
                continue;
            };
            let taken = self.change(coset, |before| match before {
                Place::In { queue, .. } if queue == number => Some(Place::Out),
                _ => None,
            });
            if let Some(Place::In { bytes, .. }) = taken {
                return Some((coset, bytes));
            }
        }
    }

    /// Takes cosets out of the window until it has at most `most_bytes` bytes. Returns the cosets to release
    /// now.
    fn leave(&self, most_bytes: u64) -> Vec<u32> {
        // Another thread that is here does the work.
        let Ok(mut leaving) = self.leaving.try_lock() else {
            return Vec::new();
        };
        while self.bytes.load(Ordering::Relaxed) > most_bytes
            && let Some((coset, bytes)) = self.take_furthest()
        {
            self.bytes.fetch_sub(bytes.into(), Ordering::Relaxed);
            leaving.bytes += u64::from(bytes);
            leaving.cosets.push(coset);
        }
        if leaving.bytes <= LEAVE_TOGETHER.min(self.most_bytes / LEAVING_SHARE) {
            return Vec::new();
        }
        let Leaving { mut cosets, .. } = mem::take(&mut *leaving);
        cosets.retain(|&coset| !self.has(coset));
        cosets
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().expect("no thread panics while it holds the lock")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::ShardId;
    use proptest::collection::vec;
    use proptest::prelude::*;
    use std::convert::Infallible;

    const BYTES: u64 = 10;

    fn window(cosets: u32, shards: u32, most: u64) -> Window {
        Window::new(ShardCut::new(cosets, shards).unwrap(), &ShardOrder::by_number(shards), most * BYTES)
    }

    /// Prefetches cosets of 10 bytes in this order. Returns the cosets that were fetched, and those that were
    /// released.
    fn prefetch(window: &Window, others: u64, wanted: &[u32]) -> (Vec<u32>, Vec<u32>) {
        let (mut fetched, mut released) = (Vec::new(), Vec::new());
        for &coset in wanted {
            let fetch = || {
                fetched.push(coset);
                Ok::<_, Infallible>(BYTES as u32)
            };
            window.prefetch(coset, others, fetch, |cosets| released.extend(cosets)).unwrap();
        }
        (fetched, released)
    }

    /// The sources of each coset, of which there are as many as sources: an undirected graph.
    type Graph = Vec<Vec<u32>>;

    /// Reads the sources of all cosets in order. Returns how many were fetched. `is_known` says whether the
    /// window knows when a coset is read next.
    fn read_all(graph: &Graph, most: u64, is_known: bool) -> usize {
        let window = window(graph.len() as u32, 1, most);
        let mut fetches = 0;
        for (coset, sources) in (0..).zip(graph) {
            fetches += prefetch(&window, 0, sources).0.len();
            window.made(coset);
            for &source in sources {
                let readers = graph[source as usize].iter().copied();
                let next = readers.filter(|&reader| window.is_to_come(reader)).min();
                let next = next.map_or(Next::Never, Next::For);
                window.was_read(source, if is_known { next } else { Next::AfterThis(coset) });
            }
        }
        fetches
    }

    /// Returns how many cosets must be fetched if the coset whose next use is furthest away always leaves,
    /// which is found by examining all cosets that follow.
    fn fewest(graph: &Graph, most: usize) -> usize {
        let (mut here, mut fetches) = (Vec::new(), 0);
        for (coset, sources) in graph.iter().enumerate() {
            let next = |source: u32| {
                let later = graph.iter().skip(coset + 1);
                later.take_while(|sources| !sources.contains(&source)).count()
            };
            for &source in sources {
                if here.contains(&source) {
                    continue;
                }
                fetches += 1;
                if here.len() == most {
                    let others = here.iter().enumerate().filter(|(_, other)| !sources.contains(other));
                    let (furthest, _) = others.max_by_key(|(_, other)| next(**other)).unwrap();
                    here.swap_remove(furthest);
                }
                here.push(source);
            }
        }
        fetches
    }

    fn graph(cosets: u32, edges: &[(u32, u32)]) -> Graph {
        let mut graph: Graph = (0..cosets).map(|coset| vec![coset]).collect();
        for &(from, to) in edges {
            for (from, to) in [(from, to), (to, from)] {
                if !graph[from as usize].contains(&to) {
                    graph[from as usize].push(to);
                }
            }
        }
        graph
    }

    proptest! {
        #[test]
        fn window_fetches_the_minimum(
            edges in vec((0u32..40, 0u32..40), 1..100), spare in 0usize..20,
        ) {
            let graph = graph(40, &edges);
            let most = graph.iter().map(Vec::len).max().unwrap() + spare;
            prop_assert_eq!(read_all(&graph, most as u64, true), fewest(&graph, most));
            prop_assert!(read_all(&graph, most as u64, false) >= fewest(&graph, most));
        }
    }

    #[test]
    fn fitting_cosets_are_fetched_once() {
        let window = window(10, 1, 3);
        assert_eq!(prefetch(&window, 0, &[1, 2, 3, 1, 2, 3]), (vec![1, 2, 3], vec![]));
    }

    #[test]
    fn furthest_next_use_leaves_first() {
        let window = window(10, 1, 3);
        prefetch(&window, 0, &[1, 2, 3]);
        window.made(0);
        window.was_read(1, Next::For(5));
        window.was_read(2, Next::For(9));
        window.was_read(3, Next::For(1));
        assert_eq!(prefetch(&window, 0, &[4, 5]), (vec![4, 5], vec![2, 1]));
        window.was_read(3, Next::Never);
        assert_eq!(prefetch(&window, 0, &[6]), (vec![6], vec![3]));
        assert!(window.has(6) && !window.has(3));
    }

    #[test]
    fn unknown_next_uses_leave_in_read_order() {
        let window = window(10, 1, 3);
        prefetch(&window, 0, &[1, 2, 3]);
        for (coset, reader) in [(2, 0), (3, 1), (1, 2)] {
            window.was_read(coset, Next::AfterThis(reader));
        }
        assert_eq!(prefetch(&window, 0, &[4, 5]), (vec![4, 5], vec![2, 3]));
    }

    #[test]
    fn unread_cosets_leave_last() {
        let window = window(10, 1, 2);
        prefetch(&window, 0, &[1, 2]);
        window.was_read(1, Next::For(0));
        assert_eq!(prefetch(&window, 0, &[3]), (vec![3], vec![1]));
        // What is fetched last is read last.
        assert_eq!(prefetch(&window, 0, &[4]), (vec![4], vec![4]));
        assert_eq!(prefetch(&window, 0, &[2]), (vec![], vec![]));
    }

    #[test]
    fn permanent_bytes_reduce_the_window() {
        let window = window(10, 1, 3);
        assert_eq!(prefetch(&window, BYTES, &[1, 2, 3]).1.len(), 1);
        assert_eq!(prefetch(&window, 9 * BYTES, &[4]).1.len(), 3);
    }

    #[test]
    fn cosets_leave_in_batches() {
        let window = window(1000, 1, 500);
        let wanted: Vec<u32> = (0..1000).collect();
        let mut released = Vec::new();
        window.prefetch(0, 0, || Ok::<_, Infallible>(10), |_| unreachable!()).unwrap();
        for &coset in &wanted {
            window
                .prefetch(coset, 0, || Ok::<_, Infallible>(10), |cosets| released.push(cosets.len()))
                .unwrap();
        }
        // A share of 1/64 of 500 cosets has 7.8 of them.
        assert!(released.len() > 60 && released.iter().all(|&count| count == 8), "{released:?}");
    }

    #[test]
    fn skipped_shards_are_not_expected() {
        let window = window(40, 4, 10);
        assert!((0..40).all(|coset| window.is_to_come(coset)));
        // Two tasks make the second and the third shard.
        [10, 11, 20].into_iter().for_each(|coset| window.made(coset));
        let to_come: Vec<u32> = (0..40).filter(|&coset| window.is_to_come(coset)).collect();
        assert_eq!(to_come, Vec::from_iter((12..20).chain(21..40)));
    }

    #[test]
    fn positions_follow_the_shard_order() {
        let order = ShardOrder::new([3, 1, 0, 2].map(ShardId).into()).unwrap();
        let window = Window::new(ShardCut::new(10, 4).unwrap(), &order, 3 * BYTES);
        // The shards have 2, 3, 2 and 3 cosets.
        assert_eq!(
            [7, 8, 9, 2, 3, 4, 0, 1, 5, 6].map(|coset| window.position(coset)),
            [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
        );
        prefetch(&window, 0, &[1, 2, 3]);
        for (coset, reader) in [(1, 6), (2, 1), (3, 3)] {
            window.was_read(coset, Next::For(reader));
        }
        assert_eq!(prefetch(&window, 0, &[4, 5]), (vec![4, 5], vec![1, 2]));
        window.made(3);
        let to_come: Vec<u32> = (0..10).filter(|&coset| window.is_to_come(coset)).collect();
        assert_eq!(to_come, [0, 1, 4, 5, 6], "shard 3 was passed over");
    }

    #[test]
    fn requeued_cosets_are_listed_once() {
        let window = window(1000, 1, 10);
        prefetch(&window, 0, &[1, 2, 3]);
        for number in 0..10_000 {
            window.was_read(1 + number % 3, Next::For(number / 3 % 2 * 999));
        }
        let listed: usize = window.queues.iter().map(|queue| lock(queue).cosets.len()).sum();
        assert!(listed < 200, "{listed}");
        assert_eq!(prefetch(&window, 10 * BYTES, &[4]).1.len(), 4);
    }

    #[test]
    fn threads_agree_on_window_contents() {
        let window = window(500, 4, 50);
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let window = &window;
                scope.spawn(move || {
                    let mut coset = thread + 1;
                    for _ in 0..20_000 {
                        coset = coset * 211 % 499 + 1;
                        prefetch(window, 0, &[coset]);
                        window.was_read(coset, Next::For(coset * 7 % 500));
                    }
                });
            }
        });
        // One that comes last takes out what another one could not.
        prefetch(&window, 0, &[0]);
        let here: Vec<u32> = (0..500).filter(|&coset| window.has(coset)).collect();
        assert_eq!(window.bytes.load(Ordering::Relaxed), here.len() as u64 * BYTES);
        assert!(here.len() <= 50);
        let listed = |coset: &u32| {
            window
                .queues
                .iter()
                .zip(0..)
                .any(|(queue, number)| window.is_in(*coset, number) && lock(queue).cosets.contains(coset))
        };
        assert!(here.iter().all(listed));
    }
}
