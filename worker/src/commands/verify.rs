//! `fathom-worker verify`: what a worker holds, checked where it lies.

use crate::arguments::VerifyArguments;
use anyhow::{Context, Result, anyhow};
use fathom_command::{bad_input, output};
use fathom_engine::verify::{Verified, verify_store};
use fathom_layer::LocalDisk;
use fathom_run::definition::DEFINITION;
use fathom_run::{Definition, lock};
use fathom_task::Store;
use fathom_worker::cluster::home;
use indicatif::{HumanBytes, HumanCount};
use std::fs;
use std::path::PathBuf;

pub(crate) fn verify(asked: &VerifyArguments) -> Result<()> {
    let path = asked.store.display();
    if !home::is_store(&asked.store) {
        return Err(bad_input!(
            "{path} is no store of a worker: name the directory that it was given with --store"
        ));
    }
    // A worker would delete files while they are read.
    let _lock = lock::exclusive(&asked.store)?;
    let runs = runs(asked)?;
    let mut all = Verified::default();
    for run in &runs {
        let definition = match run.join(DEFINITION).try_exists()? {
            true => Definition::read(run)?,
            false => {
                return Err(anyhow!(
                    "{} has no {DEFINITION}, so that nobody knows here what its files must hold: a worker writes it when it joins the run",
                    run.display()
                ));
            }
        };
        let Verified { layers, files, bytes, states } =
            verify_store(&definition, &Store::new(run, &LocalDisk))
                .with_context(|| format!("the files in {} are not what was written", run.display()))?;
        all.layers += layers;
        all.files += files;
        all.bytes += bytes;
        all.states += states;
    }
    let verified = all.files > 0;
    if asked.json {
        let json = serde_json::json!({
            "verified": verified,
            "runs": runs.len(),
            "files": all.files,
            "bytes": all.bytes,
            "states": all.states,
        });
        output::line(&json.to_string())?;
    }
    if !verified {
        return Err(anyhow!("nothing could be verified: there are no layer files in {path}"));
    }
    if asked.json {
        return Ok(());
    }
    output::line(&format!(
        "verified: {} files ({}) of {} runs, {} states counted again; whether they are those that were committed, run.db tells",
        HumanCount(all.files),
        HumanBytes(all.bytes),
        runs.len(),
        HumanCount(all.states)
    ))
}

/// The directories of runs in the store, in order.
fn runs(asked: &VerifyArguments) -> Result<Vec<PathBuf>> {
    let entries =
        fs::read_dir(&asked.store).with_context(|| format!("cannot list {}", asked.store.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut runs: Vec<PathBuf> = paths.collect::<std::io::Result<_>>()?;
    runs.retain(|path| path.join("layers").is_dir());
    runs.sort_unstable();
    Ok(runs)
}
