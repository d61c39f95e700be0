//! A search on one machine: the directory of a run, how its layers are computed and committed, and the
//! results.
//!
//! Reading order: [`run`] (what a run is: `run.toml`, shards, the directories of layers), [`mod@task`] (the
//! computation of one shard, from files to a file), [`directory`] (a run's directory: creation, lock,
//! opening), [`journal`] (`run.db`: the committed layers), [`counts`] (laws of a layer's counts), [`commit`]
//! (the barrier: a layer's reports are added up and committed), [`options`] (of a search), [`search`] (depth by depth, in one process), `list_files` and `list_search` (the same by
//! lists of states),
//! `older_layer` (the shards that a run with two layers releases), `removers` (threads that delete files),
//! [`observer`] (the events of a search), [`shared_store`] (the run that a shared store belongs to),
//! [`watch`] (states whose depths are recorded), [`summary`] (results), [`verify`] (files compared with the
//! journal), [`coset_graph`] (cosets for commands that read a run), [`mod@layers_root`] (runs from files to files),
//! [`mod@audit`] (properties of distances, checked independently of the search), [`estimate`] (the resources
//! that a run needs), [`rates`] (the speed of this machine), [`forecast`] (how a search grows, and how long
//! it takes), [`membership`] (why an element is not in a group), [`run_presence`] (which process works on a
//! run), [`enumeration`] (all of this in a few lines).
//!
//! Invariants: a search adds up reports; the only states that it examines itself are the few of its spot
//! checks, and those of the first depths, which it counts a second time. A layer counts when its row is
//! committed, and its files are durable before that. Later commits extend the journal and never contradict
//! it.
//!
//! [`Enumeration`] runs a complete search in a few lines, for programs that use the engine.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod audit;
pub mod commit;
pub mod coset_graph;
pub mod counts;
pub mod directory;
pub mod enumeration;
pub mod estimate;
pub mod forecast;
pub mod journal;
pub mod layers_root;
mod list_files;
pub mod list_layers;
mod list_search;
pub mod membership;
pub mod observer;
mod older_layer;
pub mod options;
pub mod rates;
mod removers;
pub mod run;
pub mod run_presence;
pub mod search;
pub mod shared_store;
pub mod summary;
pub mod task;
pub mod verify;
pub mod watch;

pub use enumeration::Enumeration;
