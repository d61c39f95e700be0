//! Squares of 64 x 64 bits, transposed in registers.
//!
//! Register r of eight has the rows 8 g + r, for four or all of the groups g: each byte has bits of one row
//! and one group. Exchanges between registers transpose the squares of 8 x 8 bits of all bytes
//! (`exchange::transposed`). Then register b has the columns 8 c + b, and the bytes of a column are
//! brought together by interleaving.

use super::exchange::transposed;
use super::vector::{Slot, Vector};

/// Rows, columns and words of a square.
pub(super) const SIZE: usize = 64;

/// The words of a transposed square, in the order of [`place`].
#[derive(Clone, Debug)]
#[repr(align(64))]
pub(super) struct Square(pub(super) [u64; SIZE]);

impl Default for Square {
    fn default() -> Self {
        Self([0; SIZE])
    }
}

/// The index of each column's word in a [`Square`].
pub(super) static PLACES: [u8; SIZE] = {
    let mut places = [0; SIZE];
    let mut column = 0;
    while column < SIZE {
        places[column] = place(column) as u8;
        column += 1;
    }
    places
};

/// Returns the index of a column's word in a [`Square`].
pub(super) const fn place(column: usize) -> usize {
    let (group, bit) = (column / 8, column % 8);
    8 * bit + group / 2 % 2 * 4 + group / 4 * 2 + group % 2
}

/// Transposes the square whose rows are the words at these offsets: bit r of the word of column c is bit c of
/// row r.
///
/// # Safety
/// All words must be readable, and the processor must have the instructions.
#[inline(always)]
pub(super) unsafe fn transpose<V: Slot>(from: *const u8, rows: &[u32; SIZE], square: &mut Square) {
    // SAFETY: as the caller promises.
    unsafe {
        let mut halves = [[V::splat(0); 8]; 2];
        for (half, registers) in halves.iter_mut().enumerate() {
            for (number, register) in registers.iter_mut().enumerate() {
                let row = |group: usize| from.add(rows[8 * group + number] as usize);
                let first = 2 * half;
                *register = V::load_words([row(first), row(first + 1), row(first + 4), row(first + 5)]);
            }
            *registers = transposed(*registers);
        }
        let to = square.0.as_mut_ptr().cast::<u8>();
        let [first, second] = halves;
        for (number, (a, b)) in first.into_iter().zip(second).enumerate() {
            let [low, high] = columns(a, b);
            low.store(to.add(SIZE * number));
            high.store(to.add(SIZE * number + <V as Vector>::BYTES));
        }
    }
}

/// Brings the bytes of columns together: `a` has eight bytes each of the groups 0, 1, 4 and 5, and `b` of the
/// groups 2, 3, 6 and 7. Returns the words of the columns 0, 1, 4 and 5, and of the columns 2, 3, 6 and 7.
#[inline(always)]
fn columns<V: Slot>(a: V, b: V) -> [V; 2] {
    let (a, b) = (a.interleave_low::<1>(b), a.interleave_high::<1>(b));
    // Four bytes of each column: of the groups 0 to 3 in the first lane, and 4 to 7 in the second.
    let (a, b) = (a.interleave_low::<1>(b), a.interleave_high::<1>(b));
    let (lower, upper) = (a.first_lanes(b), a.second_lanes(b));
    [lower.interleave_low::<4>(upper), lower.interleave_high::<4>(upper)]
}
