//! A worker's own directory: `worker-id`, `lock`, `log.jsonl`, and for each run a directory named by its
//! fingerprint, with `run.toml`, `layers/` and for large runs `cosets.bin`.

use anyhow::{Context, Result, anyhow};
use fathom_layer::{Digest, Disk};
use fathom_run::WorkerId;
use fathom_run::lock::{self, Lock};
use fathom_run::manifest::{DEFINITION, RunManifest};
use fathom_run::{Geometry, Task};
use fathom_task::Store;
use std::fs;
use std::path::{Path, PathBuf};
use tracing::{info, warn};

const ID: &str = "worker-id";

/// The directory, held by this process alone.
#[derive(Debug)]
pub struct Home {
    path: PathBuf,
    id: WorkerId,
    _lock: Lock,
}

impl Home {
    /// Opens the directory, or makes it.
    ///
    /// # Errors
    /// If another process holds it, or the file system refuses.
    pub fn open(path: &Path, disk: &dyn Disk) -> Result<Self> {
        let failed = || format!("cannot use the store {}", path.display());
        disk.create_directory(path).with_context(failed)?;
        let lock = lock::exclusive(path).with_context(failed)?;
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
        Ok(Self { path: path.into(), id, _lock: lock })
    }

    /// The worker's name among workers.
    pub fn id(&self) -> WorkerId {
        self.id
    }

    /// The directory of a run in it.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn of_run(&self, fingerprint: Digest, disk: &dyn Disk) -> Result<PathBuf> {
        let path = self.path.join(&fingerprint.to_string()[..16]);
        disk.create_directory(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(path)
    }

    /// The log.
    pub fn log(&self) -> PathBuf {
        self.path.join("log.jsonl")
    }
}

/// Whether a directory is one that a worker was given as its store.
pub fn is_store(path: &Path) -> bool {
    path.join(ID).is_file()
}

/// Keeps what a run enumerates in its directory in the store, so that its files can be checked there.
///
/// # Errors
/// If the disk refuses.
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

/// What a process that was killed has left in a store: unfinished files are removed, and of the whole ones it
/// is told which there are. One that cannot be opened is removed too: it was damaged since.
///
/// # Errors
/// If the store cannot be read, or the disk refuses.
pub fn recover(store: &Store<'_>, geometry: &Geometry) -> Result<Vec<Task>> {
    let mut whole = Vec::new();
    for depth in store.depths()? {
        store.remove_unfinished(depth)?;
        for shard in store.shards(depth)?.into_iter().filter(|shard| shard.0 < geometry.cut.shards()) {
            let task = Task { depth, shard };
            match store.open_shard(geometry, depth, shard) {
                Ok(_) => whole.push(task),
                Err(error) if error.is_damage() => {
                    warn!(%error, depth = depth.0, shard = shard.0, "damaged file discarded");
                    store.discard(task)?;
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
    info!(files = whole.len(), "store recovered");
    Ok(whole)
}
