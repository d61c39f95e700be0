//! Runs whose layers are made by tasks, from files to files: where the files must lie, and why one cannot be
//! opened.

use crate::journal::{Journal, LayersAt};
use crate::run::Depth;
use anyhow::{Context, Error, Result, anyhow};
use fathom_command::{bad_input, shell};
use fathom_layer::LayerError;
use std::path::Path;

/// Checks that the layers of the run in a directory lie there, or in the stores that are listed there: tasks
/// read and write nowhere else.
///
/// # Errors
/// [`fathom_command::exit::BadInput`] with the way out if the layers lie elsewhere.
pub fn require_layers_here(journal: &Journal, run: &Path) -> Result<()> {
    match journal.layers_at().context("cannot read run.db")? {
        LayersAt::RunDirectory => Ok(()),
        LayersAt::Workers => Err(with_workers(run)),
        LayersAt::SharedStore(store) => Err(bad_input!(
            "the layers of the run in {path} lie in {}: go on with 'fathom serve', or with 'fathom resume {path}'",
            store.display(),
            path = shell::path(run)
        )),
    }
}

/// Says that the workers of a run have its layers.
pub(crate) fn with_workers(run: &Path) -> Error {
    bad_input!(
        "the layers of the run in {} lie with its workers: go on with 'fathom serve' and these workers, or with 'fathom run --workers' if that is how it began",
        run.display()
    )
}

/// Explains why the layer at `below`, from which the one at `depth` is made, could not be opened.
pub fn why_not_opened(
    journal: &Journal,
    run: &Path,
    (depth, below): (Depth, Depth),
    error: LayerError,
) -> Error {
    let explained = || -> Result<Error> {
        let layers = journal.layers().context("cannot read run.db")?;
        if !error.is_missing() {
            return Ok(anyhow!("depth {depth} could not be made"));
        }
        if below.0 as usize >= layers.len() {
            return Ok(bad_input!(
                "depth {depth} is made from depth {below}, which is not there as a whole: make and merge it first"
            ));
        }
        let is_older = depth.0 as usize == layers.len() && below.0 + 2 == depth.0;
        if is_older && !journal.given_back(&layers).context("cannot read run.db")?.is_empty() {
            return Ok(bad_input!(
                "depth {depth} is made in part by a run that keeps two layers, and shards of depth {below} are deleted for it: finish depth {depth} with 'fathom resume {}'",
                shell::path(run)
            ));
        }
        Ok(bad_input!(
            "depth {depth} is made from depth {below}, which is finished, and of which a file is gone: put the file back from a copy"
        ))
    };
    let explained = explained().unwrap_or_else(|failed| failed);
    match explained.is::<fathom_command::exit::BadInput>() {
        true => bad_input!("{explained} ({error})"),
        false => Error::new(error).context(explained),
    }
}
