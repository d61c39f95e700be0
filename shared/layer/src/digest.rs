//! Digests that do not depend on shards, threads, kernels or encodings.
//!
//! The digests form a tree. The checksum of a coset is the BLAKE3 hash of its canonical bytes; the digest of
//! a layer hashes its depth and the checksums of all cosets in order; the digest of a run hashes the digests
//! of all layers in order. So each coset is hashed once, where it is computed, and a resumed run need not
//! read old layers again.

use std::fmt;
use std::str::FromStr;

/// A BLAKE3 hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Digest(pub [u8; 32]);

impl Digest {
    /// Returns the hash of `bytes`.
    pub fn new(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    /// Concatenates hashes, 32 bytes each.
    pub fn concatenated(digests: &[Self]) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(digests.len() * 32);
        digests.iter().for_each(|digest| bytes.extend_from_slice(&digest.0));
        bytes
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = ();

    /// Reads 64 hexadecimal digits.
    fn from_str(text: &str) -> Result<Self, ()> {
        blake3::Hash::from_hex(text).map(|hash| Self(*hash.as_bytes())).map_err(|_| ())
    }
}

/// The digest of a layer that is being computed. All its cosets must be added, in order.
#[derive(Debug)]
pub struct LayerDigest(blake3::Hasher);

impl LayerDigest {
    /// Starts the digest of the layer at a depth.
    pub fn new(depth: u32) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("fathom 2026 layer digest, version 1");
        hasher.update(&depth.to_le_bytes());
        Self(hasher)
    }

    /// Adds the checksums of the next cosets.
    pub fn add(&mut self, checksums: &[Digest]) {
        // BLAKE3 is faster on many blocks at once.
        for some in checksums.chunks(1024) {
            self.0.update(&Digest::concatenated(some));
        }
    }

    /// Returns the digest.
    pub fn finish(&self) -> Digest {
        Digest(*self.0.finalize().as_bytes())
    }
}

/// The digest of a run that grows by one layer at a time. The cost of adding a layer does not depend on the
/// depth.
#[derive(Clone, Debug)]
pub struct RunDigest(blake3::Hasher);

impl RunDigest {
    /// Starts the digest of a run without layers.
    pub fn new() -> Self {
        Self(blake3::Hasher::new_derive_key("fathom 2026 run digest, version 1"))
    }

    /// Adds the digest of the next layer, and returns the digest of the run up to that layer.
    pub fn add(&mut self, layer: &Digest) -> Digest {
        self.0.update(&layer.0);
        Digest(*self.0.finalize().as_bytes())
    }
}

impl Default for RunDigest {
    fn default() -> Self {
        Self::new()
    }
}

/// Returns the digest of a run up to some depth, from the digests of its layers in order.
pub fn run_digest<'a>(layers: impl IntoIterator<Item = &'a Digest>) -> Digest {
    let mut run = RunDigest::new();
    for layer in layers {
        run.0.update(&layer.0);
    }
    Digest(*run.0.finalize().as_bytes())
}
