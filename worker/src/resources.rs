//! The command line options that limit the resource usage of a process.

use clap::{Args, value_parser};
use fathom_command::machine::{self, size};
use fathom_engine::task::{Kernel, Resources};

/// Threads, kernel and memory.
#[derive(Clone, Copy, Debug, Args)]
pub struct ResourceArguments {
    /// Number of threads [default: one per processor]
    #[arg(long, short, value_name = "N", env = "FATHOM_THREADS", hide_env_values = true, value_parser = value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Kernel: fastest, avx512, avx2, neon, portable, or reference (a plain search in memory, for comparison)
    #[arg(long, hide_short_help = true, help_heading = "Advanced", default_value = "fastest")]
    kernel: Kernel,
    /// Memory limit, including layers in the page cache, for example 8GiB [default: 90 % of the available
    /// memory, divided equally between the workers of a host]
    #[arg(long, value_name = "SIZE", env = "FATHOM_MEMORY", hide_env_values = true, allow_hyphen_values = true, value_parser = size)]
    memory: Option<u64>,
}

impl ResourceArguments {
    /// Returns whether `--memory` was given.
    pub fn has_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Returns the given limits, and defaults that depend on this machine for the others.
    pub fn resources(&self) -> Resources {
        Resources {
            kernel: self.kernel,
            threads: self.threads.map_or_else(machine::processors, |threads| threads as usize),
            memory_bytes: machine::memory_bytes(self.memory),
            max_depth: None,
        }
    }
}
