//! Processes on this machine, their signals and their ports.
//!
//! No test depends on how long something takes: it waits until a condition holds, or for [`PATIENCE`] at
//! most.

use crate::texts;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The time limit for anything that a test waits for.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// The time between two checks of a condition that a test waits for.
pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// Waits until a condition holds.
///
/// # Panics
/// If the condition does not hold within [`PATIENCE`].
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        sleep(POLL_INTERVAL);
    }
}

/// Sends a signal.
///
/// # Panics
/// If there is no such process.
pub fn signal(process: &Child, number: i32) {
    let (number, id) = (format!("-{number}"), process.id().to_string());
    assert!(Command::new("kill").args([number, id]).status().expect("kill starts").success());
}

/// Waits until all threads of a process are stopped: a thread that writes to a disk finishes the write first.
///
/// # Panics
/// If they do not stop within [`PATIENCE`].
pub fn until_stopped(process: &Child) {
    let is_stopped = |thread: PathBuf| {
        let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
        // In `stat`, the state follows the name, which stands in parentheses.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    until("the process has stopped", || {
        let threads = fs::read_dir(format!("/proc/{}/task", process.id()));
        threads.is_ok_and(|mut threads| threads.all(|thread| thread.is_ok_and(|t| is_stopped(t.path()))))
    });
}

/// Returns a free port that the system gives to nobody unasked, and that no other process of tests uses, so
/// that the port stays free while nobody listens.
///
/// # Panics
/// If twenty other processes of tests run.
pub fn free_port() -> u16 {
    const PORTS: u16 = 1_000;
    static TRIED: AtomicU16 = AtomicU16::new(0);
    /// The first of this process's ports, and the lock that keeps other processes off them.
    static OURS: LazyLock<(u16, File)> = LazyLock::new(|| {
        let ours = |first: u16| {
            let lock = File::create(std::env::temp_dir().join(format!("fathom-tests-{first}.lock"))).ok()?;
            lock.try_lock().ok().map(|()| (first, lock))
        };
        (10..30).find_map(|thousands| ours(thousands * PORTS)).expect("ports that no other tests use")
    });
    loop {
        let port = OURS.0 + TRIED.fetch_add(1, Ordering::Relaxed) % PORTS;
        if TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}

/// Starts a command, and waits until the command has said a word on standard error. What the command says
/// after that can be read from the result.
///
/// # Panics
/// If it cannot be started, or ends before.
pub fn started_until(command: &mut Command, word: &str) -> (Child, BufReader<ChildStderr>) {
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut err = BufReader::new(process.stderr.take().expect("it is a pipe"));
    let mut line = String::new();
    while !line.contains(word) {
        line.clear();
        assert!(err.read_line(&mut line).expect("text") > 0, "it ended before it said {word:?}");
    }
    (process, err)
}

/// Returns the same command behind another one.
pub fn prefixed(prefix: &[String], command: &Command) -> Command {
    let Some((first, rest)) = prefix.split_first() else {
        let mut same = Command::new(command.get_program());
        same.args(command.get_args());
        return same;
    };
    let mut behind = Command::new(first);
    behind.args(rest).arg(command.get_program()).args(command.get_args());
    behind
}

/// Starts a process. Its output goes to a new file `PATH.out`; its errors are appended to `PATH.err`, after
/// those of earlier processes.
pub(crate) fn start(command: &mut Command, path: &Path) -> Child {
    let out = File::create(path.with_extension("out")).expect("a file for output");
    let err = File::options().create(true).append(true).open(path.with_extension("err"));
    command.stdin(Stdio::null()).stdout(out).stderr(err.expect("a file for errors"));
    command.spawn().unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Asserts that a command succeeded, and returns what it printed.
///
/// # Panics
/// If the command failed.
pub fn well(output: &Output) -> String {
    let (out, err) = texts(output);
    assert!(output.status.success(), "{err}");
    out
}
