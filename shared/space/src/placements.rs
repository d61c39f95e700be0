//! Words as sets of placements, where a placement is a symbol on a cell. Symmetries and the inversion of
//! states permute placements.

mod fixed_words;
mod prefixes;

use crate::cells::Cell;
use crate::{Space, Symmetry};
pub(crate) use fixed_words::FixedWords;
use prefixes::Prefixes;
use rustc_hash::FxHashMap;
use std::sync::OnceLock;

/// With more symmetries than this, conjugating actions by all of them takes too long.
const MANY: usize = 1 << 12;

/// The number of symmetries that represent many. Their numbers are multiples of a large prime, so that they
/// are spread out whatever the order of the symmetries.
const SOME: usize = 12;
const SPREAD: usize = 2_654_435_761;

/// If there are no more words than this, it is not worth listing only one of those that [`MANY`] symmetries
/// map to each other.
const FEW_WORDS: u64 = 1 << 20;

/// A permutation of placements, by their numbers.
pub(crate) type Action = Box<[u32]>;

/// All placements of a space, numbered.
#[derive(Debug)]
pub(crate) struct Placements {
    /// By number: the cell and the symbol.
    of: Vec<(Cell, u8)>,
    /// By cell and symbol: the number, or `NONE` if the symbol is unused or its label never reaches the cell.
    numbers: Vec<u32>,
    symbols: usize,
    /// Created when words are first listed.
    prefixes: OnceLock<Option<Prefixes>>,
}

const NONE: u32 = u32::MAX;

/// The placeholder for a cell that has no symbol yet. There are at most 255 symbols.
const OPEN: u8 = u8::MAX;

/// The reason why states have no inverses among the states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoInverses {
    /// Some pieces look alike, so a state does not determine a permutation.
    #[error("pieces that look alike leave a state's permutation undetermined")]
    Alike,
    /// Words distinguish only some of the pieces.
    #[error("it has too many pieces for a state to distinguish all of them")]
    ToldInPart,
    /// The moves that are possible depend on the state.
    #[error("its moves can be made only in some states")]
    Guarded,
    /// The inverse of a move may not be a move, so the inverse of a state may be at another distance.
    #[error("the inverse of a move is not always a move")]
    OneWay,
    /// The words of one state have inverses in different states, or symmetries that would map these inverses
    /// to each other were not found.
    #[error("not all of its free moves are known to be symmetries")]
    FreeMoves,
}

impl Placements {
    pub(crate) fn new(space: &Space) -> Self {
        let symbols = space.symbols();
        let mut numbers = vec![NONE; space.cells() * symbols.count()];
        let mut of = Vec::new();
        for cell in 0..space.cells() {
            for letter in 0..symbols.count() as u8 {
                let mark = symbols.mark(letter);
                if symbols.orientation(letter) < symbols.seen(mark) && space.belongs(mark, cell) {
                    numbers[cell * symbols.count() + usize::from(letter)] = of.len() as u32;
                    of.push((cell as Cell, letter));
                }
            }
        }
        Self { of, numbers, symbols: symbols.count(), prefixes: OnceLock::new() }
    }

    /// Returns the reachable beginnings of words; `None` where [`Prefixes::new`] does not find them.
    fn prefixes(&self, space: &Space) -> Option<&Prefixes> {
        self.prefixes.get_or_init(|| Prefixes::new(space)).as_ref()
    }

