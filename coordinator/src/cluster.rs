//! A run on many hosts: the coordinator deals out shards, workers make them and keep them.
//!
//! Reading order: [`event`] (what can happen, and what is done about it), [`state`] (what is known),
//! [`apply`] (what an event changes: pure and synchronous), `failures` (what follows when orders fail),
//! [`bounds`] (what reports can say), `settle` (what follows from it), [`given`] (what is given back while a
//! layer is made), [`placement`] (who makes which shard), [`service`] (gRPC around it), [`rate`] (how fast
//! workers are), `room` (what their disks hold), [`serve`] (the loop that feeds events in and carries effects
//! out), [`status`] (what people are told), [`view`] (what a page shows).
//!
//! Invariants: an effect is carried out after all that stand before it; a layer is committed before the next
//! is begun; a worker's word counts as long as its session lasts.

pub mod apply;
pub mod audit;
pub mod bounds;
pub mod event;
mod failures;
pub mod given;
pub mod placement;
pub mod rate;
mod room;
pub mod serve;
pub mod service;
mod settle;
pub mod state;
pub mod status;
#[cfg(test)]
mod tests;
pub mod view;
