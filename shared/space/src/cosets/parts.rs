//! The closure of patterns part by part.
//!
//! The cells are cut into parts that neither moves nor symmetries leave. A pattern is then one pattern on
//! each part, and a part has few patterns: the corners of Square-1 have 257,460 patterns, and the whole
//! puzzle has 18 million. The action of moves and symmetries is computed once for each pattern of a part. The
//! pattern from which a move leads to a representative, and the smallest image of that pattern, then take
//! only a few table look-ups.

use super::{CosetSymmetry, Found, UNREACHED};
use crate::cells::Cell;
use crate::{Colouring, Space, SymbolTable};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::ops::Range;

/// The largest numbers of parts and of symmetries: a [`Key`] has 32 bits for each part, and a set of
/// symmetries is a `u64`.
const MAX_PARTS: usize = 4;
const MAX_SYMMETRIES: usize = u64::BITS as usize;

/// The entry of a source that is not computed yet; `FORBIDDEN` is the entry of one that a guard rules out.
const UNKNOWN: u32 = u32::MAX;
const FORBIDDEN: u32 = u32::MAX - 1;

/// The numbers of the patterns on all parts, 32 bits each, that of the first part in the highest bits.
type Key = u128;

/// All parts, and what is known about their patterns.
pub(super) struct Parts<'a> {
    parts: Vec<Part<'a>>,
    symmetries: usize,
    moves: usize,
}

struct Part<'a> {
    symbols: &'a SymbolTable,
    cells: Range<usize>,
    /// The number of bits of a symbol.
    bits: u32,
    /// By symmetry, and `sources` by arrival.
    images: Vec<Action<'a>>,
    sources: Vec<Source>,
    /// The patterns found so far, and their numbers. The tables below have for each pattern: its images
    /// under all symmetries; the smallest image, with the set of symmetries that lead to it; and its
    /// source under each arrival.
    patterns: Vec<u128>,
    numbers: FxHashMap<u128, u32>,
    image_of: Vec<u32>,
    smallest_of: Vec<(u32, u64)>,
    source_of: Vec<u32>,
}

/// The action of a symmetry on a part: for each cell of the image, the cell from which its symbol comes and
/// the turn of that symbol; and the renaming of symbols before they are turned.
struct Action<'a> {
    comes: Vec<(u8, u8)>,
    renamed: &'a [u8],
}

/// The inverse of an arrival on a part: for each cell, the cell from which its symbol comes and the turn of
/// that symbol; and the guard, which the result must meet.
struct Source {
    comes: Vec<(u8, u8)>,
    guard: Vec<GuardTerm>,
}

/// A cell, a colour, and whether the cell must have this colour or any other one.
type GuardTerm = (u8, u8, bool);

impl<'a> Parts<'a> {
    /// Cuts the cells into parts. Returns `None` if there is only one part, if there are too many parts or
    /// symmetries, or if the patterns of a part need more than 128 bits.
    pub(super) fn new(
        space: &Space,
        colouring: &'a Colouring,
        symmetries: &'a [CosetSymmetry],
    ) -> Option<Self> {
        if symmetries.len() > MAX_SYMMETRIES {
            return None;
        }
        let ranges = ranges(space, symmetries);
        if !(2..=MAX_PARTS).contains(&ranges.len()) {
            return None;
        }
        let parts = ranges.into_iter().map(|cells| Part::new(space, colouring, symmetries, cells));
        Some(Self {
            parts: parts.collect::<Option<_>>()?,
            symmetries: symmetries.len(),
            moves: space.incoming_moves().len(),
        })
    }

