//! Which peers hold the files of the layers that tasks read.

use fathom_proto::v1;
use fathom_run::{Depth, Task};
use std::collections::BTreeMap;

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
