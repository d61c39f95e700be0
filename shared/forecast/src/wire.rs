//! The bytes that a coset takes in a layer file and between workers.

use fathom_layer::Stored;
use fathom_layer::chunk::{self, Compressor};
use fathom_layer::encoding::Encoding;
use fathom_space::Shape;

/// The approximate size of a chunk of cosets before compression, in bytes.
pub const CHUNK_BYTES: u64 = fathom_layer::chunk::CHUNK_BYTES as u64;

/// Bytes of a chunk besides its data: its length and frames.
pub const CHUNK_OVERHEAD_BYTES: u64 = 32;

/// Bytes of the header of a coset in a chunk: its number, encoding, states, and the length of its data.
pub const COSET_HEADER_BYTES: u64 = fathom_layer::chunk::HEADER_BYTES as u64;

/// Compressed bytes of the header of a coset without states: only its number differs from the header before.
const EMPTY_HEADER: f64 = 1.03;

/// Compressed bytes that the header of a coset with states takes in addition.
const FULLER_HEADER: f64 = 3.5;

/// Compressed bytes per byte of random tensors, by the share of bits that are set, at level 1 in chunks. Down
/// to one bit in eight the ratio is the entropy; below that, codes of at least one bit a byte cost up to 1.8
/// times the entropy.
const DENSE: [(f64, f64); 9] = [
    (1.0 / 256.0, 0.068),
    (1.0 / 128.0, 0.119),
    (1.0 / 64.0, 0.195),
    (1.0 / 32.0, 0.290),
    (1.0 / 16.0, 0.402),
    (1.0 / 8.0, 0.564),
    (1.0 / 4.0, 0.817),
    (0.35, 0.940),
    (0.5, 1.0),
];

/// Compressed bytes of a position, by the binary logarithm of the bits of a coset. A position has four bytes
/// before compression: the upper bytes are mostly equal or zero, and the others random.
const POSITION: [(f64, f64); 3] = [(13.8, 2.5), (18.3, 2.95), (28.5, 3.6)];

/// Returns the bytes of a coset with `states` states, in a layer file or in a chunk before compression.
/// `states` may be a mean, also one below 1.
pub fn data_bytes(states: f64, shape: &Shape) -> f64 {
    match is_sparse(states, shape) {
        true => states * 4.0,
        false => f64::from(shape.packed_bytes()),
    }
}

/// Returns whether a coset with `states` states is stored as a list of positions, or not at all.
pub fn is_sparse(states: f64, shape: &Shape) -> bool {
    Encoding::of(states.ceil() as u32, shape.packed_bytes()) != Encoding::Dense
}

/// Returns the compressed bytes of a coset with `states` states at random positions, with its header.
pub fn random_bytes(states: f64, shape: &Shape) -> f64 {
    let bits = shape.bits() as f64;
    if is_sparse(states, shape) {
        let is_empty = (-states).exp();
        return EMPTY_HEADER
            + (1.0 - is_empty) * FULLER_HEADER
            + states * between(&POSITION, (f64::from(shape.packed_bytes()) * 8.0).log2());
    }
    let share = (states / bits).clamp(0.0, 1.0);
    // Ones and zeros compress alike.
    let share = share.min(1.0 - share).max(1.0 / bits);
    let table = DENSE.map(|(share, ratio)| (share.log2(), ratio));
    // Below the table the tensor compresses like a list of positions: the bytes are proportional to the bits
    // that are set.
    let ratio =
        if share < DENSE[0].0 { share / DENSE[0].0 * DENSE[0].1 } else { between(&table, share.log2()) };
    EMPTY_HEADER + FULLER_HEADER + ratio * bits / 8.0
}

/// Interpolates linearly between the points of a table. Constant outside of it.
fn between(table: &[(f64, f64)], at: f64) -> f64 {
    let above = table.iter().position(|&(x, _)| at < x).unwrap_or(table.len());
    match above {
        0 => table[0].1,
        _ if above == table.len() => table[above - 1].1,
        _ => {
            let ((a, low), (b, high)) = (table[above - 1], table[above]);
            low + (high - low) * (at - a) / (b - a)
        }
    }
}

