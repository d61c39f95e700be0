//! Representatives without a table: the smallest image of a pattern under all symmetries, letter by letter.

use super::{CosetSymmetry, Found, UNREACHED};
use crate::space::Cell;
use crate::{Colouring, Letters, Space};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// Finds the smallest image of any pattern.
///
/// Symmetries are sorted by their renaming of letters, and then by their action on the cells of the image,
/// from the first cell on. Symmetries that agree up to a cell are consecutive. If one of them makes a larger
/// letter up to that cell, the others need not be tried.
#[derive(Debug)]
pub(super) struct Canonical {
    letters: Letters,
    cells: usize,
    preimages: Box<[Preimage]>,
    /// By preimage: the number of first cells of the image on which it agrees with the preimage before.
    shared: Box<[Cell]>,
    /// By preimage and cell of the image: the next preimage that differs from it on that cell or on an
    /// earlier one.
    next: Box<[u32]>,
}

/// A symmetry, from the side of the image.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Preimage {
    renamed: Box<[u8]>,
    /// For each cell of the image: the cell from which its letter comes, and the turn of that letter.
    comes: Box<[(Cell, u8)]>,
    /// The number of the symmetry.
    symmetry: usize,
}

/// The smallest image of a pattern.
pub(super) struct Form {
    pub(super) pattern: Box<[u8]>,
    /// The number of a symmetry that leads to the image.
    pub(super) symmetry: usize,
    /// The number of symmetries that lead to the image; equally many fix the pattern.
    fixing: u32,
}

impl Canonical {
    pub(super) fn new(colouring: &Colouring, symmetries: &[CosetSymmetry]) -> Self {
        let preimage = |(number, s): (usize, &CosetSymmetry)| {
            let mut comes = vec![(0, 0); s.symmetry.cells.len()];
            for (cell, &to) in s.symmetry.cells.iter().enumerate() {
                comes[usize::from(to)] = (cell as Cell, s.symmetry.turn(cell));
            }
            Preimage { renamed: s.action.letters.clone(), comes: comes.into(), symmetry: number }
        };
        let mut preimages: Box<[Preimage]> = symmetries.iter().enumerate().map(preimage).collect();
        preimages.sort_unstable();
        let cells = preimages[0].comes.len();
        let shared = |pair: &[Preimage]| {
            let same = pair[0].comes.iter().zip(&pair[1].comes).take_while(|(a, b)| a == b).count();
            if pair[0].renamed == pair[1].renamed { same as Cell } else { 0 }
        };
        let shared: Box<[Cell]> = std::iter::once(0).chain(preimages.windows(2).map(shared)).collect();
        let end = preimages.len() as u32;
        let mut next = vec![end; preimages.len() * cells];
        for number in (0..preimages.len() - 1).rev() {
            for cell in 0..cells {
                next[number * cells + cell] = match usize::from(shared[number + 1]) > cell {
                    true => next[(number + 1) * cells + cell],
                    false => number as u32 + 1,
                };
            }
        }
        Self { letters: colouring.letters().clone(), cells, preimages, shared, next: next.into() }
    }

    /// Returns the smallest image of a pattern.
    pub(super) fn form(&self, pattern: &[u8]) -> Form {
        let mut best: Box<[u8]> = vec![u8::MAX; self.cells].into();
        let (mut symmetry, mut fixing) = (0, 0);
        let mut number = 0;
        while let Some(preimage) = self.preimages.get(number) {
            let letter = |&(cell, turn): &(Cell, u8)| {
                let letter = preimage.renamed[usize::from(pattern[usize::from(cell)])];
                if turn == 0 { letter } else { self.letters.turned(letter, turn) }
            };
            // On the cells that the image shares with the one before, it agrees with the best image.
            let same = usize::from(self.shared[number]);
            let differs = (same..self.cells).find(|&to| letter(&preimage.comes[to]) != best[to]);
            match differs {
                Some(first) if letter(&preimage.comes[first]) > best[first] => {
                    number = self.next[number * self.cells + first] as usize;
                    continue;
                }
                Some(first) => {
                    for (best, comes) in best[first..].iter_mut().zip(&preimage.comes[first..]) {
                        *best = letter(comes);
                    }
                    (symmetry, fixing) = (preimage.symmetry, 1);
                }
                None => fixing += 1,
            }
            number += 1;
        }
        Form { pattern: best, symmetry, fixing }
    }

    /// Lists the representatives by following the moves backwards from orbit to orbit. Backward moves lead to
    /// the same orbits as forward moves, because moves without guards generate a finite group, and guarded
    /// moves are closed under inverses. Returns `None` if there are too many.
    pub(super) fn close(&self, space: &Space, colouring: &Colouring) -> Option<Found> {
        /// Number of representatives whose sources are found in one step.
        const PIECE: usize = 4096;
        let (cells, moves, group) = (space.cells(), space.incoming_moves().len(), self.preimages.len());
        let solved = self.form(colouring.solved());
        let mut sizes = vec![(group / solved.fixing as usize) as u32];
        let mut numbers: FxHashMap<Box<[u8]>, u32> = FxHashMap::default();
        let mut found = vec![solved.pattern.clone()];
        numbers.insert(solved.pattern, 0);
        // By representative, in the order of discovery, and by arrival.
        let mut sources: Vec<Option<(u32, u32)>> = Vec::new();
        while sources.len() < found.len() * moves {
            let done = sources.len() / moves;
            let piece = &found[done..found.len().min(done + PIECE)];
            let from_one = |source: &mut Vec<u8>, pattern: &[u8]| -> Vec<Option<Form>> {
                let form = |mv| {
                    space.step_back(mv, colouring.letters(), pattern, source);
                    colouring.allows(&space.incoming_moves()[mv], source).then(|| self.form(source))
                };
                (0..moves).map(form).collect()
            };
            let forms: Vec<Vec<Option<Form>>> =
                piece.par_iter().map(|pattern| &**pattern).map_init(|| vec![0; cells], from_one).collect();
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
