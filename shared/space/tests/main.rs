//! The tests of `fathom-space` from outside, as one program: it is linked once, and its tests share the
//! processors.

mod facelets;
mod many_pieces;
mod many_symmetries;
mod reductions;
mod transforms;
mod wrong_counts;
