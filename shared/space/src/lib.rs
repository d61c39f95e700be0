//! A state space cut into cosets, so that a search moves whole bit tensors instead of single states.
//!
//! Reading order:
//! - [`labels`]: which pieces are alike; [`words`]: ranks of words with fixed content, the one ranking scheme here;
//! - [`space`]: puzzle + labels, its symmetries and its number of states;
//! - [`colouring`]: the partition that cuts the space; [`shape`]: the bit tensor of one coset;
//! - [`cosets`]: representative cosets, the pattern table, addresses of states;
//! - [`transform`]: what a move does to a whole coset; [`counting`]: states and classes;
//! - [`planner`]: the choice of the colouring; [`fingerprint`]: what makes two runs the same run.
//!
//! How a state is written down: as the *word* of its labels, `word[cell]` being the label of the piece on `cell`.
//! The *pattern* of the state is the word of the colours of those labels. The *arrangement* of a colour is the
//! word of its labels on the cells of that colour, cells in increasing order; its index is its lexicographic rank.
//! A state is addressed by its coset and one index a colour.
//!
//! Invariants: symmetries map moves to moves, labels to labels of equal size, colours to colours of equal content;
//! every reachable pattern lies in the orbit of exactly one representative; coset numbers are part of the format.

pub mod colouring;
pub mod cosets;
pub mod counting;
pub mod fingerprint;
pub mod labels;
pub mod planner;
pub mod shape;
pub mod space;
pub mod transform;
pub mod words;

pub use colouring::{Colouring, ColouringError};
pub use cosets::{CosetError, CosetGraph, CosetId, CosetTables};
pub use labels::{LabelError, Labels};
pub use planner::{Plan, PlanError};
pub use shape::Shape;
pub use space::{Space, SpaceError, Symmetry};
pub use transform::{AxisMap, Transform, Transforms};
pub use words::Words;
