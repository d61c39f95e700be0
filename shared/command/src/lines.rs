//! Lines of a file or of standard input.

use crate::bad_input;
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, BufRead, BufReader};

/// Returns the lines of a file, or of standard input if it is named `-`. A line is there as soon as it has arrived.
///
/// # Errors
/// [`BadInput`](crate::exit::BadInput) if the file cannot be read, and for a line that is not UTF-8 text.
pub fn of(file: &str) -> Result<impl Iterator<Item = Result<String>> + use<>> {
    let input: Box<dyn BufRead> = match file {
        "-" => Box::new(BufReader::new(io::stdin())),
        file => {
            let opened = File::open(file).map_err(|error| bad_input!("{file}: cannot be read: {error}"))?;
            Box::new(BufReader::new(opened))
        }
    };
    Ok(input.lines().map(|line| match line {
        Err(error) if error.kind() == io::ErrorKind::InvalidData => Err(bad_input!("not UTF-8 text")),
        line => line.context("cannot read the states"),
    }))
}
