//! The layer files of a run, such as `layers/d007/s00012.layer` below the run's directory or another one.

mod removal;

use removal::MISPLACED;

use crate::run::{Depth, Geometry, Owner, RunError, ShardId, ShardReport, Task};
use crate::task::Layer;
use fathom_layer::map::Stamp;
use fathom_layer::writer::TEMPORARY_SUFFIX;
use fathom_layer::{Digest, Disk, LayerError, LayerFile, LayerWriter, archive};
pub use removal::Leftovers;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use tracing::{debug, warn};

/// The directory of layers, in a store.
pub const LAYERS: &str = "layers";

/// The layer files of a run.
#[derive(Debug)]
pub struct Store<'d> {
    root: PathBuf,
    /// The directory of layers.
    directory: PathBuf,
    /// The mark of a store outside the directory of its run.
    owner: Option<Owner>,
    disk: &'d dyn Disk,
    /// The layer whose directory was synced last, so that its other shards need not sync it again.
    durable: Mutex<Option<Depth>>,
}

impl<'d> Store<'d> {
    /// Opens the store of a root: the directory of a run, of a shared store, or of a run in a worker's store.
    ///
    /// # Errors
    /// [`RunError::Store`] if the root has a mark that cannot be used.
    pub fn at(root: &Path, disk: &'d dyn Disk) -> Result<Self, RunError> {
        let owner = Owner::of(root)?;
        Ok(Self { root: root.into(), directory: root.join(LAYERS), owner, disk, durable: Mutex::default() })
    }

