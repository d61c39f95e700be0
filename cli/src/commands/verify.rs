//! `fathom verify`.

mod remote;

use crate::arguments::VerifyArguments;
use crate::commands::coordinator_queries::address_of;
use anyhow::{Context, Result, anyhow};
use fathom_command::bad_input;
use fathom_command::output;
use fathom_engine::directory::RunDirectory;
use fathom_engine::summary::Summary;
use fathom_engine::verify::verify as verify_run;
use fathom_layer::LocalDisk;
use fathom_report::text::{many, visited_of};
use fathom_solve::bound::Certificate;
use indicatif::{HumanBytes, HumanCount};
use std::fs;

pub(crate) fn verify(args: &VerifyArguments) -> Result<()> {
    if let Some(address) = address_of(&args.dir) {
        return remote::verify(args, address);
    }
    if args.dir.is_file() {
        return verify_certificate(args);
    }
    // The run is locked because a search would delete files while they are read.
    let directory = RunDirectory::open_unchanging(&args.dir)?;
    let verified = verify_run(&directory, &LocalDisk)?;
    let summary = Summary::new(&directory)?;
    if verified.layers == 0 {
        return nothing(args, &directory, &summary);
    }
    if args.json {
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
            format!("not complete: {} visited", visited_of(&summary))
        }
    };
    output::line(&format!(
        "verified: {} in {} ({}), {} recounted, all matching run.db\n{ended}\ndigest: {}",
        many(verified.layers.into(), "layer"),
        many(verified.files, "file"),
        HumanBytes(verified.bytes),
        many(verified.states, "state"),
        summary.digest
    ))
}

/// Says what is known of a run without layer files, as JSON if requested.
///
/// # Errors
/// Unless the run is complete, and its layers were removed.
fn nothing(args: &VerifyArguments, run: &RunDirectory, summary: &Summary) -> Result<()> {
    if args.json {
        let json = serde_json::json!({
            "verified": false,
            "complete": summary.complete,
            "layers": 0,
            "files": 0,
            "bytes": 0,
            "states": 0,
            "digest": summary.digest,
        });
        output::line(&json.to_string())?;
    }
    let path = args.dir.display();
    // The journal says that the layers were removed, so that nothing is missing.
    if run.store_path()?.is_some() && summary.complete {
        let visited: u64 = summary.counts.iter().sum();
        let text = format!(
            "no layer files to verify: those of the run in {path} were removed\ncomplete: the counts of all depths add up to {}, the number of states\ndigest: {}",
            HumanCount(visited),
            summary.digest
        );
        return if args.json { Ok(()) } else { output::line(&text) };
    }
    Err(match (run.store_path()?, summary.counts.len()) {
        (_, 0) => anyhow!("nothing to verify: the run in {path} has no finished layer yet"),
        (None, _) => anyhow!(
            "nothing to verify: the layers of the run in {path} are on its workers. Pass the HOST:PORT of its coordinator while it is served, or run 'fathom-worker verify --store DIR' on each worker"
        ),
        (Some(_), _) => anyhow!("nothing to verify: the run in {path} has no layer files left"),
    })
}

/// Checks a certificate printed by 'fathom bound --upper --json'.
fn verify_certificate(args: &VerifyArguments) -> Result<()> {
    let path = args.dir.display();
    let text = fs::read_to_string(&args.dir).with_context(|| format!("cannot read {path}"))?;
    let certificate: Certificate = serde_json::from_str(&text).map_err(|error| {
        bad_input!(
            "{path} is neither a run directory nor a certificate from 'fathom bound --upper --json': {error}"
        )
    })?;
    certificate.verify(args.memory_bytes()).with_context(|| path.to_string())?;
    let Certificate { space, metric, upper_bound, stages, joined: _, even: _ } = certificate;
    if args.json {
        let json = serde_json::json!({ "verified": true, "space": space, "metric": metric, "upper_bound": upper_bound });
        return output::line(&json.to_string());
    }
    let words: usize = stages.iter().map(|stage| stage.words.len()).sum();
    output::line(&format!(
        "verified: {} with {} solve every state of {space} {metric} in at most {}",
        many(stages.len() as u64, "stage"),
        many(words as u64, "word"),
        many(upper_bound.into(), "move")
    ))
}
