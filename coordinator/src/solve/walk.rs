//! States as words, and the moves between them: all that a search for solutions must know of a puzzle.

use fathom_space::Space;

/// States as words of one length, and numbered moves.
pub trait Walk {
    /// How many moves there are.
    fn moves(&self) -> usize;

    /// The solved state.
    fn solved(&self) -> &[u8];

    /// Writes to `image` the state to which a move leads; false if the move cannot be made in the state `word`.
    fn apply(&self, mv: usize, word: &[u8], image: &mut [u8]) -> bool;

    /// Writes to `source` the state from which a move leads to `word`; false if there is none.
    fn undo(&self, mv: usize, word: &[u8], source: &mut [u8]) -> bool;
}

/// The words of a space.
#[derive(Debug)]
pub struct SpaceWalk<'s> {
    space: &'s Space,
    /// The number of each move's inverse.
    inverses: Vec<usize>,
}

/// A move whose inverse is no move, so that nothing leads back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the inverse of {0} is not among the moves, and states are not solved with such moves: add the inverses"
)]
pub struct NoInverse(pub String);

impl<'s> SpaceWalk<'s> {
    /// The words of a space.
    ///
    /// # Errors
    /// [`NoInverse`] for the first move that has none.
    pub fn new(space: &'s Space) -> Result<Self, NoInverse> {
        let moves = &space.puzzle().moves;
        let inverses = moves.iter().map(|m| {
            let inverse = m.action.inverse();
            moves.iter().position(|other| other.action == inverse).ok_or_else(|| NoInverse(m.name.clone()))
        });
        Ok(Self { space, inverses: inverses.collect::<Result<_, _>>()? })
    }
}

impl Walk for SpaceWalk<'_> {
    fn moves(&self) -> usize {
        self.inverses.len()
    }

    fn solved(&self) -> &[u8] {
        self.space.solved()
    }

    fn apply(&self, mv: usize, word: &[u8], image: &mut [u8]) -> bool {
        self.space.apply(mv, word, image)
    }

    fn undo(&self, mv: usize, word: &[u8], source: &mut [u8]) -> bool {
        self.apply(self.inverses[mv], word, source)
    }
}
