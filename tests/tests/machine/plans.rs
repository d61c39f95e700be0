//! Recorded plans: a run with a plan has the digest that it had when the plan was written, whatever the
//! planner would choose now.
//!
//! `tests/data/plans` has plans of the records and of puzzles that need each reduction. `digests.csv` has,
//! for each plan, the arguments of the command, the last depth, and the digest and the number of visited
//! states that commit 469a6641 printed, which planned whenever a run was opened; for the plan with tied axes,
//! those that were printed when it was added.

use fathom_tests::{fathom, json, tempdir, texts};
use std::fs;
use std::path::{Path, PathBuf};

/// A line of `digests.csv`.
#[derive(serde::Deserialize)]
struct Golden {
    name: String,
    words: String,
    depth: Option<u32>,
    digest: String,
    states: u64,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn plans() -> PathBuf {
    root().join("tests/data/plans")
}

fn golden() -> Vec<Golden> {
    let mut reader = csv::Reader::from_path(plans().join("digests.csv")).unwrap();
    reader.deserialize().map(Result::unwrap).collect()
}

#[test]
fn runs_with_recorded_plans_keep_their_digests() {
    let cases = golden();
    let mut kinds = Vec::new();
    for Golden { name, words, depth, digest, states } in &cases {
        let plan = plans().join(format!("{name}.toml"));
        let text = fs::read_to_string(&plan).unwrap();
        let lines = text.lines().filter_map(|line| line.strip_prefix("kind = "));
        kinds.extend(lines.map(str::to_owned));
        let directory = tempdir().unwrap();
        let run = directory.path().join("run");
        let mut command = fathom();
        command.current_dir(root()).arg("run").args(words.split(' ')).args([
            "-q",
            "--json",
            "--threads",
            "2",
        ]);
        command.arg("--plan").arg(&plan).arg("--dir").arg(&run);
        command.args(depth.iter().flat_map(|depth| ["--max-depth".to_owned(), depth.to_string()]));
        let found = json(&command.output().unwrap());
        assert_eq!(found["digest"], **digest, "{name}");
        let counts = found["counts"].as_array().unwrap();
        assert_eq!(counts.iter().map(|count| count.as_u64().unwrap()).sum::<u64>(), *states, "{name}");
        let run_toml = fs::read_to_string(run.join("run.toml")).unwrap();
        let recorded = |text: &str| text[text.find("[plan]").unwrap()..].to_owned();
        assert_eq!(recorded(&run_toml), recorded(&text), "{name}");
    }
    for kind in ["half-turn", "facelets", "base", "rings", "free-moves"] {
        assert!(kinds.contains(&format!("{kind:?}")), "no plan has the reduction {kind}");
    }
}

/// Plans that are no longer chosen, because another one is better.
const EARLIER: [&str; 2] = ["alike", "skewb"];

/// The planner chooses as before. A change that improves a plan adds the name of the earlier one to
/// [`EARLIER`], and keeps that plan.
#[test]
fn planner_chooses_the_recorded_plans() {
    for Golden { name, words, .. } in golden().into_iter().filter(|of| !EARLIER.contains(&&*of.name)) {
        let directory = tempdir().unwrap();
        let plan = directory.path().join("plan.toml");
        let mut command = fathom();
        command.current_dir(root()).arg("plan").args(words.split(' ')).arg("--output").arg(&plan);
        let (_, err) = texts(&command.output().unwrap());
        let made = fs::read_to_string(&plan).unwrap_or_else(|_| panic!("{name}: {err}"));
        // The version of the program that wrote it is not part of the plan.
        let plan = |text: &str| text[text.find("[puzzle]").unwrap()..].to_owned();
        let recorded = fs::read_to_string(plans().join(format!("{name}.toml"))).unwrap();
        assert_eq!(plan(&made), plan(&recorded), "{name}");
    }
}

/// Returns the exit code and standard error of `fathom` in a directory; it prints nothing to standard output.
fn said(at: &Path, arguments: &[&str]) -> (Option<i32>, String) {
    let output = fathom().args(arguments).current_dir(at).output().unwrap();
    let (out, err) = texts(&output);
    assert_eq!(out, "", "{arguments:?}");
    assert_eq!(err.lines().count(), 1, "{err}");
    (output.status.code(), err)
}

#[test]
fn plans_that_do_not_fit_are_refused() {
    let directory = tempdir().unwrap();
    let at = directory.path();
    assert!(
        fathom().args(["plan", "2x4", "-o", "plan.toml"]).current_dir(at).output().unwrap().status.success()
    );
    let text = fs::read_to_string(at.join("plan.toml")).unwrap();
    let refused = |name: &str, text: &str, words: &[&str], expected: &str| {
        fs::write(at.join(name), text).unwrap();
        let arguments = [&["run"], words, &["--plan", name, "--dir", "run"]].concat();
        let (code, err) = said(at, &arguments);
        assert!(code == Some(2) && err.contains(expected), "{name}: {code:?} {err}");
        assert!(!at.join("run").exists(), "{name}");
    };
    refused("other.toml", &text, &["3x4"], "the plan is for 2x4 multi, not for 3x4 multi");
    refused("metric.toml", &text, &["2x4", "--metric", "single"], "not for 2x4 single");
    refused("colours.toml", &text.replacen("colouring = [0", "colouring = [1", 1), &["2x4"], "it was edited");
    let symmetry = text.replacen("\"0 1 2 3 4 5 6 7\"", "\"1 0 2 3 4 5 6 7\"", 1);
    assert_ne!(symmetry, text);
    refused("symmetry.toml", &symmetry, &["2x4"], "symmetry 1 of the plan is not a symmetry of 2x4");
    let newer = text.replacen("format = 1", "format = 2", 1);
    refused("newer.toml", &newer, &["2x4"], "it has format 2, but this version of Fathom reads format 1");
    refused("none.toml", "x = 1\n", &["2x4"], "cannot use the plan none.toml");
    // A plan is never overwritten.
    let (code, err) = said(at, &["plan", "2x4", "-o", "plan.toml"]);
    assert!(code == Some(2) && err.contains("plan.toml already exists"), "{err}");
    // A run keeps the plan with which it started.
    let succeeds = |arguments: &[&str]| {
        assert!(fathom().args(arguments).current_dir(at).output().unwrap().status.success(), "{arguments:?}");
    };
    succeeds(&["run", "2x4", "-q", "--dir", "run", "--plan", "plan.toml"]);
    let text = fs::read_to_string(at.join("run/run.toml")).unwrap();
    succeeds(&["plan", "2x4", "--metric", "single", "-o", "single.toml"]);
    let (code, err) = said(at, &["run", "2x4", "-q", "--dir", "run", "--plan", "single.toml"]);
    assert!(code == Some(2) && err.contains("started with a different plan"), "{err}");
    assert_eq!(fs::read_to_string(at.join("run/run.toml")).unwrap(), text);
}

#[test]
fn runs_from_before_version_1_are_refused() {
    let directory = tempdir().unwrap();
    let run = directory.path().join("run");
    fs::create_dir(&run).unwrap();
    let old = "format = 3\nwritten_by = \"fathom 0.2.0-dev\"\nspace = \"2x3\"\nmetric = \"multi\"\ncolouring = [0]\n";
    fs::write(run.join("run.toml"), old).unwrap();
    for command in ["resume", "verify", "status", "report"] {
        let (code, err) = said(directory.path(), &[command, "run"]);
        assert!(
            code == Some(2) && err.contains("written by a version before 1.0.0"),
            "{command}: {code:?} {err}"
        );
    }
    assert_eq!(fs::read_dir(&run).unwrap().count(), 1);
}
