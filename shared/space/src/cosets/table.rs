//! The pattern table, which has for every pattern, by rank, its representative and a symmetry that leads
//! there. Where moves reach few of the patterns, the table has only those.

use super::images::Images;
use super::{CosetSymmetry, CosetTables, UNREACHED};
use crate::ranks::CodedRanks;
use crate::{Colouring, Space};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The entry of a representative that a thread has claimed and is about to write.
pub(super) const CLAIMED: u32 = u32::MAX - 1;

/// A table, and the orbits in it in the order of their representatives.
pub(super) struct Closure<E> {
    pub(super) entries: E,
    /// The ranks of the representatives.
    pub(super) representatives: Box<[u64]>,
    pub(super) orbit_sizes: Box<[u32]>,
}

/// An orbit of patterns, as found.
struct PatternOrbit {
    /// The smallest rank of its patterns.
    representative: u64,
    size: u32,
    /// The number in the order of discovery.
    number: u32,
}

/// The entries of patterns by rank: `representative * symmetries + s`, where symmetry s maps the pattern to
/// that of the representative, or [`UNREACHED`].
#[derive(Debug)]
pub(super) enum Table {
    /// One entry for each pattern.
    All(Box<[u32]>),
    /// Entries for the reachable patterns.
    Few(FxHashMap<u64, u32>),
}

impl Table {
    /// Returns the entry of a pattern.
    #[inline]
    pub(super) fn entry(&self, rank: u64) -> u32 {
        match self {
            Self::All(entries) => entries[rank as usize],
            Self::Few(entries) => entries.get(&rank).copied().unwrap_or(UNREACHED),
        }
    }
}

/// The entries of a table that is being filled by several threads.
pub(super) trait Entries: Sync {
    /// Returns the entry of a pattern.
    fn get(&self, rank: u64) -> u32;
    /// Sets the entry of a pattern.
    fn set(&self, rank: u64, entry: u32);
    /// Claims a pattern without an entry for the calling thread. Returns whether it had none.
    fn claim(&self, rank: u64) -> bool;
    /// Replaces each entry that was set.
    fn replace(&mut self, with: impl Fn(u32) -> u32 + Sync);
}

/// By rank, for all patterns.
pub(super) struct AllEntries(Vec<AtomicU32>);

/// For the reached patterns. A lock is good enough, because there are few.
#[derive(Default)]
pub(super) struct FewEntries(Mutex<FxHashMap<u64, u32>>);

impl AllEntries {
    fn new(patterns: u64) -> Self {
        Self((0..patterns).into_par_iter().map(|_| AtomicU32::new(UNREACHED)).collect())
    }
}

impl Entries for AllEntries {
    fn get(&self, rank: u64) -> u32 {
        self.0[rank as usize].load(Ordering::Relaxed)
    }

    fn set(&self, rank: u64, entry: u32) {
        self.0[rank as usize].store(entry, Ordering::Relaxed);
    }

    fn claim(&self, rank: u64) -> bool {
        let order = Ordering::Relaxed;
        self.0[rank as usize].compare_exchange(UNREACHED, CLAIMED, order, order).is_ok()
    }

    fn replace(&mut self, with: impl Fn(u32) -> u32 + Sync) {
        let set = self.0.par_iter_mut().map(AtomicU32::get_mut).filter(|entry| **entry != UNREACHED);
        set.for_each(|entry| *entry = with(*entry));
    }
}

impl FewEntries {
    /// Returns the entries by rank.
    pub(super) fn into_inner(self) -> FxHashMap<u64, u32> {
        self.0.into_inner().expect("no thread panics while it holds the lock")
    }

    fn with<T>(&self, use_them: impl FnOnce(&mut FxHashMap<u64, u32>) -> T) -> T {
        use_them(&mut self.0.lock().expect("no thread panics while it holds the lock"))
    }
}

impl Entries for FewEntries {
    fn get(&self, rank: u64) -> u32 {
        self.with(|entries| entries.get(&rank).copied()).unwrap_or(UNREACHED)
    }

    fn set(&self, rank: u64, entry: u32) {
        self.with(|entries| entries.insert(rank, entry));
    }

    fn claim(&self, rank: u64) -> bool {
        self.with(|entries| {
            let is_new = !entries.contains_key(&rank);
            if is_new {
                entries.insert(rank, CLAIMED);
            }
            is_new
        })
    }

    fn replace(&mut self, with: impl Fn(u32) -> u32 + Sync) {
        self.with(|entries| entries.values_mut().for_each(|entry| *entry = with(*entry)));
    }
}

/// Returns the table of all patterns. Returns `None` if the entries would exceed 32 bits.
pub(super) fn close(
    space: &Space,
    colouring: &Colouring,
    symmetries: &[CosetSymmetry],
) -> Option<CosetTables> {
    let all = AllEntries::new(colouring.patterns().total());
    let Closure { entries, representatives, orbit_sizes } = close_in(space, colouring, symmetries, all)?;
    // The entries are converted in place, because the table takes most of the memory of a search.
    let table = entries.0.into_iter().map(AtomicU32::into_inner).collect();
    Some(CosetTables { table, representatives, orbit_sizes })
}

