//! `fathom solve` and `fathom antipodes`, as real processes.

use fathom_tests::{fathom, json, texts};
use serde_json::{Value, json as value};
use std::collections::HashSet;
use std::fs;
use std::path::Path;

/// Runs `fathom` in a directory. Returns the exit code, standard output and standard error.
fn in_directory(directory: &Path, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = fathom().args(arguments).current_dir(directory).output().unwrap();
    let (out, err) = texts(&output);
    (output.status.code(), out, err)
}

pub(super) fn answer(directory: &Path, arguments: &[&str]) -> Value {
    json(&fathom().args(arguments).arg("--json").current_dir(directory).output().unwrap())
}

/// Returns the answer of `solve` for a run with all its layers, and asserts that `solve` gives the same
/// answer without the run.
pub(super) fn same_answer_without_run(directory: &Path, run: &str, space: &str, arguments: &[&str]) -> Value {
    let [of_run, of_none] =
        [run, space].map(|space| answer(directory, &[&["solve", space], arguments, &["--all"]].concat()));
    assert_eq!(of_run["method"], "layers");
    assert!(["bidirectional", "enumeration"].map(Value::from).contains(&of_none["method"]), "{of_none}");
    for field in ["distance", "solutions", "more", "state", "puzzle", "metric"] {
        assert_eq!(of_run[field], of_none[field], "{arguments:?}: {field}");
    }
    of_run
}

/// Returns arguments of `solve` for the state after some moves, or for the solved state, "()".
pub(super) fn arguments_for(scramble: &str) -> Vec<&str> {
    if scramble == "()" { vec![scramble] } else { vec![scramble, "--scramble"] }
}

/// Returns the tiles of a 3x4 board after moves such as `V2^-1`. Works on tiles alone and shares no code with
/// Fathom.
fn replay(mut tiles: Vec<usize>, word: &str) -> Vec<usize> {
    for turn in word.split(' ').filter(|turn| *turn != "()") {
        let (line, exponent) = match turn.strip_suffix('\'') {
            Some(line) => (line, "-1"),
            None => turn.split_once('^').unwrap_or((turn, "1")),
        };
        let (line, number) = line.split_at(1);
        let number: usize = number.parse::<usize>().unwrap() - 1;
        let cells: Vec<usize> = match line {
            "V" => (0..3).map(|row| 4 * row + number).collect(),
            _ => (0..4).map(|column| 4 * number + column).collect(),
        };
        let shift = exponent.parse::<i64>().unwrap().rem_euclid(cells.len() as i64) as usize;
        let old: Vec<usize> = cells.iter().map(|&cell| tiles[cell]).collect();
        for (place, &cell) in cells.iter().enumerate() {
            tiles[cell] = old[(place + shift) % cells.len()];
        }
    }
    tiles
}

#[test]
fn answer_is_the_same_with_and_without_a_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let run = answer(path, &["run", "3x4", "--keep", "all", "--shards", "7", "--dir", "kept", "-q"]);
    assert_eq!(run["god_number"], 13);
    for (state, distance) in [
        ("0 1 2 3 4 5 6 7 8 9 10 11", 0),
        ("1 2 3 0 4 5 6 7 8 9 10 11", 1),
        // README.md has this distance from a run that watched the state.
        ("11 10 9 8 7 6 5 4 3 2 1 0", 11),
        ("(1,2)", 9),
        ("(1,2,3)", 7),
    ] {
        let of_run = same_answer_without_run(path, "kept", "3x4", &[state, "--limit", "50"]);
        if state.starts_with(|c: char| c.is_ascii_digit()) {
            assert_eq!(of_run["distance"], distance, "{state}");
        }
        let tiles: Vec<usize> =
            of_run["state"].as_str().unwrap().split(' ').map(|tile| tile.parse().unwrap()).collect();
        for solution in of_run["solutions"].as_array().unwrap() {
            assert!(replay(tiles.clone(), solution.as_str().unwrap()).is_sorted());
        }
        let one = answer(path, &["solve", "kept", state]);
        assert_eq!(one["solutions"][0], of_run["solutions"][0]);
    }
    // The solution is the inverse of the scramble.
    let scrambled = answer(path, &["solve", "kept", "V1 H2^-1 V3", "--scramble"]);
    assert_eq!(scrambled["distance"], 3);
    let (code, out, _) = in_directory(path, &["solve", "kept", "V1 H2^-1", "--scramble", "--all"]);
    assert_eq!((code, out.as_str()), (Some(0), "distance: 2\nsolutions: 1\n    H2 V1'\n"));
}

