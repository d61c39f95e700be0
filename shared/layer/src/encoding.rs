//! Encodings of the states of one coset.
//!
//! The states of a coset are a packed tensor of `packed_bytes` bytes; bit `p % 8` of byte `p / 8` represents
//! position `p`. The encoding in a new layer depends only on the number of states, so equal states have equal
//! bytes, and the checksum of those bytes identifies the states.

/// A coset with at least this many bits per state is stored as a list of positions, and other cosets as
/// packed tensors.
pub const SPARSE_BITS: u64 = 256;

/// The shape of a run's packed tensors: rows of whole bytes, padded with zero bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// Size of a packed tensor in bytes.
    pub packed_bytes: u32,
    /// Bits of a row, without padding.
    pub row_bits: u32,
}

impl Tensor {
    /// Returns the bits from one row to the next.
    fn row_stride(self) -> u32 {
        self.row_bits.div_ceil(8) * 8
    }

    /// Returns whether rows have padding bits.
    fn has_padding(self) -> bool {
        self.row_bits < self.row_stride()
    }

    /// Returns whether a position is inside the tensor and not in the padding.
    pub fn has(self, position: u32) -> bool {
        u64::from(position) < u64::from(self.packed_bytes) * 8 && position % self.row_stride() < self.row_bits
    }

    /// Returns whether all padding bits of a packed tensor are zero.
    fn has_no_bit_behind_a_row(self, packed: &[u8]) -> bool {
        let row_bytes = self.row_stride() as usize / 8;
        // All rows are ORed before the test, because a violation is not expected.
        let last = packed.chunks_exact(row_bytes).fold(0, |all, row| all | row[row_bytes - 1]);
        last >> (8 - (self.row_stride() - self.row_bits)) == 0
    }
}

/// The encoding of a coset's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Encoding {
    /// No states, no data.
    Empty = 0,
    /// Positions in increasing order, 32 bits each, little-endian.
    Sparse = 1,
    /// The packed tensor.
    Dense = 2,
    /// The packed tensor, compressed with zstd. Used for archived layers.
    DenseZstd = 3,
}

impl Encoding {
    /// Returns the encoding with this number, if there is one.
    pub fn from_byte(byte: u8) -> Option<Self> {
        [Self::Empty, Self::Sparse, Self::Dense, Self::DenseZstd].into_iter().find(|e| *e as u8 == byte)
    }

    /// Checks that canonical bytes are those of a coset with `states` states, all of them at valid positions.
    /// Later readers rely on this: a kernel uses a position as an index without checking it.
    ///
    /// # Errors
    /// A description of the contradiction.
    pub fn check(self, canonical: &[u8], states: u32, tensor: Tensor) -> Result<(), String> {
        let packed_bytes = tensor.packed_bytes;
        let (right_length, found) = match self {
            Self::Empty => (canonical.is_empty(), 0),
            Self::Sparse => (canonical.len().is_multiple_of(4), canonical.len() as u64 / 4),
            Self::Dense | Self::DenseZstd => (canonical.len() == packed_bytes as usize, count(canonical)),
        };
        if !right_length {
            return Err(format!(
                "{} bytes is not a valid length for a coset of {packed_bytes} packed bytes",
                canonical.len()
            ));
        }
        if self == Self::Sparse {
            let positions = canonical.as_chunks().0.iter().map(|&position| u32::from_le_bytes(position));
            let within = u64::from(packed_bytes) * 8;
            if !positions.clone().is_sorted_by(|a, b| a < b)
                || positions.clone().next_back().is_some_and(|position| u64::from(position) >= within)
            {
                return Err("its positions are out of order or out of range".into());
            }
        }
        let behind_a_row = match self {
            _ if !tensor.has_padding() => false,
            Self::Empty => false,
            Self::Sparse => {
                let positions = canonical.as_chunks().0.iter().map(|&position| u32::from_le_bytes(position));
                positions.into_iter().any(|position| !tensor.has(position))
            }
            Self::Dense | Self::DenseZstd => !tensor.has_no_bit_behind_a_row(canonical),
        };
        if behind_a_row {
            return Err(format!("it has a state beyond the end of a row of {} bits", tensor.row_bits));
        }
        if found != u64::from(states) {
            return Err(format!("it has {found} states, but its entry says {states}"));
        }
        Ok(())
    }

    /// Returns the encoding of a coset with `states` states in a new layer. At [`SPARSE_BITS`] bits per
    /// state, a list of positions has an eighth of the size of the packed tensor, and mapping its states one
    /// by one takes about as long as a dense pull.
    pub fn new(states: u32, packed_bytes: u32) -> Self {
        match states {
            0 => Self::Empty,
            _ if u64::from(states) * SPARSE_BITS <= u64::from(packed_bytes) * 8 => Self::Sparse,
            _ => Self::Dense,
        }
    }
}

/// Appends the positions of the set bits of a packed tensor, as in [`Encoding::Sparse`].
pub fn positions(packed: &[u8], into: &mut Vec<u8>) {
    for (at, chunk) in packed.chunks(8).enumerate() {
        let mut bytes = [0; 8];
        bytes[..chunk.len()].copy_from_slice(chunk);
        let mut bits = u64::from_le_bytes(bytes);
        while bits != 0 {
            let position = at as u32 * 64 + bits.trailing_zeros();
            into.extend(position.to_le_bytes());
            bits &= bits - 1;
        }
    }
}

/// Returns the number of set bits.
pub fn count(packed: &[u8]) -> u64 {
    let (words, rest) = packed.as_chunks::<8>();
    let whole: u64 = words.iter().map(|&word| u64::from(u64::from_le_bytes(word).count_ones())).sum();
    whole + rest.iter().map(|byte| u64::from(byte.count_ones())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn positions_list_set_bits_in_order(packed in proptest::collection::vec(any::<u8>(), 0..40)) {
            let mut listed = Vec::new();
            positions(&packed, &mut listed);
            let expected: Vec<u8> = (0..packed.len() as u32 * 8)
                .filter(|&p| packed[p as usize / 8] >> (p % 8) & 1 == 1)
                .flat_map(u32::to_le_bytes)
                .collect();
            prop_assert_eq!(count(&packed), listed.len() as u64 / 4);
            prop_assert_eq!(listed, expected);
        }
    }

    #[test]
    fn encoding_depends_on_state_count() {
        assert_eq!(Encoding::new(0, 41_472), Encoding::Empty);
        assert_eq!(Encoding::new(1_296, 41_472), Encoding::Sparse);
        assert_eq!(Encoding::new(1_297, 41_472), Encoding::Dense);
        assert_eq!(Encoding::new(1, 27), Encoding::Dense);
    }
}
