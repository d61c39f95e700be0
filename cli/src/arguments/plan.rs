//! What a search would take.

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

/// More workers than this are beyond what predictions are good for.
const MAX_WORKERS: i64 = 4096;

#[derive(Debug, Args)]
pub(crate) struct PlanArguments {
    #[command(flatten)]
    pub(crate) space: SpaceArguments,
    /// Which layers to plan to keep: last (the last two), two (also while one is made) or all (compressed)
    /// [default: last, or all where all are read]
    #[arg(long)]
    pub(crate) keep: Option<Keep>,
    /// Kernel threads to plan for, of each worker if there are several [default: one for each processor]
    #[arg(long, value_name = "N", env = "FATHOM_THREADS", hide_env_values = true, value_parser = value_parser!(u32).range(1..=4096))]
    threads: Option<u32>,
    /// Print one JSON object instead of text
    #[arg(long, help_heading = OUTPUT)]
    pub(crate) json: bool,
    /// Write the plan to a new file, which 'fathom run --plan' takes
    #[arg(long, short = 'o', value_name = "FILE", help_heading = OUTPUT)]
    pub(crate) output: Option<PathBuf>,
    /// Plan for so many workers that send each other what they need
    #[arg(long, value_name = "N", value_parser = value_parser!(u32).range(1..=MAX_WORKERS))]
    pub(crate) workers: Option<u32>,
    /// Bits a second of each worker's link, in both directions at once, for example 25G
    #[arg(long, value_name = "RATE", requires = "workers", default_value = "10G", allow_hyphen_values = true, value_parser = rate)]
    network: u64,
    /// Bytes a second of each worker's disk, for example 2G
    #[arg(long, value_name = "RATE", requires = "workers", default_value = "1G", allow_hyphen_values = true, value_parser = rate)]
    disk: u64,
    /// Memory that the search or each worker may use, including layers in the page cache, for example 64GiB
    /// [default: nine tenths of what this machine has]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true, value_parser = size)]
    pub(crate) memory: Option<u64>,
    /// Workers that hold each file
    #[arg(long, value_name = "R", requires = "workers", default_value_t = 1, value_parser = value_parser!(u32).range(1..))]
    replicas: u32,
    /// How many shards to cut the space into [default: by its size]
    #[arg(long, requires = "workers", value_parser = value_parser!(u32).range(1..=MAX_SHARDS))]
    pub(crate) shards: Option<u32>,
}

impl PlanArguments {
    pub(crate) fn threads(&self) -> usize {
        self.threads.map_or_else(machine::processors, |threads| threads as usize)
    }

    /// The workers to plan for, if there is not one process alone.
    pub(crate) fn cluster(&self) -> Result<Option<Cluster>> {
        let Some(workers) = self.workers else {
            return Ok(None);
        };
        if self.replicas > workers {
            return Err(bad_input!(
                "{} cannot hold {} of each file: ask for at most --replicas {workers}",
                many(workers.into(), "worker"),
                many(self.replicas.into(), "replica")
            ));
        }
        Ok(Some(Cluster {
            workers,
            threads: self.threads(),
            network_bits_per_second: self.network,
            disk_bytes_per_second: self.disk,
            // What is planned for may be larger than this machine.
            memory_bytes: self.memory.unwrap_or_else(|| machine::memory_bytes(None)),
            replicas: self.replicas,
        }))
    }
}

/// Reads a rate such as `25G`, a second.
fn rate(text: &str) -> Result<u64, String> {
    match size(text) {
        Ok(0) => Err("nothing would ever arrive: give a rate above 0, for example 25G".into()),
        Ok(rate) => Ok(rate),
        Err(_) => Err(format!("{text:?} is no rate: give a number and a unit, for example 25G")),
    }
}
