//! `--on-done COMMAND`: what follows a run, such as a message to the people who wait for it. The command
//! comes before the time for which a page lingers, so that the message is not late.

use crate::arguments::OnDoneArguments;
use anyhow::Result;
use fathom_command::exit::{BadInput, Interrupted};
use fathom_command::output;
use fathom_engine::directory::RunDirectory;
use fathom_engine::summary::Summary;
use std::path::Path;
use std::process::{Command, Stdio};

/// Passes the end of a run on, after the command that follows it.
///
/// A run that cannot be asked for, or that was found complete, is an end as well. Whatever the command does,
/// the run ended as it did.
pub(crate) fn after(args: &OnDoneArguments, run: &Path, end: Result<()>) -> Result<()> {
    let Some(command) = &args.on_done else {
        return end;
    };
    if end.as_ref().is_err_and(|error| error.is::<BadInput>()) {
        return end;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("FATHOM_RUN", run).stdin(Stdio::null());
    let summary = RunDirectory::open_for_reading(run).and_then(|run| Summary::of(&run));
    if let Ok(summary) = &summary {
        shell
            .env("FATHOM_SPACE", &summary.space)
            .env("FATHOM_METRIC", &summary.metric)
            .env("FATHOM_STATES", summary.states.to_string())
            .env("FATHOM_DEPTH", summary.counts.len().saturating_sub(1).to_string())
            .env("FATHOM_SECONDS", format!("{:.1}", summary.seconds))
            .env("FATHOM_DIGEST", &summary.digest);
        if let Some(depth) = summary.god_number {
            shell.env("FATHOM_GOD_NUMBER", depth.to_string());
        }
    }
    let complete = summary.is_ok_and(|summary| summary.complete);
    let status = match &end {
        Err(error) if error.is::<Interrupted>() => "stopped",
        Err(error) => {
            shell.env("FATHOM_ERROR", format!("{error:#}"));
            "failed"
        }
        Ok(()) if complete => "complete",
        Ok(()) => "max-depth",
    };
    match shell.env("FATHOM_STATUS", status).status() {
        Ok(status) if status.success() => {}
        Ok(status) => output::remark(&format!("the command of --on-done ended with {status}")),
        Err(error) => output::remark(&format!("the command of --on-done cannot be started: {error}")),
    }
    end
}
