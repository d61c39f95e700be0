//! The command `fathom`.
//!
//! Results go to standard output, all else to standard error. Exit codes: 0 done, 1 failed or the answer is no, 2 bad
//! input, 128 + n stopped by signal n.

mod arguments;
mod commands;

use arguments::{Arguments, Command};
use clap::Parser;
use fathom_command::log::Verbosity;
use fathom_command::{exit, output};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let verbosity = arguments.verbosity();
    if verbosity == Verbosity::Quiet {
        output::leave_out_remarks();
    }
    if let Err(error) = fathom_layer::map::report_faults() {
        eprintln!("warning: faults under memory maps will not be reported: {error}");
    }
    if let Err(error) = fathom_command::machine::raise_descriptor_limit() {
        eprintln!("warning: there may not be enough file descriptors: {error}");
    }
    let result = match arguments.command {
        Command::Run(asked) => commands::run::run(&asked, verbosity),
        Command::Resume(asked) => commands::run::resume(&asked, verbosity),
        Command::Merge(asked) => commands::merge::merge(&asked, verbosity),
        Command::Serve(asked) => commands::serve::serve(&asked, verbosity),
        Command::Workers(asked) => commands::client::workers(&asked),
        Command::Drain(asked) => commands::client::drain(&asked),
        Command::Stop(asked) => commands::client::stop(&asked),
        Command::Logs(asked) => commands::logs::logs(&asked),
        Command::Status(asked) => commands::status::status(&asked),
        Command::Report(asked) => commands::report::report(&asked),
        Command::Verify(asked) => commands::verify::verify(&asked),
        Command::Audit(asked) => commands::audit::audit(&asked),
        Command::Plan(asked) => commands::plan::plan(&asked),
        Command::Bound(asked) => commands::bound::bound(&asked),
        Command::Bench(asked) => commands::bench::bench(&asked),
        Command::Puzzles(asked) => commands::puzzles::puzzles(&asked),
        Command::Group(asked) => commands::group::group(&asked),
        Command::Convert(asked) => commands::convert::convert(&asked),
        Command::Solve(asked) => commands::solve::solve(&asked),
        Command::Antipodes(asked) => commands::antipodes::antipodes(&asked),
        Command::Keys(asked) => commands::keys::keys(&asked),
    };
    exit::end(result, fathom_run::error::is_bad_input)
}
