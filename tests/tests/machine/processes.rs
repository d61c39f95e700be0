//! The real command: killed, stopped, started twice, and out of disk space.

use fathom_tests::process::{signal, until, until_stopped};
use fathom_tests::{assert_same, fathom, json, texts};
use serde_json::Value;
use std::fs;
use std::io::Read;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

/// 12! states in 15 layers.
const SPACE: &str = "2x6";
const LAYERS: usize = 15;
/// The number of shards of a layer.
const SHARDS: usize = 10;

fn run(path: &Path) -> Command {
    let mut command = fathom();
    command.args(["run", SPACE, "--json", "-q", "--threads", "2"]);
    command.args(["--shards", &SHARDS.to_string(), "--dir"]).arg(path);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn resume(path: &Path) -> Command {
    let mut command = fathom();
    command.args(["resume", "--json", "-q"]).arg(path);
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
    assert_eq!(found["counts"].as_array().unwrap().len(), LAYERS);
    found
}

/// Runs a command that kills itself when it reaches a failpoint for the n-th time. Returns false if the
/// command never reaches it.
fn is_killed(mut command: Command, point: &str, n: usize) -> bool {
    let output = command.env("FATHOM_FAILPOINT", format!("{point}:{n}")).output().unwrap();
    match output.status.signal() {
        Some(libc::SIGKILL) => true,
        _ => {
            assert!(output.status.success(), "{point}:{n}: {}", texts(&output).1);
            false
        }
    }
}

/// Returns the number of layers that a run has committed.
fn committed(path: &Path) -> usize {
    json(&fathom().arg("status").arg(path).arg("--json").output().unwrap())["counts"]
        .as_array()
        .unwrap()
        .len()
}

#[test]
fn killed_anywhere_and_resumed() {
    let expected = undisturbed();
    // Kills a run once within each depth, between different shards, and just before and after some commits.
    let writing = (0..LAYERS).map(|depth| ("writing", depth * SHARDS + 1 + depth % SHARDS, depth));
    let commits = [1, 2, 6, 9, LAYERS];
    let before = commits.map(|n| ("committing", n, n - 1));
    let after = commits.map(|n| ("committed", n, n));
    for (point, n, layers) in writing.chain(before).chain(after) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        assert!(is_killed(run(&path), point, n), "{point} was never reached for the {n}-th time");
        assert_eq!(committed(&path), layers, "{point}:{n}");
        // Wherever the process was killed, `run` continues, and `verify` then finds no fault.
        assert_same(&json(&run(&path).output().unwrap()), &expected);
        let verified = fathom().arg("verify").arg(&path).output().unwrap();
        assert!(verified.status.success(), "{}", texts(&verified).1);
    }
}

/// Each process of the run writes at most fifteen shards, and the other thread one more.
#[test]
fn killed_again_and_again() {
    let expected = undisturbed();
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    assert!(is_killed(run(&path), "writing", 15));
    let mut kills = 1;
    while is_killed(resume(&path), "writing", 15) {
        kills += 1;
        assert!(kills < LAYERS * SHARDS, "the run makes no progress: {} layers", committed(&path));
    }
    assert!(kills >= LAYERS * SHARDS / 16, "only {kills} kills");
    assert_same(&json(&resume(&path).output().unwrap()), &expected);
}

#[test]
fn signal_stops_in_order() {
    let expected = undisturbed();
    for number in [libc::SIGTERM, libc::SIGINT] {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run");
        // In the middle of depth 8.
        let child = run(&path).env("FATHOM_FAILPOINT", "writing:85:stop").spawn().unwrap();
        until_stopped(&child);
        signal(&child, number);
        signal(&child, libc::SIGCONT);
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(128 + number));
        let (out, err) = texts(&output);
        assert_eq!(out, "");
        assert!(err.contains(&format!("stopped; continue with 'fathom resume {}'", path.display())), "{err}");
        assert_same(&json(&resume(&path).output().unwrap()), &expected);
    }
}

/// `timeout` signals a process, and then the process group. This test sends signals of two kinds, because
/// signals of one kind are merged while a process is stopped.
#[test]
fn simultaneous_signals_are_one_request() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    let child = run(&path).env("FATHOM_FAILPOINT", "writing:85:stop").spawn().unwrap();
    until_stopped(&child);
    for number in [libc::SIGTERM, libc::SIGINT, libc::SIGCONT] {
        signal(&child, number);
    }
    let output = child.wait_with_output().unwrap();
    let (_, err) = texts(&output);
    assert!(err.contains("stopped; continue with 'fathom resume"), "{err}");
    let codes = [libc::SIGTERM, libc::SIGINT].map(|number| Some(128 + number));
    assert!(codes.contains(&output.status.code()), "{output:?}");
    assert_same(&json(&resume(&path).output().unwrap()), &undisturbed());
}

