//! Representatives without a table: of the images of a pattern under all symmetries the smallest, letter by letter.

use super::{CosetSymmetry, UNREACHED};
use crate::{Colouring, Letters, Space};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Finds the smallest image of any pattern.
#[derive(Debug)]
pub(super) struct Canonical {
    letters: Letters,
    symmetries: Box<[Preimage]>,
}

/// A symmetry, read from the image's side.
#[derive(Debug)]
struct Preimage {
    /// The cell whose letter comes to each.
    cells: Box<[u8]>,
    /// The turn of what comes to each; empty if there are none.
    turns: Box<[u8]>,
    renamed: Box<[u8]>,
}

/// The smallest image of a pattern.
pub(super) struct Form {
    pub(super) pattern: Box<[u8]>,
    /// The number of a symmetry that leads there.
    pub(super) symmetry: usize,
    /// How many lead there: as many fix the pattern.
    fixing: u32,
}

/// What a closure finds.
pub(super) struct Found {
    /// The patterns of the representatives, in increasing order.
    pub(super) patterns: Vec<u8>,
    pub(super) orbit_sizes: Box<[u32]>,
    pub(super) sources: Vec<u32>,
}

impl Canonical {
    pub(super) fn new(colouring: &Colouring, symmetries: &[CosetSymmetry]) -> Self {
        let preimage = |s: &CosetSymmetry| {
            let mut cells = vec![0; s.symmetry.cells.len()];
            for (cell, &to) in s.symmetry.cells.iter().enumerate() {
                cells[usize::from(to)] = cell as u8;
            }
            let turns: Box<[u8]> = cells.iter().map(|&cell| s.symmetry.turn(cell.into())).collect();
            let turns = if turns.iter().all(|&turn| turn == 0) { Box::default() } else { turns };
            Preimage { cells: cells.into(), turns, renamed: s.action.letters.clone() }
        };
        let letters = colouring.letters().clone();
        Self { letters, symmetries: symmetries.iter().map(preimage).collect() }
    }

    /// The smallest image of a pattern.
    pub(super) fn form(&self, pattern: &[u8]) -> Form {
        let mut best: Box<[u8]> = vec![u8::MAX; pattern.len()].into();
        let (mut symmetry, mut fixing) = (0, 0);
        for (number, preimage) in self.symmetries.iter().enumerate() {
            let letter = |to: usize| {
                let letter = preimage.renamed[usize::from(pattern[usize::from(preimage.cells[to])])];
                match preimage.turns.get(to) {
                    Some(&turn) => self.letters.turned(letter, turn),
                    None => letter,
                }
            };
            match (0..pattern.len()).find(|&to| letter(to) != best[to]) {
                None => fixing += 1,
                Some(first) if letter(first) < best[first] => {
                    for (to, best) in best.iter_mut().enumerate().skip(first) {
                        *best = letter(to);
                    }
                    (symmetry, fixing) = (number, 1);
                }
                Some(_) => {}
            }
        }
        Form { pattern: best, symmetry, fixing }
    }

    /// Follows the moves backwards from orbit to orbit. As they are closed under inverses, that leads to all orbits to which they lead
    /// forwards. `None` if there are too many.
    pub(super) fn close(&self, space: &Space, colouring: &Colouring) -> Option<Found> {
        /// Representatives whose sources are looked for at once.
        const PIECE: usize = 4096;
        let (cells, moves, group) = (space.cells(), space.arrivals().len(), self.symmetries.len());
        let solved = self.form(colouring.solved());
        let mut sizes = vec![(group / solved.fixing as usize) as u32];
        let mut numbers: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut found = vec![solved.pattern.clone()];
        numbers.insert(solved.pattern, 0);
        // By representative, in the order in which they are found, and move.
        let mut sources: Vec<Option<(u32, u32)>> = Vec::new();
        while sources.len() < found.len() * moves {
            let done = sources.len() / moves;
            let piece = &found[done..found.len().min(done + PIECE)];
            let from_one = |source: &mut Vec<u8>, pattern: &Box<[u8]>| -> Vec<Option<Form>> {
                let form = |mv| {
                    space.step_back(mv, colouring.letters(), pattern, source);
                    colouring.allows(&space.arrivals()[mv], source).then(|| self.form(source))
                };
                (0..moves).map(form).collect()
            };
            let forms: Vec<Vec<Option<Form>>> =
                piece.par_iter().map_init(|| vec![0; cells], from_one).collect();
            for form in forms.into_iter().flatten() {
                sources.push(form.map(|Form { pattern, symmetry, fixing }| {
                    let next = found.len() as u32;
                    let number = *numbers.entry(pattern).or_insert_with_key(|pattern| {
                        found.push(pattern.clone());
                        sizes.push((group / fixing as usize) as u32);
                        next
                    });
                    (number, symmetry as u32)
                }));
            }
            u32::try_from((found.len() as u64) * group as u64).ok().filter(|&entries| entries < UNREACHED)?;
        }
        // Number the representatives by pattern.
        let mut order: Vec<u32> = (0..found.len() as u32).collect();
        order.par_sort_unstable_by_key(|&number| &found[number as usize]);
        let mut renumbered = vec![0_u32; order.len()];
        for (&number, id) in order.iter().zip(0..) {
            renumbered[number as usize] = id;
        }
        let entry = |source: Option<(u32, u32)>| match source {
            Some((number, symmetry)) => renumbered[number as usize] * group as u32 + symmetry,
            None => UNREACHED,
        };
        let of = |&number: &u32| {
            let first = number as usize * moves;
            sources[first..first + moves].iter().map(|&source| entry(source))
        };
        Some(Found {
            patterns: order.iter().flat_map(|&number| found[number as usize].iter().copied()).collect(),
            orbit_sizes: order.iter().map(|&number| sizes[number as usize]).collect(),
            sources: order.iter().flat_map(of).collect(),
        })
    }
}
