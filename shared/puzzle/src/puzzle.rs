//! What every puzzle is to the engine, whatever it looks like in the hand.

use crate::Generator;
use fathom_algebra::orbits::orbits;
use fathom_algebra::{Permutation, Relabelling};

/// A named permutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// As people write it.
    pub name: String,
    /// `action.apply(c)` is where what is on `c` goes.
    pub action: Permutation,
}

/// Cells `0..cells`, as many pieces (piece `p` belongs on cell `p`, in orientation 0), moves, and symmetries.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// One word, as on the command line.
    pub name: String,
    /// The number of cells.
    pub cells: usize,
    /// How many orientations of each piece are told apart, a divisor of the order of the cells where it stands.
    pub seen: Vec<u16>,
    /// The moves, no two of them equal, none the identity.
    pub moves: Vec<Generator>,
    /// A group of relabellings that map the set of moves onto itself, the identity first. Those that differ only by turning
    /// all pieces of an orbit alike, which changes no move, count as one.
    pub symmetries: Vec<Relabelling>,
}

impl Puzzle {
    /// Whether `relabelling` maps the set of moves onto itself.
    pub fn is_symmetry(&self, relabelling: &Relabelling) -> bool {
        self.moves.iter().all(|m| {
            let image = relabelling.rename(&m.action);
            self.moves.iter().any(|other| other.action == image)
        })
    }

    /// The orbits of cells under the moves, each in increasing order, by their first cells.
    pub fn orbits(&self) -> Vec<Vec<usize>> {
        let actions: Vec<Permutation> = self.moves.iter().map(|m| m.action.cells().clone()).collect();
        orbits(self.cells, &actions)
    }

    /// Whether the inverse of every move is a move.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.moves.iter().all(|m| {
            let inverse = m.action.inverse();
            self.moves.iter().any(|other| other.action == inverse)
        })
    }
}