    /// Lists the representatives as [`Canonical::close`](super::canonical::Canonical::close) does.
    pub(super) fn close(mut self, colouring: &Colouring) -> Option<Found> {
        /// Number of representatives whose sources are found in one step.
        const PIECE: usize = 1 << 12;
        let (moves, group) = (self.moves, self.symmetries as u32);
        let solved: Vec<u32> = self
            .parts
            .iter_mut()
            .map(|part| part.number_of(&colouring.solved()[part.cells.clone()]))
            .collect();
        let (solved, _, fixing) = self.smallest(solved.into_iter());
        let mut found = vec![solved];
        let mut sizes = vec![group / fixing];
        let mut numbers: FxHashMap<Key, u32> = FxHashMap::from_iter([(solved, 0)]);
        // By representative, in the order of discovery, and by arrival.
        let mut sources: Vec<u32> = Vec::new();
        let mut done = 0;
        while done < found.len() {
            let piece = done..found.len().min(done + PIECE);
            for &key in &found[piece.clone()] {
                (0..moves).for_each(|mv| self.work_out(key, mv));
            }
            let smallest = |&key: &Key| {
                let parts = &self;
                (0..moves).map(move |mv| Some(parts.smallest(parts.source(key, mv)?)))
            };
            let forms: Vec<_> = found[piece.clone()].par_iter().flat_map_iter(smallest).collect();
            for form in forms {
                sources.push(form.map_or(UNREACHED, |(key, symmetry, fixing)| {
                    let next = found.len() as u32;
                    let number = *numbers.entry(key).or_insert_with(|| {
                        found.push(key);
                        sizes.push(group / fixing);
                        next
                    });
                    number.wrapping_mul(group).wrapping_add(symmetry)
                }));
            }
            u32::try_from(found.len() as u64 * u64::from(group))
                .ok()
                .filter(|&entries| entries < UNREACHED)?;
            done = piece.end;
        }
        drop(numbers);
        Some(self.in_order(&found, &sizes, &sources))
    }

    /// Numbers the representatives in the order of their patterns.
    fn in_order(&self, found: &[Key], sizes: &[u32], sources: &[u32]) -> Found {
        let (moves, group) = (self.moves, self.symmetries as u32);
        let ranks: Vec<Vec<u32>> = self.parts.iter().map(Part::ranks).collect();
        let ranked = |key: Key| {
            self.numbers(key)
                .zip(&ranks)
                .fold(0, |all: Key, (number, ranks)| all << u32::BITS | Key::from(ranks[number as usize]))
        };
        let mut order: Vec<(Key, u32)> =
            found.par_iter().map(|&key| ranked(key)).zip(0..found.len() as u32).collect();
        order.par_sort_unstable();
        let mut renumbered = vec![0_u32; order.len()];
        for (&(_, number), id) in order.iter().zip(0..) {
            renumbered[number as usize] = id;
        }
        let renumber = |&entry: &u32| match entry {
            UNREACHED => UNREACHED,
            entry => renumbered[(entry / group) as usize] * group + entry % group,
        };
        let mut renumbered_sources = vec![0; sources.len()];
        renumbered_sources.par_chunks_exact_mut(moves.max(1)).zip(&order).for_each(|(to, &(_, number))| {
            let from = &sources[number as usize * moves..][..moves];
            to.iter_mut().zip(from).for_each(|(to, from)| *to = renumber(from));
        });
        let symbols: Vec<Vec<u8>> = self.parts.iter().map(Part::letters_of_all).collect();
        let cells = self.parts.iter().map(|part| part.cells.len()).sum();
        let mut patterns = vec![0; order.len() * cells];
        patterns.par_chunks_exact_mut(cells).zip(&order).for_each(|(mut to, &(_, number))| {
            for ((number, part), symbols) in
                self.numbers(found[number as usize]).zip(&self.parts).zip(&symbols)
            {
                let (of_part, rest) = to.split_at_mut(part.cells.len());
                of_part.copy_from_slice(&symbols[number as usize * of_part.len()..][..of_part.len()]);
                to = rest;
            }
        });
        Found {
            patterns,
            orbit_sizes: order.iter().map(|&(_, number)| sizes[number as usize]).collect(),
            sources: renumbered_sources,
        }
    }

