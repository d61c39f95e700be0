//! Rows of 65 to 2,048 bits of tensors with few rows: each bit of the target is picked from the source.
//!
//! For 32 bits of the target, the bytes of the source that have them are gathered by shuffles, one for each 16
//! bytes of the row. A shuffle yields zero for the bytes that are not among its own: these get an index with
//! the highest bit set. The bit of each byte is then tested, and the tests of 32 bytes are 32 bits of the
//! target.
//!
//! Cost of 32 bits of the target: four vector operations for each 16 bytes of a row, and three.

use super::vector::{LANE, Slot, Work};

/// The largest number of bytes of a row: the number of a byte is a byte.
pub(super) const MAX_BYTES: usize = 256;

/// The bits of the target that are picked together.
pub(super) const BITS: usize = 32;

/// The sources of 32 bits of the target: for each its byte, and a byte in which only the bit itself is set. A
/// bit without a source has no bit set.
#[derive(Clone, Copy, Debug)]
pub(super) struct Picks {
    bytes: [u8; BITS],
    bits: [u8; BITS],
    /// The bits that have a source.
    valid: u32,
}

impl Picks {
    /// Creates the picks after which bit j of a row is bit `from[j]` of the source.
    pub(super) fn of(from: &[u32]) -> Box<[Self]> {
        let of_bits = |from: &[u32]| {
            let valid = u32::MAX >> (BITS - from.len());
            let mut picks = Self { bytes: [0; BITS], bits: [0; BITS], valid };
            for (to, &from) in from.iter().enumerate() {
                (picks.bytes[to], picks.bits[to]) = ((from / 8) as u8, 1 << (from % 8));
            }
            picks
        };
        from.chunks(BITS).map(of_bits).collect()
    }
}

/// Adds a row with its bits permuted to another.
pub(super) struct Pick<'a> {
    pub(super) row: &'a [u8],
    pub(super) picks: &'a [Picks],
    pub(super) words: &'a mut [u64],
}

impl Work for Pick<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { row, picks, words } = self;
        let mut bytes = [0; MAX_BYTES];
        bytes[..row.len()].copy_from_slice(row);
        let pieces = &bytes.as_chunks::<LANE>().0[..row.len().div_ceil(LANE)];
        for (number, Picks { bytes, bits, valid }) in picks.iter().enumerate() {
            // SAFETY: the arrays have the bytes that are loaded, and the caller of `compiled` has promised the
            // instructions.
            let (index, bits, most) =
                unsafe { (V::load(bytes.as_ptr()), V::load(bits.as_ptr()), V::splat(0x70)) };
            let picked = pieces.iter().zip(0_u8..).map(|(piece, number)| {
                // SAFETY: as above.
                let (piece, start) =
                    unsafe { (V::load_copies(piece.as_ptr()), V::splat(number * LANE as u8)) };
                piece.shuffle(index.xor(start).plus(most))
            });
            let picked = picked.fold(bits.xor(bits), V::or);
            let image = picked.and(bits).equal(bits) & valid;
            words[number / 2] |= u64::from(image) << (number % 2 * BITS);
        }
    }
}
