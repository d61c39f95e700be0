//! Cuts the state space of a puzzle into cosets, so that a search moves whole bit tensors instead of single
//! states.
//!
//! Modules, in reading order:
//! - `cells`; [`labels`]: which pieces are interchangeable; [`symbols`]: labels with orientations;
//!   [`multiset_ranker`]: ranks of words with fixed content, the only ranking scheme of this crate;
//!   [`ranks`]: the same orbit by orbit, with orientations;
//! - [`reduction`]: puzzles made from others that are easier to search;
//! - [`space`]: a puzzle with labels, its moves, its symmetries and its number of states;
//! - [`axis`]: axes that hold only reachable words; `axis_map`: maps from one axis to another; [`colouring`]:
//!   the partition of the pieces that cuts the space, and the group that a pattern leaves open; [`tensor_shape`]:
//!   the bit tensor of one coset;
//! - [`cosets`]: representative cosets, the pattern table, the addresses of states, and the words of axes
//!   that hold only reachable ones;
//! - [`transform`]: the action of a move on a whole coset; [`counting`]: the number of classes; `placements`:
//!   the words that an action fixes;
//! - [`planner`]: the choice of the colouring; [`fingerprint`]: the hash that identifies a run.
//!
//! A state is written as a *word*: `word[cell]` is the symbol of the piece on `cell`, which is the piece's
//! label and its orientation there. The *pattern* of the state is the word of the colours of those labels,
//! with the same orientations. The *arrangement* of a colour is the word of its labels on the cells of that
//! colour, cells in increasing order; the index of an arrangement is its lexicographic rank. The address of a
//! state is its coset and one index for each axis.
//!
//! Invariants: symmetries map moves to moves, labels to labels of equal size, and colours to colours of equal
//! content; every reachable pattern lies in the orbit of exactly one representative; coset numbers are part
//! of the file format.

#![deny(clippy::print_stdout, clippy::print_stderr)]

mod alternation;
pub mod axis;
mod axis_map;
mod cells;
pub mod colouring;
pub mod cosets;
pub mod counting;
pub mod fingerprint;
pub mod labels;
pub mod multiset_ranker;
mod placements;
pub mod planner;
pub mod ranks;
pub mod reduction;
pub mod space;
pub mod symbols;
pub mod tensor_shape;
pub mod transform;

pub use axis::{AxisView, Component, View};
pub use axis_map::AxisMap;
pub use cells::Cell;
pub use colouring::{Colouring, ColouringError, Refusal};
pub use cosets::{CosetError, CosetGraph, CosetId, CosetTables, Locator, StateWords};
pub use counting::Inverses;
pub use labels::{LabelError, Labels};
pub use multiset_ranker::MultisetRanker;
pub use placements::NoInverses;
pub use planner::{Plan, PlanError, grouped};
pub use ranks::Ranks;
pub use reduction::base::Base;
pub use space::{Encoding, EncodingError, Space, SpaceError, Symmetry, WordMove, labels_by_cells, run_name};
pub use symbols::SymbolTable;
pub use tensor_shape::Shape;
pub use transform::{Transform, Transforms};
