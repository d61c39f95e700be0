//! Run directories that earlier versions began. This version continues them, with the colouring and the axes
//! with which they were begun.
//!
//! `tests/data/golden` has directories of version 0.1.0 (commit 0222886), each made by `fathom run PUZZLE
//! --max-depth DEPTH --threads 1`; `lock` is left out. `cluster` has what `fathom serve 2x4 --metric single
//! --shards 4` and a worker with one thread left when the worker was killed at its 23rd task, and then the
//! coordinator was stopped; `lock` and `log.jsonl` are left out.

use fathom_tests::cluster::Cluster;
use fathom_tests::{fathom, json, texts};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A directory, the puzzle, the last depth that version 0.1.0 made, the digest that version 0.1.0 printed,
/// and the counts of all depths. A comment beside the counts names the test that has their source.
struct Golden {
    directory: &'static str,
    puzzle: &'static str,
    depth: usize,
    digest: &'static str,
    counts: &'static [u64],
}

const GOLDEN: [Golden; 3] = [
    // `known_numbers`: tests/data/boards.json.
    Golden {
        directory: "2x3",
        puzzle: "2x3",
        depth: 3,
        digest: "2129037e8767fb4c0f16fcaa63c0c49aad74371a328cbbf8c7dbf1fcd0d14ae2",
        counts: &[1, 7, 31, 115, 274, 253, 36, 3],
    },
    // `puzzles`.
    Golden {
        directory: "pancake5",
        puzzle: "pancake:5",
        depth: 2,
        digest: "9134e429279a895b41b582ecb2e7b25929581fa11bb9e56315a09cc13a2ca962",
        counts: &[1, 4, 12, 35, 48, 20],
    },
    // `puzzles`. The colouring of version 0.1.0 has axes of all arrangements. The planner would now choose
    // axes of the arrangements that moves reach.
    Golden {
        directory: "skewb",
        puzzle: "skewb",
        depth: 4,
        digest: "378dc3c4e5dcc3df4eba5b958b1d3894dc24faafddd88d5891e8ad6b6652913d",
        counts: &[1, 8, 48, 288, 1728, 10248, 59304, 315_198, 1_225_483, 1_455_856, 81_028, 90],
    },
];

/// A copy of a directory, which tests may change.
fn copy(name: &str) -> (tempfile::TempDir, PathBuf) {
    let directory = fathom_tests::tempdir().unwrap();
    let run = directory.path().join("run");
    copy_to(name, &run);
    (directory, run)
}

fn copy_to(name: &str, to: &Path) {
    fn copy_all(from: &Path, to: &Path) {
        fs::create_dir(to).unwrap();
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            match entry.file_type().unwrap().is_dir() {
                true => copy_all(&entry.path(), &to),
                false => drop(fs::copy(entry.path(), to).unwrap()),
            }
        }
    }
    copy_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden").join(name), to);
}

fn counts(found: &Value) -> Vec<u64> {
    found["counts"].as_array().unwrap().iter().map(|count| count.as_u64().unwrap()).collect()
}

#[test]
fn runs_of_version_0_1_0_go_on() {
    for golden in GOLDEN {
        let (_directory, run) = copy(golden.directory);
        let definition = fs::read_to_string(run.join("run.toml")).unwrap();
        assert!(definition.contains("written_by = \"fathom 0.1.0\""));
        let verified = fathom().arg("verify").arg(&run).output().unwrap();
        let (out, err) = texts(&verified);
        assert!(out.contains(&format!("digest: {}", golden.digest)), "{}: {out} {err}", golden.directory);
        let found = json(&fathom().args(["resume", "-q", "--json"]).arg(&run).output().unwrap());
        assert_eq!(counts(&found), golden.counts);
        assert_eq!(found["complete"], true);
        assert!(golden.counts.len() > golden.depth + 1, "version 0.1.0 left nothing to do");
        assert_eq!(
            fs::read_to_string(run.join("run.toml")).unwrap(),
            definition,
            "the run was planned again"
        );
        assert!(fathom().arg("verify").arg(&run).output().unwrap().status.success());
    }
}

/// The command `run` continues a run of the same puzzle.
#[test]
fn the_same_command_goes_on() {
    for golden in GOLDEN {
        let (_directory, run) = copy(golden.directory);
        let mut command = fathom();
        command.args(["run", golden.puzzle, "-q", "--json", "--dir"]).arg(&run);
        assert_eq!(counts(&json(&command.output().unwrap())), golden.counts, "{}", golden.directory);
    }
}

#[test]
fn what_cannot_be_gone_on_with_names_its_version() {
    let (_directory, run) = copy("2x3");
    let file = run.join("run.toml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replacen("shards = 1", "shards = 2", 1)).unwrap();
    let output = fathom().args(["resume", "-q"]).arg(&run).output().unwrap();
    let (out, err) = texts(&output);
    assert_eq!((output.status.success(), out.as_str(), err.lines().count()), (false, "", 1), "{err}");
    assert!(err.contains("the run was begun by fathom 0.1.0"), "{err}");
    assert!(err.contains("that version finishes the run"), "{err}");
}

/// The coordinator uses the files that the worker holds: the layers to continue from are nowhere else.
#[test]
fn a_cluster_of_version_0_1_0_goes_on() {
    let mut cluster = Cluster::new(&["2x4", "--metric", "single"], &[]);
    copy_to("cluster/run", &cluster.run());
    copy_to("cluster/store", &cluster.store("w1"));
    cluster.serve();
    cluster.join(&["w1"]);
    // tests/data/boards.json.
    let counts_of_2x4 = [1, 8, 44, 208, 854, 2936, 8468, 15144, 10789, 1864, 4];
    assert_eq!(counts(&cluster.finishes()), counts_of_2x4);
    assert_eq!(cluster.logged_by("w1", "store recovered")[0]["files"], 11);
}
