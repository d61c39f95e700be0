//! A worker's own directory: `worker-id`, `lock`, `log.jsonl`, and a directory for each run. The latter is
//! named by the run's fingerprint, with `run.toml`, `layers/` and for large runs `cosets.bin`. If the worker
//! has several stores, the others have `lock`, and a directory for each run with `layers/`.

use anyhow::{Context, Result, anyhow};
use fathom_command::bad_input;
use fathom_engine::directory::JOURNAL;
use fathom_engine::run::lock::{self, Lock};
use fathom_engine::run::stores::{self, LAYERS};
use fathom_engine::run::{DEFINITION, RunManifest};
use fathom_engine::run::{Geometry, RunError, Stores, Task};
use fathom_engine::task::Store;
use fathom_layer::{Digest, Disk, tree_bytes};
use fathom_proto::WorkerId;
use std::fs;
use std::path::{Path, PathBuf};
use tracing::{info, warn};

const ID: &str = "worker-id";

/// The directory, locked by this process.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    /// The other stores.
    others: Vec<PathBuf>,
    id: WorkerId,
    _locks: Vec<Lock>,
}

impl Home {
    /// Opens a worker's stores, and creates them with a new id if necessary. The one with the id is the
    /// worker's own directory; of new stores the first. That another store cannot be used is no error.
    ///
    /// # Errors
    /// If a store is given twice, another process has locked one, the id is damaged, or the file system
    /// fails.
    ///
    /// # Panics
    /// If there are no stores.
    pub fn open(stores: &[PathBuf], disk: &dyn Disk) -> Result<Self> {
        stores::require_distinct(stores)?;
        stores.iter().try_for_each(|store| require_no_run(store))?;
        let own = of(stores)?;
        if own.is_none()
            && let Some((store, root)) = stores.iter().find_map(|path| Some((path, root_of(path)?)))
        {
            // With an id of its own the store would be lost to the worker that has it.
            let reason = format!("it is a store of {}: name the worker's first store, too", root.display());
            return Err(RunError::Store { path: store.clone(), reason }.into());
        }
        let path = &*own.unwrap_or_else(|| stores[0].clone());
        let failed = || format!("cannot use the store {}", path.display());
        stores::make_directory(path, disk).with_context(failed)?;
        let mut locks = vec![lock::exclusive(path).with_context(failed)?];
        let others: Vec<PathBuf> = stores.iter().filter(|store| *store != path).cloned().collect();
        for other in &others {
            let _ = stores::make_directory(other, disk);
            match lock::exclusive(other) {
                Ok(lock) => locks.push(lock),
                Err(error @ RunError::Busy { .. }) => return Err(error.into()),
                Err(error) => warn!(path = %other.display(), %error, "a store cannot be locked"),
            }
        }
        let file = path.join(ID);
        let id = match fs::read_to_string(&file) {
            Ok(text) => parse(&text)
                .ok_or_else(|| anyhow!("{} is damaged: it is not 32 hexadecimal digits", file.display()))?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let id = WorkerId(uuid::Uuid::new_v4().into_bytes());
                let text = uuid::Uuid::from_bytes(id.0).simple().to_string();
                let temporary = fathom_layer::writer::temporary(&file);
                let write = || -> std::io::Result<()> {
                    let mut new = disk.create(&temporary)?;
                    new.write_at(text.as_bytes(), 0)?;
                    new.sync()?;
                    disk.rename(&temporary, &file)?;
                    disk.sync_directory(path)
                };
                write().with_context(failed)?;
                id
            }
            Err(error) => return Err(error).with_context(failed),
        };
        Ok(Self { path: path.into(), others, id, _locks: locks })
    }

    /// Returns the worker's id.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// Returns the directory of a run, and creates it if necessary.
    ///
    /// # Errors
    /// If the directory cannot be created.
    pub fn of_run(&self, fingerprint: Digest, disk: &dyn Disk) -> Result<PathBuf> {
        let path = self.path.join(&fingerprint.to_string()[..16]);
        stores::make_directory(&path, disk).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    /// Returns the stores for a run's layers, and begins or completes their list if there are several.
    ///
    /// # Errors
    /// If the layers of the run do not lie in these stores.
    pub fn stores(&self, fingerprint: Digest, disk: &dyn Disk) -> Result<Stores, RunError> {
        let given: Vec<PathBuf> = std::iter::once(&self.path).chain(&self.others).cloned().collect();
        let given = stores::of_run(&given, fingerprint);
        let (root, others) = given.split_first().expect("the own directory is the first");
        let mut known = Stores::of(root)?;
        match (known.are_listed(), others.is_empty()) {
            (false, true) => {
                if let Some(other) = stores::root_of_store(root) {
                    let reason = format!("it is one of several stores, and {} is the first", other.display());
                    return Err(RunError::Store { path: root.clone(), reason });
                }
            }
            (false, false) => {
                if has_layers(root) {
                    let reason = "it has layers of the run, which were not spread over several stores: name it alone, or start another worker with the others".into();
                    return Err(RunError::Store { path: root.clone(), reason });
                }
                stores::make(others, disk)?;
                known = Stores::create(root, &given, disk)?;
                known.claim(disk)?;
            }
            (true, _) => {
                known.arrange(&given, true, disk)?;
                if !known.directories().iter().any(|store| has_layers(store)) {
                    // The worker may have been interrupted before its stores were made.
                    known.claim(disk)?;
                }
            }
        }
        Ok(known)
    }

    /// Returns the path of the log.
    pub fn log(&self) -> PathBuf {
        self.path.join("log.jsonl")
    }
}

