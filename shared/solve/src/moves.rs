//! The moves of a puzzle with free moves: the distinct products of a free move and a move.
//!
//! States that differ by free moves are the same state. For a state g, a free move f and a move m, the state
//! g f m is a neighbour of g, and g f m f' with another free move f' is the same neighbour. So the products f
//! m that differ only by trailing free moves count as one move. On a cube that may be rotated as a
//! whole, every f m equals m' f' with m' a turn of another face, so no move needs a free move before it. In
//! Square-1, by contrast, the layers must be turned between twists.

use super::alphabet::{Alphabet, WordMap};
use fathom_algebra::OrientedPermutation;
use fathom_puzzle::definition::FreeGroup;
use fathom_puzzle::{Definition, DefinitionError, Generator, Guard};
use std::collections::HashMap;

/// A free move followed by a move.
#[derive(Clone, Debug)]
pub struct Move {
    /// The free move, as an index into the elements of the free group; 0 is the identity.
    pub before: usize,
    /// The move, as an index into the generators.
    pub generator: usize,
    /// The product of both.
    pub action: OrientedPermutation,
    /// The effect of both on words.
    pub(super) step: WordMap,
    /// Earlier moves that equal this one up to trailing free moves, but have other guards. If one of them is
    /// possible in a state, this move is omitted there, so that no neighbour is reached twice.
    instead: Vec<usize>,
}

impl Move {
    /// Returns whether this move is used in the state `word`: whether its guard holds there and no equivalent
    /// earlier move of `all`, the list returned by [`distinct`], is possible.
    pub fn may(&self, word: &[u8], all: &[Self]) -> bool {
        self.step.may(word) && !self.instead.iter().any(|&other| all[other].step.may(word))
    }
}

/// Returns all moves: first the generators, in their order, then those with a free move before them. Of moves
/// that look the same, or differ only by trailing free moves, the first is kept; a later one is added only if
/// its guard may hold where the guards of the earlier ones do not. `limits` returns what an action requires
/// besides the guard of its generator.
///
/// # Errors
/// [`DefinitionError::TooManyMoves`] if there are more than [`Definition::MAX_MOVES`] moves.
pub fn distinct(
    alphabet: &Alphabet,
    generators: &[Generator],
    free: &FreeGroup,
    limits: impl Fn(&OrientedPermutation) -> Vec<Guard>,
) -> Result<Vec<Move>, DefinitionError> {
    let carried = |action: &OrientedPermutation| alphabet.step(&action.as_points(), []).from;
    let mut moves: Vec<Move> = Vec::new();
    // Products that differ only by trailing free moves form one class. Class 0 holds the free moves
    // themselves, which are not moves.
    let mut class_of: HashMap<Box<[(u16, u16)]>, usize> =
        free.elements().iter().map(|free| (carried(free), 0)).collect();
    let mut classes: Vec<Vec<usize>> = vec![Vec::new()];
    for (before, first) in free.elements().iter().enumerate() {
        let back = first.cells().inverse();
        for (generator, Generator { action, guard, .. }) in generators.iter().enumerate() {
            let action = first.then(action);
            let guard = guard.iter().map(|&piece| Guard {
                cell: back.apply(piece.into()) as u16,
                piece,
                holds: true,
            });
            let step = alphabet.step(&action.as_points(), guard.chain(limits(&action)));
            let class = match class_of.get(&step.from) {
                Some(0) => continue,
                Some(&class) => class,
                None => {
                    let behind = free.elements().iter().map(|behind| carried(&action.then(behind)));
                    class_of.extend(behind.map(|product| (product, classes.len())));
                    classes.push(Vec::new());
                    classes.len() - 1
                }
            };
            let asks_no_more =
                |&other: &usize| moves[other].step.guard.iter().all(|g| step.guard.contains(g));
            if !classes[class].iter().any(asks_no_more) {
                let instead = classes[class].clone();
                classes[class].push(moves.len());
                moves.push(Move { before, generator, action, step, instead });
            }
        }
        if moves.len() > Definition::MAX_MOVES {
            return Err(DefinitionError::TooManyMoves);
        }
    }
    Ok(moves)
}
