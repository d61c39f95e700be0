//! The line at the bottom of a terminal that shows what the process is doing. It is erased before anything
//! else is written, and at the end.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The number of columns that are assumed if a terminal does not report its size.
const COLUMNS: usize = 80;
/// Columns that stay free: a terminal writes `^C` after the line, which must not start another row.
const FREE: usize = 3;

/// The line that is shown on the terminal; empty if there is none.
static SHOWN: Mutex<String> = Mutex::new(String::new());

fn shown() -> MutexGuard<'static, String> {
    // A poisoned lock is not a problem: each change is complete before any code that could panic.
    SHOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the number of columns that a line may take.
pub fn columns() -> usize {
    let size = rustix::termios::tcgetwinsize(io::stderr()).ok().map(|size| usize::from(size.ws_col));
    size.filter(|&columns| columns > 0).unwrap_or(COLUMNS).saturating_sub(FREE).max(1)
}

/// Shows a line in place of the current one. Does nothing if standard error is not a terminal. A line that is
/// too long is truncated.
pub fn show(text: &str) {
    let mut err = io::stderr().lock();
    if err.is_terminal() {
        let mut shown = shown();
        *shown = text.chars().take(columns()).collect();
        write(&mut err, &shown);
    }
}

/// Erases the line.
pub fn clear() {
    let mut err = io::stderr().lock();
    let mut shown = shown();
    if !shown.is_empty() {
        shown.clear();
        write(&mut err, "");
    }
}

/// Erases the line while `other` writes something else on the terminal, and shows the line again below that.
pub fn above<T>(other: impl FnOnce() -> T) -> T {
    let mut err = io::stderr().lock();
    let shown = shown();
    if shown.is_empty() {
        return other();
    }
    write(&mut err, "");
    let result = other();
    write(&mut err, &shown);
    result
}

/// Writes text and a line end on standard error, above the line. If standard error is closed, as that of a
/// connection that broke is, the text is lost, and the process continues.
pub fn tell(text: &str) {
    above(|| {
        let _ = writeln!(io::stderr(), "{text}");
    });
}

fn write(err: &mut impl Write, line: &str) {
    // An error does not matter: this line is not important.
    let _ = write!(err, "\r\x1b[2K{line}").and_then(|()| err.flush());
}
