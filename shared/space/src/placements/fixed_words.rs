//! Words that an action maps to itself.

use super::prefixes::{Path, Prefixes};
use super::{Action, OPEN, Placements};
use crate::Space;
use crate::cells::Cell;
use std::cmp::Ordering;
use std::ops::Range;

/// The words that an action maps to itself. Moves need not reach all of them; where all pieces differ, most
/// unreachable words are skipped. Of the fixed words that symmetries map to each other, only the smallest is
/// listed, with their number. The symmetries must form a group.
///
/// A fixed word is a union of cycles of the action that has each cell once, and each label as often as there
/// are pieces. Words are divided into *branches* by the cycle that has the first cell.
pub(crate) struct FixedWords<'a> {
    space: &'a Space,
    prefixes: Option<&'a Prefixes>,
    /// The number of symmetries that commute with the action.
    symmetries: usize,
    /// The number of these symmetries that change no word.
    idle: usize,
    /// The remaining symmetries.
    moving: Vec<Renaming>,
    /// By first cell: the cycles of the action.
    cycles: Vec<Vec<Box<[Placement]>>>,
}

/// A symbol on a cell.
#[derive(Clone, Copy)]
struct Placement {
    cell: Cell,
    letter: u8,
    label: u8,
}

impl<'a> FixedWords<'a> {
    /// Prepares the list of the words that an action fixes, up to these symmetries.
    pub(crate) fn new(
        placements: &'a Placements,
        space: &'a Space,
        action: &Action,
        symmetries: &[Action],
    ) -> Self {
        let mut cycles: Vec<Vec<Box<[Placement]>>> = vec![Vec::new(); space.cells()];
        let mut seen = vec![false; placements.of.len()];
        for start in 0..placements.of.len() {
            let mut cycle = Vec::new();
            let mut at = start;
            while !std::mem::replace(&mut seen[at], true) {
                let (cell, letter) = placements.of[at];
                cycle.push(Placement { cell, letter, label: space.symbols().mark(letter) });
                at = action[at] as usize;
            }
            // Placements are numbered in the order of their cells, so the first cell of a cycle is its
            // smallest.
            if let Some(first) = cycle.first() {
                cycles[usize::from(first.cell)].push(cycle.into());
            }
        }
        let commutes = |symmetry: &&Action| {
            let is_same = |(&to, &moved): (&u32, &u32)| symmetry[to as usize] == action[moved as usize];
            action.iter().zip(&***symmetry).all(is_same)
        };
        let (idle, moving): (Vec<&Action>, Vec<&Action>) =
            symmetries.iter().filter(commutes).partition(|symmetry| symmetry.is_sorted());
        Self {
            space,
            prefixes: placements.prefixes(space),
            symmetries: idle.len() + moving.len(),
            idle: idle.len(),
            moving: moving.into_iter().map(|symmetry| Renaming::new(placements, symmetry)).collect(),
            cycles,
        }
    }

    /// Returns the number of branches.
    pub(crate) fn branches(&self) -> usize {
        self.cycles[0].len()
    }

    /// Calls `found` with each word of a branch, and the number of words that it represents, until
    /// `found` returns false.
    pub(crate) fn visit(&self, branch: usize, found: &mut impl FnMut(&[u8], u32) -> bool) {
        let mut current = Current {
            words: self,
            left: self.space.labels().sizes().to_vec(),
            word: vec![OPEN; self.cycles.len()],
            path: self.prefixes.map(Prefixes::start),
            agreeing: self.moving.iter().map(|symmetry| Agreeing { symmetry, cell: 0, open: 0 }).collect(),
            found,
        };
        current.with(&self.cycles[0][branch], 0..self.moving.len());
    }
}

/// The action of a symmetry on words.
struct Renaming {
    symbols: usize,
    /// By cell: the cell from which its symbol comes.
    sources: Vec<Cell>,
    /// By cell, and by symbol on the cell from which the symbol comes: the new symbol.
    becomes: Vec<u8>,
}

impl Renaming {
    fn new(placements: &Placements, symmetry: &Action) -> Self {
        let symbols = placements.symbols;
        let mut sources = vec![0; placements.numbers.len() / symbols];
        let mut becomes = vec![0; placements.numbers.len()];
        for (&(from, letter), &to) in placements.of.iter().zip(symmetry) {
            let (to, renamed) = placements.at(to);
            sources[usize::from(to)] = from;
            becomes[usize::from(to) * symbols + usize::from(letter)] = renamed;
        }
        Self { symbols, sources, becomes }
    }

    /// Compares the image of a word with the word, from `cell` on up to the first cell where either of them
    /// is open. If they agree, the result is that cell, and the cell of the word that is open.
    fn compare(&self, word: &[u8], cell: usize) -> Result<(Cell, Cell), Ordering> {
        let becomes = self.becomes[cell * self.symbols..].chunks_exact(self.symbols);
        let cells = word[cell..].iter().zip(&self.sources[cell..]).zip(becomes).zip(cell as Cell..);
        for (((&letter, &source), becomes), at) in cells {
            let from = word[usize::from(source)];
            if letter == OPEN || from == OPEN {
                return Ok((at, if letter == OPEN { at } else { source }));
            }
            match becomes[usize::from(from)].cmp(&letter) {
                Ordering::Equal => {}
                order => return Err(order),
            }
        }
        Ok((word.len() as Cell, 0))
    }
}

