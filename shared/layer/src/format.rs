//! The bytes of a layer file. `docs/format.md` describes them field by field.
//!
//! All numbers are little-endian. A file has a header of 256 bytes, a directory with a 56-byte entry for each
//! coset, the data of each coset at a multiple of 64, and at least 8 more bytes at the end, so that the last
//! row can be loaded as a word.

use crate::digest::Digest;
use crate::encoding::{Encoding, Tensor};

/// The first eight bytes.
pub const MAGIC: [u8; 8] = *b"FATHOMLY";
/// The version that is written, and the newest version that can be read.
pub const VERSION: u32 = 2;
/// The size of the header.
pub const HEADER_BYTES: usize = 256;
/// The size of a directory entry.
pub const ENTRY_BYTES: usize = 56;
/// The alignment of data in bytes.
pub const ALIGNMENT: u64 = 64;
/// The smallest number of bytes after the last data.
pub const SLACK_BYTES: u64 = 8;

/// The value of a number that was not counted.
const NOT_COUNTED: u64 = u64::MAX;

/// The offset of the header's own checksum.
const CHECKSUM_AT: usize = HEADER_BYTES - 32;

/// The identity of a layer file, which a reader knows before opening the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The fingerprint of the run.
    pub fingerprint: [u8; 32],
    /// The depth of the layer.
    pub depth: u32,
    /// The number of the shard.
    pub shard: u32,
    /// The first coset of the shard.
    pub first_coset: u32,
    /// The number of cosets of the shard.
    pub cosets: u32,
    /// The size of a packed tensor in bytes.
    pub packed_bytes: u32,
    /// Bits of a row of the tensor; a row takes whole bytes. The file does not contain this number.
    pub row_bits: u32,
}

impl Identity {
    /// Returns the shape of the cosets' tensors.
    pub fn tensor(&self) -> Tensor {
        Tensor { packed_bytes: self.packed_bytes, row_bits: self.row_bits }
    }
}

/// Sums over cosets, over a file, or over a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Totals {
    /// States in the stored representatives.
    pub stored: u64,
    /// States of the layer that the stored states represent.
    pub states: u64,
    /// Pairs of a symmetry and a state that it fixes; `None` if not counted.
    pub pairs: Option<u64>,
    /// Pairs of a symmetry and a state that it maps to its inverse; `None` if not counted.
    pub inverse_pairs: Option<u64>,
}

impl Default for Totals {
    /// Returns the totals of no states.
    fn default() -> Self {
        Self { stored: 0, states: 0, pairs: Some(0), inverse_pairs: Some(0) }
    }
}

impl std::ops::Add for Totals {
    type Output = Self;

    /// Adds the totals. A count that is missing in either operand is missing in the sum.
    fn add(self, other: Self) -> Self {
        Self {
            stored: self.stored + other.stored,
            states: self.states + other.states,
            pairs: self.pairs.zip(other.pairs).map(|(a, b)| a + b),
            inverse_pairs: self.inverse_pairs.zip(other.inverse_pairs).map(|(a, b)| a + b),
        }
    }
}

impl std::iter::Sum for Totals {
    fn sum<I: Iterator<Item = Self>>(parts: I) -> Self {
        parts.fold(Self::default(), std::ops::Add::add)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) identity: Identity,
    pub(crate) totals: Totals,
    pub(crate) file_bytes: u64,
    pub(crate) directory_checksum: Digest,
}

/// The reason why 256 bytes are not a valid header.
#[derive(Debug)]
pub(crate) enum BadHeader {
    Magic,
    Newer(u32),
    Damaged(String),
}

impl Header {
    pub(crate) fn to_bytes(&self) -> [u8; HEADER_BYTES] {
        let Identity { fingerprint, depth, shard, first_coset, cosets, packed_bytes, row_bits: _ } =
            &self.identity;
        let Totals { stored, states, pairs, inverse_pairs } = self.totals;
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, field: &[u8]| bytes[at..at + field.len()].copy_from_slice(field);
        put(0, &MAGIC);
        put(8, &VERSION.to_le_bytes());
        put(12, &(HEADER_BYTES as u32).to_le_bytes());
        put(16, fingerprint);
        for (at, number) in [(48, depth), (52, shard), (56, first_coset), (60, cosets), (64, packed_bytes)] {
            put(at, &number.to_le_bytes());
        }
        for (at, number) in [(72, stored), (80, states), (96, self.file_bytes)] {
            put(at, &number.to_le_bytes());
        }
        for (at, pairs) in [(88, pairs), (136, inverse_pairs)] {
            put(at, &pairs.unwrap_or(NOT_COUNTED).to_le_bytes());
        }
        put(104, &self.directory_checksum.0);
        let checksum = Digest::new(&bytes[..CHECKSUM_AT]);
        bytes[CHECKSUM_AT..].copy_from_slice(&checksum.0);
        bytes
    }

