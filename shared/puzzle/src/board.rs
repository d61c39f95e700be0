//! The m x n board, or two-dimensional magic cube (Jia, Zhang, Xiang, section 1.2): rows rotate to the left
//! and to the right, columns upwards and downwards, and a piece pushed out on one side comes back on the
//! other.

use crate::{Metric, Puzzle, PuzzleMove, Starts};
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use std::fmt;
use std::str::FromStr;

/// A board of m rows and n columns. Cells, and the tiles that belong there, are numbered from 0 row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Board {
    rows: usize,
    columns: usize,
}

/// A row or a column, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Line {
    /// A column; positive shifts go upwards (`V` in the paper).
    Column(usize),
    /// A row; positive shifts go to the left (`H` in the paper).
    Row(usize),
}

/// Why a text is not a board.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BoardError {
    /// The text is not of the form `MxN`.
    #[error("{0:?} is not a board: write ROWSxCOLUMNS, for example 3x4")]
    NotABoard(String),
    /// There are zero rows or columns.
    #[error("the board {0:?} has no cells: rows and columns must be at least 1, for example 3x4")]
    Empty(String),
    /// The board has more cells than [`Board::MAX_CELLS`].
    #[error(
        "the board {word:?} has {} cells, more than {limit}: choose a smaller board",
        if *cells == u128::MAX { "at least 10^38".into() } else { cells.to_string() },
        limit = Board::MAX_CELLS
    )]
    TooLarge {
        /// The text as written.
        word: String,
        /// The number of cells; [`u128::MAX`] if there are that many or more.
        cells: u128,
    },
}

impl Board {
    /// The largest number of cells of a board.
    pub const MAX_CELLS: usize = 64;
    /// The largest number of rows or columns of a board of which only the group is used.
    pub const MAX_SIDE: usize = 16;

    /// Creates a board of `rows` x `columns` cells.
    ///
    /// # Errors
    /// [`BoardError`] if it has no cells or more than [`Board::MAX_CELLS`].
    pub fn new(rows: usize, columns: usize) -> Result<Self, BoardError> {
        let word = || format!("{rows}x{columns}");
        match rows as u128 * columns as u128 {
            0 => Err(BoardError::Empty(word())),
            cells if cells > Self::MAX_CELLS as u128 => Err(BoardError::TooLarge { word: word(), cells }),
            _ => Ok(Self { rows, columns }),
        }
    }

    /// Reads a board of which only the group is used, with sides of up to [`Board::MAX_SIDE`] cells.
    ///
    /// # Errors
    /// [`BoardError`] if the text is not a board, or if the board has more than [`Board::MAX_CELLS`] cells
    /// and a side longer than [`Board::MAX_SIDE`].
    pub fn for_its_group(word: &str) -> Result<Self, BoardError> {
        let (rows, columns) = sides(word)?;
        let largest = Self::MAX_SIDE as u32;
        match word.parse() {
            Err(BoardError::TooLarge { .. }) if rows <= largest && columns <= largest => {
                Ok(Self { rows: rows as usize, columns: columns as usize })
            }
            other => other,
        }
    }

    /// Returns the number of rows, m.
    pub fn rows(self) -> usize {
        self.rows
    }

    /// Returns the number of columns, n.
    pub fn columns(self) -> usize {
        self.columns
    }

    /// Returns the number of cells, m n.
    pub fn cells(self) -> usize {
        self.rows * self.columns
    }

    /// Returns the cell in a row and a column, both counted from 0.
    pub fn cell(self, row: usize, column: usize) -> usize {
        row * self.columns + column
    }

    /// Returns the row and the column of a cell, both counted from 0.
    pub fn position(self, cell: usize) -> (usize, usize) {
        (cell / self.columns, cell % self.columns)
    }

    /// Returns the board as a puzzle under a metric.
    pub fn puzzle(self, metric: Metric) -> Puzzle {
        let mut puzzle = Puzzle {
            name: self.to_string(),
            cells: self.cells(),
            seen: vec![1; self.cells()],
            moves: self.moves(metric),
            incoming_moves: self.moves(metric),
            free: vec![OrientedPermutation::identity(vec![1; self.cells()])],
            limits: Vec::new(),
            counted: None,
            kinds: vec![0; self.cells()],
            symmetries: self.symmetries().into_iter().map(Relabelling::from_cells).collect(),
            has_all_symmetries: self.has_all_symmetries(metric),
            starts: Starts::default(),
            held: None,
            facelets: None,
        };
        if metric == Metric::Given {
            // Reflections do not map shifts in one direction to such shifts.
            let symmetries = std::mem::take(&mut puzzle.symmetries);
            puzzle.symmetries = symmetries.into_iter().filter(|a| puzzle.is_symmetry(a)).collect();
        }
        puzzle
    }

