//! Representative cosets, and the table that leads from any pattern to its representative.

use crate::{Colouring, Shape, Space, Symmetry};
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
    pub colours: Box<[u8]>,
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
}

const UNREACHED: u32 = u32::MAX;

impl CosetGraph {
    /// Lists the cosets by closure from the solved pattern under moves and symmetries.
    ///
    /// # Errors
    /// [`CosetError`] if there are more than the tables can address.
    pub fn build(space: &Space, colouring: &Colouring) -> Result<Self, CosetError> {
        let shape = Shape::of(colouring).ok_or(CosetError::TensorTooLarge)?;
        let (symmetries, compose) = symmetries_in_use(space, colouring);
        let too_many =
            CosetError::TooMany { patterns: colouring.patterns().total(), symmetries: symmetries.len() };
        if colouring.patterns().total() >= u64::from(UNREACHED) {
            return Err(too_many);
        }
        let Closure { mut table, representatives, orbit_sizes } =
            close(space, colouring, &symmetries, &compose).ok_or(too_many)?;

        // Number the representatives by rank.
        let mut order: Vec<u32> = (0..representatives.len() as u32).collect();
        order.sort_unstable_by_key(|&found| representatives[found as usize]);
        let mut number = vec![0_u32; order.len()];
        for (id, &found) in order.iter().enumerate() {
            number[found as usize] = id as u32;
        }
        let group = symmetries.len() as u32;
        for entry in table.iter_mut().filter(|entry| **entry != UNREACHED) {
            *entry = number[(*entry / group) as usize] * group + *entry % group;
        }

        let cells = space.cells();
        let mut patterns = vec![0_u8; order.len() * cells];
        for (&found, pattern) in order.iter().zip(patterns.chunks_exact_mut(cells)) {
            colouring.patterns().unrank(representatives[found as usize], pattern);
        }
        let mut sources = Vec::with_capacity(order.len() * space.moves().len());
        for pattern in patterns.chunks_exact(cells) {
            for cells in space.moves() {
                // The source Q of pattern P under move x has Q[c] = P[x(c)].
                let source = cells.iter().map(|&to| pattern[usize::from(to)]);
                sources.push(table[colouring.patterns().rank(source) as usize]);
            }
        }
        let reachable_patterns: u64 = orbit_sizes.iter().map(|&size| u64::from(size)).sum();
        let states = u64::try_from(space.states()).expect("tables this small have fewer than 2^64 states");
        Ok(Self {
            space: space.clone(),
            colouring: colouring.clone(),
            shape,
            symmetries,
            table,
            patterns: patterns.into(),
            orbit_sizes: order.iter().map(|&found| orbit_sizes[found as usize]).collect(),
            sources: sources.into(),
            reachable_patterns,
            states_per_coset: states / reachable_patterns,
        })
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

    /// Bytes of the tables.
    pub fn table_bytes(&self) -> u64 {
        let words = self.table.len() + self.orbit_sizes.len() + self.sources.len();
        4 * words as u64 + self.patterns.len() as u64
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

    /// How many patterns are in the orbit of this representative.
    pub fn orbit_size(&self, coset: CosetId) -> u32 {
        self.orbit_sizes[coset.0 as usize]
    }

    /// The pattern of a representative: the colour on each cell.
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
            let CosetSymmetry { symmetry, colours, .. } = &self.symmetries[s];
            symmetry
                .cells
                .iter()
                .zip(pattern)
                .all(|(&to, &colour)| pattern[usize::from(to)] == colours[usize::from(colour)])
        })
    }

    /// The address of a state that is given as a word of labels: the representative of its coset, and the position
    /// there of its image under the symmetry that leads to the representative. `None` if the pattern is not reachable.
    pub fn locate(&self, word: &[u8]) -> Option<(CosetId, u32)> {
        let pattern = word.iter().map(|&label| self.colouring.of_label(label));
        let entry = self.table[self.colouring.patterns().rank(pattern) as usize];
        if entry == UNREACHED {
            return None;
        }
        let (coset, to) = self.split(entry);
        let symmetry = &self.symmetries[to].symmetry;
        let mut image = vec![0; word.len()];
        symmetry.carry(&symmetry.labels, word, &mut image);
        let indices: Vec<u32> = (0..self.colouring.axes().len() as u8)
            .map(|colour| {
                let arrangement = image.iter().filter(|&&label| self.colouring.of_label(label) == colour);
                let local = arrangement.map(|&label| self.colouring.local(label));
                self.colouring.axes()[usize::from(colour)].rank(local) as u32
            })
            .collect();
        Some((coset, self.shape.position(&indices)))
    }

    /// The state at a position of a representative coset, as a word of labels: the inverse of
    /// [`CosetGraph::locate`] up to symmetry.
    pub fn word_at(&self, coset: CosetId, position: u32) -> Vec<u8> {
        let axes = self.colouring.axes();
        let mut indices = vec![0; axes.len()];
        self.shape.indices(position, &mut indices);
        let mut word = vec![0; self.space.cells()];
        for (colour, (axis, &index)) in axes.iter().zip(&indices).enumerate() {
            let mut arrangement = vec![0; axis.length()];
            axis.unrank(u64::from(index), &mut arrangement);
            let cells = (0..word.len()).filter(|&cell| usize::from(self.pattern(coset)[cell]) == colour);
            for (cell, local) in cells.zip(arrangement) {
                word[cell] = self.colouring.label(colour as u8, local);
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
    let respecting: Vec<(Symmetry, Box<[u8]>)> = space
        .symmetries()
        .iter()
        .filter_map(|symmetry| Some((symmetry.clone(), colouring.action(symmetry)?)))
        .collect();
    let numbers: FxHashMap<&[u8], u32> =
        respecting.iter().zip(0..).map(|((symmetry, _), number)| (&*symmetry.cells, number)).collect();
    let cells = space.cells();
    let mut composed = vec![0; cells];
    let compose: Vec<Vec<u32>> = respecting
        .iter()
        .map(|(a, _)| {
            respecting
                .iter()
                .map(|(b, _)| {
                    for cell in 0..cells {
                        composed[usize::from(b.cells[cell])] = a.cells[cell];
                    }
                    numbers[composed.as_slice()]
                })
                .collect()
        })
        .collect();
    let symmetries = respecting
        .iter()
        .enumerate()
        .map(|(number, (symmetry, colours))| CosetSymmetry {
            symmetry: symmetry.clone(),
            colours: colours.clone(),
            inverse: compose[0][number] as usize,
        })
        .collect();
    (symmetries, compose)
}

struct Closure {
    table: Box<[u32]>,
    /// Ranks of the representatives' patterns, in the order in which they were found.
    representatives: Vec<u64>,
    orbit_sizes: Vec<u32>,
}

/// Follows the moves from orbit to orbit. The representative of an orbit is its pattern of smallest rank. It is
/// enough to follow the moves from the representatives, because symmetries map moves to moves.
fn close(
    space: &Space,
    colouring: &Colouring,
    symmetries: &[CosetSymmetry],
    compose: &[Vec<u32>],
) -> Option<Closure> {
    let ranks = colouring.patterns();
    let group = symmetries.len() as u32;
    let mut table = vec![UNREACHED; ranks.total() as usize].into_boxed_slice();
    let mut representatives = Vec::new();
    let mut orbit_sizes = Vec::new();
    let mut images = vec![0_u64; symmetries.len()];
    let mut image = vec![0; space.cells()];

    let mut discover = |pattern: &[u8], representatives: &mut Vec<u64>, table: &mut [u32]| -> Option<()> {
        for (CosetSymmetry { symmetry, colours, .. }, rank) in symmetries.iter().zip(&mut images) {
            symmetry.carry(colours, pattern, &mut image);
            *rank = ranks.rank(image.iter().copied());
        }
        let (smallest, &rank) =
            images.iter().enumerate().min_by_key(|&(_, rank)| rank).expect("the identity is a symmetry");
        let base = u32::try_from(representatives.len()).ok()?.checked_mul(group)?;
        base.checked_add(group).filter(|&end| end < UNREACHED)?;
        representatives.push(rank);
        let mut size = 0;
        for (from, &rank) in images.iter().enumerate() {
            let entry = &mut table[rank as usize];
            if *entry == UNREACHED {
                *entry = base + compose[smallest][from];
                size += 1;
            }
        }
        orbit_sizes.push(size);
        Some(())
    };

    discover(colouring.of_pieces(), &mut representatives, &mut table)?;
    let mut pattern = vec![0; space.cells()];
    let mut moved = vec![0; space.cells()];
    let mut next = 0;
    while next < representatives.len() {
        ranks.unrank(representatives[next], &mut pattern);
        for cells in space.moves() {
            for (&to, &colour) in cells.iter().zip(&pattern) {
                moved[usize::from(to)] = colour;
            }
            if table[ranks.rank(moved.iter().copied()) as usize] == UNREACHED {
                discover(&moved, &mut representatives, &mut table)?;
            }
        }
        next += 1;
    }
    Some(Closure { table, representatives, orbit_sizes })
}
