//! Boards whose tiles are labelled on both sides, and which can be flipped as a whole (Richard Harris,
//! the Rubeish Square).

use crate::definition::Definition;
use crate::{Board, Metric};
use fathom_algebra::{OrientedPermutation, Permutation};

/// Returns the board with the move `flip`, which flips the board from left to right: the first column
/// becomes the last.
pub fn flip(board: Board) -> Definition {
    turned_over(board, "flip", &[("flip", flipped(board))])
}

/// Returns the board with `flip`, as in [`flip`], and `upend`, which flips the board from top to
/// bottom: the first row becomes the last.
pub fn flips(board: Board) -> Definition {
    let upended = board.on_cells(|row, column| (board.rows() - 1 - row, column));
    turned_over(board, "flips", &[("flip", flipped(board)), ("upend", upended)])
}

/// Returns a square board with the move `transpose`, which flips the board about its diagonal: rows
/// become columns.
///
/// # Panics
/// If the board is not square.
pub fn transpose(board: Board) -> Definition {
    turned_over(board, "transpose", &[("transpose", board.on_cells(|row, column| (column, row)))])
}

fn flipped(board: Board) -> Permutation {
    board.on_cells(|row, column| (row, board.columns() - 1 - column))
}

/// Returns the puzzle of the board's shifts by one cell and the moves that flip the board.
fn turned_over(board: Board, word: &str, turns: &[(&str, Permutation)]) -> Definition {
    let mut puzzle =
        Definition::of_degree(format!("{board}+{word}"), board.cells()).expect("boards are small");
    let shifts = board.puzzle(Metric::Given).moves.into_iter().map(|shift| (shift.name, shift.action));
    let turns = turns
        .iter()
        .map(|(name, action)| ((*name).to_owned(), OrientedPermutation::from_cells(action.clone())));
    for (name, action) in shifts.chain(turns) {
        puzzle.add_move(name, action).expect("names are distinct and there is one orbit");
    }
    puzzle
}
