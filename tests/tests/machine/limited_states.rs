//! Puzzles with limited states: some cells always or never hold some pieces.

use crate::command_line::puzzles::run;
use serde_json::json as value;
use std::collections::HashSet;
use std::fs;

/// No move is possible, so there is only the solved state. A condition on all moves does not limit the
/// states.
#[test]
fn limited_puzzle_may_have_one_state() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("one.toml");
    let never = "never = [{ cell = 1, pieces = [2] }, { cell = 2, pieces = [1] }]";
    fs::write(&path, format!("degree = 2\n{never}\n[moves]\nM = \"(1,2)\"\n")).unwrap();
    assert_eq!(run(&[path.to_str().unwrap()])["counts"], value!([1]));
}

/// Twelve pieces, nine of which never leave their cells: three states, and 12! arrangements. A table of all
/// arrangements would take 1.9 GB.
#[test]
fn few_states_of_many_arrangements_take_little_memory() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("few.toml");
    let moves = ["(1,2,3,4,5,6,7,8,9,10,11,12)", "(12,11,10,9,8,7,6,5,4,3,2,1)", "(10,11,12)", "(12,11,10)"];
    let moves: Vec<String> =
        (0..).zip(moves).map(|(number, cycles)| format!("M{number} = \"{cycles}\"")).collect();
    let always = "always = [1, 2, 3, 4, 5, 6, 7, 8, 9]";
    fs::write(&path, format!("degree = 12\n{always}\n[moves]\n{}\n", moves.join("\n"))).unwrap();
    assert_eq!(run(&[path.to_str().unwrap(), "--memory", "64MiB"])["counts"], value!([1, 2]));
}

/// A rim of two layers with large pieces, which is cut only where no piece is in the way: a search that uses
/// only these rules finds the states that the file allows.
#[test]
fn excluded_states_are_never_reached() {
    const BEFORE_A_LARGE_PIECE: u8 = 9;
    let solved: [u8; 12] = [9, 1, 5, 9, 2, 6, 9, 3, 7, 9, 4, 8];
    let turned = |mut rim: [u8; 12], layer: usize, by: usize| {
        rim[6 * layer..][..6].rotate_right(by);
        rim
    };
    let cut = |mut rim: [u8; 12]| {
        let (one, other) = rim.split_at_mut(6);
        one[..3].swap_with_slice(&mut other[..3]);
        rim
    };
    let can_be_cut = |rim: &[u8; 12]| [2, 5, 8, 11].iter().all(|&cell| rim[cell] != BEFORE_A_LARGE_PIECE);
    let mut seen = HashSet::from([solved]);
    let mut layer = vec![solved];
    let mut counts = Vec::new();
    while !layer.is_empty() {
        counts.push(layer.len());
        let next = layer.iter().flat_map(|&rim| {
            let turns = (0..2).flat_map(move |layer| (1..6).map(move |by| turned(rim, layer, by)));
            turns.chain([cut(rim)])
        });
        layer = next.filter(|rim| can_be_cut(rim) && seen.insert(*rim)).collect();
    }
    let found = run(&[concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/small-cut.tws")]);
    assert_eq!(found["counts"], value!(counts));
    assert_eq!(found["complete"], value!(true));
}
