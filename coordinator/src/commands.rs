//! One module a command: what is asked, to what is printed.

pub(crate) mod antipodes;
pub(crate) mod audit;
pub(crate) mod begin;
pub(crate) mod bench;
pub(crate) mod bound;
pub(crate) mod client;
pub(crate) mod convert;
pub(crate) mod group;
pub(crate) mod keys;
pub(crate) mod local;
pub(crate) mod logs;
pub(crate) mod merge;
pub(crate) mod page;
pub(crate) mod plan;
pub(crate) mod planning;
pub(crate) mod progress;
pub(crate) mod puzzles;
pub(crate) mod report;
pub(crate) mod result;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod served;
pub(crate) mod solve;
pub(crate) mod status;
pub(crate) mod verify;
