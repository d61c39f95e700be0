//! The result of a run on standard output.

use anyhow::Result;
use fathom_command::output;
use fathom_engine::directory::RunDirectory;
use fathom_engine::summary::Summary;
use fathom_report::text;

/// Prints the results of a run so far, as a JSON object or as a table.
///
/// # Errors
/// If the journal cannot be read or standard output cannot be written.
pub(crate) fn print(run: &RunDirectory, json: bool) -> Result<()> {
    let summary = Summary::new(run)?;
    output::line(&if json { summary.to_json() } else { text::growth(&summary) })
}
