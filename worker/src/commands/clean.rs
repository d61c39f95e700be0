//! `fathom-worker clean`: lists and removes the files of runs in a store.

use crate::arguments::CleanArguments;
use crate::cluster::store_directory;
use anyhow::{Context, Result};
use fathom_command::{bad_input, output};
use fathom_engine::run::{DEFINITION, RunManifest, lock};
use fathom_layer::tree_bytes;
use indicatif::HumanBytes;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Length of the name of a run's directory in a store, in hexadecimal digits of the fingerprint.
const DIGITS: usize = 16;

/// The files of one run in a store.
struct Held {
    path: PathBuf,
    run: String,
    /// The space, or the reason why it is unknown.
    space: String,
    bytes: u64,
}

pub(crate) fn clean(args: &CleanArguments) -> Result<()> {
    let store = &*args.store;
    let path = store.display();
    if !store.exists() {
        return Err(bad_input!("cannot clean {path}: No such file or directory"));
    }
    store_directory::require_no_run(store)?;
    if !store_directory::is_home(store) {
        return Err(bad_input!(
            "{path} is not a worker's store, and was not changed. Pass the directory that a worker was given with --store"
        ));
    }
    // A running worker would write to the store.
    let _lock = lock::exclusive(store)?;
    let mut held = held(store)?;
    if let Some(unknown) = args.run.iter().find(|asked| !held.iter().any(|held| held.run.starts_with(*asked)))
    {
        let there: Vec<&str> = held.iter().map(|held| held.run.as_str()).collect();
        return Err(bad_input!(
            "{path} has no files of a run {unknown:?}. Its runs are: {}",
            there.join(", ")
        ));
    }
    held.retain(|held| args.run.is_empty() || args.run.iter().any(|asked| held.run.starts_with(asked)));
    if !args.dry_run {
        for Held { path, .. } in &held {
            store_directory::remove_run(path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        if args.all {
            remove_rest(store)?;
        }
    }
    let bytes: u64 = held.iter().map(|held| held.bytes).sum();
    if args.json {
        let runs = held.iter().map(|held| json!({"run": held.run, "space": held.space, "bytes": held.bytes}));
        let json = json!({"removed": !args.dry_run, "bytes": bytes, "runs": runs.collect::<Vec<_>>()});
        return output::line(&json.to_string());
    }
    for Held { run, space, bytes, .. } in &held {
        output::line(&format!("{:>12}  {run}  {space}", HumanBytes(*bytes).to_string()))?;
    }
    output::line(&match (held.is_empty(), args.dry_run) {
        (true, _) => "nothing to remove".into(),
        (_, true) => format!("{} would be removed", HumanBytes(bytes)),
        (_, false) => format!(
            "{} removed; the results are in the coordinator's directory of each run",
            HumanBytes(bytes)
        ),
    })
}

/// Returns the runs with a directory in a store, in order.
fn held(store: &Path) -> Result<Vec<Held>> {
    let failed = || format!("cannot list {}", store.display());
    let mut all = Vec::new();
    for entry in fs::read_dir(store).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_run = name.len() == DIGITS && name.bytes().all(|digit| digit.is_ascii_hexdigit());
        if !is_run || !path.symlink_metadata().with_context(failed)?.is_dir() {
            continue;
        }
        let space = match path.join(DEFINITION).exists() {
            true => RunManifest::read(&path).map_or_else(
                |error| error.to_string(),
                |manifest| format!("{} {}", manifest.spec.source.name(), manifest.spec.metric),
            ),
            false => "unknown".into(),
        };
        let bytes = tree_bytes(&path).with_context(|| format!("cannot list {}", path.display()))?;
        all.push(Held { path, run: name, space, bytes });
    }
    all.sort_by(|a, b| a.run.cmp(&b.run));
    Ok(all)
}

/// Removes the worker's id and logs. Other files there are not Fathom's.
fn remove_rest(store: &Path) -> Result<()> {
    for entry in fs::read_dir(store).with_context(|| format!("cannot list {}", store.display()))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_ours = ["worker-id", lock::LOCK].contains(&name.as_str())
            || name.starts_with("log.") && name.ends_with("jsonl");
        if is_ours {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    // Fails if the directory has other files, which are kept.
    let _ = fs::remove_dir(store);
    Ok(())
}
