//! The kilominx: the corners of the megaminx.

use crate::definition::{Definition, Orbit};
use fathom_algebra::{OrientedPermutation, Permutation};

/// The faces of a dodecahedron: U, five around it, five around D, and D. A face of the lower ring is below
/// two of the upper ring, F and L for DL.
const FACES: [&str; 12] = ["U", "F", "L", "BL", "BR", "R", "DL", "DBL", "B", "DBR", "DR", "D"];
/// For each face its neighbours, clockwise as seen from outside.
const AROUND: [[usize; 5]; 12] = [
    [1, 2, 3, 4, 5],
    [0, 5, 10, 6, 2],
    [0, 1, 6, 7, 3],
    [0, 2, 7, 8, 4],
    [0, 3, 8, 9, 5],
    [0, 4, 9, 10, 1],
    [1, 10, 11, 7, 2],
    [2, 6, 11, 8, 3],
    [3, 7, 11, 9, 4],
    [4, 8, 11, 10, 5],
    [5, 9, 11, 6, 1],
    [10, 9, 8, 7, 6],
];

/// A corner of the dodecahedron: its faces, clockwise as seen from outside.
type Corner = [usize; 3];

/// Returns the faces of each corner, clockwise.
fn corners() -> Vec<Corner> {
    let mut corners: Vec<Corner> = Vec::new();
    for (face, around) in AROUND.iter().enumerate() {
        for k in 0..5 {
            let corner = [face, around[k], around[(k + 1) % 5]];
            if place(&corners, corner).is_none() {
                corners.push(corner);
            }
        }
    }
    corners
}

/// Returns the kilominx, with free rotations of the whole puzzle.
pub fn kilominx() -> Definition {
    let corners = corners();
    let orbit = Orbit { name: "corners".into(), cells: corners.len(), orientations: 3 };
    let mut puzzle = Definition::new("kilominx", vec![orbit]).expect("there are twenty corners");
    for (face, name) in FACES.iter().enumerate() {
        // A turn carries the corner between two neighbours of a face to that between the next two.
        let turned = |corner: Corner| {
            let Some(at) = corner.iter().position(|&other| other == face) else { return corner };
            let k =
                AROUND[face].iter().position(|&other| other == corner[(at + 1) % 3]).expect("a neighbour");
            let mut to = [face; 3];
            to[(at + 1) % 3] = AROUND[face][(k + 1) % 5];
            to[(at + 2) % 3] = AROUND[face][(k + 2) % 5];
            to
        };
        puzzle.add_move(*name, action(&corners, turned)).expect("names are distinct");
    }
    for (name, face) in [("y", 0), ("x", 5)] {
        let images = rotation(face);
        let turned = |corner: Corner| corner.map(|face| images[face]);
        puzzle.add_free(name, action(&corners, turned)).expect("names are distinct");
    }
    puzzle
}

/// Returns the index of a corner, and the index at which its first face is in the list.
fn place(corners: &[Corner], corner: Corner) -> Option<(usize, u16)> {
    let turned = |other: &Corner| (0..3).find(|&turn| (0..3).all(|i| other[(i + turn) % 3] == corner[i]));
    corners.iter().enumerate().find_map(|(i, other)| Some((i, turned(other)? as u16)))
}

fn action(corners: &[Corner], turned: impl Fn(Corner) -> Corner) -> OrientedPermutation {
    let places = corners.iter().map(|&corner| place(corners, turned(corner)).expect("a corner"));
    let (images, turns): (Vec<u16>, Vec<u16>) = places.map(|(to, turn)| (to as u16, turn)).unzip();
    let images = Permutation::from_images(images).expect("a turn is a bijection");
    OrientedPermutation::new(images, turns, vec![3; corners.len()]).expect("turns are below 3")
}

/// Returns the image of each face under the clockwise rotation of the whole puzzle about a face.
fn rotation(about: usize) -> [usize; 12] {
    let mut images = [usize::MAX; 12];
    images[about] = about;
    for k in 0..5 {
        images[AROUND[about][k]] = AROUND[about][(k + 1) % 5];
    }
    // The neighbours of a face go to those of its image, in the same order.
    while images.contains(&usize::MAX) {
        for face in 0..12 {
            let known = (0..5).find(|&k| images[face] != usize::MAX && images[AROUND[face][k]] != usize::MAX);
            let Some(k) = known else { continue };
            let around = AROUND[images[face]];
            let to = around.iter().position(|&other| other == images[AROUND[face][k]]).expect("a neighbour");
            (0..5).for_each(|i| images[AROUND[face][(k + i) % 5]] = around[(to + i) % 5]);
        }
    }
    images
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_mutual_and_faces_turn_five_corners() {
        for (face, around) in AROUND.iter().enumerate() {
            for (k, &other) in around.iter().enumerate() {
                // Seen from a neighbour, the next neighbour comes before the face.
                let at = AROUND[other].iter().position(|&back| back == face).unwrap();
                assert_eq!(
                    AROUND[other][(at + 4) % 5],
                    around[(k + 1) % 5],
                    "{} {}",
                    FACES[face],
                    FACES[other]
                );
            }
        }
        let puzzle = kilominx();
        for generator in puzzle.moves().iter().chain(puzzle.free()) {
            assert_eq!(generator.action.order(), Some(5), "{}", generator.name);
        }
        let moved = |action: &OrientedPermutation| (0..20).filter(|&c| action.cells().apply(c) != c).count();
        assert!(puzzle.moves().iter().all(|generator| moved(&generator.action) == 5));
        // By a fifth of a turn, each corner comes to the next one, with which it shares two faces.
        let corners = corners();
        for generator in puzzle.moves() {
            for (cell, corner) in corners.iter().enumerate() {
                let to = corners[generator.action.cells().apply(cell)];
                let shared = corner.iter().filter(|face| to.contains(face)).count();
                assert!(shared >= 2, "{} carries {corner:?} to {to:?}", generator.name);
            }
        }
    }

    /// 20! / 2 arrangements of the corners and 3^19 orientations, in each of 60 positions of the whole
    /// puzzle.
    #[test]
    fn number_of_states() {
        let arrangements: u128 = (1..=20).product::<u128>() / 2;
        assert_eq!(kilominx().states(), Some(arrangements / 60 * 3_u128.pow(19)));
    }
}
