//! Representatives without a table: the smallest image of a pattern under all symmetries, symbol by symbol.

use super::{CosetSymmetry, Found, UNREACHED};
use crate::cells::Cell;
use crate::{Colouring, Space};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// Finds the smallest image of any pattern.
///
/// Symmetries are sorted by their renaming of symbols, and then by their action on the cells of the image,
/// from the first cell on. Symmetries that agree up to a cell are consecutive. If one of them produces a
/// larger symbol up to that cell, the others need not be tried. Symmetries that produce the smallest first
/// symbol are looked up.
#[derive(Debug)]
pub(super) struct Canonical {
    cells: usize,
    preimages: Box<[Preimage]>,
    /// By preimage: the number of first cells of the image on which it agrees with the preimage before.
    shared: Box<[Cell]>,
    /// By preimage and cell of the image: the next preimage that differs from it on that cell or on an
    /// earlier one.
    next: Box<[u32]>,
    /// The cells from which the first symbol of the image may come.
    firsts: Box<[First]>,
    /// By renaming and turn of symbols, and by symbol: the new symbol.
    becomes: Box<[u8]>,
}

/// A symmetry, from the side of the image, in the order of preimages.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Source {
    /// The new symbol of each symbol.
    renamed: Box<[u8]>,
    /// For each cell of the image: the cell from which its symbol comes, and the turn of that symbol.
    comes: Box<[(Cell, u8)]>,
    /// The number of the symmetry.
    symmetry: usize,
}

/// A symmetry, with its symbols looked up.
#[derive(Debug)]
struct Preimage {
    /// For each cell of the image: the cell from which its symbol comes, and where the renaming of that
    /// symbol begins.
    comes: Box<[(Cell, u32)]>,
    /// The number of the symmetry.
    symmetry: usize,
}

/// A cell from which the first symbol of the image may come.
#[derive(Debug)]
struct First {
    from: Cell,
    /// By symbol on the cell.
    smallest: Box<[Smallest]>,
}

/// The smallest image of a symbol, and the preimages that produce it.
#[derive(Debug)]
struct Smallest {
    letter: u8,
    numbers: Box<[Range<u32>]>,
}

/// The smallest image of a pattern.
pub(super) struct Form {
    pub(super) pattern: Box<[u8]>,
    /// The number of a symmetry that leads to the image.
    pub(super) symmetry: usize,
    /// The number of symmetries that lead to the image; equally many fix the pattern.
    fixing: u32,
}

impl Canonical {
    pub(super) fn new(colouring: &Colouring, symmetries: &[CosetSymmetry]) -> Self {
        let symbols = colouring.symbols();
        let cells = symmetries[0].symmetry.cells.len();
        let source = |(symmetry, s): (usize, &CosetSymmetry)| {
            let mut comes: Box<[(Cell, u8)]> = vec![(0, 0); cells].into();
            for (cell, &to) in s.symmetry.cells.iter().enumerate() {
                comes[usize::from(to)] = (cell as Cell, s.symmetry.turn(cell));
            }
            Source { renamed: s.action.symbols.clone(), comes, symmetry }
        };
        let mut sources: Vec<Source> = symmetries.iter().enumerate().map(source).collect();
        sources.sort_unstable();
        let mut begins: FxHashMap<(&[u8], u8), u32> = FxHashMap::default();
        let mut becomes = Vec::new();
        let mut begin = |renamed, turn| {
            *begins.entry((renamed, turn)).or_insert_with(|| {
                becomes.extend(renamed.iter().map(|&letter| symbols.turned(letter, turn)));
                (becomes.len() - symbols.count()) as u32
            })
        };
        let mut preimages = Vec::with_capacity(sources.len());
        for Source { renamed, comes, symmetry } in &sources {
            let comes = comes.iter().map(|&(from, turn)| (from, begin(renamed, turn))).collect();
            preimages.push(Preimage { comes, symmetry: *symmetry });
        }
        let shared = |pair: &[Source]| {
            let same = pair[0].comes.iter().zip(&pair[1].comes).take_while(|(a, b)| a == b).count();
            if pair[0].renamed == pair[1].renamed { same as Cell } else { 0 }
        };
        let shared: Box<[Cell]> = std::iter::once(0).chain(sources.windows(2).map(shared)).collect();
        let mut next = vec![preimages.len() as u32; preimages.len() * cells];
        for number in (0..preimages.len() - 1).rev() {
            for cell in 0..cells {
                next[number * cells + cell] = match usize::from(shared[number + 1]) > cell {
                    true => next[(number + 1) * cells + cell],
                    false => number as u32 + 1,
                };
            }
        }
        // Preimages that agree on the first cell produce the same symbol there.
        let starts = (0..preimages.len()).filter(|&number| shared[number] == 0);
        let mut groups: Vec<Range<u32>> = starts.map(|number| number as u32..next[number * cells]).collect();
        let comes = |numbers: &Range<u32>| preimages[numbers.start as usize].comes[0];
        groups.sort_by_key(comes);
        let from_one_cell = |groups: &[Range<u32>]| {
            let smallest = |letter: usize| {
                let becomes = |numbers: &Range<u32>| becomes[comes(numbers).1 as usize + letter];
                let smallest = groups.iter().map(becomes).min().expect("a chunk is not empty");
                let numbers = groups.iter().filter(|numbers| becomes(numbers) == smallest).cloned();
                Smallest { letter: smallest, numbers: numbers.collect() }
            };
            First { from: comes(&groups[0]).0, smallest: (0..symbols.count()).map(smallest).collect() }
        };
        let firsts = groups.chunk_by(|a, b| comes(a).0 == comes(b).0).map(from_one_cell).collect();
        let (preimages, next, becomes) = (preimages.into(), next.into(), becomes.into());
        Self { cells, preimages, shared, next, firsts, becomes }
    }

