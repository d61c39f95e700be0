//! Spot checks: a search checks states of its newest layers against the puzzle's moves before they count.

use fathom_engine::run::SpaceSpec;
use fathom_layer::LocalDisk;
use fathom_puzzle::{Metric, PuzzleSpec};
use fathom_space::Labels;
use fathom_tests::{Setup, fathom, json};
use serde_json::Value;
use std::fs;
use std::path::Path;

fn board(word: &str) -> SpaceSpec {
    let source = PuzzleSpec::Board(word.parse().unwrap());
    SpaceSpec { source, metric: Metric::Multi, labels: Labels::distinct(6) }
}

/// A search whose layers were computed with other moves than it was given ends before its last layer counts,
/// and so does a search that continues it.
#[test]
fn search_that_contradicts_the_moves_fails() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut run = Setup::default().begin(board("2x3"), &path, &LocalDisk).unwrap();
    let right = run.manifest.spec.clone();
    run.manifest.spec = board("3x2");
    for _ in 0..2 {
        let error = Setup::default().go_on(&mut run, &LocalDisk).unwrap_err().to_string();
        assert!(error.contains("depth 7 contradicts the puzzle's moves in the state "), "{error}");
        assert_eq!(run.visited().unwrap().layers.len(), 7);
    }
    // The first layer of a continuing process is checked whatever its depth.
    let other = directory.path().join("other");
    let mut run = Setup::default().begin(board("2x3"), &other, &LocalDisk).unwrap();
    Setup { max_depth: Some(3), ..Setup::default() }.go_on(&mut run, &LocalDisk).unwrap();
    run.manifest.spec = board("3x2");
    let error = Setup::default().go_on(&mut run, &LocalDisk).unwrap_err().to_string();
    assert!(error.contains("depth 4 contradicts"), "{error}");
    // The moves with which the layers were computed agree with them.
    run.manifest.spec = right;
    assert_eq!(Setup::default().go_on(&mut run, &LocalDisk).unwrap().god_number, Some(7));
}

/// The last layer is checked whatever the run keeps.
#[test]
fn last_layer_is_checked() {
    for (keep, space) in [("last", "2x3"), ("two", "2x3"), ("all", "2x3"), ("last", "2x2+flip")] {
        let directory = fathom_tests::tempdir().unwrap();
        let run = |more: &[&str]| {
            let arguments = [&["run", space, "--keep", keep, "--dir", "run", "-q", "--json"], more].concat();
            json(&fathom().args(arguments).current_dir(directory.path()).output().unwrap())
        };
        run(&["--max-depth", "2"]);
        let found = run(&[]);
        let last = found["counts"].as_array().unwrap().len() as u64 - 1;
        let checked = checked(&directory.path().join("run/log.jsonl"));
        assert!([2, 3, last].iter().all(|depth| checked.contains(depth)), "{keep} {space}: {checked:?}");
    }
}

/// Returns the depths that were checked, from the log.
fn checked(log: &Path) -> Vec<u64> {
    let lines = fs::read_to_string(log).unwrap();
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let agrees = |line: &Value| line["message"] == "spot check agrees";
    lines.filter(agrees).map(|line| line["depth"].as_u64().unwrap()).collect()
}
