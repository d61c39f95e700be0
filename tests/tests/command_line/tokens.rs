//! Tokens on graphs.

use super::puzzles::run;
use fathom_tests::{fathom, texts};
use serde_json::Value;
use std::fs;

/// Runs a search for the graph that a text describes.
fn on_graph(text: &str) -> Value {
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("graph");
    fs::write(&file, text).unwrap();
    run(&[&format!("tokens:{}", file.display())])
}

/// Boards with sliding tiles are grids with a blank vertex. The eight-puzzle: OEIS A089474.
#[test]
fn grids_are_boards_with_sliding_tiles() {
    for (rows, columns) in [(2, 2), (2, 3), (3, 3)] {
        let mut edges = String::new();
        for cell in 1..=rows * columns {
            if cell % columns != 0 {
                edges.push_str(&format!("{cell} {}\n", cell + 1));
            }
            if cell + columns <= rows * columns {
                edges.push_str(&format!("{cell} {}\n", cell + columns));
            }
        }
        let (grid, board) = (on_graph(&edges), run(&[&format!("sliding:{rows}x{columns}")]));
        assert_eq!((&grid["counts"], &grid["complete"]), (&board["counts"], &Value::Bool(true)));
        if rows == 3 {
            assert_eq!((&grid["god_number"], &grid["states"]), (&31.into(), &181_440.into()));
        }
    }
}

/// The two states of the eight-puzzle that need 31 moves (A. Reinefeld, 1993), as people write them.
#[test]
fn states_of_boards_are_written_as_they_are_read() {
    let output = fathom().args(["antipodes", "sliding:3x3", "--json"]).output().unwrap();
    let found: Value = serde_json::from_str(&texts(&output).0).unwrap();
    // They are images of each other under the reflection of the board.
    let state = &found["representatives"][0];
    assert_eq!((&state["state"], &state["size"]), (&"6 4 7 8 5 0 3 2 1".into(), &2.into()));
    for state in ["6 4 7 8 5 0 3 2 1", "8 6 7 2 5 4 3 0 1"] {
        let output = fathom().args(["solve", "sliding:3x3", state, "--json"]).output().unwrap();
        let found: Value = serde_json::from_str(&texts(&output).0).unwrap();
        assert_eq!((&found["distance"], &found["state"]), (&31.into(), &state.into()));
    }
}

/// The forum cubeman.org, "A cubic graph with cubic diameter" (2017): 27 moves, and 90 antipodes.
#[test]
fn tokens_on_the_petersen_graph() {
    let petersen = concat!("tokens:", env!("CARGO_MANIFEST_DIR"), "/../docs/examples/petersen.graph");
    let found = run(&[petersen]);
    assert_eq!((&found["god_number"], &found["counts"][27]), (&27.into(), &90.into()));
}

/// R. M. Wilson, 1974: theta_0 has 120 arrangements for each of the seven places of the blank. On a star, tokens
/// pass only through the middle: its 5 vertices with two blanks have all 5! / 2! states.
#[test]
fn numbers_of_states() {
    let theta = concat!("tokens:", env!("CARGO_MANIFEST_DIR"), "/../docs/examples/theta.graph");
    assert_eq!(run(&[theta])["states"], 840);
    assert_eq!(on_graph("1 2\n1 3\n1 4\n1 5\nblanks 1 2\n")["states"], 60);
    // The token on vertex 1 has moved to 7, then the one on 6 to 1.
    let output = fathom().args(["solve", theta, "6 2 3 4 5 0 1"]).output().unwrap();
    assert_eq!(texts(&output).0, "distance: 2\nsolution: t1-6 t7-1\n");
}
