//! Shapes: the part of a state that guards depend on. A *shape* has the positions of the pieces that share
//! their label with others, and of the pieces whose label a guard or a limit refers to; it does not track any
//! other piece. The shape alone determines whether a move is possible, and to which shape the move leads.

use super::{Definition, Generator, Piece};
use fathom_algebra::OrientedPermutation;
use std::collections::{HashMap, HashSet};

/// Marks a cell with a piece that shapes do not track.
const UNTRACKED: u16 = u16::MAX;

/// The shapes that moves and free moves reach from the solved shape, which has number 0, and the moves
/// between them.
#[derive(Clone, Debug)]
pub struct Shapes {
    /// All looks (label and orientation) of the tracked pieces: the looks of one label are consecutive,
    /// ordered by orientation.
    looks: Vec<Piece>,
    /// For each shape and cell, the index in `looks` of the piece there, or [`UNTRACKED`].
    shapes: Vec<Box<[u16]>>,
    /// For each shape and generator, the shape that the generator leads to; `None` if it is not possible
    /// there.
    next: Vec<Option<u32>>,
    /// The number of generators: the moves, then the free moves.
    generators: usize,
}

impl Definition {
    /// Returns the moves, then the free moves. Inverses are not needed to reach all shapes, because a
    /// possible move can be repeated until it undoes itself. If states are limited, a repetition may be
    /// excluded; then the listed moves are all the moves, and they must be closed under inverses for the
    /// puzzle to be searched.
    pub(super) fn steps(&self) -> impl Iterator<Item = &Generator> {
        self.moves.iter().chain(&self.free)
    }

    /// Returns the reachable shapes; `None` if there are more than `most`.
    pub fn shapes(&self, most: usize) -> Option<Shapes> {
        let mut shapes = Shapes::solved(self);
        let mut numbers: HashMap<Box<[u16]>, u32> = HashMap::from([(shapes.shapes[0].clone(), 0)]);
        let mut at = 0;
        while at < shapes.count() {
            for generator in self.steps() {
                if !shapes.holds(at, &generator.guard) {
                    shapes.next.push(None);
                    continue;
                }
                let image = shapes.image(at, &generator.action);
                if !shapes.satisfy_limits(&image, self) {
                    shapes.next.push(None);
                    continue;
                }
                let number = *numbers.entry(image).or_insert_with_key(|image| {
                    shapes.shapes.push(image.clone());
                    shapes.shapes.len() as u32 - 1
                });
                if shapes.count() > most {
                    return None;
                }
                shapes.next.push(Some(number));
            }
            at += 1;
        }
        Some(shapes)
    }
}

impl Shapes {
    /// Creates the set with only the solved shape.
    fn solved(puzzle: &Definition) -> Self {
        let mut once = HashSet::new();
        let labels = || puzzle.solved.iter().map(|piece| piece.label);
        let mut told: HashSet<u16> = labels().filter(|&label| !once.insert(label)).collect();
        let guards = puzzle.moves.iter().flat_map(|generator| &generator.guard).chain(&puzzle.always);
        let asked = guards.chain(puzzle.never.iter().map(|(_, piece)| piece));
        told.extend(asked.map(|&piece| puzzle.solved[usize::from(piece)].label));
        let mut looks: Vec<Piece> = Vec::new();
        let mut first: HashMap<u16, u16> = HashMap::new();
        let mut look = |piece: Piece| {
            let first = *first.entry(piece.label).or_insert_with(|| {
                looks.extend((0..piece.seen).map(|orientation| Piece { orientation, ..piece }));
                (looks.len() - usize::from(piece.seen)) as u16
            });
            first + piece.orientation
        };
        let solved = puzzle.solved.iter();
        let solved = solved.map(|&piece| if told.contains(&piece.label) { look(piece) } else { UNTRACKED });
        let shapes = vec![solved.collect()];
        Self { looks, shapes, next: Vec::new(), generators: puzzle.steps().count() }
    }

    /// Returns the number of shapes.
    pub fn count(&self) -> usize {
        self.shapes.len()
    }

    /// Returns the shapes to which the moves, then the free moves, lead from a shape; `None` for a move that
    /// is not possible.
    pub fn next(&self, shape: usize) -> impl Iterator<Item = Option<usize>> {
        let row = &self.next[shape * self.generators..][..self.generators];
        row.iter().map(|next| next.map(|next| next as usize))
    }

    /// Returns whether each of these cells holds a piece with the label that belongs there when solved, as a
    /// guard requires.
    ///
    /// # Panics
    /// If shapes do not track one of these labels.
    pub fn holds(&self, shape: usize, guard: &[u16]) -> bool {
        self.labels_match(&self.shapes[shape], guard)
    }

    /// As [`Shapes::holds`], for a shape given by the looks on all cells.
    fn labels_match(&self, looks: &[u16], guard: &[u16]) -> bool {
        guard.iter().all(|&cell| {
            let solved = self.piece(0, cell.into()).expect("shapes track the labels that guards refer to");
            let piece = self.looks.get(usize::from(looks[usize::from(cell)]));
            piece.is_some_and(|piece| piece.label == solved.label)
        })
    }

    /// Returns whether the looks on all cells satisfy the limits of the states.
    fn satisfy_limits(&self, looks: &[u16], puzzle: &Definition) -> bool {
        let is_there = |&(cell, piece): &(u16, u16)| {
            let found = self.looks.get(usize::from(looks[usize::from(cell)]));
            found.is_some_and(|found| found.label == puzzle.solved[usize::from(piece)].label)
        };
        self.labels_match(looks, &puzzle.always) && !puzzle.never.iter().any(is_there)
    }

    /// Returns the look of the piece on a cell, or `None` if the piece is not tracked.
    pub(crate) fn piece(&self, shape: usize, cell: usize) -> Option<Piece> {
        self.looks.get(usize::from(self.shapes[shape][cell])).copied()
    }

    /// Returns the shape after an action. Does not check whether the action is possible.
    fn image(&self, shape: usize, action: &OrientedPermutation) -> Box<[u16]> {
        let mut image: Box<[u16]> = vec![UNTRACKED; action.degree()].into();
        for (cell, &look) in self.shapes[shape].iter().enumerate() {
            image[action.cells().apply(cell)] = match self.piece(shape, cell) {
                None => UNTRACKED,
                Some(Piece { orientation, seen, .. }) => {
                    look - orientation + (orientation + action.turns()[cell]) % seen
                }
            };
        }
        image
    }

    /// Returns whether an action fixes a shape.
    pub(super) fn is_fixed(&self, shape: usize, action: &OrientedPermutation) -> bool {
        self.image(shape, action) == self.shapes[shape]
    }
}
