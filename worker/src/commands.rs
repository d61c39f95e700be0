//! What `fathom-worker` does, one module a command.

pub(crate) mod clean;
pub(crate) mod join;
pub(crate) mod task;
pub(crate) mod verify;
