//! Tokens on the vertices of a graph: a move slides a token along an edge to a blank vertex. A file lists the
//! edges, and the vertices that are blank when the puzzle is solved:
//!
//! ```text
//! # a square with a diagonal
//! 1 2
//! 2 3
//! 3 4
//! 4 1
//! 1 3
//! blank 4
//! ```
//!
//! The move from u to v is the cycle (u, v, x) of three cells, where x is one more cell, which [always]
//! holds a blank. What v held arrives on x, so it must be a blank: the move is possible exactly while v is
//! blank. If u is blank too, blanks change places, which changes nothing. The move from v to u is the inverse.
//!
//! [always]: Definition::set_always

use super::{Fault, Reason};
use crate::definition::{Definition, Orbit, Piece};
use fathom_algebra::{OrientedPermutation, Permutation};
use std::collections::BTreeSet;

/// The beginning of the names: `tokens:FILE`.
pub const PREFIX: &str = "tokens:";
/// The pattern of the names.
pub const PATTERN: &str = "tokens:FILE";
/// The largest number of vertices.
const MAX_VERTICES: usize = 64;

/// Reads a graph. Vertices are numbered from 1, tokens by the vertices where they belong. Without a line
/// `blank`, the last vertex is blank.
pub(super) fn read(text: &str, name: &str) -> Result<Definition, Fault> {
    let Graph { vertices, edges, blanks } = graph(text)?;
    let orbit = Orbit { name: "vertices".into(), cells: vertices + 1, orientations: 1 };
    let mut puzzle = Definition::new(name, vec![orbit]).map_err(Fault::whole)?;
    let label = |cell: usize| if cell == vertices || blanks.contains(&cell) { vertices } else { cell };
    let piece = |cell: usize| Piece { label: label(cell) as u16, orientation: 0, seen: 1 };
    puzzle.set_solved(&(0..=vertices).map(piece).collect::<Vec<_>>()).map_err(Fault::whole)?;
    puzzle.set_always(&[vertices as u16]).map_err(Fault::whole)?;
    for (u, v) in edges.into_iter().flat_map(|(u, v)| [(u, v), (v, u)]) {
        let slide = Permutation::from_fn(vertices + 1, |cell| match cell {
            cell if cell == u => v,
            cell if cell == v => vertices,
            cell if cell == vertices => u,
            cell => cell,
        });
        puzzle
            .add_move(format!("t{}-{}", u + 1, v + 1), OrientedPermutation::from_cells(slide))
            .map_err(Fault::whole)?;
    }
    let written = |cell: usize| if label(cell) == vertices { 0 } else { cell as u64 + 1 };
    puzzle.set_written_labels((0..=vertices).map(written).collect());
    Ok(puzzle)
}

/// A connected graph, with vertices numbered from 0.
struct Graph {
    vertices: usize,
    edges: Vec<(usize, usize)>,
    blanks: BTreeSet<usize>,
}

fn graph(text: &str) -> Result<Graph, Fault> {
    let (mut edges, mut blanks) = (Vec::new(), Vec::new());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let begin = at + line.len() - line.trim_start().len();
        at += line.len();
        let line = line.split('#').next().unwrap_or_default();
        let mut words =
            line.split([' ', '\t', '\r', '\n', ',', '-']).filter(|word| !word.is_empty()).peekable();
        let is_blanks = words.next_if(|word| ["blank", "blanks"].contains(word)).is_some();
        let numbers = words.map(|word| vertex(word, begin)).collect::<Result<Vec<_>, _>>()?;
        match (is_blanks, &numbers[..]) {
            (false, []) => {}
            (false, &[u, v]) if u == v => {
                let reason = format!("{} {} is a loop: an edge joins two different vertices", u + 1, v + 1);
                return Err(Fault::syntax(begin, reason));
            }
            (false, &[u, v]) if edges.contains(&(u, v)) || edges.contains(&(v, u)) => {
                return Err(Fault::syntax(begin, format!("the edge {} {} is listed twice", u + 1, v + 1)));
            }
            (false, &[u, v]) => edges.push((u, v)),
            (true, [_, ..]) => blanks.extend(numbers.iter().map(|&vertex| (vertex, begin))),
            _ => return Err(Fault::syntax(begin, "expected an edge such as '1 2', or 'blank' and vertices")),
        }
    }
    let Some(last) = edges.iter().map(|&(u, v)| u.max(v)).max() else {
        return Err(Fault::whole(Reason::Syntax(
            "the graph has no edge: list its edges, such as '1 2', one on each line".into(),
        )));
    };
    let vertices = last + 1;
    if let Some(apart) = unreached(vertices, &edges) {
        let reason =
            format!("the graph is not connected: no edges lead from vertex 1 to vertex {}", apart + 1);
        return Err(Fault::whole(Reason::Syntax(reason)));
    }
    if let Some(&(vertex, begin)) = blanks.iter().find(|&&(vertex, _)| vertex > last) {
        let reason = format!("vertex {} is on no edge, so it cannot be blank", vertex + 1);
        return Err(Fault::syntax(begin, reason));
    }
    let mut blanks: BTreeSet<usize> = blanks.into_iter().map(|(vertex, _)| vertex).collect();
    if blanks.is_empty() {
        blanks.insert(last);
    }
    if blanks.len() == vertices {
        return Err(Fault::whole(Reason::Syntax("all vertices are blank: there are no tokens".into())));
    }
    Ok(Graph { vertices, edges, blanks })
}

/// Reads the number of a vertex.
fn vertex(word: &str, at: usize) -> Result<usize, Fault> {
    match word.parse::<usize>() {
        Ok(number) if (1..=MAX_VERTICES).contains(&number) => Ok(number - 1),
        Ok(number) => {
            let reason =
                format!("there is no vertex {number}: vertices are numbered from 1 to {MAX_VERTICES}");
            Err(Fault::syntax(at, reason))
        }
        Err(_) => Err(Fault::syntax(
            at,
            format!("{word:?} is not a vertex: write an edge as two numbers, such as '1 2'"),
        )),
    }
}

/// Returns a vertex to which no edges lead from the first one; `None` if the graph is connected.
fn unreached(vertices: usize, edges: &[(usize, usize)]) -> Option<usize> {
    let mut is_reached = vec![false; vertices];
    is_reached[0] = true;
    let mut open = vec![0];
    while let Some(at) = open.pop() {
        for &(u, v) in edges {
            for (from, to) in [(u, v), (v, u)] {
                if from == at && !std::mem::replace(&mut is_reached[to], true) {
                    open.push(to);
                }
            }
        }
    }
    is_reached.iter().position(|reached| !reached)
}
