//! Shortest solutions of single states, and the classes of a layer.
//!
//! Reading order: [`alphabet`] (states as words), [`moves`] (moves, some behind free moves), [`model`] (any
//! puzzle as such words and moves, whether a run can search it or not), [`state`] (states as people write
//! them, and why moves do not lead to one), [`square1`] (moves as people write them for Square-1),
//! [`descent`] (solutions, by whatever tells how near a state is), [`ball`] and [`bidirectional`] (what tells
//! it without a run), [`layers`] and [`space_words`] (what tells it from the layers that a run has kept),
//! [`classes`](mod@classes) (the states of a layer up to symmetry), [`elements`] (elements of a puzzle's
//! group as people write them).
//!
//! Invariants: a solution leads from a state to the solved one, up to free moves, and its length is the
//! distance; distances are exact or not told; solutions come in lexicographic order, by the order of the
//! puzzle's moves, so the same question has the same answer everywhere.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod alphabet;
pub mod ball;
pub mod bidirectional;
pub mod classes;
pub mod descent;
pub mod elements;
pub mod layers;
pub mod model;
pub mod moves;
pub mod space_words;
pub mod square1;
pub mod state;

pub use bidirectional::{Bidirectional, SearchError};
pub use classes::{Class, classes, up_to_inversion};
pub use descent::{Solutions, descend, way_to};
pub use layers::KeptLayers;
pub use model::{ModelError, SolveModel};
pub use space_words::SpaceWords;

#[cfg(test)]
mod tests;