/// The cosets of a shard as they would be sent, all in one stream. The compressed bytes of a chunk are
/// divided among its cosets in proportion to their lengths.
#[derive(Default)]
pub struct Stream {
    compressor: Compressor,
    chunk: Vec<u8>,
    lengths: Vec<usize>,
    compressed: Vec<f64>,
}

impl Stream {
    /// Appends a coset, with its data in a layer file.
    pub fn push(&mut self, coset: u32, states: u32, stored: &Stored<'_>, shape: &Shape) {
        let before = self.chunk.len();
        let packed;
        let data: &[u8] = match stored {
            Stored::Empty => &[],
            Stored::Sparse(positions) => positions,
            Stored::Dense(bytes) => &bytes[..shape.packed_bytes() as usize],
            Stored::Decompressed(bytes) => {
                packed = bytes;
                &packed[..shape.packed_bytes() as usize]
            }
        };
        for field in [coset, Encoding::of(states, shape.packed_bytes()) as u32, states, data.len() as u32] {
            self.chunk.extend(field.to_le_bytes());
        }
        self.chunk.extend(data);
        self.lengths.push(self.chunk.len() - before);
        if self.chunk.len() as u64 >= CHUNK_BYTES {
            self.end_chunk();
        }
    }

    fn end_chunk(&mut self) {
        if self.chunk.is_empty() {
            return;
        }
        let (compressed, plain) = (self.compressor.compress(&self.chunk).len(), self.chunk.len());
        let ratio = if chunk::pays(compressed, plain) { compressed as f64 / plain as f64 } else { 1.0 };
        self.compressed.extend(self.lengths.drain(..).map(|length| length as f64 * ratio));
        self.chunk.clear();
    }

    /// Returns the compressed bytes of each coset, in order.
    pub fn finish(mut self) -> Vec<f64> {
        self.end_chunk();
        self.compressed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_what_zstd_does_to_random_cosets() {
        // Xorshift64* (Vigna, 2016).
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move || {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1_u64 << 53) as f64
        };
        for (axes, shares) in [
            (&[24, 24, 24, 24][..], &[2e-5, 2e-4, 2e-3, 0.005, 0.01, 0.04, 0.1, 0.3, 0.5, 0.8, 0.97][..]),
            (&[24, 24, 24], &[2e-4, 2e-3, 0.01, 0.1, 0.4]),
            (&[720, 720], &[2e-4, 2e-3, 0.01, 0.1, 0.4]),
        ] {
            let shape = Shape::new(axes).unwrap();
            for &share in shares {
                let (mut stream, mut expected) = (Stream::default(), 0.0);
                for coset in 0..(2 << 20) / shape.packed_bytes() {
                    let bits: Vec<bool> = (0..shape.packed_bytes() * 8).map(|_| random() < share).collect();
                    let packed: Vec<u8> = bits
                        .chunks(8)
                        .map(|byte| byte.iter().rev().fold(0, |byte, &bit| byte << 1 | u8::from(bit)))
                        .collect();
                    let states = bits.iter().filter(|bit| **bit).count() as u32;
                    let mut positions = Vec::new();
                    fathom_layer::encoding::positions(&packed, &mut positions);
                    let stored = match Encoding::of(states, shape.packed_bytes()) {
                        Encoding::Empty => Stored::Empty,
                        Encoding::Sparse => Stored::Sparse(&positions),
                        _ => Stored::Dense(&packed),
                    };
                    stream.push(coset, states, &stored, &shape);
                    expected += random_bytes(f64::from(states), &shape);
                }
                let got: f64 = stream.finish().iter().sum();
                assert!((expected / got - 1.0).abs() < 0.15, "{axes:?} {share}: {expected}, not {got}");
            }
        }
    }
}
