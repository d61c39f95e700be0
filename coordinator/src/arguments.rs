//! The command line.

mod audit;
mod bound;
mod cluster;
mod page;
mod plan;
mod questions;
mod search;
mod space;

pub(crate) use audit::AuditArguments;
pub(crate) use bound::{BoundArguments, Bounded};
pub(crate) use cluster::{
    ClusterArguments, DrainArguments, KeysArguments, LogsArguments, ServeArguments, StatusArguments,
    StopArguments, WorkersArguments,
};
pub(crate) use page::{HttpArguments, PageArguments};
pub(crate) use plan::PlanArguments;
pub(crate) use questions::{
    AntipodesArguments, ConvertArguments, GroupArguments, PuzzlesArguments, SolveArguments,
};
pub(crate) use search::{
    BeginArguments, MergeArguments, ReportArguments, ResumeArguments, RunArguments, VerifyArguments,
};
pub(crate) use space::SpaceArguments;

use clap::{Args, Parser, Subcommand, value_parser};
use fathom_command::log::Verbosity;
use std::path::PathBuf;

/// Enumerates the whole state space of a permutation puzzle, breadth first, exactly.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Say nothing but errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say what happens to every task on standard error
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    pub(crate) fn verbosity(&self) -> Verbosity {
        Verbosity::of(self.quiet, self.verbose)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Enumerate a space; go on with it or report it if its directory is there already
    Run(RunArguments),
    /// Go on with an interrupted run
    Resume(ResumeArguments),
    /// Finish a layer whose shards 'fathom-worker task' has made
    Merge(MergeArguments),
    /// Coordinate a run for workers on many hosts; go on with it if its directory is there already
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
    /// Set out what a run has found, with where it comes from: as a web page, for a paper, a spreadsheet, a program or the OEIS
    Report(ReportArguments),
    /// Read every layer file of a run, check every checksum, count again and compare; or check the certificate of an upper bound
    Verify(VerifyArguments),
    /// Hold states of a run's layers against what must be true of distances, by code that shares nothing with the search
    Audit(AuditArguments),
    /// Tell how a space would be enumerated and what that takes, without a search
    Plan(PlanArguments),
    /// List the words that name a puzzle
    Puzzles(PuzzlesArguments),
    /// Tell what group a puzzle's moves generate, and answer questions about its elements
    Group(GroupArguments),
    /// Write a sequence for a puzzle that is turned in the hand, such as the six faces of the 2x2x2 cube, for one held still
    Convert(ConvertArguments),
    /// Find shortest solutions of a state
    Solve(SolveArguments),
    /// List the classes of the states that are farthest from solved, or at any depth, each with a shortest solution, or scramble where moves have no inverses
    Antipodes(AntipodesArguments),
    /// Bound God's number from below by counting words, or from above by solving stage by stage, without a search of the space
    Bound(BoundArguments),
    /// Measure kernels and whole searches on this machine
    Bench(BenchArguments),
    /// Make a token, an authority and a certificate, so that the processes of a run can trust each other
    Keys(KeysArguments),
}

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Repetitions of each whole search; medians are printed
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Where files are written, up to 1.2 GB at a time [default: the system's directory for temporary files]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}
