//! `fathom logs`: the log lines of all processes of a run, ordered by time.

use crate::arguments::LogsArguments;
use crate::commands::coordinator_queries::{Coordinator, address_of};
use anyhow::{Context, Result};
use fathom_command::exit::said_by_system;
use fathom_command::log_text::{self, Names, short};
use fathom_command::{bad_input, output};
use fathom_coordinator::cluster::journal_tables;
use fathom_coordinator::cluster::status::ClusterStatus;
use fathom_engine::directory::RunDirectory;
use serde_json::Value;
use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// The number of directory levels below a run's directory that are searched for logs, such as
/// `workers/0/log.jsonl`.
const MAX_DEPTH: usize = 3;

pub(crate) fn logs(args: &LogsArguments) -> Result<()> {
    let as_text = args.text || !args.json && std::io::stdout().is_terminal();
    if let [one] = &args.dirs[..]
        && let Some(address) = address_of(one)
    {
        let mut coordinator = Coordinator::call(address, &args.access)?;
        let status: ClusterStatus = serde_json::from_str(&coordinator.status()?)?;
        let names: Names = status.workers.into_iter().map(|worker| (worker.id, worker.name)).collect();
        let filter = LineFilter::new(args, &names);
        return coordinator.follow(|line| match serde_json::from_str(line) {
            Ok(fields) if filter.is_met_by(&fields) => output::line(&said(line, &fields, as_text, &names)),
            _ => Ok(()),
        });
    }
    let mut files = Vec::new();
    let mut names = Names::new();
    for dir in &args.dirs {
        let found = find(dir, MAX_DEPTH, &mut files);
        found.map_err(|error| bad_input!("cannot read {}: {}", dir.display(), said_by_system(&error)))?;
        names.extend(workers(dir));
    }
    // A directory may be given twice, or be inside another one.
    files.sort();
    files.dedup();
    if files.is_empty() {
        let dirs: Vec<String> = args.dirs.iter().map(|dir| dir.display().to_string()).collect();
        return Err(bad_input!(
            "no logs found in {}. Pass the directory of a run or of a worker's store",
            dirs.join(", ")
        ));
    }
    let filter = LineFilter::new(args, &names);
    // The sort is stable, so lines of one file with the same time keep their order.
    let mut lines: Vec<(String, String)> = Vec::new();
    for file in files {
        let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        for line in String::from_utf8_lossy(&text).lines() {
            // A killed process may leave an unfinished line, which is skipped.
            let Ok(fields) = serde_json::from_str::<Value>(line) else { continue };
            if filter.is_met_by(&fields) {
                let time = fields["timestamp"].as_str().unwrap_or_default().to_owned();
                lines.push((time, said(line, &fields, as_text, &names)));
            }
        }
    }
    if lines.is_empty() {
        output::remark("no log line matches the options");
    }
    lines.sort_by(|(a, _), (b, _)| a.cmp(b));
    lines.iter().try_for_each(|(_, line)| output::line(line))
}

fn said(line: &str, fields: &Value, as_text: bool, names: &Names) -> String {
    if as_text { log_text::line(fields, names) } else { line.to_owned() }
}

/// Selects the lines that match the arguments.
struct LineFilter<'a> {
    args: &'a LogsArguments,
    /// Prefixes of the ids selected by `--worker`; empty if all workers are selected.
    ids: Vec<String>,
}

impl<'a> LineFilter<'a> {
    /// Returns the filter for the arguments. `--worker` selects the workers with that name and those whose id
    /// starts with it.
    fn new(args: &'a LogsArguments, names: &Names) -> Self {
        let wanted = args.worker.iter().flat_map(|wanted| {
            let named =
                names.iter().filter(move |(_, name)| name == wanted).map(|(id, _)| short(id).to_owned());
            named.chain([wanted.clone()])
        });
        Self { args, ids: wanted.collect() }
    }

    fn is_met_by(&self, fields: &Value) -> bool {
        let is = |name: &str, wanted: Option<u32>| wanted.is_none_or(|wanted| fields[name] == wanted);
        let is_of_worker = |worker: &str| self.ids.iter().any(|id| worker.starts_with(id.as_str()));
        let worker = self.ids.is_empty() || fields["worker"].as_str().is_some_and(is_of_worker);
        is("depth", self.args.depth) && is("shard", self.args.shard) && worker
    }
}

/// Returns the workers of the run in a directory; empty if it is not a run directory.
fn workers(dir: &Path) -> Names {
    let known =
        RunDirectory::open_for_reading(dir).ok().and_then(|run| journal_tables::workers(&run.journal).ok());
    known.into_iter().flatten().map(|(id, name, _)| (id.to_string(), name)).collect()
}

fn find(path: &Path, deepest: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let path = entry?.path();
        if path.is_dir() {
            let is_layers = path.file_name().is_some_and(|name| name == "layers");
            if deepest > 0 && !is_layers {
                find(&path, deepest - 1, files)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "jsonl") {
            files.push(path);
        }
    }
    Ok(())
}
