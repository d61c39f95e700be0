//! A state space cut into cosets, so that a search moves whole bit tensors instead of single states.
//!
//! Reading order:
//! - [`labels`]: which pieces are alike; [`letters`]: labels with orientations; [`words`]: ranks of words
//!   with fixed content, the one ranking scheme here; [`ranks`]: the same orbit by orbit, with orientations;
//!   `rings`: pieces that turn and stay;
//! - [`space`]: puzzle + labels, its moves and its number of states; [`symmetry`]: its symmetries;
//! - [`colouring`]: the partition that cuts the space; [`shape`]: the bit tensor of one coset;
//! - [`cosets`]: representative cosets, the pattern table, addresses of states;
//! - [`transform`]: what a move does to a whole coset; [`counting`]: states and classes; `placements`: words
//!   that actions fix;
//! - [`planner`]: the choice of the colouring; [`fingerprint`]: what makes two runs the same run.
//!
//! How a state is written down: as a *word*, `word[cell]` being the letter of the piece on `cell`: its label
//! and its orientation there. The *pattern* of the state is the word of the colours of those labels, with the
//! same orientations. The *arrangement* of a colour is the word of its labels on the cells of that colour,
//! cells in increasing order; its index is its lexicographic rank. A state is addressed by its coset and one
//! index a colour.
//!
//! Invariants: symmetries map moves to moves, labels to labels of equal size, colours to colours of equal
//! content; every reachable pattern lies in the orbit of exactly one representative; coset numbers are part
//! of the format.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod axis;
pub mod colouring;
pub mod cosets;
pub mod counting;
pub mod fingerprint;
mod hidden;
pub mod labels;
pub mod letters;
mod listed;
mod placements;
pub mod planner;
pub mod ranks;
mod rings;
pub mod shape;
pub mod space;
pub mod symmetry;
pub mod transform;
pub mod words;

pub use axis::{AxisView, Component, View};
pub use colouring::{Colouring, ColouringError, Refusal};
pub use cosets::{CosetError, CosetGraph, CosetId, CosetTables};
pub use counting::Inverses;
pub use labels::{LabelError, Labels};
pub use letters::Letters;
pub use placements::NoInverses;
pub use planner::{Plan, PlanError, grouped};
pub use ranks::Ranks;
pub use shape::Shape;
pub use space::{Space, SpaceError, WordMove};
pub use symmetry::Symmetry;
pub use transform::{AxisMap, Transform, Transforms};
pub use words::Words;
