//! The layer files of a run, such as `layers/d007/s00012.layer` below the run's directory, or spread over
//! several [stores](crate::run::stores).

mod removal;

use crate::run::stores::LAYERS;
use crate::run::{Depth, Geometry, RunError, ShardId, ShardReport, Stores, Task};
use crate::task::Layer;
use fathom_layer::map::Stamp;
use fathom_layer::writer::TEMPORARY_SUFFIX;
use fathom_layer::{Digest, Disk, LayerError, LayerFile, LayerWriter, archive, free_bytes};
pub use removal::Leftovers;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use tracing::{debug, warn};

/// The layer files of a run.
#[derive(Debug)]
pub struct Store<'d> {
    stores: Stores,
    /// One for each of `stores`.
    places: Box<[Place]>,
    disk: &'d dyn Disk,
    /// Whether the other stores go on when one has failed.
    outlives_failures: bool,
}

/// The directory of layers in one of several stores.
#[derive(Debug)]
struct Place {
    directory: PathBuf,
    /// The layer whose directory was made durable last, so that its other shards need not do so again.
    durable: Mutex<Option<Depth>>,
    /// Why the store is not used any more.
    failed: OnceLock<String>,
}

/// The room on a file system for the stores that lie there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Room {
    /// The numbers of the stores.
    pub stores: Vec<usize>,
    /// The path of the first of these stores, or of the nearest directory above it that exists.
    pub path: PathBuf,
    /// The free bytes.
    pub free: u64,
}

impl<'d> Store<'d> {
    /// Opens the store of a root: the directory of a run, of a shared store, or of a run in a worker's store.
    ///
    /// # Errors
    /// [`RunError::Store`] if the layers are spread over several stores, and one of these is not there.
    pub fn at(root: &Path, disk: &'d dyn Disk) -> Result<Self, RunError> {
        let stores = Stores::of(root)?;
        stores.check_all()?;
        Ok(Self::of(stores, false, disk))
    }

