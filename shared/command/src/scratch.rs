//! Temporary directories that are removed when this process ends, even if a signal ends it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::TempDir;

/// The temporary directories of this process.
static MADE: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
/// The maximum number of attempts to remove a directory in which another thread creates files.
const MAX_ATTEMPTS: u32 = 100;

/// A temporary directory. It is removed with its contents when the value is dropped, and when a signal ends
/// the process.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    directory: Option<TempDir>,
}

impl Scratch {
    /// Creates a directory in `root`, whose name begins with `prefix`.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn new_in(root: &Path, prefix: &str) -> io::Result<Self> {
        let mut made = made();
        let directory = tempfile::Builder::new().prefix(prefix).tempdir_in(root)?;
        let path = directory.path().to_owned();
        made.insert(path.clone());
        Ok(Self { path, directory: Some(directory) })
    }

    /// Creates a directory in the user's directory for temporary files.
    ///
    /// # Errors
    /// The error of the operating system.
    pub fn new() -> io::Result<Self> {
        Self::new_in(&std::env::temp_dir(), "fathom-")
    }

    /// Returns the path of the directory.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut made = made();
        drop(self.directory.take());
        made.remove(&self.path);
    }
}

/// Removes all temporary directories of this process, which ends now. A thread that drops a [`Scratch`]
/// afterwards waits until the process has ended.
pub(crate) fn remove_all() {
    let made = made();
    for directory in &*made {
        // Other threads may still create files there.
        let _ = (0..MAX_ATTEMPTS).find(|_| {
            let removed = fs::remove_dir_all(directory);
            removed.is_ok() || removed.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
        });
    }
    std::mem::forget(made);
}

fn made() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}
