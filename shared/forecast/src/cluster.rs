//! Workers, and which shards they own.

use fathom_run::ShardId;
use serde::Serialize;
use std::ops::Range;

/// Workers that are alike, and the network between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// The number of workers.
    pub workers: u32,
    /// Kernel threads of each worker.
    pub threads: usize,
    /// The rate of each worker's link in bits a second, in each direction at once.
    pub network_bits_per_second: u64,
    /// The rate of each worker's disk in bytes a second, for reads and writes together.
    pub disk_bytes_per_second: u64,
    /// Memory of each worker in bytes, including the layers in its page cache.
    pub memory_bytes: u64,
    /// The number of workers that hold each file.
    pub replicas: u32,
}

/// Assigns shards to workers: contiguous ranges whose lengths differ by at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    /// The number of shards.
    pub shards: u32,
    /// The number of workers.
    pub workers: u32,
}

impl Owners {
    /// Returns the shards of a worker.
    pub fn shards(self, worker: u32) -> Range<u32> {
        let start =
            |worker: u32| (u64::from(worker) * u64::from(self.shards) / u64::from(self.workers)) as u32;
        start(worker)..start(worker + 1)
    }

    /// Returns the worker that owns a shard.
    pub fn of(self, shard: ShardId) -> u32 {
        let (shards, workers) = (u64::from(self.shards), u64::from(self.workers));
        (((u64::from(shard.0) + 1) * workers - 1) / shards) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_has_its_owner() {
        for shards in 1..40 {
            for workers in 1..60 {
                let owners = Owners { shards, workers };
                let all: Vec<(u32, u32)> = (0..workers)
                    .flat_map(|worker| owners.shards(worker).map(move |shard| (shard, worker)))
                    .collect();
                let expected: Vec<_> = (0..shards).map(|shard| (shard, owners.of(ShardId(shard)))).collect();
                assert_eq!(all, expected, "{shards} shards, {workers} workers");
            }
        }
    }
}
