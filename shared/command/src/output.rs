//! Results on standard output.

use anyhow::{Context, Result};
use std::io::{ErrorKind, Write};

/// Writes a result and a line end. A reader that has gone away wants no more, and is no error.
///
/// # Errors
/// If standard output cannot be written, such as a file on a full disk.
pub fn line(text: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{text}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write the result to standard output")
        }
        _ => Ok(()),
    }
}
