//! The form of a puzzle that the engine searches.

use crate::Starts;
use crate::facelets::Facelets;
use crate::up_to_free_moves::UpToFree;
use fathom_algebra::orbits::all_orbits;
use fathom_algebra::{Named, OrientedPermutation, Permutation, Relabelling};
use num_bigint::BigUint;
use std::collections::{BTreeSet, HashSet};

/// A named permutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The name, as users write it.
    pub name: String,
    /// The permutation: `action.apply(c)` is the cell to which the piece on cell `c` goes.
    pub action: Permutation,
}

impl Move {
    /// Returns the move as a named element of expressions.
    pub fn named(&self) -> Named<'_> {
        Named { name: &self.name, action: &self.action }
    }
}

/// A generator of cost 1, as the engine uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PuzzleMove {
    /// The name, as users write it.
    pub name: String,
    /// The action on the pieces of all cells.
    pub action: OrientedPermutation,
    /// The conditions under which the move is possible, in increasing order.
    pub guard: Box<[Guard]>,
}

/// The condition that a cell holds, or does not hold, a piece with the label of a given piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard {
    /// The cell.
    pub cell: u16,
    /// The piece, identified by its home cell.
    pub piece: u16,
    /// Whether the cell must hold such a piece, or must not.
    pub holds: bool,
}

impl Guard {
    /// Returns the condition after renaming cells and pieces.
    pub fn renamed(&self, relabelling: &Relabelling) -> Self {
        let to = |cell: u16| relabelling.cells().apply(cell.into()) as u16;
        Self { cell: to(self.cell), piece: to(self.piece), ..*self }
    }
}

/// The number of states of a puzzle whose moves have guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The labels for which the number is valid, one per piece: pieces with the same label are
    /// interchangeable.
    pub labels: Vec<u16>,
    /// The number of states; states that differ by free moves count as one.
    pub states: BigUint,
}

/// A puzzle on the cells `0..cells` with as many pieces (piece `p` belongs on cell `p`, in orientation 0),
/// with moves and symmetries.
#[derive(Clone, Debug)]
pub struct Puzzle {
    /// The name, as on the command line.
    pub name: String,
    /// The number of cells.
    pub cells: usize,
    /// For each piece the number of its orientations that are distinguished, a divisor of the number of
    /// orientations of its cells.
    pub seen: Vec<u16>,
    /// The moves; no two are equal, and none is the identity. With free moves: the products of each free
    /// move followed by each move, of which no two differ by a free move that follows. Applied to one
    /// state vector of a state, they give all its neighbours.
    pub moves: Vec<PuzzleMove>,
    /// The moves with free moves after them: the products of each move followed by each free move, of which
    /// no two differ by a preceding free move. Without free moves, equal to `moves`.
    pub incoming_moves: Vec<PuzzleMove>,
    /// The group of the free moves, the identity first. A free move leads from each state vector of a
    /// state to a state vector of the same state.
    pub free: Vec<OrientedPermutation>,
    /// The limits on states: conditions that all states satisfy.
    pub limits: Vec<Guard>,
    /// The states from which distances are counted. With other ones than the solved state, the states of the puzzle
    /// can only be listed.
    pub starts: Starts,
    /// The number of states, if it is known and is not simply the order of a group.
    pub counted: Option<Counted>,
    /// For each piece a number: pieces with different numbers never exchange places, although their cells
    /// may be the same. All numbers are equal if nothing is known.
    pub kinds: Vec<u16>,
    /// Automorphisms that map the set of moves onto itself, up to free moves that follow; the identity first.
    /// They form a group up to turns of all pieces of an orbit by the same amount, which change no move.
    /// If moves have guards, a free move may change which pieces these refer to: whether it does depends on
    /// the labels.
    pub symmetries: Vec<Relabelling>,
    /// Whether `symmetries` are known to be complete.
    pub has_all_symmetries: bool,
    /// The same puzzle with more symmetries, if states are limited and there is one: the last of its cells
    /// is an additional cell with two orientations, which records how the puzzle is held, and its only free
    /// move besides the identity is a half turn of the whole puzzle.
    pub held: Option<Box<Self>>,
    /// Other pieces with which the puzzle needs fewer symbols: the cells are facelets of these pieces, or some
    /// orientations follow from the rest.
    pub facelets: Option<Box<(Facelets, Self)>>,
}

impl Puzzle {
    /// Returns whether `relabelling` maps the set of moves, each followed by free moves, onto itself.
    pub fn is_symmetry(&self, relabelling: &Relabelling) -> bool {
        self.has_up_to_free(self.moves.iter().map(|m| {
            let guard = m.guard.iter().map(|guard| guard.renamed(relabelling)).collect();
            (relabelling.rename(&m.action), guard)
        }))
    }

    /// Extends each exclusion of a piece to all pieces with the same label, given by piece in `labels`, and
    /// drops symmetries that do not preserve the extended limits.
    pub fn rule_out_alike(&mut self, labels: &[u16]) {
        let alike = |asked: &Guard| {
            let label = labels[usize::from(asked.piece)];
            let (cell, holds, own) = (asked.cell, asked.holds, asked.piece);
            let pieces = (0..labels.len() as u16).filter(move |&piece| match holds {
                true => piece == own,
                false => labels[usize::from(piece)] == label,
            });
            pieces.map(move |piece| Guard { cell, piece, holds }).collect::<Vec<_>>()
        };
        let all = |guards: &[Guard]| -> Vec<Guard> {
            guards.iter().flat_map(alike).collect::<BTreeSet<_>>().into_iter().collect()
        };
        for m in self.moves.iter_mut().chain(&mut self.incoming_moves) {
            m.guard = all(&m.guard).into();
        }
        self.limits = all(&self.limits);
        let limits: HashSet<Guard> = self.limits.iter().copied().collect();
        self.symmetries.retain(|a| limits.iter().all(|limit| limits.contains(&limit.renamed(a))));
    }

