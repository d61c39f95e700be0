//! Pieces that turn and never leave their cell, such as the tips of a pyramid: in words such a cell is a ring
//! of cells, round which a mark goes. How far a piece is turned is then the place of a mark, an arrangement
//! like that of pieces which colourings make axes of, and not a letter, of which they make patterns.

use fathom_algebra::permutation::gcd;
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use fathom_puzzle::{Guard, Puzzle, PuzzleMove};

/// The cells of words.
#[derive(Clone, Debug)]
pub(crate) struct Rings {
    /// By cell of the puzzle: the first cell of words, and how many there are.
    spread: Box<[(usize, u16)]>,
    /// The cells of words.
    cells: usize,
}

impl Rings {
    /// Words have no more cells for rings.
    const MOST_CELLS: usize = 128;

    /// Of the pieces of a puzzle that stay and come to all their orientations; none if words would become too
    /// long.
    pub(crate) fn of(puzzle: &Puzzle) -> Self {
        let turns = |cell: usize| puzzle.moves.iter().map(move |m| u64::from(m.action.turns()[cell]));
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

    /// Whether there are none: then the cells of words are those of the puzzle.
    pub(crate) fn is_empty(&self) -> bool {
        self.cells == self.spread.len()
    }

    /// By cell of the puzzle: the first cell of words, and how many there are.
    pub(crate) fn spread(&self) -> &[(usize, u16)] {
        &self.spread
    }

    /// For each cell of words the cell of the puzzle, and how far from the first one of its ring it is.
    pub(crate) fn origins(&self) -> impl Iterator<Item = (usize, u16)> + '_ {
        self.spread.iter().enumerate().flat_map(|(cell, &(_, size))| (0..size).map(move |at| (cell, at)))
    }

    /// The ring on which a cell of words is, as its first cell and its size; `None` if it is on none.
    pub(crate) fn ring(&self, cell: usize) -> Option<(usize, usize)> {
        let puzzle_cell = self.spread.partition_point(|&(first, _)| first <= cell) - 1;
        let (first, size) = self.spread[puzzle_cell];
        (size > 1).then_some((first, size.into()))
    }

    /// The same puzzle, on the cells of words.
    pub(crate) fn puzzle(&self, puzzle: &Puzzle) -> Puzzle {
        let guard = |guard: &Guard| {
            let on = |cell: u16| self.spread[usize::from(cell)].0 as u16;
            Guard { cell: on(guard.cell), piece: on(guard.piece), ..*guard }
        };
        let moves = |moves: &[PuzzleMove]| -> Vec<PuzzleMove> {
            let spread = |m: &PuzzleMove| PuzzleMove {
                name: m.name.clone(),
                action: self.action(&m.action),
                // The piece of a ring is always there, and no other ever.
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
            seen: self.origins().map(|(cell, _)| self.once(cell, puzzle.seen[cell])).collect(),
            moves: moves(&puzzle.moves),
            incoming_moves: moves(&puzzle.incoming_moves),
            free: puzzle.free.iter().map(|free| self.action(free)).collect(),
            counted: puzzle.counted.clone(),
            kinds: self.origins().map(|(cell, _)| puzzle.kinds[cell]).collect(),
            symmetries: puzzle
                .symmetries
                .iter()
                .filter(|symmetry| self.are_kept_by(symmetry))
                .map(|symmetry| self.relabelling(symmetry))
                .collect(),
        }
    }

    /// What an action does to the cells of words.
    pub(crate) fn action(&self, action: &OrientedPermutation) -> OrientedPermutation {
        let images = self.origins().map(|(cell, at)| match self.spread[cell] {
            (_, 1) => self.spread[action.cells().apply(cell)].0,
            (first, size) => first + usize::from((at + action.turns()[cell]) % size),
        });
        let cells = images.map(|image| image as u16).collect::<Vec<_>>();
        let turns =
            self.origins().map(|(cell, _)| if self.spread[cell].1 > 1 { 0 } else { action.turns()[cell] });
        let orders = self.origins().map(|(cell, _)| self.once(cell, action.orders()[cell]));
        OrientedPermutation::new(
            Permutation::from_images(cells).expect("an action permutes the cells of each ring"),
            turns.collect::<Vec<_>>(),
            orders.collect::<Vec<_>>(),
        )
        .expect("cells of rings have no turns")
    }

    /// Whether a relabelling maps rings to rings of one size. The moves alone do not tell rings from cells
    /// whose pieces hide their orientations, but states do: a relabelling that exchanges the two is no
    /// symmetry of the states.
    fn are_kept_by(&self, relabelling: &Relabelling) -> bool {
        let size = |cell: usize| self.spread[cell].1;
        (0..self.spread.len()).all(|cell| size(cell) == size(relabelling.cells().apply(cell)))
    }

    /// What a relabelling calls the cells of words. A turn of the piece of a ring is multiplied by a factor;
    /// that something is added to where the turn counts from on both sides changes nothing.
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

    /// What is told of a cell of the puzzle, where nothing turns on the cells of a ring.
    fn once(&self, cell: usize, orientations: u16) -> u16 {
        if self.spread[cell].1 > 1 { 1 } else { orientations }
    }
}
