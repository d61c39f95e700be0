//! Runs: what is asked, where it is kept, how it is searched, and what is reported. The binary is `fathom`.
//!
//! Reading order: [`directory`] (a run's directory: creation, lock, opening), [`journal`] (`run.db`: what is known of the
//! layers), [`merge`] (the barrier), [`search`] (depth by depth, in one process), [`cluster`] (on many hosts), [`watch`] (states
//! whose depths are noted), [`summary`] (results, as a table and as JSON), [`report`] (results to be shown to others), [`verify`],
//! [`estimate`] (what a run will need),
//! [`scaling`] (what it will need on several workers), [`rates`], [`progress`], [`known`] (God's numbers), [`tiles`] (states as people write them), [`elements`] (of a
//! puzzle's group), [`membership`] (why an element is not in a group), [`solve`] (shortest solutions, and classes of states). The commands
//! are in `main.rs` and `commands/`.
//!
//! Invariants: what searches adds up reports and never looks at the states of a layer; a layer counts when its row is
//! committed, and its files were durable before that; what is in the journal is never contradicted, only extended.

pub mod cluster;
pub mod directory;
pub mod elements;
pub mod estimate;
pub mod journal;
pub mod known;
pub mod membership;
pub mod merge;
pub mod progress;
pub mod rates;
pub mod report;
pub mod scaling;
pub mod search;
pub mod solve;
pub mod summary;
pub mod table;
pub mod tiles;
pub mod verify;
pub mod watch;
