//! The feeds of the page of a run on many hosts: from the coordinator in this process, and from the directory of
//! a run.
//!
//! Reading order: [`served`] (the coordinator), [`directory`] (the journal of a run on which another process may
//! be working), `past` (events from its log).

pub mod directory;
mod past;
pub mod served;
