//! `fathom verify`.

use crate::arguments::DirectoryArguments;
use anyhow::Result;
use fathom_coordinator::directory::RunDirectory;
use fathom_coordinator::summary::Summary;
use fathom_coordinator::verify::verify as verify_run;
use fathom_layer::LocalDisk;
use indicatif::{HumanBytes, HumanCount};

pub(crate) fn verify(asked: &DirectoryArguments) -> Result<()> {
    // Locked: a search would delete files while they are read.
    let directory = RunDirectory::open(&asked.dir)?;
    let verified = verify_run(&directory, &LocalDisk)?;
    let summary = Summary::of(&directory)?;
    if asked.json {
        println!(
            "{}",
            serde_json::json!({
                "verified": true,
                "complete": summary.complete,
                "layers": verified.layers,
                "files": verified.files,
                "bytes": verified.bytes,
                "states": verified.states,
                "digest": summary.digest,
            })
        );
        return Ok(());
    }
    println!(
        "verified: {} layers in {} files ({}), {} states counted again, all as run.db says",
        verified.layers,
        verified.files,
        HumanBytes(verified.bytes),
        HumanCount(verified.states)
    );
    let visited: u64 = summary.counts.iter().sum();
    if summary.complete {
        println!("complete: the counts of all depths add up to {visited}, the number of states");
    } else {
        println!("not complete: {visited} of {} states visited", summary.states);
    }
    println!("digest: {}", summary.digest);
    Ok(())
}
