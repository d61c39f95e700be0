//! `fathom status`.

use crate::arguments::StatusArguments;
use crate::commands::client::{Coordinator, table_of};
use anyhow::{Context, Result};
use fathom_command::output;
use fathom_coordinator::cluster::status::ClusterStatus;
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::{LayersAt, ProcessRow};
use fathom_engine::summary::Summary;
use fathom_report::text;
use fathom_report::text::many;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;
use std::time::Duration;

/// The fields of `status --json`.
#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    processes: &'a [ProcessRow],
}

/// Between looks.
const WATCH: Duration = Duration::from_secs(2);

pub(crate) fn status(args: &StatusArguments) -> Result<()> {
    let path = Path::new(&args.run);
    if path.exists() || !args.run.contains(':') {
        return again(args.watch, || of_directory(path, args.json));
    }
    let mut coordinator = Coordinator::call(&args.run, &args.access)?;
    again(args.watch, || of_coordinator(&mut coordinator, args.json))
}

/// Once, or until the run is complete.
fn again(watch: bool, mut look: impl FnMut() -> Result<bool>) -> Result<()> {
    while !look()? && watch {
        std::thread::sleep(WATCH);
    }
    Ok(())
}

/// Returns whether the run is complete.
fn of_coordinator(coordinator: &mut Coordinator, json: bool) -> Result<bool> {
    let text = coordinator.status()?;
    let fields: Value = serde_json::from_str(&text)?;
    let complete = fields["complete"] == true;
    if json {
        return output::line(&text).map(|()| complete);
    }
    let cluster: ClusterStatus = serde_json::from_str(&text)?;
    let visited: u64 = fields["counts"].as_array().into_iter().flatten().filter_map(Value::as_u64).sum();
    output::line(&format!(
        "{} {}: {} of {} states visited",
        fields["space"].as_str().unwrap_or_default(),
        fields["metric"].as_str().unwrap_or_default(),
        HumanCount(visited),
        HumanCount(fields["states"].as_u64().unwrap_or(0))
    ))?;
    output::line(&format!(
        "depth {}: {} shards done, {} running, {} waiting, for {:.1} s; {} sent between workers",
        cluster.depth,
        cluster.shards_done,
        cluster.shards_running,
        cluster.shards_waiting,
        cluster.depth_seconds,
        HumanBytes(cluster.sent_bytes)
    ))?;
    if let Some(seconds) = cluster.depth_eta_seconds {
        output::line(&format!("this depth will be done in about {seconds:.0} s"))?;
    }
    if let Some(obstacle) = &cluster.obstacle {
        output::line(&format!("waiting: {obstacle}"))?;
    }
    if !cluster.workers.is_empty() {
        output::line(&table_of(&cluster.workers))?;
    }
    Ok(complete)
}

/// What `fathom status --json` prints of a directory.
pub(crate) fn json_of_directory(path: &Path) -> Result<String> {
    let run = RunDirectory::open_for_reading(path)?;
    let processes = run.journal.processes().context("cannot read run.db")?;
    to_json(&Summary::of(&run)?, &processes)
}

fn to_json(summary: &Summary, processes: &[ProcessRow]) -> Result<String> {
    Ok(serde_json::to_string(&Status { summary, processes })?)
}

/// Returns whether the run is complete.
fn of_directory(path: &Path, json: bool) -> Result<bool> {
    let run = RunDirectory::open_for_reading(path)?;
    let summary = Summary::of(&run)?;
    let processes = run.journal.processes().context("cannot read run.db")?;
    if json {
        output::line(&to_json(&summary, &processes)?)?;
        return Ok(summary.complete);
    }
    output::line(&text::growth(&summary))?;
    for process in &processes {
        output::line(&said(process))?;
    }
    if !summary.complete {
        let done = run.journal.shards_done().context("cannot read run.db")?;
        if done > 0 {
            let shards = run.manifest.shards;
            output::line(&format!("of the next depth, {done} of {shards} shards are done"))?;
        }
        output::line(&match run.journal.layers_at().context("cannot read run.db")? {
            LayersAt::RunDirectory => format!("go on with 'fathom resume {}'", path.display()),
            LayersAt::SharedStore(store) => format!(
                "its layers lie in {store}: go on with 'fathom serve … --dir {} --shared-store {store}'",
                path.display(),
                store = store.display()
            ),
            LayersAt::Workers => {
                format!(
                    "its layers lie with its workers: go on with 'fathom serve … --dir {}'",
                    path.display()
                )
            }
        })?;
    }
    Ok(summary.complete)
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
