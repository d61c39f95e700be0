//! The states from which distances are counted, if that is not the solved state alone.

use fathom_algebra::OrientedPermutation;

/// The start states, as elements on the cells of a puzzle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Starts {
    /// The elements that carry the solved state to the start states; empty for the solved state alone.
    pub states: Box<[OrientedPermutation]>,
    /// Elements that carry each start state to another one, as often as they are applied.
    pub by: Box<[OrientedPermutation]>,
}

impl Starts {
    /// Returns whether the only start state is the solved one.
    pub fn are_solved_alone(&self) -> bool {
        self.states.is_empty() && self.by.is_empty()
    }

    /// Returns the starts after a function was applied to all elements.
    #[must_use]
    pub fn map(&self, to: impl Fn(&OrientedPermutation) -> OrientedPermutation) -> Self {
        Self { states: self.states.iter().map(&to).collect(), by: self.by.iter().map(&to).collect() }
    }
}
