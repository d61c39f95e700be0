//! Representative cosets, and the table that leads from any pattern to its representative.

use crate::colouring::ColourAction;
use crate::{Colouring, Shape, Space, Symmetry};
use rayon::prelude::*;
use rustc_hash::FxHashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

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
    /// By pattern rank: `representative * symmetries + s`, where symmetry s maps the pattern to the representative's.
    table: Box<[u32]>,
    /// The patterns of the representatives, one after the other.
    patterns: Box<[u8]>,
    orbit_sizes: Box<[u32]>,
    /// By representative and move: the table entry of the pattern from which the move leads to the representative.
    sources: Box<[u32]>,
    reachable_patterns: u64,
    states_per_coset: u64,
    /// By representative, where the last axis is halved: the parity of the sum of the indices of its states.
    odd: Box<[bool]>,
}

/// The part of a graph that takes long to find, and that can be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CosetTables {
    /// By pattern rank: `representative * symmetries + s`, where symmetry s maps the pattern to the representative's;
    /// `u32::MAX` for patterns that moves do not reach.
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
    /// Tables that were kept are not those of the space.
    #[error("the tables of cosets are not those of this space and colouring")]
    ForeignTables,
}

const UNREACHED: u32 = u32::MAX;
/// Somebody is about to make the entry.
const CLAIMED: u32 = u32::MAX - 1;

impl CosetGraph {
    /// Lists the cosets by closure from the solved pattern under moves and symmetries.
    ///
    /// # Errors
    /// [`CosetError`] if there are more than the tables can address.
    pub fn build(space: &Space, colouring: &Colouring) -> Result<Self, CosetError> {
        let shape = Shape::of(space, colouring).ok_or(CosetError::TensorTooLarge)?;
        let (symmetries, compose) = symmetries_in_use(space, colouring);
        let too_many =
            CosetError::TooMany { patterns: colouring.patterns().total(), symmetries: symmetries.len() };
        if colouring.patterns().total() >= u64::from(CLAIMED) {
            return Err(too_many);
        }
        let tables = close(space, colouring, &symmetries, &compose).ok_or(too_many)?;
        Ok(Self::assemble(space, colouring, shape, symmetries, tables))
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
        let (symmetries, _) = symmetries_in_use(space, colouring);
        let patterns = colouring.patterns().total();
        let entries = (tables.representatives.len() * symmetries.len()) as u64;
        let reached = tables.table.par_iter().filter(|&&entry| entry != UNREACHED).count() as u64;
        let fits = tables.table.len() as u64 == patterns
            && !tables.representatives.is_empty()
            && tables.representatives.is_sorted_by(|a, b| a < b)
            && tables.orbit_sizes.len() == tables.representatives.len()
            && tables.orbit_sizes.iter().map(|&size| u64::from(size)).sum::<u64>() == reached
            && tables.representatives.iter().all(|&rank| rank < patterns)
            && tables.table.par_iter().all(|&entry| u64::from(entry) < entries || entry == UNREACHED);
        match fits {
            true => Ok(Self::assemble(space, colouring, shape, symmetries, tables)),
            false => Err(CosetError::ForeignTables),
        }
    }

