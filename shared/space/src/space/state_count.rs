//! The number of states of a space.

use super::{Space, group};
use crate::multiset_ranker::multinomial;
use crate::{Labels, SymbolTable};
use fathom_algebra::{OrientedPermutation, VisibleLabel, label_stabiliser, states_by_orbits};
use fathom_puzzle::Puzzle;
use num_bigint::BigUint;
use std::collections::HashSet;

/// Returns the number of states, if it follows from the action on each orbit.
pub(super) fn states_by_orbits_of<L: Copy + Into<u32>>(
    puzzle: &Puzzle,
    labels: &Labels<L>,
) -> Option<BigUint> {
    if puzzle.free.len() > 1 || puzzle.moves.iter().any(|m| !m.guard.is_empty()) {
        return None;
    }
    let actions: Vec<OrientedPermutation> = puzzle.moves.iter().map(|m| m.action.clone()).collect();
    states_by_orbits(&actions, &shown(puzzle, labels))
}

/// Returns the number of states of a puzzle that has too many symbols for words. If this number does not
/// follow from the action on each orbit, it is the order of the group divided by the number of elements that
/// change nothing visible.
pub(super) fn states_without_words(puzzle: &Puzzle, labels: &Labels) -> Option<BigUint> {
    /// The chain of a group on more cells takes too long.
    const MAX_CELLS: usize = 255;
    /// The chain of a group on more points takes too much memory, which grows with their square.
    const MAX_POINTS: usize = 2048;
    states_by_orbits_of(puzzle, labels).or_else(|| {
        if puzzle.cells > MAX_CELLS
            || puzzle.free[0].points() > MAX_POINTS
            || puzzle.free.len() > 1
            || puzzle.moves.iter().any(|m| !m.guard.is_empty())
        {
            return None;
        }
        let order = group(puzzle).big_order();
        let actions: Vec<OrientedPermutation> = puzzle.moves.iter().map(|m| m.action.clone()).collect();
        Some(&order / label_stabiliser(&actions, &order, &shown(puzzle, labels))?)
    })
}

/// Returns what is visible of each piece.
fn shown<L: Copy + Into<u32>>(puzzle: &Puzzle, labels: &Labels<L>) -> Vec<VisibleLabel> {
    let pieces = labels.of_pieces().iter().zip(&puzzle.seen);
    pieces.map(|(&label, &seen)| VisibleLabel { label: label.into(), seen }).collect()
}

/// Returns whether words distinguish all orientations of their pieces. `orientation_counts` are those of the
/// cells.
pub(super) fn show_all_turns(labels: &Labels<u8>, symbols: &SymbolTable, orientation_counts: &[u16]) -> bool {
    let shows_all = |(&label, &order): (&u8, &u16)| u16::from(symbols.seen(label)) == order;
    labels.of_pieces().iter().zip(orientation_counts).all(shows_all)
}

/// Counts the states: the length of the orbit of the solved word, divided by the number of words of a state.
/// If all pieces are distinguished, this length is the order of the group. For the symmetric group it is a
/// multinomial; so it is for the alternating group unless all labels differ, because exchanging two equal
/// pieces makes any permutation even. In other groups the elements that change nothing visible are counted.
/// Moves with guards do not generate a group, and words are listed instead. Returns `None` if there are too
/// many to count or to list.
pub(super) fn count_states(space: &Space) -> Option<BigUint> {
    let Space { labels, symbols, .. } = space;
    let group_order = || space.group_order();
    let in_words = BigUint::from(space.free_order());
    if !space.is_guarded()
        && (labels.are_distinct() || space.piece_labels().are_distinct())
        && show_all_turns(labels, symbols, &space.orientation_counts)
    {
        return Some(group_order() / in_words);
    }
    let factorial: BigUint = (1..=labels.pieces()).map(BigUint::from).product();
    if !space.is_guarded()
        && symbols.width() == 1
        && (*group_order() == factorial || group_order() * 2_u32 == factorial)
    {
        let words = match multinomial(labels.sizes()) {
            Some(words) => words.into(),
            None => labels.sizes().iter().fold(factorial, |words, &size| {
                words / (1..=u64::from(size)).map(BigUint::from).product::<BigUint>()
            }),
        };
        return Some(words / in_words);
    }
    if !space.is_guarded() {
        let shown = shown(&space.puzzle, labels);
        let actions = space.puzzle.moves.iter().map(|m| &m.action).chain(&space.puzzle.free);
        let actions: Vec<OrientedPermutation> = actions.cloned().collect();
        return Some(group_order() / label_stabiliser(&actions, group_order(), &shown)? / in_words);
    }
    Some(BigUint::from(reached_words(space, Space::MAX_LISTED)?.len()) / in_words)
}

/// Lists all words of all states: those that moves and free moves reach from the solved word. Returns `None`
/// if there are more than `most`.
pub(crate) fn reached_words(space: &Space, most: usize) -> Option<HashSet<Box<[u8]>>> {
    let solved = space.solved.clone();
    let mut seen = HashSet::from([solved.clone()]);
    let mut open = vec![solved];
    while let Some(word) = open.pop() {
        let moved = (0..space.moves.len()).filter_map(|mv| {
            let mut image = word.clone();
            space.apply(mv, &word, &mut image).then_some(image)
        });
        let free = space.free[1..].iter().map(|free| space.image(free, &word).into());
        for image in moved.chain(free) {
            if seen.insert(image.clone()) {
                open.push(image);
            }
        }
        if seen.len() > most {
            return None;
        }
    }
    Some(seen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_algebra::Permutation;
    use fathom_puzzle::{Definition, Metric, Orbit, Piece};

    /// 50 dials of twelve hours need more symbols than a byte can represent. One move turns the first dial,
    /// another move all others, so there are 12 x 12 states. As one dial hides whether it is turned by half,
    /// a base does not suffice to determine what is visible.
    #[test]
    fn states_are_counted_beyond_symbol_limit() {
        const DIALS: usize = 50;
        let orbits = vec![Orbit { name: "dials".into(), cells: DIALS, orientations: 12 }];
        let mut dials = Definition::new("dials", orbits).unwrap();
        for (name, turned) in [("A", 0..1), ("B", 1..DIALS)] {
            let turns: Vec<u16> = (0..DIALS).map(|dial| turned.contains(&dial).into()).collect();
            let still = Permutation::identity(DIALS);
            dials
                .add_move(name, OrientedPermutation::new(still, turns, dials.orientation_counts()).unwrap())
                .unwrap();
        }
        let mut pieces = dials.solved().to_vec();
        pieces[DIALS - 1] = Piece { seen: 6, ..pieces[DIALS - 1] };
        dials.set_solved(&pieces).unwrap();
        let puzzle = dials.puzzle(Metric::Given).unwrap();
        let error = Space::new(puzzle, Metric::Given, Labels::distinct(DIALS)).unwrap_err().to_string();
        assert!(error.starts_with("dials has 144 states and too many pieces and orientations"), "{error}");
    }
}
