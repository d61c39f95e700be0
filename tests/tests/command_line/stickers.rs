//! Puzzles given by stickers, some of which have the same colour.

use super::puzzles::run;
use fathom_puzzle::{Metric, PuzzleSpec};
use serde_json::Value;
use std::collections::HashMap;
use std::fmt::Write;
use std::fs;

/// Writes the stickers of a puzzle as a file of GAP, where those with the same colour are in one list of `ip`, and
/// searches it.
fn by_stickers(word: &str, mut colour: impl FnMut(usize, usize) -> usize) -> Value {
    let definition = PuzzleSpec::by_name(word).unwrap().definition(Metric::Multi).unwrap();
    let mut text = String::new();
    for m in definition.moves() {
        writeln!(text, "{} := {};", m.name, m.action.as_points()).unwrap();
    }
    let counts = definition.orientation_counts();
    let stickers =
        counts.iter().enumerate().flat_map(|(cell, &count)| (0..usize::from(count)).map(move |k| (cell, k)));
    let mut colours: Vec<Vec<usize>> = Vec::new();
    for (number, (cell, k)) in stickers.enumerate() {
        let colour = colour(cell, k);
        colours.resize(colours.len().max(colour + 1), Vec::new());
        colours[colour].push(number + 1);
    }
    writeln!(text, "ip := {colours:?};").unwrap();
    let directory = fathom_tests::tempdir().unwrap();
    let file = directory.path().join("stickers.gap");
    fs::write(&file, text).unwrap();
    run(&[file.to_str().unwrap(), "--metric", "multi"])
}

/// The colours of a cube's faces distinguish its corners and their orientations. If two opposite faces are white and
/// the others black, only the orientations of the corners remain. Stickers are searched as pieces: with as many symmetries,
/// and layers of the same size.
#[test]
fn coloured_stickers_are_searched_as_pieces() {
    // The first letter of a corner's name is U or D, and the first sticker of each is on that face.
    let names = PuzzleSpec::piece_names("2x2x2").unwrap();
    let all = by_stickers("2x2x2", |cell, k| "URFDLB".find(&names[cell][k..=k]).unwrap());
    assert_eq!((&all["states"], &all["god_number"]), (&3_674_160.into(), &11.into()));
    assert_eq!(all["counts"], run(&["2x2x2"])["counts"]);
    let white = by_stickers("2x2x2", |_, k| usize::from(k == 0));
    assert_eq!(white["states"], 729);
    let moves = "U,U2,U',R,R2,R',F,F2,F'";
    for (stickers, labels) in [(&all, "0,1,2,3,4,5,6"), (&white, "0,0,0,0,0,0,0")] {
        let pieces = run(&["2x2x2", "--moves", moves, "--labels", labels]);
        for field in ["counts", "symmetries", "representative_cosets", "layer_bytes"] {
            assert_eq!(stickers[field], pieces[field], "{field}");
        }
    }
}

/// The first cross and one pair of Rubik's cube, by stickers and by pieces: the same files.
#[test]
fn cross_and_pair_are_the_same_by_stickers_and_by_pieces() {
    let names = PuzzleSpec::piece_names("3x3x3").unwrap();
    let solved = ["DF", "DL", "DB", "DR", "DFR", "FR"];
    let mut next = 1;
    let mut colours = HashMap::new();
    let stickers = by_stickers("3x3x3", |cell, k| match solved.contains(&names[cell]) {
        false => usize::from(cell >= 8),
        true => *colours.entry((cell, k)).or_insert_with(|| {
            next += 1;
            next
        }),
    });
    let pieces = run(&["3x3x3", "--only", &solved.join(",")]);
    assert_eq!(pieces["states"], 72_990_720);
    for field in ["counts", "classes", "digest", "symmetries", "layer_bytes"] {
        assert_eq!(stickers[field], pieces[field], "{field}");
    }
}
