//! Cosets on the wire: several in a row, compressed together with a checksum by zstd, or uncompressed if
//! compression saves nothing. The checksums of the cosets were checked when the sender read its file.
//!
//! Each coset consists of, little-endian: its number (4 bytes), encoding (1 byte, then 3 zero bytes), number
//! of states (4), length of its canonical bytes (4), and these bytes.

use crate::Encoding;
use std::borrow::Cow;
use std::cell::RefCell;

/// The size, before compression, at which a chunk is sent.
pub const CHUNK_BYTES: usize = 1 << 18;

/// The largest size of an uncompressed chunk: a full chunk and the largest possible coset.
pub const MAX_BYTES: usize = CHUNK_BYTES + (512 << 20);

/// Bytes before the data of each coset.
pub const HEADER_BYTES: usize = 16;

/// A low level, because the links between nodes are faster than higher levels of compression.
const ZSTD_LEVEL: i32 = 1;

/// The number of chunks that are sent uncompressed after one that does not compress.
const PLAIN_CHUNKS: u32 = 7;

/// Returns on how many of the `bytes` of an incompressible answer compression is tried: the first of every
/// eight chunks, and all of a short answer.
pub fn tried_bytes(bytes: f64) -> f64 {
    let chunk = CHUNK_BYTES as f64;
    bytes.min((bytes / (chunk * f64::from(PLAIN_CHUNKS + 1))).ceil() * chunk)
}

/// A coset of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coset<'a> {
    /// The number of the coset among the representatives.
    pub number: u32,
    /// The encoding of `canonical`.
    pub encoding: Encoding,
    /// The number of states.
    pub states: u32,
    /// The canonical bytes.
    pub canonical: &'a [u8],
}

/// The error for a chunk that differs from what was sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a chunk of cosets was damaged in transit: {0}")]
pub struct BadChunk(String);

/// Appends a coset to the bytes of a chunk.
pub fn push(bytes: &mut Vec<u8>, coset: Coset<'_>) {
    bytes.extend(coset.number.to_le_bytes());
    bytes.extend([coset.encoding as u8, 0, 0, 0]);
    bytes.extend(coset.states.to_le_bytes());
    bytes.extend((coset.canonical.len() as u32).to_le_bytes());
    bytes.extend_from_slice(coset.canonical);
}

/// Compresses chunks and pieces of files, in sequence.
pub struct Compressor {
    zstd: zstd::bulk::Compressor<'static>,
    /// The number of chunks that are sent uncompressed before compression is tried again.
    plain: u32,
}

/// The bytes of a chunk, or of a piece of a file, as they are sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Packed {
    /// Compressed.
    Zstd(Vec<u8>),
    /// Uncompressed.
    Plain(Vec<u8>),
}

impl Compressor {
    /// Creates a compressor, with the memory that zstd needs.
    ///
    /// # Panics
    /// If zstd cannot allocate memory.
    pub fn new() -> Self {
        let mut zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).expect("there is memory for zstd");
        zstd.include_checksum(true).expect("zstd knows checksums");
        Self { zstd, plain: 0 }
    }

    /// Compresses bytes if it is worthwhile. Cosets with half of their bits set, as in the largest layers, do
    /// not compress, and zstd then costs both sides more time than anything else except the copies of the
    /// kernel. So after bytes that zstd shortens by less than 1/32, the next seven chunks are sent
    /// uncompressed.
    ///
    /// # Panics
    /// If zstd cannot allocate memory.
    pub fn pack(&mut self, bytes: Vec<u8>) -> Packed {
        if self.plain > 0 {
            self.plain -= 1;
            return Packed::Plain(bytes);
        }
        let compressed = self.compress(&bytes);
        if pays(compressed.len(), bytes.len()) {
            return Packed::Zstd(compressed);
        }
        // The last chunk of an answer, which may be short, says little about others.
        if bytes.len() >= CHUNK_BYTES {
            self.plain = PLAIN_CHUNKS;
        }
        Packed::Plain(bytes)
    }

    /// Compresses bytes, and adds their checksum (32 bits of XXH64: RFC 8878, section 3.1.1).
    ///
    /// # Panics
    /// If zstd cannot allocate memory.
    pub fn compress(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.zstd.compress(bytes).expect("there is memory for a chunk")
    }
}