    /// Returns the numbers of the patterns of the parts.
    fn numbers(&self, key: Key) -> impl Iterator<Item = u32> + use<> {
        (0..self.parts.len() as u32).rev().map(move |part| (key >> (u32::BITS * part)) as u32)
    }

    /// Computes the source of a pattern under an arrival, unless the source is known.
    fn work_out(&mut self, key: Key, mv: usize) {
        let moves = self.moves;
        for (number, part) in self.numbers(key).zip(&mut self.parts) {
            if part.work_out(number, mv, moves) == FORBIDDEN {
                return;
            }
        }
    }

    /// Returns the pattern from which an arrival leads to `key`, as the numbers of its parts; `None` if the
    /// move is not possible there. [`Parts::work_out`] must have computed the source.
    fn source(&self, key: Key, mv: usize) -> Option<impl Iterator<Item = u32>> {
        let source = move |(number, part): (u32, &Part)| part.source_of[number as usize * self.moves + mv];
        let sources = move || self.numbers(key).zip(&self.parts).map(source);
        let is_forbidden = sources().any(|source| source == FORBIDDEN);
        (!is_forbidden).then(sources)
    }

    /// Returns the smallest image of a pattern, the first symmetry that leads to that image, and the number
    /// of symmetries that do.
    fn smallest(&self, pattern: impl Iterator<Item = u32>) -> (Key, u32, u32) {
        let mut leading = u64::MAX >> (MAX_SYMMETRIES - self.symmetries);
        let mut smallest = 0;
        for (number, part) in pattern.zip(&self.parts) {
            let number = number as usize;
            let (mut least, among) = part.smallest_of[number];
            if leading & among != leading {
                let image = |symmetry: u32| part.image_of[number * self.symmetries + symmetry as usize];
                let first = leading.trailing_zeros();
                least = image(first);
                let mut rest = leading & (leading - 1);
                leading = 1 << first;
                while rest != 0 {
                    let symmetry = rest.trailing_zeros();
                    rest &= rest - 1;
                    let other = image(symmetry);
                    let pattern = |number: u32| part.patterns[number as usize];
                    if other == least {
                        leading |= 1 << symmetry;
                    } else if pattern(other) < pattern(least) {
                        (least, leading) = (other, 1 << symmetry);
                    }
                }
            }
            smallest = smallest << u32::BITS | Key::from(least);
        }
        (smallest, leading.trailing_zeros(), leading.count_ones())
    }
}

impl<'a> Part<'a> {
    fn new(
        space: &Space,
        colouring: &'a Colouring,
        symmetries: &'a [CosetSymmetry],
        cells: Range<usize>,
    ) -> Option<Self> {
        let symbols = colouring.symbols();
        let bits = usize::BITS - (symbols.count() - 1).leading_zeros();
        if cells.len() * bits as usize > u128::BITS as usize {
            return None;
        }
        let inside = |cell: Cell| (usize::from(cell) - cells.start) as u8;
        let images = symmetries.iter().map(|s| {
            let mut comes = vec![(0, 0); cells.len()];
            for cell in cells.clone() {
                let to = inside(s.symmetry.cells[cell]);
                comes[usize::from(to)] = (inside(cell as Cell), s.symmetry.turn(cell));
            }
            Action { comes, renamed: &s.action.symbols }
        });
        let sources = space.incoming_moves().iter().map(|step| {
            let comes = |cell: usize| {
                let back = |turn: u8| (space.order(cell) as u8 - turn) % space.order(cell) as u8;
                (inside(step.cells[cell]), back(step.turn(cell)))
            };
            let guard = step.guard().iter().filter(|term| cells.contains(&usize::from(term.cell)));
            let guard = guard.map(|term| (inside(term.cell), colouring.of_label(term.label), term.holds));
            Source { comes: cells.clone().map(comes).collect(), guard: guard.collect() }
        });
        Some(Self {
            symbols,
            images: images.collect(),
            sources: sources.collect(),
            bits,
            cells,
            patterns: Vec::new(),
            numbers: FxHashMap::default(),
            image_of: Vec::new(),
            smallest_of: Vec::new(),
            source_of: Vec::new(),
        })
    }

