//! The whole-system tests, and those tests of single crates from outside that wait more than they compute
//! (`journal`, `peers`, `proto`, `task`), as one program: it is linked once, and its tests share the
//! processors.
//!
//! `cargo test --release --test all solve::` runs the tests of one file.

mod cluster;
mod command_line;
mod machine;
mod repository;
