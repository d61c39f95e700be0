//! The form in which the engine takes every puzzle.

use crate::facelets::Facelets;
use crate::up_to_rotation::UpToFree;
use fathom_algebra::orbits::all_orbits;
use fathom_algebra::{Named, OrientedPermutation, Permutation, Relabelling};
use num_bigint::BigUint;
use std::collections::{BTreeSet, HashSet};

/// A named permutation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The name, as people write it.
    pub name: String,
    /// The permutation: `action.apply(c)` is the cell to which the piece on cell `c` goes.
    pub action: Permutation,
}

impl Move {
    /// Returns the move as expressions name it.
    pub fn named(&self) -> Named<'_> {
        Named { name: &self.name, action: &self.action }
    }
}

/// A generator of cost 1, as the engine takes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PuzzleMove {
    /// The name, as people write it.
    pub name: String,
    /// The action on the pieces of all cells.
    pub action: OrientedPermutation,
    /// The move is possible only while all these conditions hold. In increasing order.
    pub guard: Box<[Guard]>,
}

/// The condition that a cell holds, or does not hold, a piece with the label of a given piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Guard {
    /// The cell.
    pub cell: u16,
    /// The piece, given by the cell where it belongs.
    pub piece: u16,
    /// Whether the cell must hold such a piece; otherwise it must not.
    pub holds: bool,
}

impl Guard {
    /// Returns the condition after cells and pieces have been renamed.
    pub fn renamed(&self, relabelling: &Relabelling) -> Self {
        let to = |cell: u16| relabelling.cells().apply(cell.into()) as u16;
        Self { cell: to(self.cell), piece: to(self.piece), ..*self }
    }
}

/// The number of states of a puzzle whose moves have guards.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The labels for which the number holds, one for each piece: pieces with one label are interchangeable.
    pub labels: Vec<u16>,
    /// The number of states, where states that differ by free moves are one.
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
    /// For each piece the number of its orientations that are told apart, a divisor of the order of its
    /// cells.
    pub seen: Vec<u16>,
    /// The moves; no two are equal, and none is the identity. With free moves: the products of each free
    /// move followed by each move, of which no two differ by a free move that follows. Applied to one
    /// word of a state, they make all neighbours of the state.
    pub moves: Vec<PuzzleMove>,
    /// The moves with free moves after them: the products of each move followed by each free move, of which
    /// no two differ by a free move that comes before. Without free moves, equal to `moves`.
    pub incoming_moves: Vec<PuzzleMove>,
    /// The group of the free moves, the identity first. A free move leads from each word of a state to a
    /// word of the same state.
    pub free: Vec<OrientedPermutation>,
    /// The conditions that all states satisfy, to which states are limited.
    pub limits: Vec<Guard>,
    /// The number of states, where it is known and is not simply the order of a group.
    pub counted: Option<Counted>,
    /// For each piece a number: pieces with different numbers never exchange places, although their cells
    /// may be the same. All numbers are equal where nothing of the kind is known.
    pub kinds: Vec<u16>,
    /// Automorphisms that map the set of moves onto itself, up to free moves that follow; the identity first.
    /// They form a group up to turns of all pieces of an orbit by the same amount, which change no move.
    /// Where moves have guards, a free move may change for which pieces these ask: whether it does depends on
    /// the labels.
    pub symmetries: Vec<Relabelling>,
    /// Whether `symmetries` are known to be all that there are.
    pub has_all_symmetries: bool,
    /// The same puzzle with more symmetries, where states are limited and there is one: the last of its
    /// cells is an additional cell with two orientations, which tells how the puzzle is held, and its
    /// one free move besides the identity turns the whole puzzle over.
    pub held: Option<Box<Self>>,
    /// Other pieces with which the puzzle has fewer letters, where all pieces and orientations are told
    /// apart: the cells are facelets of these pieces, or some orientations follow from the rest.
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

    /// Rules out all pieces that look like those that are ruled out, where `labels` has a label for each
    /// piece, and leaves out symmetries that do not keep what is ruled out then.
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
    /// If a move tears pieces.
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
            counted: None,
            kinds: vec![0; pieces.orientation_counts().len()],
            held: None,
            facelets: None,
        }
    }

    /// Returns the orbits of cells under all moves and free moves: the cells of each in increasing order, the
    /// orbits in the order of their first cells.
    pub fn orbits(&self) -> Vec<Vec<usize>> {
        let moves = self.moves.iter().map(|m| &m.action);
        let actions: Vec<Permutation> =
            moves.chain(&self.free).map(|action| action.cells().clone()).collect();
        all_orbits(self.cells, &actions)
    }

    /// Returns whether the inverse of every move is a move, up to free moves, and is possible wherever the
    /// move leads.
    pub fn is_closed_under_inverses(&self) -> bool {
        self.has_up_to_free(self.moves.iter().map(|m| {
            let carried =
                |guard: &Guard| Guard { cell: m.action.cells().apply(guard.cell.into()) as u16, ..*guard };
            (m.action.inverse(), m.guard.iter().map(carried).collect())
        }))
    }

    /// Returns whether all actions with these guards are those of moves, each followed by a free move.
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

    /// An inverse with a different guard does not lead back from every state.
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
