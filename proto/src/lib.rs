//! What a coordinator, its workers and the people who watch them say to each other.
//!
//! Reading order: `proto/fathom/v1/fathom.proto` (the messages), [`v1`] (the code that is generated from it).

pub mod v1;
