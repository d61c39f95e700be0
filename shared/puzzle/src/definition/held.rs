//! Puzzles that can be held in two ways, so that more symmetries relabel cells.
//!
//! The twist of Square-1 turns over the right half while the left half is held. When the puzzle is turned
//! over, as a whole, behind each twist, the same moves turn over the left half while the right half is held.
//! That exchange of the halves leaves distances as they are, but relabels no cells: which cells are meant
//! depends on how many twists there were. So a cell is added which tells how the puzzle is held. A *turn of
//! the whole* R maps moves to moves, R X R⁻¹; it is made free, and turns the piece of the new cell. Then
//! there are twice as many words, two for each state, and R X, the same move of a puzzle that is held the
//! other way, is as good as X: relabellings may exchange the two.

use super::searched::symmetries;
use super::{Definition, Generator};
use crate::{Puzzle, PuzzleMove};
use fathom_algebra::{OrientedPermutation, Permutation, Relabelling};
use std::collections::{HashMap, HashSet};

impl Definition {
    /// The same puzzle with one more cell, behind the others, that tells how it is held, and with a turn of
    /// the whole as its free move: that with the most symmetries. `None` if none gives more than there are
    /// without. The puzzle has no free moves.
    pub(super) fn held(&self, puzzle: &Puzzle, generators: &[Generator], orders: &[u16]) -> Option<Puzzle> {
        let kept = |relabellings: &[Relabelling]| {
            let kept = relabellings.iter().filter(|relabelling| self.keeps_labels(relabelling));
            kept.map(Relabelling::cells).collect::<HashSet<_>>().len()
        };
        let candidates = puzzle.symmetries.iter().flat_map(turns_of_the_whole);
        let best = candidates
            .filter(|turn| self.maps_moves_to_moves(turn, generators))
            .map(|turn| self.held_with(&turn, puzzle, generators, orders))
            .map(|held| (kept(&held.symmetries), held))
            // Of equals the first.
            .reduce(|best, held| if held.0 > best.0 { held } else { best });
        best.filter(|&(symmetries, _)| symmetries > kept(&puzzle.symmetries)).map(|(_, held)| held)
    }

    fn held_with(
        &self,
        turn: &OrientedPermutation,
        puzzle: &Puzzle,
        generators: &[Generator],
        orders: &[u16],
    ) -> Puzzle {
        let moves = |moves: &[PuzzleMove]| -> Vec<PuzzleMove> {
            moves.iter().map(|m| PuzzleMove { action: with_hold(&m.action, 0), ..m.clone() }).collect()
        };
        let mut held = Puzzle {
            cells: puzzle.cells + 1,
            seen: puzzle.seen.iter().copied().chain([2]).collect(),
            moves: moves(&puzzle.moves),
            incoming_moves: moves(&puzzle.incoming_moves),
            free: vec![with_hold(&puzzle.free[0], 0), with_hold(turn, 1)],
            kinds: puzzle
                .kinds
                .iter()
                .copied()
                .chain([puzzle.kinds.iter().max().map_or(0, |kind| kind + 1)])
                .collect(),
            symmetries: Vec::new(),
            held: None,
            ..puzzle.clone()
        };
        let either_way: Vec<Generator> =
            generators
                .iter()
                .flat_map(|g| {
                    let guard = sorted(g.guard.iter().map(|&cell| turn.cells().apply(cell.into()) as u16));
                    asked_for_exchanged(g, turn).into_iter().flat_map(move |action| {
                        let action = with_hold(&action, 0);
                        let turned = with_hold(turn, 1).then(&action);
                        [(action, g.guard.clone()), (turned, guard.clone())]
                            .map(|(action, guard)| Generator { action, guard, ..g.clone() })
                    })
                })
                .collect();
        let orders: Vec<u16> = orders.iter().copied().chain([2]).collect();
        held.symmetries = symmetries(&held, &either_way, &self.limits_of_states().collect(), &orders);
        held
    }

