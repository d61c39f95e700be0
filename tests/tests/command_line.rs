//! What commands read, print and refuse.

mod answers;
mod bad_input;
mod bench;
mod bound;
mod group;
mod help;
mod hostile_files;
mod move_names;
mod names;
mod phases;
mod pocket_cube;
pub(crate) mod puzzles;
mod report;
mod shapes;
mod solve;
mod states;
mod stickers;
mod tokens;
