//! Turns in space. A cell is a place with the facelets of the piece that belongs there, in clockwise order
//! seen from outside. A turn carries some cells onto others, and turns a piece by the index of the facelet at
//! which the first facelet of the piece arrives. All coordinates are whole numbers: the rotations map the
//! cube with the corners (±1, ±1, ±1) onto itself.

use crate::definition::{Definition, Orbit};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::ops::Range;

/// A vector in space: x to the right, y upwards, z to the front.
pub type Vector = [i32; 3];

/// A place and the directions of its facelets. A piece with n facelets has n orientations; orientation k
/// means that the first facelet of the piece is at index k.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The place. Cells of one orbit have different places.
    pub place: Vector,
    /// The directions, in clockwise order seen from outside; a single one where orientation does not matter.
    pub facelets: Vec<Vector>,
}

/// The name of an orbit, and its cells.
pub type Cells = (&'static str, Vec<Cell>);

/// Returns the sum of two vectors.
pub fn sum(a: Vector, b: Vector) -> Vector {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2]]
}

/// Returns the opposite vector.
pub fn opposite(a: Vector) -> Vector {
    a.map(|x| -x)
}

/// Returns the scalar product.
pub fn dot(a: Vector, b: Vector) -> i32 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Returns `v` after a clockwise turn about `axis`, seen from outside: by a quarter about an axis of length 1
/// such as (0, 1, 0), by a third about an axis of length √3 such as (1, 1, 1).
///
/// This is Rodrigues' formula for a unit vector n and an angle t, v cos t - (n x v) sin t + n (n v) (1 - cos
/// t), with cos 90° = 0, cos 120° = -1/2 and sin 120° = √3/2.
pub fn clockwise(axis: Vector, v: Vector) -> Vector {
    let across = cross(axis, v);
    let along = axis.map(|x| x * dot(axis, v));
    match dot(axis, axis) {
        1 => std::array::from_fn(|i| along[i] - across[i]),
        3 => std::array::from_fn(|i| (along[i] - across[i] - v[i]) / 2),
        _ => unreachable!("axes go through faces or corners of the cube"),
    }
}

/// Returns a puzzle with these cells and no moves yet.
pub fn puzzle(name: &str, orbits: &[Cells]) -> Definition {
    let sizes = orbits.iter().map(|(name, cells)| Orbit {
        name: (*name).into(),
        cells: cells.len(),
        orientations: cells[0].facelets.len() as u16,
    });
    Definition::new(name, sizes.collect()).expect("twisty puzzles have few cells and distinct names")
}

/// Returns the clockwise turn about `axis` of the cells for whose places `turned` holds.
///
/// # Panics
/// If the turn does not carry those cells onto themselves, and facelets onto facelets.
pub fn turn(orbits: &[Cells], axis: Vector, turned: impl Fn(Vector) -> bool) -> OrientedPermutation {
    let (mut images, mut turns, mut orientation_counts) = (Vec::new(), Vec::new(), Vec::new());
    for (_, cells) in orbits {
        let first = images.len();
        for (i, cell) in cells.iter().enumerate() {
            let (mut to, mut turn) = (i, 0);
            if turned(cell.place) {
                let place = clockwise(axis, cell.place);
                to = cells.iter().position(|other| other.place == place).expect("a turn maps cells to cells");
                if cell.facelets.len() > 1 {
                    let facelet = clockwise(axis, cell.facelets[0]);
                    turn = cells[to]
                        .facelets
                        .iter()
                        .position(|&other| other == facelet)
                        .expect("a turn maps facelets to facelets");
                }
            }
            images.push((first + to) as u16);
            turns.push(turn as u16);
            orientation_counts.push(cell.facelets.len() as u16);
        }
    }
    let cells = Permutation::from_images(images).expect("a turn is a bijection");
    OrientedPermutation::new(cells, turns, orientation_counts)
        .expect("cells of one orbit have equally many facelets")
}

/// A puzzle in space.
pub(super) struct Space {
    pub(super) orbits: Vec<Cells>,
    /// The names, axes and parts of the moves: a move turns the places whose product with the axis is in the
    /// range.
    pub(super) moves: Vec<(String, Vector, Range<i32>)>,
    /// The axes whose rotations generate those that a move may leave behind.
    pub(super) rotations: Vec<Vector>,
    /// The cells that are at home if the puzzle is held as usual.
    pub(super) held: Range<usize>,
    /// The number of the first cells that belong to the family's definition.
    pub(super) cells: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_clockwise_from_outside() {
        // Seen from above, the front goes to the left.
        assert_eq!(clockwise([0, 1, 0], [0, 0, 1]), [-1, 0, 0]);
        // Seen from the corner between right, top and front, the top goes to the right.
        assert_eq!(clockwise([1, 1, 1], [0, 1, 0]), [1, 0, 0]);
        for axis in [[1, 0, 0], [0, -1, 0], [1, 1, 1], [-1, 1, -1], [1, -1, 1]] {
            for v in [[1, 0, 0], [0, 1, 1], [1, 1, 1], [2, -2, 2], [0, 0, -2]] {
                let period = if dot(axis, axis) == 1 { 4 } else { 3 };
                assert_eq!((0..period).fold(v, |v, _| clockwise(axis, v)), v);
                assert_eq!(dot(clockwise(axis, v), clockwise(axis, v)), dot(v, v));
            }
        }
    }
}
