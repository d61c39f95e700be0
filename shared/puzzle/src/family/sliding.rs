//! Sliding tiles: one cell of a board is blank, and a tile beside it moves there.
//!
//! A move is possible only while the blank is where it begins. To say so by [limits](Definition::set_never),
//! a second orbit has, for each cell of the board, one cell for each number modulo m, and a marker: the
//! marker is at cell c and number k if the blank is on c and k is the *code* of c. A move carries the marker
//! as it carries the blank, and adds the difference of codes that is right for its beginning; anywhere else
//! the sum is not the code of the cell that the marker reaches, so the limits exclude the state.

use super::FamilyError;
use crate::definition::{Definition, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::cmp::Ordering;

/// The beginning of the names.
pub const PREFIX: &str = "sliding:";
/// The pattern of the names.
pub const PATTERN: &str = "sliding:RxC";
/// The largest number of cells of a board.
const MAX_CELLS: usize = 64;

/// A board with sliding tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sliding {
    rows: usize,
    columns: usize,
    /// Whether tiles between the blank and a cell in its row or column may move together.
    is_multi: bool,
    /// Whether the first row and column follow the last.
    is_torus: bool,
    /// The blank cell of the solved board.
    blank: usize,
}

/// The codes of cells, modulo a number.
struct Codes {
    of_cell: Vec<usize>,
    modulus: usize,
}

/// A move: the cells that the blank passes, from its beginning to its end.
type Path = Vec<usize>;

impl Sliding {
    /// Reads a name: `sliding:3x4`, followed by `,multi`, `,torus` or `,blank=CELL` in any order. `None` if
    /// the text does not begin like such a name.
    ///
    /// # Errors
    /// [`FamilyError::Numbers`] if the rest is none of these.
    pub fn by_name(word: &str) -> Option<Result<Self, FamilyError>> {
        let rest = word.strip_prefix(PREFIX)?;
        Some(Self::parse(rest).ok_or_else(|| FamilyError::Numbers {
            word: word.into(),
            pattern: PATTERN,
            limits: format!("2 <= R, 2 <= C, R C <= {MAX_CELLS}, and any of ,multi ,torus ,blank=CELL"),
            example: "sliding:3x4,multi",
        }))
    }

    fn parse(text: &str) -> Option<Self> {
        let number = |text: &str| text.parse::<usize>().ok().filter(|_| !text.starts_with('+'));
        let mut words = text.split(',');
        let (rows, columns) = words.next()?.split_once('x')?;
        let (rows, columns) = (number(rows)?, number(columns)?);
        let cells =
            rows.checked_mul(columns).filter(|&cells| cells <= MAX_CELLS && rows > 1 && columns > 1)?;
        let mut found = Self { rows, columns, is_multi: false, is_torus: false, blank: cells - 1 };
        for word in words {
            match word.split_once('=') {
                None if word == "multi" => found.is_multi = true,
                None if word == "single" => found.is_multi = false,
                None if word == "torus" => found.is_torus = true,
                Some(("blank", cell)) => {
                    found.blank = number(cell)?.checked_sub(1).filter(|&cell| cell < cells)?;
                }
                _ => return None,
            }
        }
        Some(found)
    }

    /// Returns the same board where rows of tiles move at once, or single tiles.
    pub fn with_rows(self, is_multi: bool) -> Self {
        Self { is_multi, ..self }
    }

    fn cells(self) -> usize {
        self.rows * self.columns
    }

    /// Returns the name.
    pub fn name(self) -> String {
        let mut name = format!("{PREFIX}{}x{}", self.rows, self.columns);
        name.push_str(if self.is_multi { ",multi" } else { "" });
        name.push_str(if self.is_torus { ",torus" } else { "" });
        if self.blank + 1 != self.cells() {
            name.push_str(&format!(",blank={}", self.blank + 1));
        }
        name
    }

