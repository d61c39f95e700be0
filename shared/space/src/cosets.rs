//! Representative cosets, and what leads from any pattern to its representative: a `table` of all patterns
//! where that is not too large, a search through the symmetries (`canonical`) otherwise.

mod canonical;
mod parts;
mod table;

use crate::colouring::ColourAction;
use crate::colouring::Reached;
use crate::listed::Frames;
use crate::{Colouring, Shape, Space, Symmetry};
use canonical::Canonical;
use parts::Parts;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The number of a representative coset, in order of the ranks of their patterns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CosetId(pub u32);

/// A symmetry that maps colours to colours, with that action.
#[derive(Clone, Debug)]
pub struct CosetSymmetry {
    /// Its action on cells and labels.
    pub symmetry: Symmetry,
    /// Its action on colours.
    pub action: ColourAction,
    /// The number of its inverse among the symmetries in use.
    pub inverse: usize,
}

/// The cosets of a space under a colouring, up to symmetry, and how moves connect them.
///
/// Memory: 4 bytes a pattern for the table, and for each representative one byte a cell and 4 bytes a move.
#[derive(Debug)]
pub struct CosetGraph {
    space: Space,
    colouring: Colouring,
    shape: Shape,
    symmetries: Box<[CosetSymmetry]>,
    index: Index,
    /// The patterns of the representatives, one after the other.
    patterns: Box<[u8]>,
    orbit_sizes: Box<[u32]>,
    /// By representative and move: the table entry of the pattern from which the move leads to the
    /// representative, or [`UNREACHED`] if there is none.
    sources: Box<[u32]>,
    reachable_patterns: u64,
    states_per_coset: u64,
    /// By representative, where the last axis is halved: the parity of the sum of the indices of its states.
    odd: Box<[bool]>,
    /// Of axes that hold only what is reached: their words in each representative coset.
    frames: Frames,
}

/// What leads from a pattern to its representative.
#[derive(Debug)]
enum Index {
    /// By pattern rank: `representative * symmetries + s`, where symmetry s maps the pattern to the
    /// representative's.
    Table(Box<[u32]>),
    /// A search through the symmetries.
    Canonical(Canonical),
}

/// What a closure finds of the representatives.
struct Found {
    /// Their patterns, in the order of their numbers.
    patterns: Vec<u8>,
    orbit_sizes: Box<[u32]>,
    /// See [`CosetGraph::sources`].
    sources: Vec<u32>,
}

/// The part of a graph that takes long to find, and that can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CosetTables {
    /// By pattern rank: `representative * symmetries + s`, where symmetry s maps the pattern to the
    /// representative's; `u32::MAX` for patterns that moves do not reach.
    pub table: Box<[u32]>,
    /// The ranks of the representatives' patterns, in increasing order.
    pub representatives: Box<[u64]>,
    /// How many patterns are in the orbit of each.
    pub orbit_sizes: Box<[u32]>,
}

/// Why the cosets cannot be listed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CosetError {
    /// Table entries are 32-bit numbers.
    #[error("{patterns} patterns under {symmetries} symmetries are too many for the pattern table")]
    TooMany {
        /// Patterns of the colouring.
        patterns: u64,
        /// Symmetries in use.
        symmetries: usize,
    },
    /// Tensors are addressed by 32-bit positions.
    #[error("the bit tensor of a coset is too large")]
    TensorTooLarge,
    /// The words of axes differ too much from coset to coset.
    #[error("the words of an axis are different ones in too many cosets")]
    TooManyFrames,
    /// Tables that were kept are not those of the space.
    #[error("the tables of cosets are not those of this space and colouring")]
    ForeignTables,
}

const UNREACHED: u32 = u32::MAX;

impl CosetGraph {
    /// Lists the cosets by closure from the solved pattern under moves and symmetries.
    ///
    /// # Errors
    /// [`CosetError`] if there are more than the tables can address.
    pub fn build(space: &Space, colouring: &Colouring) -> Result<Self, CosetError> {
        Self::build_with_frames(space, colouring, Frames::MOST_WORDS)
    }