    /// Returns the same puzzle on the cells of other pieces, which were found for it, with the identity as
    /// its only symmetry.
    ///
    /// # Panics
    /// If a move does not keep the facelets of a piece together.
    pub fn on_pieces(&self, pieces: &Facelets) -> Self {
        let on_pieces = |m: &PuzzleMove| PuzzleMove {
            action: pieces.action(&m.action.as_points()).expect("moves keep pieces together"),
            ..m.clone()
        };
        let identity = OrientedPermutation::identity(pieces.orientation_counts());
        Self {
            name: self.name.clone(),
            cells: pieces.orientation_counts().len(),
            seen: pieces.orientation_counts().to_vec(),
            moves: self.moves.iter().map(on_pieces).collect(),
            incoming_moves: self.incoming_moves.iter().map(on_pieces).collect(),
            symmetries: vec![Relabelling::from_action(&identity)],
            has_all_symmetries: false,
            free: vec![identity],
            limits: Vec::new(),
            starts: Starts::default(),
            counted: None,
            kinds: vec![0; pieces.orientation_counts().len()],
            held: None,
            facelets: None,
        }
    }

    /// Returns the puzzle with orientations modulo `orientation_counts`, which divide those of its cells and are equal
    /// within an orbit. Moves that then change nothing or are equal to others are omitted, as are symmetries that are
    /// equal, or that carry cells to cells with other orientation counts.
    pub fn with_fewer_orientations(self, orientation_counts: &[u16]) -> Self {
        let reduced = |action: &OrientedPermutation| {
            let turns: Vec<u16> = action.turns().iter().zip(orientation_counts).map(|(t, n)| t % n).collect();
            OrientedPermutation::new(action.cells().clone(), turns, orientation_counts)
                .expect("cells of one orbit have the same number of orientations")
        };
        let without_repetitions = |moves: Vec<PuzzleMove>| -> Vec<PuzzleMove> {
            let mut known = HashSet::new();
            let moves = moves.into_iter().map(|m| PuzzleMove { action: reduced(&m.action), ..m });
            moves.filter(|m| !m.action.is_identity() && known.insert(m.action.clone())).collect()
        };
        let symmetry = |a: &Relabelling| {
            let modulo = |(&x, &n): (&u16, &u16)| x % n;
            let keeps =
                (0..self.cells).all(|c| orientation_counts[a.cells().apply(c)] == orientation_counts[c]);
            let turns: Vec<u16> = a.turns().iter().zip(orientation_counts).map(modulo).collect();
            let factors: Vec<u16> = a
                .factors()
                .iter()
                .zip(orientation_counts)
                .map(|(&x, &n)| if n == 1 { 1 } else { x % n })
                .collect();
            keeps.then(|| Relabelling::new(a.cells().clone(), factors, turns, orientation_counts))
        };
        let mut known = HashSet::new();
        let symmetries =
            self.symmetries.iter().filter_map(symmetry).filter(|a| known.insert(a.clone())).collect();
        Self {
            moves: without_repetitions(self.moves),
            incoming_moves: without_repetitions(self.incoming_moves),
            free: self.free.iter().map(reduced).collect(),
            symmetries,
            ..self
        }
    }

    /// Returns the orbits of cells under all moves, free moves and elements that lead to starts: the cells of each in
    /// increasing order, the orbits in the order of their first cells.
    pub fn orbits(&self) -> Vec<Vec<usize>> {
        let moves = self.moves.iter().map(|m| &m.action);
        let actions: Vec<Permutation> = moves
            .chain(&self.free)
            .chain(&self.starts.states)
            .chain(&self.starts.by)
            .map(|action| action.cells().clone())
            .collect();
        all_orbits(self.cells, &actions)
    }

    /// Returns whether the inverse of every move is a move, up to free moves, and is possible in all states
    /// that the move leads to.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.has_up_to_free(self.moves.iter().map(|m| {
            let carried =
                |guard: &Guard| Guard { cell: m.action.cells().apply(guard.cell.into()) as u16, ..*guard };
            (m.action.inverse(), m.guard.iter().map(carried).collect())
        }))
    }

    /// Returns whether each of these actions, with its guard, is that of a move followed by a free move.
    fn has_up_to_free(&self, mut actions: impl Iterator<Item = (OrientedPermutation, Vec<Guard>)>) -> bool {
        let mut up_to_free = UpToFree::new(&self.free);
        let known: HashSet<_> =
            self.moves.iter().map(|m| (up_to_free.of(&m.action), m.guard.to_vec())).collect();
        actions.all(|(action, mut guard)| {
            guard.sort_unstable();
            known.contains(&(up_to_free.of(&action), guard))
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Definition, Metric};
    use fathom_algebra::{OrientedPermutation, Permutation};

    /// An inverse with a different guard is not possible in every state that the move leads to.
    #[test]
    fn inverses_need_the_same_guard() {
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
