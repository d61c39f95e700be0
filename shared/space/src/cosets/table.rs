//! The pattern table, which has for every pattern, by rank, its representative and a symmetry that leads
//! there.

use super::{CosetSymmetry, CosetTables, UNREACHED};
use crate::{Colouring, Space, Symmetry};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// The entry of a representative that a thread has claimed and is about to write.
pub(super) const CLAIMED: u32 = u32::MAX - 1;

/// An orbit of patterns, as found.
struct PatternOrbit {
    /// The smallest rank of its patterns.
    representative: u64,
    size: u32,
    /// The number in the order of discovery.
    number: u32,
}

/// Fills the table by following the moves from orbit to orbit, all orbits of a generation at once. The
/// representative of an orbit is its pattern of smallest rank. Following the moves from the representatives
/// alone is enough, because symmetries map moves to moves. Returns `None` if the entries would exceed 32
/// bits.
pub(super) fn close(
    space: &Space,
    colouring: &Colouring,
    symmetries: &[CosetSymmetry],
) -> Option<CosetTables> {
    let finder = OrbitFinder {
        colouring,
        symmetries,
        composed: composed(space, symmetries),
        table: (0..colouring.patterns().total()).into_par_iter().map(|_| AtomicU32::new(UNREACHED)).collect(),
        found: AtomicU32::new(0),
        too_many: AtomicBool::new(false),
    };
    let cells = space.cells();
    let mut orbits: Vec<PatternOrbit> =
        finder.discover(colouring.solved(), &mut Scratch::new(symmetries, cells)).into_iter().collect();
    let mut done = 0;
    while done < orbits.len() {
        let from_one =
            |scratch: &mut (Scratch, Vec<u8>, Vec<u8>), orbit: &PatternOrbit| -> Vec<PatternOrbit> {
                let (scratch, pattern, moved) = scratch;
                colouring.patterns().unrank(orbit.representative, colouring.letters(), pattern);
                let follow = |mv: usize| {
                    if !colouring.allows(&space.moves()[mv], pattern) {
                        return None;
                    }
                    space.step(mv, colouring.letters(), pattern, moved);
                    finder.discover(moved, scratch)
                };
                (0..space.moves().len()).filter_map(follow).collect()
            };
        let scratch = || (Scratch::new(symmetries, cells), vec![0; cells], vec![0; cells]);
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
    let renumber = |entry: AtomicU32| match entry.into_inner() {
        UNREACHED => UNREACHED,
        entry => renumbered[(entry / group) as usize] * group + entry % group,
    };
    Some(CosetTables {
        // The entries are converted in place, because the table takes most of the memory of a search.
        table: finder.table.into_iter().map(renumber).collect(),
        representatives: orbits.iter().map(|orbit| orbit.representative).collect(),
        orbit_sizes: orbits.iter().map(|orbit| orbit.size).collect(),
    })
}

/// Finds orbits from several threads at once.
struct OrbitFinder<'a> {
    colouring: &'a Colouring,
    symmetries: &'a [CosetSymmetry],
    /// Entry `g * symmetries + s` is the number of the symmetry that does g, then s. Empty if there are too
    /// many symmetries.
    composed: Vec<u16>,
    table: Vec<AtomicU32>,
    found: AtomicU32,
    too_many: AtomicBool,
}

/// The buffers of one thread.
struct Scratch {
    /// By symmetry: the rank of the image of a pattern.
    images: Vec<u64>,
    /// By symmetry: the rank of the image of the representative of the pattern's orbit.
    of_smallest: Vec<u64>,
    image: Vec<u8>,
    smallest: Vec<u8>,
}

impl Scratch {
    fn new(symmetries: &[CosetSymmetry], cells: usize) -> Self {
        Self {
            images: vec![0; symmetries.len()],
            of_smallest: vec![0; symmetries.len()],
            image: vec![0; cells],
            smallest: vec![0; cells],
        }
    }
}

