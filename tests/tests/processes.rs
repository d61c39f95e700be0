//! The real command, killed, stopped, run twice and out of room.

use fathom_tests::{assert_same, fathom, json, texts};
use serde_json::Value;
use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// 12! states in 15 layers: long enough to be hit anywhere, short enough to be hit often.
const SPACE: &str = "2x6";

fn run(path: &Path) -> Command {
    let mut command = fathom();
    // Each depth is durable before the next begins, so that kills find runs of all depths.
    command.args(["run", SPACE, "--json", "-q", "--threads", "2", "--sync-after", "0s", "--dir"]).arg(path);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn resume(path: &Path) -> Command {
    let mut command = fathom();
    command.args(["resume", "--json", "-q", "--sync-after", "0s"]).arg(path);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn undisturbed() -> Value {
    let directory = tempfile::tempdir().unwrap();
    let found = json(&run(&directory.path().join("run")).output().unwrap());
    assert_eq!(
        found["counts"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).sum::<u64>(),
        479_001_600
    );
    found
}

/// Waits until the run has begun a layer; false if it ended before.
fn wait_for_depth(path: &Path, depth: u32, child: &mut Child) -> bool {
    let layer = path.join(format!("layers/d{depth:03}"));
    let begun = Instant::now();
    while !layer.exists() {
        if child.try_wait().unwrap().is_some() {
            return false;
        }
        assert!(begun.elapsed() < Duration::from_secs(120), "depth {depth} never began");
        sleep(Duration::from_micros(200));
    }
    true
}

/// The layers that a run has committed.
fn committed(path: &Path) -> usize {
    let output = fathom().arg("status").arg(path).arg("--json").output().unwrap();
    match output.status.code() {
        Some(0) => json(&output)["counts"].as_array().unwrap().len(),
        // Killed before the directory was made.
        code => {
            assert_eq!(code, Some(2), "{}", texts(&output).1);
            0
        }
    }
}

#[test]
fn killed_anywhere_and_resumed() {
    let expected = undisturbed();
    let mut depths = BTreeSet::new();
    let mut kills = 0;
    for (depth, pause) in (0..14).flat_map(|depth| [0, 2, 6].map(|pause| (depth, pause))) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let mut child = run(&path).spawn().unwrap();
        wait_for_depth(&path, depth, &mut child);
        sleep(Duration::from_millis(pause));
        child.kill().unwrap();
        if child.wait().unwrap().signal() != Some(libc::SIGKILL) {
            continue;
        }
        kills += 1;
        depths.insert(committed(&path));
        // Whatever the moment was, `run` goes on or begins, and `verify` finds nothing wrong after it.
        assert_same(&json(&run(&path).output().unwrap()), &expected);
        let verified = fathom().arg("verify").arg(&path).output().unwrap();
        assert!(verified.status.success(), "{}", texts(&verified).1);
    }
    assert!(kills >= 20, "only {kills} kills came in time");
    assert!(depths.len() >= 8, "kills hit only after {depths:?} layers");
}

#[test]
fn killed_again_and_again() {
    let expected = undisturbed();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let mut child = run(&path).spawn().unwrap();
    let mut kills = 0;
    for depth in 0..14 {
        if !wait_for_depth(&path, depth, &mut child) {
            break;
        }
        child.kill().unwrap();
        kills += u32::from(child.wait().unwrap().signal() == Some(libc::SIGKILL));
        child = resume(&path).spawn().unwrap();
    }
    assert_same(&json(&child.wait_with_output().unwrap()), &expected);
    assert!(kills >= 8, "only {kills} kills came in time");
}

#[test]
fn a_signal_stops_it_in_order() {
    let expected = undisturbed();
    for signal in [libc::SIGTERM, libc::SIGINT] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        let mut child = run(&path).spawn().unwrap();
        assert!(wait_for_depth(&path, 8, &mut child));
        let sent =
            Command::new("kill").arg(format!("-{signal}")).arg(child.id().to_string()).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128 + signal));
        let (out, err) = texts(&output);
        assert_eq!(out, "");
        assert!(err.contains(&format!("stopped; go on with 'fathom resume {}'", path.display())), "{err}");
        assert_same(&json(&resume(&path).output().unwrap()), &expected);
    }
}

