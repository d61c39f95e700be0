//! Shortest solutions of single states, and the classes of a layer.
//!
//! Reading order: [`walk`] (states as words and the moves between them), [`model`] (any puzzle as such words, whether a run can
//! search it or not), [`state`] (states as people write them, and why moves do not lead to one), [`descent`] (solutions, by whatever
//! tells how near a state is), [`ball`] and [`bidirectional`] (what tells it without a run), [`layers`] (what tells it from the
//! layers that a run has kept), [`classes`] (the states of a layer up to symmetry).
//!
//! Invariants: a solution leads from a state to the solved one, and its length is the distance; distances are exact or not told;
//! solutions come in lexicographic order, by the order of the puzzle's moves, so the same question has the same answer everywhere.

pub mod ball;
pub mod bidirectional;
pub mod classes;
pub mod descent;
pub mod layers;
pub mod model;
pub mod state;
pub mod walk;

pub use bidirectional::{Bidirectional, SearchError};
pub use classes::{Class, classes};
pub use descent::{Solutions, descend};
pub use layers::KeptLayers;
pub use model::{Model, ModelError};
pub use walk::{NoInverse, SpaceWalk, Walk};

#[cfg(test)]
mod tests;
