//! Rings, for pieces that turn and never leave their cell, such as the tips of a pyramid. In words, such a
//! cell becomes a ring of cells around which a mark moves. The orientation of the piece is then the position
//! of the mark: an arrangement, which can be an axis of a colouring, instead of a symbol, which would be part
//! of the pattern.

use super::{Placed, Problem, StateMap};
use crate::Labels;
use fathom_algebra::permutation::gcd;
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use fathom_puzzle::{Guard, Puzzle, PuzzleMove, Starts};

/// The cells of words, where some cells of the puzzle are rings.
#[derive(Clone, Debug)]
pub(crate) struct OrientationPositions {
    /// By cell of the puzzle: its first cell in words, and the number of its cells there.
    spread: Box<[(usize, u16)]>,
    /// The number of cells of words.
    cells: usize,
    /// By cell of the puzzle: the label of the piece that belongs there.
    labels: Box<[u16]>,
    /// The labels of what belongs on the cells of words.
    on_words: Labels,
}

impl OrientationPositions {
    /// The largest number of cells of words. If there would be more, no rings are used.
    const MAX_CELLS: usize = 128;

    /// Turns the pieces of a puzzle that stay on their cell and reach all their orientations into rings. The
    /// cell that records [how the puzzle is held](Puzzle::held), which only free moves turn, becomes a ring
    /// as well. Returns `None` if there are no such pieces, or words would become too long.
    pub(crate) fn find(problem: &Problem) -> Option<Self> {
        let puzzle = &problem.puzzle;
        let free = if problem.keeps_guards { &puzzle.free[..] } else { &[] };
        let actions = || puzzle.moves.iter().map(|m| &m.action).chain(free);
        let turns = |cell: usize| actions().map(move |action| u64::from(action.turns()[cell]));
        let mut sizes = vec![1; puzzle.cells];
        for orbit in puzzle.orbits() {
            if let [cell] = orbit[..]
                && turns(cell).fold(puzzle.seen[cell].into(), gcd) == 1
            {
                sizes[cell] = puzzle.seen[cell];
            }
        }
        let cells = sizes.iter().map(|&size| usize::from(size)).sum::<usize>();
        (cells > puzzle.cells && cells <= Self::MAX_CELLS).then(|| Self::new(problem, &sizes))
    }

    /// Restores the rings that were found for a puzzle, from their [sizes](OrientationPositions::sizes).
    /// `None` if these are not rings of this puzzle.
    pub(crate) fn with(problem: &Problem, sizes: &[u16]) -> Option<Self> {
        let puzzle = &problem.puzzle;
        let actions = || puzzle.moves.iter().map(|m| &m.action).chain(&puzzle.free);
        let is_ring = |(cell, &size): (usize, &u16)| {
            size == 1
                || (size == puzzle.seen[cell] && actions().all(|action| action.cells().apply(cell) == cell))
        };
        let fit = sizes.len() == puzzle.cells && sizes.iter().enumerate().all(is_ring);
        fit.then(|| Self::new(problem, sizes))
    }

    fn new(problem: &Problem, sizes: &[u16]) -> Self {
        let cells = sizes.iter().map(|&size| usize::from(size)).sum();
        let spread = sizes.iter().scan(0, |next, &size| {
            let first = *next;
            *next += usize::from(size);
            Some((first, size))
        });
        let labels: Box<[u16]> = problem.labels.of_pieces().into();
        let spread: Box<[(usize, u16)]> = spread.collect();
        // The first cell of a ring has the mark.
        let on_cells = spread.iter().zip(&labels);
        let keys = on_cells.flat_map(|(&(_, size), &label)| (0..size).map(move |at| (label, at > 0)));
        let on_words = Labels::from_keys(keys);
        Self { spread, cells, labels, on_words }
    }

    /// Returns the problem on the cells of words.
    pub(crate) fn apply(&self, problem: &Problem) -> Problem {
        Problem { puzzle: self.puzzle(&problem.puzzle), labels: self.on_words.clone(), ..problem.clone() }
    }

    /// Returns for each cell of the puzzle the number of cells of its ring, or 1.
    pub(crate) fn sizes(&self) -> Vec<u16> {
        self.spread.iter().map(|&(_, size)| size).collect()
    }

    /// Returns the rings, each as its first cell and the number of its cells.
    pub(crate) fn orientation_positions(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let orientation_positions = self.spread.iter().filter(|&&(_, size)| size > 1);
        orientation_positions.map(|&(first, size)| (first, size.into()))
    }

