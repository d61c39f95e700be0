//! Finds shortest solutions of single states, and lists the classes of a layer.
//!
//! Reading order: [`alphabet`] (states as words), [`moves`] (moves, some preceded by free moves), [`model`]
//! (any puzzle in these terms, whether a run can search it or not), [`state`] (reads and writes states, and
//! explains why a state cannot be reached), [`square1`] (writes moves of Square-1), [`descent`] (finds
//! solutions, given a function that returns distances), [`ball`] and [`bidirectional`] (compute distances
//! without a run), [`layer_distances`] and [`space_words`] (read distances from the layers that a run has kept),
//! [`beyond_layers`] (solves states beyond them), [`layer_states`] (lists all states of a layer), [`state_ranks`] and [`distance_table`] (files with the distances of all states), [`deepening`] (solutions by
//! such files),
//! [`solutions`] (solutions of states of a run), [`reading`] (states as users write them), [`rows`], [`kept_run`],
//! [`run_table`] and [`state_graph`] (states as arrays, tables and graphs),
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
pub mod beyond_layers;
pub mod bidirectional;
pub mod bound;
pub mod classes;
pub mod deepening;
pub mod descent;
pub mod distance_table;
pub mod elements;
pub mod kept_run;
pub mod layer_distances;
pub mod layer_states;
pub mod model;
pub mod moves;
pub mod phases;
pub mod reading;
pub mod rows;
pub mod run_table;
pub mod solutions;
pub mod space_words;
pub mod square1;
pub mod state;
pub mod state_graph;
pub mod state_ranks;

pub use beyond_layers::BeyondLayers;
pub use bidirectional::{Bidirectional, Looked, Paths, SearchError};
pub use classes::{Class, classes, up_to_inversion};
pub use deepening::Deepening;
pub use descent::{Solutions, count, descend, way_to};
pub use distance_table::{DistanceTable, TableMaker, TableOfModel};
pub use kept_run::KeptRun;
pub use layer_distances::{DepthFinder, DepthTable, LayerDistances};
pub use model::{ModelError, SolveModel};
pub use phases::{Phase, PhaseError, phases};
pub use run_table::RunTable;
pub use space_words::SpaceWords;
pub use state_graph::StateGraph;
pub use state_ranks::StateRanks;

#[cfg(test)]
mod tests;
