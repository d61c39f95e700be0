//! Deletion of layers and single files, and of the leftovers of interruptions.

use super::{Store, failed, is_absent, is_layer, is_link, is_temporary, list};
use crate::run::{Depth, Geometry, Task};
use fathom_layer::LayerError;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use tracing::warn;

/// The extension of a file that belongs to another place in the run.
pub(super) const MISPLACED: &str = "misplaced";

/// The leftovers of interruptions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Leftovers {
    /// The layers that should have been removed.
    pub layers: Vec<Depth>,
    /// The files that were never finished.
    pub unfinished: Vec<PathBuf>,
}

impl Leftovers {
    /// Returns whether there is nothing to sweep.
    pub fn is_empty(&self) -> bool {
        self.layers.is_empty() && self.unfinished.is_empty()
    }
}

impl Store<'_> {
    /// Removes the unfinished files that interrupted tasks left in the directory of a layer. Must not be
    /// called while other processes may write to the directory.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed, or a file cannot be removed.
    pub fn remove_unfinished(&self, depth: Depth) -> Result<(), LayerError> {
        let files = self.own_files(depth)?;
        files.iter().filter(|path| is_temporary(path)).try_for_each(|path| self.remove_file(path))
    }

    /// Deletes a layer. Files that are already gone are not an error. Files that are not Fathom's stay, and
    /// so does everything behind a symbolic link.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed, or a file cannot be removed.
    pub fn remove(&self, depth: Depth) -> Result<(), LayerError> {
        let files = self.own_files(depth)?;
        if is_link(&self.directory_of(depth)) {
            return Ok(());
        }
        for path in files {
            if is_layer(&path) || is_temporary(&path) {
                self.remove_file(&path)?;
            }
        }
        self.remove_empty(depth)
    }

    /// Deletes the directory of a layer if it is empty.
    ///
    /// # Errors
    /// [`LayerError::Io`] if an empty directory cannot be removed.
    pub fn remove_empty(&self, depth: Depth) -> Result<(), LayerError> {
        let directory = self.directory_of(depth);
        // A process that creates the directory again syncs it.
        self.durable.lock().unwrap_or_else(PoisonError::into_inner).take_if(|durable| *durable == depth);
        match self.disk.remove_directory(&directory) {
            Err(error) if is_absent(&error) || error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(()),
            other => other.map_err(failed("remove", &directory)),
        }
    }

    /// Deletes the file of a shard, because the file is damaged or no longer read.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory is a symbolic link, or the file cannot be removed.
    pub fn discard(&self, task: Task) -> Result<(), LayerError> {
        let directory = self.directory_of(task.depth);
        if is_link(&directory) {
            let source = io::Error::other("it is a symbolic link, whose target may belong to someone else");
            return Err(failed("delete in", &directory)(source));
        }
        self.remove_file(&self.path(task.depth, task.shard))
    }

    /// Deletes the file of a shard, because the file is damaged. A file that belongs to another place in the
    /// run is renamed instead: it may be the only one of its shard.
    ///
    /// # Errors
    /// [`LayerError::Io`] as for [`Store::discard`], or if the file cannot be renamed.
    pub fn discard_wrong(&self, geometry: &Geometry, task: Task) -> Result<(), LayerError> {
        match self.open_shard(geometry, task.depth, task.shard) {
            Err(error) if error.is_misplaced() => {
                self.set_aside(&self.path(task.depth, task.shard), MISPLACED)
            }
            _ => self.discard(task),
        }
    }

    /// Renames a file that belongs elsewhere, by giving it another extension. A file that is gone is not an error, as in
    /// [`Store::discard`].
    ///
    /// # Errors
    /// If the file cannot be renamed.
    pub fn set_aside(&self, path: &Path, extension: &str) -> Result<(), LayerError> {
        let aside = path.with_extension(extension);
        warn!(path = %path.display(), aside = %aside.display(), "renaming a file that does not belong here");
        match self.disk.rename(path, &aside) {
            Err(error) if is_absent(&error) => Ok(()),
            other => other.map_err(failed("rename", path)),
        }
    }

    /// Removes a file. A file that is already gone is not an error, because another process may have removed
    /// it.
    pub(super) fn remove_file(&self, path: &Path) -> Result<(), LayerError> {
        match self.disk.remove(path) {
            Err(error) if is_absent(&error) => Ok(()),
            other => other.map_err(failed("remove", path)),
        }
    }

    /// Returns the leftovers of interruptions: layers that are not `kept`, and unfinished files of
    /// layers that are.
    ///
    /// # Errors
    /// [`LayerError::Io`] if a directory cannot be listed.
    pub fn leftovers(&self, kept: impl Fn(Depth) -> bool) -> Result<Leftovers, LayerError> {
        let mut found = Leftovers::default();
        for depth in self.depths()? {
            let directory = self.directory_of(depth);
            if kept(depth) {
                let files = self.own_files(depth)?;
                found.unfinished.extend(files.into_iter().filter(|path| is_temporary(path)));
            } else if !is_link(&directory) && directory.is_dir() {
                found.layers.push(depth);
            }
        }
        Ok(found)
    }

    /// Returns the files in the directory of a layer that may be deleted: none if the directory is a symbolic
    /// link, because its target may belong to someone else.
    fn own_files(&self, depth: Depth) -> Result<Vec<PathBuf>, LayerError> {
        let directory = self.directory_of(depth);
        match is_link(&directory) {
            true => {
                warn!(path = %directory.display(), "not deleting files behind a symbolic link");
                Ok(Vec::new())
            }
            false => list(&directory),
        }
    }

    /// Deletes the leftovers of interruptions.
    ///
    /// # Errors
    /// [`LayerError::Io`] if a file cannot be removed.
    pub fn sweep(&self, leftovers: &Leftovers) -> Result<(), LayerError> {
        for path in &leftovers.unfinished {
            self.remove_file(path)?;
        }
        leftovers.layers.iter().try_for_each(|&depth| self.remove(depth))
    }
}
