//! What every puzzle is to the engine, whatever it looks like in the hand.

use fathom_algebra::orbits::orbits;
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use num_bigint::BigUint;

/// A named permutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// As people write it.
    pub name: String,
    /// `action.apply(c)` is where what is on `c` goes.
    pub action: Permutation,
}

/// A generator of cost 1 as the engine takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PuzzleMove {
    /// As people write it.
    pub name: String,
    /// What it does to the pieces on all cells.
    pub action: OrientedPermutation,
    /// It can be made only while all of this is so.
    pub guard: Box<[Guard]>,
}

/// On a cell stands, or does not stand, a piece that cannot be told from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard {
    /// The cell.
    pub cell: u16,
    /// The piece, by the cell where it belongs.
    pub piece: u16,
    /// Whether such a piece must be there; otherwise none may be there.
    pub holds: bool,
}

impl Guard {
    /// What it becomes when cells, and pieces with them, are renamed.
    pub fn renamed(&self, relabelling: &Relabelling) -> Self {
        let to = |cell: u16| relabelling.cells().apply(cell.into()) as u16;
        Self { cell: to(self.cell), piece: to(self.piece), ..*self }
    }
}

/// How many states there are of a puzzle whose moves have guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// For each piece what it shows: pieces of one number are interchangeable.
    pub labels: Vec<u16>,
    /// The number of states, those that differ by free moves being one.
    pub states: BigUint,
}

/// Cells `0..cells`, as many pieces (piece `p` belongs on cell `p`, in orientation 0), moves, and symmetries.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// One word, as on the command line.
    pub name: String,
    /// The number of cells.
    pub cells: usize,
    /// How many orientations of each piece are told apart, a divisor of the order of the cells where it
    /// stands.
    pub seen: Vec<u16>,
    /// The moves, no two of them equal, none the identity. Where there are free moves, no two differ by a
    /// free move that follows; and they are all moves of the puzzle behind all free moves: those that
    /// make all neighbours of a state from one of its words.
    pub moves: Vec<PuzzleMove>,
    /// The same moves with free moves behind them: no two differ by a free move that comes before, and they
    /// are all moves of the puzzle before all free moves. Without free moves, `moves`.
    pub incoming_moves: Vec<PuzzleMove>,
    /// The group of the free moves, the identity first: what they do to a state makes no other state of it.
    pub free: Vec<OrientedPermutation>,
    /// The number of states, if that takes more than the order of a group to tell.
    pub counted: Option<Counted>,
    /// By piece: those of different numbers never exchange places, whatever cells they have in common. One
    /// number for all where that is not known.
    pub kinds: Vec<u16>,
    /// Relabellings that map the set of moves onto itself, up to free moves that follow, the identity first:
    /// a group, up to turns of all pieces of an orbit alike, which change no move.
    pub symmetries: Vec<Relabelling>,
}

impl Puzzle {
    /// Whether `relabelling` maps the set of moves, each followed by free moves, onto itself.
    pub fn is_symmetry(&self, relabelling: &Relabelling) -> bool {
        let is_kept = |m: &PuzzleMove| {
            let guard = m.guard.iter().map(|guard| guard.renamed(relabelling)).collect();
            self.has_up_to_free(&relabelling.rename(&m.action), guard)
        };
        self.moves.iter().all(is_kept)
    }

    /// The orbits of cells under all moves, each in increasing order, by their first cells.
    pub fn orbits(&self) -> Vec<Vec<usize>> {
        let moves = self.moves.iter().map(|m| &m.action);
        let actions: Vec<Permutation> =
            moves.chain(&self.free).map(|action| action.cells().clone()).collect();
        let mut orbits = orbits(self.cells, &actions);
        let is_fixed = |cell: &usize| !orbits.iter().any(|orbit| orbit.contains(cell));
        let fixed: Vec<usize> = (0..self.cells).filter(is_fixed).collect();
        orbits.extend(fixed.into_iter().map(|cell| vec![cell]));
        orbits.sort_unstable();
        orbits
    }

    /// Whether the inverse of every move is a move, up to free moves, and can be made wherever the move has
    /// led.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.moves.iter().all(|m| {
            let carried =
                |guard: &Guard| Guard { cell: m.action.cells().apply(guard.cell.into()) as u16, ..*guard };
            self.has_up_to_free(&m.action.inverse(), m.guard.iter().map(carried).collect())
        })
    }

    fn has_up_to_free(&self, action: &OrientedPermutation, mut guard: Vec<Guard>) -> bool {
        guard.sort_unstable();
        let back = action.inverse();
        let is_same =
            |other: &PuzzleMove| *other.guard == *guard && self.free.contains(&back.then(&other.action));
        self.moves.iter().any(is_same)
    }
}

#[cfg(test)]
mod tests {
    use crate::{Definition, Metric};
    use fathom_algebra::{OrientedPermutation, Permutation};

    /// An inverse that asks for something else does not lead back from everywhere.
    #[test]
    fn inverses_have_the_same_guard() {
        let closed = |guards: [&[u16]; 2]| {
            let mut puzzle = Definition::of_degree("test", 5).unwrap();
            for (name, cycles, guard) in [("U", "(1,2,3)", guards[0]), ("W", "(1,3,2)", guards[1])] {
                let cells = Permutation::parse(cycles, 5).unwrap();
                puzzle.add_guarded_move(name, OrientedPermutation::from_cells(cells), guard).unwrap();
            }
            puzzle.puzzle(Metric::Given).unwrap().is_closed_under_inverses()
        };
        assert!(closed([&[], &[]]) && closed([&[3, 4], &[4, 3]]));
        assert!(!closed([&[3], &[]]) && !closed([&[], &[3]]) && !closed([&[3], &[4]]));
    }
}
