//! The pull in which an outer axis becomes the last one: squares of bits are transposed across registers.
//!
//! Register r has, in each byte, bits along the last axis for index r of the axis that becomes last. Eight
//! registers are a square of 8 x 8 bits for each of their bytes, and three rounds of exchanges between
//! registers transpose all squares at once. The inner axis stays the inner one, so that nothing moves between
//! bytes.

use super::blocks::{From, RowMap, To, check, gathered, largest};
use super::vector::{LANE, Slot, Work};
use crate::byte_planes::Ahead;

/// Adds blocks to others, with their rows permuted and their squares of bits transposed. Each block is at the
/// sum of two offsets.
pub(super) struct Exchange<'a> {
    pub(super) from: From<'a>,
    pub(super) to: To<'a>,
    /// The number of rows of a block.
    pub(super) length: usize,
    pub(super) map: &'a RowMap,
    /// Offsets in the source and in the target.
    pub(super) places: &'a [(u32, u32)],
    /// For each index along the last axis of the target, the offset in the source.
    pub(super) reads: &'a [u32],
    /// For each index along the last axis of the source, the offset in the target.
    pub(super) writes: &'a [u32],
    pub(super) ahead: Ahead,
}

impl Work for Exchange<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        // SAFETY: as the caller promises.
        unsafe {
            match self.length > LANE {
                true => exchange::<V, true>(self),
                false => exchange::<V, false>(self),
            }
        }
    }
}

/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn exchange<V: Slot, const WIDE: bool>(work: Exchange<'_>) {
    let Exchange { from, to, length: _, map, places, reads, writes, ahead } = work;
    let read = largest(places.iter().map(|place| place.0)) + largest(reads.iter().copied());
    let write = largest(places.iter().map(|place| place.1)) + largest(writes.iter().copied());
    check(from, read, &to, write);
    assert!(reads.len() <= 8 * from.planes && writes.len() <= 8 * from.planes);
    let mut ahead = ahead.in_steps(places.len() * from.planes * from.planes);
    // SAFETY: the largest offsets were compared with the lengths of source and target.
    unsafe {
        let map = map.load::<V>();
        for &(read, write) in places {
            for (eight, reads) in reads.chunks(8).enumerate() {
                for (plane, writes) in writes.chunks(8).enumerate() {
                    ahead.step();
                    let read = from.bytes.as_ptr().add(plane * from.stride + read as usize);
                    let mut rows = [V::splat(0); 8];
                    for (rows, &step) in rows.iter_mut().zip(reads) {
                        *rows = gathered::<V, WIDE>(read.add(step as usize), &map);
                    }
                    let write = to.bytes.as_mut_ptr().add(eight * to.stride + write as usize);
                    for (columns, &step) in transposed(rows).into_iter().zip(writes) {
                        let place = write.add(step as usize);
                        V::load(place).or(columns).store(place);
                    }
                }
            }
        }
    }
}

/// Transposes the squares of bits of all bytes: bit r of register c is bit c of register r.
#[inline(always)]
pub(super) fn transposed<V: Slot>(mut rows: [V; 8]) -> [V; 8] {
    // SAFETY: there is a vector, so the processor has the instructions.
    let masks = unsafe { [V::splat(0x0f), V::splat(0x33), V::splat(0x55)] };
    for first in 0..4 {
        exchange_bits::<V, 4>(&mut rows, first, masks[0]);
    }
    for first in [0, 1, 4, 5] {
        exchange_bits::<V, 2>(&mut rows, first, masks[1]);
    }
    for first in [0, 2, 4, 6] {
        exchange_bits::<V, 1>(&mut rows, first, masks[2]);
    }
    rows
}

/// Exchanges the bits outside of `mask` of a register with those inside of it of the register `APART` after
/// it, where they are shifted by as many bits.
#[inline(always)]
fn exchange_bits<V: Slot, const APART: i32>(rows: &mut [V; 8], first: usize, mask: V) {
    let second = first + APART as usize;
    let exchanged = rows[first].right::<APART>().xor(rows[second]).and(mask);
    rows[second] = rows[second].xor(exchanged);
    rows[first] = rows[first].xor(exchanged.left::<APART>());
}
