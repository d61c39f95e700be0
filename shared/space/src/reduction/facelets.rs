//! Facelets that move together are pieces that turn. `Definition::puzzle` finds them
//! ([`Puzzle::facelets`](fathom_puzzle::Puzzle::facelets)); the sticker files of the corpus have them, such
//! as `docs/examples/2x2x2.tws`.
//!
//! Refused: facelets that look alike, free moves, guards and limits.

use super::{Placed, StateMap};
use fathom_puzzle::Facelets;

/// The map from the facelets of a puzzle, or its pieces and their orientations, to other pieces. All pieces
/// are distinguished on both sides, and their labels are their numbers.
#[derive(Clone, Debug)]
pub(super) struct FaceletMap(pub(super) Facelets);

impl StateMap for FaceletMap {
    fn lower(&self, state: &[Placed]) -> Vec<Placed> {
        let Self(facelets) = self;
        let piece_on = |first: usize| {
            let (cell, number) = facelets.given(first);
            let (piece, orientation) = state[cell];
            let (facelet, order) = facelets.given_cells()[usize::from(piece)];
            let seen = (number + order - u16::from(orientation)) % order;
            let (piece, turn) = facelets.piece_with(facelet + usize::from(seen));
            (piece as u16, turn as u8)
        };
        facelets.first_facelets().map(piece_on).collect()
    }

    fn lift(&self, state: &[Placed]) -> Option<Vec<Placed>> {
        let Self(facelets) = self;
        let on = |&(first, order): &(usize, u16)| {
            let (piece, turn) = state[facelets.place(first).0];
            let (piece, number) = facelets.given(facelets.seen_at(first, piece.into(), turn.into()));
            (piece as u16, ((order - number) % order) as u8)
        };
        Some(facelets.given_cells().iter().map(on).collect())
    }
}
