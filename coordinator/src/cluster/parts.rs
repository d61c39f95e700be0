//! The parts of the coordinator's state. Each keeps its own data, changes that data in one place, and returns
//! what must be reconsidered because of the change.

pub mod backoff;
mod dirty;
mod files;
mod members;
mod secret;

pub use dirty::Dirty;
pub use files::{CopyState, Files, HeldFile};
pub use members::{Members, PendingPoll, Presence, StoreRest, Worker};
pub use secret::Secret;
