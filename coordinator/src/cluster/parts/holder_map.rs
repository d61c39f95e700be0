//! The holder map that workers are sent with their tasks.

use crate::cluster::event::{Holders, Holding};
use fathom_engine::run::Depth;
use std::sync::Arc;

/// The holder map. The map is rebuilt only when its version changes, because it is large and all workers
/// receive it. Copies made since then may be missing from it.
#[derive(Clone, Debug)]
pub struct HolderMap {
    /// The version grows with each change of the map and with each epoch, so that a version of one epoch
    /// never denotes a map of another.
    version: u64,
    /// The map that workers were last sent.
    last_broadcast: Option<Arc<Holders>>,
}

impl HolderMap {
    /// Starts with the first version of an epoch.
    pub fn new(epoch: u64) -> Self {
        Self { version: epoch << 32 | 1, last_broadcast: None }
    }

    /// Returns the present version.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Records that the map has changed.
    pub fn change(&mut self) {
        self.version += 1;
    }

    /// Returns the map of the present version that workers were sent, if any.
    pub fn broadcast(&self) -> Option<&Arc<Holders>> {
        self.last_broadcast.as_ref().filter(|last| last.version == self.version)
    }

    /// Stores the layers of the present version, to be sent to workers. Returns the map.
    pub fn set_broadcast(&mut self, layers: Vec<(Depth, Vec<Holding>)>) -> Arc<Holders> {
        let holders = Arc::new(Holders { version: self.version, layers });
        self.last_broadcast = Some(Arc::clone(&holders));
        holders
    }
}
