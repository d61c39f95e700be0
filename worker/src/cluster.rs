//! A worker of a run on many hosts: computes shards at the coordinator's command, stores their files, and
//! serves the files to its peers.
//!
//! Reading order: [`store_directory`] (the worker's directory, and its recovery), [`files`] (the open files of the
//! store), [`inputs`] (the layers that tasks read), [`holders`] (which peers hold which files), [`peer_client`]
//! (the client side of the exchange), [`peer_server`] (the server side), [`coordinator_client`] (calls to the coordinator),
//! [`session`] (the decisions, without side effects), [`driver`] (carries them out), [`failure`] (errors of this
//! worker's disks, for the coordinator).
//!
//! Invariants: a file that is reported as computed or copied is durable; data from a peer are checked before
//! they are used; kernel threads never wait for the network.

pub mod coordinator_client;
pub mod driver;
pub mod failure;
pub mod files;
pub mod holders;
pub mod inputs;
pub mod peer_client;
pub mod peer_server;
pub mod session;
pub mod store_directory;

use fathom_layer::ImportMemory;
use fathom_proto::Latencies;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Traffic with peers: compressed bytes, and latencies.
#[derive(Debug, Default)]
pub struct Meter {
    /// Bytes sent to peers.
    pub sent: AtomicU64,
    /// Bytes received from peers.
    pub received: AtomicU64,
    /// The memory for cosets from peers.
    pub memory: Arc<ImportMemory>,
    fetches: Mutex<Latencies>,
}

impl Meter {
    /// Records the time that a peer took to send the complete response to a request.
    pub fn note_fetch(&self, took: Duration) {
        self.fetches.lock().unwrap_or_else(PoisonError::into_inner).note(took);
    }

    /// Returns the latencies of requests to peers.
    pub fn fetches(&self) -> Latencies {
        *self.fetches.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