/// A symmetry that maps a word to one that agrees with the word up to a cell.
#[derive(Clone, Copy)]
struct Agreeing<'w> {
    symmetry: &'w Renaming,
    /// The first cell that is not compared yet.
    cell: Cell,
    /// The open cell of the word for which the comparison waits.
    open: Cell,
}

/// The word that is being filled, with what is known about it.
struct Current<'w, F> {
    words: &'w FixedWords<'w>,
    /// By label: the number of pieces that have no cell yet.
    left: Vec<u16>,
    /// By cell: its symbol, or [`OPEN`].
    word: Vec<u8>,
    /// What is known about the beginning of the word.
    path: Option<Path>,
    /// For each of the cycles placed so far, the symmetries that map the word to one that agrees with it.
    agreeing: Vec<Agreeing<'w>>,
    found: &'w mut F,
}

impl<'w, F: FnMut(&[u8], u32) -> bool> Current<'w, F> {
    /// Fills the cells from `cell` on in all ways, except those that one of the symmetries maps to smaller
    /// words. Symmetries that are not in this range of `agreeing` make larger words. Returns false if `found`
    /// has returned false.
    fn place(&mut self, cell: usize, symmetries: Range<usize>) -> bool {
        let words = self.words;
        if let (Some(prefixes), Some(path)) = (words.prefixes, &mut self.path)
            && !prefixes.allow(words.space, &self.word, path)
        {
            return true;
        }
        let begin = self.agreeing.len();
        for number in symmetries {
            let Agreeing { symmetry, cell, open } = self.agreeing[number];
            if self.word[usize::from(open)] == OPEN {
                self.agreeing.push(Agreeing { symmetry, cell, open });
                continue;
            }
            match symmetry.compare(&self.word, cell.into()) {
                Err(Ordering::Less) => {
                    self.agreeing.truncate(begin);
                    return true;
                }
                Err(_) => {}
                Ok((cell, open)) => self.agreeing.push(Agreeing { symmetry, cell, open }),
            }
        }
        let equal = begin..self.agreeing.len();
        let goes_on = match self.word[cell..].iter().position(|&letter| letter == OPEN) {
            Some(open) => words.cycles[cell + open].iter().all(|cycle| self.with(cycle, equal.clone())),
            None => (self.found)(&self.word, (words.symmetries / (words.idle + equal.len())) as u32),
        };
        self.agreeing.truncate(begin);
        goes_on
    }

    /// Fills the cells in all ways that contain a cycle, whose first cell is the first open one. The result
    /// is that of [`Current::place`].
    fn with(&mut self, cycle: &'w [Placement], symmetries: Range<usize>) -> bool {
        // One symbol rules out most cycles.
        if let (Some(prefixes), Some(path)) = (self.words.prefixes, &self.path)
            && !cycle.iter().all(|at| prefixes.allows(path, at.cell.into(), at.letter))
        {
            return true;
        }
        let known = self.path.as_ref().map(Path::levels);
        let placed = cycle.iter().take_while(|at| self.put(at)).count();
        let goes_on = placed < cycle.len() || self.place(usize::from(cycle[0].cell) + 1, symmetries);
        if let (Some(path), Some(known)) = (&mut self.path, known) {
            path.truncate(known);
        }
        for at in &cycle[..placed] {
            self.left[usize::from(at.label)] += 1;
            self.word[usize::from(at.cell)] = OPEN;
        }
        goes_on
    }

    /// Puts a symbol on an open cell, if a piece is left for it.
    fn put(&mut self, at: &Placement) -> bool {
        let (left, letter) = (&mut self.left[usize::from(at.label)], &mut self.word[usize::from(at.cell)]);
        let fits = *left > 0 && *letter == OPEN;
        if fits {
            *left -= 1;
            *letter = at.letter;
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Labels;
    use fathom_algebra::{OrientedPermutation, Permutation};
    use fathom_puzzle::{Definition, Metric};

    /// M11 has 165 elements of order 2 (J. H. Conway et al., *ATLAS of Finite Groups*, 1985). These and the
    /// identity are their own inverses. Of the other words that are their own inverses, 35,696 - 166, none is
    /// visited.
    #[test]
    fn unreachable_words_are_skipped() {
        let mut definition = Definition::of_degree("m11", 11).unwrap();
        for (name, cycles) in [("a", "(1,2,3,4,5,6,7,8,9,10,11)"), ("b", "(3,7,11,8)(4,10,5,6)")] {
            let action = OrientedPermutation::from_cells(Permutation::parse(cycles, 11).unwrap());
            definition.add_move(name, action).unwrap();
        }
        let puzzle = definition.puzzle(Metric::Multi).unwrap();
        let space = Space::new(puzzle, Metric::Multi, Labels::distinct(11)).unwrap();
        assert_eq!(space.states().to_string(), "7920");
        let placements = Placements::new(&space);
        let inversion = placements.inversion(&space).unwrap();
        let identity: Action = (0..inversion.len() as u32).collect();
        let words = FixedWords::new(&placements, &space, &inversion, &[identity]);
        let mut involutions = 0;
        for branch in 0..words.branches() {
            words.visit(branch, &mut |_, orbit| {
                involutions += orbit;
                true
            });
        }
        assert_eq!(involutions, 166);
    }
}
