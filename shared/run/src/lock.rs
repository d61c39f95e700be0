//! Who works on a run's directory: one process that decides, or any number that do tasks.
//!
//! A lock is held until its file is closed, by whatever end of the process.

use crate::RunError;
use std::fs::{File, TryLockError};
use std::path::Path;

/// The name of the file that is locked.
pub const LOCK: &str = "lock";

/// The lock of the one process that decides which layers are finished.
///
/// # Errors
/// [`RunError::Busy`] if another process works on the run.
pub fn exclusive(run: &Path) -> Result<File, RunError> {
    take(run, File::try_lock)
}

/// The lock of a process that does tasks, which others may do as well.
///
/// # Errors
/// [`RunError::Busy`] if a process decides on the run.
pub fn shared(run: &Path) -> Result<File, RunError> {
    take(run, File::try_lock_shared)
}

fn take(run: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<File, RunError> {
    let path = run.join(LOCK);
    // Reading and writing, for over NFS a shared lock needs the one and an exclusive lock the other.
    let file = File::options()
        .create(true)
        .truncate(false)
        .read(true)
        .write(true)
        .open(&path)
        .map_err(|source| RunError::Io { action: "open", path: path.clone(), source })?;
    match lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RunError::Busy { path }),
        Err(TryLockError::Error(source)) => Err(RunError::Io { action: "lock", path, source }),
    }
}
