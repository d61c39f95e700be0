//! Representative cosets, and how to find the representative of any pattern: with a `table` of all patterns,
//! or of the reachable ones, if the table is not too large, otherwise with a search through the symmetries
//! (`canonical`). For puzzles with guards, `parts` does the search part by part. `locator` finds the
//! addresses of states, and `states` the states at addresses. `explicit_axes` has the words of axes that hold
//! only reachable ones, which differ from coset to coset, and the transforms of such axes.

mod canonical;
pub(crate) mod explicit_axes;
mod images;
mod locator;
mod parts;
mod states;
mod table;

use crate::colouring::ColourAction;
use crate::ranks::CodedRanks;
use crate::{Colouring, Shape, Space, Symmetry};
use canonical::Canonical;
use explicit_axes::Frames;
use images::Images;
pub use locator::Locator;
use parts::Parts;
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};
pub use states::StateWords;
use table::{Closure, FewEntries, Table};

/// The number of a representative coset. Representatives are numbered in the order of their patterns: of
/// their ranks if there is a pattern table, otherwise symbol by symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CosetId(pub u32);

/// A symmetry that maps colours to colours, with its action on colours.
#[derive(Clone, Debug)]
pub struct CosetSymmetry {
    /// The action on cells and labels.
    pub symmetry: Symmetry,
    /// The action on colours.
    pub action: ColourAction,
    /// The number of the inverse among the symmetries in use.
    pub inverse: usize,
}

/// The cosets of a space under a colouring, up to symmetry, and how moves connect them.
///
/// Memory: 4 bytes for each pattern in a table of all; and for each representative 1 byte for each cell, 4
/// bytes for each [arrival](Space::incoming_moves), and 4 bytes for the size of the orbit.
#[derive(Debug)]
pub struct CosetGraph {
    space: Space,
    colouring: Colouring,
    shape: Shape,
    symmetries: Box<[CosetSymmetry]>,
    index: Index,
    /// The patterns of the representatives, concatenated.
    patterns: Box<[u8]>,
    orbit_sizes: Box<[u32]>,
    /// By representative and arrival: the table entry of the pattern from which the arrival leads to the
    /// representative, or [`UNREACHED`] if there is none.
    sources: Box<[u32]>,
    reachable_patterns: u64,
    states_per_coset: u64,
    /// By representative: the parity of the sum of the indices of its states. Empty unless the last axis is
    /// halved.
    odd: Box<[bool]>,
    /// The words in each representative coset, for axes that hold only reachable words.
    frames: Frames,
}

/// How to find the representative of a pattern.
#[derive(Debug)]
enum Index {
    /// A look-up by the rank of the pattern.
    Table(Table),
    /// A search through the symmetries.
    Canonical(Canonical),
}

/// The representatives that a closure finds.
struct Found {
    /// The patterns, concatenated in the order of the representatives' numbers.
    patterns: Vec<u8>,
    orbit_sizes: Box<[u32]>,
    /// See [`CosetGraph::sources`].
    sources: Vec<u32>,
}

/// The part of a graph with a table that is expensive to compute, and that can be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CosetTables {
    /// By pattern rank: `representative * symmetries + s`, where symmetry s maps the pattern to that of the
    /// representative; `u32::MAX` for patterns that moves do not reach.
    pub table: Box<[u32]>,
    /// The ranks of the representatives' patterns, in increasing order.
    pub representatives: Box<[u64]>,
    /// The number of patterns in the orbit of each representative.
    pub orbit_sizes: Box<[u32]>,
}

