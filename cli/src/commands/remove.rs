//! `fathom remove`: deletes the layers of a run. Its results are kept unless `--all` is given.

use crate::arguments::{RemoveArguments, served_options};
use anyhow::{Context, Result};
use fathom_begin::new_run::store_of_run;
use fathom_command::{bad_input, output};
use fathom_engine::directory::{Found, JOURNAL, RunDirectory, Visited, look};
use fathom_engine::journal::{Files, LayersAt};
use fathom_engine::run::lock::{self, LOCK, Lock};
use fathom_engine::run::{DEFINITION, OWNER};
use fathom_engine::shared_store;
use fathom_engine::task::LAYERS;
use fathom_layer::tree_bytes;
use fathom_layer::writer::unfinished;
use fathom_proto::access::{local_token, page};
use indicatif::HumanBytes;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that are needed for a search but not for its results.
const DATA: [&str; 3] = [LAYERS, "workers", "cosets.bin"];
/// The files of the run in a store outside its directory. The owner mark is deleted last, because it shows
/// that the others belong to this run.
const IN_STORE: [&str; 3] = [LAYERS, "cosets.bin", OWNER];
/// The other files that Fathom creates in a run's directory.
const RESULTS: [&str; 11] = [
    "watched.csv",
    "logs",
    "log.jsonl",
    "log.1.jsonl",
    "log.2.jsonl",
    "log.3.jsonl",
    "log.4.jsonl",
    "at-work.json",
    served_options::NAME,
    local_token::NAME,
    page::NAME,
];
/// The files that are deleted last, in this order. Only the lock is deleted after the definition, so that an
/// interrupted removal leaves a directory that is still recognised as a run.
const LAST: [&str; 4] = ["run.db-journal", JOURNAL, DEFINITION, LOCK];

pub(crate) fn remove(args: &RemoveArguments) -> Result<()> {
    let path = &args.dir;
    if !path.exists() {
        return Err(bad_input!("cannot remove {}: No such file or directory", path.display()));
    }
    if look(path)? != Found::Run {
        return Err(bad_input!("{} is not a run directory; nothing was removed", path.display()));
    }
    let _lock = lock::exclusive(path)?;
    // The workers' stores are locked too, so that no running worker loses its store.
    let _workers = lock_workers(path)?;
    let names: Vec<&str> = match args.all {
        true => DATA.into_iter().chain(RESULTS).chain(LAST).collect(),
        false => DATA.into(),
    };
    let store = store(path)?;
    let in_store = store.as_deref().map(|store| (store, &IN_STORE[..]));
    let mut paths = Vec::new();
    for (directory, names) in in_store.into_iter().chain([(&**path, &*names)]) {
        let unfinished = unfinished(directory);
        paths.extend(unfinished.with_context(|| format!("cannot list {}", directory.display()))?);
        paths.extend(names.iter().map(|name| directory.join(name)));
    }
    let there: Vec<(PathBuf, u64)> = paths
        .into_iter()
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| Ok((path.clone(), bytes_of(&path)?)))
        .collect::<Result<_>>()?;
    if !args.dry_run {
        if !args.all {
            note_removal(path)?;
        }
        for (path, _) in &there {
            let removed = match path.symlink_metadata()?.is_dir() {
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            };
            removed.with_context(|| format!("cannot remove {}", path.display()))?;
        }
        for directory in store.iter().chain(args.all.then_some(path)) {
            // This fails if there are other files. They are not Fathom's, so they are kept.
            let _ = fs::remove_dir(directory);
        }
    }
    tell(args, &there)
}

/// Returns the directory that `fathom run --store` created for the layers of a run, if it has the run's owner
/// mark. Layers in a directory created by the user, which hosts may share, are kept.
///
/// # Errors
/// If the run's directory is a copy of the one that owns these layers.
fn store(path: &Path) -> Result<Option<PathBuf>> {
    // A damaged run can be removed, too.
    let Ok(run) = RunDirectory::open_for_reading(path) else {
        output::remark(
            "the run's files are damaged; if it has layers in another directory, they are not removed",
        );
        return Ok(None);
    };
    let LayersAt::Store(store) = run.journal.layers_at().context("cannot read run.db")? else {
        return Ok(None);
    };
    let fingerprint = run.manifest.fingerprint;
    if store.parent().is_none_or(|parent| store_of_run(parent, fingerprint) != store) {
        output::remark(&format!("layers in {} are not removed", store.display()));
        return Ok(None);
    }
    if shared_store::is_owned(&run.journal, (path, fingerprint), &store)? {
        return Ok(Some(store));
    }
    if run.visited()?.layers.iter().any(|layer| layer.files != Files::Removed) {
        output::remark(&format!(
            "layers in {} are not removed: the directory is not marked as belonging to this run, or its disk is not mounted",
            store.display()
        ));
    }
    Ok(None)
}

/// Records in the journal that no layer is kept. Returns an error if the run is not complete, because it then
/// cannot continue without its layers.
fn note_removal(path: &Path) -> Result<()> {
    let mut run = RunDirectory::open_for_reading(path)?;
    let Visited { layers, is_complete, .. } = run.visited()?;
    if !is_complete {
        return Err(bad_input!(
            "the run in {path} is not complete and needs its layers to continue; nothing was removed. Remove it with its results with --all, or complete it with the command that started it",
            path = path.display()
        ));
    }
    for layer in layers.iter().filter(|layer| layer.files != Files::Removed) {
        run.journal.set_files(layer.depth, Files::Removed).context("cannot write run.db")?;
    }
    Ok(())
}

/// Locks the stores of the workers that `fathom run --workers` started.
fn lock_workers(path: &Path) -> Result<Vec<Lock>> {
    let Ok(entries) = fs::read_dir(path.join("workers")) else {
        return Ok(Vec::new());
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.iter().filter(|path| path.is_dir()).map(|path| Ok(lock::exclusive(path)?)).collect()
}

fn bytes_of(path: &Path) -> Result<u64> {
    let metadata = path.symlink_metadata().with_context(|| format!("cannot read {}", path.display()))?;
    match metadata.is_dir() {
        true => tree_bytes(path).with_context(|| format!("cannot list {}", path.display())),
        false => Ok(metadata.len()),
    }
}

fn tell(args: &RemoveArguments, there: &[(PathBuf, u64)]) -> Result<()> {
    let bytes: u64 = there.iter().map(|(_, bytes)| bytes).sum();
    if args.json {
        let files: Vec<_> = there
            .iter()
            .map(|(path, bytes)| json!({"path": path.display().to_string(), "bytes": bytes}))
            .collect();
        return output::line(&json!({"removed": !args.dry_run, "bytes": bytes, "files": files}).to_string());
    }
    for (path, bytes) in there {
        output::line(&format!("{:>12}  {}", HumanBytes(*bytes).to_string(), path.display()))?;
    }
    let said = match (args.dry_run, there.is_empty()) {
        (_, true) => "nothing to remove".into(),
        (true, _) => format!("{} would be removed", HumanBytes(bytes)),
        (false, _) => format!("{} removed", HumanBytes(bytes)),
    };
    let rest = match args.all {
        true => "",
        false => {
            "; run.toml, run.db and the logs are kept, so 'fathom status' and 'fathom report' still show the results"
        }
    };
    output::line(&format!("{said}{rest}"))
}
