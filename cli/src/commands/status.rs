//! `fathom status`.

use crate::arguments::StatusArguments;
use crate::commands::coordinator_queries::{Coordinator, Seen, Watched, address_of, table_of};
use crate::commands::progress_estimator::line;
use crate::commands::run_presence::{self, Note};
use anyhow::{Context, Result};
use fathom_command::{output, shell};
use fathom_coordinator::cluster::status::{AuditStatus, ClusterStatus};
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::{LayersAt, ProcessRow};
use fathom_engine::summary::Summary;
use fathom_report::text;
use fathom_report::text::many;
use fathom_report::wait_times::WaitTimes;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::path::Path;
use std::time::Duration;

/// The fields of `status --json`.
#[derive(Serialize)]
struct Status<'a> {
    #[serde(flatten)]
    summary: &'a Summary,
    processes: &'a [ProcessRow],
    waits: Vec<WaitTimes>,
    layers_at: String,
    at_work: Option<&'a Note>,
}

/// The time between two updates.
const WATCH: Duration = Duration::from_secs(2);

pub(crate) fn status(args: &StatusArguments) -> Result<()> {
    let Some(address) = address_of(&args.run) else {
        return again(args.watch, || of_directory(&args.run, args.json));
    };
    if !args.watch {
        let (_, text) = of_coordinator(Coordinator::call(address, &args.access)?.status()?, args.json)?;
        return output::line(&text);
    }
    let mut coordinator = Watched::call(address, &args.access)?;
    let mut last = String::new();
    again(true, || {
        Ok(match coordinator.look()? {
            Seen::Status(status) => {
                let (found, text) = of_coordinator(status, args.json)?;
                last.clone_from(&text);
                (found, text)
            }
            Seen::Away(_) if args.json => (Found::Working, json!({ "unreachable": true }).to_string()),
            Seen::Away(time) => {
                let time = line::duration(time.as_secs_f64());
                (Found::Working, format!("{last}\nunreachable for {time}, retrying"))
            }
            Seen::Ended(how) if args.json => (Found::Still, json!({ "ended": how }).to_string()),
            Seen::Ended(how) => (Found::Still, format!("{last}\nthe coordinator has ended: {how}")),
        })
    })
}

/// Whether a process works on a run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The run is complete, or no process works on it.
    Still,
    /// A process works on the run.
    Working,
}

/// Prints the status once, or repeatedly while a process works on the run. On a terminal each status replaces
/// the previous one.
fn again(watch: bool, mut look: impl FnMut() -> Result<(Found, String)>) -> Result<()> {
    let redraws = watch && std::io::stdout().is_terminal();
    loop {
        let (found, text) = look()?;
        output::line(&if redraws { format!("\x1b[2J\x1b[H{text}") } else { text })?;
        if found == Found::Still || !watch {
            return Ok(());
        }
        std::thread::sleep(WATCH);
    }
}

fn of_coordinator(text: String, json: bool) -> Result<(Found, String)> {
    let fields: Value = serde_json::from_str(&text)?;
    let found = if fields["complete"] == true { Found::Still } else { Found::Working };
    if json {
        return Ok((found, text));
    }
    let cluster: ClusterStatus = serde_json::from_str(&text)?;
    let visited: u64 = fields["counts"].as_array().into_iter().flatten().filter_map(Value::as_u64).sum();
    let mut lines = vec![
        format!(
            "{} {}: {} of {} states visited",
            fields["space"].as_str().unwrap_or_default(),
            fields["metric"].as_str().unwrap_or_default(),
            HumanCount(visited),
            HumanCount(fields["states"].as_u64().unwrap_or(0))
        ),
        format!(
            "depth {}: {} done, {} running, {} waiting, {:.1} s so far; {} sent between workers",
            cluster.depth,
            many(cluster.shards_done.into(), "shard"),
            cluster.shards_running,
            cluster.shards_waiting,
            cluster.depth_seconds,
            HumanBytes(cluster.sent_bytes)
        ),
    ];
    lines.extend(cluster.depth_eta_seconds.map(|seconds| format!("about {seconds:.0} s left in this depth")));
    let AuditStatus { agreed, differed, quarantined } = &cluster.audits;
    if agreed + differed > 0 {
        lines.push(format!(
            "{} computed twice: {agreed} agree, {differed} differ",
            many(agreed + differed, "shard")
        ));
    }
    if !quarantined.is_empty() {
        lines.push(format!("quarantined, because audits found wrong results: {}", quarantined.join(", ")));
    }
    lines.extend(cluster.obstacle.as_ref().map(|obstacle| format!("waiting: {obstacle}")));
    if !cluster.workers.is_empty() {
        lines.push(table_of(&cluster.workers));
    }
    Ok((found, lines.join("\n")))
}

/// Returns the output of `fathom status --json` for a directory.
pub(crate) fn json_of_directory(path: &Path) -> Result<String> {
    of_directory(path, true).map(|(_, text)| text)
}

fn of_directory(path: &Path, json: bool) -> Result<(Found, String)> {
    let run = RunDirectory::open_for_reading(path)?;
    let summary = Summary::new(&run)?;
    let processes = run.journal.processes().context("cannot read run.db")?;
    let note = run_presence::of(path).filter(|_| !summary.complete);
    let found = if note.is_some() { Found::Working } else { Found::Still };
    if json {
        let status = Status {
            summary: &summary,
            processes: &processes,
            waits: WaitTimes::new(&run)?,
            layers_at: run.journal.layers_at().context("cannot read run.db")?.to_string(),
            at_work: note.as_ref(),
        };
        return Ok((found, serde_json::to_string(&status)?));
    }
    let mut lines = vec![text::growth(&summary)];
    lines.extend(processes.iter().map(said));
    if let Some(note) = &note {
        lines.push(run_presence::text(note));
    } else if !summary.complete {
        let done = run.journal.shards_done().context("cannot read run.db")?;
        if done > 0 {
            let shards = run.manifest.shards;
            lines.push(format!("next depth: {done} of {shards} shards done"));
        }
        lines.push(way_on(&run, path)?);
    }
    Ok((found, lines.join("\n")))
}

/// Returns how to continue a run that is not complete.
pub(crate) fn way_on(run: &RunDirectory, path: &Path) -> Result<String> {
    let path = shell::path(path);
    Ok(match run.journal.layers_at().context("cannot read run.db")? {
        LayersAt::RunDirectory => format!("continue with 'fathom resume {path}'"),
        LayersAt::Store(store) => {
            let store = shell::path(&store);
            format!(
                "layers in {store}; continue with 'fathom resume {path}', or on several hosts with 'fathom serve --dir {path}'"
            )
        }
        LayersAt::Workers => {
            format!("layers on its workers; continue with 'fathom serve --dir {path}'")
        }
    })
}

/// Describes a process in one line.
fn said(process: &ProcessRow) -> String {
    let processor = process.processor.as_deref().map_or_else(String::new, |name| format!(" on {name}"));
    let peak = process
        .peak_anonymous_bytes
        .map_or("an unknown amount of memory".into(), |bytes| HumanBytes(bytes).to_string());
    format!(
        "process: version {}, kernel {}, {}{processor}, {:.1} s; memory limit {}, of which {} for layers in the page cache; peak memory use {peak}",
        process.version,
        process.kernel,
        many(process.threads as u64, "thread"),
        process.seconds,
        HumanBytes(process.memory_bytes),
        HumanBytes(process.cache_bytes),
    )
}
