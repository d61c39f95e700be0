//! A search on this machine: begun, gone on with, merged, reported and verified.

use super::OUTPUT;
use super::page::HttpArguments;
use super::space::SpaceArguments;
use clap::{Args, value_parser};
use fathom_command::failpoint;
use fathom_command::machine::{self, size};
use fathom_engine::run::manifest::Keep;
use fathom_engine::search::Options;
use fathom_engine::task::Resources;
use fathom_proto::access::AccessArguments;
use fathom_report::Format;
use fathom_worker::resources::ResourceArguments;
use std::path::PathBuf;
use std::time::Duration;

/// A shard is a file and a memory map for each of two layers, and Linux gives a process 65,530 maps.
pub(super) const MAX_SHARDS: i64 = 16_384;

/// What follows a run.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OnDoneArguments {
    /// Run this command when the run ends, for example to send a message
    ///
    /// A shell runs the command, with the result in its environment: FATHOM_STATUS (complete, max-depth,
    /// stopped or failed), FATHOM_RUN, FATHOM_SPACE, FATHOM_METRIC, FATHOM_STATES, FATHOM_DEPTH (the
    /// last one), FATHOM_GOD_NUMBER (if complete), FATHOM_INVERSE_CLOSED (false if distances are one way),
    /// FATHOM_SECONDS, FATHOM_DIGEST, FATHOM_ERROR (if failed).
    /// A page that stays with --http-linger stays after the command.
    #[arg(long, value_name = "COMMAND")]
    pub(crate) on_done: Option<String>,
}

/// How to search.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// Stop when this depth is made
    #[arg(long, value_name = "D")]
    pub(crate) max_depth: Option<u32>,
    /// The most that files of the run in its directory, or in its --store, may take of the disk, for example
    /// 500GiB [default: what is free]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(crate) disk_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) on_done: OnDoneArguments,
    /// Print one JSON object instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl SearchArguments {
    pub(crate) fn options(&self) -> Options {
        let Resources { kernel, threads, memory_bytes, .. } = self.resources.resources();
        let checkpoint_every = match failpoint::is_set() {
            true => Duration::ZERO,
            false => Options::CHECKPOINT_EVERY,
        };
        Options { threads, kernel, max_depth: self.max_depth, memory_bytes, checkpoint_every }
    }
}

/// How a run's directory is made, if it is not there.
#[derive(Debug, Args)]
pub(crate) struct BeginArguments {
    /// The run's directory [default: SPACE-METRIC below that of --runs]
    ///
    /// With --track or --labels the default is SPACE-METRIC-LETTERS with a letter for each label, or a
    /// number made from them where there are more than 24.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Where directories of runs are made that --dir does not name
    #[arg(long, value_name = "DIR", env = "FATHOM_DIR", hide_env_values = true, default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// Search by the plan in this file, which 'fathom plan --output' has written
    ///
    /// Runs by one plan end with the same digest, on every machine and in every version that reads the plan.
    #[arg(long, value_name = "FILE")]
    pub(crate) plan: Option<PathBuf>,
    /// How many shards to cut the space into [default: by its size; of run by the threads too]
    #[arg(long, value_parser = value_parser!(u32).range(1..=MAX_SHARDS))]
    pub(crate) shards: Option<u32>,
    /// Which layers to keep: last (the last two; three while one is made), two (never more, but for the
    /// shards that are being made) or all (compressed) [default: last, or two where the disk holds no more,
    /// or all where all are read]
    #[arg(long)]
    pub(crate) keep: Option<Keep>,
    /// Count classes up to symmetry and inversion in large spaces too
    ///
    /// In spaces of up to 10^9 states they always are.
    #[arg(long)]
    pub(crate) inverse_classes: bool,
    /// Note the depths of the states in this file, or on standard input as '-'
    ///
    /// One state a line, as tiles row by row. The depths stand in watched.csv in the run's directory.
    #[arg(long, value_name = "FILE")]
    pub(crate) watch_states: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    #[command(flatten)]
    pub(crate) begin: BeginArguments,
    /// A directory for layers, below which they get one of their own [default: the run's directory]
    ///
    /// A run that exists knows where its layers are.
    #[arg(long, value_name = "DIR")]
    pub(crate) store: Option<PathBuf>,
    /// Search with this many worker processes on this machine
    ///
    /// They share threads, memory and the run's directory.
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
    pub(crate) workers: Option<u32>,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
    #[command(flatten)]
    pub(crate) http: HttpArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ResumeArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    #[command(flatten)]
    pub(crate) search: SearchArguments,
    #[command(flatten)]
    pub(crate) http: HttpArguments,
}

#[derive(Debug, Args)]
pub(crate) struct MergeArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    /// The depth of the layer; once it is merged, merging it again changes nothing
    #[arg(long, value_name = "D")]
    pub(crate) depth: u32,
    /// Print one JSON object instead of a table
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    /// Remove the results too: counts, digests, logs, all that Fathom has made there
    #[arg(long)]
    pub(crate) all: bool,
    /// List what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// A result is a run's directory, or a file with what '--json' of run, status or report prints. Exit code 1
/// if they differ.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// One result
    #[arg(value_name = "DIR|JSON")]
    pub(crate) one: PathBuf,
    /// The other
    #[arg(value_name = "DIR|JSON")]
    pub(crate) other: PathBuf,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    /// html (a page with everything), md, latex (a table), svg (the plot), csv, json, or oeis (a b-file with
    /// its data line) [default: what the suffix of the file tells, or html]
    #[arg(long)]
    pub(crate) format: Option<Format>,
    /// The file to write, which must not be there yet [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The run's directory, the file of a certificate, or a coordinator as HOST:PORT whose workers check
    /// what they hold
    #[arg(value_name = "DIR|FILE|HOST:PORT")]
    pub(crate) dir: PathBuf,
    /// Memory to take for a certificate of joined stages, for example 8GiB [default: nine tenths of what
    /// there is]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

impl VerifyArguments {
    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}
