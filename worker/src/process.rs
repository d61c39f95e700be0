//! The start and the end of a process, shared by both commands.

use anyhow::Result;
use fathom_command::terminal_line::tell;
use fathom_command::{exit, failpoint, machine};
use fathom_engine::run::error::is_bad_input;
use std::panic::resume_unwind;
use std::process::ExitCode;
use std::thread::Builder;

/// Bytes of stack that each command has.
const STACK: usize = 8 << 20;

/// Prepares this process, carries out the command that `arguments` returns, and prints an error. Returns
/// the exit code.
pub fn run<Arguments>(
    arguments: impl FnOnce() -> Result<Arguments> + Send,
    command: impl FnOnce(Arguments) -> Result<()> + Send,
) -> ExitCode {
    if machine::stack_limit() >= STACK as u64 {
        return carried_out(arguments, command);
    }
    // `ulimit -s` concerns only the first thread.
    std::thread::scope(|scope| {
        let thread = Builder::new().name("command".into()).stack_size(STACK);
        match thread.spawn_scoped(scope, || carried_out(arguments, command)) {
            Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
            Err(error) => {
                exit::end(Err(anyhow::Error::new(error).context("cannot start a thread")), is_bad_input)
            }
        }
    })
}

fn carried_out<Arguments>(
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
