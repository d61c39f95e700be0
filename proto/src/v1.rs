//! The messages and services of `proto/fathom/v1/fathom.proto`.
//!
//! The code is generated and committed, so that building Fathom needs no generator;
//! `tests/tests/repository/generated.rs` checks that the code is current.

#![allow(missing_docs, unreachable_pub, clippy::doc_markdown, rustdoc::all)]

include!("v1/generated.rs");

/// The version of the protocol. A coordinator refuses workers of another version.
pub const PROTOCOL_VERSION: u32 = 6;
