//! The command line.

mod audit;
mod bound;
mod cluster;
pub(crate) mod completion;
mod help;
mod page;
mod plan;
mod puzzle_questions;
mod search;
pub(crate) mod served_options;
mod space;

pub(crate) use audit::AuditArguments;
pub(crate) use bound::{BoundArguments, Bounded};
pub(crate) use cluster::{
    ClusterArguments, DrainArguments, KeysArguments, LogsArguments, ServeArguments, StatusArguments,
    StopArguments, TopArguments, WorkersArguments,
};
pub(crate) use help::all_commands;
pub(crate) use page::{HttpArguments, PageArguments};
pub(crate) use plan::PlanArguments;
pub(crate) use puzzle_questions::{
    AntipodesArguments, ConvertArguments, DefinitionArguments, DefinitionFormat, DistanceArguments,
    ExportArguments, ExportFormat, GroupArguments, PhasesArguments, PiecesArguments, PuzzlesArguments,
    ShapesArguments, SolveArguments, SymmetriesArguments, TableArguments,
};
pub(crate) use search::{
    BeginArguments, CompareArguments, MergeArguments, OnDoneArguments, RemoveArguments, ReportArguments,
    ResumeArguments, RunArguments, SearchArguments, VerifyArguments,
};
pub(crate) use served_options::ServedOptions;
pub(crate) use space::SpaceArguments;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, value_parser};
use fathom_command::log::Verbosity;
use fathom_worker::arguments::WorkerArguments;
use std::ffi::OsString;
use std::path::PathBuf;

/// Count the states of a permutation puzzle at every distance from solved, by exhaustive breadth-first
/// search.
#[derive(Debug, Parser)]
#[command(name = "fathom", version, long_version = fathom_worker::version::long(), max_term_width = 100)]
#[command(subcommand_required = true, arg_required_else_help = true, disable_help_subcommand = true)]
pub(crate) struct Arguments {
    /// Print only errors and warnings
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = OUTPUT)]
    quiet: bool,
    /// Log every task to standard error
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    verbose: bool,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// The heading of the options that say what is printed.
pub(crate) const OUTPUT: &str = "Output";
/// The heading of options that few runs need.
pub(crate) const ADVANCED: &str = "Advanced";

impl Arguments {
    /// Returns the command line of this process, by its arguments, the environment, and the user's settings.
    ///
    /// # Errors
    /// If the file of settings cannot be used. Wrong arguments end the process.
    pub(crate) fn of_process() -> anyhow::Result<Self> {
        let settings = fathom_worker::settings::Settings::read()?;
        // Composing the help takes longer than parsing.
        let matches = match settings.applied(Self::without_help()).try_get_matches() {
            Ok(matches) => matches,
            Err(mut error) => {
                if suggest(&mut error) {
                    error.exit();
                }
                let line: Vec<OsString> = std::env::args_os().collect();
                let completed = match error.kind() {
                    ErrorKind::MissingRequiredArgument => ServedOptions::completed(&line)?,
                    _ => None,
                };
                match completed {
                    Some(line) => {
                        let command = settings.applied(Self::without_help());
                        command.try_get_matches_from(line).unwrap_or_else(|error| error.exit())
                    }
                    None => settings.matches(Self::with_help())?,
                }
            }
        };
        let mut arguments = Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
        if let (Command::Serve(serve), Some((name, given))) = (&mut arguments.command, matches.subcommand()) {
            let command = Self::command();
            serve.options = command.find_subcommand(name).and_then(|serve| ServedOptions::of(serve, given));
        }
        Ok(arguments)
    }

    /// Returns the command with its subcommands in groups, and examples below each.
    pub(crate) fn with_help() -> clap::Command {
        help::with_groups(Self::without_help())
    }

    /// Returns the command as it is parsed. A negative number is a value out of range, not an option.
    fn without_help() -> clap::Command {
        let command = Self::command().mut_subcommands(|command| command.allow_negative_numbers(true));
        // The options of a run that is continued come first.
        command.mut_subcommand("serve", |serve| serve.args_override_self(true))
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        Verbosity::new(self.quiet, self.verbose)
    }
}

