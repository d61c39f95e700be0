//! The planted faults of `tests/planted.sh` still apply to the code, and the tests that must find them exist:
//! a change to the code around a fault, or a renamed test, must update the fault.

use std::fs;
use std::path::Path;
use std::process::Command;

#[test]
fn planted_faults_still_apply() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    if Command::new("git").arg("--version").output().is_err() {
        assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "git is not installed");
        eprintln!("skipped: git is not installed");
        return;
    }
    let mut faults = 0;
    for entry in fs::read_dir(root.join("tests/planted")).unwrap() {
        let patch = entry.unwrap().path();
        let text = fs::read_to_string(&patch).unwrap();
        assert!(text.starts_with("Test: -p fathom-"), "{}", patch.display());
        let test = text.lines().next().unwrap().trim_end_matches("::").rsplit([' ', ':']).next().unwrap();
        let found = Command::new("git")
            .args(["grep", "--no-index", "--quiet", "-E", &format!(r"^ *(async )?(fn|mod) {test}\b")])
            .args(["shared", "proto", "worker", "coordinator", "cli", "tests"])
            .current_dir(root)
            .status()
            .unwrap();
        assert!(found.success(), "{}: there is no test {test:?}", patch.display());
        let output = Command::new("git")
            .args(["apply", "--check", "-C1"])
            .arg(&patch)
            .current_dir(root)
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {}", patch.display(), String::from_utf8_lossy(&output.stderr));
        faults += 1;
    }
    assert!(faults >= 20, "{faults} faults");
}
