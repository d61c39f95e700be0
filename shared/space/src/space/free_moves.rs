//! Free moves, which lead to other words of the same state.

use super::{Space, Symmetry};

impl Space {
    /// Returns the order of the group of free moves that are not omitted, which is the number of words of
    /// each state.
    pub fn free_order(&self) -> u32 {
        self.puzzle.free.len() as u32
    }

    /// Returns the actions of the free moves on words, the identity first.
    pub(crate) fn free(&self) -> &[Symmetry] {
        &self.free
    }

    /// Returns all words of the state that has this word: the images of the word under free moves.
    pub fn words_of(&self, word: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        self.free.iter().map(|free| self.image(free, word))
    }
}
