//! Blocks of rows: read from planes without slots, permuted, and added to accumulators.

use super::vector::{LANE, Slot, Work};
use crate::byte_planes::{Ahead, MAX_PLANES, SLOT};

/// A permutation of the rows of a block: for each row, the old one in the first lane of a block, and in the
/// second lane.
#[derive(Clone, Debug)]
pub(super) struct RowMap([[u8; SLOT]; 2]);

impl RowMap {
    /// Creates the map after which row j is the old row `from[j]`.
    pub(super) fn new(from: &[u32]) -> Self {
        let mut lanes = [[u8::MAX; SLOT]; 2];
        for (to, &from) in from.iter().enumerate() {
            lanes[from as usize / LANE][to] = (from as usize % LANE) as u8;
        }
        Self(lanes)
    }

    /// # Safety
    /// The processor must have the instructions.
    #[inline(always)]
    pub(super) unsafe fn load<V: Slot>(&self) -> [V; 2] {
        // SAFETY: each map is as long as a slot.
        unsafe { [V::load(self.0[0].as_ptr()), V::load(self.0[1].as_ptr())] }
    }
}

/// Reads a block of bytes, with its rows permuted by a loaded [`RowMap`]. Without `WIDE`, blocks have at most
/// 16 rows.
///
/// # Safety
/// `SLOT` bytes must be readable, and the processor must have the instructions.
#[inline(always)]
pub(super) unsafe fn gathered<V: Slot, const WIDE: bool>(from: *const u8, map: &[V; 2]) -> V {
    // SAFETY: as the caller promises.
    unsafe {
        let first = V::load_copies(from).shuffle(map[0]);
        if WIDE { first.or(V::load_copies(from.add(LANE)).shuffle(map[1])) } else { first }
    }
}

/// Planes to be read.
#[derive(Clone, Copy, Debug)]
pub(super) struct From<'a> {
    pub(super) bytes: &'a [u8],
    /// Bytes from one plane to the next.
    pub(super) stride: usize,
    pub(super) planes: usize,
}

/// Planes to be changed.
#[derive(Debug)]
pub(super) struct To<'a> {
    pub(super) bytes: &'a mut [u8],
    /// Bytes from one plane to the next.
    pub(super) stride: usize,
}

/// Panics unless blocks at offsets up to these lie inside the planes.
pub(super) fn check(from: From<'_>, read: usize, to: &To<'_>, write: usize) {
    assert!((1..=MAX_PLANES).contains(&from.planes));
    assert!((from.planes - 1) * from.stride + read + SLOT <= from.bytes.len());
    assert!((from.planes - 1) * to.stride + write + SLOT <= to.bytes.len());
}

/// The largest of some offsets.
pub(super) fn largest(offsets: impl Iterator<Item = u32>) -> usize {
    offsets.max().unwrap_or(0) as usize
}

/// Adds blocks to others, or removes them, with their rows permuted.
pub(super) struct Gather<'a, const REMOVE: bool> {
    pub(super) from: From<'a>,
    pub(super) to: To<'a>,
    /// The number of rows of a block.
    pub(super) length: usize,
    pub(super) map: &'a RowMap,
    /// The offset of the first block in the target.
    pub(super) base: u32,
    /// The offset of each block from the first one in the target.
    pub(super) steps: &'a [(u32, u32)],
    pub(super) ahead: &'a mut Ahead,
}

impl<const REMOVE: bool> Work for Gather<'_, REMOVE> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        // SAFETY: as the caller promises.
        unsafe {
            match self.length > LANE {
                true => gather::<V, REMOVE, true>(self),
                false => gather::<V, REMOVE, false>(self),
            }
        }
    }
}

/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn gather<V: Slot, const REMOVE: bool, const WIDE: bool>(work: Gather<'_, REMOVE>) {
    let Gather { from, to, length, map, base, steps, ahead } = work;
    let write = base as usize + largest(steps.iter().map(|step| step.1));
    check(from, length * steps.len().saturating_sub(1), &to, write);
    // SAFETY: the largest offsets were compared with the lengths of source and target.
    unsafe {
        let map = map.load::<V>();
        for plane in 0..from.planes {
            let mut read = from.bytes.as_ptr().add(plane * from.stride);
            let write = to.bytes.as_mut_ptr().add(plane * to.stride + base as usize);
            for &(_, step) in steps {
                if plane == 0 {
                    ahead.step();
                }
                let rows = gathered::<V, WIDE>(read, &map);
                let place = write.add(step as usize);
                let before = V::load(place);
                if REMOVE { before.without(rows) } else { before.or(rows) }.store(place);
                read = read.add(length);
            }
        }
    }
}

