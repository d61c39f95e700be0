//! Shortest solutions of the states that a report shows.

use crate::commands::antipodes::solved;
use anyhow::{Context, Result};
use fathom_command::machine;
use fathom_engine::directory::RunDirectory;
use fathom_layer::LocalDisk;
use fathom_report::Report;
use fathom_solve::{Bidirectional, KeptLayers, SolveModel, SpaceWords};

/// In larger spaces solutions are found by layers that were kept, or not at all: a search from both ends would take minutes.
const QUICKLY_SOLVED: u64 = 10_000_000;

/// Adds a solution to each state of the last layer, where that is quick.
pub(super) fn add(report: &mut Report, run: &RunDirectory) -> Result<()> {
    let quick = report.summary.states <= QUICKLY_SOLVED;
    let Some(deepest) = report.deepest.as_mut().filter(|_| run.space.is_closed_under_inverses()) else {
        return Ok(());
    };
    // What has no notation is not written.
    let Ok(model) = SolveModel::new(&run.manifest.spec) else {
        return Ok(());
    };
    let memory = machine::memory_bytes(None) / 2;
    let Some(mut kept) = KeptLayers::of(run, memory, &LocalDisk)? else {
        return Ok(());
    };
    if !quick && !kept.has_all_to(deepest.depth) {
        return Ok(());
    }
    let words = SpaceWords::new(&model, &run.space);
    let mut search = Bidirectional::new(&model, memory);
    for example in &mut deepest.examples {
        let word = words
            .in_model(&example.in_space)
            .context("a state has pieces on cells to which no moves lead")?;
        example.solution = Some(solved(&model, &words, &mut kept, &mut search, &word, deepest.depth)?.1);
    }
    Ok(())
}