/// Returns whether bytes are sent compressed, if zstd compresses `plain` bytes to `compressed` bytes.
pub fn pays(compressed: usize, plain: usize) -> bool {
    compressed < plain - plain / 32
}

impl Default for Compressor {
    fn default() -> Self {
        Self::new()
    }
}

/// The largest size for which memory is allocated in advance, whatever the compressed bytes are.
const SMALL_BYTES: usize = 2 * CHUNK_BYTES;

thread_local! {
    /// Reused for each chunk, because preparing zstd's memory takes longer than decompressing a small chunk.
    static DECOMPRESSOR: RefCell<zstd::bulk::Decompressor<'static>> =
        RefCell::new(zstd::bulk::Decompressor::new().expect("there is memory for zstd"));
}

/// Decompresses bytes, and checks the checksum. The result must have exactly `length` bytes. Memory for a
/// large result is allocated as the bytes are decompressed, so that a wrong `length` costs little.
///
/// # Errors
/// [`BadChunk`] if the bytes are damaged, or the result has another length.
pub fn decompress(zstd: &[u8], length: usize) -> Result<Vec<u8>, BadChunk> {
    use std::io::Read;
    if length > MAX_BYTES {
        return Err(BadChunk(format!("it claims {length} bytes, which is too long")));
    }
    let bad = |error: std::io::Error| BadChunk(format!("decompression failed: {error}"));
    let bytes = if length <= SMALL_BYTES {
        DECOMPRESSOR.with_borrow_mut(|decompressor| decompressor.decompress(zstd, length)).map_err(bad)?
    } else {
        // One byte more, so that the decoder reads the end, and with it the checksum.
        let mut bytes = Vec::with_capacity(SMALL_BYTES);
        let decoder = zstd::stream::read::Decoder::with_buffer(zstd).map_err(bad)?;
        decoder.take(length as u64 + 1).read_to_end(&mut bytes).map_err(bad)?;
        bytes
    };
    if bytes.len() != length {
        return Err(BadChunk(format!("it does not have the {length} bytes that it claims")));
    }
    Ok(bytes)
}

/// Returns the bytes of a chunk or of a piece of a file: the `plain` ones if there are any, otherwise the
/// decompressed `zstd`. The result has exactly `length` bytes.
///
/// # Errors
/// [`BadChunk`] if the bytes are damaged, or the result has another length.
pub fn unpack<'a>(zstd: &[u8], plain: &'a [u8], length: usize) -> Result<Cow<'a, [u8]>, BadChunk> {
    match plain.len() {
        0 => decompress(zstd, length).map(Cow::Owned),
        plain_length if plain_length == length => Ok(Cow::Borrowed(plain)),
        _ => Err(BadChunk(format!("it does not have the {length} bytes that it claims"))),
    }
}

