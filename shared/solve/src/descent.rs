//! Solutions, by whatever tells whether a state lies at a distance: from each state on to those that are one
//! move nearer.

use super::model::SolveModel;

/// Shortest solutions of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Solutions {
    /// The number of moves of each.
    pub distance: u32,
    /// The solutions, by the numbers of their moves, in lexicographic order.
    pub solutions: Vec<Vec<usize>>,
    /// Whether there are more.
    pub more: bool,
}

/// The first `most` shortest solutions of a state at this distance, from one of its words on. `is_at(word,
/// d)` tells of a state one move from one at distance d + 1 whether it lies at distance d. Where it tells the
/// truth no way is a dead end, so that each solution takes no more than `distance` times as many questions as
/// there are moves.
///
/// # Errors
/// Those of `is_at`.
pub fn descend<E>(
    model: &SolveModel,
    start: &[u8],
    distance: u32,
    most: usize,
    mut is_at: impl FnMut(&[u8], u32) -> Result<bool, E>,
) -> Result<Solutions, E> {
    let mut found = Solutions { distance, solutions: Vec::new(), more: false };
    // The states on the way, and the moves between them. Then comes `mv`.
    let mut words = vec![start.to_vec()];
    let mut way: Vec<usize> = Vec::new();
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
                words.push(image.clone());
                way.push(mv);
                mv = 0;
            } else {
                mv += 1;
            }
            continue;
        }
        let Some(last) = way.pop() else {
            return Ok(found);
        };
        words.pop();
        mv = last + 1;
    }
}

/// Moves that lead from the solved state to one at this distance from it, as few as there can be; `None` if
/// there are none. `is_at(word, d)` tells of a state from which one move leads to one at distance d + 1
/// whether it lies at distance d from the solved one. Of all states before a state the first is taken, as the
/// ways back have them.
///
/// # Errors
/// Those of `is_at`.
pub fn way_to<E>(
    model: &SolveModel,
    state: &[u8],
    distance: u32,
    mut is_at: impl FnMut(&[u8], u32) -> Result<bool, E>,
) -> Result<Option<Vec<usize>>, E> {
    // The states on the way, by the moves that are left.
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
