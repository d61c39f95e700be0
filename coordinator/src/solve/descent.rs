//! Solutions, by whatever tells whether a state lies at a distance: from each state on to those that are one move nearer.

use super::walk::Walk;

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

/// The first `most` shortest solutions of a state at this distance. `is_at(word, d)` tells of a state one move from one at distance d + 1
/// whether it lies at distance d. Where it tells the truth no way is a dead end, so that each solution takes no more than
/// `distance` times as many questions as there are moves.
///
/// # Errors
/// Those of `is_at`.
pub fn descend<E>(
    walk: &impl Walk,
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
        if left > 0 && mv < walk.moves() {
            if walk.apply(mv, &words[way.len()], &mut image) && is_at(&image, left - 1)? {
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