    /// Returns the smallest image of a pattern.
    pub(super) fn form(&self, pattern: &[u8]) -> Form {
        let mut best = vec![u8::MAX; self.cells].into_boxed_slice();
        let (mut symmetry, mut fixing) = (0, 0);
        let firsts =
            || self.firsts.iter().map(|first| &first.smallest[usize::from(pattern[usize::from(first.from)])]);
        let smallest = firsts().map(|first| first.letter).min().expect("there are symmetries");
        for numbers in firsts().filter(|first| first.letter == smallest).flat_map(|first| &first.numbers) {
            let mut number = numbers.start;
            while number < numbers.end {
                let comes = &*self.preimages[number as usize].comes;
                let letter = |&(from, renaming): &(Cell, u32)| {
                    self.becomes[renaming as usize + usize::from(pattern[usize::from(from)])]
                };
                // On the cells that the image shares with the one before, it agrees with the best image.
                let same = usize::from(self.shared[number as usize]);
                let differs =
                    comes.iter().zip(&best).skip(same).position(|(comes, best)| letter(comes) != *best);
                match differs.map(|after| same + after) {
                    Some(first) if letter(&comes[first]) > best[first] => {
                        number = self.next[number as usize * self.cells + first];
                        continue;
                    }
                    Some(first) => {
                        for (best, comes) in best[first..].iter_mut().zip(&comes[first..]) {
                            *best = letter(comes);
                        }
                        (symmetry, fixing) = (number, 1);
                    }
                    None => (symmetry, fixing) = (symmetry.min(number), fixing + 1),
                }
                number += 1;
            }
        }
        Form { pattern: best, symmetry: self.preimages[symmetry as usize].symmetry, fixing }
    }

    /// Lists the representatives by following the moves backwards from orbit to orbit. Backward moves lead to
    /// the same orbits as forward moves, because moves without guards generate a finite group, and guarded
    /// moves are closed under inverses. Returns `None` if there are too many.
    pub(super) fn close(
        &self,
        space: &Space,
        colouring: &Colouring,
        symmetries: &[CosetSymmetry],
    ) -> Option<Found> {
        let orbits = match Packed::new(self, space, colouring) {
            Some(packed) => packed.orbits(space, colouring, symmetries)?,
            None => self.orbits(space, colouring)?,
        };
        Some(self.numbered(orbits, space.incoming_moves().len()))
    }

