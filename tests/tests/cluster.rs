//! Runs on many hosts: coordinators, workers, their messages, and what shows them.

mod browser;
mod faults;
mod join_files;
mod keys;
mod lies;
mod memory;
mod network;
mod operators;
mod page;
mod peers;
mod proto;
mod runs;
mod service;
mod shared_stores;
mod slurm;
mod two_layers;
mod watching;
