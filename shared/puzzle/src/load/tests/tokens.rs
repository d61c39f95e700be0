//! Tests of tokens on graphs.

use super::error;
use crate::load::{Format, parse, tokens};
use crate::{Definition, PuzzleSpec, state_text};
use std::collections::{BTreeSet, HashSet};
use std::fs;

type Edges = Vec<(usize, usize)>;

/// Returns the text of a graph with vertices from 1.
fn text(edges: &Edges, blanks: &[usize]) -> String {
    let edges = edges.iter().map(|(u, v)| format!("{u} {v}\n")).collect::<String>();
    let blanks = blanks.iter().map(|blank| format!(" {blank}")).collect::<String>();
    format!("{edges}blanks{blanks}\n")
}

fn definition(edges: &Edges, blanks: &[usize]) -> Definition {
    parse(&text(edges, blanks), Format::Tokens, "graph").unwrap()
}

fn cycle(vertices: usize) -> Edges {
    (1..=vertices).map(|vertex| (vertex, vertex % vertices + 1)).collect()
}

fn grid(rows: usize, columns: usize) -> Edges {
    let vertex = |row: usize, column: usize| columns * row + column + 1;
    let rightwards = (0..rows)
        .flat_map(|row| (1..columns).map(move |column| (vertex(row, column - 1), vertex(row, column))));
    let downwards = (1..rows)
        .flat_map(|row| (0..columns).map(move |column| (vertex(row - 1, column), vertex(row, column))));
    rightwards.chain(downwards).collect()
}

/// Counts the states at each distance with the moves and the limits of the definition.
fn by_definition(puzzle: &Definition) -> Vec<usize> {
    let solved: Vec<u16> = puzzle.solved().iter().map(|piece| piece.label).collect();
    let is_allowed = |state: &[u16]| {
        puzzle.always().iter().all(|&cell| state[usize::from(cell)] == solved[usize::from(cell)])
    };
    breadth_first(solved.clone(), |state| {
        let moved = puzzle.moves().iter().map(|slide| {
            let back = slide.action.cells().inverse();
            (0..state.len()).map(|cell| state[back.apply(cell)]).collect::<Vec<u16>>()
        });
        moved.filter(|state| is_allowed(state)).collect()
    })
}

/// Counts the states at each distance by sliding tokens to blank vertices.
fn by_sliding(edges: &Edges, blanks: &[usize]) -> Vec<usize> {
    let vertices = edges.iter().map(|&(u, v)| u.max(v)).max().unwrap();
    let token = |vertex: usize| if blanks.contains(&vertex) { 0 } else { vertex as u16 };
    breadth_first((1..=vertices).map(token).collect(), |state| {
        let slides = edges.iter().filter(|&&(u, v)| (state[u - 1] == 0) != (state[v - 1] == 0));
        let slid = slides.map(|&(u, v)| {
            let mut state = state.to_vec();
            state.swap(u - 1, v - 1);
            state
        });
        slid.collect()
    })
}

fn breadth_first(solved: Vec<u16>, next: impl Fn(&[u16]) -> Vec<Vec<u16>>) -> Vec<usize> {
    let mut seen = HashSet::from([solved.clone()]);
    let (mut layer, mut counts) = (vec![solved], Vec::new());
    while !layer.is_empty() {
        counts.push(layer.len());
        let reached = layer.iter().flat_map(|state| next(state)).collect::<BTreeSet<_>>();
        layer = reached.into_iter().filter(|state| seen.insert(state.clone())).collect();
    }
    counts
}

#[test]
fn tokens_slide_to_blank_vertices() {
    let mut house = cycle(5);
    house.push((1, 3));
    for (edges, blanks) in [
        (cycle(3), vec![1]),
        (cycle(5), vec![2]),
        (cycle(6), vec![1, 2, 5]),
        (house.clone(), vec![5]),
        (house, vec![2, 4]),
        (grid(2, 3), vec![6]),
        (grid(2, 3), vec![1, 6]),
        (vec![(1, 2), (1, 3), (1, 4), (1, 5)], vec![1, 3]),
    ] {
        assert_eq!(by_definition(&definition(&edges, &blanks)), by_sliding(&edges, &blanks), "{edges:?}");
    }
}