#[test]
fn second_process_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run");
    // The first process is running all the time: it is suspended in the middle of depth 1.
    let mut first = run(&path).env("FATHOM_FAILPOINT", "writing:15:stop").spawn().unwrap();
    until_stopped(&first);
    for command in ["resume", "verify"] {
        let output = fathom().arg(command).arg(&path).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(texts(&output).1.contains("another process is working on this run"), "{:?}", texts(&output));
    }
    assert_eq!(run(&path).output().unwrap().status.code(), Some(2));
    // Readers need no lock.
    assert_eq!(committed(&path), 1);
    assert!(first.try_wait().unwrap().is_none(), "the first process is still running");
    first.kill().unwrap();
    first.wait().unwrap();
    // A lock does not outlive its process.
    assert!(fathom().arg("verify").arg(&path).output().unwrap().status.success());
}

/// A separate file system that really fills up: a tmpfs in a mount namespace. Runs as root, or where users
/// may create namespaces; elsewhere the test prints that it was skipped, or fails if `FATHOM_TEST_ALL` is
/// set.
#[test]
fn full_file_system() {
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
    // First a layer whose size is a guess, and which is started; then one that is certainly dense, and is
    // not.
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
    assert!(messages[0].contains("free some space, then continue with"), "{err}");
    assert!(messages[0].contains("No space left on device"), "{err}");
    assert!(messages[1].contains("depth 8 will need about"), "{err}");
    assert!(messages[1].contains("free some space, then continue with"), "{err}");
    let half: Value = serde_json::from_str(lines[2]).unwrap();
    assert_eq!(half["complete"], false);
    let whole: Value = serde_json::from_str(lines[3]).unwrap();
    assert_same(&whole, &undisturbed());
}

/// A broken connection closes standard error. What a command writes there is lost, and nothing else.
#[test]
fn closed_standard_error_ends_no_command() {
    let directory = tempfile::tempdir().unwrap();
    let run = directory.path().join("run");
    let run = run.to_str().unwrap();
    for arguments in [&["run", "3x4", "-v", "--dir", run][..], &["bound", "2x3", "--upper"], &["verify", run]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = fathom().args(arguments).stderr(writer).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
        assert!(!output.stdout.is_empty(), "{arguments:?}");
    }
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = fathom().args(["run", "no/such.toml"]).stderr(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "the code is that of the error");
}

#[test]
fn signal_removes_temporary_files() {
    let directory = fathom_tests::tempdir().unwrap();
    let are_there = || fs::read_dir(directory.path()).unwrap().next().is_some();
    let mut command = fathom();
    command.args(["antipodes", "pancake:12"]).env("TMPDIR", directory.path());
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    until("there are temporary files", are_there);
    signal(&child, libc::SIGINT);
    let mut err = String::new();
    child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
    // On a slow machine an earlier line says what the command is doing.
    assert_eq!((child.wait().unwrap().code(), err.lines().last()), (Some(130), Some("stopped")));
    assert!(!are_there());
}

/// SQLite interprets a name that begins with `file:` as a URI, of another file.
#[test]
fn run_may_have_any_name() {
    let directory = fathom_tests::tempdir().unwrap();
    let fathom = |arguments: &[&str]| {
        let output = fathom().args(arguments).current_dir(directory.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", texts(&output).1);
        texts(&output).0
    };
    fs::create_dir(directory.path().join("foo")).unwrap();
    for name in ["file:foo", "file:foo?mode=ro", "a b\nc", ":memory:"] {
        let table = fathom(&["run", "2x3", "-q", "--dir", name]);
        assert_eq!(fathom(&["run", "2x3", "-q", "--dir", name]), table, "{name}");
        assert!(fathom(&["status", name]).contains("digest"), "{name}");
        fathom(&["verify", name]);
    }
    assert_eq!(fs::read_dir(directory.path().join("foo")).unwrap().count(), 0);
}

/// Opening a named pipe would wait for a writer forever.
#[test]
fn pipe_in_place_of_a_new_shard_is_refused() {
    let directory = fathom_tests::tempdir().unwrap();
    let begin = |dir, depth| {
        let run = ["run", "3x3", "-q", "--shards", "2", "--keep", "all", "--max-depth", depth, "--dir", dir];
        assert!(fathom().args(run).current_dir(directory.path()).output().unwrap().status.success());
    };
    begin("run", "5");
    begin("further", "6");
    let layer = directory.path().join("run/layers/d006");
    fs::create_dir(&layer).unwrap();
    fs::copy(directory.path().join("further/layers/d006/s00000.layer"), layer.join("s00000.layer")).unwrap();
    let pipe = layer.join("s00001.layer");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for arguments in [&["resume", "run", "-q"][..], &["merge", "run", "--depth", "6"]] {
        let output = fathom().args(arguments).current_dir(directory.path()).output().unwrap();
        let err = texts(&output).1;
        assert!(
            output.status.code() == Some(1) && err.contains("not a regular file"),
            "{arguments:?}: {err}"
        );
    }
    fs::remove_file(&pipe).unwrap();
    let resumed = fathom().args(["resume", "run", "-q"]).current_dir(directory.path()).output().unwrap();
    assert!(resumed.status.success(), "{}", texts(&resumed).1);
}
