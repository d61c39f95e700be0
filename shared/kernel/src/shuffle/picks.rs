//! Rows of 65 to 2,048 bits of tensors with few rows: each bit of the target is picked from the source.
//!
//! For 32 bits of the target, the bytes of the source that have them are gathered by shuffles, one for each 16
//! bytes of the row. Which of them has the right byte depends on the upper half of the byte's number: each bit
//! of it halves the vectors. The bit of each byte is then tested, and the tests of 32 bytes are 32 bits of the
//! target.
//!
//! Cost of 32 bits of the target: two vector operations for each 16 bytes of a row, and a few.

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
    /// The source, from the row on.
    pub(super) packed: &'a [u8],
    pub(super) row_bytes: usize,
    pub(super) picks: &'a [Picks],
    pub(super) words: &'a mut [u64],
}

impl Work for Pick<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        // SAFETY: as the caller promises.
        unsafe {
            match self.row_bytes.div_ceil(LANE) {
                ..=2 => pick::<V, 2>(self),
                3..=4 => pick::<V, 4>(self),
                5..=8 => pick::<V, 8>(self),
                _ => pick::<V, 16>(self),
            }
        }
    }
}

/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn pick<V: Slot, const PIECES: usize>(work: Pick<'_>) {
    let Pick { packed, row_bytes, picks, words } = work;
    assert!(row_bytes <= PIECES * LANE && picks.len() <= 2 * words.len());
    let mut end = [0; MAX_BYTES];
    let row = if packed.len() >= PIECES * LANE {
        packed.as_ptr()
    } else {
        end[..packed.len()].copy_from_slice(packed);
        end.as_ptr()
    };
    for (number, Picks { bytes, bits, valid }) in picks.iter().enumerate() {
        // SAFETY: the pieces were compared with the source or with `end`, the arrays are as long as a vector,
        // and the caller promises the instructions.
        let (index, bits, mut pieces) = unsafe {
            let index = V::load(bytes.as_ptr());
            let low = index.and(V::splat(LANE as u8 - 1));
            let piece = |piece: usize| V::load_copies(row.add(piece * LANE)).shuffle(low);
            (index, V::load(bits.as_ptr()), std::array::from_fn::<V, PIECES, _>(piece))
        };
        let mut halve = |left: usize, by: V| {
            for piece in 0..left {
                pieces[piece] = pieces[2 * piece + 1].select(pieces[2 * piece], by);
            }
        };
        // The highest bit of each byte decides.
        halve(PIECES / 2, index.left::<3>());
        if PIECES >= 4 {
            halve(PIECES / 4, index.left::<2>());
        }
        if PIECES >= 8 {
            halve(PIECES / 8, index.left::<1>());
        }
        if PIECES >= 16 {
            halve(PIECES / 16, index);
        }
        let image = pieces[0].and(bits).equal(bits) & valid;
        words[number / 2] |= u64::from(image) << (number % 2 * BITS);
    }
}