/// The reason why the cosets cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CosetError {
    /// There are more table entries than 32-bit numbers.
    #[error("the pattern table is too large: {patterns} patterns under {symmetries} symmetries")]
    TooMany {
        /// Patterns of the colouring.
        patterns: u64,
        /// Symmetries in use.
        symmetries: usize,
    },
    /// The positions in a tensor exceed 32 bits.
    #[error("the bit tensor of a coset is too large")]
    TensorTooLarge,
    /// The words of an axis differ in too many cosets.
    #[error("the words of an axis differ in too many cosets")]
    TooManyFrames,
    /// The number of states contradicts the number of patterns, so one of them is wrong.
    #[error(
        "{words} state words do not divide evenly among {patterns} patterns, or exceed {most} per pattern: the number of states is wrong. This is a bug in Fathom; please report it, with the puzzle"
    )]
    Miscounted {
        /// The words: each state has one for each free move.
        words: u128,
        /// The patterns that moves reach.
        patterns: u64,
        /// The capacity of a coset, in words.
        most: u64,
    },
    /// Stored tables are not those of the space and the colouring.
    #[error("the coset tables belong to another space or colouring")]
    ForeignTables,
}

const UNREACHED: u32 = u32::MAX;

impl CosetGraph {
    /// Lists the cosets by closure of the solved pattern under moves and symmetries.
    ///
    /// # Errors
    /// [`CosetError`] if a tensor or the number of cosets is too large, or the words of an axis differ in too
    /// many cosets.
    pub fn build(space: &Space, colouring: &Colouring) -> Result<Self, CosetError> {
        Self::build_with_frames(space, colouring, Frames::MAX_WORDS)
    }

    /// Lists the cosets as [`CosetGraph::build`] does, with another limit on the words of axes. They are
    /// listed coset by coset if there are at most `most_words` in all; otherwise, if no symmetries are in
    /// use, they are carried over from the home coset, which is that of the solved state.
    ///
    /// # Errors
    /// As for [`CosetGraph::build`].
    pub fn build_with_frames(
        space: &Space,
        colouring: &Colouring,
        most_words: usize,
    ) -> Result<Self, CosetError> {
        let shape = Shape::of(space, colouring).ok_or(CosetError::TensorTooLarge)?;
        let symmetries = symmetries_in_use(space, colouring);
        let too_many =
            CosetError::TooMany { patterns: colouring.patterns().total(), symmetries: symmetries.len() };
        if !has_table(colouring, symmetries.len()) {
            let canonical = Canonical::new(colouring, &symmetries);
            // With guards, few patterns of each part are reached, though those of all parts together may be
            // many.
            let parts = space.is_guarded().then(|| Parts::new(space, colouring, &symmetries)).flatten();
            let found = match parts {
                Some(parts) => parts.close(colouring),
                None => canonical.close(space, colouring, &symmetries),
            }
            .ok_or(too_many)?;
            let index = Index::Canonical(canonical);
            let mut graph = Self::assemble(space, colouring, shape, symmetries, index, found)?;
            graph.frames = Frames::find(&graph, most_words)?;
            return Ok(graph);
        }
        if reaches_few(space, colouring) {
            let few = FewEntries::default();
            let closure = table::close_in(space, colouring, &symmetries, few).ok_or(too_many)?;
            let Closure { entries, representatives, orbit_sizes } = closure;
            let table = Table::Few(entries.into_inner());
            return Self::ranked(space, colouring, shape, symmetries, table, &representatives, orbit_sizes);
        }
        let tables = table::close(space, colouring, &symmetries).ok_or(too_many)?;
        Self::from_closure(space, colouring, shape, symmetries, tables)
    }

    /// Returns the number of entries of the pattern table of a space under a colouring, 0 if there is no
    /// table, or if the table has only the few patterns that moves reach.
    pub fn table_entries(space: &Space, colouring: &Colouring) -> u64 {
        if reaches_few(space, colouring) { 0 } else { Self::ranked_patterns(space, colouring) }
    }

    /// Returns whether the representatives are numbered by the ranks of their patterns; otherwise they are
    /// numbered by the patterns themselves.
    pub fn has_ranks(space: &Space, colouring: &Colouring) -> bool {
        Self::ranked_patterns(space, colouring) > 0
    }

    /// Returns the number of patterns if the representatives are numbered by their ranks, and 0 otherwise.
    pub(crate) fn ranked_patterns(space: &Space, colouring: &Colouring) -> u64 {
        let symmetries = space.symmetries().iter().filter(|s| colouring.action(s).is_some()).count();
        Self::entries(colouring, symmetries)
    }

