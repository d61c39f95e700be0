//! The command `fathom-worker`.
//!
//! Logs and messages go to standard error, results of `verify` and `clean` to standard output. Exit codes: 0
//! done, 1 failed, 2 bad input, 128 + n stopped by signal n.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod commands;

use anyhow::Result;
use arguments::{Arguments, Command};
use fathom_worker::process;
use std::process::ExitCode;

fn main() -> ExitCode {
    process::run(Arguments::of_process, run)
}

fn run(arguments: Arguments) -> Result<()> {
    let verbosity = arguments.verbosity();
    match arguments.command {
        Some(Command::Task(args)) => commands::task::task(&args, verbosity),
        Some(Command::Verify(args)) => commands::verify::verify(&args),
        Some(Command::Clean(args)) => commands::clean::clean(&args),
        None => commands::join::join(&arguments.join, verbosity),
    }
}
