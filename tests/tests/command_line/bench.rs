//! `fathom bench`, as a real process.

use fathom_tests::{fathom, json, texts};
use serde_json::{Value, json as value};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

#[test]
fn everything_is_measured_and_nothing_remains() {
    let directory = tempfile::tempdir().unwrap();
    let output =
        fathom().args(["bench", "--repeat", "1", "--json", "--dir"]).arg(directory.path()).output().unwrap();
    let told = json(&output);
    let list = |name: &str| told[name].as_array().unwrap().clone();
    let all = |list: &[Value], field: &str| list.iter().map(|one| one[field].clone()).collect::<Vec<_>>();
    let is_rate = |rate: &Value| rate.as_f64().is_some_and(|rate| rate.is_finite() && rate > 0.0);
    let (pulls, rates, searches) = (list("pulls"), list("rates"), list("searches"));
    assert!(all(&pulls, "kernel").contains(&value!("portable")));
    assert!(all(&pulls, "state_moves_per_second").iter().all(is_rate), "{pulls:?}");
    assert_eq!(rates.len(), 8, "{rates:?}");
    assert!(all(&rates, "bytes_per_second").iter().all(is_rate), "{rates:?}");
    // Orders of the groups: 9! / 2, 10!, 12!.
    assert_eq!(
        value!(all(&searches, "states")),
        value!([181_440, 3_628_800, 479_001_600, 479_001_600, 479_001_600])
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

fn against(other: &Path, more: &[&str]) -> Output {
    fathom().args(["bench", "--against"]).arg(other).args(more).output().unwrap()
}

#[test]
fn two_builds_run_in_turn() {
    let directory = tempfile::tempdir().unwrap();
    // Another program, which records that it was started.
    let (other, noted) = (directory.path().join("other"), directory.path().join("noted"));
    let this = fathom();
    let program = this.get_program().to_str().unwrap();
    write_program(&other, &format!("echo \"$@\" >> {}; exec {program} \"$@\"", noted.display()));
    let output = against(&other, &["--repeat", "4", "--json", "--", "3x3", "--max-depth", "3"]);
    let told = json(&output);
    let [run] = &told["runs"].as_array().unwrap()[..] else { panic!("{told}") };
    assert_eq!((&run["run"], &run["same_digest"]), (&value!("3x3 --max-depth 3"), &value!(true)));
    let number = |key: &str| run[key].as_f64().unwrap();
    assert!(number("ratio_low") <= number("ratio") && number("ratio") <= number("ratio_high"), "{run}");
    assert!(number("seconds") > 0.0 && number("against_seconds") > 0.0, "{run}");
    let noted = fs::read_to_string(noted).unwrap();
    assert_eq!(noted.lines().filter(|line| line.starts_with("run 3x3 --max-depth 3 --json")).count(), 4);
}

#[test]
fn failing_or_disagreeing_builds_are_not_compared() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("other");
    let missing = against(&other, &["--", "3x3"]);
    assert_eq!(missing.status.code(), Some(2));
    assert!(texts(&missing).1.contains("cannot start"), "{}", texts(&missing).1);
    write_program(&other, "echo no such puzzle >&2; exit 2");
    let failed = against(&other, &["--", "3x3"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(texts(&failed).1.contains("no such puzzle"), "{}", texts(&failed).1);
    write_program(&other, r#"echo '{"counts": [1, 13], "digest": "00"}'"#);
    let disagrees = against(&other, &["--repeat", "1", "--", "3x3", "--max-depth", "1"]);
    assert_eq!(disagrees.status.code(), Some(1));
    assert!(texts(&disagrees).1.contains("the builds disagree about 3x3"), "{}", texts(&disagrees).1);
    // Without another build there is nothing to compare a run with.
    let alone = fathom().args(["bench", "--", "3x3"]).output().unwrap();
    assert_eq!(alone.status.code(), Some(2));
}

fn write_program(path: &Path, commands: &str) {
    fs::write(path, format!("#!/bin/sh\n{commands}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