/// Returns the tiles of a 3x4 board, as `solve --json` writes a state.
fn tiles(state: &Value) -> Vec<usize> {
    state.as_str().unwrap().split(' ').map(|tile| tile.parse().unwrap()).collect()
}

#[test]
fn solutions_lead_from_one_state_to_another() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    answer(path, &["run", "3x4", "--keep", "all", "--dir", "kept", "-q"]);
    let ends = ["--from", "V1 H2 V3'", "--to", "H1^2 V4 V2 H3'", "--scramble"];
    let of_run = same_answer_without_run(path, "kept", "3x4", &ends);
    assert_eq!(
        (tiles(&of_run["state"]), tiles(&of_run["to"])),
        (replay((0..12).collect(), ends[1]), replay((0..12).collect(), "H1^2 V4 V2 H3'"))
    );
    for solution in of_run["solutions"].as_array().unwrap() {
        assert_eq!(replay(tiles(&of_run["state"]), solution.as_str().unwrap()), tiles(&of_run["to"]));
    }
    // A state that is not given is the solved one.
    let from = answer(path, &["solve", "3x4", "--from", "V1 H2", "--scramble"]);
    assert_eq!(from, answer(path, &["solve", "3x4", "V1 H2", "--scramble"]));
    let to = answer(path, &["solve", "3x4", "--to", "V1 H2", "--scramble", "--all"]);
    assert_eq!((&to["distance"], &to["solutions"]), (&value!(2), &value!(["V1 H2"])));
    assert_eq!((&from["to"], &to["state"]), (&Value::Null, &value!("0 1 2 3 4 5 6 7 8 9 10 11")));

    // Tiles with equal labels are alike; the layers of a run do not help.
    let labels = "0,0,0,0,1,1,1,1,2,2,2,2";
    answer(path, &["run", "3x4", "--labels", labels, "--keep", "all", "--dir", "rows", "-q"]);
    let ends = ["--from", "V1 H2 V2", "--to", "V4 H1 V3'", "--scramble", "--all"];
    let of_rows = answer(path, &[&["solve", "rows"], &ends[..]].concat());
    assert_eq!(of_rows, answer(path, &[&["solve", "3x4", "--labels", labels], &ends[..]].concat()));
    let rows = |tiles: Vec<usize>| tiles.iter().map(|tile| tile / 4).collect::<Vec<_>>();
    assert!(!of_rows["solutions"].as_array().unwrap().is_empty());
    for solution in of_rows["solutions"].as_array().unwrap() {
        let end = replay(tiles(&of_rows["state"]), solution.as_str().unwrap());
        assert_eq!(rows(end), rows(tiles(&of_rows["to"])), "{solution}");
    }
    // Moves with guards, a cube in the hand, and moves without their inverses.
    for (puzzle, from, to, solution) in [
        (&["square1", "--metric", "twist"][..], "(1,0)/", "(1,0)/(3,-3)/", "(3,-3)/"),
        (&["2x2x2"], "x R", "x R U2 y", "U2"),
        (&["lx:6"], "L X", "L X L X", "L X"),
        (&["lx:6"], "L X L", "L X", "L L L L L"),
    ] {
        let arguments = [&["solve"], puzzle, &["--from", from, "--to", to, "--scramble"]].concat();
        assert_eq!(answer(path, &arguments)["solutions"], value!([solution]), "{arguments:?}");
    }
    for (arguments, says) in [
        (&["--from", "V1", "--to", "V1"][..], "--from and --to are the same state"),
        (&["--from", "V1 V1'"], "--from and --to are the same state"),
        (&["V1 H1", "--to", "V1 H1"], "--from and --to are the same state"),
        (&["V1", "--from", "V1"], "cannot be used with"),
        (&["--to", "V9"], "--to: at offset 0: unknown move \"V9\""),
        (&["--from", "V9"], "--from: at offset 0: unknown move \"V9\""),
        (&[], "required arguments were not provided"),
    ] {
        let arguments = [&["solve", "3x4", "--scramble"], arguments].concat();
        let (code, out, err) = in_directory(path, &arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(says) && err.matches("error:").count() == 1, "{arguments:?}: {err}");
    }
    let odd = ["1 0 2 3 4 5 6 7 8", "0 1 2 3 4 5 6 8 7"];
    let (code, _, err) = in_directory(path, &["solve", "3x3", "--from", odd[0]]);
    assert!(code == Some(2) && err.contains("3x3 cannot reach this state: it is an odd"), "{err}");
    let (code, _, err) = in_directory(path, &["solve", "3x3", "--to", odd[0]]);
    assert!(code == Some(2) && err.contains("no moves of 3x3 lead from --from to --to"), "{err}");
    // Moves lead from one state to the other, though to neither from the solved state.
    let between = answer(path, &["solve", "3x3", "--from", odd[0], "--to", odd[1]]);
    let between = between["solutions"][0].as_str().unwrap();
    let back = answer(path, &["solve", "3x3", "--from", odd[1], "--to", odd[0]]);
    assert_eq!(between.split(' ').count(), back["distance"].as_u64().unwrap() as usize);
    let never = ["solve", "1x6", "--labels", "0,1,0,1,0,1", "--to", "0 2 1 3 4 5"];
    let (code, _, err) = in_directory(path, &never);
    assert!(code == Some(2) && err.contains("--to: 1x6 cannot reach this state"), "{err}");
    // Each move needs the pieces of the other one at home, so only one of them can be made.
    let moves = "A = { cycles = \"(1,2)\", guard = [3] }\nB = { cycles = \"(3,4)\", guard = [1] }\n";
    fs::write(path.join("either.toml"), format!("name = \"either\"\ndegree = 4\n[moves]\n{moves}")).unwrap();
    let either = ["solve", "either.toml", "--from", "1 0 2 3", "--to"];
    let found = answer(path, &[&either[..], &["0 1 3 2"]].concat());
    assert_eq!(found["solutions"], value!(["A B"]));
    let (code, _, err) = in_directory(path, &[&either[..], &["1 0 3 2"]].concat());
    assert!(code == Some(2) && err.contains("the search exhausted all "), "{err}");
}

