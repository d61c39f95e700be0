//! The commands of a worker, one module each.

mod clean;
mod join;
mod task;
mod verify;

use crate::arguments::{Command, WorkerArguments};
use anyhow::Result;
use fathom_command::log::Verbosity;

/// Carries out a command of a worker.
///
/// # Errors
/// If the command fails; [`fathom_command::exit::BadInput`] if the arguments are wrong.
pub fn run(arguments: &WorkerArguments, verbosity: Verbosity) -> Result<()> {
    match &arguments.command {
        Some(Command::Task(arguments)) => task::task(arguments, verbosity),
        Some(Command::Verify(arguments)) => verify::verify(arguments),
        Some(Command::Clean(arguments)) => clean::clean(arguments),
        None => join::join(&arguments.join, verbosity),
    }
}
