//! An audit of a run.

use super::OUTPUT;
use clap::{Args, value_parser};
use fathom_command::machine::{self, size};
use fathom_proto::access::AccessArguments;
use std::hash::{BuildHasher, RandomState};
use std::path::PathBuf;

/// States are looked at as plain words, and moves are made on them one by one: nothing is shared with the
/// search but the puzzle's moves. Exit code 1 if something contradicts the run.
#[derive(Debug, Args)]
pub(crate) struct AuditArguments {
    /// The run's directory, or a coordinator as HOST:PORT whose workers hold the layers
    #[arg(value_name = "DIR|HOST:PORT")]
    pub(crate) dir: PathBuf,
    /// How many random states of each kept layer to look at, and as many at large
    #[arg(long, value_name = "N", default_value_t = 1000, value_parser = value_parser!(u64).range(1..=100_000_000))]
    samples: u64,
    /// Look at every state of the space, which needs all layers: if nothing contradicts the run, that is a
    /// proof
    #[arg(long, conflicts_with_all = ["samples", "seed"])]
    exhaustive: bool,
    /// Take the states of an earlier audit again [default: others each time]
    #[arg(long, value_name = "N", value_parser = value_parser!(u64).range(..1 << 53))]
    seed: Option<u64>,
    /// Threads to take [default: one for each processor]
    #[arg(long, value_name = "N", env = "FATHOM_THREADS", hide_env_values = true, value_parser = value_parser!(u64).range(1..=4096))]
    threads: Option<u64>,
    /// Memory to take, for example 2GiB [default: nine tenths of what there is]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) access: AccessArguments,
}

impl AuditArguments {
    /// How many states of each layer, and at large; `None` for all.
    pub(crate) fn samples(&self) -> Option<u64> {
        Some(self.samples).filter(|_| !self.exhaustive)
    }

    /// What the choice of states begins with.
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
