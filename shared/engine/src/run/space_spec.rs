//! The enumerated space: a puzzle, its metric and its labels.

use crate::run::RunError;
use fathom_puzzle::{Metric, PuzzleSpec, one_way_note};
use fathom_space::{Labels, Space};
use std::fmt;

/// The space that the user asks to enumerate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpaceSpec {
    /// The puzzle.
    pub source: PuzzleSpec,
    /// The metric.
    pub metric: Metric,
    /// The labels.
    pub labels: Labels,
}

impl SpaceSpec {
    /// Derives the space.
    ///
    /// # Errors
    /// If the puzzle cannot be built, or its states cannot be counted.
    pub fn space(&self) -> Result<Space, RunError> {
        let puzzle = self.source.puzzle(self.metric)?;
        Ok(Space::new(puzzle, self.metric, self.labels.clone())?)
    }

    /// Returns notes that users must know to interpret the results: how the puzzle was read, and that
    /// distances are one way, or not from the solved state alone, if they are.
    pub fn notes(&self, inverse_closed: bool) -> Vec<String> {
        let one_way = (!inverse_closed).then(one_way_note);
        let starts = (!self.source.starts().are_solved_alone())
            .then(|| "distances are from the start states, not from the solved state alone".to_owned());
        self.source.remarks().iter().cloned().chain(one_way).chain(starts).collect()
    }
}

/// The puzzle and the metric, as commands accept them.
impl fmt::Display for SpaceSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let labels = if self.labels.are_distinct() { "" } else { ", with labels" };
        write!(f, "{} {}{labels}", self.source.name(), self.metric)
    }
}
