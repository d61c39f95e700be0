//! The whole-system tests, and those tests of single crates from outside that wait more than they compute
//! (`journal`, `peers`, `proto`, `task`), as one program: it is linked once, and its tests share the
//! processors.
//!
//! `cargo test --release --test all solve::` runs those of one file.

mod architecture;
mod audit;
mod bad_input;
mod bench;
mod bound;
mod browser;
mod changed_files;
mod cluster;
mod cluster_faults;
mod cluster_lies;
mod cluster_memory;
mod cluster_network;
mod cluster_stores;
mod cluster_two_layers;
mod crashes;
mod dependencies;
mod docs;
mod fuzz;
mod generated;
mod golden;
mod group;
mod help;
mod hostile_files;
mod journal;
mod keys;
mod known_numbers;
mod limited_states;
mod many_cells;
mod names;
mod one_way;
mod page;
mod past_cache;
mod peers;
mod planted;
mod processes;
mod proto;
mod puzzles;
mod records;
mod replaced_files;
mod report;
mod same_results;
mod service;
mod shapes;
mod slurm;
mod solve;
mod stores;
mod task;
mod tasks;
mod two_layers;
mod verify;
mod watch;
mod watching;
