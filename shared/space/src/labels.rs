//! Labels of pieces. Pieces with equal labels are interchangeable.

use std::collections::HashMap;
use std::hash::Hash;

/// One label for each piece, as a number of type `L`. Labels are numbered from 0 in the order of first
/// appearance, so that two lists with the same meaning are equal. Labels on the cells of words take one byte.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Labels<L = u16> {
    of_piece: Box<[L]>,
    sizes: Box<[u16]>,
}

/// The reason why a list of labels or of tracked pieces does not fit the puzzle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelError {
    /// The list has more or fewer labels than the puzzle has pieces.
    #[error(
        "the label list has {got} entries, but the puzzle has {pieces} tiles. Give one label per tile, row by row"
    )]
    WrongLength {
        /// The number of entries of the list.
        got: usize,
        /// The number of pieces of the puzzle.
        pieces: usize,
    },
    /// An entry is not a number.
    #[error(
        "invalid label {0:?}: give whole numbers from 0 to 4294967295, separated by commas, such as 0,0,1,1"
    )]
    NotALabel(String),
    /// An entry of a track list is neither a number nor a range.
    #[error("invalid tiles {0:?}: give numbers and ranges separated by commas, such as 0-3,8")]
    NotATile(String),
    /// A tracked piece does not exist.
    #[error("tile {tile} is off the board: its {pieces} tiles are numbered from 0 to {last}", last = pieces - 1)]
    OffTheBoard {
        /// The number as written.
        tile: usize,
        /// The number of pieces of the puzzle.
        pieces: usize,
    },
}

impl Labels {
    /// Gives every piece a label of its own.
    ///
    /// # Panics
    /// If there are 65,536 pieces or more.
    pub fn distinct(pieces: usize) -> Self {
        Self::from_values(0..pieces)
    }

    /// Gives piece `p` the `p`-th value as a label; equal values are one label.
    ///
    /// # Panics
    /// If there are 65,536 values or more.
    pub fn from_values(values: impl IntoIterator<Item = usize>) -> Self {
        Self::from_keys(values)
    }

    /// Gives piece `p` the `p`-th key as a label; equal keys are one label.
    pub(crate) fn from_keys<K: Hash + Eq>(keys: impl IntoIterator<Item = K>) -> Self {
        let mut numbers = HashMap::new();
        let mut sizes: Vec<u16> = Vec::new();
        let of_piece = keys
            .into_iter()
            .map(|key| {
                let label = *numbers.entry(key).or_insert(sizes.len());
                if label == sizes.len() {
                    sizes.push(0);
                }
                sizes[label] += 1;
                u16::try_from(label).expect("fewer than 65,536 pieces")
            })
            .collect();
        Self { of_piece, sizes: sizes.into() }
    }

    /// Gives piece `p` the label `of_pieces[p]`, in whatever order labels appear. All numbers up to the
    /// largest one must be labels.
    ///
    /// # Panics
    /// If there are 65,536 labels or more.
    pub(crate) fn numbered(of_pieces: &[usize]) -> Self {
        let mut sizes = vec![0; of_pieces.iter().max().map_or(0, |last| last + 1)];
        of_pieces.iter().for_each(|&label| sizes[label] += 1);
        let label = |&label: &usize| u16::try_from(label).expect("fewer than 65,536 labels");
        Self { of_piece: of_pieces.iter().map(label).collect(), sizes: sizes.into() }
    }

    /// Reads a list such as `0,0,1,1`, with a label for each of `pieces` pieces.
    ///
    /// # Errors
    /// [`LabelError`] if an entry is not a number, or the list does not have `pieces` entries.
    pub fn parse_list(text: &str, pieces: usize) -> Result<Self, LabelError> {
        let values: Vec<usize> = text
            .split(',')
            .map(|entry| match entry.trim().parse::<u32>() {
                Ok(value) => Ok(value as usize),
                Err(_) => Err(LabelError::NotALabel(entry.into())),
            })
            .collect::<Result<_, _>>()?;
        if values.len() != pieces {
            return Err(LabelError::WrongLength { got: values.len(), pieces });
        }
        Ok(Self::from_values(values))
    }