    /// Returns the actions of the symmetries that are used to shorten lists of words, the identity first.
    pub(crate) fn shortening<'a>(&self, space: &Space, symmetries: &'a [Action]) -> &'a [Action] {
        let are_few = space.states() * space.free_order() <= FEW_WORDS.into();
        if symmetries.len() > MANY && are_few { &symmetries[..1] } else { symmetries }
    }

    /// Returns the number of placements.
    pub(crate) fn len(&self) -> usize {
        self.of.len()
    }

    /// Returns the number of a placement.
    pub(crate) fn number(&self, cell: Cell, letter: u8) -> u32 {
        self.numbers[usize::from(cell) * self.symbols + usize::from(letter)]
    }

    /// Returns the cell and the symbol of a placement.
    pub(crate) fn at(&self, number: u32) -> (Cell, u8) {
        self.of[number as usize]
    }

    /// Returns the action of a symmetry.
    pub(crate) fn of_symmetry(&self, space: &Space, symmetry: &Symmetry) -> Action {
        let image = |&(cell, letter): &(Cell, u8)| {
            let renamed = symmetry.symbols()[usize::from(letter)];
            let cell = usize::from(cell);
            self.number(symmetry.cells[cell], space.symbols().turned(renamed, symmetry.turn(cell)))
        };
        self.of.iter().map(image).collect()
    }

    /// Returns the actions of all symmetries, the identity first.
    pub(crate) fn of_symmetries(&self, space: &Space) -> Vec<Action> {
        space.symmetries().iter().map(|symmetry| self.of_symmetry(space, symmetry)).collect()
    }

    /// Returns the action of inverting a state. If piece p is on cell c, turned, then in the inverse, piece c
    /// is on cell p, turned back. The mark of a ring moves round the ring in the other direction.
    ///
    /// # Errors
    /// [`NoInverses`] if the result is not a state, or a state at another distance.
    pub(crate) fn inversion(&self, space: &Space) -> Result<Action, NoInverses> {
        if space.tells_only_some() {
            return Err(NoInverses::ToldInPart);
        }
        let (labels, symbols) = (space.labels(), space.symbols());
        let shows_all = |(cell, &label): (usize, &u8)| u16::from(symbols.seen(label)) == space.order(cell);
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
            home[usize::from(label)] = cell as Cell;
        }
        let inverse = |&(cell, letter): &(Cell, u8)| {
            if let Some((first, size)) = space.ring(cell.into()) {
                let at = (size - (usize::from(cell) - first)) % size;
                return self.number((first + at) as Cell, letter);
            }
            let label = labels.of_pieces()[usize::from(cell)];
            let back = symbols.seen(label) - symbols.orientation(letter);
            self.number(home[usize::from(symbols.mark(letter))], symbols.letter(label, back))
        };
        Ok(self.of.iter().map(inverse).collect())
    }
}

/// Returns the action of `first`, then `second`.
pub(crate) fn then(first: &Action, second: &Action) -> Action {
    first.iter().map(|&to| second[to as usize]).collect()
}

/// Returns the inverse of an action.
pub(crate) fn inverse(action: &Action) -> Action {
    let mut inverse = vec![0; action.len()];
    for (from, &to) in action.iter().enumerate() {
        inverse[to as usize] = from as u32;
    }
    inverse.into()
}

/// Returns one member of each class of `actions` that `by` conjugate to each other, as its number in
/// `actions`, with the number of members. All members of a class fix equally many words of every layer.
/// Returns `None` if a conjugate is neither in `actions` nor in `others`; members in `others` do not count.
/// If `by` has more than [`MANY`] elements, a few of them represent all, and some classes may be split.
pub(crate) fn conjugacy_classes(
    actions: &[Action],
    by: &[Action],
    others: &[Action],
) -> Option<Vec<(usize, u32)>> {
    const OTHER: usize = usize::MAX;
    let mut numbers: FxHashMap<&[u32], usize> = others.iter().map(|action| (&**action, OTHER)).collect();
    numbers.extend(actions.iter().map(|action| &**action).zip(0..));
    let are_many = by.len() > MANY;
    let by: Vec<&Action> = match are_many {
        // Random elements generate a group, or most of it, when there are a few more than it needs.
        true => (1..=SOME).map(|i| &by[i * SPREAD % by.len()]).collect(),
        false => by.iter().collect(),
    };
    let back: Vec<Action> = by.iter().copied().map(inverse).collect();
    let mut counted = vec![false; actions.len()];
    let mut classes = Vec::new();
    let mut conjugated: Vec<u32> = Vec::new();
    for (number, action) in actions.iter().enumerate() {
        if std::mem::replace(&mut counted[number], true) {
            continue;
        }
        let mut members = 1;
        let mut open = vec![action];
        while let Some(action) = open.pop() {
            for (by, back) in by.iter().zip(&back) {
                conjugated.clear();
                conjugated.extend(back.iter().map(|&from| by[action[from as usize] as usize]));
                let conjugate = *numbers.get(&*conjugated)?;
                if conjugate != OTHER && !std::mem::replace(&mut counted[conjugate], true) {
                    members += 1;
                    // A whole group maps one member to all others.
                    open.extend(are_many.then(|| &actions[conjugate]));
                }
            }
        }
        classes.push((number, members));
    }
    Some(classes)
}
