//! States as rows of an array: the label of the piece on each cell, and then its turn if pieces turn.

use super::model::SolveModel;
use fathom_space::Labels;

/// Rows of an array, by letter of the model.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The number of cells.
    pub cells: usize,
    /// The label of the piece.
    pub labels: Vec<u16>,
    /// The turn of the piece, if pieces turn.
    pub turns: Option<Vec<u8>>,
}

impl Rows {
    /// Returns the rows of a model, with these labels by piece.
    pub fn new(model: &SolveModel, labels: &Labels) -> Self {
        let (pieces, labels) = (model.pieces_of_letters(), labels.of_pieces());
        let label = |piece: &Option<(u16, u16)>| piece.map_or(0, |(piece, _)| labels[usize::from(piece)]);
        let turn = |piece: &Option<(u16, u16)>| piece.map_or(0, |(_, turn)| turn as u8);
        Self {
            cells: model.solved().len(),
            labels: pieces.iter().map(label).collect(),
            turns: model.has_orientations().then(|| pieces.iter().map(turn).collect()),
        }
    }

    /// Returns the number of entries of a row: a label for each cell, and then a turn if pieces turn.
    pub fn entries(&self) -> usize {
        self.cells * if self.turns.is_some() { 2 } else { 1 }
    }

    /// Returns whether all labels fit in a byte. Otherwise entries are of two bytes, the lower one first.
    pub fn are_bytes(&self) -> bool {
        self.labels.iter().all(|&label| label <= u8::MAX.into())
    }

    /// Returns the bytes of states that are given as words, one behind the other.
    pub fn written(&self, words: &[u8]) -> Vec<u8> {
        let Self { cells, labels, turns } = self;
        let mut written = Vec::with_capacity(2 * words.len());
        if self.are_bytes() {
            let labels: Vec<u8> = labels.iter().map(|&label| label as u8).collect();
            for word in words.chunks_exact(*cells) {
                written.extend(word.iter().map(|&letter| labels[usize::from(letter)]));
                if let Some(turns) = turns {
                    written.extend(word.iter().map(|&letter| turns[usize::from(letter)]));
                }
            }
            return written;
        }
        for word in words.chunks_exact(*cells) {
            let labels = word.iter().map(|&letter| labels[usize::from(letter)]);
            labels.for_each(|label| written.extend(label.to_le_bytes()));
            if let Some(turns) = turns {
                let turns = word.iter().map(|&letter| u16::from(turns[usize::from(letter)]));
                turns.for_each(|turn| written.extend(turn.to_le_bytes()));
            }
        }
        written
    }
}

/// Why a row is not a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// No piece with this label and this turn comes to the cell.
    #[error("cell {cell} cannot hold a piece with the label {label}{}", turned(*.turn))]
    Piece {
        /// The cell, from 0.
        cell: usize,
        /// The label.
        label: u16,
        /// The turn; `None` if pieces do not turn.
        turn: Option<u16>,
    },
    /// More pieces have a label than the puzzle has.
    #[error("the label {label} occurs too often")]
    Count {
        /// The label.
        label: u16,
    },
}

fn turned(turn: Option<u16>) -> String {
    turn.map_or_else(String::new, |turn| format!(", turned by {turn}"))
}

/// Reads rows, the inverse of [`Rows::written`].
#[derive(Clone, Debug)]
pub struct RowReader {
    rows: Rows,
    /// By cell: its orbit.
    orbits: Vec<usize>,
    /// By orbit: by label and turn, the letter.
    letters: Vec<Vec<Option<u8>>>,
    /// The number of turns in `letters`.
    turns: usize,
    /// By letter: the number of its pieces that look alike.
    kinds: Vec<u16>,
    /// By kind: the number of pieces.
    sizes: Vec<u16>,
    are_clear: bool,
}

impl RowReader {
    /// Creates the tables for the rows of a model.
    pub fn new(model: &SolveModel, labels: &Labels) -> Self {
        let (definition, of_pieces) = (model.definition(), labels.of_pieces());
        let solved = definition.solved();
        let counts = definition.orientation_counts();
        let turns = counts.iter().copied().max().map_or(1, usize::from);
        let most = of_pieces.iter().max().map_or(0, |&label| usize::from(label) + 1);
        let pieces = model.pieces_of_letters();
        let mut letters = vec![vec![None; most * turns]; definition.orbits().len()];
        let mut kinds = vec![0; pieces.len()];
        let mut are_clear = true;
        for (letter, piece) in pieces.into_iter().enumerate() {
            let Some((piece, turn)) = piece else { continue };
            let piece = usize::from(piece);
            kinds[letter] = solved[piece].label;
            let of_orbit = &mut letters[definition.orbit_of(piece)];
            // Turns that show the same are read too.
            for turn in (turn..counts[piece]).step_by(solved[piece].seen.into()) {
                let place = &mut of_orbit[usize::from(of_pieces[piece]) * turns + usize::from(turn)];
                are_clear &= place.is_none();
                *place = Some(letter as u8);
            }
        }
        let mut sizes = vec![0; solved.len()];
        solved.iter().for_each(|piece| sizes[usize::from(piece.label)] += 1);
        let orbits = (0..solved.len()).map(|cell| definition.orbit_of(cell)).collect();
        Self { rows: Rows::new(model, labels), orbits, letters, turns, kinds, sizes, are_clear }
    }

    /// Returns the form of the rows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    /// Returns whether rows distinguish all states. They do not if pieces with one label and one turn look different,
    /// because they show different numbers of orientations.
    pub fn are_clear(&self) -> bool {
        self.are_clear
    }

    /// Reads a row of [`Rows::entries`] entries into a word of the model. `left` is memory that is used again.
    ///
    /// # Errors
    /// [`RowError`] if the pieces of the row are not those of the puzzle.
    pub fn read<T: Copy + Into<u16>>(
        &self,
        row: &[T],
        word: &mut [u8],
        left: &mut Vec<u16>,
    ) -> Result<(), RowError> {
        let cells = self.rows.cells;
        left.clone_from(&self.sizes);
        for (cell, letter) in word.iter_mut().enumerate() {
            let label: u16 = row[cell].into();
            let turn: Option<u16> = self.rows.turns.is_some().then(|| row[cells + cell].into());
            let at = usize::from(turn.unwrap_or(0));
            let found = match at < self.turns {
                true => self.letters[self.orbits[cell]].get(usize::from(label) * self.turns + at).copied(),
                false => None,
            };
            *letter = found.flatten().ok_or(RowError::Piece { cell, label, turn })?;
            let left = &mut left[usize::from(self.kinds[usize::from(*letter)])];
            *left = left.checked_sub(1).ok_or(RowError::Count { label })?;
        }
        Ok(())
    }
}
