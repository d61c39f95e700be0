//! States of cubes, of the skewb, of the pyraminx and of Square-1 as nets: their faces laid out flat, each
//! facelet in the colour of its home face.
//!
//! A cube's faces form a cross, the top above the front, and left, front, right and back in a row. A
//! pyraminx is unfolded about the face that has the vertices U, L and R; its fourth vertex is at all three
//! ends.

use super::colours::{BACK, BOTTOM, FRONT, LEFT, RIGHT, TOP};
use super::deepest_states::Example;
use super::display_names::is_of_its_word;
use super::shapes;
use fathom_puzzle::PuzzleSpec;
use fathom_puzzle::family::square1::Placement;
use fathom_puzzle::family::{Facelets, facelets};
use std::fmt::Write;

type Vector = [i32; 3];
type Point = (f64, f64);

/// The faces of a cube: the direction outwards, the directions to the right and down as seen from outside,
/// the place in the net, and the usual colour.
const FACES: [(Vector, Vector, Vector, Point, &str); 6] = [
    ([0, 1, 0], [1, 0, 0], [0, 0, 1], (1.0, 0.0), TOP),
    ([-1, 0, 0], [0, 0, 1], [0, -1, 0], (0.0, 1.0), LEFT),
    ([0, 0, 1], [1, 0, 0], [0, -1, 0], (1.0, 1.0), FRONT),
    ([1, 0, 0], [0, 0, -1], [0, -1, 0], (2.0, 1.0), RIGHT),
    ([0, 0, -1], [-1, 0, 0], [0, -1, 0], (3.0, 1.0), BACK),
    ([0, -1, 0], [1, 0, 0], [0, 0, -1], (1.0, 2.0), BOTTOM),
];

/// The directions of the vertices U, L, R and B of a pyraminx. A face points in the opposite direction of the
/// vertex across.
const VERTICES: [Vector; 4] = [[1, 1, 1], [-1, -1, 1], [1, -1, -1], [-1, 1, -1]];
/// The height of a face of the pyraminx in the net, whose edge is 2.
const HEIGHT: f64 = 1.732_050_807_568_877_2;
/// The colours of the faces across from these vertices.
const OPPOSITE: [&str; 4] = [BOTTOM, BACK, RIGHT, FRONT];

/// The name of Square-1, which is drawn by the module `shapes`.
const SQUARE_1: &str = "square1";

/// The edge of a cube's face in the picture.
const EDGE: f64 = 48.0;

/// A facelet on paper.
#[derive(Clone, Debug, PartialEq)]
struct Facelet {
    /// The face on which it lies.
    face: Vector,
    colour: &'static str,
    corners: Vec<Point>,
}

