//! Finds solutions by descent: from each state to neighbours that are one move nearer to the solved state.

use super::model::SolveModel;
use num_bigint::BigUint;
use rustc_hash::{FxHashMap, FxHashSet};

/// Shortest solutions of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solutions {
    /// The number of moves of each solution.
    pub distance: u32,
    /// The solutions, as indices of moves, in lexicographic order.
    pub solutions: Vec<Vec<usize>>,
    /// Whether there are further solutions.
    pub more: bool,
}

/// Returns the first `most` shortest solutions of a state, from the word `start`, whose distance must be
/// `distance`. Of moves that lead from a state to the same state, only the first is used. `is_at(word, d)` is called for
/// neighbours of states at distance d + 1, and returns whether `word` is at distance d. If its answers are right, the
/// search has no dead ends, and finding a solution takes at most `distance` times the number of moves calls.
///
/// # Errors
/// The errors of `is_at`.
pub fn descend<E>(
    model: &SolveModel,
    start: &[u8],
    distance: u32,
    most: usize,
    mut is_at: impl FnMut(&[u8], u32) -> Result<bool, E>,
) -> Result<Solutions, E> {
    let mut found = Solutions { distance, solutions: Vec::new(), more: false };
    // The states on the path and the moves between them; `mv` is the next move to try.
    let mut words = vec![start.to_vec()];
    let mut way: Vec<usize> = Vec::new();
    // For each state on the path, the neighbours that were visited from it.
    let mut visited: Vec<Vec<Vec<u8>>> = vec![Vec::new()];
    let mut mv = 0;
    let mut image = start.to_vec();
    loop {
        let left = distance - way.len() as u32;
        if left == 0 {
            if found.solutions.len() == most {
                found.more = true;
                return Ok(found);
            }
            found.solutions.push(way.clone());
        }
        if left > 0 && mv < model.moves().len() {
            if model.apply(mv, &words[way.len()], &mut image) && is_at(&image, left - 1)? {
                let state = model.reduced(&image);
                if !visited[way.len()].contains(&state) {
                    visited[way.len()].push(state);
                    visited.push(Vec::new());
                    words.push(image.clone());
                    way.push(mv);
                    mv = 0;
                    continue;
                }
            }
            mv += 1;
            continue;
        }
        let Some(last) = way.pop() else {
            return Ok(found);
        };
        words.pop();
        visited.pop();
        mv = last + 1;
    }
}

/// Returns the number of shortest solutions of a state, all those that [`descend`] would list. Counts the ways
/// from the state to each state on them, one move after the other; states are compared up to free moves, after
/// which moves lead to the same states. Moves from a state to the same state count once. The arguments are those of [`descend`].
///
/// # Errors
/// The errors of `is_at`.
pub fn count<E>(
    model: &SolveModel,
    start: &[u8],
    distance: u32,
    mut is_at: impl FnMut(&[u8], u32) -> Result<bool, E>,
) -> Result<BigUint, E> {
    let mut level = FxHashMap::from_iter([(model.reduced(start), BigUint::from(1_u32))]);
    let (mut image, mut reduced) = (start.to_vec(), start.to_vec());
    for left in (0..distance).rev() {
        let mut next: FxHashMap<Vec<u8>, BigUint> = FxHashMap::default();
        for (word, ways) in &level {
            let mut visited: FxHashSet<Vec<u8>> = FxHashSet::default();
            for mv in 0..model.moves().len() {
                if !model.apply(mv, word, &mut image) {
                    continue;
                }
                model.reduce(&image, &mut reduced);
                if visited.contains(&reduced) {
                    continue;
                }
                if let Some(sum) = next.get_mut(&reduced) {
                    *sum += ways;
                } else if is_at(&reduced, left)? {
                    next.insert(reduced.clone(), ways.clone());
                } else {
                    continue;
                }
                visited.insert(reduced.clone());
            }
        }
        level = next;
    }
    Ok(level.into_values().sum())
}

/// Returns a shortest sequence of moves from the solved state to `state`, whose distance from it must be
/// `distance`; `None` if there is no such sequence. `is_at(word, d)` is called for predecessors of states at
/// distance d + 1, and returns whether `word` is at distance d from the solved state. Of the predecessors of
/// a state the first is taken, in the order of the predecessor moves.
///
/// # Errors
/// The errors of `is_at`.
pub fn way_to<E>(
    model: &SolveModel,
    state: &[u8],
    distance: u32,
    mut is_at: impl FnMut(&[u8], u32) -> Result<bool, E>,
) -> Result<Option<Vec<usize>>, E> {
    // The states on the path, from `state` backwards.
    let mut states = vec![model.reduced(state)];
    let mut source = state.to_vec();
    for depth in (0..distance).rev() {
        let last = &states[states.len() - 1];
        let mut found = false;
        for way in 0..model.ways_back() {
            found = model.undo(way, last, &mut source) && is_at(&source, depth)?;
            if found {
                break;
            }
        }
        if !found {
            return Ok(None);
        }
        states.push(model.reduced(&source));
    }
    let is_on_it = |word: &[u8], left: u32| Ok(model.reduced(word) == states[left as usize]);
    let way = descend(model, model.solved(), distance, 1, is_on_it)?;
    Ok(way.solutions.into_iter().next())
}
