//! States, pieces and puzzles as people write them.

use fathom_tests::{fathom, json, texts};
use std::io::Write;
use std::process::Stdio;

/// Runs `fathom` in a new directory with a text on standard input. Returns the exit code, standard output and
/// standard error.
fn with_input(arguments: &[&str], input: &str) -> (Option<i32>, String, String) {
    let directory = fathom_tests::tempdir().unwrap();
    let mut command = fathom();
    command.args(arguments).current_dir(directory.path());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

fn said(arguments: &[&str]) -> String {
    let (code, out, err) = with_input(arguments, "");
    assert_eq!(code, Some(0), "{arguments:?}: {err}");
    out
}

/// Four edges have 24 * 22 * 20 * 18 states. The numbers of crosses at each distance are those of the table
/// of the speedsolving wiki (Cross, half turns count as one move).
#[test]
fn cross_of_the_cube_has_its_published_growth() {
    let directory = fathom_tests::tempdir().unwrap();
    let arguments = ["run", "3x3x3", "--only", "DF,RD,BD,DL", "-q", "--json"];
    let told = json(&fathom().args(arguments).current_dir(directory.path()).output().unwrap());
    let counts = [1, 15, 158, 1394, 9809, 46_381, 97_254, 34_966, 102];
    assert_eq!(told["counts"], serde_json::json!(counts));
    assert_eq!(counts.iter().sum::<u64>(), 24 * 22 * 20 * 18);
    // The same pieces by their numbers.
    let by_number = said(&["plan", "3x3x3", "--track", "12-15"]);
    assert!(by_number.contains("190,080 states"), "{by_number}");
    // With a corner, and with the edge above it.
    for (pieces, states) in
        [("DF,DR,DB,DL,DFR", "4,561,920 states"), ("DF,DR,DB,DL,DFR,FR", "72,990,720 states")]
    {
        let plan = said(&["plan", "3x3x3", "--only", pieces]);
        assert!(plan.contains(states), "{plan}");
    }
}

#[test]
fn pieces_have_numbers_and_names() {
    let text = said(&["pieces", "3x3x3"]);
    let row = text.lines().find(|line| line.contains(" DF ")).unwrap();
    assert_eq!(row.split_whitespace().collect::<Vec<_>>(), ["12", "DF", "edges", "13", "2", "12"]);
    let told: serde_json::Value = serde_json::from_str(&said(&["pieces", "necklace:4,1", "--json"])).unwrap();
    assert_eq!(
        (&told["pieces"][3]["label"], &told["pieces"][3]["name"]),
        (&1.into(), &serde_json::Value::Null)
    );
}

#[test]
fn states_are_read_in_many_forms() {
    let facelets = "UUFUUFUUFRRRRRRRRRFFDFFDFFDDDBDDBDDBLLLLLLLLLUBBUBBUBB";
    for (arguments, distance) in [
        (&["solve", "3x3x3", facelets][..], 1),
        (&["solve", "3x3x3", "--scramble", "Rw L' x'"], 0),
        (&["solve", "3x3x3", "--scramble", "M2 x2 y"], 2),
        (&["solve", "skewb", "--scramble", "R U' B"], 3),
        (&["solve", "burnt-pancake:4", "-2 -1 3 4"], 1),
        (&["solve", "lrx:4", "[1, 0, 2, 3]"], 1),
        (&["solve", "lrx:4", "--labels", "A;A;B;B", "A;B;B;A"], 1),
        (&["solve", "lrx:4", "[2, 1, 3, 4]", "--from-one"], 1),
    ] {
        let out = said(arguments);
        assert!(out.starts_with(&format!("distance: {distance}\n")), "{arguments:?}: {out}");
    }
}

/// What `group --element` prints, `solve` takes.
#[test]
fn printed_states_are_read_again() {
    for (puzzle, moves) in [("3x3x3", "R U"), ("skewb", "URF DLF'"), ("pyraminx+tips", "U l")] {
        let told: serde_json::Value =
            serde_json::from_str(&said(&["group", puzzle, "--element", moves, "--json"])).unwrap();
        let state = told["state"].as_str().unwrap();
        assert!(said(&["solve", puzzle, state]).starts_with("distance: 2\n"), "{state}");
        let again: serde_json::Value =
            serde_json::from_str(&said(&["group", puzzle, "--element", state, "--json"])).unwrap();
        assert_eq!(again, told);
    }
}

#[test]
fn puzzles_are_read_from_standard_input() {
    let ring = "{'L': [3, 0, 1, 2], 'R': [1, 2, 3, 0], 'X': [1, 0, 2, 3]}";
    let (code, out, err) = with_input(&["run", "-", "-q", "--json"], ring);
    assert_eq!(code, Some(0), "{err}");
    let told: serde_json::Value = serde_json::from_str(&out).unwrap();
    let family: serde_json::Value = serde_json::from_str(&said(&["run", "lrx:4", "-q", "--json"])).unwrap();
    assert_eq!((&told["counts"], &told["space"]), (&family["counts"], &"stdin".into()));
    let (code, _, err) = with_input(&["run", "-"], "f := [];\nf[1] := (1,2);\n");
    assert!(code == Some(2) && err.contains("stdin:2:1: an assignment to an entry of \"f\""), "{err}");
}

#[test]
fn groups_of_large_cubes_are_refused_or_proven() {
    // Two orbits of 300 points, on each of which the group is cyclic.
    let cycle: Vec<String> = (1..=600).map(|point| point.to_string()).collect();
    let text = format!("a := ({})({});", cycle[..300].join(","), cycle[300..].join(","));
    let (code, _, err) = with_input(&["group", "-"], &text);
    assert!(code == Some(2) && err.contains("600 points, more than 512"), "{err}");
    // Two hundred orbits of three points, which turn together.
    let cycles: Vec<String> =
        (0..200).map(|i| format!("({},{},{})", 3 * i + 1, 3 * i + 2, 3 * i + 3)).collect();
    let (code, out, err) = with_input(&["group", "-"], &format!("a := {};", cycles.concat()));
    assert_eq!(code, Some(0), "{err}");
    assert!(out.starts_with("stdin: a group of degree 600\norder: 3\n"), "{out}");
}
