//! The holder map: which peers hold the files of the layers that tasks read.

use fathom_engine::run::{Depth, Task};
use fathom_layer::Digest;
use fathom_proto::{StoredFile, v1};
use std::collections::BTreeMap;

/// The addresses of the holders of each shard, by depth and shard.
#[derive(Clone, Debug, Default)]
pub struct Holders {
    /// The coordinator's version of this map. Versions grow with each change of the map and with each epoch.
    pub version: u64,
    addresses: Vec<String>,
    layers: BTreeMap<Depth, Vec<Held>>,
}

/// The holders of a file, as indices into the addresses, and the digest of its checksums.
type Held = (Vec<u32>, Option<Digest>);

impl Holders {
    /// Converts the coordinator's message.
    pub fn new(told: v1::Holders) -> Self {
        let layers = told.layers.into_iter().map(|layer| {
            let shards = layer.shards.into_iter().map(|shard| {
                let digest = shard.digest.as_ref().try_into().ok().map(Digest);
                (shard.holders, digest)
            });
            (Depth(layer.depth), shards.collect())
        });
        Self { version: told.version, addresses: told.addresses, layers: layers.collect() }
    }

    /// Returns the addresses of the peers that hold a file.
    pub fn of(&self, task: Task) -> Vec<String> {
        let holders = self.file(task).map(|(holders, _)| holders);
        let addresses =
            holders.into_iter().flatten().filter_map(|&number| self.addresses.get(number as usize));
        addresses.cloned().collect()
    }

    /// Returns a file with the digest of its checksums, if the coordinator has sent it.
    pub fn stored(&self, task: Task) -> StoredFile {
        StoredFile { task, digest: self.file(task).and_then(|(_, digest)| *digest) }
    }

    fn file(&self, task: Task) -> Option<&Held> {
        self.layers.get(&task.depth)?.get(task.shard.0 as usize)
    }
}
