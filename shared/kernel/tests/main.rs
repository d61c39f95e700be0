//! The tests of `fathom-kernel` from outside, as one program: it is linked once, and its tests share the
//! processors.

mod reachable_axes;
mod simd_levels;