    /// Returns the number of entries of a table of all patterns, 0 if there is none, if `symmetries`
    /// symmetries respect the colouring.
    pub(crate) fn entries(colouring: &Colouring, symmetries: usize) -> u64 {
        if has_table(colouring, symmetries) { colouring.patterns().total() } else { 0 }
    }

    /// Restores a graph from stored [`CosetGraph::tables`], without searching for cosets.
    ///
    /// # Errors
    /// [`CosetError`] as for [`CosetGraph::build`], and if the tables are not those of this space and
    /// colouring.
    pub fn from_tables(
        space: &Space,
        colouring: &Colouring,
        tables: CosetTables,
    ) -> Result<Self, CosetError> {
        let shape = Shape::of(space, colouring).ok_or(CosetError::TensorTooLarge)?;
        let symmetries = symmetries_in_use(space, colouring);
        let patterns = colouring.patterns().total();
        let entries = (tables.representatives.len() * symmetries.len()) as u64;
        let reached = tables.table.par_iter().filter(|&&entry| entry != UNREACHED).count() as u64;
        let fits = has_table(colouring, symmetries.len())
            && !reaches_few(space, colouring)
            && tables.table.len() as u64 == patterns
            && !tables.representatives.is_empty()
            && tables.representatives.is_sorted_by(|a, b| a < b)
            && tables.orbit_sizes.len() == tables.representatives.len()
            && tables.orbit_sizes.iter().map(|&size| u64::from(size)).sum::<u64>() == reached
            && tables.representatives.iter().all(|&rank| rank < patterns)
            && tables.table.par_iter().all(|&entry| u64::from(entry) < entries || entry == UNREACHED);
        match fits {
            true => Self::from_closure(space, colouring, shape, symmetries, tables),
            false => Err(CosetError::ForeignTables),
        }
    }

    /// Builds a graph with a table of all patterns.
    fn from_closure(
        space: &Space,
        colouring: &Colouring,
        shape: Shape,
        symmetries: Box<[CosetSymmetry]>,
        tables: CosetTables,
    ) -> Result<Self, CosetError> {
        let CosetTables { table, representatives, orbit_sizes } = tables;
        Self::ranked(space, colouring, shape, symmetries, Table::All(table), &representatives, orbit_sizes)
    }

    /// Builds a graph with a table, from which the sources are computed.
    fn ranked(
        space: &Space,
        colouring: &Colouring,
        shape: Shape,
        symmetries: Box<[CosetSymmetry]>,
        table: Table,
        representatives: &[u64],
        orbit_sizes: Box<[u32]>,
    ) -> Result<Self, CosetError> {
        let cells = space.cells();
        let mut patterns = vec![0_u8; representatives.len() * cells];
        let ranked = representatives.par_iter().zip(patterns.par_chunks_exact_mut(cells));
        ranked.for_each(|(&rank, pattern)| colouring.patterns().unrank(rank, colouring.symbols(), pattern));
        let moves = space.incoming_moves();
        let mut sources = vec![UNREACHED; representatives.len() * moves.len()];
        if !moves.is_empty() {
            let coded = CodedRanks::new(colouring.patterns());
            let before = Images::before_arrivals(space, colouring, coded.as_ref());
            let by_coset = sources.par_chunks_exact_mut(moves.len()).zip(patterns.par_chunks_exact(cells));
            let buffers = || (vec![0; moves.len()], vec![0; cells]);
            by_coset.for_each_init(buffers, |(ranks, source), (sources, pattern)| {
                before.ranks(pattern, ranks, source);
                for (mv, (entry, &rank)) in sources.iter_mut().zip(&*ranks).enumerate() {
                    let is_possible = moves[mv].guard().is_empty() || {
                        before.carry(mv, pattern, source);
                        colouring.allows(&moves[mv], source)
                    };
                    if is_possible {
                        *entry = table.entry(rank);
                    }
                }
            });
        }
        let found = Found { patterns, orbit_sizes, sources };
        Self::assemble(space, colouring, shape, symmetries, Index::Table(table), found)
    }

