//! The files of a run by lists: their paths and what the journal says of them.

use crate::run::{Depth, ShardId, ShardReport, Task};
use crate::task::Store;
use fathom_layer::Totals;
use fathom_lists::{Key, ListFile, Written, next_layer};
use std::path::PathBuf;

/// Returns the path of the file of a shard.
pub(crate) fn list_path(store: &Store<'_>, depth: Depth, shard: ShardId) -> PathBuf {
    next_layer::path(&store.directory_of(depth), shard.0)
}

/// Returns the report of a file.
pub(crate) fn report<K: Key>(depth: Depth, shard: ShardId, file: &ListFile<K>) -> ShardReport {
    made(depth, shard, &file.written())
}

/// Returns the report of a file that was written.
pub(crate) fn made(depth: Depth, shard: ShardId, written: &Written) -> ShardReport {
    let &Written { states, bytes, digest } = written;
    ShardReport {
        task: Task { depth, shard },
        totals: Totals { stored: states, states, pairs: None, inverse_pairs: None },
        bytes,
        checksums: vec![digest],
        watched: Vec::new(),
    }
}