/// Both searches, and the layers of a run, count as many solutions as they list.
#[test]
fn count_is_the_number_of_listed_solutions() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    answer(path, &["run", "3x4", "--keep", "all", "--dir", "kept", "-q"]);
    for (state, method) in [
        ("0 1 2 3 4 5 6 7 8 9 10 11", "bidirectional"),
        ("(1,2)", "bidirectional"),
        ("(1,2,3)", "bidirectional"),
        ("11 10 9 8 7 6 5 4 3 2 1 0", "enumeration"),
    ] {
        let all = ["--all", "--limit", "100000", "--count"];
        let found = answer(path, &[&["solve", "3x4", state], &all[..]].concat());
        assert_eq!((&found["more"], &found["method"]), (&value!(false), &value!(method)), "{state}");
        assert_eq!(found["count"], found["solutions"].as_array().unwrap().len().to_string(), "{state}");
        let of_run = answer(path, &["solve", "kept", state, "--count"]);
        assert_eq!((&of_run["count"], &of_run["method"]), (&found["count"], &value!("layers")), "{state}");
    }
    let hand = answer(path, &["solve", "2x2x2", "L D2 B' U x", "--scramble", "--all", "--count"]);
    assert_eq!(hand["count"], hand["solutions"].as_array().unwrap().len().to_string());

    // Three rings turn independently, in one direction: 57 turns, 19 of each, in any order.
    let ring = |from: usize| {
        let cells: Vec<String> = (from..from + 20).map(|cell| cell.to_string()).collect();
        format!("\"({})\"", cells.join(","))
    };
    let moves = format!("A = {}\nB = {}\nC = {}\n", ring(1), ring(21), ring(41));
    fs::write(path.join("rings.toml"), format!("name = \"rings\"\ndegree = 60\n[moves]\n{moves}")).unwrap();
    // Pascal's triangle.
    let mut rows: Vec<Vec<u128>> = vec![vec![1]];
    for n in 1..=57 {
        let last = &rows[n - 1];
        let row = (0..=n).map(|k| last.get(k).unwrap_or(&0) + if k > 0 { last[k - 1] } else { 0 });
        rows.push(row.collect());
    }
    let orders = rows[57][19] * rows[38][19];
    assert!(orders > u128::from(u64::MAX));
    let found = answer(path, &["solve", "rings.toml", "A B C", "--scramble", "--count"]);
    assert_eq!((&found["distance"], &found["count"]), (&value!(57), &value!(orders.to_string())));
    let (_, out, _) = in_directory(path, &["solve", "3x3", "V1 V2", "--scramble", "--count"]);
    assert_eq!(out, "distance: 2\nsolution: V1' V2'\ncount: 2\n");
}

