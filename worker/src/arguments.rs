//! The command line.

use clap::{Args, Parser, Subcommand};
use fathom_command::log::Verbosity;
use fathom_proto::access::AccessArguments;
use fathom_worker::resources::ResourceArguments;
use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

/// Makes shards of layers for a run of Fathom: for a coordinator that it joins, or from files to files.
#[derive(Debug, Parser)]
#[command(
    name = "fathom-worker",
    version,
    max_term_width = 100,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true
)]
pub(crate) struct Arguments {
    /// Say nothing but errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say what happens to every task on standard error
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(flatten)]
    pub(crate) join: JoinArguments,
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

impl Arguments {
    pub(crate) fn verbosity(&self) -> Verbosity {
        Verbosity::of(self.quiet, self.verbose)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make shards of one layer, from and to files in a run's directory, without a coordinator
    Task(TaskArguments),
    /// Read every layer file in a worker's store, check every checksum, and count again
    Verify(VerifyArguments),
}

#[derive(Debug, Args)]
pub(crate) struct JoinArguments {
    /// The coordinator to work for, as HOST:PORT
    #[arg(long, value_name = "HOST:PORT", requires = "store")]
    pub(crate) join: Option<String>,
    /// Where this worker keeps its layers, on a disk of its own. It must come back with the same directory
    #[arg(long, value_name = "DIR", requires = "join")]
    pub(crate) store: Option<PathBuf>,
    /// What this worker is called [default: the name of this host]
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Where to listen for other workers; port 0 is any that is free
    #[arg(long, value_name = "ADDR:PORT", default_value = "127.0.0.1:0")]
    pub(crate) listen: SocketAddr,
    /// Where other workers reach this one, as HOST or HOST:PORT [default: where it listens, or as the coordinator sees it]
    #[arg(long, value_name = "HOST")]
    pub(crate) advertise: Option<String>,
    /// How long the coordinator may be silent before this worker gives up, for example 15min
    #[arg(long, value_name = "TIME", default_value = "15min", value_parser = humantime::parse_duration)]
    pub(crate) patience: Duration,
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
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
pub(crate) struct VerifyArguments {
    /// The store, as the worker was given it
    #[arg(long, value_name = "DIR")]
    pub(crate) store: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long)]
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