    fn letter(&self, pattern: u128, cell: u8) -> u8 {
        let last = self.cells.len() as u32 - 1;
        (pattern >> (self.bits * (last - u32::from(cell)))) as u8 & ((1_u16 << self.bits) - 1) as u8
    }

    /// Returns the symbols of all patterns, one pattern after the other.
    fn letters_of_all(&self) -> Vec<u8> {
        let symbols =
            |&pattern: &u128| (0..self.cells.len()).map(move |cell| self.letter(pattern, cell as u8));
        self.patterns.iter().flat_map(symbols).collect()
    }

    fn pack(&self, symbols: impl Iterator<Item = u8>) -> u128 {
        symbols.fold(0, |pattern, letter| pattern << self.bits | u128::from(letter))
    }

    /// Returns the number of a pattern. A new pattern is entered with its whole orbit.
    fn number_of(&mut self, symbols: &[u8]) -> u32 {
        let pattern = self.pack(symbols.iter().copied());
        self.number(pattern)
    }

    fn number(&mut self, pattern: u128) -> u32 {
        if let Some(&number) = self.numbers.get(&pattern) {
            return number;
        }
        // All images are in one orbit. Each image gets its number first, and then its own images.
        let orbit: Vec<u128> = self.images.iter().map(|action| self.image(action, pattern)).collect();
        let first = self.patterns.len();
        for &image in &orbit {
            let next = self.patterns.len() as u32;
            self.numbers.entry(image).or_insert_with(|| {
                self.patterns.push(image);
                next
            });
        }
        for number in first..self.patterns.len() {
            let (mut smallest, mut leading) = (u128::MAX, 0);
            for (symmetry, action) in self.images.iter().enumerate() {
                let image = self.image(action, self.patterns[number]);
                if image < smallest {
                    (smallest, leading) = (image, 0);
                }
                leading |= u64::from(image == smallest) << symmetry;
                self.image_of.push(self.numbers[&image]);
            }
            self.smallest_of.push((self.numbers[&smallest], leading));
            self.source_of.extend(std::iter::repeat_n(UNKNOWN, self.sources.len()));
        }
        self.numbers[&pattern]
    }

    fn image(&self, action: &Action, pattern: u128) -> u128 {
        self.pack(action.comes.iter().map(|&(cell, turn)| {
            let letter = action.renamed[usize::from(self.letter(pattern, cell))];
            if turn == 0 { letter } else { self.symbols.turned(letter, turn) }
        }))
    }

    /// Returns the number of the pattern from which an arrival leads to pattern `number`, or [`FORBIDDEN`].
    fn work_out(&mut self, number: u32, mv: usize, moves: usize) -> u32 {
        let entry = number as usize * moves + mv;
        let known = self.source_of[entry];
        if known != UNKNOWN {
            return known;
        }
        let (pattern, source) = (self.patterns[number as usize], &self.sources[mv]);
        let from = self.pack(source.comes.iter().map(|&(cell, turn)| {
            let letter = self.letter(pattern, cell);
            if turn == 0 { letter } else { self.symbols.turned(letter, turn) }
        }));
        let is_met = |&(cell, colour, holds): &GuardTerm| {
            (self.symbols.mark(self.letter(from, cell)) == colour) == holds
        };
        let number = if source.guard.iter().all(is_met) { self.number(from) } else { FORBIDDEN };
        self.source_of[entry] = number;
        number
    }

    /// Returns the rank of each pattern among all patterns of the part.
    fn ranks(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.patterns.len() as u32).collect();
        order.par_sort_unstable_by_key(|&number| self.patterns[number as usize]);
        let mut ranks = vec![0; order.len()];
        for (&number, rank) in order.iter().zip(0..) {
            ranks[number as usize] = rank;
        }
        ranks
    }
}

