//! `--on-done COMMAND`: runs a command at the end of a run, for example to send a notification. It runs
//! before the page lingers, so that the notification is not delayed.

use crate::arguments::OnDoneArguments;
use anyhow::Result;
use fathom_command::exit::{BadInput, Interrupted};
use fathom_command::output;
use fathom_engine::directory::RunDirectory;
use fathom_engine::summary::Summary;
use std::path::Path;
use std::process::{Command, Stdio};

/// Runs the command of `--on-done` and returns `end`, whatever the command does. `is_stopped` says whether
/// the run was stopped although `end` is not an error. The command may use the run, so its lock must not be
/// held.
///
/// The command also runs if the run was already complete. It does not run if `end` is [`BadInput`].
pub(crate) fn after(args: &OnDoneArguments, run: &Path, is_stopped: bool, end: Result<()>) -> Result<()> {
    let Some(command) = &args.on_done else {
        return end;
    };
    if end.as_ref().is_err_and(|error| error.is::<BadInput>()) {
        return end;
    }
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("FATHOM_RUN", run).stdin(Stdio::null());
    let summary = RunDirectory::open_for_reading(run).and_then(|run| Summary::new(&run));
    if let Ok(summary) = &summary {
        shell
            .env("FATHOM_SPACE", &summary.space)
            .env("FATHOM_METRIC", &summary.metric)
            .env("FATHOM_STATES", summary.states.map_or_else(String::new, |states| states.to_string()))
            .env("FATHOM_DEPTH", summary.counts.len().saturating_sub(1).to_string())
            .env("FATHOM_SECONDS", format!("{:.1}", summary.seconds))
            .env("FATHOM_DIGEST", &summary.digest);
        shell.env("FATHOM_INVERSE_CLOSED", summary.inverse_closed.to_string());
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
        Ok(()) if is_stopped => "stopped",
        Ok(()) => "max-depth",
    };
    match shell.env("FATHOM_STATUS", status).status() {
        Ok(status) if status.success() => {}
        Ok(status) => output::warning(&format!("the --on-done command failed: {status}")),
        Err(error) => output::warning(&format!("cannot start the --on-done command: {error}")),
    }
    end
}