    /// Reads the header of a file whose tensors have rows of `row_bits` bits.
    pub(crate) fn from_bytes(bytes: &[u8; HEADER_BYTES], row_bits: u32) -> Result<Self, BadHeader> {
        if bytes[..8] != MAGIC {
            return Err(BadHeader::Magic);
        }
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        let u64_at = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let digest_at = |at: usize| Digest(bytes[at..at + 32].try_into().expect("32 bytes"));
        // The version comes first: a later version may checksum another part of the header.
        match u32_at(8) {
            VERSION => {}
            newer if newer > VERSION => {
                let mut usual = *bytes;
                usual[8..12].copy_from_slice(&VERSION.to_le_bytes());
                return Err(match Digest::new(&usual[..CHECKSUM_AT]) == digest_at(CHECKSUM_AT) {
                    true => BadHeader::Damaged(format!(
                        "format version {newer}, but the checksum of version {VERSION}"
                    )),
                    false => BadHeader::Newer(newer),
                });
            }
            older => {
                return Err(BadHeader::Damaged(format!("format version {older} is no longer supported")));
            }
        }
        let (got, expected) = (Digest::new(&bytes[..CHECKSUM_AT]), digest_at(CHECKSUM_AT));
        if got != expected {
            return Err(BadHeader::Damaged(format!("checksum {got}, expected {expected}")));
        }
        Ok(Self {
            identity: Identity {
                fingerprint: digest_at(16).0,
                depth: u32_at(48),
                shard: u32_at(52),
                first_coset: u32_at(56),
                cosets: u32_at(60),
                packed_bytes: u32_at(64),
                row_bits,
            },
            totals: Totals {
                stored: u64_at(72),
                states: u64_at(80),
                pairs: Some(u64_at(88)).filter(|&pairs| pairs != NOT_COUNTED),
                inverse_pairs: Some(u64_at(136)).filter(|&pairs| pairs != NOT_COUNTED),
            },
            file_bytes: u64_at(96),
            directory_checksum: digest_at(104),
        })
    }
}

/// The directory entry of one coset.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The offset of the data; 0 if there are none.
    pub(crate) offset: u64,
    /// Bytes of the data as stored.
    pub(crate) length: u32,
    /// States of the coset in this layer.
    pub(crate) states: u32,
    /// States of the coset in this layer and all before it.
    pub(crate) visited: u32,
    pub(crate) encoding: Encoding,
    /// The checksum of the canonical bytes: nothing, positions, or the packed tensor before compression.
    pub(crate) checksum: Digest,
}

impl Entry {
    pub(crate) fn to_bytes(&self) -> [u8; ENTRY_BYTES] {
        let mut bytes = [0; ENTRY_BYTES];
        bytes[0..8].copy_from_slice(&self.offset.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.length.to_le_bytes());
        bytes[12..16].copy_from_slice(&self.states.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.visited.to_le_bytes());
        bytes[20] = self.encoding as u8;
        bytes[24..56].copy_from_slice(&self.checksum.0);
        bytes
    }

    /// Reads an entry; `None` if the encoding is unknown.
    pub(crate) fn from_bytes(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let u32_at = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"));
        Some(Self {
            offset: u64::from_le_bytes(bytes[0..8].try_into().expect("eight bytes")),
            length: u32_at(8),
            states: u32_at(12),
            visited: u32_at(16),
            encoding: Encoding::from_byte(bytes[20])?,
            checksum: Digest(bytes[24..56].try_into().expect("32 bytes")),
        })
    }
}

/// Returns the least and the greatest size of a layer file of `cosets` cosets, of which `filled` have states.
pub fn file_bytes(cosets: u32, filled: u32, packed_bytes: u32) -> (u64, u64) {
    let empty = data_offset(cosets) + SLACK_BYTES;
    let filled = u64::from(filled);
    // The data of each coset begin at a multiple of the alignment.
    let largest = u64::from(packed_bytes).next_multiple_of(ALIGNMENT) + ALIGNMENT;
    (empty, empty + ALIGNMENT + filled * largest)
}

/// Returns the offset of the data after a directory of `cosets` entries.
pub(crate) fn data_offset(cosets: u32) -> u64 {
    (HEADER_BYTES as u64 + u64::from(cosets) * ENTRY_BYTES as u64).next_multiple_of(ALIGNMENT)
}
