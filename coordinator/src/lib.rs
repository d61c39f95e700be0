//! Runs: what is asked, where it is kept, how it is searched, and what is reported. The binary is `fathom`.
//!
//! Reading order: [`definition`] (what a run is asked to enumerate, and `run.toml`), [`directory`] (a run's directory:
//! creation, lock, opening), [`journal`] (`run.db`: what is known of the layers), [`tables`] (the cosets, kept), [`search`] (depth by depth),
//! [`watch`] (states whose depths are noted), [`summary`] (results, as a table and as JSON), [`verify`], [`estimate`] (what a run will need), [`memory`], [`rates`], [`progress`],
//! [`log`] and [`output`], [`exit`] (errors and exit codes). The commands are in `main.rs` and `commands/`.
//!
//! Invariants: the coordinator adds up reports and never looks at the states of a layer; a layer counts when its row is
//! committed, and its files were durable before that; what is in the journal is never contradicted, only extended.

pub mod definition;
pub mod directory;
pub mod estimate;
pub mod exit;
pub mod journal;
pub mod log;
pub mod memory;
pub mod output;
pub mod progress;
pub mod rates;
pub mod search;
pub mod summary;
pub mod table;
pub mod tables;
pub mod verify;
pub mod watch;
