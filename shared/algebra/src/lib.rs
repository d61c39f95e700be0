//! Permutations and the groups that they generate.
//!
//! Modules, in reading order:
//!
//! - [`permutation`]: permutations and their composition
//! - [`oriented_permutation`]: permutations of cells whose pieces also turn
//! - [`cycles`]: cycle notation, reading and writing
//! - [`rank`]: the lexicographic rank of a permutation
//! - [`automorphisms`](mod@automorphisms): the symmetries of a set of permutations
//! - [`relabelling`]: a renaming of cells and of orientations
//! - [`stabiliser_chain`]: stabiliser chains by the Schreier-Sims algorithm, which give the order of a generated group
//! - [`set_stabiliser`]: stabilisers of sets
//! - [`orbits`]: orbits, and blocks inside them
//! - [`mod@label_stabiliser`]: the number of elements without a visible effect, because pieces look alike
//! - [`state_count`]: the number of states of puzzles with many cells
//! - [`group`]: the properties of a group, and explanations of non-membership
//! - [`word`]: words in generators
//! - [`expression`]: elements written in generators
//! - [`ball`]: the elements nearest to the identity, with shortest words
//! - `transversal`: words along a stabiliser chain
//! - `word_shortening`: shorter words for the same element
//! - `commutators`: words for elements that move few points
//! - [`factor`]: a word for any element
//!
//! **The order of composition** is defined only here. A permutation maps points to points. A
//! product is read from left to right, as in the literature and in GAP: `a.then(&b)` applies `a` first and
//! `b` next, so `a.then(&b).apply(i) == b.apply(a.apply(i))`. A sequence of moves `x y z` is
//! `x.then(&y).then(&z)`.
//!
//! Points are numbered from 0 in code and from 1 in cycle notation.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod automorphisms;
pub mod ball;
mod commutators;
pub mod cycles;
pub mod expression;
pub mod factor;
pub mod group;
pub mod label_stabiliser;
pub mod orbits;
pub mod oriented_permutation;
pub mod permutation;
pub mod rank;
pub mod relabelling;
pub mod set_stabiliser;
pub mod stabiliser_chain;
pub mod state_count;
mod transversal;
pub mod word;
mod word_shortening;

pub use automorphisms::{Automorphisms, automorphisms, numbered, relabellings_among};
pub use ball::Ball;
pub use cycles::CycleError;
pub use expression::{Element, ExpressionError, Named, Turns};
pub use factor::Factoriser;
pub use group::{Group, GroupOrbit, Kind, NonMembership};
pub use label_stabiliser::{VisibleLabel, label_stabiliser};
pub use oriented_permutation::{OrientedPermutation, OrientedPermutationError};
pub use permutation::{Permutation, PermutationError};
pub use relabelling::Relabelling;
pub use set_stabiliser::Stabiliser;
pub use stabiliser_chain::StabiliserChain;
pub use state_count::states_by_orbits;
pub use word::{Turn, Word, begins_with, power_name};
