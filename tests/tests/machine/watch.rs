//! `--watch-states`: the depths of states that the user names.

use fathom_tests::{fathom, texts};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::Path;
use std::process::Output;

const ROWS: usize = 2;
const COLUMNS: usize = 4;

/// All states of the 2x4 board with their distances in the multi metric, by a search that shares nothing with
/// Fathom.
fn distances() -> HashMap<Vec<usize>, usize> {
    let mut moves: Vec<Vec<usize>> = Vec::new();
    for row in 0..ROWS {
        for by in 1..COLUMNS {
            let turned = |cell: usize| row * COLUMNS + (cell % COLUMNS + by) % COLUMNS;
            moves.push((0..8).map(|cell| if cell / COLUMNS == row { turned(cell) } else { cell }).collect());
        }
    }
    for column in 0..COLUMNS {
        let other = |cell: usize| (cell + COLUMNS) % (ROWS * COLUMNS);
        moves.push((0..8).map(|cell| if cell % COLUMNS == column { other(cell) } else { cell }).collect());
    }
    let solved: Vec<usize> = (0..8).collect();
    let mut distances = HashMap::from([(solved.clone(), 0)]);
    let mut open = VecDeque::from([solved]);
    while let Some(state) = open.pop_front() {
        let next = distances[&state] + 1;
        for from in &moves {
            let moved: Vec<usize> = from.iter().map(|&cell| state[cell]).collect();
            distances.entry(moved.clone()).or_insert_with(|| {
                open.push_back(moved);
                next
            });
        }
    }
    distances
}

fn line(state: &[usize]) -> String {
    state.iter().map(usize::to_string).collect::<Vec<_>>().join(" ")
}

fn run(path: &Path, more: &[&str]) -> Output {
    fathom().args(["run", "2x4", "--json", "-q", "--dir"]).arg(path).args(more).output().unwrap()
}

#[test]
fn every_state_is_recorded_at_its_distance_across_an_interruption() {
    let distances = distances();
    let directory = fathom_tests::tempdir().unwrap();
    let (list, path) = (directory.path().join("states"), directory.path().join("run"));
    let states: Vec<&Vec<usize>> = distances.keys().collect();
    let text: Vec<String> = states.iter().map(|state| line(state)).collect();
    fs::write(&list, text.join("\n")).unwrap();
    let list = list.to_str().unwrap();

    let some = run(&path, &["--watch-states", list, "--max-depth", "3"]);
    assert!(some.status.success(), "{}", texts(&some).1);
    let known = fs::read_to_string(path.join("watched.csv")).unwrap();
    for (row, state) in known.lines().skip(1).zip(&states) {
        let depth = distances[*state];
        let expected = if depth <= 3 { depth.to_string() } else { String::new() };
        assert_eq!(row, format!("{},{expected}", line(state)));
    }

    // The same list may be given again, or omitted.
    let all = run(&path, &["--watch-states", list]);
    let (out, err) = texts(&all);
    assert!(all.status.success(), "{err}");
    let found: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["watched"], found["counts"]);
    let known = fs::read_to_string(path.join("watched.csv")).unwrap();
    for (row, state) in known.lines().skip(1).zip(&states) {
        assert_eq!(row, format!("{},{}", line(state), distances[*state]));
    }
    assert_eq!(known.lines().count(), 1 + distances.len());
    let again = run(&path, &[]);
    assert_eq!(texts(&again).0, out);
}

/// States are given by tiles, whatever the labels are; the solved state has them in order.
#[test]
fn states_of_labelled_and_of_even_boards() {
    let directory = fathom_tests::tempdir().unwrap();
    let list = directory.path().join("states");
    let watched = |name: &str, arguments: &[&str]| {
        let path = directory.path().join(name);
        let mut command = fathom();
        command.args(arguments).arg("-q").arg("--dir").arg(&path).arg("--watch-states").arg(&list);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", texts(&output).1);
        assert!(fathom().arg("verify").arg(&path).output().unwrap().status.success());
        fs::read_to_string(path.join("watched.csv")).unwrap()
    };
    fs::write(&list, "0 1 2 3\n3 2 1 0\n").unwrap();
    for labels in ["1,1,0,0", "3,2,1,0"] {
        let found = watched(labels, &["run", "2x2", "--labels", labels]);
        assert!(found.starts_with("state,depth\n0 1 2 3,0\n3 2 1 0,"), "{found}");
    }
    // One rotation of the first row, two of them, and two rotations of two lines.
    fs::write(&list, "1 2 0 3 4 5 6 7 8\n2 0 1 3 4 5 6 7 8\n1 2 0 4 5 3 6 7 8\n").unwrap();
    let multi = watched("multi", &["run", "3x3"]);
    let depths: Vec<&str> = multi.lines().skip(1).map(|line| line.split_once(',').unwrap().1).collect();
    assert_eq!(depths, ["1", "1", "2"]);
    // Three edges with two facelets each: states are given by facelets, which move together.
    let file = directory.path().join("edges.gap");
    fs::write(&file, "Group((1,3,5)(2,4,6), (1,4)(2,3));").unwrap();
    fs::write(&list, "4 5 0 1 2 3\n3 2 1 0 4 5\n").unwrap();
    let found = watched("edges", &["run", file.to_str().unwrap()]);
    assert_eq!(found, "state,depth\n4 5 0 1 2 3,1\n3 2 1 0 4 5,1\n");
    fs::write(&list, "2 1 0 3 4 5\n").unwrap();
    let torn = fathom().arg("run").arg(&file).arg("--watch-states").arg(&list).output().unwrap();
    assert_eq!(torn.status.code(), Some(2));
    assert!(texts(&torn).1.contains("line 1: the moves do not lead to it"), "{}", texts(&torn).1);
}

