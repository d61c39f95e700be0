//! The parts of the coordinator's state. Each keeps its own data, changes that data in one place, and returns
//! what must be reconsidered because of the change.

mod audits;
pub mod backoff;
mod dirty;
mod files;
mod given;
mod members;
mod scheduler;
mod secret;
mod tasks;

pub use audits::{Audit, Audits, FIRST_ATTEMPT, Finding, PARTS};
pub use dirty::Dirty;
pub use files::{CopyState, Files, HeldFile};
pub use members::{Members, PendingPoll, Presence, Worker};
pub use scheduler::Scheduler;
pub use secret::Secret;
pub use tasks::{FailedAttempt, TaskProgress, TaskState, Tasks};
