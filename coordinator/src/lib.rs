//! The coordinator of a run on many hosts.
//!
//! [`cluster`] decides which worker makes which shard, and commits layers. [`page`] shows a run in a browser.
//! [`log_text`] writes log lines for people, [`rate`] tells how fast counts grow, and
//! [`at_work`] which process works on a run. The commands that start and ask a coordinator are in `fathom/`.
//! Searches on one machine are in `fathom-engine`, solutions in `fathom-solve`, forecasts in
//! `fathom-forecast`, reports in `fathom-report`.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod at_work;
pub mod cluster;
pub mod log_text;
pub mod page;
pub mod rate;
