//! The options of an audit.

use super::OUTPUT;
use clap::{Args, value_parser};
use fathom_command::machine::{self, size};
use fathom_proto::access::AccessArguments;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

/// The audit applies moves to states one by one, and shares no code with the search except the puzzle's
/// definition. The exit code is 1 if something contradicts the run.
#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// The run's directory, or a coordinator as HOST:PORT whose workers store the layers
    #[arg(value_name = "DIR|HOST:PORT")]
    pub(crate) dir: PathBuf,
    /// Number of random states of each stored layer, and of the whole space
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..=100_000_000))]
    samples: u64,
    /// Check every state of the space, which needs all layers and proves the counts
    #[arg(long, conflicts_with_all = ["samples", "seed"])]
    exhaustive: bool,
    /// Repeat the audit that printed this seed [default: random]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..1 << 53))]
    seed: Option<u64>,
    /// Number of threads [default: one per processor]
    #[arg(long, short, value_name = "N", env = "FATHOM_THREADS", hide_env_values = true, value_parser = value_parser!(u64).range(1..=4096))]
    threads: Option<u64>,
    /// Memory limit, for example 2GiB [default: 90 % of the available memory]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

impl AuditArguments {
    /// Returns the number of states of each layer and of the whole space; `None` for all.
    pub(crate) fn samples(&self) -> Option<u64> {
        Some(self.samples).filter(|_| !self.exhaustive)
    }

    /// Returns the seed of the choice of states.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(|| RandomState::new().hash_one(0) >> 32)
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(machine::processors, |threads| threads as usize)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        machine::memory_bytes(self.memory)
    }
}
