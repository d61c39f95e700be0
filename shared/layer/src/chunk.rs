//! Cosets on the wire: some of them after one another, compressed together with a checksum of zstd's. Those
//! of the cosets themselves were checked when they were read from the sender's file.
//!
//! Of each coset, little-endian: its number (4 bytes), encoding (1 byte, then 3 that are zero), number of
//! states (4), length of its canonical bytes (4), and these bytes.

use crate::Encoding;

/// A chunk is sent when it has so many bytes.
pub const CHUNK_BYTES: usize = 1 << 18;

/// No chunk is larger uncompressed: a full one and the largest coset that there can be.
pub const MOST_BYTES: usize = CHUNK_BYTES + (512 << 20);

/// Bytes before the data of each coset.
pub const HEADER_BYTES: usize = 16;

/// The links between nodes are faster than higher levels of compression.
const ZSTD_LEVEL: i32 = 1;

/// A coset of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coset<'a> {
    /// Its number among the representatives.
    pub number: u32,
    /// How its states are written down.
    pub encoding: Encoding,
    /// Their number.
    pub states: u32,
    /// They themselves.
    pub canonical: &'a [u8],
}

/// A chunk that is not what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chunk of cosets was damaged on its way: {0}")]
pub struct BadChunk(String);

/// Appends a coset to the bytes of a chunk.
pub fn push(bytes: &mut Vec<u8>, coset: Coset<'_>) {
    bytes.extend(coset.number.to_le_bytes());
    bytes.extend([coset.encoding as u8, 0, 0, 0]);
    bytes.extend(coset.states.to_le_bytes());
    bytes.extend((coset.canonical.len() as u32).to_le_bytes());
    bytes.extend_from_slice(coset.canonical);
}

/// Compresses chunks, and pieces of files, one after the other.
pub struct Compressor(zstd::bulk::Compressor<'static>);

impl Compressor {
    /// A compressor, with the memory that it needs.
    ///
    /// # Panics
    /// If there is none.
    pub fn new() -> Self {
        let mut compressor = zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("there is memory for zstd");
        compressor.include_checksum(true).expect("zstd knows checksums");
        Self(compressor)
    }

    /// Compresses bytes, with their checksum (XXH64, 32 bits of it: RFC 8878, section 3.1.1).
    ///
    /// # Panics
    /// If zstd has no memory.
    pub fn compress(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.compress(bytes).expect("there is memory for a chunk")
    }
}

impl Default for Compressor {
    fn default() -> Self {
        Self::new()
    }
}

/// Decompresses what has exactly so many bytes then, and checks it. Memory is taken as they come, whatever
/// the sender says.
///
/// # Errors
/// [`BadChunk`] if it is not what was compressed.
pub fn decompress(zstd: &[u8], length: usize) -> Result<Vec<u8>, BadChunk> {
    use std::io::Read;
    if length > MOST_BYTES {
        return Err(BadChunk(format!("it says that it has {length} bytes")));
    }
    let bad = |error: std::io::Error| BadChunk(format!("it does not decompress: {error}"));
    // One more, so that its end is seen, and with it the checksum.
    let mut bytes = Vec::with_capacity((length + 1).min(2 * CHUNK_BYTES));
    let decoder = zstd::stream::read::Decoder::with_buffer(zstd).map_err(bad)?;
    decoder.take(length as u64 + 1).read_to_end(&mut bytes).map_err(bad)?;
    if bytes.len() != length {
        return Err(BadChunk(format!("it has other than the {length} bytes that it says")));
    }
    Ok(bytes)
}

/// The cosets of a chunk that was unpacked.
pub fn cosets(mut bytes: &[u8]) -> impl Iterator<Item = Result<Coset<'_>, BadChunk>> {
    std::iter::from_fn(move || {
        if bytes.is_empty() {
            return None;
        }
        let first = first(bytes);
        bytes = first.as_ref().map_or(&[], |(_, rest)| rest);
        Some(first.map(|(coset, _)| coset))
    })
}

fn first(bytes: &[u8]) -> Result<(Coset<'_>, &[u8]), BadChunk> {
    let (header, rest) = bytes
        .split_first_chunk::<HEADER_BYTES>()
        .ok_or_else(|| BadChunk("it ends within a header".into()))?;
    let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let encoding = Encoding::from_byte(header[4])
        .ok_or_else(|| BadChunk(format!("there is no encoding {}", header[4])))?;
    let (canonical, rest) = rest
        .split_at_checked(number(12) as usize)
        .ok_or_else(|| BadChunk("it ends within a coset".into()))?;
    Ok((Coset { number: number(0), encoding, states: number(8), canonical }, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let mut bytes = Vec::new();
        push(&mut bytes, Coset { number: 7, encoding: Encoding::Empty, states: 0, canonical: &[] });
        push(&mut bytes, Coset { number: 9, encoding: Encoding::Dense, states: 3, canonical: &[7; 41] });
        bytes
    }

    #[test]
    fn what_is_compressed_is_decompressed() {
        let mut compressor = Compressor::new();
        compressor.compress(b"something before");
        let bytes = decompress(&compressor.compress(&sample()), sample().len()).unwrap();
        let cosets: Vec<Coset<'_>> = cosets(&bytes).collect::<Result<_, _>>().unwrap();
        assert_eq!(
            cosets.iter().map(|coset| (coset.number, coset.states)).collect::<Vec<_>>(),
            [(7, 0), (9, 3)]
        );
        assert_eq!(cosets[1].canonical, [7; 41]);
    }

    #[test]
    fn a_small_message_takes_little_memory_whatever_it_says() {
        let zstd = Compressor::new().compress(&vec![0; 100 << 20]);
        assert!(zstd.len() < 20_000);
        for length in [1000, MOST_BYTES, u32::MAX as usize] {
            assert!(decompress(&zstd, length).is_err());
        }
    }

    proptest! {
        /// Any bytes are cosets or an error, and never more than they are.
        #[test]
        fn nonsense_is_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let mut seen = 0;
            for coset in cosets(&bytes) {
                match coset {
                    Ok(coset) => seen += HEADER_BYTES + coset.canonical.len(),
                    Err(_) => break,
                }
            }
            prop_assert!(seen <= bytes.len());
        }

        #[test]
        fn damaged_chunks_are_refused(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let mut zstd = Compressor::new().compress(&sample());
            let at = at.index(zstd.len());
            zstd[at] ^= 1 << bit;
            // Bits of a zstd frame that say nothing of its contents may change.
            if let Ok(bytes) = decompress(&zstd, sample().len()) {
                prop_assert_eq!(bytes, sample());
            }
        }
    }
}
