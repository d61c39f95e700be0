//! Names of the moves of a board, after the paper: `V<i>^<j>` moves column i up by j, `H<i>^<j>` moves row i
//! left by j. Lines are numbered from 1, a negative j moves the other way, `V1` is `V1^1`, and `V1'` is
//! `V1^-1`.
//!
//! A rotation is printed under one name: that of the smallest shift, forwards if both directions are equally
//! long. All of its names are accepted.

use crate::{Board, Line};
use fathom_algebra::{Permutation, power_name};

/// Why a text is not a sequence of moves.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotationError {
    /// The text is not of the form of a move.
    #[error(
        "{0:?} is not a move: write V<column> or H<row>, followed by ^<shift> unless the shift is 1, such as V2^-1"
    )]
    NotAMove(String),
    /// The move names a line that the board does not have.
    #[error(
        "{word:?} refers to line {line}, but board {board} has only {lines} lines in that direction, numbered from 1"
    )]
    NoSuchLine {
        /// The move as written.
        word: String,
        /// The number of the line as written.
        line: usize,
        /// The board.
        board: Board,
        /// The number of rows, or of columns, of the board.
        lines: usize,
    },
}

impl Line {
    /// Returns the name of the rotation of the line by `shift`.
    pub fn move_name(self, shift: i64) -> String {
        let (letter, number) = match self {
            Self::Column(column) => ('V', column + 1),
            Self::Row(row) => ('H', row + 1),
        };
        power_name(&format!("{letter}{number}"), shift, std::iter::empty())
    }
}

impl Board {
    /// Returns the shortest name of the rotation of a line by `shift`, which must not be a multiple of the
    /// length of the line.
    pub fn move_name(self, line: Line, shift: i64) -> String {
        let length = self.line_length(line) as i64;
        let forwards = shift.rem_euclid(length);
        line.move_name(if 2 * forwards > length { forwards - length } else { forwards })
    }

    /// Reads one move as a line and a shift.
    ///
    /// # Errors
    /// [`NotationError`] with the text and the reason.
    pub fn parse_move(self, word: &str) -> Result<(Line, i64), NotationError> {
        let not_a_move = || NotationError::NotAMove(word.into());
        let (line, shift) = match (word.split_once('^'), word.strip_suffix('\'')) {
            (Some((line, shift)), _) => (line, shift.parse().map_err(|_| not_a_move())?),
            (None, Some(line)) => (line, -1),
            (None, None) => (word, 1),
        };
        let letter = line.chars().next().ok_or_else(not_a_move)?;
        let digits = &line[letter.len_utf8()..];
        if !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(not_a_move());
        }
        let number: usize = digits.parse().map_err(|_| not_a_move())?;
        let (lines, line): (usize, fn(usize) -> Line) = match letter {
            'V' => (self.columns(), Line::Column),
            'H' => (self.rows(), Line::Row),
            _ => return Err(not_a_move()),
        };
        if !(1..=lines).contains(&number) {
            return Err(NotationError::NoSuchLine { word: word.into(), line: number, board: self, lines });
        }
        Ok((line(number - 1), shift))
    }

    /// Reads a sequence of moves, separated by blanks and applied from left to right, as one permutation
    /// of the cells.
    ///
    /// # Errors
    /// [`NotationError`] for the first word that is not a move.
    pub fn parse_sequence(self, text: &str) -> Result<Permutation, NotationError> {
        text.split_whitespace().try_fold(Permutation::identity(self.cells()), |done, word| {
            let (line, shift) = self.parse_move(word)?;
            Ok(done.then(&self.rotation(line, shift)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Metric;

    #[test]
    fn every_move_name_parses_to_its_move() {
        for (m, n) in [(1, 4), (2, 2), (3, 4), (4, 4), (8, 8)] {
            let board = Board::new(m, n).unwrap();
            for metric in Metric::ALL {
                for m in board.puzzle(metric).moves {
                    assert_eq!(
                        board.parse_sequence(&m.name).unwrap(),
                        *m.action.cells(),
                        "{board} {}",
                        m.name
                    );
                }
            }
        }
    }

    #[test]
    fn each_rotation_has_one_name() {
        let names = |board: &str, metric| -> Vec<String> {
            let board: Board = board.parse().unwrap();
            board.puzzle(metric).moves.into_iter().map(|m| m.name).collect()
        };
        assert_eq!(names("1x3", Metric::Multi), ["H1", "H1'"]);
        assert_eq!(names("1x4", Metric::Multi), ["H1", "H1^2", "H1'"]);
        assert_eq!(names("1x5", Metric::Multi), ["H1", "H1^2", "H1^-2", "H1'"]);
        assert_eq!(names("1x2", Metric::Multi), ["H1"]);
        assert_eq!(names("1x3", Metric::Single), ["H1", "H1'"]);
        let board: Board = "3x4".parse().unwrap();
        assert_eq!(board.move_name(Line::Row(1), -7), "H2");
        assert_eq!(board.parse_sequence("V1'"), board.parse_sequence("V1^2"));
    }

    #[test]
    fn three_cycle_of_the_paper() {
        // Lemma 3.1: V_1^-1 H_1^1 V_1^1 H_1^1 V_1^-1 H_1^-2 V_1^1 = (1 2 3) on every square board from 3 x 3
        // on.
        for n in 3..=8 {
            let board = Board::new(n, n).unwrap();
            let product = board.parse_sequence("V1^-1 H1 V1 H1 V1^-1 H1^-2 V1").unwrap();
            assert_eq!(product.to_string(), "(1,2,3)");
        }
    }

    #[test]
    fn shifts_wrap_around() {
        let board = Board::new(3, 4).unwrap();
        assert_eq!(board.parse_sequence("V1^4 H1^-3"), board.parse_sequence("V1 H1"));
        assert!(board.parse_sequence("H2 H2^-1").unwrap().is_identity());
    }

    #[test]
    fn invalid_moves_are_rejected() {
        let board = Board::new(3, 4).unwrap();
        for word in ["X1", "V", "V1^", "V1^a", "V-1", "1", "é1", "V+1"] {
            assert_eq!(board.parse_move(word), Err(NotationError::NotAMove(word.into())), "{word}");
        }
        assert!(matches!(board.parse_move("V5"), Err(NotationError::NoSuchLine { line: 5, lines: 4, .. })));
        assert!(matches!(board.parse_move("H0"), Err(NotationError::NoSuchLine { line: 0, lines: 3, .. })));
    }
}