    /// Returns the lines: columns first, in the order of the paper.
    pub fn lines(self) -> impl Iterator<Item = Line> {
        (0..self.columns).map(Line::Column).chain((0..self.rows).map(Line::Row))
    }

    /// Returns the number of cells of a line.
    pub fn line_length(self, line: Line) -> usize {
        match line {
            Line::Column(_) => self.rows,
            Line::Row(_) => self.columns,
        }
    }

    /// Returns the rotation of a line by `shift` cells: upwards or to the left when `shift` is positive. The
    /// rotation of a line that is not on the board is the identity.
    pub fn rotation(self, line: Line, shift: i64) -> Permutation {
        let length = self.line_length(line) as i64;
        let moved = |at: usize| (at as i64 - shift).rem_euclid(length) as usize;
        Permutation::from_fn(self.cells(), |cell| match (line, self.position(cell)) {
            (Line::Column(c), (row, column)) if column == c => self.cell(moved(row), column),
            (Line::Row(r), (row, column)) if row == r => self.cell(row, moved(column)),
            _ => cell,
        })
    }

    /// Returns the permutation that carries each cell to the cell that `to` gives; `to` takes and returns a
    /// row and a column counted from 0.
    ///
    /// # Panics
    /// If `to` maps two cells to the same cell, or a cell off the board.
    pub fn on_cells(self, to: impl Fn(usize, usize) -> (usize, usize)) -> Permutation {
        Permutation::from_fn(self.cells(), |cell| {
            let (row, column) = self.position(cell);
            let (row, column) = to(row, column);
            self.cell(row, column)
        })
    }

    /// Returns the moves of a metric. A line of length 2 has one rotation, a line of length 1 none.
    fn moves(self, metric: Metric) -> Vec<PuzzleMove> {
        let mut moves = Vec::new();
        for line in self.lines() {
            let length = self.line_length(line) as i64;
            let shifts: Vec<i64> = match metric {
                Metric::Multi => (1..length).collect(),
                Metric::Single if length > 2 => vec![1, -1],
                Metric::Single => (1..length).collect(),
                Metric::Given | Metric::Face | Metric::Twist => (1..length.min(2)).collect(),
            };
            for shift in shifts {
                let action = OrientedPermutation::from_cells(self.rotation(line, shift));
                moves.push(PuzzleMove { name: self.move_name(line, shift), action, guard: Box::default() });
            }
        }
        moves
    }

    /// Returns whether [`Board::symmetries`] are complete. If every rotation of a line is one move,
    /// places along lines can also be multiplied by numbers that are prime to the length.
    fn has_all_symmetries(self, metric: Metric) -> bool {
        let is_kept = |length| matches!(length, 1..=4 | 6);
        metric != Metric::Multi || (is_kept(self.rows) && is_kept(self.columns))
    }

    /// Returns the group that translations (the board is a torus), reflections and, on a square board,
    /// transposition generate: each element once, the identity first.
    fn symmetries(self) -> Vec<Permutation> {
        let (m, n) = (self.rows, self.columns);
        let mut symmetries = Vec::new();
        for transposed in [false, true] {
            if transposed && m != n {
                continue;
            }
            for (flip_rows, flip_columns) in [(false, false), (false, true), (true, false), (true, true)] {
                for (down, right) in (0..m).flat_map(|down| (0..n).map(move |right| (down, right))) {
                    let image = Permutation::from_fn(self.cells(), |cell| {
                        let (row, column) = self.position(cell);
                        let (row, column) = if transposed { (column, row) } else { (row, column) };
                        let row = if flip_rows { m - 1 - row } else { row };
                        let column = if flip_columns { n - 1 - column } else { column };
                        self.cell((row + down) % m, (column + right) % n)
                    });
                    // On boards with lines of length 1 or 2 some of these coincide.
                    if !symmetries.contains(&image) {
                        symmetries.push(image);
                    }
                }
            }
        }
        symmetries
    }
}

impl fmt::Display for Board {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}x{}", self.rows, self.columns)
    }
}

impl FromStr for Board {
    type Err = BoardError;

    fn from_str(word: &str) -> Result<Self, BoardError> {
        let (rows, columns) = sides(word)?;
        Self::new(rows as usize, columns as usize)
    }
}