    /// The same, where the words of axes are listed coset by coset only up to so many in all. If there are
    /// more, and no symmetries are in use, they are carried over from the home coset.
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
            // With guards few patterns of each part are reached; those of all parts together may be many.
            let parts = space.is_guarded().then(|| Parts::of(space, colouring, &symmetries)).flatten();
            let found = match parts {
                Some(parts) => parts.close(colouring),
                None => canonical.close(space, colouring),
            }
            .ok_or(too_many)?;
            let index = Index::Canonical(canonical);
            let mut graph = Self::assemble(space, colouring, shape, symmetries, index, found);
            graph.frames = Frames::find(&graph, most_words)?;
            return Ok(graph);
        }
        let tables = table::close(space, colouring, &symmetries).ok_or(too_many)?;
        Ok(Self::from_closure(space, colouring, shape, symmetries, tables))
    }

    /// How many entries the pattern table of a space under a colouring has: none where it is made without.
    pub fn table_entries(space: &Space, colouring: &Colouring) -> u64 {
        let symmetries = space.symmetries().iter().filter(|s| colouring.action(s).is_some()).count();
        Self::entries(colouring, symmetries)
    }

    /// The same, where so many symmetries respect the colouring.
    pub(crate) fn entries(colouring: &Colouring, symmetries: usize) -> u64 {
        if has_table(colouring, symmetries) { colouring.patterns().total() } else { 0 }
    }

    /// The graph of which [`CosetGraph::tables`] were kept, without searching for cosets.
    ///
    /// # Errors
    /// [`CosetError`] as for [`CosetGraph::build`], and if the tables are none of this space and colouring.
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
            && tables.table.len() as u64 == patterns
            && !tables.representatives.is_empty()
            && tables.representatives.is_sorted_by(|a, b| a < b)
            && tables.orbit_sizes.len() == tables.representatives.len()
            && tables.orbit_sizes.iter().map(|&size| u64::from(size)).sum::<u64>() == reached
            && tables.representatives.iter().all(|&rank| rank < patterns)
            && tables.table.par_iter().all(|&entry| u64::from(entry) < entries || entry == UNREACHED);
        match fits {
            true => Ok(Self::from_closure(space, colouring, shape, symmetries, tables)),
            false => Err(CosetError::ForeignTables),
        }
    }

    /// The graph with a table.
    fn from_closure(
        space: &Space,
        colouring: &Colouring,
        shape: Shape,
        symmetries: Box<[CosetSymmetry]>,
        tables: CosetTables,
    ) -> Self {
        let CosetTables { table, representatives, orbit_sizes } = tables;
        let cells = space.cells();
        let mut patterns = vec![0_u8; representatives.len() * cells];
        for (&rank, pattern) in representatives.iter().zip(patterns.chunks_exact_mut(cells)) {
            colouring.patterns().unrank(rank, colouring.letters(), pattern);
        }
        let moves = space.incoming_moves().len();
        let mut sources = vec![UNREACHED; representatives.len() * moves];
        if moves > 0 {
            sources.par_chunks_exact_mut(moves).zip(patterns.par_chunks_exact(cells)).for_each_init(
                || vec![0; cells],
                |source, (sources, pattern)| {
                    for (mv, entry) in sources.iter_mut().enumerate() {
                        space.step_back(mv, colouring.letters(), pattern, source);
                        if colouring.allows(&space.incoming_moves()[mv], source) {
                            *entry = table[colouring.patterns().rank(source) as usize];
                        }
                    }
                },
            );
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
    ) -> Self {
        let cells = space.cells();
        // The state whose indices are all zero has the pieces of each colour in their order, and its parity
        // is that of the number of its inversions. A state that is reached is even.
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
        Self {
            space: space.clone(),
            colouring: colouring.clone(),
            shape,
            symmetries,
            index,
            patterns: patterns.into(),
            orbit_sizes,
            sources: sources.into(),
            reachable_patterns,
            states_per_coset: (u128::from(states) * u128::from(space.free_order())
                / u128::from(reachable_patterns)) as u64,
            odd,
            frames: Frames::default(),
        }
    }

    /// Bytes of the tables of a graph with so many patterns and representatives.
    pub fn table_bytes(space: &Space, patterns: u64, representatives: u64) -> u64 {
        let a_coset = 4 * space.incoming_moves().len() as u64 + space.cells() as u64 + 4;
        4 * patterns + a_coset * representatives
    }

    /// What [`CosetGraph::build`] takes long to find, where there is a table: the pattern table, the ranks of
    /// the representatives' patterns, and the sizes of their orbits.
    pub fn tables(&self) -> (&[u32], impl ExactSizeIterator<Item = u64>, &[u32]) {
        let patterns = self.patterns.chunks_exact(self.space.cells());
        let ranks = patterns.map(|pattern| self.colouring.patterns().rank(pattern));
        let table = match &self.index {
            Index::Table(table) => &table[..],
            Index::Canonical(_) => &[],
        };
        (table, ranks, &self.orbit_sizes)
    }

    /// The space.
    pub fn space(&self) -> &Space {
        &self.space
    }

    /// The colouring.
    pub fn colouring(&self) -> &Colouring {
        &self.colouring
    }

    /// The shape of every coset's tensor.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The symmetries of the space that map colours to colours, the identity first. Orbits are under these.
    pub fn symmetries(&self) -> &[CosetSymmetry] {
        &self.symmetries
    }

    /// The number of representative cosets.
    pub fn len(&self) -> u32 {
        self.orbit_sizes.len() as u32
    }

    /// Never: the solved coset is always there.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// The number of patterns that moves reach.
    pub fn reachable_patterns(&self) -> u64 {
        self.reachable_patterns
    }

    /// How many states of a coset moves reach: the same for all cosets, because the reachable states of each
    /// are a coset of one subgroup.
    pub fn states_per_coset(&self) -> u64 {
        self.states_per_coset
    }

    /// Whether the indices of the states of a representative coset have an odd sum of parities; false unless
    /// the last axis is halved.
    pub fn is_odd(&self, coset: CosetId) -> bool {
        self.odd.get(coset.0 as usize).is_some_and(|&odd| odd)
    }

    /// How many states of the whole space so many states of this representative coset stand for.
    pub fn states(&self, coset: CosetId, stored: u32) -> u64 {
        let words = u128::from(stored) * u128::from(self.orbit_size(coset));
        (words / u128::from(self.space.free_order())) as u64
    }

    /// How many patterns are in the orbit of this representative.
    pub fn orbit_size(&self, coset: CosetId) -> u32 {
        self.orbit_sizes[coset.0 as usize]
    }

    /// The pattern of a representative: the letter, a colour and an orientation, on each cell.
    pub fn pattern(&self, coset: CosetId) -> &[u8] {
        let cells = self.space.cells();
        &self.patterns[coset.0 as usize * cells..][..cells]
    }

    /// The coset from which a move leads into `coset`: as representative `R`, with the number of the symmetry
    /// that maps R's pattern to the pattern that the [arrival](Space::incoming_moves) `mv` starts from.
    /// `None` if the move cannot be made there.
    #[inline]
    pub fn source(&self, coset: CosetId, mv: usize) -> Option<(CosetId, usize)> {
        let entry = self.sources[coset.0 as usize * self.space.incoming_moves().len() + mv];
        if entry == UNREACHED {
            return None;
        }
        let (representative, to) = self.split(entry);
        Some((representative, self.symmetries[to].inverse))
    }

    /// The cosets from which moves lead into `coset`, by move.
    #[inline]
    pub fn sources(&self, coset: CosetId) -> impl Iterator<Item = (usize, CosetId)> + '_ {
        let moves = 0..self.space.incoming_moves().len();
        moves.filter_map(move |mv| self.source(coset, mv).map(|(source, _)| (mv, source)))
    }

    /// The symmetries, other than the identity, that map the pattern of a representative to itself.
    pub fn stabiliser(&self, coset: CosetId) -> impl Iterator<Item = usize> {
        let pattern = self.pattern(coset);
        let whole = self.orbit_size(coset) as usize == self.symmetries.len();
        (1..if whole { 1 } else { self.symmetries.len() }).filter(move |&s| {
            let CosetSymmetry { symmetry, action, .. } = &self.symmetries[s];
            let letters = self.colouring.letters();
            symmetry.cells.iter().zip(pattern).enumerate().all(|(cell, (&to, &letter))| {
                let renamed = action.letters[usize::from(letter)];
                pattern[usize::from(to)] == letters.turned(renamed, symmetry.turn(cell))
            })
        })
    }

    /// The address of a state that is given as a word of letters: the representative of its coset, and the
    /// position there of its image under the symmetry that leads to the representative. `None` if the
    /// state is known not to be reachable.
    pub fn locate(&self, word: &[u8]) -> Option<(CosetId, u32)> {
        let pattern: Vec<u8> = word.iter().map(|&letter| self.colouring.of_letter(letter)).collect();
        if !self.colouring.patterns().has(&pattern) {
            return None;
        }
        let (coset, to) = self.find(&pattern)?;
        let image = self.space.image(&self.symmetries[to].symmetry, word);
        self.position(coset, &image).map(|position| (coset, position))
    }

    /// The representative of a pattern, and the symmetry that leads there. `None` if it is known not to be
    /// reachable.
    fn find(&self, pattern: &[u8]) -> Option<(CosetId, usize)> {
        match &self.index {
            Index::Table(table) => {
                let entry = table[self.colouring.patterns().rank(pattern) as usize];
                (entry != UNREACHED).then(|| self.split(entry))
            }
            Index::Canonical(canonical) => {
                let form = canonical.form(pattern);
                Some((self.representative(&form.pattern)?, form.symmetry))
            }
        }
    }

    /// The representative of the solved pattern, and the symmetry that leads there.
    pub(crate) fn home(&self) -> (CosetId, usize) {
        self.find(self.colouring.solved()).expect("the solved pattern is reached")
    }

    /// The image of a pattern under one of the symmetries in use.
    pub(crate) fn image(&self, symmetry: usize, pattern: &[u8]) -> Vec<u8> {
        let CosetSymmetry { symmetry, action, .. } = &self.symmetries[symmetry];
        let mut image = vec![0; pattern.len()];
        symmetry.carry(self.colouring.letters(), &action.letters, pattern, &mut image);
        image
    }

    /// The words of axes that hold only what is reached.
    pub(crate) fn frames(&self) -> &Frames {
        &self.frames
    }

    /// The position, in the coset of its pattern, of a state that is given as a word of letters. The pattern
    /// is that of the representative. `None` if the state is known not to be reachable.
    pub fn position(&self, coset: CosetId, word: &[u8]) -> Option<u32> {
        if let Some(axes) = self.colouring.reached() {
            let number = |(axis, reached): (usize, &Reached)| {
                let packed = self.packed(reached, word);
                self.frames.index(self, coset, axis, packed)
            };
            let indices: Option<Vec<u32>> = axes.iter().enumerate().map(number).collect();
            return Some(self.shape.position(&indices?));
        }
        let labels: Vec<u8> = word.iter().map(|&letter| self.space.letters().mark(letter)).collect();
        let indices: Vec<u32> = (0..self.colouring.axes().len() as u8)
            .map(|colour| {
                let arrangement = labels.iter().filter(|&&label| self.colouring.of_label(label) == colour);
                let local = arrangement.map(|&label| self.colouring.local(label));
                self.colouring.axes()[usize::from(colour)].rank(local) as u32
            })
            .collect();
        self.shape.holds(&indices, self.is_odd(coset)).then(|| self.shape.position(&indices))
    }

    /// The word of an axis in a state.
    fn packed(&self, axis: &Reached, word: &[u8]) -> u128 {
        let letters = self.space.letters();
        let mut packed = 0;
        for part in axis.form.parts() {
            let is_here =
                |letter: &&u8| self.colouring.of_label(letters.mark(**letter)) == part.component.colour;
            for (place, &letter) in word.iter().filter(is_here).enumerate() {
                let label = match part.component.view.has_pieces() {
                    true => self.colouring.local(letters.mark(letter)),
                    false => 0,
                };
                let symbol = label * part.turns + letters.orientation(letter) % part.turns;
                packed |= axis.form.symbol(part.first + place, symbol);
            }
        }
        packed
    }

    /// The state with these numbers of words along axes that hold only what is reached.
    fn word_of(&self, axes: &[Reached], coset: CosetId, indices: &[u32]) -> Vec<u8> {
        let letters = self.colouring.letters();
        let pattern = self.pattern(coset);
        // The first label of each colour, in the orientation that the pattern tells; and then what the axes
        // tell.
        let told = pattern.iter().map(|&letter| (0, letters.orientation(letter)));
        let mut told: Vec<(u8, u8)> = told.collect();
        for (number, (axis, &index)) in axes.iter().zip(indices).enumerate() {
            let packed = self.frames.word(self, coset, number, index);
            for part in axis.form.parts() {
                let is_here = |cell: &usize| letters.mark(pattern[*cell]) == part.component.colour;
                for (place, cell) in (0..pattern.len()).filter(is_here).enumerate() {
                    let symbol = axis.form.at(packed, part.first + place);
                    if part.component.view.has_pieces() {
                        told[cell].0 = symbol / part.turns;
                    }
                    if part.component.view.has_orientations() {
                        told[cell].1 = symbol % part.turns;
                    }
                }
            }
        }
        let letter = |(&(local, orientation), &of_pattern): (&(u8, u8), &u8)| {
            let label = self.colouring.label(letters.mark(of_pattern), local);
            self.space.letters().letter(label, orientation)
        };
        told.iter().zip(pattern).map(letter).collect()
    }

    /// The state at a position of a representative coset, as a word of letters: the inverse of
    /// [`CosetGraph::locate`] up to symmetry.
    pub fn word_at(&self, coset: CosetId, position: u32) -> Vec<u8> {
        let mut indices = vec![0; self.shape.lengths().len()];
        self.shape.indices(position, self.is_odd(coset), &mut indices);
        if let Some(axes) = self.colouring.reached() {
            return self.word_of(axes, coset, &indices);
        }
        let axes = self.colouring.axes();
        let mut word = vec![0; self.space.cells()];
        for (colour, (axis, &index)) in axes.iter().zip(&indices).enumerate() {
            let mut arrangement = vec![0; axis.length()];
            axis.unrank(u64::from(index), &mut arrangement);
            let letters = self.colouring.letters();
            let pattern = self.pattern(coset).iter().enumerate();
            let cells = pattern.filter(|&(_, &letter)| usize::from(letters.mark(letter)) == colour);
            for ((cell, &letter), local) in cells.zip(arrangement) {
                let label = self.colouring.label(colour as u8, local);
                word[cell] = self.space.letters().letter(label, letters.orientation(letter));
            }
        }
        word
    }

    /// The coset of a representative's pattern, where representatives are in order of their patterns.
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

/// The symmetries that respect the colouring.
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

/// Whether every pattern has an entry in a table: not where there are too many, nor where so many symmetries
/// are in use that it takes less to try them all than to fill the table.
fn has_table(colouring: &Colouring, symmetries: usize) -> bool {
    const MOST_PATTERNS: u64 = 1 << 31;
    const MOST_SYMMETRIES: usize = 2048;
    // Of patterns beside axes of what is reached, a small share is reached.
    colouring.reached().is_none()
        && colouring.patterns().total() < MOST_PATTERNS
        && symmetries <= MOST_SYMMETRIES
}
