//! Cube-shaped puzzles. A place is named by the faces that meet there, clockwise, starting with
//! the facelet that defines the orientation: `URF` is the corner between top, right and front.

use super::geometry::{Cell, Cells, Space, Vector, dot, puzzle, sum, turn};
use crate::definition::{Definition, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};

const FACES: [char; 6] = ['U', 'R', 'F', 'D', 'L', 'B'];
/// `DBL` is last: the seven others are the corners that `U`, `R` and `F` move.
const CORNERS: [&str; 8] = ["URF", "UFL", "ULB", "UBR", "DFR", "DLF", "DRB", "DBL"];
const EDGES: [&str; 12] = ["UF", "UL", "UB", "UR", "DF", "DL", "DB", "DR", "FR", "FL", "BL", "BR"];

/// The fixed corners of the skewb.
const HELD_CORNERS: [&str; 4] = ["URF", "ULB", "DLF", "DRB"];

/// The other corners of the skewb.
const OTHER_CORNERS: [&str; 4] = ["UFL", "UBR", "DFR", "DBL"];
const CENTRES: [&str; 6] = ["U", "R", "F", "D", "L", "B"];

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

/// Returns the Ivy cube, of which a turn about one of four corners turns the corner and the three centres
/// beside it: the skewb without its other corners.
pub fn ivy() -> Definition {
    let orbits = [("corners", cells(&HELD_CORNERS, 3)), ("centres", cells(&CENTRES, 1))];
    let mut ivy = puzzle("ivy", &orbits);
    for name in HELD_CORNERS {
        let axis = place(name);
        ivy.add_move(name, turn(&orbits, axis, |at| dot(at, axis) > 0)).expect("a turn keeps the orbits");
    }
    ivy
}

/// Returns the void cube: Rubik's cube without its centres, so that its rotations are free.
pub fn void() -> Definition {
    let orbits = [("corners", cells(&CORNERS, 3)), ("edges", cells(&EDGES, 2))];
    in_hand(with_faces("void", &orbits, &FACES), &orbits)
}

/// Returns the 24 centres of the 4x4x4 cube, of which the four of each face are alike. A lower-case letter
/// turns the layer behind a face.
pub fn centres_of_4x4x4() -> Definition {
    centres("4x4x4-centers", &[("centres", centres_at(3, &CORNERS, 1))], 3)
}

/// Returns the 48 centres of the 5x5x5 cube that move when its middle layers are held: for each face four at the
/// corners of its middle, which are alike, and four on the edges of its middle, which are alike. A lower-case letter
/// turns the layer behind a face.
pub fn centres_of_5x5x5() -> Definition {
    let orbits = [("corner-centres", centres_at(4, &CORNERS, 2)), ("edge-centres", centres_at(4, &EDGES, 2))];
    centres("5x5x5-centers", &orbits, 4)
}

/// Returns four centres of each face, in the directions of the corners or edges that the face has: `across` half
/// cubies from its axis, and `out` along it.
fn centres_at(out: i32, names: &[&str], across: i32) -> Vec<Cell> {
    let mut centres = Vec::new();
    for face in FACES.map(direction) {
        for at in names.iter().map(|name| place(name)).filter(|&at| dot(at, face) > 0) {
            let place = sum(at.map(|x| across * x), face.map(|x| (out - across) * x));
            centres.push(Cell { place, facelets: vec![face] });
        }
    }
    centres
}

