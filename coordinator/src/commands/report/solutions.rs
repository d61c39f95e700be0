//! Shortest solutions of the states that a report shows.

use crate::commands::antipodes::solved;
use anyhow::{Context, Result};
use fathom_command::machine;
use fathom_engine::directory::RunDirectory;
use fathom_report::Report;
use fathom_solve::{Bidirectional, SolveModel, SpaceWords};

/// In larger spaces a search from both ends would take minutes. Layers that were kept are not read: their
/// tables would be written into the run.
const QUICKLY_SOLVED: u64 = 10_000_000;

/// Adds a solution to each state of the last layer, where that is quick.
pub(super) fn add(report: &mut Report, run: &RunDirectory) -> Result<()> {
    let is_quick = report.summary.states <= QUICKLY_SOLVED && run.space.is_closed_under_inverses();
    let Some(deepest) = report.deepest.as_mut().filter(|_| is_quick) else {
        return Ok(());
    };
    // What has no notation is not written.
    let Ok(model) = SolveModel::new(&run.manifest.spec) else {
        return Ok(());
    };
    let words = SpaceWords::new(&model, &run.space);
    let mut search = Bidirectional::new(&model, machine::memory_bytes(None) / 2);
    for example in &mut deepest.examples {
        let word = words
            .in_model(&example.in_space)
            .context("a state has pieces on cells to which no moves lead")?;
        example.solution = Some(solved(&model, &words, None, &mut search, &word, deepest.depth)?.1);
    }
    Ok(())
}
