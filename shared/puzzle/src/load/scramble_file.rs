//! Scrambles of twsearch (`.scr`): `ScrambleAlg NAME`, moves and `End`; or `Scramble NAME`, a position of
//! each set as in `Solved`, and `End`. In `ScrambleState` pieces are numbered from 0.

use crate::definition::Definition;
use fathom_algebra::{OrientedPermutation, Permutation};

/// A scramble of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scramble {
    /// Moves that lead to the state.
    Moves(String),
    /// The element that carries each piece from its own cell to the cell where it is.
    State(OrientedPermutation),
}

/// Reads the scrambles of a file, with their names.
///
/// # Errors
/// The line, from 1, and what is wrong with it.
pub fn read(text: &str, puzzle: &Definition) -> Result<Vec<(String, Scramble)>, String> {
    let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
    let mut lines = (1..).zip(lines).filter(|(_, line)| !line.is_empty());
    let mut scrambles = Vec::new();
    while let Some((number, line)) = lines.next() {
        let fault = |reason: &str| format!("line {number}: {reason}");
        let (keyword, name) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let mut rows = Vec::new();
        loop {
            match lines.next() {
                Some((_, "End")) => break,
                Some(row) => rows.push(row),
                None => return Err(fault("'End' is missing")),
            }
        }
        let scramble = match keyword {
            "ScrambleAlg" => {
                let rows: Vec<&str> = rows.iter().map(|(_, row)| *row).collect();
                Scramble::Moves(rows.join(" "))
            }
            "Scramble" => Scramble::State(state(&rows, puzzle, 1)?),
            "ScrambleState" => Scramble::State(state(&rows, puzzle, 0)?),
            _ => return Err(fault("expected ScrambleAlg, Scramble or ScrambleState, and a name")),
        };
        scrambles.push((name.trim().to_owned(), scramble));
    }
    Ok(scrambles)
}

/// Reads a state: for each set its name, its pieces by their labels, counted from `first`, and their
/// orientations.
fn state(rows: &[(usize, &str)], puzzle: &Definition, first: u64) -> Result<OrientedPermutation, String> {
    let counts = puzzle.orientation_counts();
    let labels = puzzle.written_labels().ok_or(
        "a position can be read only beside a puzzle file that numbers its pieces: name this file as the puzzle",
    )?;
    let mut images: Vec<Option<usize>> = vec![None; puzzle.cells()];
    let mut turns = vec![0; puzzle.cells()];
    let mut rows = rows.iter().peekable();
    while let Some((number, set)) = rows.next() {
        let fault = |reason: String| format!("line {number}: {reason}");
        let orbit = puzzle.orbits().iter().position(|orbit| orbit.name == *set);
        let orbit = orbit.ok_or_else(|| fault(format!("{set:?} is not a set of the puzzle")))?;
        let cells = puzzle.cells_of(orbit);
        let mut row = || {
            let is_row = |row: &str| row.starts_with(|c: char| c.is_ascii_digit() || c == '?');
            let (_, row) = rows.next_if(|(_, row)| is_row(row))?;
            Some(row.split_whitespace().map(|word| word.parse().ok()).collect::<Vec<Option<u64>>>())
        };
        let pieces = row().ok_or_else(|| fault(format!("the pieces of {set} are missing")))?;
        let orientations = row().unwrap_or_else(|| vec![None; cells.len()]);
        if pieces.len() != cells.len() || orientations.len() != cells.len() {
            return Err(fault(format!("{set} has {} cells, but its rows have other lengths", cells.len())));
        }
        for (i, cell) in cells.clone().enumerate() {
            let label = pieces[i].map(|piece| piece + 1 - first);
            let is_meant = |&piece: &usize| images[piece].is_none() && Some(labels[piece]) == label;
            let piece = cells.clone().find(is_meant);
            let piece = piece
                .ok_or_else(|| fault(format!("the pieces of {set} are not those of the solved state")))?;
            images[piece] = Some(cell);
            // An orientation that is not given, or written as '?', is that of the solved piece.
            let solved = puzzle.solved()[piece].orientation;
            let shown = orientations[i].unwrap_or(solved.into());
            let turn = u16::try_from(shown).ok().filter(|turn| *turn < counts[cell]);
            let turn =
                turn.ok_or_else(|| fault(format!("{shown} is not below the {} orientations", counts[cell])))?;
            turns[piece] = (turn + counts[cell] - solved) % counts[cell];
        }
    }
    // Sets that are not mentioned are solved.
    let images = Permutation::from_fn(puzzle.cells(), |piece| images[piece].unwrap_or(piece));
    Ok(OrientedPermutation::new(images, turns, counts).expect("each set is permuted within itself"))
}
