//! Shows what a process is doing when that takes longer than a second.

use crate::{output, terminal_line};
use std::io::IsTerminal;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

/// The time after which a terminal shows what the process is doing.
const SOON: Duration = Duration::from_secs(1);
/// The time after which a line is written elsewhere, such as to a log, which nobody watches.
const LATER: Duration = Duration::from_secs(10);

/// An activity of this process, which lasts until the value is dropped.
#[derive(Debug)]
pub struct Doing {
    over: Option<Sender<()>>,
    teller: Option<JoinHandle<()>>,
}

/// Announces an activity, such as `planning 4x4`, until the returned value is dropped. A line on standard
/// error shows it after a second on a terminal, and after ten seconds elsewhere. On a terminal, the line is
/// erased at the end.
pub fn doing(what: &str) -> Doing {
    let none = Doing { over: None, teller: None };
    if output::is_quiet() {
        return none;
    }
    let text = format!("{what} …");
    let (over, is_over) = channel::<()>();
    let teller = std::thread::Builder::new().name("doing".into()).spawn(move || {
        let soon = if std::io::stderr().is_terminal() { SOON } else { LATER };
        if is_over.recv_timeout(soon) == Err(RecvTimeoutError::Timeout) {
            show(&text);
        }
    });
    // If no thread can be spawned, nothing is announced.
    teller.map_or(none, |teller| Doing { over: Some(over), teller: Some(teller) })
}

fn show(text: &str) {
    match std::io::stderr().is_terminal() {
        true => terminal_line::show(text),
        false => terminal_line::tell(text),
    }
}

impl Drop for Doing {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(teller) = self.teller.take() {
            // The thread only writes, so it does not panic. If it did, there would be no line to erase.
            let _ = teller.join();
            terminal_line::clear();
        }
    }
}