#[test]
fn small_spaces_are_enumerated_if_the_search_becomes_large() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let antipode = "1 0 3 2 5 4 7 6 9 8 11 10";
    let output = fathom().args(["solve", "3x4", antipode, "--json"]).env("TMPDIR", path).output().unwrap();
    let found = json(&output);
    assert_eq!((&found["distance"], &found["method"]), (&value!(13), &value!("enumeration")));
    let solution = found["solutions"][0].as_str().unwrap();
    assert!(solution.split(' ').count() == 13 && replay(tiles(&found["state"]), solution).is_sorted());
    assert_eq!(texts(&output).1, "");
    assert_eq!(fs::read_dir(path).unwrap().count(), 0);
    // Between two states, one of them an antipode of the other.
    let between = ["solve", "3x4", "--from", "V1 H2", "--to", "H3 V2", "--scramble"];
    assert_eq!(answer(path, &between)["method"], "bidirectional");
    let to = "0 1 2 3 4 5 6 7 8 9 10 11";
    let between = answer(path, &["solve", "3x4", "--from", antipode, "--to", to]);
    assert_eq!((&between["method"], &between["solutions"]), (&value!("enumeration"), &found["solutions"]));

    // A larger space is searched on.
    let reversed = "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0";
    let large = ["solve", "4x4", reversed, "--memory", "100MiB"];
    let (code, _, err) = in_directory(path, &large);
    assert_eq!(code, Some(1));
    assert!(err.contains("note: no solution has 9 moves or fewer; "), "{err}");
    let (_, _, err) = in_directory(path, &[&large[..], &["-q"]].concat());
    assert!(err.starts_with("error: ") && err.contains("no solution has 9 moves or fewer"), "{err}");
}

/// `--moves` limits the solution, not the sequence that leads to a state.
#[test]
fn scrambles_may_have_moves_that_solutions_may_not() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let moves = "V1,V1^-1,V2,V2^-1,V3,V3^-1,V4,V4^-1,H1,H1^-1";
    let found = answer(path, &["solve", "3x4", "H2 V1 H3^2", "--scramble", "--moves", moves]);
    let state = replay((0..12).collect(), "H2 V1 H3^2");
    assert_eq!(tiles(&found["state"]), state);
    let solution = found["solutions"][0].as_str().unwrap();
    assert!(!solution.contains("H2") && !solution.contains("H3"), "{solution}");
    assert!(replay(state, solution).is_sorted(), "{solution}");
    // Wide turns and slices are no moves at all.
    let all = ["R,R2,R',U,U2,U',F,F2,F'", "3x3x3", "L R' L' R U M M'", "--scramble"];
    let found = answer(path, &["solve", all[1], all[2], all[3], "--moves", all[0]]);
    assert_eq!(found["solutions"], value!(["U'"]));
    for (puzzle, scramble, moves, says) in [
        ("3x4", "H2", "V1,V2,V3,V4", "cannot reach this state"),
        ("3x3x3", "L", "U,R,F", "cannot reach this state"),
        ("3x4", "H2 V9", "V1,H1", "STATE: at offset 3: unknown move \"V9\". Moves: V1 V2 V3 V4 H1 H2 H3"),
    ] {
        let arguments = ["solve", puzzle, scramble, "--scramble", "--moves", moves];
        let (code, out, err) = in_directory(path, &arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }
}

