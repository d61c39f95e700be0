//! Cube-shaped puzzles. A place is named by the faces that meet there, clockwise, starting with
//! the facelet that defines the orientation: `URF` is the corner between top, right and front.

use super::geometry::{Cell, Cells, Vector, dot, puzzle, sum, turn};
use crate::definition::Definition;

const FACES: [char; 6] = ['U', 'R', 'F', 'D', 'L', 'B'];
/// `DBL` is last: the seven others are the corners that `U`, `R` and `F` move.
const CORNERS: [&str; 8] = ["URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DRB", "DBL"];
const EDGES: [&str; 12] = ["UF", "UL", "UB", "UR", "DF", "DL", "DB", "DR", "FR", "FL", "BL", "BR"];

/// The fixed corners of the skewb.
const HELD_CORNERS: [&str; 4] = ["URF", "ULB", "DLF", "DRB"];

/// Returns the 2x2x2 cube without its corner `DBL`, which the three faces do not move.
pub fn pocket() -> Definition {
    with_faces("2x2x2", &[("corners", cells(&CORNERS[..7], 3))], &FACES[..3])
}

/// Returns the 2x2x2 cube with free rotations, all corners and six faces.
pub fn pocket_in_hand() -> Definition {
    let orbits = [("corners", cells(&CORNERS, 3))];
    in_hand(with_faces("2x2x2", &orbits, &FACES), &orbits)
}

/// Returns the corners of the 3x3x3 cube.
pub fn corners() -> Definition {
    with_faces("3x3x3-corners", &[("corners", cells(&CORNERS, 3))], &FACES)
}

/// Returns the corners of the 3x3x3 cube with free rotations. They move exactly like the corners of the 2x2x2
/// cube.
pub fn corners_in_hand() -> Definition {
    let orbits = [("corners", cells(&CORNERS, 3))];
    in_hand(with_faces("3x3x3-corners-free", &orbits, &FACES), &orbits)
}

/// Returns the edges of the 3x3x3 cube.
pub fn edges() -> Definition {
    with_faces("3x3x3-edges", &[("edges", cells(&EDGES, 2))], &FACES)
}

/// Returns the edges of the 3x3x3 cube with free rotations.
pub fn edges_in_hand() -> Definition {
    let orbits = [("edges", cells(&EDGES, 2))];
    in_hand(with_faces("3x3x3-edges-free", &orbits, &FACES), &orbits)
}

/// Returns the corners and edges of the 3x3x3 cube, ignoring orientations.
pub fn positions() -> Definition {
    with_faces("3x3x3-positions", &[("corners", cells(&CORNERS, 1)), ("edges", cells(&EDGES, 1))], &FACES)
}

/// Returns Rubik's cube. The centres stay on their cells, and their orientations are ignored.
pub fn rubik() -> Definition {
    with_faces("3x3x3", &[("corners", cells(&CORNERS, 3)), ("edges", cells(&EDGES, 2))], &FACES)
}

/// Returns the skewb, of which a turn about a corner turns half of the cube. Four corners, no two of which
/// share an edge, keep their places and fix the puzzle in space; a turn about one of the other four
/// would be a turn of the opposite half.
pub fn skewb() -> Definition {
    let orbits = skewb_orbits();
    let mut skewb = puzzle("skewb", &orbits);
    for name in HELD_CORNERS {
        let axis = place(name);
        skewb.add_move(name, turn(&orbits, axis, |at| dot(at, axis) > 0)).expect("a turn keeps the orbits");
    }
    skewb
}

fn skewb_orbits() -> [Cells; 3] {
    const OTHERS: [&str; 4] = ["UFL", "UBR", "DFR", "DBL"];
    [
        ("held", cells(&HELD_CORNERS, 3)),
        ("corners", cells(&OTHERS, 3)),
        ("centres", cells(&["U", "R", "F", "D", "L", "B"], 1)),
    ]
}

/// Returns the dino cube: a turn about any of the eight corners turns the three edges at the corner. An edge
/// fits each of its cells in one way only, so edges have no orientation.
pub fn dino() -> Definition {
    with_corners("dino", &[("edges", cells(&EDGES, 1))])
}

/// Returns the dino cube with free rotations.
pub fn dino_in_hand() -> Definition {
    let orbits = [("edges", cells(&EDGES, 1))];
    in_hand(with_corners("dino-free", &orbits), &orbits)
}

/// Returns the orbits of a puzzle of this module, given by its name; none if the name is unknown, or if
/// pieces of the puzzle lack facelets. `2x2x2` has `number` corners: seven, or eight with free rotations.
pub(super) fn orbits(word: &str, number: usize) -> Vec<Cells> {
    match word {
        "2x2x2" => vec![("corners", cells(&CORNERS[..number.min(8)], 3))],
        "3x3x3-corners" => vec![("corners", cells(&CORNERS, 3))],
        "3x3x3-edges" => vec![("edges", cells(&EDGES, 2))],
        "3x3x3" => vec![("corners", cells(&CORNERS, 3)), ("edges", cells(&EDGES, 2))],
        "skewb" => skewb_orbits().into(),
        _ => Vec::new(),
    }
}

/// Returns the compy cube: a dino cube of which a turn also turns the corner in its place.
pub fn compy() -> Definition {
    with_corners("compy", &[("corners", cells(&CORNERS, 3)), ("edges", cells(&EDGES, 1))])
}

/// Adds the rotations of the whole cube as free moves.
fn in_hand(mut cube: Definition, orbits: &[Cells]) -> Definition {
    for (name, face) in [("x", 'R'), ("y", 'U')] {
        cube.add_free(name, turn(orbits, direction(face), |_| true)).expect("rotations keep the orbits");
    }
    cube
}

fn with_corners(name: &str, orbits: &[Cells]) -> Definition {
    let mut cube = puzzle(name, orbits);
    for name in CORNERS {
        let axis = place(name);
        cube.add_move(name, turn(orbits, axis, |at| dot(at, axis) >= 2)).expect("a turn keeps the orbits");
    }
    cube
}

fn with_faces(name: &str, orbits: &[Cells], faces: &[char]) -> Definition {
    let mut cube = puzzle(name, orbits);
    for &face in faces {
        let axis = direction(face);
        cube.add_move(face.to_string(), turn(orbits, axis, |at| dot(at, axis) > 0))
            .expect("a turn keeps the orbits");
    }
    cube
}

/// Returns the cells of these names, each with as many facelets as pieces have orientations.
fn cells(names: &[&str], orientations: usize) -> Vec<Cell> {
    let cell = |name: &&str| Cell {
        place: place(name),
        facelets: name.chars().take(orientations).map(direction).collect(),
    };
    names.iter().map(cell).collect()
}

fn place(name: &str) -> Vector {
    name.chars().map(direction).fold([0; 3], sum)
}

fn direction(face: char) -> Vector {
    match face {
        'U' => [0, 1, 0],
        'D' => [0, -1, 0],
        'R' => [1, 0, 0],
        'L' => [-1, 0, 0],
        'F' => [0, 0, 1],
        'B' => [0, 0, -1],
        _ => unreachable!("places are named by the six faces"),
    }
}