/// Checks that a directory is not that of a run, whose log and lock a worker would take for its own.
///
/// # Errors
/// If it has `run.db`.
pub fn require_no_run(store: &Path) -> Result<()> {
    match store.join(JOURNAL).exists() {
        true => Err(bad_input!(
            "{} is the directory of a run, and no worker's store: name another directory with --store",
            store.display()
        )),
        false => Ok(()),
    }
}

/// Returns the one of a worker's stores that has the worker's id; `None` if none has one.
///
/// # Errors
/// If several have an id.
pub fn of(stores: &[PathBuf]) -> Result<Option<PathBuf>> {
    let mut own = stores.iter().filter(|path| path.join(ID).is_file());
    match (own.next(), own.next()) {
        (Some(one), Some(other)) => Err(bad_input!(
            "{} and {} are stores of two workers, and cannot be stores of one: name one of them, and new directories",
            one.display(),
            other.display()
        )),
        (own, _) => Ok(own.cloned()),
    }
}

/// Returns the root of the first run of which a directory is one of several stores; `None` if there is none.
fn root_of(store: &Path) -> Option<PathBuf> {
    let mut entries = fs::read_dir(store).ok()?.flatten();
    entries.find_map(|entry| stores::root_of_store(&entry.path()))
}

/// Returns whether there are directories of layers in a store.
fn has_layers(store: &Path) -> bool {
    fs::read_dir(store.join(LAYERS)).is_ok_and(|mut layers| layers.next().is_some())
}

/// Returns the bytes that a run's files take in the stores of a worker, of which `root` is the run's
/// directory in the first.
///
/// # Errors
/// If a directory cannot be read.
pub fn bytes_of_run(root: &Path) -> std::io::Result<u64> {
    let stores = Stores::of(root).map_err(std::io::Error::other)?;
    let there = stores.outside().into_iter().filter(|(_, is_there)| is_there.is_ok());
    let outside = there.map(|(path, _)| tree_bytes(path)).sum::<std::io::Result<u64>>()?;
    Ok(outside + tree_bytes(root)?)
}

/// Removes the files of a run from the stores of a worker, of which `root` is the run's directory in the
/// first, and returns their bytes. A store that is not there keeps its files.
///
/// # Errors
/// If a file cannot be removed.
pub fn remove_run(root: &Path) -> std::io::Result<u64> {
    let bytes = bytes_of_run(root)?;
    for (path, is_there) in Stores::of(root).map_err(std::io::Error::other)?.outside() {
        match is_there {
            Ok(()) => stores::remove(path)?,
            Err(reason) => {
                warn!(path = %path.display(), reason, "a store is not there, and keeps what it holds")
            }
        }
    }
    fs::remove_dir_all(root)?;
    Ok(bytes)
}

/// Writes the definition of a run into its directory in the store, so that the files can be verified there.
///
/// # Errors
/// If the file cannot be written.
pub fn keep_definition(directory: &Path, manifest: &RunManifest, disk: &dyn Disk) -> Result<()> {
    let (path, text) = (directory.join(DEFINITION), manifest.to_toml());
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let temporary = fathom_layer::writer::temporary(&path);
    let write = || -> std::io::Result<()> {
        let mut new = disk.create(&temporary)?;
        new.write_at(text.as_bytes(), 0)?;
        new.sync()?;
        disk.rename(&temporary, &path)?;
        disk.sync_directory(directory)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

fn parse(text: &str) -> Option<WorkerId> {
    uuid::Uuid::try_parse(text.trim()).ok().map(|id| WorkerId(id.into_bytes()))
}

/// Removes the unfinished files that a killed process left in a store, and files that cannot be opened
/// because they are damaged. Returns the complete files.
///
/// # Errors
/// If the store cannot be read, or a file cannot be removed.
pub fn recover(store: &Store<'_>, geometry: &Geometry) -> Result<Vec<Task>> {
    store.require_run(Digest(geometry.fingerprint))?;
    let mut whole = Vec::new();
    for depth in store.depths()? {
        store.remove_unfinished(depth)?;
        for shard in store.shards(depth)?.into_iter().filter(|shard| shard.0 < geometry.cut.shards()) {
            let task = Task { depth, shard };
            match store.open_shard(geometry, depth, shard) {
                Ok(_) => whole.push(task),
                Err(error) if error.is_damage() => {
                    warn!(%error, depth = depth.0, shard = shard.0, "damaged file discarded");
                    store.discard_wrong(geometry, task)?;
                }
                // Of several stores one has failed just now, and the others go on.
                Err(_) if store.failure(shard).is_some() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    info!(files = whole.len(), "store recovered");
    Ok(whole)
}
