//! Processes on this machine, their signals and their ports.
//!
//! No test depends on how long something takes: it waits until a condition holds, up to [`PATIENCE`].

use crate::texts;
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Output, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tokio::net::TcpSocket;

/// The time limit for every wait of a test.
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
/// If the process does not exist.
pub fn signal(process: &Child, number: i32) {
    let (number, id) = (format!("-{number}"), process.id().to_string());
    assert!(Command::new("kill").args([number, id]).status().expect("kill starts").success());
}

/// Waits until all threads of a process are stopped: a thread that writes to a disk completes the write
/// first.
///
/// # Panics
/// If the threads do not stop within [`PATIENCE`].
pub fn until_stopped(process: &Child) {
    let is_stopped = |thread: PathBuf| {
        let stat = fs::read_to_string(thread.join("stat")).unwrap_or_default();
        // In `stat`, the state follows the name, which is in parentheses.
        stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with('T'))
    };
    until("the process has stopped", || {
        let threads = fs::read_dir(format!("/proc/{}/task", process.id()));
        threads.is_ok_and(|mut threads| threads.all(|thread| thread.is_ok_and(|t| is_stopped(t.path()))))
    });
}

/// Returns a free port, and reserves it until this process exits, so that the system gives it to no other
/// process while no server listens. The socket that reserves the port is bound and does not listen. Servers
/// that request the port by its number can listen if they set `SO_REUSEADDR`, as those of tokio, the standard
/// library, Slurm and Chromium do.
///
/// # Panics
/// If no port is free.
pub fn free_port() -> u16 {
    static HELD: Mutex<Vec<TcpSocket>> = Mutex::new(Vec::new());
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_reuseaddr(true).expect("sockets have the option");
    socket.bind((Ipv4Addr::UNSPECIFIED, 0).into()).expect("a free port");
    let port = socket.local_addr().expect("a bound socket has an address").port();
    HELD.lock().unwrap_or_else(PoisonError::into_inner).push(socket);
    port
}

/// Starts a command, and waits until the command has written a word to standard error. What the command
/// writes after that can be read from the result.
///
/// # Panics
/// If the command cannot be started, or exits before.
pub fn started_until(command: &mut Command, word: &str) -> (Child, BufReader<ChildStderr>) {
    let mut process = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut err = BufReader::new(process.stderr.take().expect("it is a pipe"));
    let mut line = String::new();
    while !line.contains(word) {
        line.clear();
        assert!(err.read_line(&mut line).expect("text") > 0, "it exited before it printed {word:?}");
    }
    (process, err)
}

/// Returns the same command behind a prefix.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn reserved_port_is_only_for_servers() {
        let port = free_port();
        let address = (Ipv4Addr::LOCALHOST, port);
        for _ in 0..2 {
            assert!(TcpStream::connect(address).is_err(), "nobody listens");
            let listener = TcpListener::bind(address).unwrap();
            let _client = TcpStream::connect(address).unwrap();
            // The server closes first, and leaves a connection in TIME-WAIT.
            drop(listener.accept().unwrap());
        }
        // The system never assigns a port that it would refuse here.
        assert!(TcpSocket::new_v4().unwrap().bind(address.into()).is_err());
    }
}
