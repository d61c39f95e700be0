//! A run's directory, with `run.toml`, `run.db`, `lock`, `log.jsonl`, `layers/` unless the layers are in a
//! store elsewhere, `cosets.bin` for large runs, and `watched.csv` if states are watched.
//!
//! The lock is created first, then the journal, and `run.toml` last, so creation can be interrupted at any
//! point: without `run.toml` there is no run yet, and creating it again is safe.

use crate::counts::{Classes, check_growth};
use crate::journal::{Journal, LayerRow, LayersAt};
use crate::layers_root::root_of_layers;
use crate::run::lock::{self, LOCK, Lock};
use crate::run::{DEFINITION, Depth, Owner, RunError, RunManifest, RunSpace};
use crate::shared_store;
use anyhow::{Context, Result, anyhow};
use fathom_command::bad_input;
use fathom_layer::writer::unfinished;
use fathom_layer::{Digest, Disk, LocalDisk, create_directory_durably};
use fathom_space::CosetGraph;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The name of the journal.
pub use crate::journal::NAME as JOURNAL;
/// The files that an interrupted creation may leave behind.
const LEFTOVERS: [&str; 4] = [LOCK, JOURNAL, "run.db-journal", "run.toml.tmp"];
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
    pub space: RunSpace,
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
    /// The number of states of the space, if it is known and below 2^64.
    pub all: Option<u64>,
    /// Whether every state was visited.
    pub is_complete: bool,
}

/// What exists at a path.
#[derive(Debug, PartialEq, Eq)]
pub enum Found {
    /// Nothing, an empty directory, or a run that was interrupted while its directory was created.
    Nothing,
    /// A run.
    Run,
    /// Something else.
    Other,
}

