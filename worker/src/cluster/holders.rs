//! Which peers hold the files of the layers that tasks read.

use fathom_proto::v1;
use fathom_run::{Depth, Task};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

/// Who holds the layers that are read: by depth and shard, the addresses of the holders.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    /// The coordinator's number of this map. Numbers grow with each change and with each life of the coordinator.
    pub version: u64,
    addresses: Vec<String>,
    layers: BTreeMap<Depth, Vec<Vec<u32>>>,
}

impl Holders {
    /// Converts the coordinator's message.
    pub fn new(told: v1::Holders) -> Self {
        let layers = told.layers.into_iter().map(|layer| {
            let shards = layer.shards.into_iter().map(|shard| shard.holders).collect();
            (Depth(layer.depth), shards)
        });
        Self { version: told.version, addresses: told.addresses, layers: layers.collect() }
    }

    /// The addresses of the peers that hold a file.
    pub fn of(&self, task: Task) -> Vec<String> {
        let shards = self.layers.get(&task.depth);
        let holders = shards.and_then(|shards| shards.get(task.shard.0 as usize));
        let addresses =
            holders.into_iter().flatten().filter_map(|&number| self.addresses.get(number as usize));
        addresses.cloned().collect()
    }
}

/// The newest holder map of the present session.
///
/// A map is valid in its session only: a coordinator that comes back counts its maps anew, and a worker that kept a map
/// of an earlier life could be told nothing and ask peers that hold nothing, forever.
#[derive(Debug, Default)]
pub struct KnownHolders {
    known: Mutex<(u64, Arc<Holders>)>,
}

impl KnownHolders {
    /// Forgets the map of the session before.
    pub fn begin_session(&self, session: u64) {
        *self.lock() = (session, Arc::default());
    }

    /// Takes a map that the coordinator sent in `session`, unless that session has ended or a newer map is known.
    pub fn update(&self, session: u64, holders: Holders) {
        let mut known = self.lock();
        if known.0 == session && known.1.version < holders.version {
            known.1 = Arc::new(holders);
        }
    }

    /// The newest map; an empty one of version 0 at the beginning of a session.
    pub fn newest(&self) -> Arc<Holders> {
        Arc::clone(&self.lock().1)
    }

    fn lock(&self) -> MutexGuard<'_, (u64, Arc<Holders>)> {
        self.known.lock().expect("the lock is never poisoned: no code panics while holding it")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_run::ShardId;

    fn map(version: u64, address: &str) -> Holders {
        let layers = BTreeMap::from([(Depth(0), vec![vec![0]])]);
        Holders { version, addresses: vec![address.into()], layers }
    }

    fn address(known: &KnownHolders) -> Vec<String> {
        known.newest().of(Task { depth: Depth(0), shard: ShardId(0) })
    }

    #[test]
    fn a_map_ends_with_its_session() {
        let known = KnownHolders::default();
        known.begin_session(1);
        known.update(1, map(7, "old:1"));
        assert_eq!(address(&known), ["old:1"]);
        // The coordinator comes back. A number of its former life must not be compared with its new ones.
        known.begin_session(2);
        assert_eq!(known.newest().version, 0);
        assert_eq!(address(&known), [""; 0]);
        // A reply of the former session arrives late.
        known.update(1, map(8, "old:1"));
        assert_eq!(address(&known), [""; 0]);
        known.update(2, map(3, "new:1"));
        assert_eq!(address(&known), ["new:1"]);
    }

    #[test]
    fn replies_may_overtake_each_other() {
        let known = KnownHolders::default();
        known.begin_session(1);
        known.update(1, map(3, "new:1"));
        known.update(1, map(2, "old:1"));
        assert_eq!(address(&known), ["new:1"]);
    }
}
