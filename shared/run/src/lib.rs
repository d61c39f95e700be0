//! What a run is, for whoever works on it: what is enumerated and how it is cut up, the same for all
//! processes and hosts.
//!
//! Reading order: [`manifest`] (`run.toml`), [`cut`] (cosets into shards), [`geometry`] (which file
//! holds what), [`lock`] (who works on it), [`task`] (what is done, and what is reported of it), [`lookback`]
//! (from which layers), [`worker_id`] (who does it), [`tables`] (the cosets, kept in a file), [`budget`]
//! (what of it all is in memory), [`error`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod budget;
pub mod cut;
pub mod error;
pub mod geometry;
pub mod lock;
pub mod lookback;
pub mod manifest;
pub mod tables;
pub mod task;
pub mod worker_id;

pub use cut::ShardCut;
pub use error::RunError;
pub use geometry::Geometry;
pub use lookback::Lookback;
pub use manifest::{Keep, RunManifest, SpaceSpec};
pub use task::{Depth, ShardId, ShardReport, Task};
pub use worker_id::WorkerId;
