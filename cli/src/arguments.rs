//! The command line.

mod audit;
mod bound;
mod cluster;
mod help;
mod page;
mod plan;
mod questions;
mod search;
mod space;

pub(crate) use audit::AuditArguments;
pub(crate) use bound::{BoundArguments, Bounded};
pub(crate) use cluster::{
    ClusterArguments, DrainArguments, KeysArguments, LogsArguments, ServeArguments, StatusArguments,
    StopArguments, TopArguments, WorkersArguments,
};
pub(crate) use page::{HttpArguments, PageArguments};
pub(crate) use plan::PlanArguments;
pub(crate) use questions::{
    AntipodesArguments, ConvertArguments, GroupArguments, PuzzlesArguments, ShapesArguments, SolveArguments,
};
pub(crate) use search::{
    BeginArguments, CompareArguments, MergeArguments, OnDoneArguments, RemoveArguments, ReportArguments,
    ResumeArguments, RunArguments, SearchArguments, VerifyArguments,
};
pub(crate) use space::SpaceArguments;

use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};
use fathom_command::log::Verbosity;
use std::path::PathBuf;

/// Enumerates the whole state space of a permutation puzzle, breadth first, exactly.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, long_version = fathom_worker::version::long(), max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Say nothing but errors and warnings on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = OUTPUT)]
    quiet: bool,
    /// Say what happens to every task on standard error
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading of the options that say what is printed.
pub(crate) const OUTPUT: &str = "Output";

impl Arguments {
    /// The command line of this process, by its arguments, the environment, and the user's settings.
    ///
    /// # Errors
    /// If the file of settings cannot be used. Wrong arguments end the process.
    pub(crate) fn of_process() -> anyhow::Result<Self> {
        let settings = fathom_worker::settings::Settings::read()?;
        // Composing the help takes longer than parsing.
        let matches = match settings.applied(Self::without_help()).try_get_matches() {
            Ok(matches) => matches,
            Err(_) => settings.matches(Self::with_help())?,
        };
        Ok(Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
    }

    /// The command with its commands in groups, and examples below each.
    pub(crate) fn with_help() -> clap::Command {
        help::dressed(Self::without_help())
    }

    /// The command as it is parsed. A number below zero is a value that is out of range, not an option.
    fn without_help() -> clap::Command {
        Self::command().mut_subcommands(|command| command.allow_negative_numbers(true))
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        Verbosity::new(self.quiet, self.verbose)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Enumerate a space; go on with it, or report it, if its directory is there
    Run(RunArguments),
    /// Go on with an interrupted run
    Resume(ResumeArguments),
    /// Finish a layer whose shards 'fathom-worker task' has made
    Merge(MergeArguments),
    /// Coordinate a run for workers on many hosts; go on with it if its directory is there
    Serve(ServeArguments),
    /// Tell how far a run is
    Status(StatusArguments),
    /// List the workers of a run that is served
    Workers(WorkersArguments),
    /// Have a worker leave as soon as others hold all that it holds
    Drain(DrainArguments),
    /// Have all workers stop at the next coset, and end the coordinator
    Stop(StopArguments),
    /// Print the log lines of a run in order of time
    Logs(LogsArguments),
    /// Show a run's directory in a browser
    Page(PageArguments),
    /// Write a report: a web page, or for a paper, a spreadsheet, a program or the OEIS
    Report(ReportArguments),
    /// Read a run's layers and count again; or check the certificate of an upper bound
    Verify(VerifyArguments),
    /// Hold states of a run's layers against what must be true of distances
    Audit(AuditArguments),
    /// Tell how a space would be enumerated and what that takes, without a search
    Plan(PlanArguments),
    /// List the words that name a puzzle
    Puzzles(PuzzlesArguments),
    /// Tell what group a puzzle's moves generate, and answer questions about its elements
    Group(GroupArguments),
    /// Tell the shapes of Square-1, and shortest ways between them
    Shapes(ShapesArguments),
    /// Rewrite a sequence for a puzzle that is held still
    Convert(ConvertArguments),
    /// Find shortest solutions of a state
    Solve(SolveArguments),
    /// List the classes of the farthest states, each with a shortest solution
    Antipodes(AntipodesArguments),
    /// Bound God's number from below or from above without a search
    Bound(BoundArguments),
    /// Measure kernels and whole searches on this machine
    Bench(BenchArguments),
    /// Make a token and certificates, by which a run's processes trust each other
    Keys(KeysArguments),
    /// Watch a run in the terminal: growth, shards, workers and events
    Top(TopArguments),
    /// Remove a run's layers but keep its results, or remove everything
    Remove(RemoveArguments),
    /// Tell where two results differ
    Compare(CompareArguments),
    /// Print the completions of a shell
    Completions(CompletionsArguments),
    /// Write manual pages
    Man(ManArguments),
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// bash, elvish, fish, powershell or zsh
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// The directory to write into; made if it is not there
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Repetitions of each whole search; medians are printed
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Where files are written, up to 1.2 GB at a time [default: the system's directory for temporary files]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Compare this build with another one, the program 'fathom' at this path: whole runs of both in turn
    ///
    /// A ratio above 1 means that this build is faster.
    #[arg(long, value_name = "PATH")]
    pub(crate) against: Option<PathBuf>,
    /// With --against: what 'fathom run' is told to do, instead of five boards
    #[arg(last = true, value_name = "RUN", requires = "against")]
    pub(crate) run: Vec<String>,
    /// Print one JSON object instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}
