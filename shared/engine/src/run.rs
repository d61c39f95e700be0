//! The definition of a run, which is the same for all processes and hosts: what is enumerated, and how it is
//! cut into shards.
//!
//! Reading order: [`manifest`] (`run.toml`), [`makers`] (how many shards), [`cut`] (cosets into shards),
//! [`order`] (which shards lie close together), [`geometry`] (sizes and identities of files), [`owner`] (to
//! which run a store belongs), [`lock`] (which processes work on a run), [`task`] (the unit of work, and its
//! report), [`lookback`] (the layers that a layer is made from), [`worker_id`] (the identity of a worker),
//! [`tables`] (the cosets, kept in a file), [`budget`] (the division of memory), [`error`].

pub mod budget;
pub mod cut;
pub mod error;
pub mod geometry;
pub mod lock;
pub mod lookback;
pub mod makers;
pub mod manifest;
pub mod order;
pub mod owner;
pub mod tables;
pub mod task;
pub mod worker_id;

pub use cut::ShardCut;
pub use error::RunError;
pub use geometry::Geometry;
pub use lookback::Lookback;
pub use makers::Makers;
pub use manifest::{Keep, RunManifest, SpaceSpec};
pub use order::ShardOrder;
pub use owner::{OWNER, Owner};
pub use task::{Depth, MadeShard, ShardId, ShardReport, Task};
pub use worker_id::WorkerId;
