//! The half-turn extension: puzzles that can be held in two ways, which gives them more symmetries.
//!
//! The twist of Square-1 flips the right half while the left half is held. If the whole puzzle is flipped
//! after each twist, the same moves flip the left half while the right half is held. This exchange of the
//! halves preserves distances, but it is not a relabelling of the cells: which half a cell belongs to depends
//! on the number of twists so far. Therefore one cell is added whose orientation records how the puzzle is
//! held. A *half turn* R of the whole puzzle maps moves to moves, R X R⁻¹; R becomes a free move, and turns
//! the piece of the new cell. Then there are twice as many state vectors, two for each state, and the move
//! R X of the puzzle held the other way is equivalent to X: automorphisms may exchange the two.

use super::search_form::symmetries;
use super::{Definition, Generator};
use crate::{Puzzle, PuzzleMove, Starts};
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use std::collections::{HashMap, HashSet};

impl Definition {
    /// Returns the same puzzle with one more cell, the last, that records how the puzzle is held, and with a
    /// half turn as its free move: the one that gives the most symmetries. `None` if none gives more
    /// symmetries than `puzzle` has. Only symmetries that keep labels count, and those that relabel cells in
    /// the same way count once. Expects a puzzle without free moves.
    pub(super) fn held(
        &self,
        puzzle: &Puzzle,
        generators: &[Generator],
        orientation_counts: &[u16],
    ) -> Option<Puzzle> {
        let kept = |automorphisms: &[Relabelling]| {
            let kept = automorphisms.iter().filter(|relabelling| self.keeps_labels(relabelling));
            kept.map(Relabelling::cells).collect::<HashSet<_>>().len()
        };
        let candidates = puzzle.symmetries.iter().flat_map(turns_of_the_whole);
        let best = candidates
            .filter(|turn| self.maps_moves_to_moves(turn, generators))
            .map(|turn| self.held_with(&turn, puzzle, generators, orientation_counts))
            .map(|held| (kept(&held.symmetries), held))
            // Of half turns with equally many symmetries the first is used.
            .reduce(|best, held| if held.0 > best.0 { held } else { best });
        best.filter(|&(symmetries, _)| symmetries > kept(&puzzle.symmetries)).map(|(_, held)| held)
    }

    fn held_with(
        &self,
        turn: &OrientedPermutation,
        puzzle: &Puzzle,
        generators: &[Generator],
        orientation_counts: &[u16],
    ) -> Puzzle {
        let mut held = held_by(puzzle, &with_hold(turn, 1));
        let either_way: Vec<Generator> =
            generators
                .iter()
                .flat_map(|g| {
                    let guard = sorted(g.guard.iter().map(|&cell| turn.cells().apply(cell.into()) as u16));
                    self.with_exchanged_guards(g, turn).into_iter().flat_map(move |action| {
                        let action = with_hold(&action, 0);
                        let turned = with_hold(turn, 1).then(&action);
                        [(action, g.guard.clone()), (turned, guard.clone())]
                            .map(|(action, guard)| Generator { action, guard, ..g.clone() })
                    })
                })
                .collect();
        let orientation_counts: Vec<u16> = orientation_counts.iter().copied().chain([2]).collect();
        (held.symmetries, held.has_all_symmetries) =
            symmetries(&held, &either_way, &self.limits_of_states().collect(), &orientation_counts);
        held
    }

    /// Returns whether a half turn maps each move, with its guard, to a move, and the cells of the limits to
    /// such cells.
    fn maps_moves_to_moves(&self, turn: &OrientedPermutation, generators: &[Generator]) -> bool {
        let label = |cell: u16| self.solved[usize::from(cell)].label;
        let to = |cell: u16| turn.cells().apply(cell.into()) as u16;
        let asks_alike = |cells: &[u16]| cells.iter().all(|&cell| label(to(cell)) == label(cell));
        let known: HashSet<(&OrientedPermutation, &[u16])> =
            generators.iter().map(|g| (&g.action, &*g.guard)).collect();
        let is_known = |g: &Generator| {
            let action = turn.inverse().then(&g.action).then(turn);
            asks_alike(&g.guard) && known.contains(&(&action, &*sorted(g.guard.iter().map(|&cell| to(cell)))))
        };
        asks_alike(&self.always)
            && self.always.iter().all(|&cell| self.always.contains(&to(cell)))
            && generators.iter().all(is_known)
    }

    /// Returns whether a relabelling maps classes of pieces with equal labels to such classes. The
    /// relabelling may have more cells, after those of the definition.
    fn keeps_labels(&self, relabelling: &Relabelling) -> bool {
        let label = |cell: usize| self.solved.get(cell).map(|piece| (piece.label, piece.seen));
        let mut images = HashMap::new();
        let mut preimages = HashMap::new();
        (0..relabelling.cells().degree()).all(|piece| {
            let (from, to) = (label(piece), label(relabelling.cells().apply(piece)));
            *images.entry(from).or_insert(to) == to && *preimages.entry(to).or_insert(from) == from
        })
    }

