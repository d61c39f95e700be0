//! A worker's own directory, its store: `worker-id`, `lock`, `log.jsonl`, and a directory for each run. The
//! latter is named by the run's fingerprint, with `run.toml`, `layers/` and for large runs `cosets.bin`.

use anyhow::{Context, Result, anyhow};
use fathom_command::bad_input;
use fathom_command::exit::said_by_system;
use fathom_engine::directory::JOURNAL;
use fathom_engine::run::lock::{self, Lock};
use fathom_engine::run::{DEFINITION, Geometry, Owner, RunManifest, Task};
use fathom_engine::task::Store;
use fathom_layer::{Digest, Disk, create_directory_durably, tree_bytes};
use fathom_proto::WorkerId;
use std::fs;
use std::path::{Path, PathBuf};
use tracing::{info, warn};

const ID: &str = "worker-id";

/// The directory, locked by this process.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    id: WorkerId,
    _lock: Lock,
}

impl Home {
    /// Opens a worker's store, and creates it with a new id if necessary.
    ///
    /// # Errors
    /// If another process has locked the store, the id is damaged, or the file system fails.
    pub fn open(path: &Path, disk: &dyn Disk) -> Result<Self> {
        require_no_run(path)?;
        let failed = || format!("cannot use the store {}", path.display());
        create_directory_durably(path, disk).map_err(|error| {
            bad_input!("{}: {}. Choose another directory with --store", failed(), said_by_system(&error))
        })?;
        let lock = lock::exclusive(path).with_context(failed)?;
        let file = path.join(ID);
        let id = match fs::read_to_string(&file) {
            Ok(text) => parse(&text).ok_or_else(|| {
                anyhow!("{} is damaged: it does not contain 32 hexadecimal digits", file.display())
            })?,
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
        Ok(Self { path: path.into(), id, _lock: lock })
    }

    /// Returns the worker's id.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// Returns the directory of a run, and creates it if necessary.
    ///
    /// # Errors
    /// If the directory has the layers of another run, or cannot be created.
    pub fn of_run(&self, fingerprint: Digest, disk: &dyn Disk) -> Result<PathBuf> {
        let path = self.path.join(&fingerprint.to_string()[..16]);
        if let Some(owner) = Owner::of(&path)? {
            return Err(bad_input!(
                "{} contains the layers of the run in {}: choose another directory with --store",
                path.display(),
                owner.run.display()
            ));
        }
        create_directory_durably(&path, disk).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(path)
    }

    /// Returns the path of the log.
    pub fn log(&self) -> PathBuf {
        self.path.join("log.jsonl")
    }
}

/// Returns whether a directory is the store of a worker.
pub fn is_home(store: &Path) -> bool {
    store.join(ID).is_file()
}

/// Checks that a directory is not that of a run, because a worker would mistake the run's log and lock for
/// its own.
///
/// # Errors
/// If it has `run.db`.
pub fn require_no_run(store: &Path) -> Result<()> {
    match store.join(JOURNAL).exists() {
        true => Err(bad_input!(
            "{} is a run's directory, not a worker's store: choose another directory with --store",
            store.display()
        )),
        false => Ok(()),
    }
}

/// Removes the directory of a run in a worker's store, and returns the bytes of its files.
///
/// # Errors
/// If a file cannot be removed.
pub fn remove_run(directory: &Path) -> std::io::Result<u64> {
    let bytes = tree_bytes(directory)?;
    fs::remove_dir_all(directory)?;
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
pub fn recover(store: &Store<'_>, geometry: &Geometry, is_shared: bool) -> Result<Vec<Task>> {
    if is_shared {
        store.require_run(Digest(geometry.fingerprint))?;
    }
    let mut whole = Vec::new();
    for depth in store.depths()? {
        store.remove_unfinished(depth)?;
        for shard in store.shards(depth)?.into_iter().filter(|shard| shard.0 < geometry.cut.shards()) {
            let task = Task { depth, shard };
            match store.open_shard(geometry, depth, shard) {
                Ok(_) => whole.push(task),
                // Somebody has copied it here. It is kept for them.
                Err(error) if error.is_foreign() && !is_shared => {
                    store.set_aside(&store.path(depth, shard), "foreign")?;
                }
                Err(error) if error.is_damage() => {
                    warn!(%error, depth = depth.0, shard = shard.0, "damaged file discarded");
                    store.discard_wrong(geometry, task)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    info!(files = whole.len(), "store recovered");
    Ok(whole)
}