/// Returns the puzzle of these centres, whose outer layers are `out` from the middle, and the next ones two less.
fn centres(name: &str, orbits: &[(&'static str, Vec<Cell>)], out: i32) -> Definition {
    let mut cube = puzzle(name, orbits);
    for face in FACES {
        let axis = direction(face);
        for (name, layer) in [(face, out), (face.to_ascii_lowercase(), out - 2)] {
            let action = turn(orbits, axis, |at| dot(at, axis) == layer);
            cube.add_move(name.to_string(), action).expect("a turn keeps the orbits");
        }
    }
    let piece = |cell: usize| Piece { label: (cell / 4) as u16, orientation: 0, seen: 1 };
    cube.set_solved(&(0..24 * orbits.len()).map(piece).collect::<Vec<_>>())
        .expect("centres have no orientation");
    cube
}

fn skewb_orbits() -> [Cells; 3] {
    [
        ("held", cells(&HELD_CORNERS, 3)),
        ("corners", cells(&OTHER_CORNERS, 3)),
        ("centres", cells(&CENTRES, 1)),
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

/// Returns the names of the pieces of a puzzle of this module, in the order of its cells.
pub(super) fn names(word: &str) -> Option<Vec<&'static str>> {
    let names: [&[&str]; 3] = match word {
        "2x2x2" => [&CORNERS[..7], &[], &[]],
        "3x3x3-corners" => [&CORNERS, &[], &[]],
        "3x3x3-edges" | "dino" => [&EDGES, &[], &[]],
        "3x3x3" | "3x3x3-positions" | "compy" | "void" => [&CORNERS, &EDGES, &[]],
        "ivy" => [&HELD_CORNERS, &CENTRES, &[]],
        "skewb" => [&HELD_CORNERS, &OTHER_CORNERS, &CENTRES],
        _ => return None,
    };
    Some(names.concat())
}

/// Returns the compy cube: a dino cube of which a turn also turns the corner in its place.
pub fn compy() -> Definition {
    with_corners("compy", &[("corners", cells(&CORNERS, 3)), ("edges", cells(&EDGES, 1))])
}

/// Returns the 3x3x3 cube or the skewb in space, with the moves that also turn it as a whole.
pub(super) fn in_space(word: &str) -> Option<Space> {
    match word {
        "3x3x3" => {
            let mut moves = Vec::new();
            for face in FACES {
                let wide = [format!("{face}w"), face.to_ascii_lowercase().to_string()];
                moves.push((face.to_string(), direction(face), 1..2));
                moves.extend(wide.map(|name| (name, direction(face), 0..2)));
            }
            // A slice turns as the face L, D or F does, and a rotation as R, U or F.
            moves.extend(
                [("M", 'L'), ("E", 'D'), ("S", 'F')].map(|(name, face)| (name.into(), direction(face), 0..1)),
            );
            moves.extend(
                [("x", 'R'), ("y", 'U'), ("z", 'F')]
                    .map(|(name, face)| (name.into(), direction(face), -1..2)),
            );
            let centres = ("centres", cells(&CENTRES, 1));
            Some(Space {
                orbits: vec![("corners", cells(&CORNERS, 3)), ("edges", cells(&EDGES, 2)), centres],
                moves,
                rotations: vec![direction('R'), direction('U')],
                held: 20..26,
                cells: 20,
            })
        }
        "skewb" => {
            let moves = [("U", "ULB"), ("R", "DRB"), ("L", "DLF"), ("B", "DBL")];
            Some(Space {
                orbits: skewb_orbits().into(),
                moves: moves.map(|(name, corner)| (name.into(), place(corner), 1..4)).into(),
                rotations: vec![place("URF"), place("ULB")],
                held: 0..HELD_CORNERS.len(),
                cells: 14,
            })
        }
        _ => None,
    }
}

/// Reads Rubik's cube by its facelets, nine for each of the faces U R F D L B, row by row as seen from
/// outside: U with B above, D with F above, and the others with U above. A facelet is the index of the face
/// that has its colour.
///
/// # Errors
/// The place whose colours are those of no piece, or a piece that occurs twice, as the end of a sentence.
pub(crate) fn of_facelets(faces: &[usize; 54]) -> Result<OrientedPermutation, String> {
    // The directions to the right and downwards on each face.
    const AXES: [[char; 2]; 6] = [['R', 'F'], ['B', 'D'], ['R', 'D'], ['R', 'B'], ['F', 'D'], ['L', 'D']];
    let colour = |at: Vector, face: char| {
        let number = FACES.iter().position(|&known| known == face).expect("a face of the cube");
        let [column, row] = AXES[number].map(|axis| (dot(at, direction(axis)) + 1) as usize);
        FACES[faces[9 * number + 3 * row + column]]
    };
    let (mut images, mut turns) = (vec![None; 20], vec![0; 20]);
    for (kind, first, names) in [("corner", 0, &CORNERS[..]), ("edge", 8, &EDGES[..])] {
        for (cell, name) in names.iter().enumerate() {
            let shown: String = name.chars().map(|face| colour(place(name), face)).collect();
            let doubled = format!("{shown}{shown}");
            let found = names.iter().position(|piece| doubled.contains(piece));
            let piece =
                found.ok_or_else(|| format!("no {kind} has the colours {shown} of the place {name}"))?;
            let turn = doubled.find(names[piece]).expect("the piece was found");
            if images[first + piece].replace(first + cell).is_some() {
                return Err(format!("the {kind} {} occurs twice", names[piece]));
            }
            turns[first + piece] = turn as u16;
        }
    }
    let images = Permutation::from_fn(20, |piece| images[piece].expect("each piece occurs once"));
    let counts: Vec<u16> = (0..20).map(|cell| if cell < 8 { 3 } else { 2 }).collect();
    Ok(OrientedPermutation::new(images, turns, counts).expect("turns are below the numbers of facelets"))
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
