//! The coordinator of a run on many hosts.
//!
//! [`cluster`] decides which worker computes which shard, and commits layers. [`feed`] shows it to a page,
//! which is in `fathom-page`. [`far_layers`] reads layers whose files are on workers.
//! The commands that start and query a coordinator are in `cli/`.
//! Searches on one machine and forecasts are in `fathom-engine`, solutions in `fathom-solve`, reports in
//! `fathom-report`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod cluster;
pub mod far_layers;
pub mod feed;
