//! Boards on the command line: one, or all whose sides are in a range.

use fathom_puzzle::{Board, BoardError};
use std::ops::RangeInclusive;
use std::str::FromStr;

/// `MxN`, or `MIN..MAX` for all boards with MIN to MAX rows and MIN to MAX columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Boards {
    /// One board.
    One(Board),
    /// All boards with sides in this range, both ends included.
    Sides(RangeInclusive<usize>),
}

/// Why a text does not name boards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardsError {
    /// The text is not a board, or the board, or the largest of the range, is too large.
    #[error(transparent)]
    Board(#[from] BoardError),
    /// The text has two dots, but not between two numbers in order.
    #[error("{0:?} is not a range of boards. Write the smallest and the largest side, for example 2..8")]
    NotARange(String),
}

impl Boards {
    /// Returns all boards with sides in `sides`, which must come from a parsed [`Boards::Sides`].
    ///
    /// # Panics
    /// The iterator panics if a side is 0, or if the largest board is too large.
    pub fn all(sides: &RangeInclusive<usize>) -> impl Iterator<Item = Board> {
        let of_rows = |rows| sides.clone().map(move |columns| Board::new(rows, columns));
        sides
            .clone()
            .flat_map(of_rows)
            .map(|board| board.expect("the largest board of a parsed range is valid"))
    }
}

impl FromStr for Boards {
    type Err = BoardsError;

    fn from_str(word: &str) -> Result<Self, BoardsError> {
        let Some((least, most)) = word.split_once("..") else {
            return Ok(Self::One(word.parse()?));
        };
        let side = |part: &str| match part.bytes().all(|b| b.is_ascii_digit()) {
            true => part.parse::<u32>().ok().filter(|&side| side > 0),
            false => None,
        };
        match (side(least), side(most)) {
            (Some(least), Some(most)) if least <= most => {
                let sides = least as usize..=most as usize;
                Board::new(*sides.end(), *sides.end())?;
                Ok(Self::Sides(sides))
            }
            _ => Err(BoardsError::NotARange(word.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn single_boards_and_ranges_are_parsed() {
        assert_eq!("3x4".parse(), Ok(Boards::One(Board::new(3, 4).unwrap())));
        assert_eq!("2..8".parse(), Ok(Boards::Sides(2..=8)));
        assert_eq!("3..3".parse(), Ok(Boards::Sides(3..=3)));
        for word in
            ["..", "2..", "..8", "8..2", "0..3", "2...8", "2..=8", "+2..8", "2..8..9", "2..99999999999"]
        {
            assert_eq!(word.parse::<Boards>(), Err(BoardsError::NotARange(word.into())), "{word}");
        }
        assert!(matches!(
            "2..9".parse::<Boards>(),
            Err(BoardsError::Board(BoardError::TooLarge { cells: 81, .. }))
        ));
        assert!(matches!("2.8".parse::<Boards>(), Err(BoardsError::Board(BoardError::NotABoard(_)))));
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_rejected(word in "\\PC*|[0-9x.]{0,8}") {
            match word.parse::<Boards>() {
                Ok(Boards::One(board)) => prop_assert!(board.cells() <= Board::MAX_CELLS),
                Ok(Boards::Sides(sides)) => prop_assert!(!sides.is_empty() && *sides.end() <= 8),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }
}
