//! Runs whose layers are computed by tasks, from files to files: the location of the files, and the reason
//! why one cannot be opened.

use crate::journal::{Journal, LayersAt};
use crate::run::Depth;
use crate::shared_store;
use anyhow::{Context, Error, Result, anyhow};
use fathom_command::{bad_input, shell};
use fathom_layer::LayerError;
use std::path::{Path, PathBuf};

/// Returns the directory that has the layers of a run, the run's own or another one.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] if the workers of the run have its layers, or the directory cannot be
/// reached or belongs to another run.
pub fn root_of_layers(journal: &Journal, run: &Path) -> Result<PathBuf> {
    match journal.layers_at().context("cannot read run.db")? {
        LayersAt::RunDirectory => Ok(run.into()),
        LayersAt::Workers => Err(with_workers(run)),
        LayersAt::Store(store) => {
            shared_store::require_own(journal, run, &store)?;
            Ok(store)
        }
    }
}

/// Returns the error that the workers of a run have its layers.
pub fn with_workers(run: &Path) -> Error {
    bad_input!(
        "the layers of the run in {} are on its workers: continue with 'fathom serve' and the same workers",
        run.display()
    )
}

/// Explains why the layer at `below`, from which the one at `depth` is computed, could not be opened.
pub fn why_not_opened(
    journal: &Journal,
    run: &Path,
    (depth, below): (Depth, Depth),
    error: LayerError,
) -> Error {
    let explained = || -> Result<Error> {
        let layers = journal.layers().context("cannot read run.db")?;
        if !error.is_missing() {
            return Ok(anyhow!("depth {depth} could not be computed"));
        }
        if below.0 as usize >= layers.len() {
            return Ok(bad_input!(
                "depth {depth} is computed from depth {below}, which is not complete: compute and merge it first"
            ));
        }
        let is_older = depth.0 as usize == layers.len() && below.0 + 2 == depth.0;
        if is_older && !journal.given_back(&layers).context("cannot read run.db")?.is_empty() {
            return Ok(bad_input!(
                "depth {depth} was partly computed by a run that keeps two layers, which has deleted shards of depth {below}: finish depth {depth} with 'fathom resume {}'",
                shell::path(run)
            ));
        }
        Ok(bad_input!(
            "depth {depth} is computed from depth {below}, which is finished but lacks a file: restore the file from a backup"
        ))
    };
    let explained = explained().unwrap_or_else(|failed| failed);
    match explained.is::<fathom_command::exit::BadInput>() {
        true => bad_input!("{explained} ({error})"),
        false => Error::new(error).context(explained),
    }
}
