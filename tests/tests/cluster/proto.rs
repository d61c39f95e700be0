//! The external tests of `fathom-proto`.

mod access;
mod nonsense;
mod reports;