    /// Whether a turn of the whole maps moves to moves with the same guards, and the states that are meant to
    /// such states.
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

    /// Whether a relabelling of the cells, or of these and more behind them, maps pieces with one label to
    /// pieces with one label.
    fn keeps_labels(&self, relabelling: &Relabelling) -> bool {
        let label = |cell: usize| self.solved.get(cell).map(|piece| (piece.label, piece.seen));
        let mut images = HashMap::new();
        let mut preimages = HashMap::new();
        (0..relabelling.cells().degree()).all(|piece| {
            let (from, to) = (label(piece), label(relabelling.cells().apply(piece)));
            *images.entry(from).or_insert(to) == to && *preimages.entry(to).or_insert(from) == from
        })
    }
}

/// What a move does, and all that does the same where the move can be made: on the cells of its guard, on
/// each of which it leaves a piece of one label, it may exchange each with the one to which a turn of the
/// whole carries it.
fn asked_for_exchanged(generator: &Generator, turn: &OrientedPermutation) -> Vec<OrientedPermutation> {
    const MOST: usize = 4;
    let to = |cell: u16| turn.cells().apply(cell.into()) as u16;
    let pairs = generator.guard.iter().filter(|&&cell| cell < to(cell)).take(MOST);
    pairs.fold(vec![generator.action.clone()], |mut all, &cell| {
        let exchange = Permutation::from_fn(turn.degree(), |at| match at {
            at if at == usize::from(cell) => to(cell).into(),
            at if at == usize::from(to(cell)) => cell.into(),
            at => at,
        });
        let orders = turn.orders();
        let exchange = OrientedPermutation::new(exchange, vec![0; orders.len()], orders)
            .expect("a turn of the whole exchanges cells of one kind");
        let exchanged: Vec<_> = all.iter().map(|action| action.then(&exchange)).collect();
        all.extend(exchanged);
        all
    })
}

/// The actions of order two that do to cells what a relabelling does. A piece that stays may be turned in
/// addition. None that moves no cell: which of two ways such a puzzle is held is told by its pieces already.
fn turns_of_the_whole(relabelling: &Relabelling) -> Vec<OrientedPermutation> {
    if relabelling.cells().is_identity() {
        return Vec::new();
    }
    let orders = relabelling.orders();
    let stays = |cell: usize| orders[cell] == 2 && relabelling.cells().apply(cell) == cell;
    let flips = (0..orders.len()).filter(|&cell| stays(cell));
    let flipped = |flip: Option<usize>| {
        let turns: Vec<u16> = (0..orders.len())
            .map(|cell| (relabelling.turns()[cell] + u16::from(flip == Some(cell))) % orders[cell])
            .collect();
        OrientedPermutation::new(relabelling.cells().clone(), turns, orders)
    };
    std::iter::once(None)
        .chain(flips.map(Some))
        .filter_map(|flip| flipped(flip).ok())
        .filter(|turn| !turn.is_identity() && turn.then(turn).is_identity())
        .collect()
}

/// An action on one more cell, the last, of two [orientations](crate::Puzzle::held), whose piece it turns by
/// `turn`.
pub fn with_hold(action: &OrientedPermutation, turn: u16) -> OrientedPermutation {
    let cells = action.degree();
    let images = (0..=cells).map(|cell| if cell == cells { cell } else { action.cells().apply(cell) } as u16);
    OrientedPermutation::new(
        Permutation::from_images(images.collect::<Vec<_>>()).expect("the new cell keeps its piece"),
        [action.turns(), &[turn]].concat(),
        [action.orders(), &[2]].concat(),
    )
    .expect("the new piece has two orientations")
}

fn sorted(cells: impl Iterator<Item = u16>) -> Box<[u16]> {
    let mut cells: Vec<u16> = cells.collect();
    cells.sort_unstable();
    cells.into()
}
