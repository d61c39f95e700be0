//! A directory of layer files, such as `layers/d007/s00012.layer` below a run's directory.

use crate::Layer;
use fathom_layer::writer::TEMPORARY_SUFFIX;
use fathom_layer::{Digest, Disk, LayerError, LayerFile, LayerWriter, archive};
use fathom_run::{Depth, Geometry, ShardId, ShardReport, Task};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use tracing::{debug, warn};

/// The layer files of a run.
#[derive(Debug)]
pub struct Store<'d> {
    directory: PathBuf,
    disk: &'d dyn Disk,
}

/// What interruptions have left behind.
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

impl<'d> Store<'d> {
    /// Returns the store in the directory of a run.
    pub fn new(run: &Path, disk: &'d dyn Disk) -> Self {
        Self { directory: run.join("layers"), disk }
    }

    /// Returns the disk on which the store is.
    pub fn disk(&self) -> &'d dyn Disk {
        self.disk
    }

    /// Returns a directory on the file system that holds the layers. That need not be the run's, because a
    /// link in the place of `layers` may lead elsewhere.
    pub fn root(&self) -> &Path {
        let parent = self.directory.parent().unwrap_or(&self.directory);
        if self.directory.is_dir() { &self.directory } else { parent }
    }

    /// Returns the directory of a layer.
    pub fn layer_directory(&self, depth: Depth) -> PathBuf {
        self.directory.join(format!("d{:03}", depth.0))
    }

    /// Returns the path of a layer file.
    pub fn path(&self, depth: Depth, shard: ShardId) -> PathBuf {
        self.layer_directory(depth).join(format!("s{:05}.layer", shard.0))
    }

    /// Checks, before anything is deleted, that the layers in this store are of this run: the journal, or a
    /// link in the place of the store, may be of another run. One undamaged file of each layer is looked at.
    ///
    /// # Errors
    /// [`LayerError`] if a layer is of another run, or a file or directory cannot be read.
    pub fn require_run(&self, fingerprint: Digest) -> Result<(), LayerError> {
        for depth in self.depths()? {
            for path in list(&self.layer_directory(depth))?.into_iter().filter(|path| is_layer(path)) {
                match LayerFile::fingerprint_of(&path)? {
                    Some(got) if got == fingerprint => break,
                    Some(got) => {
                        let (got, expected) = (got.to_string(), fingerprint.to_string());
                        return Err(LayerError::Misplaced { path, field: "run fingerprint", got, expected });
                    }
                    None => {}
                }
            }
        }
        Ok(())
    }

    /// Removes the unfinished files that interrupted tasks left in the directory of a layer. Must not be
    /// called while other processes may write to the directory.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed, or a file cannot be removed.
    pub fn remove_unfinished(&self, depth: Depth) -> Result<(), LayerError> {
        let files = self.own_files(depth)?;
        files.iter().filter(|path| is_temporary(path)).try_for_each(|path| self.remove_file(path))
    }

    /// Creates the directory of a layer, durably.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory is a symbolic link, or cannot be created.
    pub fn prepare(&self, depth: Depth) -> Result<(), LayerError> {
        let directory = self.layer_directory(depth);
        if is_link(&directory) {
            let source =
                io::Error::other("it is a symbolic link, and what lies behind it may be somebody else's");
            return Err(failed("write in", &directory)(source));
        }
        self.disk.create_directory(&directory).map_err(failed("create", &directory))?;
        // The entry of the layer's directory in `layers`, and that of `layers` in the run's directory, are
        // made durable.
        for directory in [&self.directory, self.directory.parent().unwrap_or(&self.directory)] {
            self.disk.sync_directory(directory).map_err(failed("sync", directory))?;
        }
        Ok(())
    }

    /// Begins writing the file of a task.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the file cannot be created.
    pub fn writer(&self, geometry: &Geometry, task: Task) -> Result<LayerWriter<'d>, LayerError> {
        LayerWriter::create(
            self.disk,
            &self.path(task.depth, task.shard),
            geometry.identity(task.depth, task.shard),
        )
    }

    /// Returns the report of a task whose complete file is already there; `None` if there is none. A damaged
    /// file is removed, because nothing was made from it yet.
    ///
    /// # Errors
    /// [`LayerError`] if there is a file that belongs elsewhere, or the file cannot be read or removed.
    pub fn finished(&self, geometry: &Geometry, task: Task) -> Result<Option<ShardReport>, LayerError> {
        let path = self.path(task.depth, task.shard);
        if !path.try_exists().map_err(failed("look for", &path))? {
            return Ok(None);
        }
        match self.read_back(geometry, task) {
            Ok(report) => {
                debug!(
                    depth = task.depth.0,
                    shard = task.shard.0,
                    states = report.totals.states,
                    "task found done"
                );
                Ok(Some(report))
            }
            Err(error) if error.is_damage() => {
                warn!(%error, "an unfinished layer's file is damaged, and is made again");
                self.remove_file(&path)?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the report of a task whose file is there, after reading and checking the whole file.
    ///
    /// # Errors
    /// [`LayerError`] if the file is missing, damaged or not the right one.
    pub fn read_back(&self, geometry: &Geometry, task: Task) -> Result<ShardReport, LayerError> {
        let file = self.open_shard(geometry, task.depth, task.shard)?;
        file.check_all()?;
        report(task, &file)
    }

    /// Opens a shard of a layer. The caller must [check](LayerFile::check_digest) that the file holds what
    /// was committed.
    ///
    /// # Errors
    /// [`LayerError`] if the file is missing, damaged or not the right one.
    pub fn open_shard(
        &self,
        geometry: &Geometry,
        depth: Depth,
        shard: ShardId,
    ) -> Result<LayerFile, LayerError> {
        LayerFile::open(&self.path(depth, shard), &geometry.identity(depth, shard))
    }

    /// Returns the depths whose layers have a directory, in order.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed.
    pub fn depths(&self) -> Result<Vec<Depth>, LayerError> {
        let mut depths: Vec<Depth> =
            list(&self.directory)?.iter().filter_map(|path| depth_of(path)).collect();
        depths.sort_unstable();
        Ok(depths)
    }

    /// Returns the finished shards of a layer, in order.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed.
    pub fn shards(&self, depth: Depth) -> Result<Vec<ShardId>, LayerError> {
        let files = list(&self.layer_directory(depth))?;
        let mut shards: Vec<ShardId> = files.iter().filter_map(|path| shard_of(path)).collect();
        shards.sort_unstable();
        Ok(shards)
    }

    /// Returns the task whose file in this store has this path; `None` if the path is not one of a layer
    /// file.
    pub fn task_of(&self, path: &Path) -> Option<Task> {
        let path = path.strip_prefix(&self.directory).ok()?;
        Some(Task { depth: depth_of(path.parent()?)?, shard: shard_of(path)? })
    }

    /// Returns the number of finished shards of a layer.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed.
    pub fn finished_files(&self, depth: Depth) -> Result<u64, LayerError> {
        Ok(self.shards(depth)?.len() as u64)
    }

    /// Opens a whole layer. The caller must [check](Layer::check_digests) that the files hold what was
    /// committed.
    ///
    /// # Errors
    /// [`LayerError`] if one of its files is missing, damaged or not the right one.
    pub fn open(&self, geometry: &Geometry, depth: Depth) -> Result<Layer, LayerError> {
        let files = geometry
            .cut
            .ids()
            .map(|shard| self.open_shard(geometry, depth, shard))
            .collect::<Result<_, _>>()?;
        Ok(Layer::new(geometry.cut, files))
    }

    /// Deletes a layer. Files that are already gone are no error. Files that are not Fathom's stay, and so
    /// does everything behind a symbolic link.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed, or a file cannot be removed.
    pub fn remove(&self, depth: Depth) -> Result<(), LayerError> {
        let directory = self.layer_directory(depth);
        let files = self.own_files(depth)?;
        if is_link(&directory) {
            return Ok(());
        }
        for path in files {
            if is_layer(&path) || is_temporary(&path) {
                self.remove_file(&path)?;
            }
        }
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
        let directory = self.layer_directory(task.depth);
        if is_link(&directory) {
            let source =
                io::Error::other("it is a symbolic link, and what lies behind it may be somebody else's");
            return Err(failed("delete in", &directory)(source));
        }
        self.remove_file(&self.path(task.depth, task.shard))
    }

    /// Removes a file. A file that is already gone is no error, because another process may have removed it.
    fn remove_file(&self, path: &Path) -> Result<(), LayerError> {
        match self.disk.remove(path) {
            Err(error) if is_absent(&error) => Ok(()),
            other => other.map_err(failed("remove", path)),
        }
    }

    /// Returns what interruptions have left behind: layers that are not `kept`, and unfinished files of
    /// layers that are.
    ///
    /// # Errors
    /// [`LayerError::Io`] if a directory cannot be listed.
    pub fn leftovers(&self, kept: impl Fn(Depth) -> bool) -> Result<Leftovers, LayerError> {
        let mut found = Leftovers::default();
        for depth in self.depths()? {
            if kept(depth) {
                let files = self.own_files(depth)?;
                found.unfinished.extend(files.into_iter().filter(|path| is_temporary(path)));
            } else if !is_link(&self.layer_directory(depth)) {
                found.layers.push(depth);
            }
        }
        Ok(found)
    }

    /// Returns the files in the directory of a layer that may be deleted: none if the directory is a symbolic
    /// link, because what is behind it may belong to someone else.
    fn own_files(&self, depth: Depth) -> Result<Vec<PathBuf>, LayerError> {
        let directory = self.layer_directory(depth);
        match is_link(&directory) {
            true => {
                warn!(path = %directory.display(), "nothing is deleted behind a symbolic link");
                Ok(Vec::new())
            }
            false => list(&directory),
        }
    }

    /// Deletes what interruptions have left behind.
    ///
    /// # Errors
    /// [`LayerError::Io`] if a file cannot be removed.
    pub fn sweep(&self, leftovers: &Leftovers) -> Result<(), LayerError> {
        for path in &leftovers.unfinished {
            self.remove_file(path)?;
        }
        leftovers.layers.iter().try_for_each(|&depth| self.remove(depth))
    }

    /// Compresses a layer that the search no longer reads. Returns the size of its files in bytes.
    ///
    /// # Errors
    /// [`LayerError`] if a file is damaged, or cannot be read or replaced.
    pub fn archive(&self, geometry: &Geometry, depth: Depth) -> Result<u64, LayerError> {
        geometry.cut.ids().map(|shard| self.archive_shard(geometry, depth, shard)).sum()
    }

    /// Compresses a shard of a layer that the search no longer reads. Returns the size of its file in bytes.
    ///
    /// # Errors
    /// [`LayerError`] if the file is damaged, or cannot be read or replaced.
    pub fn archive_shard(
        &self,
        geometry: &Geometry,
        depth: Depth,
        shard: ShardId,
    ) -> Result<u64, LayerError> {
        archive(self.disk, &self.path(depth, shard), &geometry.identity(depth, shard))
    }
}

/// Returns the report of a finished file from its header and its directory.
///
/// # Errors
/// [`LayerError`] if the directory is damaged.
pub fn report(task: Task, file: &LayerFile) -> Result<ShardReport, LayerError> {
    Ok(ShardReport {
        task,
        totals: file.totals(),
        bytes: file.bytes(),
        checksums: file.checksums()?,
        watched: Vec::new(),
    })
}

/// Returns the paths in a directory; none if the directory is absent.
fn list(directory: &Path) -> Result<Vec<PathBuf>, LayerError> {
    let entries = match fs::read_dir(directory) {
        Err(error) if is_absent(&error) => return Ok(Vec::new()),
        other => other.map_err(failed("list", directory))?,
    };
    entries.map(|entry| entry.map(|e| e.path()).map_err(failed("list", directory))).collect()
}

fn is_link(path: &Path) -> bool {
    path.is_symlink()
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn is_temporary(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(TEMPORARY_SUFFIX.as_bytes())
}

/// Returns the depth of a layer's directory.
fn depth_of(path: &Path) -> Option<Depth> {
    path.file_name()?.to_str()?.strip_prefix('d')?.parse().ok().map(Depth)
}

/// Returns the shard of a layer file.
fn shard_of(path: &Path) -> Option<ShardId> {
    path.file_name()?.to_str()?.strip_prefix('s')?.strip_suffix(".layer")?.parse().ok().map(ShardId)
}

fn is_layer(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "layer")
}

fn failed(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LayerError {
    move |source| LayerError::Io { action, path: path.into(), source }
}