/// Returns the finest cut of the cells into consecutive ranges that neither moves nor symmetries leave.
fn ranges(space: &Space, symmetries: &[CosetSymmetry]) -> Vec<Range<usize>> {
    // Cells that a move or a symmetry connects are in one range, with all cells between them.
    let mut is_cut = vec![true; space.cells()];
    let mut join = |a: usize, b: usize| is_cut[a.min(b) + 1..=a.max(b)].fill(false);
    for orbit in space.orbits() {
        orbit.cells.windows(2).for_each(|pair| join(pair[0].into(), pair[1].into()));
    }
    for CosetSymmetry { symmetry, .. } in symmetries {
        symmetry.cells.iter().enumerate().for_each(|(cell, &to)| join(cell, to.into()));
    }
    let starts: Vec<usize> = (0..space.cells()).filter(|&cell| is_cut[cell]).collect();
    let ends = starts.iter().skip(1).copied().chain([space.cells()]);
    starts.iter().copied().zip(ends).map(|(start, end)| start..end).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{canonical::Canonical, symmetries_in_use};
    use super::*;
    use crate::{Labels, Plan};
    use fathom_puzzle::{Metric, PuzzleSpec};

    /// Checks that both closures agree, except for the choice among symmetries that lead to the same image.
    #[test]
    fn partwise_closure_matches_whole_patterns() {
        let example = |name: &str| format!("{}/../../docs/examples/{name}", env!("CARGO_MANIFEST_DIR"));
        let words =
            [example("bandaged.toml"), example("pyraminx-free.tws"), "pyraminx".into(), "skewb".into()];
        let mut cut = 0;
        for word in words {
            let source = PuzzleSpec::by_name(&word).unwrap();
            let metric = source.metric();
            let labels = Labels::from_values(source.solved());
            let space = Space::new(source.puzzle(metric).unwrap(), metric, labels).unwrap();
            let colouring = Plan::outline(&space).unwrap().colouring;
            let symmetries = symmetries_in_use(&space, &colouring);
            let Some(parts) = Parts::new(&space, &colouring, &symmetries) else { continue };
            cut += 1;
            let found = parts.close(&colouring).unwrap();
            let whole =
                Canonical::new(&colouring, &symmetries).close(&space, &colouring, &symmetries).unwrap();
            assert_eq!(
                (&found.patterns, &found.orbit_sizes),
                (&whole.patterns, &whole.orbit_sizes),
                "{word}"
            );
            let cells = space.cells();
            let moves = space.incoming_moves().len();
            let pattern = |number: usize| &found.patterns[number * cells..][..cells];
            for (entry, (&from, &expected)) in found.sources.iter().zip(&whole.sources).enumerate() {
                let group = symmetries.len() as u32;
                assert_eq!(from == UNREACHED, expected == UNREACHED, "{word}");
                if from == UNREACHED {
                    continue;
                }
                assert_eq!(from / group, expected / group, "{word}");
                let mut source = vec![0; cells];
                space.step_back(entry % moves, colouring.symbols(), pattern(entry / moves), &mut source);
                let CosetSymmetry { symmetry, action, .. } = &symmetries[(from % group) as usize];
                let mut image = vec![0; cells];
                symmetry.carry(colouring.symbols(), &action.symbols, &source, &mut image);
                assert_eq!(image, pattern((from / group) as usize), "{word}");
            }
        }
        assert!(cut > 1, "nothing was cut into parts");
        let source = PuzzleSpec::by_name("square1").unwrap();
        let space = Space::new(
            source.puzzle(Metric::Face).unwrap(),
            Metric::Face,
            Labels::from_values(source.solved()),
        );
        let space = space.unwrap();
        let colouring = Plan::outline(&space).unwrap().colouring;
        assert!(Parts::new(&space, &colouring, &symmetries_in_use(&space, &colouring)).is_some());
    }
}
