//! Moves that leave a puzzle held in another way: wide turns, slices and rotations of Rubik's cube, and the
//! turns of the skewb as the World Cube Association writes them (regulation 12). They are carried out in
//! space, on all pieces, and the puzzle is then turned back as a whole.

use super::cube;
use super::geometry::{Space, Vector, dot, turn};
use fathom_algebra::{OrientedPermutation, expression};

/// Reads a sequence of moves of the puzzle of a name. Returns the element on the cells of the family's
/// definition; `None` if the puzzle has no such moves, or if the text is not a sequence of them.
pub fn read(word: &str, text: &str) -> Option<OrientedPermutation> {
    let Space { orbits, moves, rotations, held, cells } = cube::in_space(word)?;
    let whole = |&axis: &Vector| turn(&orbits, axis, |_| true);
    let rotations: Vec<OrientedPermutation> = rotations.iter().map(whole).collect();
    let identity = OrientedPermutation::identity(rotations[0].orientation_counts());
    let mut named = |name: &str| {
        let found = moves.iter().find(|(known, ..)| known == name);
        Ok(found.map(|(_, axis, part)| turn(&orbits, *axis, |at| part.contains(&dot(at, *axis)))))
    };
    let done = expression::sequence(text, &identity, &mut named).ok()?.unwrap_or_else(|| identity.clone());
    let mut group = vec![identity];
    let mut next = 0;
    while next < group.len() {
        for rotation in &rotations {
            let product = group[next].then(rotation);
            if !group.contains(&product) {
                group.push(product);
            }
        }
        next += 1;
    }
    let is_held = |back: &&OrientedPermutation| {
        let done = done.then(back);
        held.clone().all(|cell| done.cells().apply(cell) == cell)
    };
    let done = done.then(group.iter().find(is_held)?);
    let images = fathom_algebra::Permutation::from_fn(cells, |cell| done.cells().apply(cell));
    let (turns, counts) = (&done.turns()[..cells], &done.orientation_counts()[..cells]);
    OrientedPermutation::new(images, turns.to_vec(), counts).ok()
}
