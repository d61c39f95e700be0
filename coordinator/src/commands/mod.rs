//! One module a command: what is asked, to what is printed.

pub(crate) mod bench;
pub(crate) mod plan;
pub(crate) mod run;
pub(crate) mod status;
pub(crate) mod verify;

/// Bytes that the planner may give to tables: half of the memory, the rest is for the page cache.
fn table_memory() -> u64 {
    crate::arguments::memory_bytes() / 2
}