/// Iterates over the cosets of an unpacked chunk.
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
        .ok_or_else(|| BadChunk("it ends in the middle of a header".into()))?;
    let number = |at: usize| u32::from_le_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let encoding =
        Encoding::from_byte(header[4]).ok_or_else(|| BadChunk(format!("unknown encoding {}", header[4])))?;
    let (canonical, rest) = rest
        .split_at_checked(number(12) as usize)
        .ok_or_else(|| BadChunk("it ends in the middle of a coset".into()))?;
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
    fn compression_round_trips() {
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

    fn unpacked(packed: &Packed, length: usize) -> Result<Vec<u8>, BadChunk> {
        match packed {
            Packed::Zstd(zstd) => unpack(zstd, &[], length),
            Packed::Plain(plain) => unpack(&[], plain, length),
        }
        .map(Cow::into_owned)
    }

    /// Returns a chunk of pseudo-random bits: checksums of numbers.
    fn noise() -> Vec<u8> {
        let checksum = |number: u32| crate::Digest::new(&number.to_le_bytes()).0;
        (0..CHUNK_BYTES as u32 / 32).flat_map(checksum).collect()
    }

    /// Random bits are sent uncompressed, and so are the seven chunks after them, whatever their contents.
    #[test]
    fn incompressible_chunks_are_sent_plain() {
        let noise = noise();
        let sparse: Vec<u8> = noise.iter().map(|byte| u8::from(byte % 8 == 0)).collect();
        let mut compressor = Compressor::new();
        let mut is_plain = |bytes: &Vec<u8>| {
            let packed = compressor.pack(bytes.clone());
            assert!(unpacked(&packed, bytes.len()).unwrap() == *bytes);
            for wrong in [bytes.len() - 1, bytes.len() + 1] {
                assert!(unpacked(&packed, wrong).is_err());
            }
            matches!(packed, Packed::Plain(_))
        };
        assert!(!is_plain(&sparse) && is_plain(&noise));
        assert!((0..PLAIN_CHUNKS).all(|_| is_plain(&sparse)));
        assert!(!is_plain(&sparse));
        // After a short chunk that does not compress, the next chunk is tried again.
        assert!(is_plain(&noise[..100].to_vec()) && !is_plain(&sparse));
    }

    /// For an answer of noise, the number of tried chunks is the predicted one.
    #[test]
    fn tried_chunks_are_counted() {
        let noise = noise();
        for chunks in [1, 7, 8, 9, 17] {
            let mut compressor = Compressor::new();
            let mut tried = 0;
            for _ in 0..chunks {
                tried += u32::from(compressor.plain == 0);
                assert!(matches!(compressor.pack(noise.clone()), Packed::Plain(_)));
            }
            let bytes = f64::from(chunks) * CHUNK_BYTES as f64;
            assert_eq!(tried_bytes(bytes), f64::from(tried) * CHUNK_BYTES as f64, "{chunks} chunks");
        }
        assert_eq!(tried_bytes(100.0), 100.0);
    }

    #[test]
    fn small_message_cannot_claim_much_memory() {
        let zstd = Compressor::new().compress(&vec![0; 100 << 20]);
        assert!(zstd.len() < 20_000);
        for length in [1000, SMALL_BYTES, MAX_BYTES, u32::MAX as usize] {
            assert!(decompress(&zstd, length).is_err());
        }
    }

    #[test]
    fn chunks_of_all_sizes_are_decompressed() {
        for length in [0, 1, SMALL_BYTES - 1, SMALL_BYTES, SMALL_BYTES + 1, 3 * SMALL_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|i| ((i * i) >> 7) as u8).collect();
            let zstd = Compressor::new().compress(&bytes);
            assert!(decompress(&zstd, length).unwrap() == bytes, "{length}");
            for wrong in [length.wrapping_sub(1), length + 1] {
                assert!(decompress(&zstd, wrong).is_err(), "{length}");
            }
        }
    }

    proptest! {
        /// Any bytes are cosets or an error, and the cosets are never longer than the bytes.
        #[test]
        fn arbitrary_bytes_decode_within_bounds(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
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
        fn damaged_chunks_are_rejected(at in any::<prop::sample::Index>(), bit in 0..8_u8) {
            let mut zstd = Compressor::new().compress(&sample());
            let at = at.index(zstd.len());
            zstd[at] ^= 1 << bit;
            // A change of bits that do not affect the contents of a zstd frame may go unnoticed.
            if let Ok(bytes) = decompress(&zstd, sample().len()) {
                prop_assert_eq!(bytes, sample());
            }
        }
    }
}
