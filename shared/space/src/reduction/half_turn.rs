//! The half-turn extension: one more cell records how the puzzle is held, and a turn of the whole becomes a
//! free move. There are twice as many states of cells, two for each state, and automorphisms may exchange the
//! two halves of the puzzle. `Definition::puzzle` finds the turn ([`Puzzle::held`]); Square-1 has one.
//!
//! Refused: puzzles with free moves, and those whose states are not limited by `always`, for which no file
//! of the corpus needs it.

use super::{Placed, Record, StateMap};
use fathom_algebra::{OrientedPermutation, Permutation};
use fathom_puzzle::{Puzzle, held_by};

/// The number of orientations of the cell that records how the puzzle is held.
const WAYS: u8 = 2;

/// The turn of the whole that is a free move of the extended puzzle.
#[derive(Clone, Debug)]
pub(super) struct HalfTurn {
    turn: OrientedPermutation,
}

impl HalfTurn {
    /// Returns the turn of a puzzle that was extended by it.
    pub(super) fn found(held: &Puzzle) -> Self {
        Self { turn: held.free[1].clone() }
    }

    /// Extends a puzzle by a turn of the whole, which is given on all cells of the extended puzzle. `None` if
    /// it is not such a turn.
    pub(super) fn with(puzzle: &Puzzle, cells: &[u16], turns: &[u16]) -> Option<(Self, Puzzle)> {
        let orientation_counts = [puzzle.free[0].orientation_counts(), &[WAYS.into()]].concat();
        let is_extended = cells.len() == orientation_counts.len() && turns.len() == orientation_counts.len();
        let is_last_kept = cells.last().copied() == Some(puzzle.cells as u16) && turns.last() == Some(&1);
        if !is_extended || !is_last_kept || puzzle.free.len() != 1 {
            return None;
        }
        let cells = Permutation::from_images(cells.to_vec()).ok()?;
        let turn = OrientedPermutation::new(cells, turns.to_vec(), orientation_counts).ok()?;
        let held = held_by(puzzle, &turn);
        turn.then(&turn).is_identity().then_some((Self { turn }, held))
    }

    pub(super) fn record(&self) -> Record {
        Record::HalfTurn { cells: self.turn.cells().images().to_vec(), turns: self.turn.turns().to_vec() }
    }
}

impl StateMap for HalfTurn {
    fn lower(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        // The piece of the new cell has a label of its own, the next one.
        let label = state.iter().map(|&(label, _)| label + 1).max().unwrap_or(0);
        Some([state, &[(label, 0)]].concat())
    }

    fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        let (&(_, hold), pieces) = state.split_last()?;
        if hold == 0 {
            return Some(pieces.to_vec());
        }
        let mut turned = pieces.to_vec();
        for (cell, &(label, orientation)) in pieces.iter().enumerate() {
            let (to, turn) = self.turn.apply(cell, orientation.into());
            turned[to] = (label, turn as u8);
        }
        Some(turned)
    }
}
