//! The ranks of a pattern's images under many actions, symmetries or moves.
//!
//! An action carries each symbol to another cell, so the [code](CodedRanks) of the image is the sum of the
//! contributions of each group of cells. A table stores these contributions, for all actions side by side:
//! computing all images takes one row per group, and two entries of the rank tables per image. Computing one
//! image after the other, symbol by symbol, takes about ten times as long.

use super::CosetSymmetry;
use crate::cells::Cell;
use crate::ranks::CodedRanks;
use crate::{Colouring, Ranks, Space, WordMove};

/// An action on patterns: by cell and symbol, the cell to which the symbol goes, and the new symbol.
struct Action(Box<[(Cell, u8)]>);

/// Finds the ranks of images.
pub(super) struct Images<'a> {
    ranks: &'a Ranks,
    symbols: usize,
    actions: Box<[Action]>,
    /// Empty if there are no tables of ranks.
    groups: Box<[Group]>,
    coded: Option<&'a CodedRanks>,
}

/// Neighbouring cells.
struct Group {
    first: usize,
    cells: usize,
    /// By the symbols on the cells, as digits of a number, and by action: what they add to the image's code.
    codes: Box<[u64]>,
}

impl<'a> Images<'a> {
    /// The largest number of entries of a group's table.
    const MAX_TABLE: usize = 1 << 15;

    /// For the symmetries in use.
    pub(super) fn under_symmetries(
        colouring: &'a Colouring,
        coded: Option<&'a CodedRanks>,
        symmetries: &[CosetSymmetry],
    ) -> Self {
        let symbols = colouring.symbols();
        let of_symmetry = |CosetSymmetry { symmetry, action, .. }: &CosetSymmetry| {
            Action::new(colouring, |cell, letter| {
                let renamed = action.symbols[usize::from(letter)];
                (symmetry.cells[cell], symbols.turned(renamed, symmetry.turn(cell)))
            })
        };
        Self::new(colouring, coded, symmetries.iter().map(of_symmetry).collect())
    }

    /// For the moves, ignoring their guards.
    pub(super) fn under_moves(
        space: &Space,
        colouring: &'a Colouring,
        coded: Option<&'a CodedRanks>,
    ) -> Self {
        let of_move = |step: &WordMove| {
            Action::new(colouring, |cell, letter| {
                (step.cells[cell], colouring.symbols().turned(letter, step.turn(cell)))
            })
        };
        Self::new(colouring, coded, space.moves().iter().map(of_move).collect())
    }

    /// For the inverses of the [arrivals](Space::incoming_moves), ignoring their guards. The
    /// image is the pattern from which the arrival leads to the pattern.
    pub(super) fn before_arrivals(
        space: &Space,
        colouring: &'a Colouring,
        coded: Option<&'a CodedRanks>,
    ) -> Self {
        let of_arrival = |step: &WordMove| {
            let mut comes = vec![0; step.cells.len()];
            step.cells.iter().enumerate().for_each(|(from, &to)| comes[usize::from(to)] = from);
            Action::new(colouring, |cell, letter| {
                let from = comes[cell];
                let back = match step.turn(from) {
                    0 => 0,
                    turn => space.order(from) as u8 - turn,
                };
                (from as Cell, colouring.symbols().turned(letter, back))
            })
        };
        Self::new(colouring, coded, space.incoming_moves().iter().map(of_arrival).collect())
    }

    fn new(colouring: &'a Colouring, coded: Option<&'a CodedRanks>, actions: Box<[Action]>) -> Self {
        let (symbols, cells) = (colouring.symbols().count(), colouring.solved().len());
        let fits = |&of_group: &usize| {
            symbols.checked_pow(of_group as u32).is_some_and(|n| n * actions.len() <= Self::MAX_TABLE)
        };
        let of_group = (1..=cells).take_while(fits).last().unwrap_or(1);
        let group = |first: usize, coded: &CodedRanks| {
            let cells = of_group.min(cells - first);
            let mut codes = vec![0; symbols.pow(cells as u32) * actions.len()];
            for (number, row) in codes.chunks_exact_mut(actions.len().max(1)).enumerate() {
                let mut rest = number;
                for cell in first..first + cells {
                    let letter = rest % symbols;
                    rest /= symbols;
                    for (code, action) in row.iter_mut().zip(&actions) {
                        let (to, image) = action.0[cell * symbols + letter];
                        *code = u64::wrapping_add(*code, coded.code(to, image));
                    }
                }
            }
            Group { first, cells, codes: codes.into() }
        };
        let of = |coded| (0..cells).step_by(of_group).map(|first| group(first, coded)).collect();
        let groups = coded.map_or_else(Box::default, of);
        Self { ranks: colouring.patterns(), symbols, actions, groups, coded }
    }

