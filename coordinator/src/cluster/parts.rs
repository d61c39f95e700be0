//! The parts of the coordinator's state.
//!
//! Each part keeps data that must stay consistent, has no public fields, and makes no decisions. A change of
//! a part returns a [`Dirty`] with what must be reconsidered, so that callers need not know the dependencies.
//!
//! Reading order: `stale_parts` (what must be reconsidered), `members` (workers and their sessions) with
//! [`backoff`] (pauses after failures), `files` (holders and copies), `holder_map` (the map sent to workers),
//! `scheduler` (the layer under way) with `tasks` (its tasks) and `source_releases` (the sources that it no longer
//! needs), `audits` (shards that are computed twice), `commit` (what is committed and what is durable),
//! `shutdown` (how the run ends), `random_numbers` (unpredictable numbers).

mod audits;
pub mod backoff;
mod commit;
mod files;
mod holder_map;
mod members;
mod random_numbers;
mod scheduler;
mod shutdown;
mod source_releases;
mod stale_parts;
mod tasks;

pub use audits::{Audit, Audits, FIRST_ATTEMPT, Finding, PARTS};
pub use commit::Commit;
pub use files::{CopyState, FileHolders, Files};
pub use holder_map::HolderMap;
pub use members::{Members, PendingPoll, Presence, Worker};
pub use random_numbers::Secret;
pub use scheduler::Scheduler;
pub use shutdown::{GRACE, Shutdown};
pub use stale_parts::Dirty;
pub use tasks::{FailedAttempt, TaskProgress, TaskState, Tasks};
