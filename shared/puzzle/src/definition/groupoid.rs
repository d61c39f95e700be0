//! Counts the states of a puzzle whose moves have guards.
//!
//! The sequences of moves of such a puzzle are not a group but a groupoid: two sequences can be composed only
//! if the second begins in the [shape](super::Shapes) in which the first ends. The sequences that lead
//! from the solved shape back to the solved shape form a group of permutations of the pieces that shapes
//! do not track. Every shape has as many states as that group has elements: an element of the group, followed
//! by one fixed path from the solved shape to the shape, gives each of its states once. By Schreier's lemma
//! the group has one generator for each shape and each move that is possible there: follow the fixed path to
//! the shape, make the move, and return by the inverse of the fixed path to the shape that the move leads to.

use super::{Definition, Piece, Shapes};
use fathom_algebra::orbits::orbits;
use fathom_algebra::{OrientedPermutation, Permutation, StabiliserChain};
use num_bigint::BigUint;
use std::collections::BTreeSet;

/// The shapes of a puzzle, and the group of the sequences of moves that return to the solved shape.
#[derive(Clone, Debug)]
pub struct Groupoid {
    shapes: Shapes,
    group: StabiliserChain,
    /// The numbers of [`Groupoid::kinds`], one for each piece.
    kinds: Vec<u16>,
    /// The order of the group of free moves, if no free move but the identity fixes a state.
    free: Option<usize>,
}

impl Definition {
    /// Returns the shapes and the group of the states that can be reached. `None` if there are more than
    /// `most` shapes, or if untracked pieces of one orbit differ in `seen`.
    pub fn groupoid(&self, most: usize) -> Option<Groupoid> {
        let shapes = self.shapes(most)?;
        let pieces = Pieces::new(self, &shapes)?;
        let ways = ways(self, &shapes);
        let backwards: Vec<OrientedPermutation> = ways.iter().map(OrientedPermutation::inverse).collect();
        let mut generators: BTreeSet<Permutation> = BTreeSet::new();
        for (at, way) in ways.iter().enumerate() {
            for (generator, next) in self.steps().zip(shapes.next(at)) {
                if let Some(next) = next {
                    generators.insert(pieces.permuted(&way.then(&generator.action).then(&backwards[next])));
                }
            }
        }
        let generators: Vec<Permutation> = generators.into_iter().collect();
        let group = StabiliserChain::new(pieces.points, &generators);
        let kinds = pieces.kinds(&orbits(pieces.points, &generators));
        let free = self.free_group().ok().filter(|free| {
            let fixes = |action: &OrientedPermutation, shape: usize| {
                pieces.stay(&shapes, shape, action) && shapes.is_fixed(shape, action)
            };
            free.elements()
                .iter()
                .all(|action| action.is_identity() || !(0..shapes.count()).any(|shape| fixes(action, shape)))
        });
        Some(Groupoid { shapes, group, kinds, free: free.map(|free| free.elements().len()) })
    }
}

impl Groupoid {
    /// Returns the shapes.
    pub fn shapes(&self) -> &Shapes {
        &self.shapes
    }

    /// Returns a number for each piece: 0 for the pieces that shapes track. Of the other pieces, two with
    /// different numbers are never on the same cell in two states of the same shape.
    pub fn kinds(&self) -> &[u16] {
        &self.kinds
    }

    /// Returns the number of states in each shape, which is the same for all shapes.
    pub fn states_in_a_shape(&self) -> BigUint {
        self.group.big_order()
    }

    /// Returns the number of reachable states; states that differ by free moves count as one.
    /// `None` if a free move other than the identity fixes a state, because then not all states are counted
    /// equally often.
    pub fn states(&self) -> Option<BigUint> {
        Some(self.states_in_a_shape() * self.shapes.count() / self.free?)
    }

    /// Returns the number of reachable states that satisfy a guard. States that differ by free moves count
    /// separately.
    ///
    /// # Panics
    /// As [`Shapes::holds`].
    pub fn states_where(&self, guard: &[u16]) -> BigUint {
        let shapes = (0..self.shapes.count()).filter(|&shape| self.shapes.holds(shape, guard));
        self.states_in_a_shape() * shapes.count()
    }
}

