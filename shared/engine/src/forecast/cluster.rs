//! Workers, and which shards they own.

use crate::run::{ShardCut, ShardId, ShardOrder};
use fathom_space::{CosetGraph, CosetId};
use rayon::prelude::*;
use serde::Serialize;
use std::ops::Range;

/// Identical workers, and the network between them.
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

/// Assigns shards to workers: contiguous pieces of an order, whose lengths differ by at most one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owners {
    order: ShardOrder,
    workers: u32,
}

impl Owners {
    /// Divides the shards among `workers` workers.
    pub fn new(order: ShardOrder, workers: u32) -> Self {
        Self { order, workers }
    }

    /// Returns the number of workers.
    pub fn workers(&self) -> u32 {
        self.workers
    }

    /// Returns the places of a worker's shards in the order.
    pub fn places(&self, worker: u32) -> Range<usize> {
        let shards = self.order.shards().len() as u64;
        let start = |worker: u32| (u64::from(worker) * shards / u64::from(self.workers)) as usize;
        start(worker)..start(worker + 1)
    }

    /// Returns the shards of a worker, in the order in which the worker makes them.
    pub fn shards(&self, worker: u32) -> &[ShardId] {
        &self.order.shards()[self.places(worker)]
    }

    /// Returns the worker that owns a shard.
    pub fn of(&self, shard: ShardId) -> u32 {
        let (shards, workers) = (self.order.shards().len() as u64, u64::from(self.workers));
        (((u64::from(self.order.place(shard)) + 1) * workers - 1) / shards) as u32
    }
}

/// Returns the number of cosets that workers fetch from each other for a layer in which all cosets have
/// states and none is complete, if each fetches a coset once; as a share of all cosets.
pub fn layers_sent(graph: &CosetGraph, cut: ShardCut, owners: &Owners) -> f64 {
    if owners.workers == 1 {
        return 0.0;
    }
    let fetched_for = |seen: &mut Vec<u32>, worker: u32| -> u64 {
        let cosets = owners.shards(worker).iter().flat_map(|&shard| cut.range(shard)).map(CosetId);
        let sources = cosets.flat_map(|coset| graph.sources(coset)).map(|(_, source)| source.0);
        let mut is_first = |source: u32| {
            owners.of(cut.shard_of(source)) != worker
                && std::mem::replace(&mut seen[source as usize], worker) != worker
        };
        sources.map(|source| u64::from(is_first(source))).sum()
    };
    let none_seen = || vec![u32::MAX; graph.len() as usize];
    let fetched: u64 = (0..owners.workers).into_par_iter().map_init(none_seen, fetched_for).sum();
    fetched as f64 / f64::from(graph.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shard_has_one_owner() {
        for shards in 1..40 {
            let reversed = ShardOrder::new((0..shards).rev().map(ShardId).collect()).unwrap();
            for (workers, order) in (1..60).flat_map(|workers| {
                [ShardOrder::by_number(shards), reversed.clone()].map(|order| (workers, order))
            }) {
                let owners = Owners::new(order.clone(), workers);
                let all = (0..workers)
                    .flat_map(|worker| owners.shards(worker).iter().map(move |&shard| (shard, worker)));
                let expected = order.shards().iter().map(|&shard| (shard, owners.of(shard)));
                assert!(all.eq(expected), "{shards} shards, {workers} workers");
            }
        }
    }
}
