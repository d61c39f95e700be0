//! The command line of a worker.

use crate::resources::ResourceArguments;
use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand, value_parser};
use fathom_command::address::{Reached, to_listen_on};
use fathom_command::machine::size;
use fathom_engine::task::SpillPolicy;
use fathom_proto::access::AccessArguments;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// The heading of the options that say what is printed.
pub const OUTPUT: &str = "Output";

/// What a worker is asked to do.
#[derive(Debug, Args)]
#[command(arg_required_else_help = true, args_conflicts_with_subcommands = true, after_help = JOIN_EXAMPLES)]
pub struct WorkerArguments {
    #[command(flatten)]
    pub(crate) join: JoinArguments,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

const JOIN_EXAMPLES: &str = "\
Examples:
  fathom worker --join node-0:7400 --listen 0.0.0.0:0 --store /scratch/fathom --keys keys
  fathom worker --join 127.0.0.1:7400 --store store --threads 8 --memory 16GiB --disk-limit 500GiB
  fathom worker --join-file join --listen 0.0.0.0:0 --store /scratch/fathom --keys keys";
const TASK_EXAMPLES: &str = "\
Examples:
  fathom worker task --run runs/4x4-multi --depth 9 --shards 0-15";
const VERIFY_EXAMPLES: &str = "\
Examples:
  fathom worker verify --store /scratch/fathom";
const CLEAN_EXAMPLES: &str = "\
Examples:
  fathom worker clean --store /scratch/fathom --dry-run
  fathom worker clean --store /scratch/fathom --run 5bd33b82961f9c6a";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Compute shards of one layer in a run's directory, without a coordinator
    #[command(after_help = TASK_EXAMPLES)]
    Task(TaskArguments),
    /// Check every checksum in a worker's store and recount the states
    #[command(after_help = VERIFY_EXAMPLES)]
    Verify(VerifyArguments),
    /// List or remove the files of runs in a worker's store
    #[command(after_help = CLEAN_EXAMPLES)]
    Clean(CleanArguments),
}

#[derive(Debug, Args)]
pub(crate) struct JoinArguments {
    /// The coordinator, as HOST:PORT
    #[arg(long, value_name = "HOST:PORT", requires = "store", group = "coordinator")]
    pub(crate) join: Option<String>,
    /// A file that leads to the coordinator, written by 'fathom serve --join-file'
    ///
    /// The worker waits for the file, follows the coordinator to another host, and ends when the file says that the
    /// run has ended.
    #[arg(long, value_name = "FILE", requires = "store", group = "coordinator")]
    pub(crate) join_file: Option<PathBuf>,
    /// Directory for this worker's layers, on a disk of its own; restart the worker with the same directory
    #[arg(long, value_name = "DIR", requires = "coordinator")]
    pub(crate) store: Option<PathBuf>,
    /// Name of this worker [default: the host name]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) name: Option<String>,
    /// Address to listen on for other workers; port 0 picks a free port
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0", value_parser = to_listen_on)]
    pub(crate) listen: SocketAddr,
    /// Address given to other workers, as HOST or HOST:PORT [default: the address of --listen, or the one
    /// that the coordinator sees]
    #[arg(hide_short_help = true, long, value_name = "HOST")]
    pub(crate) advertise: Option<Reached>,
    /// How long to keep trying to reach the coordinator before giving up, for example 15min
    #[arg(hide_short_help = true, long, value_name = "TIME", default_value = "15min", allow_hyphen_values = true, value_parser = humantime::parse_duration)]
    pub(crate) patience: Duration,
    /// Exit with this code if the worker stops before the run ends, so that a batch system starts it again
    #[arg(hide_short_help = true, long, value_name = "CODE", value_parser = value_parser!(u8).range(1..))]
    pub(crate) requeue_code: Option<u8>,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// What to do when data fetched from other workers fills three quarters of the layer memory: spill (write
    /// them to disk) or refetch (drop the oldest and fetch them again, better if the network is as fast as
    /// the disk)
    #[arg(hide_short_help = true, long, alias = "beyond-memory", value_name = "POLICY", default_value_t)]
    pub(crate) spill_policy: SpillPolicy,
    /// Maximum size of the files in the store, for example 500GiB [default: the free disk space]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(crate) disk_limit: Option<u64>,
    /// The process that started this worker; the worker ends when that process ends
    #[arg(long, value_name = "PID", hide = true)]
    pub(crate) child_of: Option<u32>,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArguments {
    /// The run's directory, on a file system that all workers share
    #[arg(long, value_name = "DIR")]
    pub(crate) run: PathBuf,
    /// Depth of the layer to compute; the layers before it must be finished
    #[arg(long, value_name = "D")]
    pub(crate) depth: u32,
    /// Shards to compute, for example 0-15 or 3,8-11; finished shards are skipped
    #[arg(long, value_name = "LIST", value_parser = range, value_delimiter = ',', required = true)]
    pub(crate) shards: Vec<RangeInclusive<u32>>,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
}

#[derive(Debug, Args)]
pub(crate) struct CleanArguments {
    /// The worker's --store directory
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// Only files of this run, by the beginning of its fingerprint; may be repeated [default: all runs]
    #[arg(long, value_name = "RUN")]
    pub(crate) run: Vec<String>,
    /// Only list what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also remove the worker's id and logs
    #[arg(long, conflicts_with = "run")]
    pub(crate) all: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The worker's --store directory
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
        _ => Err(format!("{text:?} is not a range of shards; write A or A-B with A <= B")),
    }
}
