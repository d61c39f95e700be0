//! The command `fathom`.
//!
//! Results go to standard output, all else to standard error. Exit codes: 0 done, 1 failed or the answer is
//! no, 2 bad input, 128 + n stopped by signal n.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod arguments;
mod commands;

use anyhow::Result;
use arguments::{Arguments, Command};
use commands::missing_run;
use fathom_command::activity::doing;
use fathom_command::log::Verbosity;
use fathom_command::output;
use fathom_command::terminal_line::tell;
use fathom_worker::{completion, process};
use std::process::ExitCode;

fn main() -> ExitCode {
    completion::answer(arguments::completion::command);
    process::run(Arguments::of_process, |arguments| run(arguments).map_err(missing_run::explained))
}

fn run(arguments: Arguments) -> Result<()> {
    let verbosity = arguments.verbosity();
    if verbosity == Verbosity::Quiet {
        output::leave_out_remarks();
    }
    // A worker stops on a signal only after it has handed back its tasks, and listens itself.
    let listens = !matches!(arguments.command, Command::Worker(_));
    if listens && let Err(error) = fathom_command::interrupt::listen() {
        tell(&format!("warning: signals will end this process immediately: {error}"));
    }
    let _doing = doing_of(&arguments.command).map(doing);
    match arguments.command {
        Command::Run(args) => commands::run::run(&args, verbosity),
        Command::Resume(args) => commands::run::resume(&args, verbosity),
        Command::Merge(args) => commands::merge::merge(&args, verbosity),
        Command::Serve(args) => commands::serve::serve(&args, verbosity),
        Command::Workers(args) => commands::coordinator_queries::workers(&args),
        Command::Drain(args) => commands::coordinator_queries::drain(&args),
        Command::Stop(args) => commands::coordinator_queries::stop(&args),
        Command::Logs(args) => commands::logs::logs(&args),
        Command::Status(args) => commands::status::status(&args),
        Command::Page(args) => commands::page::page(&args),
        Command::Report(args) => commands::report::report(&args),
        Command::Verify(args) => commands::verify::verify(&args),
        Command::Audit(args) => commands::audit::audit(&args),
        Command::Plan(args) => commands::plan::plan(&args),
        Command::Bound(args) => commands::bound::bound(&args),
        Command::Phases(args) => commands::phases::phases(&args),
        Command::Bench(args) => match &args.against {
            Some(other) => commands::bench_pair::compare(&args, other),
            None => commands::bench::bench(&args),
        },
        Command::Puzzles(args) => commands::puzzles::puzzles(&args),
        Command::Group(args) => commands::group::group(&args),
        Command::Pieces(args) => commands::pieces::pieces(&args),
        Command::Shapes(args) => commands::shapes::shapes(&args),
        Command::Convert(args) => commands::convert::convert(&args),
        Command::Solve(args) => commands::solve::solve(&args),
        Command::Antipodes(args) => commands::antipodes::antipodes(&args),
        Command::Distance(args) => commands::distance::distance(&args),
        Command::Export(args) => commands::export::export(&args),
        Command::Table(args) => commands::table::table(&args),
        Command::Definition(args) => commands::definition::definition(&args),
        Command::Symmetries(args) => commands::definition::symmetries(&args),
        Command::Keys(args) => commands::keys::keys(&args),
        Command::Top(args) => commands::top::top(&args),
        Command::Remove(args) => commands::remove::remove(&args),
        Command::Compare(args) => commands::compare::compare(&args),
        Command::Completions(args) => commands::help::completions(&args),
        Command::Man(args) => commands::manual::man(&args),
        Command::Help(args) => commands::help::help(&args),
        Command::Ls(args) => commands::ls::list(&args),
        Command::Worker(args) => fathom_worker::commands::run(&args, verbosity),
    }
}

/// Returns what a command is doing, which is shown while the command prints nothing.
fn doing_of(command: &Command) -> Option<&'static str> {
    Some(match command {
        Command::Plan(_) => "planning",
        Command::Verify(_) => "reading layers and counting again",
        Command::Audit(_) => "auditing",
        Command::Report(_) => "gathering the report",
        Command::Group(_) => "computing the group",
        Command::Solve(_) => "searching for solutions",
        Command::Antipodes(_) => "listing classes",
        Command::Table(_) => "reading layers",
        Command::Bound(_) => "bounding God's number",
        Command::Phases(_) => "searching the phases",
        Command::Remove(_) => "removing",
        _ => return None,
    })
}
