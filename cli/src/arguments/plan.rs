//! The options of a plan.

use super::OUTPUT;
use super::search::MAX_SHARDS;
use super::space::SpaceArguments;
use anyhow::Result;
use clap::{Args, value_parser};
use fathom_command::bad_input;
use fathom_command::machine::{self, size};
use fathom_engine::forecast::Cluster;
use fathom_engine::run::manifest::Keep;
use fathom_report::text::many;
use std::path::PathBuf;

/// The largest cluster for which predictions are meaningful.
const MAX_WORKERS: i64 = 4096;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// Layers to keep: last (the last two), two (never more than two) or all (compressed) [default: last; all
    /// if the puzzle has moves without inverses]
    #[arg(long, value_name = "LAYERS")]
    pub(crate) keep: Option<Keep>,
    /// Threads of each process [default: one per processor]
    #[arg(long, short, value_name = "N", env = "FATHOM_THREADS", hide_env_values = true, value_parser = value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Print JSON
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Write the plan to this new file, for 'fathom run --plan'
    #[arg(long, short = 'o', value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Predict for a cluster with this many workers
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MAX_WORKERS))]
    pub(crate) workers: Option<u32>,
    /// Network speed of each worker in bits per second, in each direction, for example 25G
    #[arg(long, value_name = "RATE", requires = "workers", default_value = "10G", allow_hyphen_values = true, value_parser = rate)]
    network: u64,
    /// Disk speed of each worker in bytes per second, for example 2G
    #[arg(long, value_name = "RATE", requires = "workers", default_value = "1G", allow_hyphen_values = true, value_parser = rate)]
    disk: u64,
    /// Memory of each process, including layers in the page cache, for example 64GiB [default: 90 % of the
    /// memory of this machine]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Number of workers that store each file
    #[arg(long, value_name = "R", requires = "workers", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    replicas: u32,
    /// Number of shards of each layer [default: depends on the size of the space]
    #[arg(long, requires = "workers", value_parser = value_parser!(u32).range(1..=MAX_SHARDS))]
    pub(crate) shards: Option<u32>,
}

impl PlanArguments {
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(machine::processors, |threads| threads as usize)
    }

    /// Returns the cluster, or `None` for one process.
    pub(crate) fn cluster(&self) -> Result<Option<Cluster>> {
        let Some(workers) = self.workers else {
            return Ok(None);
        };
        if self.replicas > workers {
            return Err(bad_input!(
                "{} cannot store {} of each file; use --replicas {workers} or less",
                many(workers.into(), "worker"),
                many(self.replicas.into(), "replica")
            ));
        }
        Ok(Some(Cluster {
            workers,
            threads: self.threads(),
            network_bits_per_second: self.network,
            disk_bytes_per_second: self.disk,
            // The workers may have more memory than this machine.
            memory_bytes: self.memory.unwrap_or_else(|| machine::memory_bytes(None)),
            replicas: self.replicas,
        }))
    }
}

/// Reads a rate such as `25G`, a second.
fn rate(text: &str) -> Result<u64, String> {
    match size(text) {
        Ok(0) => Err("a rate must be above 0, for example 25G".into()),
        Ok(rate) => Ok(rate),
        Err(_) => Err(format!("{text:?} is not a rate; write a number and a unit, for example 25G")),
    }
}
