//! The lock of a run's directory. It is held by the one process that decides which layers are finished, or by
//! any number of processes that do tasks or read.
//!
//! A lock is held until it is dropped, or until the process ends, however it ends.

use crate::run::RunError;
use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

/// The name of the file that is locked.
pub const LOCK: &str = "lock";

/// A lock that is held. Dropping the lock releases it immediately. Closing the file would not suffice: a
/// child process that another thread has forked also has the file open, until the child executes its program.
#[derive(Debug)]
pub struct Lock(File);

impl Drop for Lock {
    fn drop(&mut self) {
        // The system releases the lock when the last process closes the file.
        let _ = self.0.unlock();
    }
}

/// Takes the lock of the one process that decides which layers are finished.
///
/// # Errors
/// [`RunError::Busy`] if another process holds a lock of the run, [`RunError::Link`] if the file is a link.
pub fn exclusive(run: &Path) -> Result<Lock, RunError> {
    take(run, File::try_lock)
}

/// Takes the lock of a process that does tasks. Several processes may hold it at once.
///
/// # Errors
/// [`RunError::Busy`] if a process holds the exclusive lock.
pub fn shared(run: &Path) -> Result<Lock, RunError> {
    take(run, File::try_lock_shared)
}

/// Takes the lock of a process that only reads, while no process holds the exclusive lock. In a read-only
/// directory without a lock file, the directory itself is locked instead: no other process can create the
/// lock file either.
///
/// # Errors
/// [`RunError::Busy`] if a process holds the exclusive lock.
pub fn reading(run: &Path) -> Result<Lock, RunError> {
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

fn take(run: &Path, lock: impl Fn(&File) -> Result<(), TryLockError>) -> Result<Lock, RunError> {
    let path = run.join(LOCK);
    RunError::refuse_link(path.clone())?;
    // The file is opened for reading and writing, because over NFS a shared lock needs read access and an
    // exclusive lock needs write access.
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
) -> Result<Lock, RunError> {
    match lock(&file) {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::WouldBlock) => Err(RunError::Busy { path }),
        Err(TryLockError::Error(source)) => Err(RunError::Io { action: "lock", path, source }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lock_is_exclusive_or_shared() {
        let run = tempfile::tempdir().unwrap();
        let is_busy = |taken: Result<Lock, RunError>| matches!(taken, Err(RunError::Busy { .. }));
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
    /// A forked child process that has not executed its program yet has all files of this process open.
    #[test]
    fn lock_is_released_despite_forked_child() {
        let run = tempfile::tempdir().unwrap();
        let lock = exclusive(run.path()).unwrap();
        let of_a_child = lock.0.try_clone().unwrap();
        drop(lock);
        exclusive(run.path()).unwrap();
        drop(of_a_child);
    }
}
