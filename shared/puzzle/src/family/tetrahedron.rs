//! The pyraminx. Its four vertices are every other corner of a cube, so that the midpoints of its six edges
//! are, up to a factor, the six faces of that cube.

use super::geometry::{Cell, Cells, Vector, clockwise, dot, opposite, puzzle, sum, turn};
use crate::definition::Definition;

/// The names of the turns, and the vertices that are their axes.
const VERTICES: [(&str, Vector); 4] =
    [("U", [1, 1, 1]), ("L", [-1, -1, 1]), ("R", [1, -1, -1]), ("B", [-1, 1, -1])];

/// Returns the pyraminx without tips: four axial pieces, which turn on their cells, and six edges. A turn
/// about a vertex turns the axial piece and moves the three edges at the vertex.
pub fn pyraminx() -> Definition {
    with_turns("pyraminx", &[axial_pieces(), edges()])
}

/// Returns the pyraminx with its four tips, which turn together with their vertex (`U`) or on their own
/// (`u`).
pub fn pyraminx_with_tips() -> Definition {
    let orbits = orbits("pyraminx+tips");
    let mut pyraminx = with_turns("pyraminx+tips", &orbits);
    for (name, axis) in VERTICES {
        let tip = turn(&orbits, axis, |at| dot(at, axis) == 9);
        pyraminx.add_move(name.to_lowercase(), tip).expect("a turn keeps the orbits");
    }
    pyraminx
}

/// Returns the names of the pieces, in the order of the cells: vertices, pairs of vertices, and tips in lower
/// case.
pub(super) fn names(word: &str) -> Option<Vec<&'static str>> {
    const NAMES: [&str; 14] = ["U", "L", "R", "B", "UL", "UR", "UB", "LR", "LB", "RB", "u", "l", "r", "b"];
    match word {
        "pyraminx" => Some(NAMES[..10].into()),
        "pyraminx+tips" => Some(NAMES.into()),
        _ => None,
    }
}

/// Returns the axial pieces and the edges, and for a name that ends with `tips` also the tips, further out.
pub(super) fn orbits(word: &str) -> Vec<Cells> {
    let outwards = |cell: Cell| Cell { place: cell.place.map(|x| 3 * x), ..cell };
    let mut orbits = vec![axial_pieces(), edges()];
    if word.ends_with("tips") {
        orbits.push(("tips", axial_pieces().1.into_iter().map(outwards).collect()));
    }
    orbits
}

/// Returns the puzzle with the turns about the vertices. A turn moves every place whose product with the axis
/// is 2 or more: the axial piece (3), the three edges (2) and the tip (9) at the vertex. The products of
/// other axial pieces are -1, of other edges -2, and of other tips -3.
fn with_turns(name: &str, orbits: &[Cells]) -> Definition {
    let mut pyraminx = puzzle(name, orbits);
    for (name, axis) in VERTICES {
        pyraminx
            .add_move(name, turn(orbits, axis, |at| dot(at, axis) >= 2))
            .expect("a turn keeps the orbits");
    }
    pyraminx
}

/// Returns one piece at each vertex, with facelets on the three faces that meet there. The direction of a
/// face is opposite to the vertex that is not on the face.
fn axial_pieces() -> Cells {
    let cell = |(i, &(_, vertex)): (usize, &(&str, Vector))| {
        let first = opposite(VERTICES[(i + 1) % 4].1);
        let second = clockwise(vertex, first);
        Cell { place: vertex, facelets: vec![first, second, clockwise(vertex, second)] }
    };
    ("axials", VERTICES.iter().enumerate().map(cell).collect())
}

/// Returns one piece between each pair of vertices, with facelets on the two faces opposite to the other
/// vertices.
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
