//! The time that kernel threads spent on each kind of work, depth by depth.

use anyhow::{Context, Result};
use fathom_engine::directory::RunDirectory;
use fathom_engine::task::Waits;
use serde::Serialize;

/// A depth that one process computed, without workers.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WaitTimes {
    /// The depth.
    pub depth: u32,
    /// Seconds by cause, summed over the threads.
    #[serde(flatten)]
    pub waits: Waits,
}

impl WaitTimes {
    /// Returns the depths whose times by cause are known: workers do not report their times.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn new(run: &RunDirectory) -> Result<Vec<Self>> {
        let waits = run.journal.waits().context("cannot read run.db")?;
        Ok(waits.into_iter().map(|(depth, waits)| Self { depth: depth.0, waits }).collect())
    }

    /// Returns the cells of a table: the depth, the seconds of all threads, and the share of each cause in
    /// percent.
    pub fn cells(&self) -> [String; 8] {
        let seconds = self.waits.seconds();
        let all: f64 = seconds.iter().sum();
        let share =
            |seconds: f64| if all > 0.0 { format!("{:.0} %", 100.0 * seconds / all) } else { "–".into() };
        let [kernel, sources, subtract, write, sync, barrier] = seconds.map(share);
        [self.depth.to_string(), format!("{all:.3}"), kernel, sources, subtract, write, sync, barrier]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_relative_to_all_threads() {
        let waits = Waits { kernel: 1.5, sync: 0.5, barrier: 2.0, ..Waits::default() };
        let cells = WaitTimes { depth: 7, waits }.cells();
        assert_eq!(cells, ["7", "4.000", "38 %", "0 %", "0 %", "0 %", "12 %", "50 %"]);
        assert_eq!(WaitTimes { depth: 0, waits: Waits::default() }.cells()[2], "–");
    }
}
