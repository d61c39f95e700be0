//! Names of spaces.

use super::Space;
use super::original_puzzle::labels_by_cells;
use crate::Labels;
use fathom_puzzle::{Metric, Puzzle};

/// The largest number of letters for labels in a short name.
const MAX_LETTERS: usize = 24;

impl Space {
    /// Returns a name that identifies this space and is suitable as a file name: `3x4-multi`, or with labels
    /// as letters, `2x2-multi-aabb`.
    pub fn slug(&self) -> String {
        slug_with(&self.puzzle.name, self.metric, letters(self.piece_labels()))
    }

    /// Returns a name that is short enough for a directory. The letters are omitted if the labels are the
    /// puzzle's own, and replaced by a hash if there are many.
    pub fn short_slug(&self, labels_are_its_own: bool) -> String {
        short_slug(&self.puzzle.name, self.metric, self.piece_labels(), labels_are_its_own)
    }
}

/// Returns the [short name](Space::short_slug) of the space of a puzzle with labels, without building it.
pub fn run_name(puzzle: &Puzzle, metric: Metric, labels: &Labels, labels_are_its_own: bool) -> String {
    short_slug(&puzzle.name, metric, &labels_by_cells(puzzle, labels), labels_are_its_own)
}

fn short_slug(puzzle: &str, metric: Metric, labels: &Labels, labels_are_its_own: bool) -> String {
    let symbols = letters(labels).filter(|_| !labels_are_its_own);
    let short = symbols.map(|symbols| match symbols.len() {
        0..=MAX_LETTERS => symbols,
        // FNV-1a, 64 bits.
        _ => {
            let mix = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
            format!("{:016x}", symbols.bytes().fold(0xcbf2_9ce4_8422_2325, mix))
        }
    });
    slug_with(puzzle, metric, short)
}

/// Returns a letter for the label of each piece; `None` if all pieces differ.
fn letters(labels: &Labels) -> Option<String> {
    let letter = |&label: &u16| match label {
        0..26 => char::from(b'a' + label as u8).to_string(),
        _ => format!("_{label}"),
    };
    (!labels.are_distinct()).then(|| labels.of_pieces().iter().map(letter).collect())
}

fn slug_with(puzzle: &str, metric: Metric, symbols: Option<String>) -> String {
    let fit = |letter: char| if letter.is_alphanumeric() || "-_+.".contains(letter) { letter } else { '-' };
    let mut name: String = puzzle.chars().map(fit).collect();
    if name.starts_with('.') {
        // On Unix, files whose names begin with a dot are hidden.
        name.replace_range(..1, "-");
    }
    match symbols {
        Some(symbols) => format!("{name}-{metric}-{symbols}"),
        None => format!("{name}-{metric}"),
    }
}
