//! A colouring cuts the space into cosets: all states with one colour pattern.

use crate::symmetry::induced;
use crate::{Letters, Ranks, Space, Step, Symmetry, Words};

/// A partition of the labels, and with them of the pieces, into colours. Colour c is axis c of every coset's tensor.
#[derive(Clone, Debug)]
pub struct Colouring {
    of_piece: Box<[u8]>,
    of_label: Box<[u8]>,
    /// The number of a label among the labels of its colour, in increasing order.
    local: Box<[u8]>,
    axes: Box<[Words]>,
    letters: Letters,
    /// The letter of patterns for each letter of states.
    of_letter: Box<[u8]>,
    /// By letter of states.
    stands_for_nothing: Box<[bool]>,
    solved: Box<[u8]>,
    patterns: Ranks,
}

/// What a symmetry does to colours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColourAction {
    /// Where each colour goes.
    pub colours: Box<[u8]>,
    /// Where each letter of a pattern goes, before it is turned.
    pub letters: Box<[u8]>,
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
    /// Pieces in one colour that never stand on the same cells, or show different numbers of orientations.
    #[error("colour {colour} has pieces of several kinds")]
    MixesKinds {
        /// The colour.
        colour: u8,
    },
    /// A colour of several labels, one of which a move asks for.
    #[error("colour {colour} hides whether a move can be made")]
    HidesGuard {
        /// The colour.
        colour: u8,
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
    pub fn new(of_piece: &[u8], space: &Space) -> Result<Self, ColouringError> {
        let labels = space.labels();
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
        let mut seen = vec![0; colours];
        for (label, &colour) in of_label.iter().enumerate() {
            let shown = u16::from(space.letters().seen(label as u8));
            let known = std::mem::replace(&mut seen[usize::from(colour)], shown);
            if known != 0 && known != shown {
                return Err(ColouringError::MixesKinds { colour });
            }
        }
        for orbit in space.orbits() {
            let colour = |cell: &u8| of_piece[usize::from(*cell)];
            let is_inside = |cell: &usize| orbit.cells.contains(&(*cell as u8));
            let strays =
                |cell: &usize| !is_inside(cell) && orbit.cells.iter().any(|c| colour(c) == of_piece[*cell]);
            if let Some(cell) = (0..pieces).find(strays) {
                return Err(ColouringError::MixesKinds { colour: of_piece[cell] });
            }
        }
        let asked = space.moves().iter().flat_map(Step::guard);
        let mut asked = asked.map(|&(_, label)| of_label[usize::from(label)]);
        if let Some(colour) = asked.find(|&colour| contents[usize::from(colour)].len() > 1) {
            return Err(ColouringError::HidesGuard { colour });
        }
        let letters = Letters::new(&seen, space.most_turns()).ok_or(ColouringError::TooLarge)?;
        let of_letter = |letter: u8| {
            let colour = of_label[usize::from(space.letters().mark(letter))];
            letters.letter(colour, space.letters().orientation(letter))
        };
        let of_letter: Box<[u8]> =
            (0..space.letters().count()).map(|letter| of_letter(letter as u8)).collect();
        let letter = |number| number as u8;
        let stands_for_nothing = (0..space.letters().count())
            .map(letter)
            .map(|letter| {
                space.letters().orientation(letter) >= space.letters().seen(space.letters().mark(letter))
            })
            .collect();
        let solved: Box<[u8]> = space.solved().iter().map(|&letter| of_letter[usize::from(letter)]).collect();
        let patterns = Ranks::new(space.orbits(), &letters, &solved).ok_or(ColouringError::TooLarge)?;
        Ok(Self {
            of_piece: of_piece.into(),
            of_label: of_label.into(),
            local: local.into(),
            axes,
            letters,
            of_letter,
            stands_for_nothing,
            solved,
            patterns,
        })
    }

    /// The colour of each piece.
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

    /// The letters of patterns: colours with orientations.
    pub fn letters(&self) -> &Letters {
        &self.letters
    }

    /// The letter of a pattern for a letter of a state.
    #[inline]
    pub fn of_letter(&self, letter: u8) -> u8 {
        self.of_letter[usize::from(letter)]
    }

    /// The pattern of the solved state.
    pub fn solved(&self) -> &[u8] {
        &self.solved
    }

    /// All patterns with this many cells of each colour, reachable or not.
    pub fn patterns(&self) -> &Ranks {
        &self.patterns
    }

    /// Whether a move can be made in the states of a pattern.
    #[inline]
    pub(crate) fn allows(&self, step: &Step, pattern: &[u8]) -> bool {
        let is_there = |&(cell, label): &(u8, u8)| {
            self.letters.mark(pattern[usize::from(cell)]) == self.of_label[usize::from(label)]
        };
        step.guard().iter().all(is_there)
    }

    /// The action of a symmetry on colours; `None` if it does not map colours to colours, or turns pieces of one colour
    /// differently.
    pub fn action(&self, symmetry: &Symmetry) -> Option<ColourAction> {
        let colours = induced(&self.of_label, &symmetry.labels, self.axes.len())?;
        let mut letters: Vec<Option<u8>> = vec![None; self.letters.count()];
        for (number, (&letter, &to)) in self.of_letter.iter().zip(symmetry.letters()).enumerate() {
            if self.stands_for_nothing[number] {
                continue;
            }
            let to = self.of_letter(to);
            let known = letters[usize::from(letter)].get_or_insert(to);
            if *known != to {
                return None;
            }
        }
        // Letters that stand for nothing may go anywhere.
        Some(ColourAction { colours, letters: letters.into_iter().map(Option::unwrap_or_default).collect() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use fathom_puzzle::{Board, Metric};

    fn space(labels: Labels) -> Space {
        let board: Board = if labels.pieces() == 4 { "2x2" } else { "3x3" }.parse().unwrap();
        Space::new(board.puzzle(Metric::Multi), Metric::Multi, labels).unwrap()
    }

    #[test]
    fn interchangeable_pieces_share_a_colour() {
        let labels = space(Labels::parse_list("0,0,1,2", 4).unwrap());
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
        let labels = space(Labels::distinct(4));
        let error = ColouringError::NotAPartition { pieces: 4 };
        assert_eq!(Colouring::new(&[0, 0, 2, 2], &labels).unwrap_err(), error);
        assert_eq!(Colouring::new(&[0, 0, 1], &labels).unwrap_err(), error);
        let nine = space(Labels::distinct(9));
        assert_eq!(Colouring::new(&[0; 9], &nine).unwrap_err(), ColouringError::TooLarge);
    }
}