    fn assemble(
        space: &Space,
        colouring: &Colouring,
        shape: Shape,
        symmetries: Box<[CosetSymmetry]>,
        index: Index,
        Found { patterns, orbit_sizes, sources }: Found,
    ) -> Result<Self, CosetError> {
        let cells = space.cells();
        // The state whose indices are all zero has the pieces of each colour in increasing order. Reachable
        // states are even, so the parities of their indices add up to the parity of this state's inversions.
        let is_odd = |pattern: &[u8]| {
            let mut next = vec![0_u8; colouring.axes().len()];
            let word = pattern.iter().map(|&colour| {
                let local = &mut next[usize::from(colour)];
                *local += 1;
                colouring.label(colour, *local - 1)
            });
            let word: Vec<u8> = word.collect();
            let behind =
                |(cell, label): (usize, &u8)| word[cell..].iter().filter(|other| *other < label).count();
            word.iter().enumerate().map(behind).sum::<usize>() % 2 == 1
        };
        let odd = match shape.odd() {
            Some(_) => patterns.par_chunks_exact(cells).map(is_odd).collect(),
            None => Box::default(),
        };
        let reachable_patterns: u64 = orbit_sizes.iter().map(|&size| u64::from(size)).sum();
        let states = u64::try_from(space.states()).expect("tables this small have fewer than 2^64 states");
        // Every coset has equally many words, because moves lead from each coset to each other.
        let words = u128::from(states) * u128::from(space.free_order());
        let (states_per_coset, rest) =
            (words / u128::from(reachable_patterns), words % u128::from(reachable_patterns));
        if rest > 0 || states_per_coset > shape.bits().into() {
            let (patterns, most) = (reachable_patterns, shape.bits());
            return Err(CosetError::Miscounted { words, patterns, most });
        }
        Ok(Self {
            space: space.clone(),
            colouring: colouring.clone(),
            shape,
            symmetries,
            index,
            patterns: patterns.into(),
            orbit_sizes,
            sources: sources.into(),
            reachable_patterns,
            states_per_coset: states_per_coset as u64,
            odd,
            frames: Frames::default(),
        })
    }

    /// Returns the size in bytes of the tables of a graph with `patterns` table entries and `representatives`
    /// representatives.
    pub fn table_bytes(space: &Space, patterns: u64, representatives: u64) -> u64 {
        let a_coset = 4 * space.incoming_moves().len() as u64 + space.cells() as u64 + 4;
        4 * patterns + a_coset * representatives
    }

    /// Returns the part of the graph that [`CosetGraph::build`] takes long to compute: the pattern table,
    /// which is empty if the graph has none, the ranks of the representatives' patterns, and the sizes of
    /// their orbits.
    pub fn tables(&self) -> (&[u32], impl ExactSizeIterator<Item = u64>, &[u32]) {
        let patterns = self.patterns.chunks_exact(self.space.cells());
        let ranks = patterns.map(|pattern| self.colouring.patterns().rank(pattern));
        let table = match &self.index {
            Index::Table(Table::All(table)) => &table[..],
            Index::Table(Table::Few(_)) | Index::Canonical(_) => &[],
        };
        (table, ranks, &self.orbit_sizes)
    }

    /// Returns the space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// Returns the colouring.
    pub fn colouring(&self) -> &Colouring {
        &self.colouring
    }

    /// Returns the shape of every coset's tensor.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Returns the symmetries of the space that map colours to colours, the identity first. Orbits of
    /// patterns are orbits under these symmetries.
    pub fn symmetries(&self) -> &[CosetSymmetry] {
        &self.symmetries
    }

    /// Returns the number of representative cosets.
    pub fn len(&self) -> u32 {
        self.orbit_sizes.len() as u32
    }

    /// Returns false: the solved coset always exists.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Returns the number of patterns that moves reach.
    pub fn reachable_patterns(&self) -> u64 {
        self.reachable_patterns
    }

