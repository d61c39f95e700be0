//! The parts of the coordinator's state. Each keeps its own data, changes that data in one place, and returns
//! what must be reconsidered because of the change.

mod dirty;

pub use dirty::Dirty;
