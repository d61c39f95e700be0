//! What every puzzle is to the engine, whatever it looks like in the hand.

use fathom_algebra::Permutation;

/// One generator of cost 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// As people write it.
    pub name: String,
    /// `action.apply(c)` is the cell to which the piece on cell `c` goes.
    pub action: Permutation,
}

/// Cells `0..cells`, as many pieces (piece `p` belongs on cell `p`), moves, and symmetries.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// One word, as on the command line.
    pub name: String,
    /// The number of cells.
    pub cells: usize,
    /// The moves, no two of them equal as permutations, none the identity.
    pub moves: Vec<Move>,
    /// A group of relabellings that map the set of moves onto itself, the identity first.
    pub symmetries: Vec<Permutation>,
}

impl Puzzle {
    /// Whether `relabelling` maps the set of moves onto itself.
    pub fn is_symmetry(&self, relabelling: &Permutation) -> bool {
        self.moves.iter().all(|m| {
            let image = m.action.relabel(relabelling);
            self.moves.iter().any(|other| other.action == image)
        })
    }

    /// Whether the inverse of every move is a move.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.moves.iter().all(|m| {
            let inverse = m.action.inverse();
            self.moves.iter().any(|other| other.action == inverse)
        })
    }
}
