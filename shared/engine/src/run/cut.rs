//! The division of the representative cosets into shards.

use crate::run::ShardId;
use std::ops::Range;

/// The division of `cosets` cosets into `shards` contiguous ranges whose lengths differ by at most one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShardCut {
    cosets: u32,
    shards: u32,
}

impl ShardCut {
    /// Cuts `cosets` cosets into `shards` shards; `None` unless 1 <= shards <= cosets.
    pub fn new(cosets: u32, shards: u32) -> Option<Self> {
        (1..=cosets).contains(&shards).then_some(Self { cosets, shards })
    }

    /// Returns the number of cosets.
    pub fn cosets(self) -> u32 {
        self.cosets
    }

    /// Returns the number of shards.
    pub fn shards(self) -> u32 {
        self.shards
    }

    /// Returns all shards in order.
    pub fn ids(self) -> impl Iterator<Item = ShardId> + Clone {
        (0..self.shards).map(ShardId)
    }

    /// Returns the range of cosets of a shard.
    pub fn range(self, shard: ShardId) -> Range<u32> {
        let start = |shard: u32| (u64::from(shard) * u64::from(self.cosets) / u64::from(self.shards)) as u32;
        start(shard.0)..start(shard.0 + 1)
    }

    /// Returns the shard of a coset.
    pub fn shard_of(self, coset: u32) -> ShardId {
        let (cosets, shards) = (u64::from(self.cosets), u64::from(self.shards));
        ShardId((((u64::from(coset) + 1) * shards - 1) / cosets) as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_coset_is_in_the_range_of_its_shard() {
        for cosets in 1..60 {
            assert_eq!(ShardCut::new(cosets, 0), None);
            assert_eq!(ShardCut::new(cosets, cosets + 1), None);
            for shards in 1..=cosets {
                let cut = ShardCut::new(cosets, shards).unwrap();
                let all: Vec<u32> = cut.ids().flat_map(|shard| cut.range(shard)).collect();
                assert_eq!(all, (0..cosets).collect::<Vec<_>>());
                for coset in 0..cosets {
                    assert!(cut.range(cut.shard_of(coset)).contains(&coset), "{cosets} {shards} {coset}");
                }
            }
        }
    }
}
