//! `fathom status`.

use crate::arguments::DirectoryArguments;
use anyhow::{Context, Result};
use fathom_command::output;
use fathom_coordinator::directory::RunDirectory;
use fathom_coordinator::journal::ProcessRow;
use fathom_coordinator::summary::Summary;
use fathom_coordinator::table::many;
use indicatif::HumanBytes;
use serde::Serialize;

/// The fields of `status --json`.
#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    processes: &'a [ProcessRow],
}

pub(crate) fn status(asked: &DirectoryArguments) -> Result<()> {
    let run = RunDirectory::open_for_reading(&asked.dir)?;
    let summary = Summary::of(&run)?;
    let processes = run.journal.processes().context("cannot read run.db")?;
    if asked.json {
        return output::line(&serde_json::to_string(&Status { summary: &summary, processes: &processes })?);
    }
    output::line(&summary.to_string())?;
    for process in &processes {
        output::line(&said(process))?;
    }
    match summary.complete {
        true => Ok(()),
        false => output::line(&format!("go on with 'fathom resume {}'", asked.dir.display())),
    }
}

/// A process in one line.
fn said(process: &ProcessRow) -> String {
    let processor = process.processor.as_deref().map_or_else(String::new, |name| format!(" on {name}"));
    let peak = process
        .peak_anonymous_bytes
        .map_or("an unknown amount".into(), |bytes| HumanBytes(bytes).to_string());
    format!(
        "process: version {}, kernel {}, {}{processor}, {:.1} s; memory up to {}, of which {} for layers in the page cache; itself it took {peak} at the peak",
        process.version,
        process.kernel,
        many(process.threads as u64, "thread"),
        process.seconds,
        HumanBytes(process.memory_bytes),
        HumanBytes(process.cache_bytes),
    )
}
