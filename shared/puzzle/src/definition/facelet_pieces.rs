//! Converts definitions whose cells are facelets, or whose orientations follow from the rest, to definitions
//! on the cells of pieces.

use super::{Definition, DefinitionError, Orbit};
use crate::facelets::Facelets;
use crate::{Metric, Puzzle};
use fathom_algebra::Permutation;
use fathom_algebra::orbits::all_orbits;

impl Definition {
    /// With more facelets than this, pieces are not searched for: a state vector has too few symbols for
    /// them.
    const MAX_FACELETS: usize = 255;

    /// Returns the pieces of a puzzle whose cells are facelets, and the puzzle on the cells of pieces. If
    /// pieces are given already and moves turn them, each orientation of a piece counts as a facelet, and
    /// other pieces are used only if none of them turns: all orientations then follow from the positions of
    /// the pieces. If some pieces still turn, the given ones have symmetries that are easier to use.
    /// Which facelets look alike does not matter: the pieces follow from the moves. Returns `None` if there are
    /// no such pieces, or there are free moves, guards or limits.
    ///
    /// # Errors
    /// The errors of [`Definition::puzzle`].
    pub(super) fn facelets(&self, metric: Metric) -> Result<Option<(Facelets, Puzzle)>, DefinitionError> {
        let orientation_counts = self.visible_orientation_counts();
        let points: usize = orientation_counts.iter().copied().map(usize::from).sum();
        if points > Self::MAX_FACELETS || !self.free.is_empty() || self.is_guarded() {
            return Ok(None);
        }
        let actions = self.moves.iter().map(|g| self.seen_action(&g.action, &orientation_counts).as_points());
        let moves: Vec<Permutation> = actions.collect();
        let orbits = all_orbits(points, &moves);
        let facelets = Facelets::find(&orientation_counts, &orbits, &moves);
        let turn = facelets.orientation_counts().iter().any(|&order| order > 1);
        let turned = moves.iter().any(|m| {
            (0..points).any(|facelet| facelets.given(facelet).1 != facelets.given(m.apply(facelet)).1)
        });
        let is_better = match orientation_counts.iter().any(|&order| order > 1) {
            true => turned && !turn,
            false => facelets.orientation_counts().len() < points,
        };
        if !is_better {
            return Ok(None);
        }
        let same_order = facelets.orientation_counts().chunk_by(|one, other| one == other);
        let orbits = (1..).zip(same_order).map(|(number, orientation_counts): (usize, _)| Orbit {
            name: format!("pieces{number}"),
            cells: orientation_counts.len(),
            orientations: orientation_counts[0],
        });
        let mut definition = Self::new(self.name.clone(), orbits.collect())?;
        for (generator, action) in self.moves.iter().zip(&moves) {
            let action = facelets.action(action).expect("moves keep pieces together");
            definition.add_move(generator.name.clone(), action)?;
        }
        Ok(Some((facelets, definition.puzzle(metric)?)))
    }
}
