//! Lines of a file or of standard input.

use crate::bad_input;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// Opens a file, or standard input if it is named `-`. At most `bytes` are read at once.
///
/// # Errors
/// [`BadInput`](crate::exit::BadInput) if the file cannot be opened.
pub fn input(file: &str, bytes: usize) -> Result<Box<dyn BufRead>> {
    if file == "-" {
        return Ok(Box::new(BufReader::with_capacity(bytes, io::stdin())));
    }
    let opened = File::open(file).map_err(|error| bad_input!("{file}: cannot be read: {error}"))?;
    Ok(Box::new(BufReader::with_capacity(bytes, opened)))
}

/// Returns the lines of a file, or of standard input if it is named `-`. A line is there as soon as it has arrived.
///
/// # Errors
/// [`BadInput`](crate::exit::BadInput) if the file cannot be opened, and for a line that is not UTF-8 text.
pub fn of(file: &str) -> Result<impl Iterator<Item = Result<String>> + use<>> {
    Ok(input(file, 1 << 16)?.lines().map(|line| match line {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(bad_input!("not UTF-8 text")),
        line => line.context("cannot read the states"),
    }))
}
