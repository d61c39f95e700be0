//! `fathom verify`.

use crate::arguments::DirectoryArguments;
use anyhow::Result;
use fathom_command::output;
use fathom_coordinator::directory::RunDirectory;
use fathom_coordinator::summary::Summary;
use fathom_coordinator::table::many;
use fathom_coordinator::verify::verify as verify_run;
use fathom_layer::LocalDisk;
use indicatif::{HumanBytes, HumanCount};

pub(crate) fn verify(asked: &DirectoryArguments) -> Result<()> {
    // Locked: a search would delete files while they are read.
    let directory = RunDirectory::open(&asked.dir)?;
    let verified = verify_run(&directory, &LocalDisk)?;
    let summary = Summary::of(&directory)?;
    if asked.json {
        let json = serde_json::json!({
            "verified": true,
            "complete": summary.complete,
            "layers": verified.layers,
            "files": verified.files,
            "bytes": verified.bytes,
            "states": verified.states,
            "digest": summary.digest,
        });
        return output::line(&json.to_string());
    }
    let visited: u64 = summary.counts.iter().sum();
    let ended = match summary.complete {
        true => format!(
            "complete: the counts of all depths add up to {}, the number of states",
            HumanCount(visited)
        ),
        false => {
            format!("not complete: {} of {} states visited", HumanCount(visited), HumanCount(summary.states))
        }
    };
    output::line(&format!(
        "verified: {} in {} ({}), {} counted again, all as run.db says\n{ended}\ndigest: {}",
        many(verified.layers.into(), "layer"),
        many(verified.files, "file"),
        HumanBytes(verified.bytes),
        many(verified.states, "state"),
        summary.digest
    ))
}
