//! What to say if a puzzle is given to a command that takes a run.

use fathom_command::{bad_input, shell};
use fathom_engine::run::{DEFINITION, RunError, SpaceSpec};
use fathom_puzzle::PuzzleSpec;
use fathom_space::Labels;
use fathom_worker::settings::Settings;
use std::path::{Path, PathBuf};

/// Replaces the error that a path is not a run directory if the path names a puzzle: the new error names the
/// run of that puzzle, or says how to start it.
pub(crate) fn explained(error: anyhow::Error) -> anyhow::Error {
    let Some(RunError::NoRun { path, .. }) = error.downcast_ref() else {
        return error;
    };
    match run_of(path) {
        Some(run) if run.join(DEFINITION).exists() => bad_input!(
            "{} is a puzzle, not a run directory. Its run is in {}",
            path.display(),
            shell::path(&run)
        ),
        Some(_) => bad_input!(
            "{} is a puzzle, not a run directory. It has no run yet; start one: fathom run {}",
            path.display(),
            shell::path(path)
        ),
        None => error,
    }
}

/// Returns the default directory of the run of a puzzle, or `None` if `path` does not name a puzzle.
fn run_of(path: &Path) -> Option<PathBuf> {
    let source = PuzzleSpec::whole(path.to_str()?).ok()?;
    let metric = source.metric();
    let source = source.in_metric(metric).ok()?;
    let labels = Labels::from_values(source.solved());
    let space = SpaceSpec { source, metric, labels }.space().ok()?;
    let variable = std::env::var_os("FATHOM_DIR").filter(|value| !value.is_empty()).map(PathBuf::from);
    let runs = variable.or_else(|| Settings::read().ok()?.dir).unwrap_or_else(|| "runs".into());
    Some(runs.join(space.short_slug(true)))
}
