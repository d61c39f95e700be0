//! The definition of a run, which is the same for all processes and hosts: what is enumerated, and how it is
//! cut into shards.
//!
//! Reading order: [`space_spec`] (the enumerated space), [`plan_document`] (its plan), [`run_plan`] and
//! [`run_space`] (cosets or lists of states), [`manifest`]
//! (`run.toml`, with both), [`producers`] (the number of shards), [`cut`] (cosets into shards), [`order`]
//! (which shards are close together), [`geometry`] (sizes and identities of files), [`owner`] (the run that
//! owns a store), [`lock`] (which processes work on a run), [`task`] (the unit of work, and its report),
//! [`lookback`] (the layers that a layer is computed from), [`saved_tables`] (the cosets, kept in a file),
//! [`budget`] (the division of memory), [`error`].

pub mod budget;
pub mod cut;
pub mod error;
pub mod geometry;
pub mod lock;
pub mod lookback;
pub mod manifest;
pub mod order;
pub mod owner;
pub mod plan_document;
pub mod producers;
pub mod run_plan;
pub mod run_space;
pub mod saved_tables;
pub mod space_spec;
pub mod task;

pub use cut::ShardCut;
pub use error::RunError;
pub use geometry::Geometry;
pub use lookback::Lookback;
pub use manifest::{Keep, RunManifest};
pub use order::ShardOrder;
pub use owner::{OWNER, Owner};
pub use plan_document::{PlanDocument, PlanFile, PuzzleTable};
pub use producers::Producers;
pub use run_plan::{ListPlan, RunPlan};
pub use run_space::{ListedSpace, RunSpace, most_successors};
pub use space_spec::SpaceSpec;
pub use task::{Depth, ShardId, ShardReport, Task};

/// The name of the definition in a run's directory.
pub const DEFINITION: &str = "run.toml";

/// The format version of `run.toml` and of plan files. The schema of `run.db` has a version of its own.
pub const FORMAT: u32 = 1;

/// The author that is written to files: the program and its version.
const AUTHOR: &str = concat!("fathom ", env!("CARGO_PKG_VERSION"));
