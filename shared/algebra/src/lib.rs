//! Permutations and the groups that they generate.
//!
//! Reading order: [`permutation`] (what a permutation is, how two compose), [`oriented`] (pieces that turn on
//! the way), [`cycles`] (cycle notation, both ways), [`rank`] (lexicographic rank),
//! [`relabellings`](mod@relabellings) (the symmetries of a set of permutations), [`relabelling`] (one of
//! them, where pieces turn), [`chain`] (order of a generated group by Schreier-Sims), [`setwise`]
//! (stabilisers of sets), [`orbits`] (and blocks inside them), [`alike`] (elements that cannot be seen where
//! pieces look alike), [`large`] (states where cells are many), [`group`] (what can be
//! told of a group), [`word`] (words in generators), [`expression`] (elements written in generators),
//! [`ball`] (shortest words, of elements that have short ones), `transversal` (words along a chain),
//! `shorten`, `commutators`, [`factor`] (a word for any element).
//!
//! **How permutations compose** is said here and nowhere else. A permutation maps points to points. A product
//! is read from left to right, as in the literature and in GAP: `a.then(&b)` applies `a` first and `b` next,
//! so `a.then(&b).apply(i) == b.apply(a.apply(i))`. A sequence of moves `x y z` is `x.then(&y).then(&z)`.
//!
//! Points are numbered from 0 in code and from 1 in cycle notation.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod alike;
pub mod ball;
pub mod chain;
mod commutators;
pub mod cycles;
pub mod expression;
pub mod factor;
pub mod group;
pub mod large;
pub mod orbits;
pub mod oriented;
pub mod permutation;
pub mod rank;
pub mod relabelling;
pub mod relabellings;
pub mod setwise;
mod shorten;
mod transversal;
pub mod word;

pub use alike::{Shown, unseen_elements};
pub use ball::Ball;
pub use chain::StabiliserChain;
pub use cycles::CycleError;
pub use expression::{Element, ExpressionError, Named, Turns};
pub use factor::Factoriser;
pub use group::{Group, GroupOrbit, Kind, WhyNot};
pub use large::states_by_orbits;
pub use oriented::{NotOriented, OrientedPermutation};
pub use permutation::{NotAPermutation, Permutation};
pub use relabelling::Relabelling;
pub use relabellings::{numbered, relabellings, relabellings_among};
pub use setwise::Stabiliser;
pub use word::{Turn, Word, power_name};
