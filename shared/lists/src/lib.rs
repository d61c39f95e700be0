//! Layers as sorted lists of packed states: the first depths of any puzzle, and spaces that are no quotient of a
//! group.
//!
//! Modules, in reading order:
//! - [`key`]: packed states as numbers of a fixed width; [`list_space`]: how a state is packed, and moves of
//!   packed states; [`mod@packing`]: the same without the type of keys;
//! - [`list_file`]: the states of one layer in one shard, sorted and compressed;
//! - [`buckets`]: the states that a thread has found, in memory and in spilled runs;
//!   [`mod@next_layer`]: one layer from those before it; [`mod@first_depths`]: a few layers in memory.
//!
//! A state belongs to the shard that a hash of it names, and a shard's states are in increasing order.
//!
//! Invariants: a list has no state twice; the bytes of a file are a function of its states only, and are checked
//! before they are used.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod buckets;
pub mod first_depths;
pub mod key;
pub mod list_file;
pub mod list_space;
pub mod next_layer;
pub mod packing;

pub use first_depths::first_depths;
pub use key::Key;
pub use list_file::{Identity, ListFile, ListWriter, Written};
pub use list_space::ListSpace;
pub use next_layer::{Failed, Layer, Progress, next_layer};
pub use packing::{Packing, packing};
