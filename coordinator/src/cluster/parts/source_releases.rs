//! The shards of the current layer whose sources were released, and those that are ahead of the releases.

use fathom_engine::run::ShardId;
use fathom_engine::run::lookback::{most_ahead, most_in_the_making};
use fathom_proto::WorkerId;
use std::collections::{BTreeMap, BTreeSet};

/// The shards of the current layer, by the state of their sources.
#[derive(Clone, Debug, Default)]
pub(super) struct Releases {
    /// Shards whose sources were released, and whether an audit agreed with the shard.
    shards: BTreeMap<ShardId, bool>,
    /// Shards that are computed and whose sources still exist.
    ahead: BTreeSet<ShardId>,
    /// Shards that an audit agreed with.
    audited: BTreeSet<ShardId>,
    /// Workers that may have a copy of a source, to compute or to audit its shard.
    readers: BTreeMap<ShardId, BTreeSet<WorkerId>>,
    /// Largest number of shards in `ahead`.
    most_ahead: usize,
    /// Largest number of shards that are in `ahead` or running.
    most_in_the_making: usize,
}

impl Releases {
    /// Restores the released shards from the journal. There are no limits before [`Releases::bound`] sets
    /// them.
    pub(super) fn new(shards: BTreeMap<ShardId, bool>) -> Self {
        Self { shards, most_ahead: usize::MAX, most_in_the_making: usize::MAX, ..Self::default() }
    }

    /// Returns whether the source of a shard was released.
    pub(super) fn contains(&self, shard: ShardId) -> bool {
        self.shards.contains_key(&shard)
    }

    /// Records that a shard was computed.
    pub(super) fn note_made(&mut self, shard: ShardId) {
        if !self.contains(shard) {
            self.ahead.insert(shard);
        }
    }

    /// Records that a shard is computed again.
    pub(super) fn unmade(&mut self, shard: ShardId) {
        self.ahead.remove(&shard);
        self.audited.remove(&shard);
    }

    /// Records that an audit by another worker agreed with the shard.
    pub(super) fn audited(&mut self, shard: ShardId) {
        self.audited.insert(shard);
    }

    /// Records that a worker was told to compute or to audit a shard.
    pub(super) fn read_by(&mut self, shard: ShardId, worker: WorkerId) {
        self.readers.entry(shard).or_default().insert(worker);
    }

    /// Returns whether sources must be released before more shards are assigned.
    pub(super) fn is_full(&self) -> bool {
        self.ahead.len() >= self.most_ahead
    }

    /// Returns how many more shards may be assigned while `underway` tasks run.
    pub(super) fn room(&self, underway: usize) -> usize {
        if self.is_full() { 0 } else { self.most_in_the_making.saturating_sub(self.ahead.len() + underway) }
    }

    /// Sets the limits on shards ahead, for layers of `shards` shards and a total of `threads` kernel threads.
    pub(super) fn bound(&mut self, shards: u32, threads: u64) {
        self.most_ahead = most_ahead(shards, threads) as usize;
        self.most_in_the_making = most_in_the_making(shards, threads) as usize;
    }

    /// Returns the shards whose sources were released.
    pub(super) fn shards(&self) -> impl Iterator<Item = ShardId> {
        self.shards.keys().copied()
    }

    /// Returns whether the source of a shard was released after an audit had agreed with the shard.
    pub(super) fn is_settled(&self, shard: ShardId) -> bool {
        self.shards.get(&shard) == Some(&true)
    }

    /// Returns the shards that are computed and whose sources still exist.
    pub(super) fn ahead(&self) -> impl Iterator<Item = ShardId> {
        self.ahead.iter().copied()
    }

    /// Returns whether an audit agreed with a shard.
    pub(super) fn is_audited(&self, shard: ShardId) -> bool {
        self.audited.contains(&shard)
    }

    /// Records that the source of a shard is released. Returns the workers that may have a copy of it.
    pub(super) fn give_back(&mut self, shard: ShardId) -> BTreeSet<WorkerId> {
        self.ahead.remove(&shard);
        self.shards.insert(shard, self.audited.contains(&shard));
        self.readers.remove(&shard).unwrap_or_default()
    }
}
