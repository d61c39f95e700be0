//! The parts of the coordinator's state. Each keeps its own data, changes that data in one place, and returns
//! what must be reconsidered because of the change.

mod audits;
pub mod backoff;
mod commit;
mod dirty;
mod files;
mod given;
mod holder_map;
mod members;
mod scheduler;
mod secret;
mod shutdown;
mod tasks;

pub use audits::{Audit, Audits, FIRST_ATTEMPT, Finding, PARTS};
pub use commit::Commit;
pub use dirty::Dirty;
pub use files::{CopyState, Files, HeldFile};
pub use holder_map::HolderMap;
pub use members::{Members, PendingPoll, Presence, StoreRest, Worker};
pub use scheduler::Scheduler;
pub use secret::Secret;
pub use shutdown::{GRACE, Shutdown};
pub use tasks::{FailedAttempt, TaskProgress, TaskState, Tasks};