/// Fills the table by following the moves from orbit to orbit, all orbits of a generation at once. The
/// representative of an orbit is its pattern of smallest rank. Following the moves from the representatives
/// is enough, because symmetries map moves to moves. Returns `None` if the entries would exceed 32 bits.
pub(super) fn close_in<E: Entries>(
    space: &Space,
    colouring: &Colouring,
    symmetries: &[CosetSymmetry],
    table: E,
) -> Option<Closure<E>> {
    let coded = CodedRanks::new(colouring.patterns());
    let finder = OrbitFinder {
        symmetries,
        images: Images::under_symmetries(colouring, coded.as_ref(), symmetries),
        table,
        found: AtomicU32::new(0),
        too_many: AtomicBool::new(false),
    };
    let steps = Images::under_moves(space, colouring, coded.as_ref());
    let cells = space.cells();
    let mut orbits: Vec<PatternOrbit> =
        finder.discover(colouring.solved(), &mut Scratch::new(symmetries.len(), cells)).into_iter().collect();
    let mut done = 0;
    while done < orbits.len() {
        let from_one = |scratch: &mut (Scratch, Vec<u8>, Vec<u8>, Vec<u64>), orbit: &PatternOrbit| {
            let (scratch, pattern, moved, ranks) = scratch;
            colouring.patterns().unrank(orbit.representative, colouring.symbols(), pattern);
            steps.ranks(pattern, ranks, moved);
            let follow = |(mv, &rank): (usize, &u64)| {
                if finder.has(rank) || !colouring.allows(&space.moves()[mv], pattern) {
                    return None;
                }
                steps.carry(mv, pattern, moved);
                finder.discover(moved, scratch)
            };
            ranks.iter().enumerate().filter_map(follow).collect::<Vec<_>>()
        };
        let scratch =
            || (Scratch::new(symmetries.len(), cells), vec![0; cells], vec![0; cells], vec![0; steps.len()]);
        // Neighbours by rank share much of the memory that is read and written.
        orbits[done..].par_sort_unstable_by_key(|orbit| orbit.representative);
        let generation: Vec<PatternOrbit> =
            orbits[done..].par_iter().map_init(scratch, from_one).flatten_iter().collect();
        done = orbits.len();
        orbits.extend(generation);
        if finder.too_many.load(Ordering::Relaxed) {
            return None;
        }
    }
    // Number the representatives by rank.
    orbits.par_sort_unstable_by_key(|orbit| orbit.representative);
    let mut renumbered = vec![0_u32; orbits.len()];
    for (orbit, id) in orbits.iter().zip(0..) {
        renumbered[orbit.number as usize] = id;
    }
    let group = symmetries.len() as u32;
    let mut entries = finder.table;
    entries.replace(|entry| renumbered[(entry / group) as usize] * group + entry % group);
    Some(Closure {
        entries,
        representatives: orbits.iter().map(|orbit| orbit.representative).collect(),
        orbit_sizes: orbits.iter().map(|orbit| orbit.size).collect(),
    })
}

/// Finds orbits from several threads at once.
struct OrbitFinder<'a, E> {
    symmetries: &'a [CosetSymmetry],
    images: Images<'a>,
    table: E,
    found: AtomicU32,
    too_many: AtomicBool,
}

/// The buffers of one thread.
struct Scratch {
    /// By symmetry: the rank of the image of a pattern.
    images: Vec<u64>,
    image: Vec<u8>,
    smallest: Vec<u8>,
}

impl Scratch {
    fn new(symmetries: usize, cells: usize) -> Self {
        Self { images: vec![0; symmetries], image: vec![0; cells], smallest: vec![0; cells] }
    }
}

impl<E: Entries> OrbitFinder<'_, E> {
    /// Returns whether a pattern's orbit was entered or claimed.
    fn has(&self, rank: u64) -> bool {
        self.table.get(rank) != UNREACHED
    }

    /// Enters the orbit of a pattern into the table, and returns it. Returns `None` if another call has
    /// entered or claimed the orbit, or if there are too many orbits.
    fn discover(&self, pattern: &[u8], scratch: &mut Scratch) -> Option<PatternOrbit> {
        let Scratch { images, image, smallest } = scratch;
        self.images.ranks(pattern, images, image);
        let &representative = images.iter().min().expect("the identity is a symmetry");
        // The thread that claims the representative also enters the other patterns.
        if !self.table.claim(representative) {
            return None;
        }
        let group = self.symmetries.len() as u32;
        let number = self.found.fetch_add(1, Ordering::Relaxed);
        let base = number.checked_mul(group);
        let Some(base) = base.filter(|base| base.checked_add(group).is_some_and(|end| end < CLAIMED)) else {
            self.too_many.store(true, Ordering::Relaxed);
            return None;
        };
        // If symmetries fix a pattern, several symmetries lead from the pattern to the representative, and
        // any of them will do.
        self.table.set(representative, base);
        if images[0] != representative {
            let to = images.iter().position(|&rank| rank == representative).expect("it is one of them");
            self.images.carry(to, pattern, smallest);
            self.images.ranks(smallest, images, image);
        }
        let mut size = 1;
        for (CosetSymmetry { inverse, .. }, &rank) in self.symmetries.iter().zip(&*images) {
            if self.table.get(rank) == UNREACHED {
                self.table.set(rank, base + *inverse as u32);
                size += 1;
            }
        }
        Some(PatternOrbit { representative, size, number })
    }
}

