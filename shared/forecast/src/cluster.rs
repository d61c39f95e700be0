//! Workers, and which shards they own.

use fathom_run::ShardId;
use serde::Serialize;
use std::ops::Range;

/// Workers that are alike, and what joins them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Cluster {
    /// Workers.
    pub workers: u32,
    /// Kernel threads of each.
    pub threads: usize,
    /// Bits a second of each worker's link, in both directions at once.
    pub network_bits_per_second: u64,
    /// Bytes a second of each worker's disk, read and written in sum.
    pub disk_bytes_per_second: u64,
    /// Bytes of memory that each worker may take, layers in the page cache among them.
    pub memory_bytes: u64,
    /// Workers that hold each file.
    pub replicas: u32,
}

/// Which shards workers own: contiguous ranges whose lengths differ by at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Owners {
    /// Shards.
    pub shards: u32,
    /// Workers.
    pub workers: u32,
}

impl Owners {
    /// The shards of a worker.
    pub fn shards(self, worker: u32) -> Range<u32> {
        let start =
            |worker: u32| (u64::from(worker) * u64::from(self.shards) / u64::from(self.workers)) as u32;
        start(worker)..start(worker + 1)
    }

    /// The worker that owns a shard.
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
