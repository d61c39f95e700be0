//! `fathom ls`: the runs in a directory.

use crate::arguments::ListArguments;
use crate::commands::run_presence;
use anyhow::Result;
use fathom_command::exit::said_by_system;
use fathom_command::{bad_input, output};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::DEFINITION;
use fathom_engine::summary::Summary;
use fathom_layer::tree_bytes;
use fathom_report::text;
use indicatif::{HumanBytes, HumanCount};
use serde::Serialize;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The fields of `ls --json`.
#[derive(Serialize)]
struct Run {
    path: PathBuf,
    space: Option<String>,
    metric: Option<String>,
    /// The last finished depth.
    depth: Option<usize>,
    visited: Option<u64>,
    /// The states of the space; `None` if unknown, or 2^64 or more.
    states: Option<u64>,
    /// `complete`, `running`, `stopped` or `unreadable`.
    state: &'static str,
    god_number: Option<u32>,
    /// The files in the directory, in bytes.
    bytes: u64,
    error: Option<String>,
}

pub(crate) fn list(args: &ListArguments) -> Result<()> {
    let entries = match args.runs.read_dir() {
        Ok(entries) => entries.collect::<Result<Vec<_>, _>>(),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    };
    let entries = entries
        .map_err(|error| bad_input!("cannot read {}: {}", args.runs.display(), said_by_system(&error)))?;
    let mut paths: Vec<PathBuf> = entries.into_iter().map(|entry| entry.path()).collect();
    paths.retain(|path| path.join(DEFINITION).exists());
    paths.sort_unstable();
    let runs: Vec<Run> = paths.iter().map(|path| summarised(path)).collect();
    if args.json {
        return output::line(&serde_json::to_string(&runs)?);
    }
    if runs.is_empty() {
        output::remark(&format!("no runs in {}; start one: fathom run 3x4", args.runs.display()));
        return Ok(());
    }
    let rows = runs.iter().map(|run| {
        let number = |number: Option<u64>| number.map_or("-".into(), |number| HumanCount(number).to_string());
        let state = match (run.god_number, &run.error) {
            (Some(number), _) => format!("complete, God's number {number}"),
            (None, Some(error)) => format!("unreadable: {error}"),
            (None, None) => run.state.into(),
        };
        let depth = run.depth.map_or("-".into(), |depth| depth.to_string());
        let bytes = HumanBytes(run.bytes).to_string();
        [run.path.display().to_string(), depth, number(run.visited), number(run.states), bytes, state]
    });
    output::line(text::left(["run", "depth", "visited", "states", "disk", "state"], rows).trim_end())
}

fn summarised(path: &Path) -> Run {
    let bytes = tree_bytes(path).unwrap_or(0);
    let read = RunDirectory::open_for_reading(path).and_then(|run| Summary::new(&run));
    match read {
        Ok(summary) => {
            let state = match run_presence::of(path) {
                _ if summary.complete => "complete",
                Some(_) => "running",
                None => "stopped",
            };
            Run {
                path: path.into(),
                depth: summary.counts.len().checked_sub(1),
                visited: Some(summary.counts.iter().sum()),
                states: summary.states,
                state,
                god_number: summary.god_number,
                space: Some(summary.space),
                metric: Some(summary.metric),
                bytes,
                error: None,
            }
        }
        Err(error) => Run {
            path: path.into(),
            space: None,
            metric: None,
            depth: None,
            visited: None,
            states: None,
            state: "unreadable",
            god_number: None,
            bytes,
            error: Some(format!("{error:#}")),
        },
    }
}
