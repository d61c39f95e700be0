//! Results on standard output, and remarks and warnings on standard error.

use anyhow::{Context, Result};
use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether remarks are omitted.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Omits remarks, for a program that was asked to print only errors and warnings.
pub fn leave_out_remarks() {
    QUIET.store(true, Ordering::Relaxed);
}

/// Returns whether remarks are omitted.
pub(crate) fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

/// Writes a line on standard error about how the input was interpreted.
pub fn remark(text: &str) {
    if !is_quiet() {
        crate::terminal_line::tell(&format!("note: {text}"));
    }
}

/// Writes a line on standard error about a result that may be wrong, or about something that was not done,
/// even if remarks are omitted.
pub fn warning(text: &str) {
    crate::terminal_line::tell(&format!("warning: {text}"));
}

/// Writes a result and a line end. A pipe that the reader has closed is not an error.
///
/// # Errors
/// If standard output cannot be written, such as a file on a full disk.
pub fn line(text: &str) -> Result<()> {
    crate::terminal_line::clear();
    let mut out = std::io::stdout().lock();
    written(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Converts the outcome of writing a result: a pipe that the reader has closed is not an error.
///
/// # Errors
/// As [`line()`].
pub fn written(result: io::Result<()>) -> Result<()> {
    match result {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result to standard output")
        }
        _ => Ok(()),
    }
}
