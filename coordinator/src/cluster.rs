//! A run on many hosts: the coordinator assigns shards, and workers compute and store them.
//!
//! Reading order: [`event`] (inputs and outputs of the decisions), [`parts`] (the parts of what the coordinator
//! knows), [`state`] (the state of these parts, and the decisions: pure and synchronous), [`bounds`] (which
//! reports are plausible), [`service`] (the gRPC service), `room` (free space on their disks), `retire` (old
//! layers of a shared store), `checker` (its files that workers call damaged), `restore` (what a run has when
//! it starts), [`tables`] (what is journalled), [`serve`] (the loop that feeds events in and carries effects
//! out), [`handle`] (how other threads ask the loop), [`status`] (the report for people), [`commands`] (the
//! commands that messages name), [`view`] (the data of the web page), `waiting` (what the log says of a run
//! that waits).
//!
//! Invariants: effects are carried out in order; a layer is committed before the next layer begins; messages
//! of a worker count only while its session lasts.

pub mod bounds;
mod checker;
pub mod commands;
pub mod event;
mod free_space;
pub mod handle;
pub mod parts;
mod restore;
mod retire;
pub mod serve;
pub mod service;
pub mod state;
pub mod status;
pub mod tables;
#[cfg(test)]
mod tests;
pub mod view;
mod wait_log;
