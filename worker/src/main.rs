//! The command `fathom-worker`, which is `fathom worker` without the other commands of `fathom`.
//!
//! Logs and messages go to standard error, results of `verify` and `clean` to standard output. Exit codes: 0
//! done, 1 failed, 2 bad input, 128 + n stopped by signal n.

#![deny(clippy::print_stdout, clippy::print_stderr)]

use clap::{CommandFactory, FromArgMatches, Parser};
use fathom_command::log::Verbosity;
use fathom_worker::arguments::{OUTPUT, WorkerArguments};
use fathom_worker::settings::Settings;
use fathom_worker::{commands, completion, process, version};
use std::process::ExitCode;

/// Computes shards for a coordinator or, without one, from files to files.
#[derive(Debug, Parser)]
#[command(name = "fathom-worker", version, long_version = version::long(), max_term_width = 100)]
struct Arguments {
    /// Print only errors and warnings
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = OUTPUT)]
    quiet: bool,
    /// Log every task to standard error
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    verbose: bool,
    #[command(flatten)]
    worker: WorkerArguments,
}

fn main() -> ExitCode {
    completion::answer(|| Arguments::command().mut_args(completion::with_values));
    process::run(arguments, |arguments| {
        commands::run(&arguments.worker, Verbosity::new(arguments.quiet, arguments.verbose))
    })
}

/// Returns the command line of this process, by its arguments, the environment, and the user's settings.
fn arguments() -> anyhow::Result<Arguments> {
    let matches = Settings::read()?.matches(Arguments::command())?;
    Ok(Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
}