/// R. M. Wilson, *Graph puzzles, homotopy, and the alternating group* (1974): with the blank at a vertex, the
/// other n - 1 vertices of a 2-connected graph have all (n - 1)! arrangements, half of them if the graph is
/// bipartite, except on cycles and on the graph theta_0, which has 120 of the 720.
#[test]
fn arrangements_of_wilsons_theorem() {
    let states = |edges: &Edges| by_definition(&definition(edges, &[1])).iter().sum::<usize>();
    let mut theta = cycle(6);
    theta.extend([(1, 7), (7, 4)]);
    assert_eq!(states(&theta), 7 * 120);
    let mut other = cycle(6);
    other.extend([(1, 7), (7, 3)]);
    assert_eq!(states(&other), 7 * 720 / 2);
    let mut chord = cycle(6);
    chord.push((1, 3));
    assert_eq!(states(&chord), 6 * 120);
    assert_eq!(states(&grid(2, 3)), 6 * 120 / 2);
    // Around a cycle, the tokens keep their order.
    for vertices in 3..8 {
        let counts = by_definition(&definition(&cycle(vertices), &[1]));
        let total = vertices * (vertices - 1);
        let expected: Vec<usize> = match total % 2 {
            0 => [vec![1], vec![2; total / 2 - 1], vec![1]].concat(),
            _ => [vec![1], vec![2; total / 2]].concat(),
        };
        assert_eq!(counts, expected);
    }
}

#[test]
fn graphs_are_read_and_refused() {
    let written =
        parse("# a path\n1-2\n2, 3 # and more\n\nblank 2\n", Format::Tokens, "dir/path.txt").unwrap();
    assert_eq!((written.name(), written.cells(), written.moves().len()), ("path", 4, 4));
    assert_eq!(written, parse(&text(&vec![(1, 2), (2, 3)], &[2]), Format::Tokens, "path").unwrap());
    assert_eq!(written.moves()[2].name, "t2-3");
    // The last vertex is blank unless the file says otherwise.
    assert_eq!(
        parse("1 2\n2 3", Format::Tokens, "path").unwrap(),
        definition_named("path", "1 2\n2 3\nblank 3")
    );
    for (text, says) in [
        ("1 2\n3 4\n", "file: the graph is not connected: no edges lead from vertex 1 to vertex 3"),
        ("1 3\n", "file: the graph is not connected: no edges lead from vertex 1 to vertex 2"),
        ("# nothing\n", "file: the graph has no edge: list its edges, such as '1 2', one on each line"),
        ("blank 1\n", "file: the graph has no edge: list its edges, such as '1 2', one on each line"),
        ("1 2\n 2 2\n", "file:2:2: 2 2 is a loop: an edge joins two different vertices"),
        ("1 2\n2 1\n", "file:2:1: the edge 2 1 is listed twice"),
        ("1 2\n2 65\n", "file:2:1: there is no vertex 65: vertices are numbered from 1 to 64"),
        ("0 1\n", "file:1:1: there is no vertex 0: vertices are numbered from 1 to 64"),
        ("1 2\nblank 3\n", "file:2:1: vertex 3 is on no edge, so it cannot be blank"),
        ("1 2\nblanks 1 2\n", "file: all vertices are blank: there are no tokens"),
        ("1 2 3\n", "file:1:1: expected an edge such as '1 2', or 'blank' and vertices"),
        ("1 2\nblank\n", "file:2:1: expected an edge such as '1 2', or 'blank' and vertices"),
        ("1 b\n", "file:1:1: \"b\" is not a vertex: write an edge as two numbers, such as '1 2'"),
    ] {
        assert_eq!(error(Format::Tokens, text), says, "{text:?}");
    }
}

fn definition_named(name: &str, text: &str) -> Definition {
    parse(text, Format::Tokens, name).unwrap()
}

/// A state has the token on each vertex, by the vertex where it belongs, and 0 for a blank one.
#[test]
fn states_by_vertices() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("square");
    fs::write(&file, "1 2\n2 3\n3 4\n4 1\nblanks 2 4\n").unwrap();
    let square = PuzzleSpec::by_name(&format!("{}{}", tokens::PREFIX, file.display())).unwrap();
    assert_eq!(square.name(), "square");
    let tiles = |text: &str| state_text::plain(text, &square, None).unwrap();
    assert_eq!(tiles("1 0 3 0"), "0 1 2 3 4");
    assert_eq!(tiles("0,3,0,1"), "1 2 3 0 4");
    assert_eq!(tiles("0 3 0 1 0"), "1 2 3 0 4");
    assert_eq!(tiles("0 3 0 3"), "0 3 0 3");
}
