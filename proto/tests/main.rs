//! The tests of `fathom-proto` from outside, as one program: it is linked once, and its tests share the
//! processors.

mod access;
mod nonsense;
mod reports;
