//! A search on one machine: where a run is kept, how its layers are made and committed, and what is known of
//! it.
//!
//! Reading order: [`directory`] (a run's directory: creation, lock, opening), [`journal`] (`run.db`: what is
//! known of the layers), [`commit`] (the barrier: a layer's reports are added up and committed), [`search`]
//! (depth by depth, in one process), `older` (what a run that keeps two layers gives back), [`observer`]
//! (what a search tells while it works), [`watch`] (states whose depths are noted), [`summary`] (results),
//! [`verify`], [`tables`] (of cosets, for those who look into a run), [`mod@audit`] (what must be true of
//! distances, by other means than the search), [`estimate`] (what a run will need), [`rates`] (how fast this
//! machine is), [`membership`] (why an element is not in a group).
//!
//! Invariants: a search adds up reports and never looks at the states of a layer; a layer counts when its row
//! is committed, and its files were durable before that; what is in the journal is never contradicted, only
//! extended.
//!
//! `examples/enumerate.rs` is a whole search in thirty lines.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod audit;
pub mod commit;
pub mod directory;
pub mod estimate;
pub mod journal;
pub mod membership;
pub mod observer;
mod older;
pub mod rates;
pub mod search;
pub mod summary;
pub mod tables;
pub mod verify;
pub mod watch;