    /// Returns the disk on which the files are.
    pub fn disk(&self) -> &'d dyn Disk {
        self.disk
    }

    /// Returns the directory that has `layers`.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns a directory on the file system that holds the layers. This may differ from the root's file
    /// system, because `layers` may be a symbolic link.
    pub fn place(&self) -> &Path {
        if self.directory.is_dir() { &self.directory } else { &self.root }
    }

    /// Returns the free bytes for layers.
    ///
    /// # Errors
    /// If the operating system cannot determine it.
    pub fn free_bytes(&self) -> io::Result<u64> {
        self.disk.free_bytes(self.place())
    }

    /// Asks the file system to [place the layers apart](fathom_layer::lay_apart).
    pub fn lay_apart(&self) {
        fathom_layer::lay_apart(&self.directory);
    }

    /// Returns the directory of a layer.
    pub fn directory_of(&self, depth: Depth) -> PathBuf {
        self.directory.join(format!("d{:03}", depth.0))
    }

    /// Returns the path of a layer file.
    pub fn path(&self, depth: Depth, shard: ShardId) -> PathBuf {
        self.directory_of(depth).join(format!("s{:05}.layer", shard.0))
    }

    /// Checks, before anything is deleted, that the layers in this store are of this run: the journal may
    /// be of another run, or the store may be a link to another run's. One undamaged file of each layer is
    /// read.
    ///
    /// # Errors
    /// [`LayerError`] if a layer is of another run, or a file or directory cannot be read.
    pub fn require_run(&self, fingerprint: Digest) -> Result<(), LayerError> {
        self.depths()?.into_iter().try_for_each(|depth| self.require_run_at(depth, fingerprint))
    }

    fn require_run_at(&self, depth: Depth, fingerprint: Digest) -> Result<(), LayerError> {
        for path in list(&self.directory_of(depth))?.into_iter().filter(|path| is_layer(path)) {
            match LayerFile::fingerprint_of(&path)? {
                Some(got) if got == fingerprint => break,
                Some(got) => {
                    let (got, expected) = (got.to_string(), fingerprint.to_string());
                    return Err(LayerError::Misplaced { path, field: "run fingerprint", got, expected });
                }
                None => {}
            }
        }
        Ok(())
    }

    /// Creates the directory of a layer, durably.
    ///
    /// # Errors
    /// [`LayerError`] if the mark of the store is missing, or the directory is a symbolic link or cannot be
    /// created.
    pub fn prepare(&self, depth: Depth) -> Result<(), LayerError> {
        // Without this check, the layers would be written into the mount point of a disk that is not mounted.
        if let Some(owner) = &self.owner
            && !Owner::of(&self.root).is_ok_and(|now| now.is_some_and(|now| now.id == owner.id))
        {
            let reason = "its disk is not mounted, its files are gone, or another run has taken it".into();
            return Err(LayerError::Store { path: self.root.clone(), reason });
        }
        let directory = self.directory_of(depth);
        if is_link(&directory) {
            let source = io::Error::other("it is a symbolic link, whose target may belong to someone else");
            return Err(failed("write in", &directory)(source));
        }
        let mut durable = self.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if *durable == Some(depth) && directory.is_dir() {
            return Ok(());
        }
        self.disk.create_directory(&directory).map_err(failed("create", &directory))?;
        // The entry of the layer's directory in `layers`, and that of `layers` in the run's directory, are
        // made durable.
        for directory in [&self.directory, &self.root] {
            self.disk.sync_directory(directory).map_err(failed("sync", directory))?;
        }
        *durable = Some(depth);
        Ok(())
    }

    /// Starts writing the file of a task. A file that another process writes in the meantime stays.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the file cannot be created.
    pub fn writer(&self, geometry: &Geometry, task: Task) -> Result<LayerWriter<'d>, LayerError> {
        let path = self.path(task.depth, task.shard);
        let mut writer = LayerWriter::create(self.disk, &path, geometry.identity(task.depth, task.shard))?;
        writer.replace_only_what_is_there();
        Ok(writer)
    }

    /// Returns the report of a task whose complete file already exists; `None` if there is none. A damaged
    /// file is removed, because nothing was computed from it yet, and one of another shard is renamed.
    ///
    /// # Errors
    /// [`LayerError`] if there is a file of another run, or the file cannot be read or removed.
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
                warn!(%error, "an unfinished layer's file is damaged and will be recomputed");
                if error.is_misplaced() {
                    self.set_aside(&path, MISPLACED)?
                } else {
                    self.remove_file(&path)?
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the report of a task whose file exists, after reading and checking the whole file. The file is
    /// [claimed](Stamp::claim): a worker that has written the file, and was suspended before it reported
    /// that, must not delete a file that counts by then.
    ///
    /// # Errors
    /// [`LayerError`] if the file is missing, damaged or not the right one.
    pub fn read_back(&self, geometry: &Geometry, task: Task) -> Result<ShardReport, LayerError> {
        // A file that does not exist, or belongs to another user, causes an error below.
        let _ = Stamp::claim(&self.path(task.depth, task.shard));
        let file = self.open_shard(geometry, task.depth, task.shard)?;
        file.check_all()?;
        report(task, &file)
    }

    /// Makes the file of a task durable that an earlier process has left: that process may have died before
    /// syncing it.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the file or its directory cannot be made durable.
    pub fn make_durable(&self, task: Task) -> Result<(), LayerError> {
        let (path, directory) = (self.path(task.depth, task.shard), self.directory_of(task.depth));
        self.disk.sync_file(&path).map_err(failed("sync", &path))?;
        self.disk.sync_directory(&directory).map_err(failed("sync", &directory))
    }

    /// Makes all files of a layer durable that earlier processes have left.
    ///
    /// # Errors
    /// [`LayerError::Io`] if a file or a directory cannot be made durable.
    pub fn make_layer_durable(&self, depth: Depth) -> Result<(), LayerError> {
        let directory = self.directory_of(depth);
        for path in list(&directory)?.into_iter().filter(|path| is_layer(path)) {
            match self.disk.sync_file(&path) {
                // The file was removed in the meantime.
                Err(error) if is_absent(&error) => {}
                synced => synced.map_err(failed("sync", &path))?,
            }
        }
        for directory in [&directory, &self.directory] {
            match self.disk.sync_directory(directory) {
                Err(error) if is_absent(&error) => {}
                synced => synced.map_err(failed("sync", directory))?,
            }
        }
        Ok(())
    }

    /// Opens a shard of a layer. The caller must [check](LayerFile::check_digest) that the file has the
    /// committed content.
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
        let depths: BTreeSet<Depth> =
            list(&self.directory)?.iter().filter_map(|path| depth_of(path)).collect();
        Ok(depths.into_iter().collect())
    }

    /// Returns the finished shards of a layer, in order.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed.
    pub fn shards(&self, depth: Depth) -> Result<Vec<ShardId>, LayerError> {
        let files = list(&self.directory_of(depth))?;
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

    /// Opens a whole layer. The caller must [check](Layer::check_digests) that the files have the
    /// committed content.
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
