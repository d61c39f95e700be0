//! What a coordinator, its workers and the people who watch them say to each other, and who may.
//!
//! Reading order: `proto/fathom/v1/fathom.proto` (the messages), [`v1`] (the code that is generated from it), [`access`] (who may
//! talk).

pub mod access;
pub mod v1;