    /// Returns the puzzle. The first cells are those of the board, row by row. The move `b1-3` carries the
    /// blank from cell 1 to cell 3, or where single tiles move and the board can be coloured like a
    /// chessboard, also back.
    pub fn definition(self) -> Definition {
        let cells = self.cells();
        let paths = self.paths();
        // Where cells alternate, the parity of a cell is its code, and moves are their own inverses.
        let parities = Codes { of_cell: (0..cells).map(|cell| self.code(cell, 1) % 2).collect(), modulus: 2 };
        let is_alternating = paths.iter().all(|path| path.len() == 2 && parities.step(path) == 1);
        let codes = if is_alternating { parities } else { self.codes(&paths) };
        let orbit = |name: &str, cells| Orbit { name: name.into(), cells, orientations: 1 };
        let orbits = vec![orbit("tiles", cells), orbit("blank", cells * codes.modulus)];
        let mut puzzle = Definition::new(self.name(), orbits).expect("boards are small");
        let marker = self.marked(&codes, self.blank);
        let place = |cell: usize| Piece { label: cell as u16, orientation: 0, seen: 1 };
        let mark = |cell: usize| place(if cell == marker { cells + 1 } else { cells });
        let solved = (0..cells).map(place).chain((cells..puzzle.cells()).map(mark)).collect::<Vec<_>>();
        puzzle.set_solved(&solved).expect("labels are those of the orbits");
        let allowed = |cell: &usize| *cell != self.marked(&codes, (*cell - cells) / codes.modulus);
        let never: Vec<(u16, u16)> =
            (cells..puzzle.cells()).filter(allowed).map(|cell| (cell as u16, marker as u16)).collect();
        puzzle.set_never(&never).expect("the marker is allowed where it is");
        for path in &paths {
            let (from, to) = (path[0], path[path.len() - 1]);
            if is_alternating && from > to {
                continue;
            }
            let carried = |cell: usize| match path.iter().position(|&other| other == cell) {
                Some(0) => to,
                Some(at) => path[at - 1],
                None => cell,
            };
            let action = Permutation::from_fn(puzzle.cells(), |cell| match cell.checked_sub(cells) {
                None => carried(cell),
                Some(mark) => {
                    let (cell, number) = (mark / codes.modulus, mark % codes.modulus);
                    cells + codes.modulus * carried(cell) + (number + codes.step(path)) % codes.modulus
                }
            });
            let mut name = format!("b{}-{}", from + 1, to + 1);
            // On a torus there are two ways along a line.
            if puzzle.moves().iter().any(|known| known.name == name) {
                name.push('w');
            }
            puzzle.add_move(name, OrientedPermutation::from_cells(action)).expect("names are distinct");
        }
        puzzle
    }

    /// Returns the tiles of a state of [`Sliding::definition`], on all its cells. A state is written with 0
    /// for the blank and the tiles from 1, as they are numbered row by row on the solved board. `None` if the
    /// numbers are not all of these.
    pub fn state(self, numbers: &[u64]) -> Option<Vec<usize>> {
        let (cells, puzzle) = (self.cells(), self.definition());
        let homes: Vec<usize> = (0..cells).filter(|&cell| cell != self.blank).collect();
        let home = |&number: &u64| match number {
            0 => Some(self.blank),
            number => homes.get(usize::try_from(number).ok()?.checked_sub(1)?).copied(),
        };
        let mut tiles = numbers.iter().map(home).collect::<Option<Vec<usize>>>()?;
        crate::tiles::check(&tiles, cells).ok()?;
        let blank = tiles.iter().position(|&tile| tile == self.blank)?;
        let marker = usize::from(puzzle.never().first()?.1);
        let modulus = puzzle.cells() / cells - 1;
        let never = puzzle.never();
        let holds =
            |number: &usize| !never.contains(&((cells + modulus * blank + number) as u16, marker as u16));
        let marked = cells + modulus * blank + (0..modulus).find(holds)?;
        let mut others = (cells..puzzle.cells()).filter(|&piece| piece != marker);
        tiles.extend(
            (cells..puzzle.cells())
                .map(|cell| if cell == marked { marker } else { others.next().unwrap_or(cell) }),
        );
        Some(tiles)
    }

    /// Writes a state of [`Sliding::definition`], given by the tiles on its cells, in the form that [`Sliding::state`] reads.
    pub fn numbers(self, tiles: &[u16]) -> Vec<usize> {
        let number = |&tile: &u16| match usize::from(tile).cmp(&self.blank) {
            Ordering::Less => usize::from(tile) + 1,
            Ordering::Equal => 0,
            Ordering::Greater => usize::from(tile),
        };
        tiles[..self.cells()].iter().map(number).collect()
    }

