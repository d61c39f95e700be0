//! Commands on a run on this machine: run, resume, merge, remove, compare, report, verify.

use super::page::HttpArguments;
use super::space::SpaceArguments;
use super::{ADVANCED, OUTPUT};
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

/// The command that follows a run.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OnDoneArguments {
    /// Shell command to run when the run ends, for example to send a message
    ///
    /// The result is passed in environment variables: FATHOM_STATUS (complete, max-depth, stopped or failed), FATHOM_RUN,
    /// FATHOM_SPACE, FATHOM_METRIC, FATHOM_STATES, FATHOM_DEPTH (the last depth), FATHOM_GOD_NUMBER (if
    /// complete), FATHOM_INVERSE_CLOSED (false if distances are one-way), FATHOM_SECONDS, FATHOM_DIGEST,
    /// FATHOM_ERROR (if failed). The command runs before the --http-linger period begins.
    #[arg(long, value_name = "COMMAND", hide_short_help = true, help_heading = ADVANCED)]
    pub(crate) on_done: Option<String>,
}

/// How to search.
#[derive(Debug, Args)]
pub(crate) struct SearchArguments {
    #[command(flatten)]
    pub(crate) resources: ResourceArguments,
    /// Stop after this depth
    #[arg(long, value_name = "D")]
    pub(crate) max_depth: Option<u32>,
    /// Maximum size of the run's files, for example 500GiB [default: the free disk space]
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(crate) disk_limit: Option<u64>,
    #[command(flatten)]
    pub(crate) on_done: OnDoneArguments,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

impl SearchArguments {
    /// Returns whether the search ends before it fills the disk.
    pub(crate) fn is_bounded(&self) -> bool {
        self.max_depth.is_some() || self.disk_limit.is_some()
    }

    pub(crate) fn options(&self) -> Options {
        let Resources { kernel, threads, memory_bytes, .. } = self.resources.resources();
        let checkpoint_every = match failpoint::is_set() {
            true => Duration::ZERO,
            false => Options::CHECKPOINT_EVERY,
        };
        Options { threads, kernel, max_depth: self.max_depth, memory_bytes, checkpoint_every }
    }
}

/// How to search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Engine {
    Cosets,
    Lists,
}

impl From<Engine> for fathom_begin::Engine {
    fn from(engine: Engine) -> Self {
        match engine {
            Engine::Cosets => Self::Cosets,
            Engine::Lists => Self::Lists,
        }
    }
}

/// How a new run is created.
#[derive(Debug, Args)]
pub(crate) struct BeginArguments {
    /// The run's directory [default: PUZZLE-METRIC below --runs]
    ///
    /// With --track or --labels, the default name also includes a letter for each label, or a hash if there are
    /// more than 24 labels.
    #[arg(long)]
    pub(crate) dir: Option<PathBuf>,
    /// Parent directory of runs started without --dir
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "DIR", env = "FATHOM_DIR", hide_env_values = true, default_value = "runs")]
    pub(crate) runs: PathBuf,
    /// How to search: cosets (layers of bits, for whole spaces and clusters) or lists (sorted states, for first depths of
    /// any space) [default: lists if the space cannot be cut into cosets, or is huge and --max-depth is small]
    #[arg(long, value_name = "ENGINE", hide_short_help = true, help_heading = ADVANCED)]
    pub(crate) engine: Option<Engine>,
    /// Use the plan in this file, written by 'fathom plan --output'
    ///
    /// All runs with the same plan have the same digest, on every machine and in every version that reads
    /// the plan.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = ADVANCED)]
    pub(crate) plan: Option<PathBuf>,
    /// Number of shards of each layer [default: depends on the size of the space and the threads]
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_parser = value_parser!(u32).range(1..=MAX_SHARDS))]
    pub(crate) shards: Option<u32>,
    /// Layers to keep: last (the last two; three while one is computed), two (never more than two) or all
    /// (every layer, compressed; needed by 'audit --exhaustive' and to solve from the run) [default: last; two if disk space is short; all if the
    /// puzzle has moves without inverses]
    #[arg(long, value_name = "LAYERS")]
    pub(crate) keep: Option<Keep>,
    /// Also count classes up to symmetry and inversion in large spaces
    ///
    /// In spaces of up to 10^9 states they are always counted.
    #[arg(long, hide_short_help = true, help_heading = ADVANCED)]
    pub(crate) inverse_classes: bool,
    /// Report at which depth each of these states is found; FILE has one state per line ('-' for standard input)
    ///
    /// States are written as tiles, row by row, or as cycles such as (1,2+1). The depths are written to watched.csv in the run's directory.
    #[arg(long, value_name = "FILE", hide_short_help = true, help_heading = ADVANCED)]
    pub(crate) watch_states: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    #[command(flatten)]
    pub(crate) begin: BeginArguments,
    /// Put the layers on another disk: in a subdirectory of this directory [default: the run's directory]
    ///
    /// Needed only when the run is created: the run remembers where its layers are.
    #[arg(long, value_name = "DIR", hide_short_help = true, help_heading = ADVANCED)]
    pub(crate) store: Option<PathBuf>,
    /// Search with this many worker processes on this machine
    ///
    /// The workers share threads, memory and the run's directory.
    #[arg(long, hide_short_help = true, help_heading = ADVANCED, value_name = "N", value_parser = value_parser!(u32).range(1..=1024))]
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
    /// Depth of the layer; merging a layer twice is harmless
    #[arg(long, value_name = "D")]
    pub(crate) depth: u32,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct RemoveArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    /// Also remove the results: counts, digests and logs
    #[arg(long)]
    pub(crate) all: bool,
    /// Only list what would be removed
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

/// A result is a run's directory, or a file with the --json output of run, status or report. The exit code is
/// 1 if the results differ.
#[derive(Debug, Args)]
pub(crate) struct CompareArguments {
    /// The first result
    #[arg(value_name = "DIR|JSON")]
    pub(crate) one: PathBuf,
    /// The second result
    #[arg(value_name = "DIR|JSON")]
    pub(crate) other: PathBuf,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ReportArguments {
    /// The run's directory
    pub(crate) dir: PathBuf,
    /// html (the full report), md, latex (a table), svg (the plot), csv, json, or oeis (a b-file and
    /// its data line) [default: from the file extension, else html]
    #[arg(long, short)]
    pub(crate) format: Option<Format>,
    /// File to write, which must not exist yet [default: standard output]
    #[arg(long, short, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct VerifyArguments {
    /// The run's directory, a certificate file, or a coordinator as HOST:PORT, whose workers then check
    /// their files
    #[arg(value_name = "DIR|FILE|HOST:PORT")]
    pub(crate) dir: PathBuf,
    /// Memory limit for checking a certificate with joined stages, for example 8GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print JSON
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
