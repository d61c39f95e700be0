//! The command line.

use clap::{Args, Parser, Subcommand, value_parser};
use fathom_command::log::Verbosity;
use fathom_command::machine::{self, size};
use fathom_worker::{Kernel, Resources};
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Makes shards of layers for a run of Fathom.
#[derive(Debug, Parser)]
#[command(name = "fathom-worker", version, max_term_width = 100, arg_required_else_help = true)]
pub(crate) struct Arguments {
    /// Say nothing but errors on standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    quiet: bool,
    /// Say what happens to every task on standard error
    #[arg(short, long, global = true)]
    verbose: bool,
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
}

/// What may be taken of this machine.
#[derive(Debug, Args)]
pub(crate) struct ResourceArguments {
    /// Kernel threads [default: one for each processor]
    #[arg(long, value_parser = value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// What computes: fastest, avx512, avx2, portable, or reference (a plain search in memory, to check against)
    #[arg(long, default_value = "fastest")]
    kernel: Kernel,
    /// Memory to take, layers in the page cache among it, for example 8GiB [default: nine tenths of what there is]
    #[arg(long, value_name = "SIZE", value_parser = size)]
    memory: Option<u64>,
}

impl ResourceArguments {
    pub(crate) fn resources(&self) -> Resources {
        Resources {
            kernel: self.kernel,
            threads: self.threads.map_or_else(machine::processors, |threads| threads as usize),
            memory_bytes: machine::memory_bytes(self.memory),
            max_depth: None,
        }
    }
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

/// Reads `A` or `A-B`.
fn range(text: &str) -> Result<RangeInclusive<u32>, String> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (first.trim().parse(), last.trim().parse()) {
        (Ok(first), Ok(last)) if first <= last => Ok(first..=last),
        _ => Err(format!("{text:?} is no range of shards: give A or A-B, with A not larger than B")),
    }
}