    /// Returns the number of words in a coset that moves reach. The number is the same for all cosets,
    /// because moves carry the reachable words of one coset one to one onto those of another.
    pub fn states_per_coset(&self) -> u64 {
        self.states_per_coset
    }

    /// Returns whether the parities of the indices of a state of a representative coset have an odd sum.
    /// Always false unless the last axis is halved.
    pub fn is_odd(&self, coset: CosetId) -> bool {
        self.odd.get(coset.0 as usize).is_some_and(|&odd| odd)
    }

    /// Returns the number of states of the whole space that `stored` words of this representative coset
    /// represent.
    pub fn states(&self, coset: CosetId, stored: u32) -> u64 {
        let words = u128::from(stored) * u128::from(self.orbit_size(coset));
        (words / u128::from(self.space.free_order())) as u64
    }

    /// Returns the number of patterns in the orbit of this representative.
    pub fn orbit_size(&self, coset: CosetId) -> u32 {
        self.orbit_sizes[coset.0 as usize]
    }

    /// Returns the pattern of a representative: a symbol for each cell, which is a colour with an
    /// orientation.
    pub fn pattern(&self, coset: CosetId) -> &[u8] {
        let cells = self.space.cells();
        &self.patterns[coset.0 as usize * cells..][..cells]
    }

    /// Returns the coset from which the [arrival](Space::incoming_moves) `mv` leads into `coset`, as its
    /// representative R, and the number of the symmetry that maps the pattern of R to the pattern from which
    /// the arrival starts. `None` if the move is not possible there.
    #[inline]
    pub fn source(&self, coset: CosetId, mv: usize) -> Option<(CosetId, usize)> {
        let entry = self.sources[coset.0 as usize * self.space.incoming_moves().len() + mv];
        if entry == UNREACHED {
            return None;
        }
        let (representative, to) = self.split(entry);
        Some((representative, self.symmetries[to].inverse))
    }