/// Splits the text of a board into the numbers of rows and columns.
fn sides(word: &str) -> Result<(u32, u32), BoardError> {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let (rows, columns) = word
        .split_once(['x', 'X', '×'])
        .filter(|(rows, columns)| digits(rows) && digits(columns))
        .ok_or_else(|| BoardError::NotABoard(word.into()))?;
    if let (Ok(rows), Ok(columns)) = (rows.parse(), columns.parse()) {
        return Ok((rows, columns));
    }
    // A number exceeds 32 bits.
    let [rows, columns] = [rows, columns].map(|digits| digits.parse().unwrap_or(u128::MAX));
    match rows.saturating_mul(columns) {
        0 => Err(BoardError::Empty(word.into())),
        cells => Err(BoardError::TooLarge { word: word.into(), cells }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_boards(largest: usize) -> impl Iterator<Item = Board> {
        (1..=largest).flat_map(move |m| (1..=largest / m).map(move |n| Board::new(m, n).unwrap()))
    }

    #[test]
    fn counts_of_moves_and_symmetries() {
        // (board, multi moves, single moves, symmetries). The numbers agree with the tables that the tests of
        // several crates share; those for 1xN are counted by hand.
        for (word, multi, single, symmetries) in [
            ("1x1", 0, 0, 1),
            ("1x2", 1, 1, 2),
            ("1x5", 4, 2, 10),
            ("2x2", 4, 4, 8),
            ("2x3", 7, 7, 12),
            ("2x4", 10, 8, 16),
            ("2x5", 13, 9, 20),
            ("3x3", 12, 12, 72),
            ("3x4", 17, 14, 48),
            ("2x6", 16, 10, 24),
            ("4x4", 24, 16, 128),
            ("8x8", 112, 32, 512),
        ] {
            let board: Board = word.parse().unwrap();
            assert_eq!(board.puzzle(Metric::Multi).moves.len(), multi, "{word}");
            assert_eq!(board.puzzle(Metric::Single).moves.len(), single, "{word}");
            assert_eq!(board.symmetries().len(), symmetries, "{word}");
        }
    }

    #[test]
    fn moves_are_distinct_closed_and_symmetric() {
        for board in all_boards(16).chain([Board::new(8, 8).unwrap()]) {
            for metric in Metric::ALL {
                let puzzle = board.puzzle(metric);
                assert!(puzzle.is_closed_under_inverses(), "{board} {metric}");
                for (i, m) in puzzle.moves.iter().enumerate() {
                    assert!(!m.action.is_identity());
                    assert!(
                        puzzle.moves[..i].iter().all(|other| other.action != m.action),
                        "{board} {}",
                        m.name
                    );
                }
                assert!(puzzle.symmetries[0].is_identity());
                assert!(puzzle.symmetries.iter().all(|a| puzzle.is_symmetry(a)), "{board} {metric}");
            }
        }
    }

    #[test]
    fn symmetries_form_a_group() {
        for board in all_boards(12) {
            let symmetries = board.symmetries();
            for a in &symmetries {
                for b in &symmetries {
                    assert!(symmetries.contains(&a.then(b)), "{board}");
                }
            }
        }
    }

    #[test]
    fn columns_move_up_and_rows_to_the_left() {
        // The paper, after definition 2.2.1: V_1^1 maps position (2,1) to position (1,1).
        let board = Board::new(3, 3).unwrap();
        assert_eq!(board.rotation(Line::Column(0), 1).apply(board.cell(1, 0)), board.cell(0, 0));
        assert_eq!(board.rotation(Line::Row(0), 1).apply(board.cell(0, 1)), board.cell(0, 0));
        // V_i^j = (φ(n,i) φ(n-1,i) … φ(1,i))^j with φ(x,y) = n(x-1) + y.
        assert_eq!(board.rotation(Line::Column(1), 1), Permutation::parse("(8,5,2)", 9).unwrap());
    }

    #[test]
    fn invalid_boards_are_rejected() {
        for word in ["3y4", "3", "", "x", "3x", "x4", "3x4x5", "-3x4", "+3x4", " 3x4"] {
            assert_eq!(word.parse::<Board>(), Err(BoardError::NotABoard(word.into())), "{word}");
        }
        for word in ["3X4", "3×4"] {
            assert_eq!(word.parse::<Board>(), Board::new(3, 4).map_err(|_| unreachable!()), "{word}");
        }
        for word in ["0x3", "3x0"] {
            assert_eq!(word.parse::<Board>(), Err(BoardError::Empty(word.into())));
        }
        assert!(matches!("9x8".parse::<Board>(), Err(BoardError::TooLarge { cells: 72, .. })));
        for (word, cells) in [
            ("4294967296x3", "12884901888"),
            ("1x99999999999", "99999999999"),
            ("99999999999999999999x99999999999999999999", "at least 10^38"),
            ("1x9999999999999999999999999999999999999999", "at least 10^38"),
        ] {
            let message = word.parse::<Board>().unwrap_err().to_string();
            assert!(message.contains(&format!(" has {cells} cells, more than 64")), "{message}");
        }
        assert_eq!("99999999999x0".parse::<Board>(), Err(BoardError::Empty("99999999999x0".into())));
    }
}
