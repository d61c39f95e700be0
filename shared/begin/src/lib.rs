//! What the command and the Python package share: they choose a space and a plan before a search, and add solutions to
//! reports after it.
//!
//! Reading order: [`space_choice`] (a space by the name of a puzzle and options), [`plan_search`] (a plan, or why there
//! is none), [`engine_choice`] (cosets or lists of states), [`room`] (memory and disk space), [`new_run`] (the directory
//! of a run in this process), [`report_solutions`].

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod engine_choice;
pub mod new_run;
pub mod plan_search;
pub mod report_solutions;
pub mod room;
pub mod space_choice;

pub use engine_choice::{has_few_states, has_tiny_cosets};
pub use new_run::{Engine, NewRun};
pub use room::Room;
pub use space_choice::SpaceChoice;
