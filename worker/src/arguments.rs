//! The command line.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use fathom_command::address::{Reached, to_listen_on};
use fathom_command::log::Verbosity;
use fathom_command::machine::size;
use fathom_engine::task::SpillPolicy;
use fathom_proto::access::AccessArguments;
use fathom_worker::resources::ResourceArguments;
use fathom_worker::settings::Settings;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Makes shards of layers for a run of Fathom: for a coordinator that it joins, or from files to files.
#[derive(Debug, Parser)]
#[command(
    name = "fathom-worker",
    version,
    long_version = fathom_worker::version::long(),
    max_term_width = 100,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    after_help = JOIN_EXAMPLES
)]
pub(crate) struct Arguments {
    /// Say nothing but errors and warnings on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose", help_heading = OUTPUT)]
    quiet: bool,
    /// Say what happens to every task on standard error
    #[arg(short, long, global = true, help_heading = OUTPUT)]
    verbose: bool,
    #[command(flatten)]
    pub(crate) join: JoinArguments,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

/// The heading of the options that say what is printed.
const OUTPUT: &str = "Output";

impl Arguments {
    /// The command line of this process, by its arguments, the environment, and the user's settings.
    ///
    /// # Errors
    /// If the file of settings cannot be used. Wrong arguments end the process.
    pub(crate) fn of_process() -> anyhow::Result<Self> {
        let matches = Settings::read()?.matches(Self::command())?;
        Ok(Self::from_arg_matches(&matches).unwrap_or_else(|error| error.exit()))
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        Verbosity::new(self.quiet, self.verbose)
    }
}

const JOIN_EXAMPLES: &str = "\
Examples:
  fathom-worker --join node-0:7400 --listen 0.0.0.0:0 --store /scratch/fathom --keys keys
  fathom-worker --join 127.0.0.1:7400 --store store --threads 8 --memory 16GiB --disk-limit 500GiB";
const TASK_EXAMPLES: &str = "\
Examples:
  fathom-worker task --run runs/4x4-multi --depth 9 --shards 0-15";
const VERIFY_EXAMPLES: &str = "\
Examples:
  fathom-worker verify --store /scratch/fathom";
const CLEAN_EXAMPLES: &str = "\
Examples:
  fathom-worker clean --store /scratch/fathom --dry-run
  fathom-worker clean --store /scratch/fathom --run 5bd33b82961f9c6a";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make shards of one layer, from and to files in a run's directory, without a coordinator
    #[command(after_help = TASK_EXAMPLES)]
    Task(TaskArguments),
    /// Read every layer file in a worker's store, check every checksum, and count again
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArguments),
    /// List or remove what a worker's store holds of runs
    #[command(after_help = CLEAN_EXAMPLES)]
    Clean(CleanArguments),
}

#[derive(Debug, Args)]
pub(crate) struct JoinArguments {
    /// The coordinator to work for, as HOST:PORT
    #[arg(long, value_name = "HOST:PORT", requires = "store")]
    pub(crate) join: Option<String>,
    /// Where this worker keeps its layers, on a disk of its own; it must come back with the same directory
    #[arg(long, value_name = "DIR", requires = "join")]
    pub(crate) store: Option<PathBuf>,
    /// What this worker is called [default: the name of this host]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: Option<String>,
    /// Where to listen for other workers; port 0 is any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = to_listen_on)]
    pub(crate) listen: SocketAddr,
    /// Where other workers reach this one, as HOST or HOST:PORT [default: where it listens, or as the
    /// coordinator sees it]
    #[arg(long, value_name = "HOST")]
    pub(crate) advertise: Option<Reached>,
    /// How long calls to the coordinator may fail before this worker gives up, for example 15min
    #[arg(long, value_name = "TIME", default_value = "15min", allow_hyphen_values = true, value_parser = humantime::parse_duration)]
    pub(crate) patience: Duration,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// What happens to cosets from other workers that exceed three quarters of the memory for layers: disk
    /// (they are written there) or fetch (the oldest are dropped and fetched again, which is better where
    /// links are as fast as the disk)
    #[arg(long, value_name = "WAY", default_value_t)]
    pub(crate) spill_policy: SpillPolicy,
    /// The most that files in the store may take of its disk, for example 500GiB [default: what is free]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(crate) disk_limit: Option<u64>,
    /// The process that has started this worker, and without which it must not go on
    #[arg(long, value_name = "PID", hide = true)]
    pub(crate) child_of: Option<u32>,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArguments {
    /// The run's directory, on a file system that all who work on the run share
    #[arg(long, value_name = "DIR")]
    pub(crate) run: PathBuf,
    /// The depth of the layer to make; the layers before it must be finished
    #[arg(long, value_name = "D")]
    pub(crate) depth: u32,
    /// The shards to make, for example 0-15 or 3,8-11; those that are there already are left as they are
    #[arg(long, value_name = "LIST", value_parser = range, value_delimiter = ',', required = true)]
    pub(crate) shards: Vec<RangeInclusive<u32>>,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// The store, as the worker was given it
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// Only what it holds of this run, by the beginning of the run's fingerprint; may be given several times
    /// [default: all runs]
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Vec<String>,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Remove the worker's id and logs too, which are all else that a store holds
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The store, as the worker was given it
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// Reads `A` or `A-B`.
fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err(format!("{text:?} is no range of shards: give A or A-B, with A not larger than B")),
    }
}
