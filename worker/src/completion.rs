//! Completions for shells: a shell asks the program itself, so that values and puzzles are completed too.

use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use fathom_engine::task::Kernel;
use std::io::{self, Write};

/// The variable that holds the name of the shell when it asks for completions.
const VARIABLE: &str = "COMPLETE";

/// Answers a shell that asks for completions of `command`, and then ends the process. Returns if none asks.
pub fn answer(command: fn() -> Command) {
    CompleteEnv::with_factory(command).var(VARIABLE).complete();
}

/// Writes the script by which a shell asks `program` for completions. Returns false if the shell is not known.
///
/// # Errors
/// If `out` fails.
pub fn write_script(shell: &str, program: &str, out: &mut dyn Write) -> io::Result<bool> {
    let shells = Shells::builtins();
    let Some(shell) = shells.completer(shell) else { return Ok(false) };
    shell.write_registration(VARIABLE, &program.replace('-', "_"), program, program, out)?;
    Ok(true)
}

/// Adds candidates for the values of an argument.
pub fn candidates(argument: Arg, values: fn() -> Vec<String>) -> Arg {
    argument
        .add(ArgValueCandidates::new(move || values().into_iter().map(CompletionCandidate::new).collect()))
}

/// Adds the candidates for the values of a worker's options.
pub fn with_values(argument: Arg) -> Arg {
    match argument.get_id().as_str() {
        "kernel" => candidates(argument, || {
            let kernels = ["fastest", "avx512", "avx2", "neon", "portable", "reference"];
            kernels.into_iter().filter(|word| word.parse::<Kernel>().is_ok()).map(str::to_owned).collect()
        }),
        "spill_policy" => candidates(argument, || vec!["spill".into(), "refetch".into()]),
        _ => argument,
    }
}