    /// Returns the action of a move, and actions that have the same effect wherever the move is possible: two
    /// cells of the guard that a half turn exchanges hold pieces with the same label, so these pieces may
    /// be exchanged after the move. Pieces with distinguished orientations are not exchanged, because they
    /// may show different orientations. Only the first `MOST` pairs are used: every pair doubles the
    /// number of actions.
    fn with_exchanged_guards(
        &self,
        generator: &Generator,
        turn: &OrientedPermutation,
    ) -> Vec<OrientedPermutation> {
        const MOST: usize = 4;
        let to = |cell: u16| turn.cells().apply(cell.into()) as u16;
        let piece = |cell: u16| self.solved[usize::from(cell)];
        let alike = |cell: u16| piece(cell).seen == 1 && piece(to(cell)).seen == 1;
        let pairs = generator.guard.iter().filter(|&&cell| cell < to(cell) && alike(cell)).take(MOST);
        pairs.fold(vec![generator.action.clone()], |mut all, &cell| {
            let exchange = Permutation::from_fn(turn.degree(), |at| match at {
                at if at == usize::from(cell) => to(cell).into(),
                at if at == usize::from(to(cell)) => cell.into(),
                at => at,
            });
            let orientation_counts = turn.orientation_counts();
            let exchange =
                OrientedPermutation::new(exchange, vec![0; orientation_counts.len()], orientation_counts)
                    .expect("a half turn exchanges cells of the same kind");
            let exchanged: Vec<_> = all.iter().map(|action| action.then(&exchange)).collect();
            all.extend(exchanged);
            all
        })
    }
}

/// Returns the actions of order two that permute the cells like a relabelling. One piece of two
/// orientations that stays on its cell may be turned in addition. The identity on the cells gives none: the
/// pieces already determine in which of two such ways the puzzle is held.
fn turns_of_the_whole(relabelling: &Relabelling) -> Vec<OrientedPermutation> {
    if relabelling.cells().is_identity() {
        return Vec::new();
    }
    let orientation_counts = relabelling.orientation_counts();
    let stays = |cell: usize| orientation_counts[cell] == 2 && relabelling.cells().apply(cell) == cell;
    let flips = (0..orientation_counts.len()).filter(|&cell| stays(cell));
    let flipped = |flip: Option<usize>| {
        let turns: Vec<u16> = (0..orientation_counts.len())
            .map(|cell| {
                (relabelling.turns()[cell] + u16::from(flip == Some(cell))) % orientation_counts[cell]
            })
            .collect();
        OrientedPermutation::new(relabelling.cells().clone(), turns, orientation_counts)
    };
    std::iter::once(None)
        .chain(flips.map(Some))
        .filter_map(|flip| flipped(flip).ok())
        .filter(|turn| !turn.is_identity() && turn.then(turn).is_identity())
        .collect()
}

/// Returns the puzzle with one more cell, the last, that records how the puzzle is held, and with a half turn
/// as its free move, which is given on all these cells. The only symmetry is the identity.
pub fn held_by(puzzle: &Puzzle, turn: &OrientedPermutation) -> Puzzle {
    let moves = |moves: &[PuzzleMove]| -> Vec<PuzzleMove> {
        moves.iter().map(|m| PuzzleMove { action: with_hold(&m.action, 0), ..m.clone() }).collect()
    };
    let free = vec![with_hold(&puzzle.free[0], 0), turn.clone()];
    let last_kind = puzzle.kinds.iter().max().map_or(0, |kind| kind + 1);
    Puzzle {
        cells: puzzle.cells + 1,
        seen: puzzle.seen.iter().copied().chain([2]).collect(),
        moves: moves(&puzzle.moves),
        incoming_moves: moves(&puzzle.incoming_moves),
        symmetries: vec![Relabelling::from_action(&free[0])],
        has_all_symmetries: false,
        free,
        kinds: puzzle.kinds.iter().copied().chain([last_kind]).collect(),
        starts: Starts::default(),
        held: None,
        facelets: None,
        ..puzzle.clone()
    }
}

/// Extends an action by one more cell, the last, of two [orientations](crate::Puzzle::held), whose piece it
/// turns by `turn`.
fn with_hold(action: &OrientedPermutation, turn: u16) -> OrientedPermutation {
    let cells = action.degree();
    let images = (0..=cells).map(|cell| if cell == cells { cell } else { action.cells().apply(cell) } as u16);
    OrientedPermutation::new(
        Permutation::from_images(images.collect::<Vec<_>>()).expect("the new cell keeps its piece"),
        [action.turns(), &[turn]].concat(),
        [action.orientation_counts(), &[2]].concat(),
    )
    .expect("the new piece has two orientations")
}

fn sorted(cells: impl Iterator<Item = u16>) -> Box<[u16]> {
    let mut cells: Vec<u16> = cells.collect();
    cells.sort_unstable();
    cells.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Orbit, Piece};

    #[test]
    fn pieces_with_distinguished_orientations_are_not_exchanged() {
        let swap = |turn: u16| {
            let cells = Permutation::from_images(vec![1, 0]).unwrap();
            OrientedPermutation::new(cells, vec![turn; 2], vec![2; 2]).unwrap()
        };
        for (seen, equivalent) in [(1, 2), (2, 1)] {
            let orbit = Orbit { name: "edges".into(), cells: 2, orientations: 2 };
            let mut puzzle = Definition::new("two", vec![orbit]).unwrap();
            puzzle.set_solved(&[Piece { label: 0, orientation: 0, seen }; 2]).unwrap();
            let stay = OrientedPermutation::identity(vec![2; 2]);
            let guarded =
                Generator { name: "R".into(), action: stay, guard: [0, 1].into(), asks: Box::default() };
            assert_eq!(puzzle.with_exchanged_guards(&guarded, &swap(0)).len(), equivalent, "{seen}");
        }
    }
}