/// The axial pieces of the pyramid turn in place.
#[test]
fn pieces_that_turn_in_place_are_looked_up_too() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let run = answer(path, &["run", "pyraminx", "--keep", "all", "--dir", "kept", "-q"]);
    for scramble in ["()", "U", "U L' R", "U L R' B U' L", "B' U R' L B U L' R U", "(U L' R B' U' R)3"] {
        same_answer_without_run(path, "kept", "pyraminx", &arguments_for(scramble));
    }
    // Jaap's Puzzle Page: 32 positions take 11 moves.
    let antipodes = answer(path, &["antipodes", "kept"]);
    let classes = antipodes["representatives"].as_array().unwrap();
    assert_eq!(classes.iter().map(|class| class["size"].as_u64().unwrap()).sum::<u64>(), 32);
    assert_eq!(value!(classes.len()), run["classes"][11]);
    for class in classes {
        let told = answer(path, &["solve", "pyraminx", class["state"].as_str().unwrap()]);
        assert_eq!((&told["distance"], &told["solutions"][0]), (&value!(11), &class["solution"]));
    }
}

#[test]
fn only_labels_distinguish_tiles() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let labels = "0,0,0,0,1,1,1,1,2,2,2,2";
    answer(path, &["run", "3x4", "--labels", labels, "--keep", "all", "--dir", "rows", "-q"]);
    // Tiles 0 and 1 look alike, and so do 10 and 11.
    for (state, distance) in [("1 0 2 3 4 5 6 7 8 9 11 10", 0), ("4 5 6 7 8 9 10 11 0 1 2 3", 4)] {
        let of_run = answer(path, &["solve", "rows", state, "--all", "--limit", "1000"]);
        let of_none = answer(path, &["solve", "3x4", state, "--labels", labels, "--all", "--limit", "1000"]);
        assert_eq!(of_run["solutions"], of_none["solutions"], "{state}");
        assert_eq!((&of_run["distance"], &of_none["distance"]), (&value!(distance), &value!(distance)));
        for solution in of_run["solutions"].as_array().unwrap() {
            let tiles = state.split(' ').map(|tile| tile.parse().unwrap()).collect();
            let rows: Vec<usize> =
                replay(tiles, solution.as_str().unwrap()).iter().map(|tile| tile / 4).collect();
            assert!(rows.is_sorted(), "{rows:?}");
        }
    }
}

#[test]
fn unknown_answers_of_a_run_are_reported() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let reversed = "11 10 9 8 7 6 5 4 3 2 1 0";
    answer(path, &["run", "3x4", "--keep", "all", "--max-depth", "6", "--dir", "young", "-q"]);
    // A state beyond the layers has the solutions that a search without them finds.
    for state in [reversed, "1 0 3 2 5 4 7 6 9 8 11 10"] {
        let solve = |puzzle| answer(path, &["solve", puzzle, state, "--all", "--count", "--limit", "1000"]);
        let (of_run, of_none) = (solve("young"), solve("3x4"));
        assert_eq!(of_run["method"], "layers");
        for field in ["distance", "count", "solutions", "more"] {
            assert_eq!(of_run[field], of_none[field], "{state} {field}");
        }
        let first = answer(path, &["solve", "young", state]);
        assert!(of_run["solutions"].as_array().unwrap().contains(&first["solutions"][0]), "{first}");
    }
    // Square-1 is solved in all shapes, but its layers have only those that can be twisted.
    let square1 = ["--metric", "face", "--max-depth", "3", "--keep", "all", "--dir", "twisted", "-q"];
    answer(path, &[&["run", "square1"][..], &square1].concat());
    for (scramble, distance) in [("(2,0)", 1), ("/(1,0)", 2), ("/(3,0)/(0,-3)/", 5)] {
        let of_run = answer(path, &["solve", "twisted", scramble, "--scramble", "--count"]);
        let of_none =
            answer(path, &["solve", "square1", "--metric", "face", scramble, "--scramble", "--count"]);
        assert_eq!(of_run["distance"], distance, "{scramble}");
        for field in ["distance", "count", "solutions"] {
            assert_eq!(of_run[field], of_none[field], "{scramble} {field}");
        }
    }
    let (code, out, err) = in_directory(path, &["solve", "young", reversed, "--memory", "1MiB"]);
    assert!(
        code == Some(1) && out.is_empty() && err.contains("continue the run with 'fathom resume young'"),
        "{err}"
    );
    assert_eq!(answer(path, &["solve", "young", "V1 H1 V2", "--scramble"])["method"], "layers");
    let (code, _, err) = in_directory(path, &["antipodes", "young"]);
    assert!(code == Some(2) && err.contains("is not complete (finished to depth 6)"), "{err}");
    let (code, _, err) = in_directory(path, &["antipodes", "young", "--depth", "7"]);
    assert!(code == Some(2) && err.contains("finished only to depth 6. Continue it"), "{err}");
    assert_eq!(answer(path, &["antipodes", "young", "--depth", "6", "--limit", "1"])["states"], 2_090_826);
    // If only the last layers are kept, the search does not use them.
    answer(path, &["run", "3x4", "--dir", "last", "-q"]);
    let found = answer(path, &["solve", "last", reversed]);
    assert_eq!((&found["method"], &found["distance"]), (&value!("enumeration"), &value!(11)));
    let (code, _, err) = in_directory(path, &["antipodes", "last", "--depth", "5"]);
    assert!(code == Some(2) && err.contains("did not keep the layer of depth 5"), "{err}");
    assert!(err.contains("--keep all: its 14 depths need at most "), "{err}");
}