/// The corners of Rubik's cube, states given by cycles: nothing, U, U2, R and a sequence of two moves. With one label
/// for the corners of each handedness U2 leads to the solved state.
#[test]
fn states_with_orientations() {
    let directory = fathom_tests::tempdir().unwrap();
    let list = directory.path().join("states");
    let (up, right) = ("(1,2,3,4)", "(1+1,4+2,7+1,5+2)");
    let both = fathom().args(["group", "3x3x3-corners", "--element", "U*R"]).output().unwrap();
    let both =
        texts(&both).0.lines().find_map(|line| line.strip_prefix("state: ").map(str::to_owned)).unwrap();
    fs::write(&list, format!("()\n{up}\n(1,3)(2,4)\n{right}\n{both}\n")).unwrap();
    for (name, labels, depths) in [
        ("all", None, ["0", "1", "1", "1", "2"]),
        ("labels", Some("0,1,0,1,1,0,0,1"), ["0", "1", "0", "1", "2"]),
    ] {
        for workers in ["1", "2"] {
            let path = directory.path().join(format!("{name}-{workers}"));
            let mut command = fathom();
            command.args(["run", "3x3x3-corners", "-q", "--workers", workers]).arg("--dir").arg(&path);
            let output = command
                .arg("--watch-states")
                .arg(&list)
                .args(labels.map(|labels| format!("--labels={labels}")))
                .output();
            let output = output.unwrap();
            assert!(output.status.success(), "{}", texts(&output).1);
            assert!(fathom().arg("verify").arg(&path).output().unwrap().status.success());
            let found = fs::read_to_string(path.join("watched.csv")).unwrap();
            let rows = found.lines().skip(1).map(|line| line.rsplit_once(',').unwrap());
            let (states, found): (Vec<&str>, Vec<&str>) = rows.unzip();
            assert_eq!(found, depths, "{name}, {workers}");
            assert_eq!(states[3], format!("\"{right}\""));
        }
    }
}

#[test]
fn wrong_depth_of_a_watched_state_is_found() {
    let directory = fathom_tests::tempdir().unwrap();
    let (list, path) = (directory.path().join("states"), directory.path().join("run"));
    fs::write(&list, "0 1 2 3 4 5 6 7\n").unwrap();
    assert!(run(&path, &["--watch-states", list.to_str().unwrap(), "--keep", "all"]).status.success());
    let verify = || fathom().arg("verify").arg(&path).output().unwrap();
    assert!(verify().status.success());
    let database = rusqlite::Connection::open(path.join("run.db")).unwrap();
    database.execute("UPDATE watched SET depth = 3", []).unwrap();
    let refused = verify();
    assert_eq!(refused.status.code(), Some(1));
    assert!(texts(&refused).1.contains("watched states do not match run.db"), "{}", texts(&refused).1);
}

#[test]
fn list_of_watched_states_cannot_be_changed() {
    let directory = fathom_tests::tempdir().unwrap();
    let (list, path) = (directory.path().join("states"), directory.path().join("run"));
    fs::write(&list, "0 1 2 3 4 5 6 7\n").unwrap();
    assert!(run(&path, &["--max-depth", "1"]).status.success());
    let refused = run(&path, &["--watch-states", list.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(
        texts(&refused).1.contains("was started with other watched states than those in"),
        "{}",
        texts(&refused).1
    );

    fs::write(&list, "0 1 2 3 4 5 6\n").unwrap();
    let other = directory.path().join("other");
    let refused = run(&other, &["--watch-states", list.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(texts(&refused).1.contains("line 1: expected 8 tiles, got 7"));
    assert!(!other.exists());
}
