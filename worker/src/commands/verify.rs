//! `fathom-worker verify`: checks the files in a worker's store.

use crate::arguments::VerifyArguments;
use crate::cluster::store_directory;
use anyhow::{Context, Result, anyhow};
use fathom_command::{bad_input, output};
use fathom_engine::run::DEFINITION;
use fathom_engine::run::{RunManifest, lock};
use fathom_engine::task::{LAYERS, Store};
use fathom_engine::verify::{Verified, verify_store};
use fathom_layer::LocalDisk;
use indicatif::{HumanBytes, HumanCount};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn verify(args: &VerifyArguments) -> Result<()> {
    let store = &*args.store;
    let path = store.display();
    if !store_directory::is_home(store) {
        return Err(bad_input!(
            "{path} is not a worker's store. Pass the directory that the worker was given with --store"
        ));
    }
    // A running worker would delete files while they are read.
    let _lock = lock::exclusive(store)?;
    let runs = runs(store)?;
    let mut all = Verified::default();
    for run in &runs {
        let manifest = match run.join(DEFINITION).try_exists()? {
            true => RunManifest::read(run)?,
            false => {
                return Err(anyhow!(
                    "{} has no {DEFINITION}, without which its files cannot be checked. A worker writes it when it joins the run",
                    run.display()
                ));
            }
        };
        let Verified { layers, files, bytes, states } = verify_store(&manifest, &Store::at(run, &LocalDisk)?)
            .with_context(|| format!("the files in {} differ from what was written", run.display()))?;
        all.layers += layers;
        all.files += files;
        all.bytes += bytes;
        all.states += states;
    }
    let verified = all.files > 0;
    if args.json {
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
    if args.json {
        return Ok(());
    }
    output::line(&format!(
        "verified: {} files ({}) of {}, {} states counted again; whether these are the committed files is recorded only in the coordinator's run.db",
        HumanCount(all.files),
        HumanBytes(all.bytes),
        if runs.len() == 1 { "one run".into() } else { format!("{} runs", runs.len()) },
        HumanCount(all.states)
    ))
}

/// Returns the directories of runs in the store, in order.
fn runs(store: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(store).with_context(|| format!("cannot list {}", store.display()))?;
    let paths = entries.map(|entry| Ok(entry?.path()));
    let mut runs: Vec<PathBuf> = paths.collect::<std::io::Result<_>>()?;
    runs.retain(|path| path.join(LAYERS).exists());
    runs.sort_unstable();
    Ok(runs)
}
