//! Who works on a run's directory: one process that decides, or any number that do tasks.
//!
//! A lock is held until its file is closed, by whatever end of the process.

use crate::RunError;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

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

/// The lock of a process that reads alone, while nobody decides on the run. It can be had where nothing can
/// be written: of a lock that cannot be made the directory itself takes the place, for nobody else can make
/// one either.
///
/// # Errors
/// [`RunError::Busy`] if a process decides on the run.
pub fn reading(run: &Path) -> Result<File, RunError> {
    match shared(run) {
        Err(RunError::Io { source, .. }) if is_read_only(&source) => {
            let path = run.join(LOCK);
            let file = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => File::open(run),
                opened => opened,
            };
            let file = file.map_err(|source| RunError::Io { action: "open", path: path.clone(), source })?;
            locked(file, path, File::try_lock_shared)
        }
        taken => taken,
    }
}

fn is_read_only(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ReadOnlyFilesystem | io::ErrorKind::PermissionDenied)
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
    locked(file, path, lock)
}

fn locked(
    file: File,
    path: PathBuf,
    lock: impl Fn(&File) -> Result<(), TryLockError>,
) -> Result<File, RunError> {
    match lock(&file) {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(RunError::Busy { path }),
        Err(TryLockError::Error(source)) => Err(RunError::Io { action: "lock", path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_decides_or_many_do_tasks() {
        let run = tempfile::tempdir().unwrap();
        let is_busy = |taken: Result<File, RunError>| matches!(taken, Err(RunError::Busy { .. }));
        let decides = exclusive(run.path()).unwrap();
        assert!(is_busy(exclusive(run.path())));
        assert!(is_busy(shared(run.path())));
        assert!(is_busy(reading(run.path())));
        drop(decides);
        let (works, reads) = (shared(run.path()).unwrap(), reading(run.path()).unwrap());
        let _works_too = shared(run.path()).unwrap();
        assert!(is_busy(exclusive(run.path())));
        drop((works, reads));
        assert!(is_busy(exclusive(run.path())), "one still works");
    }
}
