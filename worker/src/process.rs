//! The start and the end of a process, shared by both commands.

use anyhow::Result;
use fathom_command::terminal_line::tell;
use fathom_command::{exit, failpoint, machine};
use fathom_engine::run::error::is_bad_input;
use std::process::ExitCode;

/// Prepares this process, carries out the command that `arguments` returns, and prints an error. Returns
/// the exit code.
pub fn run<Arguments>(
    arguments: impl FnOnce() -> Result<Arguments>,
    command: impl FnOnce(Arguments) -> Result<()>,
) -> ExitCode {
    let result = arguments().and_then(|arguments| {
        failpoint::check()?;
        if let Err(error) = fathom_layer::map::report_faults() {
            tell(&format!("warning: faults under memory maps will not be reported: {error}"));
        }
        if let Err(error) = machine::raise_descriptor_limit() {
            tell(&format!("warning: there may not be enough file descriptors: {error}"));
        }
        command(arguments)
    });
    exit::end(result, is_bad_input)
}
