//! A run on many hosts: the coordinator assigns shards, and workers compute and store them.
//!
//! Reading order: [`event`] (inputs and outputs of the decisions), [`parts`] (the parts of the coordinator's
//! state), [`state`] (these parts together, and the decisions: pure and synchronous), [`report_bounds`] (which
//! reports are plausible), [`service`] (the gRPC service), `free_space` (the workers' disks), `layer_remover` (old
//! layers of a shared store), `damage_check` (its files that workers report as damaged), `end_check`
//! (the check of the last layers), `restore` (the state of a
//! run at the start), [`journal_tables`] (the data in the journal), [`serve`] (the loop that feeds events in and
//! carries effects out), [`handle`] (how other threads query the loop), [`status`] (the report for users),
//! [`suggested_commands`] (the commands that messages mention), [`page_view`] (the data of the web page), `wait_log` (log
//! messages about a run that waits).
//!
//! Invariants: effects are carried out in order; a layer is committed before the next layer starts; messages
//! of a worker count only while its session lasts.

mod damage_check;
mod end_check;
pub mod event;
mod free_space;
pub mod handle;
pub mod journal_tables;
mod layer_remover;
pub mod page_view;
pub mod parts;
pub mod report_bounds;
mod restore;
pub mod serve;
pub mod service;
pub mod state;
pub mod status;
pub mod suggested_commands;
#[cfg(test)]
mod tests;
mod wait_log;
