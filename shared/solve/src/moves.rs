//! The moves of a state where some are free: each move behind each free move, once.
//!
//! States that differ by free moves are one. Let a state be g, m a move and f free: then g f m is a neighbour
//! of the state, and so is each g f m f', which is the same neighbour. So there is one move for each class of
//! products f m that free moves behind them make equal. On a cube in the hand every f m is m' f' with another
//! face's turn m', and no free move need ever be made; the layers of Square-1 must be turned between twists.

use super::alphabet::{Alphabet, WordMap};
use fathom_algebra::OrientedPermutation;
use fathom_puzzle::definition::FreeGroup;
use fathom_puzzle::{Definition, DefinitionError, Generator, Guard};
use std::collections::HashMap;

/// A move behind a free move.
#[derive(Clone, Debug)]
pub struct Move {
    /// The free move, by its place among the elements of their group: 0 if there is none.
    pub before: usize,
    /// The move, by its place among the generators.
    pub generator: usize,
    /// What both do.
    pub action: OrientedPermutation,
    /// What both do to words.
    pub(super) step: WordMap,
    /// Earlier moves that free moves behind make equal to this one, but whose guards ask for something else.
    /// Where one of them can be made, this one is not.
    instead: Vec<usize>,
}

impl Move {
    /// Whether it is made in the state `word`.
    pub fn may(&self, word: &[u8], all: &[Self]) -> bool {
        self.step.may(word) && !self.instead.iter().any(|&other| all[other].step.may(word))
    }
}

/// All moves: first the generators, in their order, then those behind each free move. Of those that differ by
/// what cannot be seen, or by free moves behind them, the first is there. `limits` tells what an action asks
/// for besides the guard of its generator.
///
/// # Errors
/// [`DefinitionError::TooManyMoves`].
pub fn distinct(
    alphabet: &Alphabet,
    generators: &[Generator],
    free: &FreeGroup,
    limits: impl Fn(&OrientedPermutation) -> Vec<Guard>,
) -> Result<Vec<Move>, DefinitionError> {
    let carried = |action: &OrientedPermutation| alphabet.step(&action.as_points(), []).from;
    let mut moves: Vec<Move> = Vec::new();
    // Classes by what any of their products with free moves behind does. Class 0 is that of the free moves
    // themselves, which are no moves.
    let mut class_of: HashMap<Box<[(u8, u16)]>, usize> =
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