    /// Returns, for each cell of words, the cell of the puzzle and the distance from the first cell of its
    /// ring.
    fn origins(&self) -> impl Iterator<Item = (usize, u16)> + '_ {
        self.spread.iter().enumerate().flat_map(|(cell, &(_, size))| (0..size).map(move |at| (cell, at)))
    }

    /// Returns the ring that has a cell of words, as the ring's first cell and size; `None` if the cell is on
    /// no ring.
    pub(crate) fn ring(&self, cell: usize) -> Option<(usize, usize)> {
        let puzzle_cell = self.spread.partition_point(|&(first, _)| first <= cell) - 1;
        let (first, size) = self.spread[puzzle_cell];
        (size > 1).then_some((first, size.into()))
    }

    /// Returns the same puzzle on the cells of words.
    fn puzzle(&self, puzzle: &Puzzle) -> Puzzle {
        let guard = |guard: &Guard| {
            let on = |cell: u16| self.spread[usize::from(cell)].0 as u16;
            Guard { cell: on(guard.cell), piece: on(guard.piece), ..*guard }
        };
        let moves = |moves: &[PuzzleMove]| -> Vec<PuzzleMove> {
            let spread = |m: &PuzzleMove| PuzzleMove {
                name: m.name.clone(),
                action: self.action(&m.action),
                // A guard on a ring is always met: the ring's own piece is always there, and no other piece
                // ever is.
                guard: m
                    .guard
                    .iter()
                    .filter(|g| self.spread[usize::from(g.cell)].1 == 1)
                    .map(guard)
                    .collect(),
            };
            moves.iter().map(spread).collect()
        };
        Puzzle {
            name: puzzle.name.clone(),
            cells: self.cells,
            seen: self.origins().map(|(cell, _)| self.order_on_words(cell, puzzle.seen[cell])).collect(),
            moves: moves(&puzzle.moves),
            incoming_moves: moves(&puzzle.incoming_moves),
            free: puzzle.free.iter().map(|free| self.action(free)).collect(),
            limits: Vec::new(),
            counted: puzzle.counted.clone(),
            kinds: self.origins().map(|(cell, _)| puzzle.kinds[cell]).collect(),
            symmetries: puzzle
                .symmetries
                .iter()
                .filter(|symmetry| self.are_kept_by(symmetry))
                .map(|symmetry| self.relabelling(symmetry))
                .collect(),
            has_all_symmetries: puzzle.has_all_symmetries,
            starts: Starts::default(),
            held: None,
            facelets: None,
        }
    }

    /// Returns the action on the cells of words.
    fn action(&self, action: &OrientedPermutation) -> OrientedPermutation {
        let images = self.origins().map(|(cell, at)| match self.spread[cell] {
            (_, 1) => self.spread[action.cells().apply(cell)].0,
            (first, size) => first + usize::from((at + action.turns()[cell]) % size),
        });
        let cells = images.map(|image| image as u16).collect::<Vec<_>>();
        let turns =
            self.origins().map(|(cell, _)| if self.spread[cell].1 > 1 { 0 } else { action.turns()[cell] });
        let orientation_counts =
            self.origins().map(|(cell, _)| self.order_on_words(cell, action.orientation_counts()[cell]));
        OrientedPermutation::new(
            Permutation::from_images(cells).expect("an action permutes the cells of each ring"),
            turns.collect::<Vec<_>>(),
            orientation_counts.collect::<Vec<_>>(),
        )
        .expect("cells of orientation_positions have no turns")
    }

    /// Returns whether a relabelling maps rings to rings of the same size. The moves do not distinguish rings
    /// from cells whose pieces hide their orientations, but states do, so a relabelling that exchanges the
    /// two is not a symmetry of the states.
    fn are_kept_by(&self, relabelling: &Relabelling) -> bool {
        let size = |cell: usize| self.spread[cell].1;
        (0..self.spread.len()).all(|cell| size(cell) == size(relabelling.cells().apply(cell)))
    }

    /// Returns the relabelling of the cells of words. The turn of a ring's piece is multiplied by a factor.
    /// The relabelling also shifts the orientation from which turns count; this shift occurs on both sides
    /// and has no effect.
    fn relabelling(&self, relabelling: &Relabelling) -> Relabelling {
        let images = self.origins().map(|(cell, at)| {
            let (first, size) = self.spread[relabelling.cells().apply(cell)];
            first + usize::from(if size > 1 { relabelling.factors()[cell] * at % size } else { 0 })
        });
        let cells = images.map(|image| image as u16).collect::<Vec<_>>();
        let cells = Permutation::from_images(cells).expect("factors are units");
        let of = |values: &[u16], in_ring: u16| -> Vec<u16> {
            self.origins()
                .map(|(cell, _)| if self.spread[cell].1 > 1 { in_ring } else { values[cell] })
                .collect()
        };
        let orientation_counts = of(relabelling.orientation_counts(), 1);
        Relabelling::new(cells, of(relabelling.factors(), 1), of(relabelling.turns(), 0), orientation_counts)
    }

    /// Returns `orientations`, or 1 for a cell that is a ring, because nothing turns on the cells of a ring.
    fn order_on_words(&self, cell: usize, orientations: u16) -> u16 {
        if self.spread[cell].1 > 1 { 1 } else { orientations }
    }
}

impl StateMap for OrientationPositions {
    fn lower(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        let of_pieces = self.on_words.of_pieces();
        let mut lowered = vec![(0, 0); self.cells];
        for (&(label, orientation), &(first, size)) in state.iter().zip(&self.spread) {
            if size == 1 {
                let piece = self.labels.iter().position(|&of_piece| of_piece == label);
                let piece = piece.expect("every label has a piece");
                lowered[first] = (of_pieces[self.spread[piece].0], orientation);
                continue;
            }
            let size = usize::from(size);
            for at in 0..size {
                lowered[first + (at + usize::from(orientation)) % size] = (of_pieces[first + at], 0);
            }
        }
        Some(lowered)
    }

    fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        let of_pieces = self.on_words.of_pieces();
        let mut lifted = Vec::with_capacity(self.spread.len());
        for (cell, &(first, size)) in self.spread.iter().enumerate() {
            lifted.push(if size == 1 {
                let (label, orientation) = state[first];
                let piece = self.spread.iter().position(|&(first, _)| of_pieces[first] == label)?;
                (self.labels[piece], orientation)
            } else {
                let mark = of_pieces[first];
                let turn = (0..usize::from(size)).find(|at| state[first + at].0 == mark)?;
                (self.labels[cell], turn as u8)
            });
        }
        Some(lifted)
    }
}
