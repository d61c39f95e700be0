//! A run on many hosts: the coordinator assigns shards, and workers compute and store them.
//!
//! Reading order: [`event`] (inputs and outputs of the decisions), [`state`] (what the coordinator knows),
//! [`apply`] (what an event changes: pure and synchronous), `members` (workers that come and go), `reports`
//! (what workers report), `failures` (how failed orders are handled), [`bounds`] (which reports are
//! plausible), `settle` (the decisions that follow from the state), [`given`] (sources given back while a
//! layer is computed), [`placement`] (which worker computes which shard), [`service`] (the gRPC service),
//! `room` (free space on their disks), `retire` (old layers of a shared store), `checker` (its files that
//! workers call damaged), `restore` (what a run has when it starts), [`serve`] (the loop that feeds events in
//! and carries effects out), [`handle`] (how other threads ask the loop), [`status`] (the report for people),
//! [`view`] (the data of the web page), `waiting` (what the log says of a run that waits).
//!
//! Invariants: effects are carried out in order; a layer is committed before the next layer begins; messages
//! of a worker count only while its session lasts.

pub mod apply;
pub mod audit;
pub mod bounds;
mod checker;
pub mod event;
mod failures;
pub mod given;
pub mod handle;
mod members;
pub mod parts;
pub mod placement;
mod reports;
mod restore;
mod retire;
mod room;
pub mod serve;
pub mod service;
mod settle;
pub mod state;
pub mod status;
#[cfg(test)]
mod tests;
pub mod view;
mod waiting;