    /// Returns the number of actions.
    pub(super) fn len(&self) -> usize {
        self.actions.len()
    }

    /// Writes the ranks of all images of a pattern. `buffer` has as many cells as the pattern.
    pub(super) fn ranks(&self, pattern: &[u8], ranks: &mut [u64], buffer: &mut [u8]) {
        let Some(coded) = self.coded else {
            for (action, rank) in (0..).zip(ranks) {
                self.carry(action, pattern, buffer);
                *rank = self.ranks.rank(buffer);
            }
            return;
        };
        ranks.fill(0);
        for Group { first, cells, codes } in &self.groups {
            let symbols = pattern[*first..][..*cells].iter().rev();
            let number = symbols.fold(0, |number, &letter| number * self.symbols + usize::from(letter));
            for (rank, code) in ranks.iter_mut().zip(&codes[number * self.len()..]) {
                *rank += code;
            }
        }
        coded.ranks(ranks);
    }

    /// Writes the image of a pattern under one action.
    pub(super) fn carry(&self, action: usize, pattern: &[u8], image: &mut [u8]) {
        let to = self.actions[action].0.chunks_exact(self.symbols);
        for (to, &letter) in to.zip(pattern) {
            let (cell, letter) = to[usize::from(letter)];
            image[usize::from(cell)] = letter;
        }
    }
}

impl Action {
    fn new(colouring: &Colouring, to: impl Fn(usize, u8) -> (Cell, u8)) -> Self {
        let symbols = colouring.symbols().count();
        let of_cell = |cell| (0..symbols).map(move |letter| (cell, letter as u8));
        Self((0..colouring.solved().len()).flat_map(of_cell).map(|(cell, letter)| to(cell, letter)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::super::symmetries_in_use;
    use crate::{Labels, Plan};
    use fathom_puzzle::{Metric, PuzzleSpec};

    use super::*;

    /// Covers pieces that turn, symmetries that rename symbols, several orbits, puzzles that turn freely as a
    /// whole, and a move whose inverse is not a move.
    #[test]
    fn table_ranks_match_image_ranks() {
        let words = [
            ("3x3", true),
            ("2x5", true),
            ("3x4", true),
            ("4x4", true),
            ("2x2x2", true),
            ("topspin:7,4", true),
            ("3x3x3-corners", true),
            ("3x3x3-edges", true),
            ("3x3x3-positions", true),
            ("lx:8", true),
        ];
        for (word, has_tables) in words {
            let spec = PuzzleSpec::by_name(word).unwrap();
            let metric =
                [Metric::Multi, Metric::Given].into_iter().find(|&metric| spec.puzzle(metric).is_ok());
            let puzzle = spec.puzzle(metric.unwrap()).unwrap();
            let labels = Labels::distinct(puzzle.cells);
            let space = Space::new(puzzle, metric.unwrap(), labels).unwrap();
            let colouring = Plan::outline(&space).unwrap().colouring;
            let symmetries = symmetries_in_use(&space, &colouring);
            let (ranks, symbols, cells) = (colouring.patterns(), colouring.symbols(), space.cells());
            let coded = CodedRanks::new(ranks);
            assert_eq!(coded.is_some(), has_tables, "{word}");
            for coded in [coded.as_ref(), None] {
                let by_symmetry = Images::under_symmetries(&colouring, coded, &symmetries);
                let by_move = Images::under_moves(&space, &colouring, coded);
                let before = Images::before_arrivals(&space, &colouring, coded);
                let mut pattern = vec![0; cells];
                for rank in (0..ranks.total()).step_by(1 + ranks.total() as usize / 200) {
                    ranks.unrank(rank, symbols, &mut pattern);
                    let compare = |images: &Images<'_>, plain: &dyn Fn(usize, &mut [u8])| {
                        let (mut got, mut image, mut expected) =
                            (vec![0; images.len()], vec![0; cells], vec![0; cells]);
                        images.ranks(&pattern, &mut got, &mut image);
                        for (number, &got) in got.iter().enumerate() {
                            plain(number, &mut expected);
                            images.carry(number, &pattern, &mut image);
                            assert_eq!(image, expected, "{word}, pattern {rank}, action {number}");
                            assert_eq!(got, ranks.rank(&expected), "{word}, pattern {rank}, action {number}");
                        }
                    };
                    compare(&by_symmetry, &|number, image| {
                        let CosetSymmetry { symmetry, action, .. } = &symmetries[number];
                        symmetry.carry(symbols, &action.symbols, &pattern, image);
                    });
                    compare(&by_move, &|mv, image| space.step(mv, symbols, &pattern, image));
                    compare(&before, &|mv, source| space.step_back(mv, symbols, &pattern, source));
                }
            }
        }
    }
}
