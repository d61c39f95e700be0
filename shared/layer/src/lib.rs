//! Layer files: the states of one depth in one shard, immutable, checksummed, read through memory maps.
//!
//! Reading order: [`mod@format`] (the bytes; specified in `docs/format.md`), [`encoding`] (encodings of the
//! states of one coset), [`writer`], [`mod@file`] (reading), [`fetched_cosets`] (cosets from other workers),
//! [`chunk`] (cosets on the wire), [`disk`] (every change of the file system, as a trait in which tests
//! inject faults), `regular_file` (opens only regular files), [`batch_sync`] (delayed syncs), `limit` (a disk
//! with a limit), [`direct_io`] (writing and reading past the page cache), [`readahead`] and [`writeback`]
//! (reading and writing on other threads), [`map`] (memory maps, and the handling of disk faults under one),
//! [`mod@evict`] (eviction from memory), [`digest`].
//!
//! Invariants: a file that has its final name is complete, unless the power failed before it was durable,
//! which its checksums show; the bytes of a file are a function of the states only; data are checked before
//! they are used.

#![deny(clippy::print_stdout, clippy::print_stderr)]

pub mod batch_sync;
pub mod chunk;
pub mod digest;
pub mod direct_io;
pub mod disk;
pub mod encoding;
mod error;
pub mod evict;
pub mod fetched_cosets;
pub mod file;
pub mod format;
mod limit;
pub mod map;
pub mod readahead;
mod regular_file;
pub mod writeback;
pub mod writer;

pub use batch_sync::Deferred;
pub use digest::{Digest, LayerDigest, RunDigest, run_digest};
pub use direct_io::ReadOnce;
pub use disk::{
    Disk, DiskFile, LocalDisk, NullDisk, create_directory_durably, free_bytes, lay_apart, many_descriptors,
    tree_bytes,
};
pub use encoding::{Encoding, Tensor};
pub use error::LayerError;
pub use fetched_cosets::{Import, ImportMemory, Imports};
pub use file::{LayerFile, Stored};
pub use format::{Identity, Totals};
pub use limit::LimitedDisk;
pub use readahead::ReadAhead;
pub use regular_file::open_regular;
pub use writer::{LayerWriter, Ready, Written, archive};
