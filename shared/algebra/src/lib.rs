//! Permutations and the groups that they generate. No dependencies.
//!
//! Reading order: [`permutation`] (what a permutation is, how two compose), [`oriented`] (pieces that turn on the way), [`cycles`]
//! (cycle notation, both ways), [`rank`] (lexicographic rank), [`group`] (order of a generated group by Schreier-Sims),
//! [`relabellings`] (the symmetries of a set of permutations).
//!
//! **How permutations compose** is said here and nowhere else. A permutation maps points to points. A product is
//! read from left to right, as in the literature and in GAP: `a.then(&b)` applies `a` first and `b` next, so
//! `a.then(&b).apply(i) == b.apply(a.apply(i))`. A sequence of moves `x y z` is `x.then(&y).then(&z)`.
//!
//! Points are numbered from 0 in code and from 1 in cycle notation.

pub mod cycles;
pub mod group;
pub mod oriented;
pub mod permutation;
pub mod rank;
pub mod relabellings;

pub use cycles::CycleError;
pub use group::StabiliserChain;
pub use oriented::{NotOriented, OrientedPermutation};
pub use permutation::{NotAPermutation, Permutation};
pub use relabellings::relabellings;