/// Returns for each shape a sequence of moves that leads there from the solved shape: the sequence for the
/// first shape from which a move leads there, and that move.
fn ways(puzzle: &Definition, shapes: &Shapes) -> Vec<OrientedPermutation> {
    let mut ways = vec![OrientedPermutation::identity(puzzle.orientation_counts())];
    for at in 0..shapes.count() {
        for (generator, next) in puzzle.steps().zip(shapes.next(at)) {
            // Shapes are numbered in the order in which they are found, which is the order of this loop.
            if next == Some(ways.len()) {
                ways.push(ways[at].then(&generator.action));
            }
        }
    }
    ways
}

/// The pieces that shapes do not track, as points: one point for each distinguished orientation of a piece.
struct Pieces {
    /// For each cell the `seen` of the untracked pieces of its orbit; 1 if there are none.
    seen: Vec<u16>,
    /// For each cell with such a piece when the puzzle is solved, the first point of the piece.
    first: Vec<Option<usize>>,
    points: usize,
}

impl Pieces {
    /// Numbers the points. `None` if untracked pieces of one orbit differ in `seen`.
    fn new(puzzle: &Definition, shapes: &Shapes) -> Option<Self> {
        let mut seen_in = vec![None; puzzle.orbits.len()];
        let mut first = vec![None; puzzle.cells()];
        let mut points = 0;
        for (cell, &Piece { seen, .. }) in puzzle.solved.iter().enumerate() {
            if shapes.piece(0, cell).is_some() {
                continue;
            }
            if *seen_in[puzzle.orbit_of(cell)].get_or_insert(seen) != seen {
                return None;
            }
            first[cell] = Some(points);
            points += usize::from(seen);
        }
        let seen = puzzle.orbit_of.iter().map(|&orbit| seen_in[orbit].unwrap_or(1)).collect();
        Some(Self { seen, first, points })
    }

    /// Returns for each cell a number for the piece that belongs there: 0 if shapes track the piece,
    /// otherwise 1 plus the first point of the first piece that the piece exchanges places with. Those are
    /// the pieces that have a point in the orbit, among `orbits`, of the piece's first point: pieces are
    /// blocks of points.
    fn kinds(&self, orbits: &[Vec<usize>]) -> Vec<u16> {
        let mut firsts: Vec<usize> = self.first.iter().copied().flatten().collect();
        firsts.sort_unstable();
        let first_of_piece = |point: usize| firsts[firsts.partition_point(|&first| first <= point) - 1];
        let kind = |point: usize| {
            let orbit = orbits.iter().find(|orbit| orbit.contains(&point));
            let pieces = orbit.into_iter().flatten().map(|&point| first_of_piece(point));
            pieces.min().unwrap_or(point) as u16 + 1
        };
        self.first.iter().map(|first| first.map_or(0, kind)).collect()
    }

    /// Returns the permutation of the points by a sequence of moves, which must return to the solved shape.
    fn permuted(&self, sequence: &OrientedPermutation) -> Permutation {
        let mut images = vec![0; self.points];
        for (cell, first) in self.first.iter().enumerate() {
            let Some(first) = first else { continue };
            for side in 0..self.seen[cell] {
                let (to, orientation) = sequence.apply(cell, side);
                let to = self.first[to].expect("in the solved shape they are on these cells");
                images[first + usize::from(side)] = (to + usize::from(orientation % self.seen[cell])) as u16;
            }
        }
        Permutation::from_images(images).expect("a sequence of moves permutes pieces")
    }

    /// Returns whether an action keeps each of these pieces on its cell of a shape, with the orientation
    /// that it shows.
    fn stay(&self, shapes: &Shapes, shape: usize, action: &OrientedPermutation) -> bool {
        let mut theirs = (0..action.degree()).filter(|&cell| shapes.piece(shape, cell).is_none());
        theirs.all(|cell| {
            action.cells().apply(cell) == cell && action.turns()[cell].is_multiple_of(self.seen[cell])
        })
    }
}
