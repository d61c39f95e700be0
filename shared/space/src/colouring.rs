//! A colouring cuts the space into cosets: all states with one colour pattern.

use crate::space::induced;
use crate::{Labels, Symmetry, Words};

/// A partition of the labels, and with them of the pieces, into colours. Colour c is axis c of every coset's tensor.
#[derive(Clone, Debug)]
pub struct Colouring {
    of_piece: Box<[u8]>,
    of_label: Box<[u8]>,
    /// The number of a label among the labels of its colour, in increasing order.
    local: Box<[u8]>,
    axes: Box<[Words]>,
    patterns: Words,
}

/// Why a partition is no colouring that the engine can use.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ColouringError {
    /// Not one colour a piece, or colours not numbered 0, 1, 2, …
    #[error("a colouring gives each of {pieces} pieces a colour, numbered from 0 without gaps")]
    NotAPartition {
        /// Pieces of the puzzle.
        pieces: usize,
    },
    /// Interchangeable pieces in two colours.
    #[error("pieces with label {label} have more than one colour")]
    SplitsLabel {
        /// The label.
        label: u8,
    },
    /// An axis or the number of patterns exceeds the engine's limits.
    #[error("the colouring gives tensors or patterns beyond the limits of the engine")]
    TooLarge,
}

impl Colouring {
    /// A colour with more than one arrangement has at most this many pieces.
    pub const LARGEST_COLOUR: usize = 16;
    /// The largest number of arrangements of one colour, the length of an axis.
    pub const LONGEST_AXIS: u64 = 1 << 14;

    /// The colouring that gives piece `p` the colour `of_piece[p]`.
    ///
    /// # Errors
    /// [`ColouringError`] with the reason.
    pub fn new(of_piece: &[u8], labels: &Labels) -> Result<Self, ColouringError> {
        let pieces = labels.pieces();
        let colours = of_piece.iter().map(|&c| usize::from(c) + 1).max().unwrap_or(0);
        let used = |colour: usize| of_piece.iter().any(|&c| usize::from(c) == colour);
        if of_piece.len() != pieces || !(0..colours).all(used) {
            return Err(ColouringError::NotAPartition { pieces });
        }
        let mut of_label = vec![0; labels.sizes().len()];
        for (&label, &colour) in labels.of_pieces().iter().zip(of_piece) {
            of_label[usize::from(label)] = colour;
        }
        if let Some((&label, _)) =
            labels.of_pieces().iter().zip(of_piece).find(|&(&label, &c)| of_label[usize::from(label)] != c)
        {
            return Err(ColouringError::SplitsLabel { label });
        }
        let mut local = vec![0; of_label.len()];
        let mut contents = vec![Vec::new(); colours];
        for (label, &colour) in of_label.iter().enumerate() {
            let content: &mut Vec<u8> = &mut contents[usize::from(colour)];
            local[label] = content.len() as u8;
            content.push(labels.sizes()[label]);
        }
        let axes: Box<[Words]> = contents
            .iter()
            .map(|content| {
                Words::new(content).filter(|axis| {
                    axis.total() == 1
                        || (axis.total() <= Self::LONGEST_AXIS && axis.length() <= Self::LARGEST_COLOUR)
                })
            })
            .collect::<Option<_>>()
            .ok_or(ColouringError::TooLarge)?;
        let sizes: Vec<u8> = axes.iter().map(|axis| axis.length() as u8).collect();
        let patterns = Words::new(&sizes).ok_or(ColouringError::TooLarge)?;
        Ok(Self { of_piece: of_piece.into(), of_label: of_label.into(), local: local.into(), axes, patterns })
    }

    /// The colour of each piece: also the pattern of the solved state.
    pub fn of_pieces(&self) -> &[u8] {
        &self.of_piece
    }

    /// The colour of a label.
    pub fn of_label(&self, label: u8) -> u8 {
        self.of_label[usize::from(label)]
    }

    /// The number of a label among those of its colour.
    pub fn local(&self, label: u8) -> u8 {
        self.local[usize::from(label)]
    }

    /// The label of a colour that has this number among those of the colour.
    pub fn label(&self, colour: u8, local: u8) -> u8 {
        (0..self.of_label.len() as u8)
            .filter(|&label| self.of_label(label) == colour)
            .nth(usize::from(local))
            .expect("the colour has such a label")
    }

    /// The arrangements of each colour: words of local labels. Axis c of a coset's tensor has as many entries.
    pub fn axes(&self) -> &[Words] {
        &self.axes
    }

    /// All patterns with this many cells of each colour, reachable or not.
    pub fn patterns(&self) -> &Words {
        &self.patterns
    }

    /// The action of a symmetry on colours; `None` if it does not map colours to colours.
    pub fn action(&self, symmetry: &Symmetry) -> Option<Box<[u8]>> {
        induced(&self.of_piece, &symmetry.cells, self.axes.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interchangeable_pieces_share_a_colour() {
        let labels = Labels::parse_list("0,0,1,2", 4).unwrap();
        assert_eq!(
            Colouring::new(&[0, 1, 1, 1], &labels).unwrap_err(),
            ColouringError::SplitsLabel { label: 0 }
        );
        let colouring = Colouring::new(&[1, 1, 0, 1], &labels).unwrap();
        assert_eq!(colouring.axes().iter().map(Words::total).collect::<Vec<_>>(), [1, 3]);
        assert_eq!(colouring.patterns().total(), 4);
        assert_eq!((colouring.local(2), colouring.label(1, 1)), (1, 2));
    }

    #[test]
    fn partitions_that_are_none_are_refused() {
        let labels = Labels::distinct(4);
        let error = ColouringError::NotAPartition { pieces: 4 };
        assert_eq!(Colouring::new(&[0, 0, 2, 2], &labels).unwrap_err(), error);
        assert_eq!(Colouring::new(&[0, 0, 1], &labels).unwrap_err(), error);
        assert_eq!(Colouring::new(&[0; 9], &Labels::distinct(9)).unwrap_err(), ColouringError::TooLarge);
    }
}