    /// Lists the orbits.
    fn orbits(&self, space: &Space, colouring: &Colouring) -> Option<Orbits> {
        /// Number of representatives whose sources are found in one step.
        const PIECE: usize = 4096;
        let (cells, moves, group) = (space.cells(), space.incoming_moves().len(), self.preimages.len());
        let solved = self.form(colouring.solved());
        let mut numbers: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut sizes = vec![(group / solved.fixing as usize) as u32];
        let mut found = vec![solved.pattern.clone()];
        let mut sources = Vec::new();
        numbers.insert(solved.pattern, 0);
        while sources.len() < found.len() * moves {
            let done = sources.len() / moves;
            let piece = &found[done..found.len().min(done + PIECE)];
            let from_one = |source: &mut Vec<u8>, pattern: &[u8]| -> Vec<Option<Form>> {
                let form = |mv| {
                    space.step_back(mv, colouring.symbols(), pattern, source);
                    colouring.allows(&space.incoming_moves()[mv], source).then(|| self.form(source))
                };
                (0..moves).map(form).collect()
            };
            let forms: Vec<Vec<Option<Form>>> =
                piece.par_iter().map(|pattern| &**pattern).map_init(|| vec![0; cells], from_one).collect();
            for form in forms.into_iter().flatten() {
                sources.push(form.map(|Form { pattern, symmetry, fixing }| {
                    let next = found.len() as u32;
                    let number = *numbers.entry(pattern).or_insert_with_key(|pattern| {
                        found.push(pattern.clone());
                        sizes.push((group / fixing as usize) as u32);
                        next
                    });
                    (number, symmetry as u32)
                }));
            }
            self.entries(found.len())?;
        }
        Some(Orbits { found, sizes, sources })
    }

    /// Returns the number of entries that encode a representative and a symmetry, if 32 bits suffice for
    /// them.
    fn entries(&self, representatives: usize) -> Option<u32> {
        let entries = (representatives as u64) * self.preimages.len() as u64;
        u32::try_from(entries).ok().filter(|&entries| entries < UNREACHED)
    }

    /// Numbers the representatives by pattern.
    fn numbered(&self, Orbits { found, sizes, sources }: Orbits, moves: usize) -> Found {
        let group = self.preimages.len();
        let mut order: Vec<u32> = (0..found.len() as u32).collect();
        order.par_sort_unstable_by_key(|&number| &found[number as usize]);
        let mut renumbered = vec![0_u32; order.len()];
        for (&number, id) in order.iter().zip(0..) {
            renumbered[number as usize] = id;
        }
        let entry = |source: Option<(u32, u32)>| match source {
            Some((number, symmetry)) => renumbered[number as usize] * group as u32 + symmetry,
            None => UNREACHED,
        };
        let of = |&number: &u32| {
            let first = number as usize * moves;
            sources[first..first + moves].iter().map(|&source| entry(source))
        };
        Found {
            patterns: order.iter().flat_map(|&number| found[number as usize].iter().copied()).collect(),
            orbit_sizes: order.iter().map(|&number| sizes[number as usize]).collect(),
            sources: order.iter().flat_map(of).collect(),
        }
    }
}

/// Orbits of patterns, in the order of discovery.
struct Orbits {
    /// The representatives.
    found: Vec<Box<[u8]>>,
    sizes: Vec<u32>,
    /// By representative and arrival: the orbit from which the arrival leads to the representative, and the
    /// number of a symmetry that maps the pattern from which the arrival starts to the representative of that
    /// orbit.
    sources: Vec<Option<(u32, u32)>>,
}

/// Patterns as numbers, in the same order: the symbols are digits, that of the first cell the highest. Few
/// patterns are listed with all their images, which is faster than searching for the smallest image of each
/// pattern that a move leads to.
struct Packed<'a> {
    canonical: &'a Canonical,
    /// The number of bits of a symbol.
    bits: u32,
}

impl<'a> Packed<'a> {
    /// The largest number of patterns that are listed.
    const MOST: u64 = 1 << 21;
    /// The number of moves from which on listing is faster.
    const MOVES: usize = 4;

    /// Returns `None` if patterns do not fit into numbers, or if listing them is not known to be faster.
    fn new(canonical: &'a Canonical, space: &Space, colouring: &Colouring) -> Option<Self> {
        let bits = (colouring.symbols().count() - 1).checked_ilog2().map_or(1, |highest| highest + 1);
        let words = space.states() * space.free_order();
        let are_few = words <= Self::MOST.into() || colouring.patterns().total() <= Self::MOST;
        let fits = bits as usize * canonical.cells <= u128::BITS as usize;
        (are_few && fits && space.incoming_moves().len() >= Self::MOVES).then_some(Self { canonical, bits })
    }