#[test]
fn antipodes_match_the_count_of_the_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    for (space, keep) in [("3x3", "all"), ("2x4", "last"), ("pancake:7", "all"), ("star:7", "last")] {
        let run = answer(path, &["run", space, "--keep", keep, "--dir", space, "-q"]);
        let last = run["god_number"].as_u64().unwrap();
        for depth in [last, last - 1] {
            let limit = if depth == last { "100000" } else { "20" };
            let depth_text = depth.to_string();
            let arguments = ["antipodes", space, "--depth", &depth_text, "--limit", limit];
            let of_run = answer(path, &[&arguments[..1], &[&format!("./{space}")], &arguments[2..]].concat());
            assert_eq!(of_run["states"], run["counts"][depth as usize]);
            assert_eq!(of_run["classes"], run["classes"][depth as usize]);
            assert_eq!(of_run["symmetries"], run["symmetries"]);
            let representatives = of_run["representatives"].as_array().unwrap();
            if depth == last {
                let sizes = representatives.iter().map(|class| class["size"].as_u64().unwrap());
                assert_eq!(sizes.sum::<u64>(), of_run["states"].as_u64().unwrap());
                assert_eq!(representatives.len() as u64, of_run["classes"].as_u64().unwrap());
            }
            for class in representatives {
                let product = class["size"].as_u64().unwrap() * class["symmetry"].as_u64().unwrap();
                assert_eq!(product, of_run["symmetries"].as_u64().unwrap());
            }
            for class in representatives.iter().take(3) {
                let solved = answer(path, &["solve", space, class["state"].as_str().unwrap()]);
                assert_eq!(solved["distance"], depth);
                assert_eq!(solved["solutions"][0], class["solution"]);
            }
        }
    }
    // Without a run, the command searches, and the answer is the same.
    let elsewhere = fathom_tests::tempdir().unwrap();
    assert_eq!(answer(elsewhere.path(), &["antipodes", "3x3"]), answer(path, &["antipodes", "3x3"]));
    assert_eq!(fs::read_dir(elsewhere.path()).unwrap().count(), 0);
    let (code, _, err) = in_directory(elsewhere.path(), &["antipodes", "4x4"]);
    assert!(code == Some(2) && err.contains("Run 'fathom run 4x4 --keep all' first"), "{err}");
}