impl OrbitFinder<'_> {
    /// Enters the orbit of a pattern into the table, and returns it. Returns `None` if another call has
    /// entered or claimed the orbit, or if there are too many orbits.
    fn discover(&self, pattern: &[u8], scratch: &mut Scratch) -> Option<PatternOrbit> {
        let ranks = self.colouring.patterns();
        let entry = |rank: u64| &self.table[rank as usize];
        if entry(ranks.rank(pattern)).load(Ordering::Relaxed) != UNREACHED {
            return None;
        }
        let Scratch { images, of_smallest, image, smallest } = scratch;
        self.look(pattern, images, image);
        let &representative = images.iter().min().expect("the identity is a symmetry");
        // The thread that claims the representative also enters the other patterns.
        let claim = entry(representative);
        claim.compare_exchange(UNREACHED, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        let group = self.symmetries.len() as u32;
        let number = self.found.fetch_add(1, Ordering::Relaxed);
        let base = number.checked_mul(group);
        let Some(base) = base.filter(|base| base.checked_add(group).is_some_and(|end| end < CLAIMED)) else {
            self.too_many.store(true, Ordering::Relaxed);
            return None;
        };
        // If symmetries fix a pattern, several symmetries lead from the pattern to the representative, and
        // any of them will do.
        claim.store(base, Ordering::Relaxed);
        if images[0] != representative {
            self.carry_over(representative, images, of_smallest, (smallest, image));
            std::mem::swap(images, of_smallest);
        }
        let mut size = 1;
        for (CosetSymmetry { inverse, .. }, &rank) in self.symmetries.iter().zip(&*images) {
            let entry = entry(rank);
            if entry.load(Ordering::Relaxed) == UNREACHED {
                entry.store(base + *inverse as u32, Ordering::Relaxed);
                size += 1;
            }
        }
        Some(PatternOrbit { representative, size, number })
    }

    /// Computes the ranks of all images of a representative from `images`, those of another pattern of its
    /// orbit. If symmetry g leads from the pattern to the representative, then the image of the
    /// representative under s is the image of the pattern under g, then s.
    fn carry_over(
        &self,
        representative: u64,
        images: &[u64],
        of_smallest: &mut [u64],
        (smallest, image): (&mut [u8], &mut [u8]),
    ) {
        if self.composed.is_empty() {
            self.colouring.patterns().unrank(representative, self.colouring.letters(), smallest);
            return self.look(smallest, of_smallest, image);
        }
        let first =
            images.iter().position(|&rank| rank == representative).expect("it is the smallest of them");
        let composed = &self.composed[first * images.len()..][..images.len()];
        for (rank, &number) in of_smallest.iter_mut().zip(composed) {
            *rank = images[usize::from(number)];
        }
    }

    /// Computes the ranks of all images of a pattern.
    fn look(&self, pattern: &[u8], images: &mut [u64], image: &mut [u8]) {
        for (CosetSymmetry { symmetry, action, .. }, rank) in self.symmetries.iter().zip(images) {
            symmetry.carry(self.colouring.letters(), &action.letters, pattern, image);
            *rank = self.colouring.patterns().rank(image);
        }
    }
}

/// Returns the numbers of all products, for [`OrbitFinder::composed`].
fn composed(space: &Space, symmetries: &[CosetSymmetry]) -> Vec<u16> {
    // Up to this number, finding the products takes less time than they save.
    const MOST_SYMMETRIES: usize = 512;
    if symmetries.len() > MOST_SYMMETRIES {
        return Vec::new();
    }
    let numbers: FxHashMap<&Symmetry, u16> = symmetries.iter().map(|of| &of.symmetry).zip(0..).collect();
    let product = |first: &CosetSymmetry, second: &CosetSymmetry| {
        numbers[&space.compose(&first.symmetry, &second.symmetry)]
    };
    symmetries
        .iter()
        .flat_map(|first| symmetries.iter().map(move |second| (first, second)))
        .map(|(first, second)| product(first, second))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::{CosetGraph, Labels, Plan, Space};
    use fathom_puzzle::{Metric, PuzzleSpec};

    use super::*;

    /// Covers pieces that turn, symmetries that rename letters, and puzzles that turn freely as a whole.
    #[test]
    fn images_of_representatives_follow_from_those_of_other_patterns() {
        for word in ["3x3", "2x5", "3x4", "2x2x2", "pyraminx", "skewb", "topspin:7,4", "3x3x3-corners"] {
            let metric = if word.starts_with("topspin") { Metric::Given } else { Metric::Multi };
            let puzzle = PuzzleSpec::by_name(word).unwrap().puzzle(metric).unwrap();
            let labels = Labels::distinct(puzzle.cells);
            let space = Space::new(puzzle, metric, labels).unwrap();
            let colouring = Plan::new(&space).unwrap().colouring;
            let graph = CosetGraph::build(&space, &colouring).unwrap();
            let symmetries = graph.symmetries();
            let (ranks, cells) = (colouring.patterns(), space.cells());
            let finder = |composed| OrbitFinder {
                colouring: &colouring,
                symmetries,
                composed,
                table: Vec::new(),
                found: AtomicU32::new(0),
                too_many: AtomicBool::new(false),
            };
            let [by_products, by_looking] = [composed(&space, symmetries), Vec::new()].map(finder);
            let mut scratch = Scratch::new(symmetries, cells);
            let mut pattern = vec![0; cells];
            for rank in (0..ranks.total()).step_by(1 + ranks.total() as usize / 50) {
                ranks.unrank(rank, colouring.letters(), &mut pattern);
                let Scratch { images, of_smallest, image, smallest } = &mut scratch;
                by_products.look(&pattern, images, image);
                let representative = *images.iter().min().unwrap();
                let [one, other] = [&by_products, &by_looking].map(|finder| {
                    finder.carry_over(representative, images, of_smallest, (smallest, image));
                    of_smallest.clone()
                });
                assert_eq!(one, other, "{word}, pattern {rank}");
            }
        }
    }
}
