//! The given puzzle and its states, as the contents of each of its cells. If [reductions](crate::reduction)
//! apply, the space has the cells of another puzzle.

use super::{Space, SpaceError};
use crate::Labels;
use crate::reduction::{Placed, Problem};
use fathom_algebra::{OrientedPermutation, Permutation, StabiliserChain};
use fathom_puzzle::{Guard, Puzzle};

/// Properties of the given puzzle.
#[derive(Clone, Debug)]
pub(super) struct OriginalPuzzle {
    /// The labels of the pieces, as they are given.
    labels: Labels,
    /// The labels of the pieces. Those that can be distinguished by their cells have different labels.
    piece_labels: Labels,
    /// For each piece, the number of its orientations that are distinguished.
    seen: Box<[u16]>,
    /// By cell: the number of its orbit under the moves and free moves.
    orbit_of: Box<[usize]>,
    /// The moves, then the free moves.
    actions: Vec<OrientedPermutation>,
    free_order: u32,
}

impl OriginalPuzzle {
    /// Takes a puzzle with labels, which `extend` may replace by one with more cells. Returns the problem on
    /// which the other reductions work.
    pub(super) fn new<E: From<SpaceError>>(
        puzzle: Puzzle,
        labels: Labels,
        extend: impl FnOnce(&mut Problem) -> Result<(), E>,
    ) -> Result<(Self, Problem), E> {
        assert_eq!(puzzle.cells, labels.pieces(), "one label a piece");
        let pieces = puzzle.cells;
        let seen = puzzle.seen.clone();
        let actions = puzzle.moves.iter().map(|m| &m.action).chain(&puzzle.free).cloned().collect();
        let counted = puzzle.counted.as_ref().filter(|counted| {
            Labels::from_values(counted.labels.iter().map(|&label| label.into())) == labels
        });
        let states = counted.map(|counted| counted.states.clone());
        let mut problem = Problem {
            states,
            puzzle,
            labels: labels.clone(),
            group_order: None,
            has_distinct_pieces: false,
            keeps_guards: false,
            has_base: false,
        };
        extend(&mut problem)?;
        let puzzle = &mut problem.puzzle;
        puzzle.rule_out_alike(labels.of_pieces());
        if puzzle.moves.iter().any(|m| !m.guard.is_empty()) && !puzzle.is_closed_under_inverses() {
            return Err(SpaceError::GuardedOneWay(puzzle.name.clone()).into());
        }
        let alike = |guard: &Guard| {
            let label = |piece: u16| labels.of_pieces()[usize::from(piece)];
            !guard.holds && label(guard.cell) == label(guard.piece)
        };
        if puzzle.limits.iter().any(alike) {
            return Err(SpaceError::SolvedRuledOut(puzzle.name.clone()).into());
        }
        let orbit_of = orbit_of_cells(puzzle);
        let all_labels = labels_by_cells(puzzle, &labels);
        let piece_labels = Labels::from_values(all_labels.of_pieces()[..pieces].iter().map(|&l| l.into()));
        problem.has_distinct_pieces = piece_labels.are_distinct();
        problem.labels = all_labels;
        let given = Self {
            piece_labels,
            labels,
            seen: seen.into(),
            orbit_of: orbit_of[..pieces].into(),
            actions,
            free_order: problem.puzzle.free.len() as u32,
        };
        Ok((given, problem))
    }
}

/// Returns the number of the orbit of each cell.
fn orbit_of_cells(puzzle: &Puzzle) -> Vec<usize> {
    let mut orbit_of = vec![0; puzzle.cells];
    for (number, orbit) in puzzle.orbits().into_iter().enumerate() {
        orbit.into_iter().for_each(|cell| orbit_of[cell] = number);
    }
    orbit_of
}

/// Returns labels that differ for pieces that their cells distinguish, because they never occupy the same cells.
/// Cells beyond the `labels` have pieces of their own.
pub fn labels_by_cells(puzzle: &Puzzle, labels: &Labels) -> Labels {
    let orbit_of = orbit_of_cells(puzzle);
    let key = |piece: usize| (labels.of_pieces().get(piece), orbit_of[piece], puzzle.seen[piece]);
    Labels::from_keys((0..puzzle.cells).map(key))
}

impl Space {
    /// Returns the labels of the puzzle's pieces, as they are given.
    pub fn given_labels(&self) -> &Labels {
        &self.given.labels
    }

    /// Returns the labels of the puzzle's pieces, different ones for those that their cells distinguish.
    pub fn piece_labels(&self) -> &Labels {
        &self.given.piece_labels
    }

    /// Returns the order of the group of all free moves of the puzzle. If all pieces are distinguished, those
    /// that the moves do not generate are omitted.
    pub fn all_free_order(&self) -> u32 {
        self.given.free_order
    }