    /// Returns the disk on which the files are.
    pub fn disk(&self) -> &'d dyn Disk {
        self.disk
    }

    /// Opens those of several stores that are there. The others, and those that cannot be read later, count
    /// as empty, and nothing is written to them. If there is only one store, its errors are errors.
    pub fn open_partly(stores: Stores, disk: &'d dyn Disk) -> Self {
        let several = stores.directories().len() > 1;
        let store = Self::of(stores, several, disk);
        for (number, place) in store.places.iter().enumerate().filter(|_| several) {
            if let Err(reason) = store.stores.check(number) {
                place.fail(reason);
            }
        }
        store
    }

    fn of(stores: Stores, outlives_failures: bool, disk: &'d dyn Disk) -> Self {
        let place = |root: &PathBuf| Place {
            directory: root.join(LAYERS),
            durable: Mutex::default(),
            failed: OnceLock::new(),
        };
        let places = stores.directories().iter().map(place).collect();
        Self { stores, places, disk, outlives_failures }
    }

    /// Returns the directories over which the layers are spread.
    pub fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Returns the number of the store whose layers a path lies in, or whose directory it is; `None` if it
    /// lies elsewhere.
    pub fn number_at(&self, path: &Path) -> Option<usize> {
        let mut places = self.places.iter().zip(self.stores.directories());
        places.position(|(place, store)| path.starts_with(&place.directory) || path == store)
    }

    /// Returns why the store of a shard is not used any more; `None` if it is used.
    pub fn failure(&self, shard: ShardId) -> Option<&str> {
        self.place(shard).failed.get().map(String::as_str)
    }

    /// Returns the file systems on which stores lie that have not failed, with the free bytes on each.
    ///
    /// # Errors
    /// If the operating system cannot tell the free bytes.
    pub fn rooms(&self) -> io::Result<Vec<Room>> {
        let mut by_device: BTreeMap<u64, Room> = BTreeMap::new();
        for (number, place) in self.usable() {
            let path = place.root();
            let device = path.metadata().map_or(0, |is| is.dev());
            let free = self.disk.free_bytes(path)?;
            let new = || Room { stores: Vec::new(), path: path.into(), free: 0 };
            let room = by_device.entry(device).or_insert_with(new);
            room.stores.push(number);
            // A limit is one of each store, whereas the disk is there once for all of them.
            room.free = match self.disk.limit_bytes() {
                Some(_) => (room.free + free).min(free_bytes(path)?),
                None => free,
            };
        }
        Ok(by_device.into_values().collect())
    }

    /// Returns the bytes of shards that the stores can take in turn before the first of them is full.
    ///
    /// # Errors
    /// If the operating system cannot tell the free bytes.
    pub fn free_bytes(&self) -> io::Result<u64> {
        let least = self.rooms()?.into_iter().map(|room| room.free / room.stores.len() as u64).min();
        Ok(least.unwrap_or(0) * self.usable().count() as u64)
    }

    fn place(&self, shard: ShardId) -> &Place {
        &self.places[self.stores.number_of(shard)]
    }

    /// Returns the places that have not failed, with their numbers.
    fn usable(&self) -> impl Iterator<Item = (usize, &Place)> {
        self.places.iter().enumerate().filter(|(_, place)| place.failed.get().is_none())
    }

    /// Lists a directory of a place; as empty if the place fails and the others go on.
    fn list(&self, place: &Place, directory: &Path) -> Result<Vec<PathBuf>, LayerError> {
        match list(directory) {
            Err(error) if self.outlives_failures => {
                place.fail(crate::task::error::chain(&error));
                Ok(Vec::new())
            }
            listed => listed,
        }
    }

    /// Does something in each place, also if it fails in one, and returns the first error.
    fn in_each(&self, act: impl Fn(&Place) -> Result<(), LayerError>) -> Result<(), LayerError> {
        self.usable().map(|(_, place)| act(place)).fold(Ok(()), Result::and)
    }

    /// Asks the file systems to [lay down the layers apart](fathom_layer::lay_apart).
    pub fn lay_apart(&self) {
        self.usable().for_each(|(_, place)| fathom_layer::lay_apart(&place.directory));
    }

    /// Returns the directory in which the file of a shard lies.
    pub fn directory_of(&self, task: Task) -> PathBuf {
        self.place(task.shard).layer(task.depth)
    }

    /// Returns the path of a layer file.
    pub fn path(&self, depth: Depth, shard: ShardId) -> PathBuf {
        self.directory_of(Task { depth, shard }).join(format!("s{:05}.layer", shard.0))
    }

    /// Checks, before anything is deleted, that the layers in this store are of this run: the journal, or a
    /// link in the place of the store, may be of another run. One undamaged file of each layer is looked at.
    ///
    /// # Errors
    /// [`LayerError`] if a layer is of another run, or a file or directory cannot be read.
    pub fn require_run(&self, fingerprint: Digest) -> Result<(), LayerError> {
        for depth in self.depths()? {
            self.in_each(|place| self.require_run_in(place, depth, fingerprint))?;
        }
        Ok(())
    }

    fn require_run_in(&self, place: &Place, depth: Depth, fingerprint: Digest) -> Result<(), LayerError> {
        for path in self.list(place, &place.layer(depth))?.into_iter().filter(|path| is_layer(path)) {
            match LayerFile::fingerprint_of(&path) {
                Ok(Some(got)) if got == fingerprint => break,
                Ok(Some(got)) => {
                    let (got, expected) = (got.to_string(), fingerprint.to_string());
                    return Err(LayerError::Misplaced { path, field: "run fingerprint", got, expected });
                }
                Ok(None) => {}
                Err(error @ LayerError::Io { .. }) if self.outlives_failures => {
                    place.fail(crate::task::error::chain(&error));
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Creates the directories of a layer, durably.
    ///
    /// # Errors
    /// [`LayerError`] if a store is not there any more, or a directory is a symbolic link, or cannot be
    /// created.
    pub fn prepare(&self, depth: Depth) -> Result<(), LayerError> {
        (0..self.places.len()).try_for_each(|number| self.prepare_in(number, depth))
    }

    /// Creates the directory of a layer in the store of a shard, durably.
    ///
    /// # Errors
    /// The errors of [`Store::prepare`], for this store.
    pub fn prepare_for(&self, task: Task) -> Result<(), LayerError> {
        self.prepare_in(self.stores.number_of(task.shard), task.depth)
    }

    fn prepare_in(&self, number: usize, depth: Depth) -> Result<(), LayerError> {
        let place = &self.places[number];
        // Without this check, the layers would go into the mount point of a disk that is gone.
        let checked =
            place.failed.get().map_or_else(|| self.stores.check(number), |reason| Err(reason.clone()));
        checked.map_err(|reason| LayerError::Store {
            path: self.stores.directories()[number].clone(),
            reason,
        })?;
        let directory = place.layer(depth);
        if is_link(&directory) {
            let source =
                io::Error::other("it is a symbolic link, and what lies behind it may be somebody else's");
            return Err(failed("write in", &directory)(source));
        }
        let mut durable = place.durable.lock().unwrap_or_else(PoisonError::into_inner);
        if *durable == Some(depth) && directory.is_dir() {
            return Ok(());
        }
        self.disk.create_directory(&directory).map_err(failed("create", &directory))?;
        // The entry of the layer's directory in `layers`, and that of `layers` in the run's directory, are
        // made durable.
        for directory in [&place.directory, place.directory.parent().unwrap_or(&place.directory)] {
            self.disk.sync_directory(directory).map_err(failed("sync", directory))?;
        }
        *durable = Some(depth);
        Ok(())
    }

    /// Begins writing the file of a task. A file that another process makes meanwhile stays.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the file cannot be created.
    pub fn writer(&self, geometry: &Geometry, task: Task) -> Result<LayerWriter<'d>, LayerError> {
        let path = self.path(task.depth, task.shard);
        let mut writer = LayerWriter::create(self.disk, &path, geometry.identity(task.depth, task.shard))?;
        writer.replace_only_what_is_there();
        Ok(writer)
    }

    /// Returns the report of a task whose complete file is already there; `None` if there is none. A damaged
    /// file is removed, because nothing was made from it yet, and one of another shard is renamed.
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
                warn!(%error, "an unfinished layer's file is damaged, and is made again");
                if error.is_misplaced() {
                    self.set_aside(&path)?
                } else {
                    self.remove_file(&path)?
                }
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Returns the report of a task whose file is there, after reading and checking the whole file. The file
    /// is [claimed](Stamp::claim): a worker that has made the file, and has slept before it reported that,
    /// must not delete what counts by then.
    ///
    /// # Errors
    /// [`LayerError`] if the file is missing, damaged or not the right one.
    pub fn read_back(&self, geometry: &Geometry, task: Task) -> Result<ShardReport, LayerError> {
        // A file that is not there, or is another user's, shows in what follows.
        let _ = Stamp::claim(&self.path(task.depth, task.shard));
        let file = self.open_shard(geometry, task.depth, task.shard)?;
        file.check_all()?;
        report(task, &file)
    }

    /// Makes the file of a task durable that an earlier process has left: the process may have died before it
    /// did so.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the file or its directory cannot be made durable.
    pub fn make_durable(&self, task: Task) -> Result<(), LayerError> {
        let (path, directory) = (self.path(task.depth, task.shard), self.directory_of(task));
        self.disk.sync_file(&path).map_err(failed("sync", &path))?;
        self.disk.sync_directory(&directory).map_err(failed("sync", &directory))
    }

    /// Makes all files of a layer durable that earlier processes have left.
    ///
    /// # Errors
    /// [`LayerError::Io`] if a file or a directory cannot be made durable.
    pub fn make_layer_durable(&self, depth: Depth) -> Result<(), LayerError> {
        self.in_each(|place| match self.make_durable_in(place, depth) {
            Err(error) if self.outlives_failures => {
                place.fail(crate::task::error::chain(&error));
                Ok(())
            }
            made => made,
        })
    }

    fn make_durable_in(&self, place: &Place, depth: Depth) -> Result<(), LayerError> {
        let directory = place.layer(depth);
        for path in list(&directory)?.into_iter().filter(|path| is_layer(path)) {
            match self.disk.sync_file(&path) {
                // The file was removed in the meantime.
                Err(error) if is_absent(&error) => {}
                synced => synced.map_err(failed("sync", &path))?,
            }
        }
        for directory in [&directory, &place.directory] {
            match self.disk.sync_directory(directory) {
                Err(error) if is_absent(&error) => {}
                synced => synced.map_err(failed("sync", directory))?,
            }
        }
        Ok(())
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
        let (place, path) = (self.place(shard), self.path(depth, shard));
        if let Some(reason) = place.failed.get() {
            let source = io::Error::new(io::ErrorKind::NotFound, reason.clone());
            return Err(failed("open", &path)(source));
        }
        let opened = LayerFile::open(&path, &geometry.identity(depth, shard));
        match opened {
            Err(error @ LayerError::Io { .. }) if self.outlives_failures && !error.is_missing() => {
                place.fail(crate::task::error::chain(&error));
                Err(error)
            }
            opened => opened,
        }
    }

    /// Returns the depths whose layers have a directory, in order.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed.
    pub fn depths(&self) -> Result<Vec<Depth>, LayerError> {
        let mut depths = BTreeSet::new();
        for (_, place) in self.usable() {
            depths.extend(self.list(place, &place.directory)?.iter().filter_map(|path| depth_of(path)));
        }
        Ok(depths.into_iter().collect())
    }

    /// Returns the finished shards of a layer, in order.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the directory cannot be listed.
    pub fn shards(&self, depth: Depth) -> Result<Vec<ShardId>, LayerError> {
        let mut shards = Vec::new();
        for (number, place) in self.usable() {
            let files = self.list(place, &place.layer(depth))?;
            // A file in the wrong store is none that anything reads.
            let belongs = |shard: &ShardId| self.stores.number_of(*shard) == number;
            shards.extend(files.iter().filter_map(|path| shard_of(path)).filter(belongs));
        }
        shards.sort_unstable();
        Ok(shards)
    }

    /// Returns the task whose file in this store has this path; `None` if the path is not one of a layer
    /// file.
    pub fn task_of(&self, path: &Path) -> Option<Task> {
        let path = self.places.iter().find_map(|place| path.strip_prefix(&place.directory).ok())?;
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

impl Place {
    /// Returns the directory of a layer.
    fn layer(&self, depth: Depth) -> PathBuf {
        self.directory.join(format!("d{:03}", depth.0))
    }

    /// Returns a directory on the file system that holds the layers. That need not be the root's, because a
    /// link in the place of `layers` may lead elsewhere.
    fn root(&self) -> &Path {
        let parent = self.directory.parent().unwrap_or(&self.directory);
        if self.directory.is_dir() { &self.directory } else { parent }
    }

    /// Notes that the store is not used any more.
    fn fail(&self, reason: String) {
        warn!(path = %self.directory.display(), reason, "a store cannot be used any more; the others go on");
        let _ = self.failed.set(reason);
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
