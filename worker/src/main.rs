//! The command `fathom-worker`.
//!
//! Logs and messages go to standard error, results of `verify` and `clean` to standard output. Exit codes: 0
//! done, 1 failed, 2 bad input, 128 + n stopped by signal n.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod commands;

use arguments::{Arguments, Command};
use fathom_command::terminal_line::tell;
use fathom_command::{exit, failpoint};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = match Arguments::of_process() {
        Ok(arguments) => arguments,
        Err(error) => return exit::end(Err(error), fathom_engine::run::error::is_bad_input),
    };
    if let Err(error) = failpoint::check() {
        return exit::end(Err(error), fathom_engine::run::error::is_bad_input);
    }
    let verbosity = arguments.verbosity();
    if let Err(error) = fathom_layer::map::report_faults() {
        tell(&format!("warning: faults under memory maps will not be reported: {error}"));
    }
    if let Err(error) = fathom_command::machine::raise_descriptor_limit() {
        tell(&format!("warning: there may not be enough file descriptors: {error}"));
    }
    let result = match arguments.command {
        Some(Command::Task(args)) => commands::task::task(&args, verbosity),
        Some(Command::Verify(args)) => commands::verify::verify(&args),
        Some(Command::Clean(args)) => commands::clean::clean(&args),
        None => commands::join::join(&arguments.join, verbosity),
    };
    exit::end(result, fathom_engine::run::error::is_bad_input)
}