#[test]
fn a_second_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    // Minutes of work, so that it is there all the time.
    let mut first = fathom();
    first.args(["run", "3x5", "-q", "--dir"]).arg(&path).stdout(Stdio::null()).stderr(Stdio::null());
    let mut first = first.spawn().unwrap();
    // Depth 0 is committed when depth 1 begins, so that there is something to verify.
    assert!(wait_for_depth(&path, 1, &mut first));
    for command in ["resume", "verify"] {
        let output = fathom().arg(command).arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(texts(&output).1.contains("another process is working on this run"), "{:?}", texts(&output));
    }
    let output = fathom().args(["run", "3x5", "--dir"]).arg(&path).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    // Readers are welcome.
    assert!(fathom().arg("status").arg(&path).output().unwrap().status.success());
    assert!(first.try_wait().unwrap().is_none(), "the first process goes on");
    first.kill().unwrap();
    first.wait().unwrap();
    // A lock does not outlive its process.
    assert!(fathom().arg("verify").arg(&path).output().unwrap().status.success());
}

/// A file system of its own that really runs full: a tmpfs in a mount namespace. As root, or where users may make
/// namespaces; elsewhere the test says that it did nothing, unless `FATHOM_TEST_ALL` asks for it.
#[test]
fn a_full_file_system() {
    let namespace = |script: &str| {
        let root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
        let flags: &[&str] = if root { &["-m"] } else { &["-r", "-m"] };
        Command::new("unshare").args(flags).args(["sh", "-ec", script]).output()
    };
    let directory = tempfile::tempdir().unwrap();
    let mount = directory.path().display();
    let possible = namespace(&format!("mount -t tmpfs -o size=64k none {mount}"));
    if !possible.is_ok_and(|output| output.status.success()) {
        assert!(std::env::var_os("FATHOM_TEST_ALL").is_none(), "a tmpfs cannot be mounted here");
        eprintln!("skipped: a tmpfs cannot be mounted here");
        return;
    }
    let fathom_path = fathom().get_program().to_string_lossy().into_owned();
    // First a layer that is a guess, and is begun; then one that will be dense for certain, and is not.
    let output = namespace(&format!(
        "mount -t tmpfs -o size=24m none {mount}
         fill() {{
             free=$(df --output=avail -k {mount} | tail -n 1)
             head -c $((free - $1))k /dev/zero > {mount}/filler
         }}
         {fathom_path} run {SPACE} -q --json --max-depth 5 --dir {mount}/run >/dev/null
         fill 250
         set +e
         {fathom_path} resume {mount}/run -q --json
         echo code $?
         rm {mount}/filler
         {fathom_path} resume {mount}/run -q --json --max-depth 7 >/dev/null
         fill 1500
         {fathom_path} resume {mount}/run -q --json
         echo code $?
         {fathom_path} status {mount}/run --json
         rm {mount}/filler
         {fathom_path} resume {mount}/run -q --json"
    ))
    .unwrap();
    let (out, err) = texts(&output);
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines[..2], ["code 1", "code 1"], "{out} {err}");
    let messages: Vec<&str> = err.lines().filter(|line| line.starts_with("error")).collect();
    assert!(messages[0].contains("the disk is full at depth"), "{err}");
    assert!(messages[0].contains("make room, then go on with"), "{err}");
    assert!(messages[0].contains("No space left on device"), "{err}");
    assert!(messages[1].contains("depth 8 will need about"), "{err}");
    assert!(messages[1].contains("bytes too few; make room, then go on with"), "{err}");
    let half: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(half["complete"], false);
    let whole: Value = serde_json::from_str(lines[3]).unwrap();
    assert_same(&whole, &undisturbed());
}