/// Draws a state as an SVG picture; `None` if this module has no net for the puzzle, or pieces look alike.
/// Only Square-1 may have `labels`, which are those of the solved state.
pub(crate) fn svg(source: &PuzzleSpec, labels: Option<&[u16]>, example: &Example) -> Option<String> {
    if source.name() == SQUARE_1 && is_of_its_word(source) {
        // The last cell is the middle layer, which is turned over or not.
        let middle = example.orientations.as_ref().and_then(|turns| turns.last()) == Some(&1);
        return Placement::new(labels?, &example.word, middle).map(|state| shapes::state(&state));
    }
    if labels.is_some() {
        return None;
    }
    let cells = (matches!(source, PuzzleSpec::Defined(_)) && is_of_its_word(source))
        .then(|| facelets(&source.name(), source.cells()))??;
    let drawn = drawn(&source.name(), &cells, example);
    let points = || drawn.iter().flat_map(|facelet| &facelet.corners);
    let most = |of: fn(&Point) -> f64| points().map(of).fold(0.0, f64::max).ceil();
    let (width, height) = (most(|point| point.0) + 1.0, most(|point| point.1) + 1.0);
    let mut svg = format!(
        r#"<svg class="net" xmlns="http://www.w3.org/2000/svg" viewBox="-1 -1 {} {}" width="{width}" height="{height}" role="img" aria-label="Net of the state">"#,
        width + 1.0,
        height + 1.0
    );
    for Facelet { colour, corners, .. } in &drawn {
        let corners: Vec<String> = corners.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        write!(svg, r##"<polygon points="{}" fill="{colour}" stroke="#333333"/>"##, corners.join(" "))
            .expect("writing to a String succeeds");
    }
    svg.push_str("</svg>");
    Some(svg)
}

fn drawn(name: &str, cells: &[Facelets], example: &Example) -> Vec<Facelet> {
    let mut drawn = Vec::new();
    for (cell, at) in cells.iter().enumerate() {
        let piece = &cells[usize::from(example.word[cell])];
        let turn = example.orientations.as_ref().map_or(0, |turns| usize::from(turns[cell]));
        let count = at.directions.len();
        for (place, &face) in at.directions.iter().enumerate() {
            let home = piece.directions[(place + count - turn % count) % count];
            push(&mut drawn, name, at, face, home);
        }
    }
    // The corner at which the cube is held does not move.
    if name == "2x2x2" && cells.len() == 7 {
        let directions = vec![[0, -1, 0], [0, 0, -1], [-1, 0, 0]];
        let held = Facelets { place: [-1, -1, -1], directions: directions.clone() };
        directions.into_iter().for_each(|face| push(&mut drawn, name, &held, face, face));
    }
    drawn
}

/// Draws the facelet of a cell on the face `face`, in the colour of the face `home`.
fn push(drawn: &mut Vec<Facelet>, name: &str, at: &Facelets, face: Vector, home: Vector) {
    let found = match name.starts_with("pyraminx") {
        true => on_tetrahedron(at.place, face)
            .zip(VERTICES.iter().position(|vertex| vertex.map(|x| -x) == home))
            .map(|(corners, vertex)| (corners, OPPOSITE[vertex])),
        false => on_cube(name, at.place, face)
            .zip(FACES.iter().find(|of| of.0 == home))
            .map(|(corners, of)| (corners, of.4)),
    };
    if let Some((corners, colour)) = found {
        drawn.push(Facelet { face, colour, corners });
    }
}

fn dot(a: Vector, b: Vector) -> i32 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Returns the corners of a facelet of a cube. On a face, both coordinates run from -1 to 1 before they are
/// scaled.
fn on_cube(name: &str, place: Vector, face: Vector) -> Option<Vec<Point>> {
    let (_, right, down, (column, row), _) = FACES.iter().find(|of| of.0 == face)?;
    let (u, v) = (f64::from(dot(place, *right)), f64::from(dot(place, *down)));
    let corners = match name {
        "skewb" if (u, v) == (0.0, 0.0) => vec![(1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)],
        "skewb" => vec![(u, v), (u, 0.0), (0.0, v)],
        _ => {
            let (half, middle) = if name == "2x2x2" { (0.5, 0.5) } else { (1.0 / 3.0, 2.0 / 3.0) };
            let (x, y) = (u * middle, v * middle);
            [(-half, -half), (half, -half), (half, half), (-half, half)].map(|(a, b)| (x + a, y + b)).into()
        }
    };
    let on_paper = |(x, y): Point| (EDGE * (column + (x + 1.0) / 2.0), EDGE * (row + (y + 1.0) / 2.0));
    Some(corners.into_iter().map(on_paper).collect())
}

/// Returns the corners of a facelet of a pyraminx, which lie at thirds between the vertices of its face.
fn on_tetrahedron(place: Vector, face: Vector) -> Option<Vec<Point>> {
    let missing = VERTICES.iter().position(|vertex| vertex.map(|x| -x) == face)?;
    // The places of U, L, R and B. On a face without U, L or R, vertex B lies across from the missing vertex.
    let mut paper = [(2.0, HEIGHT), (1.0, 2.0 * HEIGHT), (3.0, 2.0 * HEIGHT), (0.0, 0.0)];
    let [up, left, right, _] = paper;
    let across = |a: Point, b: Point, c: Point| (a.0 + b.0 - c.0, a.1 + b.1 - c.1);
    paper[3] = match missing {
        0 => across(left, right, up),
        1 => across(up, right, left),
        2 => across(up, left, right),
        _ => (0.0, 0.0),
    };
    let shares = |thirds: [(usize, f64); 3]| {
        let sum = |of: fn(Point) -> f64| {
            thirds.iter().map(|(vertex, third)| of(paper[*vertex]) * third / 3.0).sum::<f64>()
        };
        (EDGE * sum(|p| p.0), EDGE * (sum(|p| p.1) - HEIGHT))
    };
    let vertices: Vec<usize> = (0..4).filter(|&vertex| vertex != missing).collect();
    let near: Vec<usize> =
        vertices.iter().copied().filter(|&vertex| dot(VERTICES[vertex], place) > 0).collect();
    let rest: Vec<usize> = vertices.iter().copied().filter(|vertex| !near.contains(vertex)).collect();
    Some(match (&near[..], &rest[..]) {
        // A tip is three times as far out as the piece below it.
        (&[a], &[b, c]) if dot(VERTICES[a], place) == 9 => vec![
            shares([(a, 3.0), (b, 0.0), (c, 0.0)]),
            shares([(a, 2.0), (b, 1.0), (c, 0.0)]),
            shares([(a, 2.0), (b, 0.0), (c, 1.0)]),
        ],
        (&[a], &[b, c]) => vec![
            shares([(a, 2.0), (b, 1.0), (c, 0.0)]),
            shares([(a, 2.0), (b, 0.0), (c, 1.0)]),
            shares([(a, 1.0), (b, 1.0), (c, 1.0)]),
        ],
        (&[a, b], &[c]) => vec![
            shares([(a, 2.0), (b, 1.0), (c, 0.0)]),
            shares([(a, 1.0), (b, 2.0), (c, 0.0)]),
            shares([(a, 1.0), (b, 1.0), (c, 1.0)]),
        ],
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::Metric;
    use std::collections::{BTreeMap, BTreeSet};

    const WORDS: [&str; 7] =
        ["2x2x2", "3x3x3-corners", "3x3x3-edges", "3x3x3", "skewb", "pyraminx", "pyraminx+tips"];

    /// Draws the state after a move, or the solved one; also returns the axis of the move.
    fn after(word: &str, mv: Option<usize>) -> (Vec<Facelet>, String) {
        let source = PuzzleSpec::by_name(word).unwrap();
        let puzzle = source.puzzle(Metric::Single).unwrap();
        let cells = facelets(word, source.cells()).unwrap();
        let (mut word, mut turns): (Vec<u16>, Vec<u8>) =
            ((0..cells.len() as u16).collect(), vec![0; cells.len()]);
        let mut name = String::new();
        if let Some(mv) = mv {
            name = puzzle.moves[mv].name.clone();
            let action = &puzzle.moves[mv].action;
            for cell in 0..cells.len() {
                let to = usize::from(action.cells().images()[cell]);
                word[to] = cell as u16;
                turns[to] = action.turns()[cell] as u8;
            }
        }
        let example = Example {
            word,
            orientations: Some(turns),
            class_states: 1,
            solution: None,
            in_space: Vec::new(),
        };
        (drawn(&source.name(), &cells, &example), name)
    }

    fn colours(net: &[Facelet]) -> BTreeMap<Vector, BTreeSet<&'static str>> {
        let mut colours: BTreeMap<Vector, BTreeSet<&'static str>> = BTreeMap::new();
        net.iter().for_each(|facelet| {
            colours.entry(facelet.face).or_default().insert(facelet.colour);
        });
        colours
    }

    #[test]
    fn solved_faces_have_one_colour() {
        for word in WORDS {
            let (net, _) = after(word, None);
            let colours = colours(&net);
            assert_eq!(colours.len(), if word.starts_with("pyraminx") { 4 } else { 6 }, "{word}");
            assert!(colours.values().all(|colours| colours.len() == 1), "{word}");
            assert_eq!(colours.values().collect::<BTreeSet<_>>().len(), colours.len(), "{word}");
            // No two facelets are at the same place.
            let middle = |facelet: &Facelet| {
                let count = facelet.corners.len() as f64;
                let sum = facelet
                    .corners
                    .iter()
                    .fold((0.0, 0.0), |sum, corner| (sum.0 + corner.0, sum.1 + corner.1));
                ((sum.0 / count * 10.0).round() as i64, (sum.1 / count * 10.0).round() as i64)
            };
            assert_eq!(net.iter().map(middle).collect::<BTreeSet<_>>().len(), net.len(), "{word}");
        }
    }

    /// A turn of a face of a cube leaves this face and the one across in one colour each, and mixes the
    /// others; a turn about a vertex of a pyraminx leaves the face across in one colour. A wrong turn of
    /// a piece would show.
    #[test]
    fn turns_mix_the_expected_faces() {
        for word in ["2x2x2", "3x3x3-corners", "3x3x3-edges", "3x3x3", "pyraminx"] {
            let moves = PuzzleSpec::by_name(word).unwrap().puzzle(Metric::Single).unwrap().moves.len();
            for mv in 0..moves {
                let (net, name) = after(word, Some(mv));
                let whole = colours(&net).values().filter(|colours| colours.len() == 1).count();
                assert_eq!(whole, if word == "pyraminx" { 1 } else { 2 }, "{word} {name}");
                // Each colour has as many facelets as before.
                let count = |net: &[Facelet]| {
                    let mut all: Vec<&str> = net.iter().map(|facelet| facelet.colour).collect();
                    all.sort_unstable();
                    all
                };
                assert_eq!(count(&net), count(&after(word, None).0), "{word} {name}");
            }
        }
    }
}
