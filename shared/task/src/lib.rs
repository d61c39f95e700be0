//! Tasks: making one shard of a layer from the layers before it, from files to files.
//!
//! Reading order: [`resources`] (what may be taken of this machine), [`cache`] (its memory for layers),
//! [`job`] (what a worker must know of a run), [`store`] (where layer files lie), [`layer`] (a whole layer,
//! open for reading), [`window`] (which part of it is in memory), [`union`] (all layers in one, where all are
//! read), [`expand`] (one task), [`waits`] (what threads spend their time on), [`pool`] (threads that do
//! tasks), [`watched`] (states whose depths are noted), [`sample`] (from which an audit draws random states),
//! [`error`].
//!
//! Invariants: a task is a function of the layers that it reads; doing it twice gives the same file; a task
//! that ends early leaves nothing under a final name.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cache;
pub mod error;
pub mod expand;
pub mod job;
pub mod layer;
pub mod pool;
pub mod resources;
pub mod sample;
pub mod store;
pub mod union;
pub mod waits;
pub mod watched;
pub mod window;

pub use cache::Cache;
pub use error::TaskError;
pub use expand::Expander;
pub use job::{Job, Kernel, Method};
pub use layer::Layer;
pub use pool::{Counters, Pool};
pub use resources::Resources;
pub use sample::Words;
pub use store::{Leftovers, Store};
pub use union::Union;
pub use waits::Waits;
pub use watched::Watched;
