//! `fathom remove`: deletes the layers of a run; its results stay unless `--all` is given.

use crate::arguments::RemoveArguments;
use anyhow::{Context, Result};
use fathom_command::{bad_input, output};
use fathom_engine::directory::{Found, JOURNAL, RunDirectory, Visited, look};
use fathom_engine::journal::{Files, LayersAt};
use fathom_layer::tree_bytes;
use fathom_layer::writer::unfinished;
use fathom_proto::access::{local, page};
use fathom_run::Stores;
use fathom_run::lock::{self, LOCK, Lock};
use fathom_run::manifest::DEFINITION;
use fathom_run::stores::{self, LIST};
use indicatif::HumanBytes;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// The files that a search needs and the results do not. The list of stores goes when they are removed.
const DATA: [&str; 5] = ["layers", "workers", "cosets.bin", "stores.toml.tmp", LIST];
/// The other files that Fathom makes in a run's directory.
const RESULTS: [&str; 10] = [
    "watched.csv",
    "logs",
    "log.jsonl",
    "log.1.jsonl",
    "log.2.jsonl",
    "log.3.jsonl",
    "log.4.jsonl",
    "at-work.json",
    local::NAME,
    page::NAME,
];
/// The files that are deleted last, in this order. Only the lock is deleted after the definition, so that
/// what an interrupted removal leaves is still a run.
const LAST: [&str; 4] = ["run.db-journal", JOURNAL, DEFINITION, LOCK];

pub(crate) fn remove(args: &RemoveArguments) -> Result<()> {
    let path = &args.dir;
    if !path.exists() {
        return Err(bad_input!("cannot remove {}: No such file or directory", path.display()));
    }
    if look(path)? != Found::Run {
        return Err(bad_input!("{} holds no run, and was left as it is", path.display()));
    }
    let _lock = lock::exclusive(path)?;
    // The stores are locked too, so that no running worker loses its store.
    let _stores = stores(path)?;
    let names: Vec<&str> = match args.all {
        true => DATA.into_iter().chain(RESULTS).chain(LAST).collect(),
        false => DATA.into(),
    };
    let list = Stores::of(path)?;
    list.require_no_copy()?;
    let mut stores = Vec::new();
    for (store, is_there) in list.outside() {
        match is_there {
            Ok(()) => stores.push(store.to_owned()),
            Err(reason) => output::warning(&format!("{} keeps what it holds: {reason}", store.display())),
        }
    }
    let unfinished = unfinished(path).with_context(|| format!("cannot list {}", path.display()))?;
    let own = unfinished.into_iter().chain(names.iter().map(|name| path.join(name)));
    let there: Vec<(PathBuf, u64)> = stores
        .iter()
        .cloned()
        .chain(own)
        .filter(|path| path.symlink_metadata().is_ok())
        .map(|path| Ok((path.clone(), bytes_of(&path)?)))
        .collect::<Result<_>>()?;
    if !args.dry_run {
        if !args.all {
            note_removal(path)?;
        }
        // What is damaged can be removed, too.
        let layers_at = RunDirectory::open_for_reading(path).and_then(|run| run.journal.layers_at());
        if let Ok(LayersAt::SharedStore(store)) = layers_at {
            output::remark(&format!("its layers lie in {}, and stay there", store.display()));
        }
        for (path, _) in &there {
            let removed = match path.symlink_metadata()?.is_dir() {
                true if stores.contains(path) => stores::remove(path),
                true => fs::remove_dir_all(path),
                false => fs::remove_file(path),
            };
            removed.with_context(|| format!("cannot remove {}", path.display()))?;
        }
        if args.all {
            // This fails if there are other files, which are not Fathom's and stay.
            let _ = fs::remove_dir(path);
        }
    }
    tell(args, &there)
}

/// Notes in the journal that no layer is kept. Returns an error if the run is not complete, because then it
/// cannot go on without its layers.
fn note_removal(path: &Path) -> Result<()> {
    let mut run = RunDirectory::open_for_reading(path)?;
    let Visited { layers, visited, all } = run.visited()?;
    if visited < all {
        return Err(bad_input!(
            "the run in {path} is not complete, and cannot go on without its layers: nothing was removed; --all removes the results too, and the command with which the run began goes on with it",
            path = path.display()
        ));
    }
    for layer in layers.iter().filter(|layer| layer.files != Files::Removed) {
        run.journal.set_files(layer.depth, Files::Removed).context("cannot write run.db")?;
    }
    Ok(())
}

/// Locks the stores of the workers that `fathom run --workers` started.
fn stores(path: &Path) -> Result<Vec<Lock>> {
    let Ok(entries) = fs::read_dir(path.join("workers")) else {
        return Ok(Vec::new());
    };
    let paths = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<Vec<PathBuf>>>()?;
    paths.iter().filter(|path| path.is_dir()).map(|path| Ok(lock::exclusive(path)?)).collect()
}

fn bytes_of(path: &Path) -> Result<u64> {
    let metadata = path.symlink_metadata().with_context(|| format!("cannot look at {}", path.display()))?;
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
            "; run.toml, run.db and logs stay, from which 'fathom status' and 'fathom report' tell the results"
        }
    };
    output::line(&format!("{said}{rest}"))
}
