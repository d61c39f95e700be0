//! Predicts how a search grows and how long it takes, on this machine and on clusters that need not be
//! available.
//!
//! Reading order: [`growth`] (how many states each depth has), [`expected_growth`] (how the growth of a run
//! continues), [`outlook`] (how long a running search still takes), [`mod@cluster`] (workers, and the shards
//! that they own), [`formula`] (what a run on a cluster needs). `docs/scaling.md` compares predictions with
//! real runs.

pub mod cluster;
pub mod expected_growth;
pub mod formula;
pub mod growth;
pub mod outlook;
pub mod rate;

pub use cluster::{Cluster, Owners};
pub use formula::Forecast;
