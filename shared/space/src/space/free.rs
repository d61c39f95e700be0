//! Free moves, which lead to other words of the same state.

use super::{Space, Symmetry};

impl Space {
    /// Returns the order of the group of free moves that are not left out, which is the number of words of
    /// each state.
    pub fn free_order(&self) -> u32 {
        self.puzzle.free.len() as u32
    }

    /// Returns the order of the group of all free moves of the puzzle. Those are left out that the moves do
    /// not make, if all pieces are told apart.
    pub fn all_free_order(&self) -> u32 {
        self.left_out.as_ref().map_or(1, |left_out| left_out.index() as u32) * self.free_order()
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
