//! What a coordinator, its workers and the people who watch them say to each other, and who may.
//!
//! Reading order: `proto/fathom/v1/fathom.proto` (the messages), [`v1`] (the code that is generated from it),
//! [`names`] (of sessions and attempts), [`outcome`] (how orders end), [`convert`] (from messages and to
//! them), [`usage`] (what a worker takes of its host), [`access`] (who may talk).
//!
//! Invariant: the types of [`v1`] go no further than the services; what has passed [`convert`] can be.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod convert;
pub mod names;
pub mod outcome;
pub mod usage;
pub mod v1;

pub use convert::Malformed;
pub use names::{Attempt, Session};
pub use outcome::{Copied, Done, Failure, Outcome, StoredFile};
pub use usage::{Latencies, Usage};
