//! Definitions whose cells are facelets, as definitions on the cells of pieces.

use super::{Definition, DefinitionError, Orbit};
use crate::facelets::Facelets;
use crate::{Metric, Puzzle};
use fathom_algebra::Permutation;

impl Definition {
    /// With more cells than this, pieces are not searched for: words have no letters for so many facelets.
    const MOST_FACELETS: usize = 255;

    /// Returns the pieces of a puzzle whose cells are facelets, and the puzzle on the cells of pieces.
    /// `puzzle` is the puzzle by facelets. Returns `None` if no piece turns, pieces are given already,
    /// some facelets look alike, or there are free moves, guards or limits.
    ///
    /// # Errors
    /// The errors of [`Definition::puzzle`].
    pub(super) fn facelets(
        &self,
        puzzle: &Puzzle,
        metric: Metric,
    ) -> Result<Option<(Facelets, Puzzle)>, DefinitionError> {
        let is_by_facelets = self.is_plain()
            && self.orbits.iter().all(|orbit| orbit.orientations == 1)
            && self.cells() <= Self::MOST_FACELETS
            && self.free.is_empty()
            && !self.is_guarded();
        if !is_by_facelets {
            return Ok(None);
        }
        let moves: Vec<Permutation> = self.moves.iter().map(|g| g.action.cells().clone()).collect();
        let Some(facelets) = Facelets::find(&puzzle.orbits(), &moves) else { return Ok(None) };
        let same_order = facelets.orders().chunk_by(|one, other| one == other);
        let orbits = (1..).zip(same_order).map(|(number, orders): (usize, _)| Orbit {
            name: format!("pieces{number}"),
            cells: orders.len(),
            orientations: orders[0],
        });
        let mut definition = Self::new(self.name.clone(), orbits.collect())?;
        for (generator, action) in self.moves.iter().zip(&moves) {
            let action = facelets.action(action).expect("moves keep pieces together");
            definition.add_move(generator.name.clone(), action)?;
        }
        Ok(Some((facelets, definition.puzzle(metric)?)))
    }
}
