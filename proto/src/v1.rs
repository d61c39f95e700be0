//! The messages and services of `proto/fathom/v1/fathom.proto`.

#![allow(missing_docs, unreachable_pub, clippy::doc_markdown)]

tonic::include_proto!("fathom.v1");

/// The version of the protocol. A coordinator refuses workers of another one.
pub const PROTOCOL_VERSION: u32 = 2;