    fn assemble(
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
        let moves = space.moves().len();
        let source = |mv: usize, pattern: &[u8], source: &mut [u8]| {
            space.step_back(mv, colouring.letters(), pattern, source);
            table[colouring.patterns().rank(source) as usize]
        };
        let mut sources = vec![0_u32; representatives.len() * moves];
        if moves > 0 {
            sources.par_chunks_exact_mut(moves).zip(patterns.par_chunks_exact(cells)).for_each_init(
                || vec![0; cells],
                |scratch, (sources, pattern)| {
                    for (mv, entry) in sources.iter_mut().enumerate() {
                        *entry = source(mv, pattern, scratch);
                    }
                },
            );
        }
        // The state whose indices are all zero has the pieces of each colour in their order, and its parity is that of the
        // number of its inversions. A state that is reached is even.
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
            table,
            patterns: patterns.into(),
            orbit_sizes,
            sources: sources.into(),
            reachable_patterns,
            states_per_coset: states / reachable_patterns,
            odd,
        }
    }

    /// Bytes of the tables of a graph with so many patterns and representatives.
    pub fn table_bytes(space: &Space, patterns: u64, representatives: u64) -> u64 {
        let a_coset = 4 * space.moves().len() as u64 + space.cells() as u64 + 4;
        4 * patterns + a_coset * representatives
    }

    /// What [`CosetGraph::build`] takes long to find: the pattern table, the ranks of the representatives' patterns, and
    /// the sizes of their orbits.
    pub fn tables(&self) -> (&[u32], impl ExactSizeIterator<Item = u64>, &[u32]) {
        let patterns = self.patterns.chunks_exact(self.space.cells());
        let ranks = patterns.map(|pattern| self.colouring.patterns().rank(pattern));
        (&self.table, ranks, &self.orbit_sizes)
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

    /// How many states of a coset moves reach: the same for all cosets, because the reachable states of each are a
    /// coset of one subgroup.
    pub fn states_per_coset(&self) -> u64 {
        self.states_per_coset
    }

    /// Whether the indices of the states of a representative coset have an odd sum of parities; false unless the last axis
    /// is halved.
    pub fn is_odd(&self, coset: CosetId) -> bool {
        self.odd.get(coset.0 as usize).is_some_and(|&odd| odd)
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

    /// The coset from which a move leads into `coset`: as representative `R`, with the number of the symmetry that
    /// maps R's pattern to the pattern that the move starts from.
    pub fn source(&self, coset: CosetId, mv: usize) -> (CosetId, usize) {
        let (representative, to) = self.split(self.sources[coset.0 as usize * self.space.moves().len() + mv]);
        (representative, self.symmetries[to].inverse)
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

    /// The address of a state that is given as a word of labels: the representative of its coset, and the position
    /// there of its image under the symmetry that leads to the representative. `None` if the state is known not to be reachable.
    pub fn locate(&self, word: &[u8]) -> Option<(CosetId, u32)> {
        let pattern: Vec<u8> = word.iter().map(|&letter| self.colouring.of_letter(letter)).collect();
        let entry = self.table[self.colouring.patterns().rank(&pattern) as usize];
        if entry == UNREACHED || !self.colouring.patterns().has(&pattern) {
            return None;
        }
        let (coset, to) = self.split(entry);
        let image = self.space.image(&self.symmetries[to].symmetry, word);
        let labels: Vec<u8> = image.iter().map(|&letter| self.space.letters().mark(letter)).collect();
        let indices: Vec<u32> = (0..self.colouring.axes().len() as u8)
            .map(|colour| {
                let arrangement = labels.iter().filter(|&&label| self.colouring.of_label(label) == colour);
                let local = arrangement.map(|&label| self.colouring.local(label));
                self.colouring.axes()[usize::from(colour)].rank(local) as u32
            })
            .collect();
        self.shape.holds(&indices, self.is_odd(coset)).then(|| (coset, self.shape.position(&indices)))
    }

    /// The state at a position of a representative coset, as a word of labels: the inverse of
    /// [`CosetGraph::locate`] up to symmetry.
    pub fn word_at(&self, coset: CosetId, position: u32) -> Vec<u8> {
        let axes = self.colouring.axes();
        let mut indices = vec![0; axes.len()];
        self.shape.indices(position, self.is_odd(coset), &mut indices);
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

    fn split(&self, entry: u32) -> (CosetId, usize) {
        let group = self.symmetries.len() as u32;
        (CosetId(entry / group), (entry % group) as usize)
    }
}

/// The symmetries that respect the colouring, and by pairs (a, b) the number of "b⁻¹ first, a next".
fn symmetries_in_use(space: &Space, colouring: &Colouring) -> (Box<[CosetSymmetry]>, Vec<Vec<u32>>) {
    let respecting: Vec<(&Symmetry, ColourAction)> = space
        .symmetries()
        .iter()
        .filter_map(|symmetry| Some((symmetry, colouring.action(symmetry)?)))
        .collect();
    let numbers: FxHashMap<&Symmetry, u32> =
        respecting.iter().zip(0..).map(|(&(symmetry, _), number)| (symmetry, number)).collect();
    let inverses: Vec<Symmetry> = respecting.iter().map(|(b, _)| space.inverse(b)).collect();
    let compose: Vec<Vec<u32>> = respecting
        .par_iter()
        .map(|(a, _)| inverses.iter().map(|inverse| numbers[&space.compose(inverse, a)]).collect())
        .collect();
    let symmetries = respecting
        .iter()
        .enumerate()
        .map(|(number, (symmetry, action))| CosetSymmetry {
            symmetry: (*symmetry).clone(),
            action: action.clone(),
            inverse: compose[0][number] as usize,
        })
        .collect();
    (symmetries, compose)
}

/// An orbit of patterns, when it is found.
struct Orbit {
    /// The smallest rank of its patterns.
    representative: u64,
    size: u32,
    /// In the order in which orbits are found.
    number: u32,
}

/// Follows the moves from orbit to orbit, all orbits of a generation at once. The representative of an orbit is its
/// pattern of smallest rank. It is enough to follow the moves from the representatives, because symmetries map moves to
/// moves.
fn close(
    space: &Space,
    colouring: &Colouring,
    symmetries: &[CosetSymmetry],
    compose: &[Vec<u32>],
) -> Option<CosetTables> {
    let finder = OrbitFinder {
        colouring,
        symmetries,
        compose,
        table: (0..colouring.patterns().total()).into_par_iter().map(|_| AtomicU32::new(UNREACHED)).collect(),
        found: AtomicU32::new(0),
        too_many: AtomicBool::new(false),
    };
    let cells = space.cells();
    let mut orbits: Vec<Orbit> =
        finder.discover(colouring.solved(), &mut Scratch::new(symmetries, cells)).into_iter().collect();
    let mut done = 0;
    while done < orbits.len() {
        let from_one = |scratch: &mut (Scratch, Vec<u8>, Vec<u8>), orbit: &Orbit| -> Vec<Orbit> {
            let (scratch, pattern, moved) = scratch;
            colouring.patterns().unrank(orbit.representative, colouring.letters(), pattern);
            let follow = |mv: usize| {
                space.step(mv, colouring.letters(), pattern, moved);
                finder.discover(moved, scratch)
            };
            (0..space.moves().len()).filter_map(follow).collect()
        };
        let scratch = || (Scratch::new(symmetries, cells), vec![0; cells], vec![0; cells]);
        let generation: Vec<Orbit> =
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
        // In place: the table is most of what a search keeps in memory.
        table: finder.table.into_iter().map(renumber).collect(),
        representatives: orbits.iter().map(|orbit| orbit.representative).collect(),
        orbit_sizes: orbits.iter().map(|orbit| orbit.size).collect(),
    })
}

/// Finds orbits from several threads at once.
struct OrbitFinder<'a> {
    colouring: &'a Colouring,
    symmetries: &'a [CosetSymmetry],
    compose: &'a [Vec<u32>],
    table: Vec<AtomicU32>,
    found: AtomicU32,
    too_many: AtomicBool,
}

/// What a thread needs to look at an orbit.
struct Scratch {
    /// The ranks of the images of a pattern.
    images: Vec<u64>,
    image: Vec<u8>,
}

impl Scratch {
    fn new(symmetries: &[CosetSymmetry], cells: usize) -> Self {
        Self { images: vec![0; symmetries.len()], image: vec![0; cells] }
    }
}

impl OrbitFinder<'_> {
    /// Enters the orbit of a pattern into the table, if nobody else has done so or is about to.
    fn discover(&self, pattern: &[u8], scratch: &mut Scratch) -> Option<Orbit> {
        let ranks = self.colouring.patterns();
        let entry = |rank: u64| &self.table[rank as usize];
        if entry(ranks.rank(pattern)).load(Ordering::Relaxed) != UNREACHED {
            return None;
        }
        let Scratch { images, image } = scratch;
        for (CosetSymmetry { symmetry, action, .. }, rank) in self.symmetries.iter().zip(&mut *images) {
            symmetry.carry(self.colouring.letters(), &action.letters, pattern, image);
            *rank = ranks.rank(image);
        }
        let (smallest, &representative) =
            images.iter().enumerate().min_by_key(|&(_, rank)| rank).expect("the identity is a symmetry");
        // Whoever enters the representative first enters the others.
        let claim = entry(representative);
        claim.compare_exchange(UNREACHED, CLAIMED, Ordering::Relaxed, Ordering::Relaxed).ok()?;
        let group = self.symmetries.len() as u32;
        let number = self.found.fetch_add(1, Ordering::Relaxed);
        let base = number.checked_mul(group);
        let Some(base) = base.filter(|base| base.checked_add(group).is_some_and(|end| end < CLAIMED)) else {
            self.too_many.store(true, Ordering::Relaxed);
            return None;
        };
        // Where a pattern is fixed by symmetries, several lead from it to the representative, and any will do.
        claim.store(base + self.compose[smallest][smallest], Ordering::Relaxed);
        let mut size = 1;
        for (from, &rank) in images.iter().enumerate() {
            let entry = entry(rank);
            if entry.load(Ordering::Relaxed) == UNREACHED {
                entry.store(base + self.compose[smallest][from], Ordering::Relaxed);
                size += 1;
            }
        }
        Some(Orbit { representative, size, number })
    }
}
