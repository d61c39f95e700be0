//! Rings that determine whether a state's depth is even. For example, if each move turns over the middle
//! layer of Square-1, all states of a layer have the middle in the same position. Where the middle is part of
//! the pattern, half of the cosets of a layer are empty, and cost nothing; where the middle is part of an
//! axis, half of the bits of each coset are empty.

use crate::cells::Cell;
use crate::{Colouring, Space};

/// Returns the first cells of the alternating rings. Such a ring has two cells, which every move exchanges
/// and no free move does.
pub(crate) fn alternating_rings(space: &Space) -> impl Iterator<Item = usize> + '_ {
    let alternates = |first: usize| {
        let exchanges = |cells: &[Cell]| usize::from(cells[first]) != first;
        space.moves().iter().all(|mv| exchanges(&mv.cells))
            && !space.free().iter().any(|free| exchanges(&free.cells))
    };
    let orientation_positions =
        space.orientation_positions().filter(|&(_, size)| size == 2).map(|(first, _)| first);
    orientation_positions.filter(move |&first| alternates(first))
}

impl Colouring {
    /// Returns the period with which layers have states in the same cosets: 2 if a ring that each move turns
    /// is part of the pattern, so that about half of the cosets of a layer are empty; otherwise 1.
    pub fn period(&self, space: &Space) -> u64 {
        let is_in_pattern = |first: usize| self.of_pieces()[first] != self.of_pieces()[first + 1];
        if alternating_rings(space).any(is_in_pattern) { 2 } else { 1 }
    }
}