    /// Reads a list such as `0-3,8`. The listed pieces keep their identity; all others are interchangeable.
    ///
    /// # Errors
    /// [`LabelError`] if an entry is neither a number nor a range, or names a piece that does not exist.
    pub fn parse_tracked(text: &str, pieces: usize) -> Result<Self, LabelError> {
        let tracked = Self::tracked(text, pieces)?;
        Ok(Self::from_values((0..pieces).map(|piece| if tracked[piece] { piece } else { pieces })))
    }

    /// Reads a list such as `0-3,8`, and returns for each of `pieces` pieces whether it is listed.
    ///
    /// # Errors
    /// As [`Labels::parse_tracked`].
    pub fn tracked(text: &str, pieces: usize) -> Result<Vec<bool>, LabelError> {
        let mut tracked = vec![false; pieces];
        for entry in text.split(',') {
            let number = |part: &str| match part.trim().parse::<u32>() {
                Ok(tile) if (tile as usize) < pieces => Ok(tile as usize),
                Ok(tile) => Err(LabelError::OffTheBoard { tile: tile as usize, pieces }),
                Err(_) => Err(LabelError::NotATile(entry.into())),
            };
            let (first, last) = entry.split_once('-').unwrap_or((entry, entry));
            let (first, last) = (number(first)?, number(last)?);
            if first > last {
                return Err(LabelError::NotATile(entry.into()));
            }
            tracked[first..=last].fill(true);
        }
        Ok(tracked)
    }

    /// Returns the same labels as bytes; `None` if there are more than 256.
    pub(crate) fn as_bytes(&self) -> Option<Labels<u8>> {
        let of_piece = self.of_piece.iter().map(|&label| u8::try_from(label).ok());
        Some(Labels { of_piece: of_piece.collect::<Option<_>>()?, sizes: self.sizes.clone() })
    }
}

impl<L: Copy> Labels<L> {
    /// Returns the number of pieces.
    pub fn pieces(&self) -> usize {
        self.of_piece.len()
    }

    /// Returns the label of each piece. As piece `p` belongs on cell `p`, these are also the labels of the
    /// solved state, cell by cell.
    pub fn of_pieces(&self) -> &[L] {
        &self.of_piece
    }

    /// Returns the number of pieces with each label.
    pub fn sizes(&self) -> &[u16] {
        &self.sizes
    }

    /// Returns whether all pieces are distinguished.
    pub fn are_distinct(&self) -> bool {
        self.sizes.len() == self.of_piece.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equivalent_label_lists_are_equal() {
        let labels = Labels::parse_list("7,7,3,3", 4).unwrap();
        assert_eq!(labels, Labels::parse_list("0, 0, 1, 1", 4).unwrap());
        assert_eq!(labels.of_pieces(), [0, 0, 1, 1]);
        assert_eq!(labels.sizes(), [2, 2]);
        assert!(!labels.are_distinct());
        assert!(Labels::distinct(5).are_distinct());
    }

    #[test]
    fn tracked_pieces_keep_their_identity() {
        assert_eq!(Labels::parse_tracked("0-1,4", 6).unwrap().of_pieces(), [0, 1, 2, 2, 3, 2]);
        assert!(Labels::parse_tracked("0-4", 6).unwrap().are_distinct());
    }

    #[test]
    fn invalid_lists_are_rejected() {
        assert_eq!(Labels::parse_list("0,1", 4), Err(LabelError::WrongLength { got: 2, pieces: 4 }));
        assert_eq!(Labels::parse_list("0,x,1,1", 4), Err(LabelError::NotALabel("x".into())));
        assert_eq!(Labels::parse_list("", 4), Err(LabelError::NotALabel("".into())));
        assert_eq!(Labels::parse_tracked("0,9", 9), Err(LabelError::OffTheBoard { tile: 9, pieces: 9 }));
        assert_eq!(Labels::parse_tracked("3-1", 9), Err(LabelError::NotATile("3-1".into())));
        assert_eq!(Labels::parse_tracked("0-", 9), Err(LabelError::NotATile("0-".into())));
    }
}
