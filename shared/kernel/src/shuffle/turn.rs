//! Byte planes from one choice of the inner axis to another: squares of bytes are transposed.
//!
//! Sixteen rows of two lanes are transposed in both lanes at once, by four rounds: each interleaves the bytes
//! of the first eight vectors with those of the last eight. A round rotates the four bits of a byte's row and
//! the four bits of its column by one, so that four rounds exchange row and column.

use super::blocks::{From, To, check};
use super::vector::{LANE, Slot, Work};

/// Adds planes in one layout to planes in another.
pub(super) struct Turn<'a> {
    pub(super) from: From<'a>,
    pub(super) to: To<'a>,
    /// The bytes from one index to the next of each axis but the last, in the source and in the target.
    pub(super) strides: [&'a [u32]; 2],
    /// The lengths of all axes.
    pub(super) lengths: &'a [u32],
    /// The inner axes of source and target.
    pub(super) inner: [usize; 2],
}

impl Work for Turn<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { from, to, strides: [read_strides, write_strides], lengths, inner: [old, new] } = self;
        let others: Vec<usize> = (0..lengths.len() - 1).filter(|&axis| axis != old && axis != new).collect();
        let at = |number: u32, strides: &[u32]| {
            let mut rest = number;
            let along = others.iter().rev().map(|&axis| {
                let index = rest % lengths[axis];
                rest /= lengths[axis];
                (index * strides[axis]) as usize
            });
            along.sum::<usize>()
        };
        let count: u32 = others.iter().map(|&axis| lengths[axis]).product();
        let size = [lengths[new], lengths[old]].map(|length| length as usize);
        let steps = [read_strides[new], write_strides[old]].map(|stride| stride as usize);
        let last = [0, 1].map(|which: usize| (size[which] - 1) * steps[which]);
        check(from, at(count - 1, read_strides) + last[0], &to, at(count - 1, write_strides) + last[1]);
        for number in 0..count {
            for plane in 0..from.planes {
                let read = plane * from.stride + at(number, read_strides);
                let write = plane * to.stride + at(number, write_strides);
                // SAFETY: the largest offsets were compared with the lengths of source and target.
                unsafe {
                    let (read, write) = (from.bytes.as_ptr().add(read), to.bytes.as_mut_ptr().add(write));
                    turn_square::<V>(read, write, size, steps);
                }
            }
        }
    }
}

/// Adds a transposed square, of as many rows and columns, with these bytes between rows and between columns.
///
/// # Safety
/// All rows and columns must be readable and writable, and the processor must have the instructions.
#[inline(always)]
unsafe fn turn_square<V: Slot>(
    read: *const u8,
    write: *mut u8,
    [rows, columns]: [usize; 2],
    [row_step, column_step]: [usize; 2],
) {
    // SAFETY: as the caller promises.
    unsafe {
        let zero = V::splat(0);
        let mut halves = [[zero; LANE]; 2];
        for (half, turned) in halves.iter_mut().enumerate().take(rows.div_ceil(LANE)) {
            let mut square = [zero; LANE];
            for (number, row) in square.iter_mut().enumerate().take(rows - half * LANE) {
                *row = V::load(read.add((half * LANE + number) * row_step));
            }
            *turned = interleaved(interleaved(interleaved(interleaved(square))));
        }
        let [upper, lower] = halves;
        for (column, (a, b)) in upper.into_iter().zip(lower).enumerate().take(columns) {
            add(write.add(column * column_step), a.first_lanes(b));
            if column + LANE < columns {
                add(write.add((column + LANE) * column_step), a.second_lanes(b));
            }
        }
    }
}

/// Adds a vector to the bytes at a place.
///
/// # Safety
/// The bytes must be readable and writable.
#[inline(always)]
unsafe fn add<V: Slot>(place: *mut u8, bytes: V) {
    // SAFETY: as the caller promises; there is a vector, so the processor has the instructions.
    unsafe { V::load(place).or(bytes).store(place) }
}

/// Interleaves the first eight rows with the last eight.
#[inline(always)]
fn interleaved<V: Slot>(rows: [V; LANE]) -> [V; LANE] {
    let mut next = rows;
    for number in 0..LANE / 2 {
        let (a, b) = (rows[number], rows[number + LANE / 2]);
        next[2 * number] = a.interleave_low::<1>(b);
        next[2 * number + 1] = a.interleave_high::<1>(b);
    }
    next
}