    /// Lists the orbits.
    fn orbits(&self, space: &Space, colouring: &Colouring, symmetries: &[CosetSymmetry]) -> Option<Orbits> {
        let mut orbits = Orbits { found: Vec::new(), sizes: Vec::new(), sources: Vec::new() };
        // By pattern: the orbit, and the number of a symmetry that leads to the representative.
        let mut known: FxHashMap<u128, (u32, u32)> = FxHashMap::default();
        let mut enter = |pattern: &[u8], orbits: &mut Orbits| {
            if let Some(&entry) = known.get(&self.packed(pattern.iter().copied())) {
                return entry;
            }
            let (number, before) = (orbits.found.len() as u32, known.len());
            let smallest = self.images(pattern).min().expect("the identity is a symmetry");
            let representative = self.unpacked(smallest);
            for (image, preimage) in self.images(&representative).zip(&self.canonical.preimages) {
                known.entry(image).or_insert((number, symmetries[preimage.symmetry].inverse as u32));
            }
            orbits.found.push(representative);
            orbits.sizes.push((known.len() - before) as u32);
            known[&self.packed(pattern.iter().copied())]
        };
        enter(colouring.solved(), &mut orbits);
        let mut source = vec![0; self.canonical.cells];
        let mut next = 0;
        while let Some(pattern) = orbits.found.get(next).cloned() {
            for (mv, arrival) in space.incoming_moves().iter().enumerate() {
                space.step_back(mv, colouring.symbols(), &pattern, &mut source);
                let entry = colouring.allows(arrival, &source).then(|| enter(&source, &mut orbits));
                orbits.sources.push(entry);
            }
            self.canonical.entries(orbits.found.len())?;
            next += 1;
        }
        Some(orbits)
    }

    fn packed(&self, symbols: impl Iterator<Item = u8>) -> u128 {
        symbols.fold(0, |packed, letter| packed << self.bits | u128::from(letter))
    }

    fn unpacked(&self, packed: u128) -> Box<[u8]> {
        let cells = self.canonical.cells as u32;
        (1..=cells).map(|cell| (packed >> (self.bits * (cells - cell))) as u8 & self.mask()).collect()
    }

    fn mask(&self) -> u8 {
        u8::MAX >> (u8::BITS - self.bits)
    }

    /// Returns the images of a pattern, in the order of the preimages.
    fn images(&self, pattern: &[u8]) -> impl Iterator<Item = u128> {
        let letter = |&(from, renaming): &(Cell, u32)| {
            self.canonical.becomes[renaming as usize + usize::from(pattern[usize::from(from)])]
        };
        self.canonical.preimages.iter().map(move |preimage| self.packed(preimage.comes.iter().map(letter)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::symmetries_in_use;
    use super::*;
    use crate::{Labels, Plan};
    use fathom_puzzle::PuzzleSpec;

    /// Both ways find the same orbits with the same numbers, and ways to their representatives.
    #[test]
    fn listed_images_give_the_same_orbits() {
        let pyraminx = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/pyraminx-free.tws");
        for word in ["3x3", "2x2x2", "pyraminx", "skewb", "pancake:7", pyraminx] {
            let spec = PuzzleSpec::by_name(word).unwrap();
            let puzzle = spec.puzzle(spec.metric()).unwrap();
            let labels = Labels::distinct(puzzle.cells);
            let space = Space::new(puzzle, spec.metric(), labels).unwrap();
            let colouring = Plan::new(&space).unwrap().colouring;
            let symmetries = symmetries_in_use(&space, &colouring);
            let canonical = Canonical::new(&colouring, &symmetries);
            let packed = Packed::new(&canonical, &space, &colouring).expect(word);
            let moves = space.incoming_moves().len();
            let orbits = canonical.orbits(&space, &colouring).unwrap();
            let listed = packed.orbits(&space, &colouring, &symmetries).unwrap();
            let orbits = canonical.numbered(orbits, moves);
            let listed = canonical.numbered(listed, moves);
            assert_eq!((&listed.patterns, &listed.orbit_sizes), (&orbits.patterns, &orbits.orbit_sizes));
            let pattern = |number: usize| &listed.patterns[number * space.cells()..][..space.cells()];
            let (mut source, mut image) = (vec![0; space.cells()], vec![0; space.cells()]);
            for (number, sources) in listed.sources.chunks_exact(moves).enumerate() {
                for (mv, &entry) in sources.iter().enumerate() {
                    space.step_back(mv, colouring.symbols(), pattern(number), &mut source);
                    let CosetSymmetry { symmetry, action, .. } =
                        &symmetries[entry as usize % symmetries.len()];
                    symmetry.carry(colouring.symbols(), &action.symbols, &source, &mut image);
                    assert_eq!(image, pattern(entry as usize / symmetries.len()), "{word}");
                }
            }
        }
    }
}
