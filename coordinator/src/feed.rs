//! The feeds of the page of a run on many hosts: from the coordinator in this process, and from the directory of
//! a run.
//!
//! Reading order: [`coordinator`] (the coordinator), [`directory`] (the journal of a run on which another process may
//! be working), `past` (events from its log).

pub mod coordinator;
pub mod directory;
mod log_events;
