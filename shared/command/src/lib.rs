//! What the commands `fathom` and `fathom-worker` share, and what knows nothing of puzzles.
//!
//! Reading order: [`exit`] (errors as users meet them, and exit codes), [`output`] (results), [`mod@doing`]
//! (what takes long), [`interrupt`] (signals), [`log`] (all else, in files that `rotation` keeps small),
//! [`shell`] (commands that are printed), [`machine`] (memory and processors), [`failpoint`] (to die or stop
//! at a given point).

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod doing;
pub mod exit;
pub mod failpoint;
pub mod interrupt;
pub mod log;
pub mod machine;
pub mod output;
mod rotation;
pub mod shell;