    /// Returns the cell of the second orbit that the marker is on while the blank is on a cell of the board.
    fn marked(self, codes: &Codes, blank: usize) -> usize {
        self.cells() + codes.modulus * blank + codes.of_cell[blank]
    }

    fn code(self, cell: usize, per_row: usize) -> usize {
        cell % self.columns + per_row * (cell / self.columns)
    }

    /// Returns codes with which each move is possible only from its beginning.
    fn codes(self, paths: &[Path]) -> Codes {
        let cells = self.cells();
        let candidates =
            (2..=2 * cells + 1).flat_map(|modulus| (1..modulus.min(9)).map(move |row| (modulus, row)));
        let with = |(modulus, row): (usize, usize)| Codes {
            of_cell: (0..cells).map(|cell| self.code(cell, row) % modulus).collect(),
            modulus,
        };
        // On a torus a move along a whole line rotates the line, wherever on it the blank is.
        let is_rotation = |path: &Path| {
            let line =
                if path[0] / self.columns == path[1] / self.columns { self.columns } else { self.rows };
            self.is_torus && path.len() == line
        };
        candidates
            .map(with)
            .find(|codes| codes.fit(paths, is_rotation))
            .expect("every board of this size has codes")
    }

    /// Returns all moves.
    fn paths(self) -> Vec<Path> {
        let mut paths = Vec::new();
        for from in 0..self.cells() {
            let (row, column) = (from / self.columns, from % self.columns);
            for (length, at, is_row) in [(self.columns, column, true), (self.rows, row, false)] {
                for is_forwards in [true, false] {
                    let longest = if self.is_multi { length - 1 } else { 1 };
                    for steps in 1..=longest {
                        let place = |step: usize| match is_forwards {
                            true if at + step < length || self.is_torus => Some((at + step) % length),
                            false if at >= step || self.is_torus => Some((at + length - step) % length),
                            _ => None,
                        };
                        let cell = |place: usize| match is_row {
                            true => row * self.columns + place,
                            false => place * self.columns + column,
                        };
                        let path = (0..=steps).map(|step| place(step).map(cell)).collect::<Option<Path>>();
                        // On two cells both directions are the same move.
                        if let Some(path) = path.filter(|path| !paths.contains(path)) {
                            paths.push(path);
                        }
                    }
                }
            }
        }
        paths
    }
}

impl Codes {
    /// Returns what a move adds to the number of the marker.
    fn step(&self, path: &Path) -> usize {
        (self.of_cell[path[path.len() - 1]] + self.modulus - self.of_cell[path[0]]) % self.modulus
    }

