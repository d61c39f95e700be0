//! The arithmetic of a search.
//!
//! Reading order: [`reference`] (the whole search as a plain breadth-first search, the oracle of everything else),
//! [`kernel`] (the interface of a coset kernel), [`portable`] (the coset kernel in plain code), and what that is made
//! of: [`network`] (a fixed permutation of the bits of a word) and [`transpose`] (of a square of bits).
//!
//! Invariants: a kernel's result depends on its inputs alone, not on the order of pulls; padding bits stay zero.

pub mod kernel;
pub mod network;
pub mod portable;
pub mod reference;
pub mod transpose;
mod word;

pub use kernel::{Bits, Kernel, SLACK_BYTES};
pub use portable::portable;