    /// Returns the cosets from which arrivals lead into `coset`, each with the number of the arrival.
    #[inline]
    pub fn sources(&self, coset: CosetId) -> impl Iterator<Item = (usize, CosetId)> + Clone + '_ {
        let moves = 0..self.space.incoming_moves().len();
        moves.filter_map(move |mv| self.source(coset, mv).map(|(source, _)| (mv, source)))
    }

    /// Returns the symmetries, other than the identity, that map the pattern of a representative to itself.
    pub fn stabiliser(&self, coset: CosetId) -> impl Iterator<Item = usize> {
        let pattern = self.pattern(coset);
        let whole = self.orbit_size(coset) as usize == self.symmetries.len();
        (1..if whole { 1 } else { self.symmetries.len() }).filter(move |&s| {
            let CosetSymmetry { symmetry, action, .. } = &self.symmetries[s];
            let symbols = self.colouring.symbols();
            symmetry.cells.iter().zip(pattern).enumerate().all(|(cell, (&to, &letter))| {
                let renamed = action.symbols[usize::from(letter)];
                pattern[usize::from(to)] == symbols.turned(renamed, symmetry.turn(cell))
            })
        })
    }

    /// Returns the representative of a pattern, and the symmetry that leads there. `None` if the pattern is
    /// known to be unreachable.
    fn find(&self, pattern: &[u8]) -> Option<(CosetId, usize)> {
        match &self.index {
            Index::Table(table) => {
                let entry = table.entry(self.colouring.patterns().rank(pattern));
                (entry != UNREACHED).then(|| self.split(entry))
            }
            Index::Canonical(canonical) => {
                let form = canonical.form(pattern);
                Some((self.representative(&form.pattern)?, form.symmetry))
            }
        }
    }

    /// Returns the representative of the solved pattern, and the symmetry that leads there.
    pub(crate) fn home(&self) -> (CosetId, usize) {
        self.find(self.colouring.solved()).expect("the solved pattern is reached")
    }

    /// Returns the image of a pattern under one of the symmetries in use.
    pub(crate) fn image(&self, symmetry: usize, pattern: &[u8]) -> Vec<u8> {
        let CosetSymmetry { symmetry, action, .. } = &self.symmetries[symmetry];
        let mut image = vec![0; pattern.len()];
        symmetry.carry(self.colouring.symbols(), &action.symbols, pattern, &mut image);
        image
    }

    /// Returns symmetries that carry a representative to the cosets of its orbit, one for each.
    pub fn ways_to_orbit(&self, coset: CosetId) -> Vec<usize> {
        let pattern = self.pattern(coset);
        let mut reached = FxHashSet::default();
        (0..self.symmetries.len()).filter(|&symmetry| reached.insert(self.image(symmetry, pattern))).collect()
    }

    /// Writes the image of a state under one of the symmetries in use.
    pub fn write_image(&self, symmetry: usize, word: &[u8], image: &mut [u8]) {
        self.space.write_image(&self.symmetries[symmetry].symmetry, word, image);
    }

    /// Returns the words of axes that hold only reachable words.
    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Returns the state at a position of a representative coset, as a word of symbols: the inverse of
    /// [`CosetGraph::locate`] up to symmetry.
    pub fn word_at(&self, coset: CosetId, position: u32) -> Vec<u8> {
        StateWords::new(self, coset, 1).at(position).to_vec()
    }

    /// Returns a source of states of a representative coset, which is faster than single calls if many are
    /// needed.
    pub fn words(&self, coset: CosetId) -> StateWords<'_> {
        StateWords::new(self, coset, states::REMEMBERED)
    }

    /// Finds the coset of a representative's pattern by binary search. The representatives must be in the
    /// order of their patterns, symbol by symbol.
    fn representative(&self, pattern: &[u8]) -> Option<CosetId> {
        let cells = self.space.cells();
        let at = |number: usize| &self.patterns[number * cells..][..cells];
        let (mut low, mut high) = (0, self.orbit_sizes.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if at(middle) < pattern { low = middle + 1 } else { high = middle }
        }
        (low < self.orbit_sizes.len() && at(low) == pattern).then_some(CosetId(low as u32))
    }

    fn split(&self, entry: u32) -> (CosetId, usize) {
        let group = self.symmetries.len() as u32;
        (CosetId(entry / group), (entry % group) as usize)
    }
}

/// Returns the symmetries that respect the colouring.
fn symmetries_in_use(space: &Space, colouring: &Colouring) -> Box<[CosetSymmetry]> {
    let respecting: Vec<(&Symmetry, ColourAction)> = space
        .symmetries()
        .iter()
        .filter_map(|symmetry| Some((symmetry, colouring.action(symmetry)?)))
        .collect();
    let numbers: FxHashMap<&Symmetry, usize> =
        respecting.iter().enumerate().map(|(number, &(symmetry, _))| (symmetry, number)).collect();
    let in_use = |(symmetry, action): &(&Symmetry, ColourAction)| CosetSymmetry {
        symmetry: (*symmetry).clone(),
        action: action.clone(),
        inverse: numbers[&space.inverse(symmetry)],
    };
    respecting.iter().map(in_use).collect()
}

/// Returns whether there is a table with an entry for every pattern. There is none if the patterns are too
/// many, or if there are so many symmetries that trying them all takes less time than filling the table.
fn has_table(colouring: &Colouring, symmetries: usize) -> bool {
    const MAX_PATTERNS: u64 = 1 << 31;
    const MAX_SYMMETRIES: usize = 2048;
    // With axes of reachable words, moves reach only a small share of the patterns.
    colouring.reached_axes().is_none()
        && colouring.patterns().total() < MAX_PATTERNS
        && symmetries <= MAX_SYMMETRIES
}

/// Returns whether a table of all patterns would be large and sparsely filled. Each reached pattern is the
/// pattern of a state.
fn reaches_few(space: &Space, colouring: &Colouring) -> bool {
    const LARGE: u64 = 1 << 22;
    const FEW: u64 = 64;
    let (patterns, words) = (colouring.patterns().total(), space.states() * space.free_order());
    patterns >= LARGE && words <= (patterns / FEW).into()
}
