//! A worker of a run on many hosts: it makes shards as the coordinator orders, keeps their files, and serves
//! them to its peers.
//!
//! Reading order: [`home`] (the store's directory, and what is recovered from it), [`files`] (those of the
//! store that are open), [`inputs`] (the layers that tasks read), [`holders`] (which peers hold what),
//! [`fetch`] (what peers have), [`exchange`] (what peers get), [`caller`] (how the coordinator is called),
//! [`session`] (what follows from what happens, without side effects), [`driver`] (carries that out),
//! `orders` (files that are copied, discarded, retired), `prepare` (what is had here before a task begins).
//!
//! Invariants: what is reported as made or copied is durable; what a peer sends is checked before it is used;
//! kernel threads never wait for the network.

pub mod caller;
pub mod driver;
pub mod exchange;
pub mod fetch;
pub mod files;
pub mod holders;
pub mod home;
pub mod inputs;
mod orders;
mod prepare;
pub mod session;

use std::sync::atomic::AtomicU64;

/// Bytes that went over the network, as they were sent.
#[derive(Debug, Default)]
pub struct Meter {
    /// Bytes sent to peers.
    pub sent: AtomicU64,
    /// Bytes received from peers.
    pub received: AtomicU64,
}
