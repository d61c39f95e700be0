//! Finds shortest solutions of single states, and lists the classes of a layer.
//!
//! Reading order: [`alphabet`] (states as words), [`moves`] (moves, some preceded by free moves), [`model`]
//! (any puzzle in these terms, whether a run can search it or not), [`state`] (reads and writes states, and
//! explains why a state cannot be reached), [`square1`] (writes moves of Square-1), [`descent`] (finds
//! solutions, given a function that returns distances), [`ball`] and [`bidirectional`] (compute distances
//! without a run), [`layer_distances`] and [`space_words`] (read distances from the layers that a run has kept), [`layer_states`] (lists all states of
//! a layer),
//! [`classes`](mod@classes) (the states of a layer up to symmetry), [`elements`] (reads elements of a
//! puzzle's group), [`mod@phases`] (solving through a chain of subgroups), [`mod@bound`] (bounds on God's
//! numbers, without a run).
//!
//! Invariants: a solution leads from a state to the solved one, or to another goal, up to free moves, and its
//! length is the distance. A distance is exact or not returned at all. Solutions are in lexicographic order, by the order
//! of the puzzle's moves, so that the same question has the same answer on every machine.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod alphabet;
pub mod ball;
pub mod bidirectional;
pub mod bound;
pub mod classes;
pub mod descent;
pub mod elements;
pub mod layer_distances;
pub mod layer_states;
pub mod model;
pub mod moves;
pub mod phases;
pub mod space_words;
pub mod square1;
pub mod state;

pub use bidirectional::{Bidirectional, Looked, Paths, SearchError};
pub use classes::{Class, classes, up_to_inversion};
pub use descent::{Solutions, count, descend, way_to};
pub use layer_distances::{DepthFinder, DepthTable, LayerDistances};
pub use model::{ModelError, SolveModel};
pub use phases::{Phase, PhaseError, phases};
pub use space_words::SpaceWords;

#[cfg(test)]
mod tests;