    /// Returns whether each move leads from its beginning, and from no other cell, to a cell with the right
    /// code. Moves that are rotations of a line may also lead from its other cells.
    fn fit(&self, paths: &[Path], is_rotation: impl Fn(&Path) -> bool) -> bool {
        let moved = |path: &Path, at: usize| {
            (self.of_cell[path[at - 1]] + self.modulus - self.of_cell[path[at]]) % self.modulus
        };
        paths.iter().all(|path| {
            let step = self.step(path);
            step != 0 && (is_rotation(path) || (1..path.len()).all(|at| moved(path, at) != step))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn board(word: &str) -> Sliding {
        Sliding::by_name(word).unwrap().unwrap()
    }

    /// Counts the states at each distance with the limits of the definition.
    fn growth(word: &str) -> Vec<usize> {
        let puzzle = board(word).definition();
        let never: HashSet<(u16, u16)> = puzzle.never().iter().copied().collect();
        let label = |piece: u16| puzzle.solved()[usize::from(piece)].label;
        let is_allowed = |state: &Vec<u16>| {
            (0..)
                .zip(state)
                .all(|(cell, &look)| !never.iter().any(|&(at, piece)| at == cell && label(piece) == look))
        };
        let solved: Vec<u16> = puzzle.solved().iter().map(|piece| piece.label).collect();
        let mut seen = HashSet::from([solved.clone()]);
        let (mut layer, mut counts) = (vec![solved], Vec::new());
        while !layer.is_empty() {
            counts.push(layer.len());
            let moved = |state: &Vec<u16>, action: &OrientedPermutation| {
                let back = action.inverse();
                (0..state.len()).map(|cell| state[back.cells().apply(cell)]).collect::<Vec<u16>>()
            };
            let next = layer.iter().flat_map(|state| puzzle.moves().iter().map(|m| moved(state, &m.action)));
            let next: Vec<Vec<u16>> = next.filter(is_allowed).collect();
            layer = next.into_iter().filter(|state| seen.insert(state.clone())).collect();
        }
        counts
    }

    /// Counts the states at each distance by moving the blank.
    fn by_blank(word: &str) -> Vec<usize> {
        let board = board(word);
        let paths = board.paths();
        let solved: Vec<usize> = (0..board.cells()).collect();
        let mut seen = HashSet::from([solved.clone()]);
        let (mut layer, mut counts) = (vec![solved], Vec::new());
        while !layer.is_empty() {
            counts.push(layer.len());
            let mut next = Vec::new();
            for state in &layer {
                for path in paths.iter().filter(|path| state[path[0]] == board.blank) {
                    let mut to = state.clone();
                    path.windows(2).for_each(|step| to.swap(step[0], step[1]));
                    if seen.insert(to.clone()) {
                        next.push(to);
                    }
                }
            }
            layer = next;
        }
        counts
    }

    /// Moves are possible exactly while the blank is at their beginning.
    #[test]
    fn limits_say_where_the_blank_is() {
        for word in [
            "sliding:2x2",
            "sliding:2x3",
            "sliding:2x3,multi",
            "sliding:2x3,multi,blank=2",
            "sliding:2x3,torus",
            "sliding:3x2,torus,multi",
            "sliding:2x4,torus",
        ] {
            assert_eq!(growth(word), by_blank(word), "{word}");
        }
    }

    /// OEIS A151944: the largest distances of m x n boards where single tiles move. 2x2 has 12 states.
    #[test]
    fn known_boards() {
        assert_eq!(by_blank("sliding:2x2"), [1, 2, 2, 2, 2, 2, 1]);
        assert_eq!(by_blank("sliding:2x3").len() - 1, 21);
        // OEIS A089474, the eight-puzzle with the blank in a corner.
        let eight = by_blank("sliding:3x3");
        assert_eq!((eight.len() - 1, &eight[..10]), (31, &[1, 2, 4, 8, 16, 20, 39, 62, 116, 152][..]));
        assert_eq!((eight[30], eight[31]), (221, 2));
        assert_eq!(by_blank("sliding:3x3,multi").len() - 1, 24);
        assert_eq!(by_blank("sliding:2x4").len() - 1, 36);
        assert_eq!(by_blank("sliding:2x4,multi").len() - 1, 25);
    }

    #[test]
    fn names_and_states() {
        for word in
            ["sliding:3x4", "sliding:3x4,multi", "sliding:3x4,torus,blank=1", "sliding:8x8,multi,torus"]
        {
            assert_eq!(board(word).name(), word);
            assert_eq!(board(word).definition().name(), word);
        }
        for word in [
            "sliding:",
            "sliding:1x9",
            "sliding:9x8",
            "sliding:3",
            "sliding:3x4,rows",
            "sliding:3x4,blank=13",
        ] {
            assert!(Sliding::by_name(word).unwrap().is_err(), "{word}");
        }
        assert!(Sliding::by_name("pancake:8").is_none());
        // The blank is not always the last cell.
        let (second, numbers) = (board("sliding:2x3,blank=2"), [5, 4, 3, 2, 1, 0]);
        let tiles: Vec<u16> = second.state(&numbers).unwrap().iter().map(|&tile| tile as u16).collect();
        assert_eq!((tiles[5], second.numbers(&tiles)), (1, numbers.map(|number| number as usize).to_vec()));
        let board = board("sliding:2x2");
        assert_eq!(board.state(&[1, 2, 3, 0]).unwrap()[..4], [0, 1, 2, 3]);
        let state = board.state(&[1, 0, 3, 2]).unwrap();
        // The marker of the solved blank, the piece 4 + 2 * 3 + 0, is on cell 1 with parity 1.
        assert_eq!((&state[..4], state[4 + 2 + 1]), (&[0, 3, 2, 1][..], 10));
        assert_eq!(board.numbers(&state.iter().map(|&tile| tile as u16).collect::<Vec<_>>()), [1, 0, 3, 2]);
        assert_eq!(board.state(&[1, 1, 3, 0]), None);
        assert_eq!(board.state(&[1, 2, 3]), None);
    }
}
