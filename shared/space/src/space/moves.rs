//! Moves of words.

use super::Space;
use crate::{Cell, SymbolTable};
use fathom_puzzle::{Guard, PuzzleMove};

/// The action of a move on words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordMove {
    /// For each cell: the cell to which the move carries its contents.
    pub cells: Box<[Cell]>,
    /// The turn of the contents that leave each cell; empty if nothing turns.
    pub(super) turns: Box<[u8]>,
    /// The conditions for the move.
    pub(super) guard: Box<[WordGuard]>,
}

/// A condition for a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WordGuard {
    /// The cell.
    pub(crate) cell: Cell,
    /// The label.
    pub(crate) label: u8,
    /// Whether the cell must hold the label; otherwise it must hold a different one.
    pub(crate) holds: bool,
}

impl WordMove {
    /// Returns the action of a move on words, where the piece of each cell has a label.
    pub(super) fn new(m: &PuzzleMove, of_pieces: &[u8], symbols: &SymbolTable) -> Self {
        let mut guard: Vec<WordGuard> = Vec::new();
        for &Guard { cell, piece, holds } in &m.guard {
            let asked = WordGuard { cell, label: of_pieces[usize::from(piece)], holds };
            // A label is ruled out once, although several pieces may have it.
            if holds || !guard.contains(&asked) {
                guard.push(asked);
            }
        }
        let turns = m.action.turns().iter().map(|&turn| turn as u8);
        Self {
            cells: m.action.cells().images().into(),
            turns: if symbols.width() == 1 { Box::default() } else { turns.collect() },
            guard: guard.into(),
        }
    }

    /// Returns the conditions for the move.
    #[inline]
    pub(crate) fn guard(&self) -> &[WordGuard] {
        &self.guard
    }

    /// Returns the turn of the contents that leave a cell.
    #[inline]
    pub fn turn(&self, cell: usize) -> u8 {
        self.turns.get(cell).copied().unwrap_or(0)
    }
}

impl Space {
    /// Returns the moves, in the order of the puzzle's moves.
    pub fn moves(&self) -> &[WordMove] {
        &self.moves
    }

    /// Returns the *incoming moves*: the moves followed by free moves, no two of which differ by a free move
    /// that comes before. They lead to a word of a state from some word of each state before it. Without free
    /// moves, the incoming moves are the moves.
    pub fn incoming_moves(&self) -> &[WordMove] {
        &self.incoming_moves
    }

    /// Returns whether the inverse of every move is a move, so that the depths of neighbours differ by at
    /// most one. In any case, distances are counted along moves from the solved state.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.puzzle.is_closed_under_inverses()
    }

    /// Writes to `image` the state to which a move leads from the state `word`. Returns false if the move is
    /// not possible there; the contents of `image` are then unspecified.
    #[inline]
    pub fn apply(&self, mv: usize, word: &[u8], image: &mut [u8]) -> bool {
        self.step(mv, &self.symbols, word, image);
        let is_met = |asked: &WordGuard| {
            (self.symbols.mark(word[usize::from(asked.cell)]) == asked.label) == asked.holds
        };
        self.moves[mv].guard.iter().all(is_met)
    }

    /// Returns whether there are moves that are not possible in all states.
    pub fn is_guarded(&self) -> bool {
        self.moves.iter().any(|step| !step.guard.is_empty())
    }

    /// Writes the image under a move of a word of any symbols, labels or colours. Does not check the guard.
    #[inline]
    pub(crate) fn step(&self, mv: usize, symbols: &SymbolTable, word: &[u8], image: &mut [u8]) {
        let WordMove { cells, turns, .. } = &self.moves[mv];
        if turns.is_empty() {
            for (&to, &letter) in cells.iter().zip(word) {
                image[usize::from(to)] = letter;
            }
        } else {
            for ((&to, &letter), &turn) in cells.iter().zip(word).zip(turns) {
                image[usize::from(to)] = symbols.turned(letter, turn);
            }
        }
    }

    /// Writes to `source` the word from which an [incoming move](Space::incoming_moves) leads to `word`.
    #[inline]
    pub(crate) fn step_back(&self, mv: usize, symbols: &SymbolTable, word: &[u8], source: &mut [u8]) {
        let step = &self.incoming_moves[mv];
        for (cell, &to) in step.cells.iter().enumerate() {
            let letter = word[usize::from(to)];
            source[cell] = match step.turn(cell) {
                0 => letter,
                turn => symbols.turned(letter, self.orientation_counts[cell] as u8 - turn),
            };
        }
    }
}
