//! Words as sets of placements: a placement is a letter on a cell. Symmetries, and the inversion of states,
//! permute placements.

mod fixed;
mod prefixes;

use crate::{Space, Symmetry};
pub(crate) use fixed::FixedWords;
use prefixes::Prefixes;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// A permutation of placements, by their numbers.
pub(crate) type Action = Box<[u16]>;

/// All placements of a space, numbered.
#[derive(Debug)]
pub(crate) struct Placements {
    /// Cell and letter.
    of: Vec<(u8, u8)>,
    /// By cell and letter; `NONE` where the letter stands for nothing or its label never comes to the cell.
    numbers: Vec<u16>,
    letters: usize,
    /// Made when words are listed.
    prefixes: OnceLock<Option<Prefixes>>,
}

const NONE: u16 = u16::MAX;

/// Why states have no inverses among the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoInverses {
    /// A state does not tell which permutation leads to it.
    #[error("pieces that look alike leave it open which permutation a state is")]
    Alike,
    /// Which moves can be made depends on the state.
    #[error("its moves can be made only in some states")]
    Guarded,
    /// The inverse of a state may be at another distance.
    #[error("the inverse of a move may be no move")]
    OneWay,
    /// The words of a state have inverses in different states, or symmetries that were not found would be
    /// needed to map them to each other.
    #[error("its free moves are not all known as symmetries")]
    FreeMoves,
}

impl Placements {
    pub(crate) fn new(space: &Space) -> Self {
        let letters = space.letters();
        let mut numbers = vec![NONE; space.cells() * letters.count()];
        let mut of = Vec::new();
        for cell in 0..space.cells() {
            for letter in 0..letters.count() as u8 {
                let mark = letters.mark(letter);
                if letters.orientation(letter) < letters.seen(mark) && space.belongs(mark, cell) {
                    numbers[cell * letters.count() + usize::from(letter)] = of.len() as u16;
                    of.push((cell as u8, letter));
                }
            }
        }
        assert!(
            of.len() < usize::from(NONE),
            "255 cells and letters at most, and not every letter on every cell"
        );
        Self { of, numbers, letters: letters.count(), prefixes: OnceLock::new() }
    }

    /// Which beginnings of words moves reach; `None` where that is not to be known.
    fn prefixes(&self, space: &Space) -> Option<&Prefixes> {
        self.prefixes.get_or_init(|| Prefixes::new(space)).as_ref()
    }

    /// The number of a placement.
    pub(crate) fn number(&self, cell: u8, letter: u8) -> u16 {
        self.numbers[usize::from(cell) * self.letters + usize::from(letter)]
    }

    /// The cell and the letter of a placement.
    pub(crate) fn at(&self, number: u16) -> (u8, u8) {
        self.of[usize::from(number)]
    }

    /// What a symmetry does.
    pub(crate) fn of_symmetry(&self, space: &Space, symmetry: &Symmetry) -> Action {
        let image = |&(cell, letter): &(u8, u8)| {
            let renamed = symmetry.letters()[usize::from(letter)];
            let cell = usize::from(cell);
            self.number(symmetry.cells[cell], space.letters().turned(renamed, symmetry.turn(cell)))
        };
        self.of.iter().map(image).collect()
    }

    /// What inverting a state does: a piece on a cell, turned, becomes the cell's own piece on the piece's
    /// own cell, turned back; the mark of a ring goes round it the other way.
    ///
    /// # Errors
    /// [`NoInverses`] if that makes no states, or states at other distances.
    pub(crate) fn inversion(&self, space: &Space) -> Result<Action, NoInverses> {
        let (labels, letters) = (space.labels(), space.letters());
        let shows_all = |(cell, &label): (usize, &u8)| u16::from(letters.seen(label)) == space.order(cell);
        if !space.piece_labels().are_distinct() || !labels.of_pieces().iter().enumerate().all(shows_all) {
            return Err(NoInverses::Alike);
        }
        if space.is_guarded() {
            return Err(NoInverses::Guarded);
        }
        if !space.is_closed_under_inverses() {
            return Err(NoInverses::OneWay);
        }
        let mut home = vec![0; labels.sizes().len()];
        for (cell, &label) in labels.of_pieces().iter().enumerate() {
            home[usize::from(label)] = cell as u8;
        }
        let inverse = |&(cell, letter): &(u8, u8)| {
            if let Some((first, size)) = space.rings().ring(cell.into()) {
                let at = (size - (usize::from(cell) - first)) % size;
                return self.number((first + at) as u8, letter);
            }
            let label = labels.of_pieces()[usize::from(cell)];
            let back = letters.seen(label) - letters.orientation(letter);
            self.number(home[usize::from(letters.mark(letter))], letters.letter(label, back))
        };
        Ok(self.of.iter().map(inverse).collect())
    }
}

/// The action of `first`, then `second`.
pub(crate) fn then(first: &Action, second: &Action) -> Action {
    first.iter().map(|&to| second[usize::from(to)]).collect()
}

fn inverse(action: &Action) -> Action {
    let mut inverse = vec![0; action.len()];
    for (from, &to) in action.iter().enumerate() {
        inverse[usize::from(to)] = from as u16;
    }
    inverse.into()
}

/// One of each class of `actions` that `by` conjugate to each other, with the number of its members: they fix
/// equally many words of every layer. `None` if a conjugate is not among `actions`, unless it may be in
/// `others`.
pub(crate) fn conjugacy_classes(
    actions: &[Action],
    by: &[Action],
    others: &[Action],
) -> Option<Vec<(usize, u32)>> {
    const OTHER: usize = usize::MAX;
    let mut numbers: FxHashMap<&Action, usize> = others.iter().map(|action| (action, OTHER)).collect();
    numbers.extend(actions.iter().zip(0..));
    let back: Vec<Action> = by.iter().map(inverse).collect();
    let mut counted = vec![false; actions.len()];
    let mut classes = Vec::new();
    for (number, action) in actions.iter().enumerate() {
        if counted[number] {
            continue;
        }
        let mut members = 0;
        for (by, back) in by.iter().zip(&back) {
            let conjugate = *numbers.get(&then(&then(back, action), by))?;
            if conjugate != OTHER && !std::mem::replace(&mut counted[conjugate], true) {
                members += 1;
            }
        }
        classes.push((number, members));
    }
    Some(classes)
}
