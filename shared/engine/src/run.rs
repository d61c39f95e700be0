//! The definition of a run, which is the same for all processes and hosts: what is enumerated, and how it is
//! cut into shards.
//!
//! Reading order: [`manifest`] (`run.toml`), [`makers`] (how many shards), [`cut`] (cosets into shards),
//! [`order`] (which shards lie close together), [`geometry`] (sizes and identities of files), [`stores`] (the
//! directories of layers), [`lock`] (which processes work on a run), [`task`] (the unit of work, and its
//! report), [`lookback`] (the layers that a layer is made from), [`tables`] (the cosets, kept in a
//! file), [`budget`] (the division of memory), [`error`].

pub mod budget;
pub mod cut;
pub mod error;
pub mod geometry;
pub mod lock;
pub mod lookback;
pub mod makers;
pub mod manifest;
pub mod order;
pub mod stores;
pub mod tables;
pub mod task;

pub use cut::ShardCut;
pub use error::RunError;
pub use geometry::Geometry;
pub use lookback::Lookback;
pub use makers::Makers;
pub use manifest::{Keep, RunManifest, SpaceSpec};
pub use order::ShardOrder;
pub use stores::Stores;
pub use task::{Depth, ShardId, ShardReport, Task};

/// The name of the definition in a run's directory.
pub const DEFINITION: &str = "run.toml";

/// The format version of `run.toml` that is written, and the newest that is read. The schema of `run.db` has
/// a version of its own.
///
/// Version 3 added axes and the cost model, which Fathom 0.1.0 does not know.
pub const FORMAT: u32 = 3;
