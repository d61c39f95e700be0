//! What a coordinator and its workers say to each other: tasks one way, reports the other.
//!
//! On one machine both live in one process and pass these values as they are.

mod cut;
mod task;

pub use cut::ShardCut;
pub use task::{Depth, ShardId, ShardReport, Task};
