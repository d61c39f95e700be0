//! Shortest solutions of the states in a report.

use anyhow::{Context, Result};
use fathom_command::machine;
use fathom_engine::directory::RunDirectory;
use fathom_report::Report;
use fathom_solve::solutions::solved;
use fathom_solve::{Bidirectional, SolveModel, SpaceWords};

/// The maximum number of states of a space whose states are always solved. In larger spaces a bidirectional
/// search can take minutes. The layers of the run are not used, because that would write tables into the run.
const QUICKLY_SOLVED: u64 = 10_000_000;
/// In larger spaces, the maximum number of states up to half the largest distance for which states are
/// solved. A bidirectional search keeps these states in memory.
const QUICKLY_REACHED: u64 = 1_000_000;

/// Adds a solution to each state in the report, if solutions can be found quickly.
///
/// # Errors
/// If a state has no solution, which contradicts the run.
pub fn add(report: &mut Report, run: &RunDirectory) -> Result<()> {
    let Some(deepest) = report.deepest.as_mut().filter(|_| run.space.is_closed_under_inverses()) else {
        return Ok(());
    };
    let half = deepest.depth.div_ceil(2) as usize;
    let is_near = report.rows.get(half).is_some_and(|row| row.cumulative <= QUICKLY_REACHED);
    if report.summary.states.is_none_or(|states| states > QUICKLY_SOLVED) && !is_near {
        return Ok(());
    }
    // States without a notation get no solution.
    let Ok(model) = SolveModel::new(&run.manifest.spec) else {
        return Ok(());
    };
    let words = SpaceWords::new(&model, &run.space);
    let mut search = Bidirectional::new(&model, machine::memory_bytes(None) / 2);
    for example in &mut deepest.examples {
        let word = words
            .in_model(&example.in_space)
            .context("a state has pieces on cells that they cannot reach")?;
        example.solution = Some(solved(&model, &words, None, &mut search, &word, deepest.depth)?.1);
    }
    Ok(())
}
