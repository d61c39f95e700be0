//! Opens only regular files.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a file for reading. Anything else at the path is refused: opening a named pipe would wait for a
/// writer, and a device may have no end.
///
/// # Errors
/// The error of the operating system, or an error if the path is not a regular file.
pub fn open_regular(path: &Path) -> io::Result<(File, Metadata)> {
    let nonblocking = rustix::fs::OFlags::NONBLOCK.bits() as i32;
    let file = OpenOptions::new().read(true).custom_flags(nonblocking).open(path)?;
    let is = file.metadata()?;
    match is.is_file() {
        true => Ok((file, is)),
        false => Err(io::Error::other("not a regular file")),
    }
}