/// Adds the command that differs from an unknown one in a single typing error, if there is one: clap itself
/// does not find exchanged letters. Returns whether there is one.
fn suggest(error: &mut clap::Error) -> bool {
    let Some(ContextValue::String(unknown)) = error.get(ContextKind::InvalidSubcommand) else {
        return false;
    };
    let command = Arguments::command();
    let names = command.get_subcommands().map(clap::Command::get_name);
    let mut similar = names.filter(|name| strsim::damerau_levenshtein(name, unknown) == 1);
    let Some(name) = similar.next().map(str::to_owned) else { return false };
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![name]));
    true
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Count the states at each distance (resumes an interrupted run, reports a finished one)
    Run(RunArguments),
    /// Resume an interrupted run
    Resume(ResumeArguments),
    /// Finish a layer whose shards were computed with 'fathom worker task'
    Merge(MergeArguments),
    /// Run a search on many hosts, as its coordinator (resumes an existing run)
    Serve(Box<ServeArguments>),
    /// Work for a coordinator, on one host of a cluster
    Worker(WorkerArguments),
    /// Show a run's progress
    Status(StatusArguments),
    /// List the runs on this machine
    Ls(ListArguments),
    /// List the workers of a coordinator
    Workers(WorkersArguments),
    /// Retire a worker once other workers have copies of its files
    Drain(DrainArguments),
    /// Stop a coordinator and its workers; the run can be resumed
    Stop(StopArguments),
    /// Print a run's log
    Logs(LogsArguments),
    /// Show a run in a browser
    Page(PageArguments),
    /// Write a run's results as a web page, or for papers, spreadsheets or the OEIS
    Report(ReportArguments),
    /// Check that a run's files match its result, or check the certificate of an upper bound
    Verify(VerifyArguments),
    /// Spot-check a run's layers against the puzzle's moves, independently of the search
    Audit(AuditArguments),
    /// Predict the time, memory and disk space a search would need
    Plan(PlanArguments),
    /// List the built-in puzzles
    Puzzles(PuzzlesArguments),
    /// Identify the group that a puzzle's moves generate, or test and factor elements
    Group(GroupArguments),
    /// List the pieces of a puzzle: numbers, names and places
    Pieces(PiecesArguments),
    /// Describe the shapes of Square-1 and the shortest paths between them
    Shapes(ShapesArguments),
    /// Write a puzzle for other programs
    Definition(DefinitionArguments),
    /// List the symmetries of a puzzle
    Symmetries(SymmetriesArguments),
    /// Rewrite a sequence with rotations as one for a puzzle with a fixed orientation
    Convert(ConvertArguments),
    /// Find the shortest solutions for a state
    Solve(SolveArguments),
    /// List the states that are farthest from solved, up to symmetry, with shortest solutions
    Antipodes(AntipodesArguments),
    /// Print the distances of many states, from the layers of a run
    Distance(DistanceArguments),
    /// Write the states of a depth, or the graph of all states, to a file
    Export(ExportArguments),
    /// Write the distances of all states to a file, as a pattern database
    Table(TableArguments),
    /// Prove bounds on God's number without a search
    Bound(BoundArguments),
    /// Bound God's number by the distances in each phase of a chain of subgroups
    Phases(PhasesArguments),
    /// Measure kernels and whole searches on this machine
    Bench(BenchArguments),
    /// Create the keys of a cluster: a token and TLS certificates
    Keys(KeysArguments),
    /// Watch a run in the terminal
    #[command(alias = "watch")]
    Top(TopArguments),
    /// Remove a run's layers, or the whole run
    #[command(alias = "rm")]
    Remove(RemoveArguments),
    /// Compare two results
    Compare(CompareArguments),
    /// Print a shell's completion script
    Completions(CompletionsArguments),
    /// Write manual pages
    Man(ManArguments),
    /// Print this help, or the help of a command
    Help(HelpArguments),
}

#[derive(Debug, Args)]
pub(crate) struct HelpArguments {
    /// List all commands
    #[arg(long)]
    pub(crate) all: bool,
    /// The command
    #[arg(conflicts_with = "all")]
    pub(crate) command: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    /// Directory of the runs
    #[arg(value_name = "DIR", env = "FATHOM_DIR", hide_env_values = true, default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CompletionsArguments {
    /// bash, elvish, fish, powershell or zsh
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct ManArguments {
    /// Directory for the pages; created if it does not exist
    pub(crate) dir: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct BenchArguments {
    /// Repetitions of each search; medians are printed
    #[arg(long, default_value_t = 5, value_parser = value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Directory for files of up to 1.2 GB [default: the system's temporary directory]
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Compare with another build of fathom at this path, in alternating runs
    ///
    /// A ratio above 1 means that this build is faster.
    #[arg(long, value_name = "PATH")]
    pub(crate) against: Option<PathBuf>,
    /// With --against: arguments of 'fathom run' to measure instead of the five default boards
    #[arg(last = true, value_name = "RUN", requires = "against")]
    pub(crate) run: Vec<String>,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}
