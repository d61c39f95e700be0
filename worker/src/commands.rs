//! The subcommands of `fathom-worker`, one module each.

pub(crate) mod clean;
pub(crate) mod join;
pub(crate) mod task;
pub(crate) mod verify;
