//! A run's directory, with `run.toml`, `run.db`, `lock`, `log.jsonl`, `layers/` or the list of
//! [`stores`], for large runs `cosets.bin`, and if states are watched `watched.csv`.
//!
//! The lock is created first, then the journal, and `run.toml` last, so that creation can be interrupted
//! anywhere: without `run.toml` there is no run yet, and creating it again is safe.

use crate::counts::{Classes, check_growth};
use crate::journal::{Journal, LayerRow, LayersAt};
use crate::run::lock::{self, LOCK, Lock};
use crate::run::{DEFINITION, RunManifest};
use crate::run::{Depth, Stores, stores};
use crate::shared_store;
use anyhow::{Context, Result, anyhow};
use fathom_command::bad_input;
use fathom_layer::writer::unfinished;
use fathom_layer::{Digest, Disk, LocalDisk};
use fathom_space::{CosetGraph, Space};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the journal.
pub use crate::journal::NAME as JOURNAL;
/// The files that an interrupted creation may leave behind.
const LEFTOVERS: [&str; 6] =
    [LOCK, JOURNAL, "run.db-journal", "run.toml.tmp", stores::LIST, "stores.toml.tmp"];
/// The name of the log, which has progress as JSON lines.
pub const LOG: &str = "log.jsonl";

/// The open directory of a run.
#[derive(Debug)]
pub struct RunDirectory {
    /// The path of the directory.
    pub path: PathBuf,
    /// The definition of the run.
    pub manifest: RunManifest,
    /// The space. It is derived once, because finding the symmetries can take long.
    pub space: Space,
    /// The coset graph, if planning has built it: the first search takes it from here.
    pub graph: Option<Arc<CosetGraph>>,
    /// The journal.
    pub journal: Journal,
    /// The lock, held as long as this process works on the run; `None` for readers.
    lock: Option<Lock>,
}

/// The states that a run has visited, counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Visited {
    /// The finished layers, in order of depth.
    pub layers: Vec<LayerRow>,
    /// The number of states in them.
    pub visited: u64,
    /// The number of states of the space.
    pub all: u64,
}

/// What is found at a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing, an empty directory, or a run that was interrupted while its directory was made.
    Nothing,
    /// A run.
    Run,
    /// Something else.
    Other,
}

