//! `fathom logs`: the log lines of all processes of a run, in order of time.

use crate::arguments::LogsArguments;
use crate::commands::client::Coordinator;
use anyhow::{Context, Result};
use fathom_command::{bad_input, output};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// So deep below a run's directory logs are looked for: `workers/0/log.jsonl`.
const DEEPEST: usize = 3;

pub(crate) fn logs(args: &LogsArguments) -> Result<()> {
    if let [one] = &args.dirs[..]
        && let Some(address) = one.to_str().filter(|text| !one.exists() && text.contains(':'))
    {
        return Coordinator::call(address, &args.access)?.follow(|line| match serde_json::from_str(line) {
            Ok(fields) if is_asked_for(&fields, args) => output::line(line),
            _ => Ok(()),
        });
    }
    let mut files = Vec::new();
    for dir in &args.dirs {
        find(dir, DEEPEST, &mut files).with_context(|| format!("cannot look into {}", dir.display()))?;
    }
    if files.is_empty() {
        let dirs: Vec<String> = args.dirs.iter().map(|dir| dir.display().to_string()).collect();
        return Err(bad_input!(
            "there are no logs below {}: name the directory of a run or of a worker's store",
            dirs.join(", ")
        ));
    }
    // Within a file lines stay in their order, which is that of time.
    let mut lines: Vec<(String, String)> = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        for line in text.lines() {
            // A line that a killed process did not finish says nothing.
            let Ok(fields) = serde_json::from_str::<Value>(line) else { continue };
            if is_asked_for(&fields, args) {
                let time = fields["timestamp"].as_str().unwrap_or_default().to_owned();
                lines.push((time, line.to_owned()));
            }
        }
    }
    lines.sort_by(|(a, _), (b, _)| a.cmp(b));
    lines.iter().try_for_each(|(_, line)| output::line(line))
}

fn is_asked_for(fields: &Value, args: &LogsArguments) -> bool {
    let is = |name: &str, wanted: Option<u32>| wanted.is_none_or(|wanted| fields[name] == wanted);
    let worker = args.worker.as_ref().is_none_or(|wanted| {
        fields["worker"].as_str().is_some_and(|worker| worker.starts_with(wanted.as_str()))
    });
    is("depth", args.depth) && is("shard", args.shard) && worker
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
