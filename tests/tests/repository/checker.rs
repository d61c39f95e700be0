//! The independent checker of `records/checker` agrees with small runs of every kind, and finds planted faults.

use fathom_tests::docs::root;
use fathom_tests::fathom;
use std::process::Command;

#[test]
fn independent_checker_agrees_with_small_runs_and_finds_planted_faults() {
    let has_numpy = |python: &&str| {
        let output = Command::new(python).args(["-c", "import numpy, tomllib"]).output();
        output.is_ok_and(|output| output.status.success())
    };
    let Some(python) = ["python3", "/usr/bin/python3"].into_iter().find(has_numpy) else {
        let missing = "Python 3.11 or later, or numpy, is not installed";
        assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "{missing}");
        eprintln!("skipped: {missing}");
        return;
    };
    let output = Command::new(python)
        .arg(root().join("records/checker/test.py"))
        .arg(fathom().get_program())
        .output()
        .unwrap();
    let [shown, errors] = [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes));
    assert!(output.status.success(), "{shown}\n{errors}");
}
