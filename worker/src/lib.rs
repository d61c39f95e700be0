//! The worker of a run on many hosts. The binary is `fathom-worker`; its commands are in `main.rs` and
//! `commands/`.
//!
//! `fathom-engine` computes the tasks; [`cluster`] takes commands from a coordinator and exchanges layer
//! files with other workers. [`process`], [`resources`] and [`settings`] are shared by the commands.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cluster;
pub mod process;
pub mod resources;
pub mod settings;
pub mod version;
