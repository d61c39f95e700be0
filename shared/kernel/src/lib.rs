//! The arithmetic of a search.
//!
//! Reading order: [`mod@reference`] (the whole search as a plain breadth-first search, the oracle of
//! everything else), [`kernel`] (the interface of a coset kernel), [`portable`] (the coset kernel in plain
//! code) and its parts [`network`] (a fixed permutation of the bits of a word) and [`transpose`] (of a square
//! of bits), `byte_planes` (the layout of the next two), [`shuffle`] (the coset kernels for processors with a
//! byte shuffle), [`avx512`] (those for processors with AVX-512 and GFNI), `summands` (each of these for tensors that are
//! direct sums), and [`simd_level`] (the choice among these).
//!
//! Invariants: the result of a kernel depends only on its inputs, not on the order of pulls; padding bits
//! stay zero.

#![deny(clippy::print_stdout, clippy::print_stderr)]

#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
mod byte_planes;
pub mod kernel;
pub mod network;
pub mod portable;
pub mod reference;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub mod shuffle;
pub mod simd_level;
mod summands;
pub mod transpose;
mod word;

pub use kernel::{Bits, Kernel, SLACK_BYTES};
pub use simd_level::SimdLevel;
