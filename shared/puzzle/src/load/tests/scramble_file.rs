//! Tests of scrambles of twsearch.

use super::*;
use crate::load::scramble_file::{self, Scramble};

const PUZZLE: &str =
    "Set CORNER 3 3\nSet EDGE 4 1\nSolved\nEDGE\n5 5 2 2\nEnd\nMove A\nCORNER\n2 3 1\n0 0 0\nEnd\n";

/// The form is that of twsearch's own samples, tperm.scr and superflip.scr.
#[test]
fn scrambles_of_twsearch() {
    let puzzle = read_text(PUZZLE, Format::Ksolve, "x.tws").unwrap();
    let text = "# a comment\nScrambleAlg T\n  A A\n  A'\nEnd\nScramble twisted\nCORNER\n1 3 2\n0 1 2\nEnd\n\
                ScrambleState zero\nEDGE\n1 4 1 4\nEnd\n";
    let read = |text: &str| scramble_file::read(text, &puzzle);
    let told: Vec<String> = read(text)
        .unwrap()
        .into_iter()
        .map(|(name, scramble)| match scramble {
            Scramble::Moves(moves) => format!("{name}: {moves}"),
            Scramble::State(state) => format!("{name}: {state}"),
        })
        .collect();
    // Piece 3 is on cell 2 in orientation 1, and piece 2 on cell 3 in orientation 2. From 0 the labels of
    // edges are 4 and 1.
    assert_eq!(told, ["T: A A A'", "twisted: (2+2,3+1)", "zero: (4,5,7,6)"]);
    let unnumbered = parse(PUZZLE, Format::Ksolve, "x.tws").unwrap();
    assert!(scramble_file::read(text, &unnumbered).unwrap_err().contains("name this file as the puzzle"));
    for (text, says) in [
        ("Scramble x\nCORNER\n1 2 3\n", "line 1: 'End' is missing"),
        ("Scramble x\nWING\n1 2\nEnd", "line 2: \"WING\" is not a set of the puzzle"),
        ("Scramble x\nCORNER\n1 2\nEnd", "line 2: CORNER has 3 cells, but its rows have other lengths"),
        ("Scramble x\nCORNER\n1 2 2\nEnd", "line 2: the pieces of CORNER are not those of the solved state"),
        ("Scramble x\nCORNER\n1 2 3\n0 0 3\nEnd", "line 2: 3 is not below the 3 orientations"),
        ("Scramble x\nCORNER\nEnd", "line 2: the pieces of CORNER are missing"),
        ("Name x\nEnd", "line 1: expected ScrambleAlg, Scramble or ScrambleState, and a name"),
    ] {
        assert_eq!(read(text), Err(says.into()), "{text}");
    }
}