/// Finds out what is at a path, without changing anything.
///
/// # Errors
/// If the path cannot be read.
pub fn look(path: &Path) -> Result<Found> {
    match path.join(DEFINITION).try_exists() {
        Ok(true) => return Ok(Found::Run),
        Ok(false) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(Found::Other),
        Err(error) => return Err(error).with_context(|| format!("cannot look at {}", path.display())),
    }
    match fs::read_dir(path) {
        Ok(entries) => {
            for entry in entries {
                let name = entry.with_context(|| format!("cannot list {}", path.display()))?.file_name();
                if !LEFTOVERS.iter().any(|ours| name == **ours) {
                    return Ok(Found::Other);
                }
            }
            Ok(Found::Nothing)
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => Ok(Found::Other),
        Err(error) => Err(error).with_context(|| format!("cannot list {}", path.display())),
    }
}

impl RunDirectory {
    /// Creates the directory of a new run and locks it. `watched` has the tiles of each state to watch.
    ///
    /// # Errors
    /// If the path is occupied, another process holds the lock, or the file system refuses.
    pub fn create(
        path: &Path,
        manifest: RunManifest,
        watched: &[Box<[u8]>],
        disk: &dyn Disk,
    ) -> Result<Self> {
        let (space, _) = manifest.open()?;
        Self::create_planned(path, manifest, (space, None), watched, &[], disk)
    }

    /// Does the same as [`RunDirectory::create`] for a run whose space, and perhaps whose coset graph, is
    /// already known. The layers are spread over `stores`; with none they lie in the directory.
    ///
    /// # Errors
    /// The errors of [`RunDirectory::create`].
    pub fn create_planned(
        path: &Path,
        manifest: RunManifest,
        (space, graph): (Space, Option<Arc<CosetGraph>>),
        watched: &[Box<[u8]>],
        stores: &[PathBuf],
        disk: &dyn Disk,
    ) -> Result<Self> {
        let make = || -> Result<(Journal, Lock)> {
            let absent: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
            disk.create_directory(path)?;
            let lock = lock::exclusive(path)?;
            // Another process may have begun, and even ended, a run here since the caller looked.
            if look(path)? != Found::Nothing {
                return Err(bad_input!(
                    "another process has begun a run there meanwhile: ask again to go on with it"
                ));
            }
            for name in LEFTOVERS.iter().filter(|name| **name != LOCK) {
                if path.join(name).try_exists()? {
                    disk.remove(&path.join(name))?;
                }
            }
            let journal = Journal::create(&path.join(JOURNAL), manifest.fingerprint, watched)?;
            if !stores.is_empty() {
                Stores::create(path, stores, disk)?;
            }
            let temporary = path.join(format!("{DEFINITION}.tmp"));
            let mut file = disk.create(&temporary)?;
            file.write_at(manifest.to_toml().as_bytes(), 0)?;
            file.sync()?;
            disk.rename(&temporary, &path.join(DEFINITION))?;
            disk.sync_directory(path)?;
            for made in [path].into_iter().chain(absent.into_iter().filter(|made| *made != path)) {
                match made.parent() {
                    Some(parent) if parent.as_os_str().is_empty() => disk.sync_directory(Path::new("."))?,
                    Some(parent) => disk.sync_directory(parent)?,
                    None => {}
                }
            }
            Ok((journal, lock))
        };
        let (journal, lock) =
            make().with_context(|| format!("cannot make the run directory {}", path.display()))?;
        Stores::of(path)?.claim(disk)?;
        Ok(Self { path: path.into(), manifest, space, graph, journal, lock: Some(lock) })
    }

    /// Opens and locks the directory of a run, to continue the run.
    ///
    /// # Errors
    /// If there is no run, another process holds it, or its files are missing or damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let (manifest, space) = RunManifest::read_and_open(path)?;
        let lock = lock::exclusive(path)?;
        Stores::of(path)?.require_no_copy()?;
        for left in unfinished(path).unwrap_or_default() {
            // What stays takes only room.
            let _ = LocalDisk.remove(&left);
        }
        let run = Self::read(path, (manifest, space), Some(lock))?;
        if run.visited()?.layers.is_empty() {
            // The run may have been interrupted before its stores were made.
            Stores::of(path)?.claim(&LocalDisk)?;
        }
        Ok(run)
    }

    /// Opens the directory of a run to read all of it, with a lock that keeps other processes from changing
    /// it. The directory may be read-only.
    ///
    /// # Errors
    /// If there is no run, another process holds it, or its files are missing or damaged.
    pub fn open_unchanging(path: &Path) -> Result<Self> {
        let (manifest, space) = RunManifest::read_and_open(path)?;
        let lock = lock::reading(path)?;
        Self::read(path, (manifest, space), Some(lock))
    }

    /// Opens the directory of a run for reading without a lock, even if another process works on the run.
    ///
    /// # Errors
    /// If there is no run, or its files are missing or damaged.
    pub fn open_for_reading(path: &Path) -> Result<Self> {
        Self::read(path, RunManifest::read_and_open(path)?, None)
    }

    /// Gives the lock up, because this process only tells of the run from now on.
    pub fn unlock(&mut self) {
        self.lock = None;
    }

    /// Returns the root of the run's layers: the directory that has `layers/`, or the list of stores. `None`
    /// if workers keep the layers.
    ///
    /// # Errors
    /// If the journal cannot be read, or names an unknown place.
    pub fn store_path(&self) -> Result<Option<PathBuf>> {
        Ok(match self.journal.layers_at().context("cannot read run.db")? {
            LayersAt::RunDirectory => Some(self.path.clone()),
            LayersAt::SharedStore(path) => Some(path),
            LayersAt::Workers => None,
        })
    }

    /// Returns what [`RunDirectory::store_path`] does, and checks that a shared store can be reached.
    ///
    /// # Errors
    /// The errors of [`RunDirectory::store_path`], and [`fathom_command::exit::BadInput`] if a shared store
    /// is not there, or belongs to another run now.
    pub fn store(&self) -> Result<Option<PathBuf>> {
        if let LayersAt::SharedStore(path) = self.journal.layers_at().context("cannot read run.db")? {
            shared_store::require_own(&self.journal, &self.path, &path)?;
        }
        self.store_path()
    }

    /// Takes a shared store for this run, which is about to write there: the store gets the run's mark.
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if the store is not there, belongs to another run, or holds layers
    /// that are not of this run.
    pub fn claim(&mut self, shared_store: &Path, disk: &dyn Disk) -> Result<()> {
        let run = (&*self.path, self.manifest.fingerprint);
        shared_store::claim(&mut self.journal, run, shared_store, disk)
    }

    /// Returns the directories with the run's files: its own, and if there are any the stores of its layers.
    ///
    /// # Errors
    /// If the list of stores cannot be read.
    pub fn directories(&self) -> Result<Vec<PathBuf>> {
        let stores = Stores::of(&self.path)?;
        let listed = stores.directories().iter().filter(|_| stores.are_listed()).cloned();
        Ok(std::iter::once(self.path.clone()).chain(listed).collect())
    }

    /// Returns the digests of the shards of a finished layer, in order.
    ///
    /// # Errors
    /// If the journal cannot be read, or lacks a shard.
    pub fn digests(&self, depth: Depth) -> Result<Vec<Digest>> {
        self.journal.digests(depth, self.manifest.shards)
    }

    /// Returns what was visited so far, by the journal.
    ///
    /// # Errors
    /// If the journal cannot be read, has a layer without states, or counts more states than the space has.
    pub fn visited(&self) -> Result<Visited> {
        let layers = self.journal.layers().context("cannot read run.db")?;
        let all = u64::try_from(self.space.states()).context("the space has 2^64 states or more")?;
        if let Some(layer) = layers.iter().find(|layer| layer.states == 0) {
            return Err(anyhow!("run.db has no states at depth {}: the run must not be used", layer.depth));
        }
        let visited = layers
            .iter()
            .try_fold(0_u64, |sum, layer| sum.checked_add(layer.states))
            .filter(|&visited| visited <= all)
            .with_context(|| {
                format!("run.db counts more states than the {all} of the space: the run must not be used")
            })?;
        Ok(Visited { layers, visited, all })
    }

    fn read(path: &Path, (manifest, space): (RunManifest, Space), lock: Option<Lock>) -> Result<Self> {
        let db = path.join(JOURNAL);
        if !db.try_exists()? {
            return Err(anyhow!(
                "{} is missing: without it nobody knows which layers of the run are finished; put it back from a copy, or remove {} and begin again",
                db.display(),
                path.display()
            ));
        }
        let journal = Journal::open(&db, manifest.fingerprint)
            .with_context(|| format!("cannot use {}", db.display()))?;
        let run = Self { path: path.into(), manifest, space, graph: None, journal, lock };
        run.check_counts()?;
        Ok(run)
    }

    /// Checks that the counts in the journal can be true: the shards of each layer add up to it, and no layer
    /// is too large to follow the one before.
    fn check_counts(&self) -> Result<()> {
        // Another process may commit a layer between the two queries, so the layers are read first.
        let layers = self.visited()?.layers;
        let totals = self.journal.totals(self.manifest.shards).context("cannot read run.db")?;
        let symmetries = self.space.symmetries().len() as u64;
        for (at, layer) in layers.iter().enumerate() {
            let totals = totals.get(&layer.depth).copied().unwrap_or_default();
            let counted =
                Classes::of(&totals, symmetries).map(|classes| (totals.states, totals.stored, classes));
            let classes = Classes { up_to_symmetry: layer.classes, with_inverse: layer.classes_with_inverse };
            if counted != Ok((layer.states, layer.stored, classes)) {
                return Err(anyhow!(
                    "run.db contradicts itself at depth {}: its shards add up to {totals:?} under {symmetries} symmetries, its layer is {layer:?}",
                    layer.depth
                ));
            }
            check_growth(layer, &layers[..at], &self.space).context("run.db cannot be true")?;
        }
        let watched = self.journal.watched().context("cannot read run.db")?;
        match watched.iter().filter_map(|state| state.depth).find(|depth| depth.0 as usize >= layers.len()) {
            Some(depth) => Err(anyhow!("run.db has a watched state at depth {depth}, which is not finished")),
            None => Ok(()),
        }
    }
}