/// Adds blocks to others after three steps: their rows are permuted by `gather`, their squares of bits are
/// transposed, and the rows of the result are permuted by `scatter`.
pub(super) struct Trade<'a> {
    pub(super) from: From<'a>,
    pub(super) to: To<'a>,
    /// The number of rows of a block, and of bits of a row.
    pub(super) length: usize,
    pub(super) gather: &'a RowMap,
    pub(super) scatter: &'a RowMap,
    /// The offset of the first block in the target.
    pub(super) base: u32,
    /// The offset of each block from the first one in the target.
    pub(super) steps: &'a [(u32, u32)],
    pub(super) ahead: &'a mut Ahead,
}

impl Work for Trade<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        // SAFETY: as the caller promises.
        unsafe {
            match self.from.planes {
                1 => trade::<V, 1, false>(self),
                2 => trade::<V, 2, false>(self),
                3 => trade::<V, 3, true>(self),
                _ => trade::<V, 4, true>(self),
            }
        }
    }
}

/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn trade<V: Slot, const PLANES: usize, const WIDE: bool>(work: Trade<'_>) {
    let Trade { from, to, length, gather, scatter, base, steps, ahead } = work;
    assert!(WIDE || length <= LANE);
    let write = base as usize + largest(steps.iter().map(|step| step.1));
    check(from, length * steps.len().saturating_sub(1), &to, write);
    // SAFETY: the largest offsets were compared with the lengths of source and target.
    unsafe {
        let (gather, scatter) = (gather.load::<V>(), scatter.load::<V>());
        for (number, &(_, step)) in steps.iter().enumerate() {
            ahead.step();
            let read = from.bytes.as_ptr().add(number * length);
            // Tile k of plane j: the bits 8 j to 8 j + 7 of the rows 8 k to 8 k + 7.
            let mut tiles = [V::splat(0); MAX_PLANES];
            for (plane, tiles) in tiles.iter_mut().enumerate().take(PLANES) {
                *tiles = turned(gathered::<V, WIDE>(read.add(plane * from.stride), &gather));
            }
            for plane in 0..PLANES {
                let rows = scattered::<V, WIDE>(plane, tiles, &scatter);
                let place = to.bytes.as_mut_ptr().add(plane * to.stride + base as usize + step as usize);
                V::load(place).or(rows).store(place);
            }
        }
    }
}

/// Exchanges tile `plane` of plane k with tile k of a plane, for all k, and permutes its rows.
#[inline(always)]
fn scattered<V: Slot, const WIDE: bool>(plane: usize, [a, b, c, d]: [V; MAX_PLANES], map: &[V; 2]) -> V {
    // Lanes hold the tiles 0 and 2, or 1 and 3, of two planes.
    let pair = |a: V, b: V| {
        let both = if plane.is_multiple_of(2) { a.interleave_low::<8>(b) } else { a.interleave_high::<8>(b) };
        if plane < 2 { both.first_lanes(both) } else { both.second_lanes(both) }
    };
    let first = pair(a, b).shuffle(map[0]);
    if WIDE { first.or(pair(c, d).shuffle(map[1])) } else { first }
}

/// Transposes the tiles of 8 x 8 bits of a vector: three rounds in which bits are exchanged across the
/// diagonal, in squares of one bit, two and four.
#[inline(always)]
fn turned<V: Slot>(tiles: V) -> V {
    // SAFETY: there is a vector, so the processor has the instructions.
    let masks = unsafe { MASKS.map(|mask| V::load_copies(mask.as_ptr().cast())) };
    let exchanged = (tiles.right::<7>().xor(tiles)).and(masks[0]);
    let tiles = tiles.xor(exchanged).xor(exchanged.left::<7>());
    let exchanged = (tiles.right::<14>().xor(tiles)).and(masks[1]);
    let tiles = tiles.xor(exchanged).xor(exchanged.left::<14>());
    let exchanged = (tiles.right::<28>().xor(tiles)).and(masks[2]);
    tiles.xor(exchanged).xor(exchanged.left::<28>())
}

/// The upper right halves of the squares of each round.
static MASKS: [[u64; 2]; 3] =
    [[0x00aa_00aa_00aa_00aa; 2], [0x0000_cccc_0000_cccc; 2], [0x0000_0000_f0f0_f0f0; 2]];