#[cfg(test)]
mod tests {
    use super::super::symmetries_in_use;
    use crate::{Labels, Plan, Space};
    use fathom_puzzle::{Metric, PuzzleSpec};
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;

    /// Compares with the definition: the orbits of the reachable patterns, each numbered by its smallest
    /// rank.
    #[test]
    fn table_contains_orbits_of_reachable_patterns() {
        let words =
            ["2x2", "3x3", "2x5", "2x2x2", "pancake:8", "lrx:10", "topspin:7,4", "all-transpositions:8"];
        for word in words {
            let spec = PuzzleSpec::by_name(word).unwrap();
            let metric =
                [Metric::Multi, Metric::Given].into_iter().find(|&metric| spec.puzzle(metric).is_ok());
            let puzzle = spec.puzzle(metric.unwrap()).unwrap();
            let labels = Labels::distinct(puzzle.cells);
            let space = Space::new(puzzle, metric.unwrap(), labels).unwrap();
            let colouring = Plan::new(&space).unwrap().colouring;
            let symmetries = symmetries_in_use(&space, &colouring);
            let tables = close(&space, &colouring, &symmetries).unwrap();
            let (ranks, symbols) = (colouring.patterns(), colouring.symbols());

            // A table of few patterns has the same orbits with the same numbers, and equally valid
            // symmetries.
            let few = close_in(&space, &colouring, &symmetries, FewEntries::default()).unwrap();
            assert_eq!(
                (&few.representatives, &few.orbit_sizes),
                (&tables.representatives, &tables.orbit_sizes)
            );
            let of_few = few.entries.into_inner();
            let reached = tables.table.iter().filter(|&&entry| entry != UNREACHED).count();
            assert_eq!(of_few.len(), reached, "{word}");
            let few: Vec<u32> =
                (0..ranks.total()).map(|rank| of_few.get(&rank).copied().unwrap_or(UNREACHED)).collect();

            let image = |s: &CosetSymmetry, pattern: &[u8]| {
                let mut image = vec![0; pattern.len()];
                s.symmetry.carry(symbols, &s.action.symbols, pattern, &mut image);
                image
            };
            let mut orbits: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
            let mut next = vec![colouring.solved().to_vec()];
            while let Some(pattern) = next.pop() {
                let orbit: BTreeSet<u64> =
                    symmetries.iter().map(|s| ranks.rank(&image(s, &pattern))).collect();
                if orbits.insert(*orbit.first().unwrap(), orbit).is_some() {
                    continue;
                }
                for mv in
                    (0..space.moves().len()).filter(|&mv| colouring.allows(&space.moves()[mv], &pattern))
                {
                    let mut moved = vec![0; pattern.len()];
                    space.step(mv, symbols, &pattern, &mut moved);
                    next.push(moved);
                }
            }
            assert!(tables.representatives.iter().eq(orbits.keys()), "{word}");
            let sizes = tables.orbit_sizes.iter().map(|&size| size as usize);
            assert!(sizes.eq(orbits.values().map(BTreeSet::len)), "{word}");
            let least_of = |orbit: &BTreeSet<u64>| *orbit.first().unwrap();
            let pairs = orbits.values().flat_map(|orbit| orbit.iter().map(|&rank| (rank, least_of(orbit))));
            let of_rank: BTreeMap<u64, u64> = pairs.collect();
            let mut pattern = vec![0; space.cells()];
            for table in [&*tables.table, &few] {
                for (rank, &entry) in (0..).zip(table) {
                    let Some(least) = of_rank.get(&rank) else {
                        assert_eq!(entry, UNREACHED, "{word}, pattern {rank}");
                        continue;
                    };
                    ranks.unrank(rank, symbols, &mut pattern);
                    let (number, to) = (entry as usize / symmetries.len(), entry as usize % symmetries.len());
                    assert_eq!(tables.representatives[number], *least, "{word}, pattern {rank}");
                    assert_eq!(
                        ranks.rank(&image(&symmetries[to], &pattern)),
                        *least,
                        "{word}, pattern {rank}"
                    );
                }
            }
        }
    }
}
