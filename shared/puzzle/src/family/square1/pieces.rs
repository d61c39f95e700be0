//! The effect of a sequence on the sixteen pieces of Square-1, with the numbers of B. Sambale, *Square-1*
//! (2021).
//!
//! Pieces 1 to 8 are in our bottom layer, 9 to 16 in our top layer, both counterclockwise seen from the
//! article's top. Corners have odd numbers. Edge 10 is over corner 1 after the turn d, which leaves the
//! article's cube in its shape.

use super::{Layer, Sequence, Turn, UNITS, in_all_shapes};
use fathom_algebra::{OrientedPermutation, Permutation};

/// The number of pieces: corners and edges of both layers.
const PIECES: usize = 16;

/// The cells of the pieces 1 to 16 after the turn d.
const NUMBERED: [usize; PIECES] = {
    let (corner, edge, top, bottom) = (0, 2 * UNITS, 0, UNITS);
    [
        corner + bottom + 4,
        edge + bottom + 3,
        corner + bottom + 1,
        edge + bottom,
        corner + bottom + 10,
        edge + bottom + 9,
        corner + bottom + 7,
        edge + bottom + 6,
        corner + top + 10,
        edge + top,
        corner + top + 1,
        edge + top + 3,
        corner + top + 4,
        edge + top + 6,
        corner + top + 7,
        edge + top + 9,
    ]
};

/// The permutation of the pieces by a sequence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// The permutation of the pieces: the piece numbered i + 1 goes to the place of the piece numbered
    /// `apply(i)` + 1.
    pub pieces: Permutation,
    /// Whether the middle layer is flipped.
    pub middle: bool,
    /// Whether the sequence begins in the state after d, as the article's manoeuvres do, and not in the
    /// solved state.
    pub after_d: bool,
}

/// Why a sequence does not permute the pieces.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEffect {
    /// A corner blocks a twist, both from the solved state and after d.
    #[error(
        "a corner across the cut blocks the sequence: at move {solved} from the solved state, and at move {after_d} after d, which is (1,0)"
    )]
    Blocked {
        /// The number of the blocked move, from 1, when the sequence begins in the solved state.
        solved: usize,
        /// The number of the blocked move, from 1, when the sequence begins after d.
        after_d: usize,
    },
    /// The sequence ends in a different shape.
    #[error(
        "the sequence does not return to the shape in which it begins, so it does not permute the pieces: use one that returns, such as A, [s,u^3] or /(6,6)/"
    )]
    AnotherShape,
}

impl Sequence {
    /// Returns the effect of the sequence on the pieces. The sequence begins after d if `after_d` is set, as
    /// the article's letters need, and otherwise in the solved state. If the sequence is blocked there, or
    /// leads to another shape, it begins in the other of the two states.
    ///
    /// # Errors
    /// [`NoEffect`] if the sequence returns to its shape from neither state.
    pub fn carried(&self, after_d: bool) -> Result<Effect, NoEffect> {
        let d = Turn::of_layer(Layer::Top, 1).expect("one is no whole turn");
        let from = [self.made(&[]), self.made(&[d])];
        // The numbers of places refer to the state after d.
        let conjugated = |action: &OrientedPermutation, after_d: bool| match after_d {
            true => action.clone(),
            false => d.inverse().action().then(action).then(&d.action()),
        };
        for after_d in [after_d, !after_d] {
            let Ok(action) = &from[usize::from(after_d)] else { continue };
            let action = conjugated(action, after_d);
            let number = |cell| NUMBERED.iter().position(|&numbered| numbered == cell);
            let images: Option<Vec<u16>> = NUMBERED
                .iter()
                .map(|&cell| number(action.cells().apply(cell)).map(|image| image as u16))
                .collect();
            if let Some(images) = images {
                let pieces = Permutation::from_images(images).expect("no two pieces come to one place");
                return Ok(Effect { pieces, middle: action.turns()[4 * UNITS] == 1, after_d });
            }
        }
        match from {
            [Err(solved), Err(after_d)] => Err(NoEffect::Blocked { solved, after_d }),
            _ => Err(NoEffect::AnotherShape),
        }
    }

    /// Returns the action of the sequence when it begins after the turns `first`. The error is the number,
    /// from 1, of the move that is blocked.
    fn made(&self, first: &[Turn]) -> Result<OrientedPermutation, usize> {
        let puzzle = in_all_shapes();
        let guard = &puzzle.moves().last().expect("the twist is the last move").guard;
        let identity = || OrientedPermutation::identity(puzzle.orientation_counts());
        let mut state = first.iter().fold(identity(), |state, turn| state.then(&turn.action()));
        let mut done = identity();
        let label = |cell: usize| puzzle.solved()[cell].label;
        for (number, turn) in (1..).zip(&self.0) {
            let back = state.cells().inverse();
            let is_free = |&cell: &u16| label(back.apply(cell.into())) == label(cell.into());
            if *turn == Turn::Twist && !guard.iter().all(is_free) {
                return Err(number);
            }
            let action = turn.action();
            state = state.then(&action);
            done = done.then(&action);
        }
        Ok(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried(text: &str) -> Effect {
        Sequence::read(text).unwrap().carried(true).unwrap()
    }

    /// The permutations that section 2 of the article gives.
    #[test]
    fn permutations_of_the_article() {
        for (letters, cycles) in [
            ("s", "(1,13)(2,12)(3,11)(4,10)"),
            ("[s,u^3]", "(1,7,13,11,3)(2,8,12,10,4)"),
            ("A", "(3,7)(4,8)(10,12)(11,13)"),
            ("B", "(9,11,13)(10,12,16)"),
            ("t", "(4,10)(8,14)"),
            ("C", "(4,8)(10,14)"),
            ("D", "(10,14,16)"),
        ] {
            let found = carried(letters);
            assert_eq!((found.pieces.to_string().as_str(), found.after_d), (cycles, true), "{letters}");
        }
        // Turns are possible in any shape; from the solved state they give the same permutations.
        for (letters, cycles) in [("u^3", "(1,3,5,7)(2,4,6,8)"), ("d^3", "(9,11,13,15)(10,12,14,16)")] {
            assert_eq!(carried(letters).pieces.to_string(), cycles, "{letters}");
        }
        // In the usual notation the same sequence begins in the solved state, where other pieces are next to
        // the cut.
        let usual: Sequence = Sequence::read("A").unwrap().to_string().parse().unwrap();
        let from_solved = usual.carried(false).unwrap();
        assert_eq!(
            (from_solved.pieces.to_string().as_str(), from_solved.after_d),
            ("(3,7)(4,8)(11,13)(12,14)", false)
        );
        // The same permutation from the solved state, with d written before the sequence and undone after it.
        let from_solved = carried("dAd^-1");
        assert_eq!((from_solved.pieces, from_solved.after_d), (carried("A").pieces, false));
        let middle = carried("su^6su^6su^6");
        assert!(middle.pieces.is_identity() && middle.middle);
        // Step 5: f, a twist and the inverse of f give an odd permutation.
        assert!(!carried("f s f^-1").pieces.is_even());
    }

    #[test]
    fn sequences_that_change_shape_are_rejected() {
        let refused = |text: &str| Sequence::read(text).unwrap().carried(false).unwrap_err();
        // Step 5 begins in the solved state.
        assert_eq!(refused("f"), NoEffect::AnotherShape);
        assert_eq!(refused("u^-1sus"), NoEffect::Blocked { solved: 2, after_d: 2 });
    }
}
