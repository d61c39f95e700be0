//! Code that the commands `fathom` and `fathom-worker` share and that does not depend on puzzles.
//!
//! Reading order: [`exit`] (errors as users see them, and exit codes), [`output`] (results), [`new_file`]
//! (files for users),
//! [`terminal_line`] (the last line of a terminal), [`mod@activity`] (announces long activities), [`interrupt`]
//! (signals), [`scratch`] (temporary directories), [`log`] (all other messages, in files that `rotation`
//! keeps small), [`log_text`] (lines of those files, as readable text), [`shell`] (commands that are
//! printed), [`machine`] (memory and processors), [`numa`] (threads on their sockets), [`address`] (addresses that users enter), [`failpoint`]
//! (kills or stops the process at a given point).

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod activity;
pub mod address;
pub mod exit;
pub mod failpoint;
pub mod interrupt;
pub mod lines;
pub mod log;
pub mod log_text;
pub mod machine;
pub mod new_file;
pub mod numa;
pub mod output;
mod rotation;
pub mod scratch;
pub mod shell;
pub mod terminal_line;
