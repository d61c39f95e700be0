//! Tasks: each computes one shard of a layer from the layers before it, from files to a file.
//!
//! Reading order: [`resources`] (the limits of a process, and its kernel), [`cache`] (the memory for layers),
//! [`spill_policy`] (cosets that exceed it), [`job`] (the data of a run that threads need), [`store`] (the
//! directory of layer files), [`layer`] (a whole layer, open for reading), [`layer_window`] (the part of a layer
//! that is in memory), [`union`] (all layers in one, if tasks read all of them), [`expand`] (one task, and
//! one task on several threads), [`waits`] (the time that threads spend on each activity), [`counters`]
//! (their progress), [`pool`] (threads that do tasks), [`watched_states`] (states whose depths are recorded),
//! [`sample`] (random states of a layer, for audits), [`error`].
//!
//! Invariants: a task is a function of the layers that it reads, so repeating it gives the same file. A
//! task that ends early leaves nothing under a final name.

pub mod cache;
pub mod counters;
pub mod error;
pub mod expand;
pub mod job;
pub mod layer;
pub mod layer_window;
pub mod pool;
pub mod resources;
pub mod sample;
pub mod spill_policy;
pub mod store;
pub mod union;
pub mod waits;
pub mod watched_states;

pub use cache::{Cache, IMPORT_SHARE};
pub use counters::Counters;
pub use error::TaskError;
pub use expand::Expander;
pub use job::{Job, Method};
pub use layer::Layer;
pub use pool::Pool;
pub use resources::{Kernel, Resources};
pub use sample::Words;
pub use spill_policy::SpillPolicy;
pub use store::{LAYERS, Leftovers, Store};
pub use union::Union;
pub use waits::Waits;
pub use watched_states::Watched;