/// Determines what exists at a path, without changing anything.
///
/// # Errors
/// If the path cannot be read.
pub fn look(path: &Path) -> Result<Found> {
    match path.join(DEFINITION).try_exists() {
        Ok(true) => return Ok(Found::Run),
        Ok(false) => {}
        Err(error) if error.kind() == std::io::ErrorKind::NotADirectory => return Ok(Found::Other),
        Err(error) => return Err(error).with_context(|| format!("cannot access {}", path.display())),
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
        let space = manifest.open_space()?;
        Self::create_planned(path, manifest, (space, None), watched, None, disk)
    }

    /// Does the same as [`RunDirectory::create`] for a run whose space, and perhaps whose coset graph, is
    /// already known. The layers go into `store`, a new or empty directory, or else into the run's directory.
    ///
    /// # Errors
    /// The errors of [`RunDirectory::create`], and [`RunError::Store`] if the store is not empty or cannot be
    /// created.
    pub fn create_planned(
        path: &Path,
        manifest: RunManifest,
        (space, graph): (RunSpace, Option<Arc<CosetGraph>>),
        watched: &[Box<[u8]>],
        store: Option<&Path>,
        disk: &dyn Disk,
    ) -> Result<Self> {
        // The store comes first: without it, the run could not continue.
        let store = store.map(|store| make_store(store, disk)).transpose()?;
        let make = || -> Result<(Journal, Lock)> {
            create_directory_durably(path, disk)?;
            // Their targets would be created or deleted.
            LEFTOVERS.iter().try_for_each(|name| RunError::refuse_link(path.join(name)))?;
            let lock = lock::exclusive(path)?;
            // Another process may have started, and even ended, a run here since the caller looked.
            if look(path)? != Found::Nothing {
                return Err(bad_input!(
                    "another process has just started a run there. Repeat the command to continue that run"
                ));
            }
            for name in LEFTOVERS.iter().filter(|name| **name != LOCK) {
                if path.join(name).try_exists()? {
                    disk.remove(&path.join(name))?;
                }
            }
            let mut journal = Journal::create(&path.join(JOURNAL), manifest.fingerprint, watched)?;
            if let Some(store) = store {
                journal.set_layers_at(&LayersAt::Store(store))?;
            }
            let temporary = path.join(format!("{DEFINITION}.tmp"));
            let mut file = disk.create(&temporary)?;
            file.write_at(manifest.to_toml().as_bytes(), 0)?;
            file.sync()?;
            disk.rename(&temporary, &path.join(DEFINITION))?;
            disk.sync_directory(path)?;
            Ok((journal, lock))
        };
        let (journal, lock) =
            make().with_context(|| format!("cannot create the run directory {}", path.display()))?;
        Ok(Self { path: path.into(), manifest, space, graph, journal, lock: Some(lock) })
    }

    /// Opens and locks the directory of a run, to continue the run.
    ///
    /// # Errors
    /// If there is no run, another process holds it, or its files are missing or damaged.
    pub fn open(path: &Path) -> Result<Self> {
        let (manifest, space) = RunManifest::read_and_open(path)?;
        let lock = lock::exclusive(path)?;
        for left in unfinished(path).unwrap_or_default() {
            // A file that stays only takes space.
            let _ = LocalDisk.remove(&left);
        }
        Self::read(path, (manifest, space), Some(lock))
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

    /// Releases the lock, because this process only reads the run from now on.
    pub fn unlock(&mut self) {
        self.lock = None;
    }

    /// Returns the directory that has `layers/`; `None` if workers keep the layers.
    ///
    /// # Errors
    /// If the journal cannot be read, or names an unknown place.
    pub fn store_path(&self) -> Result<Option<PathBuf>> {
        Ok(match self.journal.layers_at().context("cannot read run.db")? {
            LayersAt::RunDirectory => Some(self.path.clone()),
            LayersAt::Store(path) => Some(path),
            LayersAt::Workers => None,
        })
    }

    /// Returns what [`RunDirectory::store_path`] does, and checks that a store elsewhere can be reached.
    ///
    /// # Errors
    /// The errors of [`RunDirectory::store_path`], and [`fathom_command::exit::BadInput`] if the store does
    /// not exist, or now belongs to another run.
    pub fn store(&self) -> Result<Option<PathBuf>> {
        if let LayersAt::Store(path) = self.journal.layers_at().context("cannot read run.db")? {
            shared_store::require_own(&self.journal, &self.path, &path)?;
        }
        self.store_path()
    }

    /// Returns the directory that has the run's layers, to which this process is about to write. A store
    /// elsewhere is [claimed](RunDirectory::claim).
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if workers keep the layers, and the errors of
    /// [`RunDirectory::claim`].
    pub fn claim_layers(&mut self, disk: &dyn Disk) -> Result<PathBuf> {
        if let LayersAt::Store(store) = self.journal.layers_at().context("cannot read run.db")? {
            self.claim(&store, disk)?;
        }
        root_of_layers(&self.journal, &self.path)
    }

    /// Takes a store for this run, which is about to write there: the store gets the run's mark.
    ///
    /// # Errors
    /// [`fathom_command::exit::BadInput`] if the store does not exist, belongs to another run, or has layers
    /// of another run.
    pub fn claim(&mut self, store: &Path, disk: &dyn Disk) -> Result<()> {
        let run = (&*self.path, self.manifest.fingerprint);
        shared_store::claim(&mut self.journal, run, store, disk)
    }

    /// Returns the directories with the run's files: its own, and that of its layers if it is another one.
    ///
    /// # Errors
    /// If the journal cannot be read, or names an unknown place.
    pub fn directories(&self) -> Result<Vec<PathBuf>> {
        let store = self.store_path()?.filter(|store| *store != self.path);
        Ok(std::iter::once(self.path.clone()).chain(store).collect())
    }

    /// Returns the digests of the shards of a finished layer, in order.
    ///
    /// # Errors
    /// If the journal cannot be read, or lacks a shard.
    pub fn digests(&self, depth: Depth) -> Result<Vec<Digest>> {
        self.journal.digests(depth, self.manifest.shards)
    }

    /// Returns the states visited so far, according to the journal.
    ///
    /// # Errors
    /// If the journal cannot be read, has a layer without states, or counts more states than the space has.
    pub fn visited(&self) -> Result<Visited> {
        let layers = self.journal.layers().context("cannot read run.db")?;
        let all = self.space.states().and_then(|states| u64::try_from(states).ok());
        if let Some(layer) = layers.iter().find(|layer| layer.states == 0) {
            return Err(anyhow!("run.db has no states at depth {}: do not use this run", layer.depth));
        }
        let visited = layers
            .iter()
            .try_fold(0_u64, |sum, layer| sum.checked_add(layer.states))
            .filter(|&visited| all.is_none_or(|all| visited <= all))
            .with_context(|| {
                let all = all.unwrap_or(u64::MAX);
                format!("run.db counts more states than the {all} of the space: do not use this run")
            })?;
        let is_complete = match &self.space {
            RunSpace::Cosets(_) => all == Some(visited),
            RunSpace::Lists(_) => self.journal.is_complete().context("cannot read run.db")?,
        };
        Ok(Visited { layers, visited, all, is_complete })
    }

    /// Returns the number of states of the space of a run by cosets.
    ///
    /// # Errors
    /// If the space has 2^64 states or more, or the run lists states.
    pub fn all_states(&self) -> Result<u64> {
        u64::try_from(self.space.cosets()?.states()).context("the space has 2^64 states or more")
    }

    fn read(path: &Path, (manifest, space): (RunManifest, RunSpace), lock: Option<Lock>) -> Result<Self> {
        let db = path.join(JOURNAL);
        if !db.try_exists()? {
            return Err(anyhow!(
                "{} is missing. It records which layers of the run are finished: restore it from a backup, or remove {} and start again",
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

    /// Checks that the counts in the journal are possible: the shards of each layer add up to it, and no
    /// layer is too large to follow the one before.
    fn check_counts(&self) -> Result<()> {
        // Another process may commit a layer between the two queries, so the layers are read first.
        let layers = self.visited()?.layers;
        let totals = self.journal.totals(self.manifest.shards).context("cannot read run.db")?;
        let symmetries = self.space.word_symmetries();
        for (at, layer) in layers.iter().enumerate() {
            let totals = totals.get(&layer.depth).copied().unwrap_or_default();
            let counted =
                Classes::new(&totals, symmetries).map(|classes| (totals.states, totals.stored, classes));
            let classes = Classes { up_to_symmetry: layer.classes, with_inverse: layer.classes_with_inverse };
            if counted != Ok((layer.states, layer.stored, classes)) {
                return Err(anyhow!(
                    "run.db contradicts itself at depth {}: its shards add up to {totals:?} under {symmetries} symmetries, but its layer is {layer:?}",
                    layer.depth
                ));
            }
            check_growth(layer, &layers[..at], &self.space).context("run.db is wrong")?;
        }
        let watched = self.journal.watched().context("cannot read run.db")?;
        match watched.iter().filter_map(|state| state.depth).find(|depth| depth.0 as usize >= layers.len()) {
            Some(depth) => Err(anyhow!("run.db has a watched state at depth {depth}, which is not finished")),
            None => Ok(()),
        }
    }
}

/// Creates the directory of a store durably, if it does not exist. Returns its absolute path.
fn make_store(store: &Path, disk: &dyn Disk) -> Result<PathBuf, RunError> {
    let refused = |reason: String| RunError::Store { path: store.into(), reason };
    if let Some(owner) = Owner::of(store)? {
        let run = owner.run.display();
        return Err(refused(format!(
            "it belongs to the run in {run}. Delete it if that run no longer needs it, or use another directory"
        )));
    }
    match fs::read_dir(store).map(|mut entries| entries.next()) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error.to_string())),
        Ok(None) => {}
        Ok(Some(entry)) => {
            let name = entry.map_err(|error| refused(error.to_string()))?.file_name();
            return Err(refused(format!("it is not empty: it contains {}", Path::new(&name).display())));
        }
    }
    let make = || {
        create_directory_durably(store, disk)?;
        std::path::absolute(store)
    };
    let path = make().map_err(|error| refused(error.to_string()))?;
    match path.to_str() {
        Some(_) => Ok(path),
        None => Err(refused("its path is not UTF-8".into())),
    }
}
