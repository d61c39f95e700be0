//! A run on many hosts: the coordinator assigns shards, and workers compute and store them.
//!
//! Reading order: [`event`] (inputs and outputs of the decisions), [`parts`] (the parts of the coordinator's
//! state), [`state`] (these parts together, and the decisions: pure and synchronous), [`bounds`] (which
//! reports are plausible), [`service`] (the gRPC service), `free_space` (the workers' disks), `retire` (old
//! layers of a shared store), `checker` (its files that workers report as damaged), `restore` (the state of a
//! run at the start), [`tables`] (the data in the journal), [`serve`] (the loop that feeds events in and
//! carries effects out), [`handle`] (how other threads query the loop), [`status`] (the report for users),
//! [`commands`] (the commands that messages mention), [`view`] (the data of the web page), `wait_log` (log
//! messages about a run that waits).
//!
//! Invariants: effects are carried out in order; a layer is committed before the next layer starts; messages
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
