//! Rings, for pieces that turn and never leave their cell, such as the tips of a pyramid. In words such a
//! cell is a ring of cells, around which a mark moves. The orientation of the piece is then the place of the
//! mark: an arrangement, which a colouring can make an axis of, and not a letter, which would be part of the
//! pattern.

use fathom_algebra::permutation::gcd;
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use fathom_puzzle::{Guard, Puzzle, PuzzleMove};

/// The cells of words, where some cells of the puzzle are rings.
#[derive(Clone, Debug)]
pub(crate) struct Rings {
    /// By cell of the puzzle: its first cell in words, and the number of its cells there.
    spread: Box<[(usize, u16)]>,
    /// The number of cells of words.
    cells: usize,
}

impl Rings {
    /// The largest number of cells of words. If there would be more, no rings are made.
    const MOST_CELLS: usize = 128;

    /// Makes rings of the pieces of a puzzle that stay on their cell and reach all their orientations; makes
    /// none if words would become too long. With `is_held`, the cell that tells [how the puzzle is
    /// held](Puzzle::held), which only free moves turn, becomes a ring as well.
    pub(crate) fn of(puzzle: &Puzzle, is_held: bool) -> Self {
        let free = if is_held { &puzzle.free[..] } else { &[] };
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
        if sizes.iter().map(|&size| usize::from(size)).sum::<usize>() > Self::MOST_CELLS {
            sizes.fill(1);
        }
        let cells = sizes.iter().map(|&size| usize::from(size)).sum();
        let spread = sizes.iter().scan(0, |next, &size| {
            let first = *next;
            *next += usize::from(size);
            Some((first, size))
        });
        Self { spread: spread.collect(), cells }
    }

    /// Returns whether there are no rings, so that the cells of words are those of the puzzle.
    pub(crate) fn is_empty(&self) -> bool {
        self.cells == self.spread.len()
    }

    /// Returns, by cell of the puzzle, its first cell in words and the number of its cells there.
    pub(crate) fn spread(&self) -> &[(usize, u16)] {
        &self.spread
    }

    /// Returns, for each cell of words, the cell of the puzzle and the distance from the first cell of its
    /// ring.
    pub(crate) fn origins(&self) -> impl Iterator<Item = (usize, u16)> + '_ {
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
    pub(crate) fn puzzle(&self, puzzle: &Puzzle) -> Puzzle {
        let guard = |guard: &Guard| {
            let on = |cell: u16| self.spread[usize::from(cell)].0 as u16;
            Guard { cell: on(guard.cell), piece: on(guard.piece), ..*guard }
        };
        let moves = |moves: &[PuzzleMove]| -> Vec<PuzzleMove> {
            let spread = |m: &PuzzleMove| PuzzleMove {
                name: m.name.clone(),
                action: self.action(&m.action),
                // A guard on a ring is always met: the ring's own piece is always there, and no other piece
                // ever.
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
            held: None,
            facelets: None,
        }
    }

    /// Returns the action on the cells of words.
    pub(crate) fn action(&self, action: &OrientedPermutation) -> OrientedPermutation {
        let images = self.origins().map(|(cell, at)| match self.spread[cell] {
            (_, 1) => self.spread[action.cells().apply(cell)].0,
            (first, size) => first + usize::from((at + action.turns()[cell]) % size),
        });
        let cells = images.map(|image| image as u16).collect::<Vec<_>>();
        let turns =
            self.origins().map(|(cell, _)| if self.spread[cell].1 > 1 { 0 } else { action.turns()[cell] });
        let orders = self.origins().map(|(cell, _)| self.order_on_words(cell, action.orders()[cell]));
        OrientedPermutation::new(
            Permutation::from_images(cells).expect("an action permutes the cells of each ring"),
            turns.collect::<Vec<_>>(),
            orders.collect::<Vec<_>>(),
        )
        .expect("cells of rings have no turns")
    }

    /// Returns whether a relabelling maps rings to rings of the same size. The moves alone do not tell rings
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
        let orders = of(relabelling.orders(), 1);
        Relabelling::new(cells, of(relabelling.factors(), 1), of(relabelling.turns(), 0), orders)
    }

    /// Returns `orientations`, or 1 for a cell that is a ring, because nothing turns on the cells of a ring.
    fn order_on_words(&self, cell: usize, orientations: u16) -> u16 {
        if self.spread[cell].1 > 1 { 1 } else { orientations }
    }
}