    /// Returns whether pieces have orientations that are distinguished. Facelets have none.
    pub fn has_turns(&self) -> bool {
        self.given.seen.iter().any(|&seen| seen > 1)
    }

    /// Returns the number of orientations of the piece on each cell of the puzzle, also of those that are not distinguished.
    pub fn orientation_counts(&self) -> &[u16] {
        self.given.actions[0].orientation_counts()
    }

    /// Returns whether words distinguish only some of the pieces, because there are too many pieces for
    /// symbols. The states are those of all pieces nevertheless.
    pub fn tells_only_some(&self) -> bool {
        self.chain.base().is_some()
    }

    /// Returns the number of pieces that words distinguish, and the number of all pieces, if words
    /// [distinguish only some](Space::tells_only_some).
    pub fn told_apart(&self) -> Option<(usize, usize)> {
        self.chain.base().map(|base| base.count())
    }

    /// Returns a function that determines whether moves lead from the solved state to the state with these
    /// pieces on the cells of the puzzle. The function ignores guards. `None` unless all pieces are
    /// distinguished and do not turn.
    pub fn membership(&self) -> Option<impl Fn(&[u16]) -> bool> {
        /// Groups of more elements are too large to be searched.
        const MANY_ELEMENTS: u128 = 1 << 64;
        if self.has_turns() || !self.given.piece_labels.are_distinct() {
            return None;
        }
        let generators: Vec<Permutation> =
            self.given.actions.iter().map(|action| action.cells().clone()).collect();
        let degree = self.given.seen.len();
        let chain = StabiliserChain::up_to(MANY_ELEMENTS, degree, &generators);
        let chain = chain.unwrap_or_else(|| StabiliserChain::new(degree, &generators));
        Some(move |pieces: &[u16]| {
            Permutation::from_images(pieces).is_ok_and(|element| chain.contains(&element))
        })
    }

    /// Returns the word of the state to which a permutation of the puzzle's cells leads from the solved
    /// state.
    ///
    /// # Panics
    /// If the permutation tears pieces apart that moves keep together.
    pub fn word(&self, state: &OrientedPermutation) -> Vec<u8> {
        let mut pieces = vec![(0, 0); self.given.seen.len()];
        for (piece, &label) in self.piece_labels().of_pieces().iter().enumerate() {
            let turn = state.turns()[piece] % self.given.seen[piece];
            pieces[state.cells().apply(piece)] = (label, turn as u8);
        }
        self.word_of_pieces(&pieces).expect("the permutation keeps pieces together")
    }

    /// Returns the contents of each cell of the puzzle: the [label of the piece](Space::piece_labels), and
    /// its orientation.
    ///
    /// If words distinguish only some of the pieces, and no moves lead to the word, the result has the first
    /// piece on every cell, and is not a state.
    pub fn pieces(&self, word: &[u8]) -> Vec<Placed> {
        let on = |&letter: &u8| (self.symbols.mark(letter).into(), self.symbols.orientation(letter));
        let state: Vec<Placed> = word.iter().map(on).collect();
        self.chain.lift(&state).unwrap_or_else(|| vec![(0, 0); self.given.seen.len()])
    }

    /// Returns the word of the state with these labels and orientations on the cells of the puzzle: the
    /// inverse of [`Space::pieces`]. With free moves it is one of the words of the state. `None` if no state of the
    /// space has these pieces together on a cell. If words [distinguish only some pieces](Space::tells_only_some), the
    /// others are not looked at.
    pub fn word_of_pieces(&self, pieces: &[Placed]) -> Option<Vec<u8>> {
        let letter = |(label, orientation): Placed| {
            let label = label as u8;
            self.symbols.letter(label, orientation % self.symbols.seen(label))
        };
        Some(self.chain.lower(pieces)?.into_iter().map(letter).collect())
    }

    /// Returns the number of orientations of a piece of the puzzle that are distinguished.
    pub fn shown(&self, piece: usize) -> u16 {
        self.given.seen[piece]
    }

    /// Returns whether moves bring a piece of the puzzle, or one with its label, to a cell of the puzzle.
    pub fn comes_to(&self, piece: usize, cell: usize) -> bool {
        self.given.orbit_of[piece] == self.given.orbit_of[cell]
    }

    /// Returns whether moves can bring a piece of the puzzle to a cell of the puzzle in an orientation.
    /// Returns true if words distinguish all pieces. The answer is the same for cells of one
    /// [`Space::point_orbit`].
    pub fn may_stand(&self, piece: usize, turn: u16, cell: usize) -> bool {
        self.chain.base().is_none_or(|base| base.may_stand(piece, turn, cell))
    }

    /// Returns the number of the orbit of a cell's first point, if words distinguish only some of the pieces.
    pub fn point_orbit(&self, cell: usize) -> Option<usize> {
        self.chain.base().map(|base| base.point_orbit(cell))
    }
}
