//! A puzzle on the cells of words, if there are letters for its pieces.

use crate::rings::Rings;
use crate::{Labels, Letters};
use fathom_puzzle::Puzzle;

/// A puzzle on the cells of words.
pub(super) struct OnWords {
    pub(super) rings: Rings,
    pub(super) puzzle: Puzzle,
    pub(super) labels: Labels<u8>,
    pub(super) letters: Letters,
}

impl OnWords {
    /// Makes rings of the pieces that turn and stay. Returns the number of letters that would be needed if
    /// they are too many.
    pub(super) fn of(puzzle: &Puzzle, is_held: bool, cell_labels: &Labels) -> Result<Self, usize> {
        let rings = Rings::of(puzzle, is_held);
        // The first cell of a ring has the mark. The cell that tells how the puzzle is held has no label.
        let on_ring = |(piece, at): (usize, u16)| (cell_labels.of_pieces().get(piece), at > 0);
        let labels = match rings.is_empty() && !is_held {
            true => cell_labels.clone(),
            false => Labels::from_keys(rings.origins().map(on_ring)),
        };
        let puzzle = rings.puzzle(puzzle);
        let mut seen = vec![0; labels.sizes().len()];
        for (&label, &shown) in labels.of_pieces().iter().zip(&puzzle.seen) {
            seen[usize::from(label)] = shown;
        }
        // The identity is always a free move.
        let turns = puzzle.free[0].orders().iter().copied().max().unwrap_or(1);
        match (Letters::new(&seen, turns), labels.as_bytes()) {
            (Some(letters), Some(labels)) => Ok(Self { rings, puzzle, labels, letters }),
            _ => Err(seen.len() * usize::from(seen.iter().copied().max().unwrap_or(1))),
        }
    }
}
