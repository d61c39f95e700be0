//! The messages between a coordinator, its workers and its clients, and who may send them.
//!
//! Reading order: `proto/fathom/v1/fathom.proto` (the messages), [`v1`] (the code generated from it),
//! [`ids`] (of workers, sessions and attempts), [`command`] (of a coordinator), [`outcome`] (of a command),
//! [`convert`] (checked conversion from and to messages), [`sealed`] (digests of messages), [`usage`] (the
//! resources that a worker uses), [`access`] (tokens, TLS and limits), [`join_file`] (how workers find a coordinator).
//!
//! Invariant: types of [`v1`] go no further than the services, and whatever passed [`convert`] is valid.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod access;
pub mod command;
pub mod convert;
pub mod ids;
pub mod join_file;
pub mod outcome;
pub mod sealed;
pub mod usage;
pub mod v1;

pub use command::{Command, LeaveReason};
pub use convert::Malformed;
pub use ids::{Attempt, Session, WorkerId};
pub use join_file::{JoinFile, JoinState};
pub use outcome::{Copied, Done, Failure, FailureKind, Outcome, StoredFile};
pub use sealed::Sealed;
pub use usage::{Latencies, Usage};
