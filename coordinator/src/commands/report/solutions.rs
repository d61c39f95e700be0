//! Shortest solutions of the states that a report shows.

use crate::commands::antipodes::solved;
use anyhow::{Context, Result};
use fathom_command::machine;
use fathom_engine::directory::RunDirectory;
use fathom_report::Report;
use fathom_solve::{Bidirectional, SolveModel, SpaceWords};

/// In larger spaces a search from both ends would take minutes, but for states that are near: such a search
/// keeps what is up to half the distance away. Layers that were kept are not read: their tables would be
/// written into the run.
const QUICKLY_SOLVED: u64 = 10_000_000;
const QUICKLY_REACHED: u64 = 1_000_000;

/// Adds a solution to each state of the last layer, where that is quick.
pub(super) fn add(report: &mut Report, run: &RunDirectory) -> Result<()> {
    let Some(deepest) = report.deepest.as_mut().filter(|_| run.space.is_closed_under_inverses()) else {
        return Ok(());
    };
    let half = deepest.depth.div_ceil(2) as usize;
    let is_near = report.rows.get(half).is_some_and(|row| row.cumulative <= QUICKLY_REACHED);
    if report.summary.states > QUICKLY_SOLVED && !is_near {
        return Ok(());
    }
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
