//! The worker of a run on many hosts, and its command line: the binary `fathom-worker`, and `fathom worker`.
//!
//! `fathom-engine` computes the tasks; [`cluster`] takes commands from a coordinator and exchanges layer
//! files with other workers. [`commands`] has the commands. [`process`], [`resources`],
//! [`settings`] and [`completion`] are shared with the command `fathom`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod arguments;
pub mod cluster;
pub mod commands;
pub mod completion;
pub mod process;
pub mod resources;
pub mod settings;
pub mod version;
