//! The pyraminx. Its four vertices are every other corner of a cube, so that the midpoints of its six edges
//! are (up to a factor) the six faces of that cube.

use super::geometry::{Cell, Cells, Vector, clockwise, dot, opposite, puzzle, sum, turn};
use crate::definition::Definition;

/// The names of the turns, and the vertices about which they are.
const VERTICES: [(&str, Vector); 4] =
    [("U", [1, 1, 1]), ("L", [-1, -1, 1]), ("R", [1, -1, -1]), ("B", [-1, 1, -1])];

/// Four axial pieces that turn where they are, and six edges. Each turn takes the axial piece and the three
/// edges at its vertex along.
pub fn pyraminx() -> Definition {
    with_turns("pyraminx", &[axial_pieces(), edges()])
}

/// The same with the four tips, which turn with their vertex (`U`) or alone (`u`).
pub fn pyraminx_with_tips() -> Definition {
    let orbits = orbits("pyraminx+tips");
    let mut pyraminx = with_turns("pyraminx+tips", &orbits);
    for (name, axis) in VERTICES {
        let tip = turn(&orbits, axis, |at| dot(at, axis) == 9);
        pyraminx.add_move(name.to_lowercase(), tip).expect("a turn keeps the orbits");
    }
    pyraminx
}

/// Axial pieces and edges, and if the word has them the tips, further out.
pub(super) fn orbits(word: &str) -> Vec<Cells> {
    let outwards = |cell: Cell| Cell { place: cell.place.map(|x| 3 * x), ..cell };
    let mut orbits = vec![axial_pieces(), edges()];
    if word.ends_with("tips") {
        orbits.push(("tips", axial_pieces().1.into_iter().map(outwards).collect()));
    }
    orbits
}

/// A turn takes everything with a product of 2 or more with its axis: its axial piece (3), the three edges
/// there (2) and its tip (9). Other axial pieces have -1, other edges -2, other tips -3.
fn with_turns(name: &str, orbits: &[Cells]) -> Definition {
    let mut pyraminx = puzzle(name, orbits);
    for (name, axis) in VERTICES {
        pyraminx
            .add_move(name, turn(orbits, axis, |at| dot(at, axis) >= 2))
            .expect("a turn keeps the orbits");
    }
    pyraminx
}

/// One piece at each vertex, with facelets on the three faces that meet there. A face is opposite to a
/// vertex.
fn axial_pieces() -> Cells {
    let cell = |(i, &(_, vertex)): (usize, &(&str, Vector))| {
        let first = opposite(VERTICES[(i + 1) % 4].1);
        let second = clockwise(vertex, first);
        Cell { place: vertex, facelets: vec![first, second, clockwise(vertex, second)] }
    };
    ("axials", VERTICES.iter().enumerate().map(cell).collect())
}

/// One piece between each two vertices, with facelets on the two faces opposite to the other vertices.
fn edges() -> Cells {
    let mut cells = Vec::new();
    for (i, &(_, a)) in VERTICES.iter().enumerate() {
        for &(_, b) in &VERTICES[i + 1..] {
            let others =
                VERTICES.iter().map(|&(_, vertex)| vertex).filter(|&vertex| vertex != a && vertex != b);
            cells.push(Cell { place: sum(a, b), facelets: others.map(opposite).collect() });
        }
    }
    ("edges", cells)
}
