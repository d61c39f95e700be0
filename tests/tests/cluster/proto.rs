//! The tests of `fathom-proto` from outside.

mod access;
mod nonsense;
mod reports;