/// Commands that only read do not wait for each other, and leave nothing behind.
#[test]
fn readers_of_a_run_change_nothing() {
    let directory = fathom_tests::tempdir().unwrap();
    let said = |arguments: &[&str]| {
        let (code, out, err) = in_directory(directory.path(), arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {err}");
        out
    };
    said(&["run", "3x4", "--keep", "all", "-q", "--dir", "run"]);
    {
        let _reads = fathom_engine::run::lock::reading(&directory.path().join("run")).unwrap();
        said(&["audit", "run", "--samples", "10"]);
        said(&["antipodes", "run", "--depth", "3"]);
    }
    said(&["remove", "run"]);
    let there = || {
        fs::read_dir(directory.path().join("run"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect::<HashSet<_>>()
    };
    let before = there();
    assert!(!before.iter().any(|name| *name == *"cosets.bin"), "{before:?}");
    said(&["solve", "run", "--scramble", "V1 H2"]);
    assert_eq!(there(), before);
}

#[test]
fn damaged_layers_are_an_error() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    answer(path, &["run", "3x3", "--keep", "all", "--dir", "run", "-q"]);
    let file = path.join("run/layers/d007/s00000.layer");
    let whole = fs::read(&file).unwrap();
    let mut damaged = whole.clone();
    let middle = damaged.len() - 600;
    damaged[middle..middle + 500].iter_mut().for_each(|byte| *byte ^= 0x5a);
    let commands: [&[&str]; 2] =
        [&["solve", "run", "8 7 6 5 4 3 2 1 0"], &["antipodes", "run", "--depth", "7"]];
    for (bytes, says) in [
        (Some(&damaged[..]), "d007/s00000.layer"),
        (Some(&whole[..100]), "s00000.layer"),
        (None, "s00000.layer"),
    ] {
        match bytes {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => fs::remove_file(&file).unwrap(),
        }
        for command in commands {
            let (code, out, err) = in_directory(path, command);
            assert_eq!((code, out.as_str()), (Some(1), ""), "{err}");
            assert!(err.contains(says) && err.lines().count() == 1, "{err}");
        }
    }
}

#[test]
fn invalid_questions_are_refused_with_one_message() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    fs::create_dir(path.join("empty")).unwrap();
    let many = "name = \"many\"\ndegree = 8\n[moves]\nA = \"(1,2)\"\n[free]\nr = \"(1,2,3,4,5,6,7)\"\ns = \"(7,8)\"\n";
    fs::write(path.join("many.toml"), many).unwrap();
    answer(path, &["run", "2x3", "--dir", "run", "-q"]);
    for (arguments, says) in [
        (&["solve", "3x3", "0 1 2"][..], "STATE: expected 9 tiles, got 3"),
        (&["solve", "3x3", "0 1 2 3 4 5 6 7 7"], "STATE: tile 7 occurs twice"),
        (&["solve", "3x3", "(1,2"], "STATE: at offset 4: expected a point, found the end"),
        (&["solve", "3x3", ""], "is neither a list of tiles nor cycles"),
        (&["solve", "3x3", "V1"], "To give moves, add --scramble"),
        (&["solve", "3x3", "V4", "--scramble"], "unknown move \"V4\""),
        (&["solve", "2x2x2", "R D", "--scramble", "--moves", "U,R,F"], "at offset 2: unknown move \"D\""),
        (&["solve", "2x2x2", "0 1 2 3 4 5 6"], "does not give the orientations of the pieces of 2x2x2"),
        (&["solve", "3x3", "1 0 2 3 4 5 6 7 8"], "3x3 cannot reach this state: it is an odd permutation"),
        (&["solve", "2x2x2", "(1+1)"], "the orientations of its corners add up to 1 modulo 3"),
        (
            &["solve", "2x2x2", "(1+1)", "--moves", "U,R,F"],
            "the orientations of its corners add up to 1 modulo 3",
        ),
        (&["solve", "2x2x2", "x w", "--scramble"], "at offset 2: unknown move \"w\""),
        (
            &["solve", "square1", "(1,0)/(1,0)/", "--scramble", "--metric", "twist"],
            "STATE: move 4, /, is not possible",
        ),
        (
            &["solve", "square1", "(1,0", "--scramble", "--metric", "twist"],
            "STATE: at offset 0: \"(1,0\" is not a pair of turns",
        ),
        (&["solve", "many.toml", "()"], "the free moves generate a group of more than 1024 elements"),
        (&["solve", "empty", "()"], "is not a run directory"),
        (&["solve", "nowhere", "()"], "unknown puzzle"),
        (&["solve", "run", "()", "--track", "0"], "--track cannot be used with the existing run run"),
        (&["solve", "run", "0 1 2 3 4 5 6"], "expected 6 tiles, got 7"),
        (&["solve", "3x3", "()", "--limit", "3"], "--all"),
        (&["antipodes", "run", "--metric", "multi"], "--metric cannot be used with the existing run run"),
        (&["antipodes", "run", "--depth", "9"], "2x3-multi has no states at depth 9: the largest depth is 7"),
        (&["antipodes", "many.toml"], "the free moves generate a group of more than 1024 elements"),
        (&["antipodes", "empty"], "is not a run directory"),
    ] {
        let (code, out, err) = in_directory(path, arguments);
        assert_eq!((code, out.as_str()), (Some(2), ""), "{arguments:?}: {err}");
        assert!(err.contains(says), "{arguments:?}: {err}");
    }
    let reversed = "15 14 13 12 11 10 9 8 7 6 5 4 3 2 1 0";
    let (code, out, err) = in_directory(path, &["solve", "4x4", reversed, "--memory", "10MiB"]);
    assert_eq!((code, out.as_str()), (Some(1), ""));
    assert!(err.contains("no solution has") && err.contains("10.00 MiB of memory are full"), "{err}");
    // A long text is not repeated in full.
    let scramble = "V1 V1' ".repeat(1000) + "V1 H2 V3 H4 V2^2 H1 V4 H3^2 V1 H2 V3 H4 V2 H1";
    let (code, _, err) = in_directory(path, &["solve", "4x4", &scramble, "--scramble", "--memory", "10MiB"]);
    assert_eq!(code, Some(1), "{err}");
    assert!(err.contains("V1 V … is too far from solved") && err.len() < 1000, "{err}");
}

/// No moves at all lead to the solved state.
#[test]
fn empty_scramble_is_the_solved_state() {
    for puzzle in ["3x3", "2x2x2", "pancake:4", "square1"] {
        let output = fathom().args(["solve", puzzle, "", "--scramble"]).output().unwrap();
        let (out, err) = texts(&output);
        assert!(out.starts_with("distance: 0\n"), "{puzzle}: {out}{err}");
    }
}

#[test]
fn missing_temporary_directory_is_named() {
    let output = fathom().args(["antipodes", "2x3"]).env("TMPDIR", "/nonexistent").output().unwrap();
    let (out, err) = texts(&output);
    assert_eq!((output.status.code(), out.as_str()), (Some(2), ""), "{err}");
    assert!(err.contains("in /nonexistent:") && err.contains("Set TMPDIR"), "{err}");
    assert!(!err.contains("/nonexistent/"), "{err}");
}

#[test]
fn antipodes_without_inverse_moves_come_with_scrambles() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path();
    let run = answer(path, &["run", "lx:6", "--dir", "lx", "-q"]);
    let last = run["god_number"].as_u64().unwrap();
    for depth in [last, last - 3] {
        let found = answer(path, &["antipodes", "./lx", "--depth", &depth.to_string(), "--limit", "1000"]);
        assert_eq!(found["states"], run["counts"][depth as usize]);
        for class in found["representatives"].as_array().unwrap() {
            assert_eq!(class.get("solution"), None);
            // L shifts all pieces to the left, X exchanges the first two.
            let mut tiles: Vec<u64> = (0..6).collect();
            let scramble: Vec<&str> = class["scramble"].as_str().unwrap().split(' ').collect();
            for name in &scramble {
                match *name {
                    "L" => tiles.rotate_left(1),
                    _ => tiles.swap(0, 1),
                }
            }
            let state = tiles.iter().map(u64::to_string).collect::<Vec<_>>().join(" ");
            assert_eq!((scramble.len() as u64, value!(state)), (depth, class["state"].clone()));
        }
    }
    let (code, out, _) = in_directory(path, &["antipodes", "3x3", "--moves", "V1,H1"]);
    assert!(
        code == Some(0) && out.contains("state") && out.contains("scramble") && !out.contains("solution"),
        "{out}"
    );
}
