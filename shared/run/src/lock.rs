//! Who works on a run's directory: one process that decides, or any number that do tasks.
//!
//! A lock is held until its file is closed, by whatever end of the process.

use anyhow::{Context, Result};
use fathom_command::bad_input;
use std::fs::{File, TryLockError};
use std::path::Path;

/// The name of the file that is locked.
pub const LOCK: &str = "lock";

/// The lock of the one process that decides which layers are finished.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if another process works on the run.
pub fn exclusive(run: &Path) -> Result<File> {
    take(run, File::try_lock)
}

/// The lock of a process that does tasks, which others may do as well.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if a process decides on the run.
pub fn shared(run: &Path) -> Result<File> {
    take(run, File::try_lock_shared)
}

fn take(run: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<File> {
    let path = run.join(LOCK);
    // Reading and writing, for over NFS a shared lock needs the one and an exclusive lock the other.
    let file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .with_context(|| format!("cannot open {}", path.display()))?;
    match lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(bad_input!(
            "another process is working on this run (it holds {}): wait for it or stop it",
            path.display()
        )),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock {}", path.display()))
        }
    }
}
