//! The feeds of the page of a run on many hosts: from the coordinator in this process, and from the directory
//! of a run.
//!
//! Reading order: [`coordinator`] (the coordinator), [`directory`] (the journal of a run that another process
//! may be computing), `log_events` (events from its log).

pub mod coordinator;
pub mod directory;
mod log_events;
