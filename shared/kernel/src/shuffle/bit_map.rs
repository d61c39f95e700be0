//! Maps of the bits of rows in byte planes, by look-ups.
//!
//! A byte of the target is a union over the *nibbles* of the source, halves of its bytes, because each bit
//! of the target comes from one bit of the source, or is the union of some. A shuffle with a nibble as the
//! index looks up its part of the union, for all rows of a vector. Nibbles that contribute nothing to a byte
//! are skipped.

use super::vector::{LANE, Slot, Vector, Work};
use crate::byte_planes::MAX_PLANES;

/// The largest number of nibbles of a row.
const MAX_NIBBLES: usize = 2 * MAX_PLANES;

/// A map of the bits of rows.
#[derive(Clone, Debug)]
pub(super) struct BitMap {
    /// By plane of the target.
    parts: Vec<Parts>,
    /// The number of planes of the source.
    planes: usize,
    is_identity: bool,
}

/// The nibbles that contribute to a byte, and tables of what their values contribute.
#[derive(Clone, Debug, Default)]
struct Parts {
    nibbles: Vec<u8>,
    tables: Vec<[u8; LANE]>,
}

impl BitMap {
    /// Creates the map of `bits` bits after which bit j is the union of the old bits of all pairs (i, j).
    pub(super) fn new(bits: usize, pairs: impl Iterator<Item = (usize, usize)>) -> Self {
        let mut map = Self { parts: Vec::new(), planes: bits.div_ceil(8), is_identity: true };
        for (from, to) in pairs {
            map.is_identity &= from == to;
            if map.parts.len() <= to / 8 {
                map.parts.resize_with(to / 8 + 1, Parts::default);
            }
            map.parts[to / 8].add(from, to % 8);
        }
        map
    }

    /// Creates the map after which bit j is the old bit `from[j]`.
    pub(super) fn permutation(from: &[u32]) -> Self {
        Self::new(from.len(), from.iter().enumerate().map(|(to, &from)| (from as usize, to)))
    }

    /// Returns the bytes that the map takes.
    pub(super) fn bytes(&self) -> usize {
        let of_parts = |parts: &Parts| parts.nibbles.capacity() + parts.tables.capacity() * LANE;
        self.parts.iter().map(|parts| size_of::<Parts>() + of_parts(parts)).sum()
    }

    /// Returns whether every bit stays.
    pub(super) fn is_identity(&self) -> bool {
        self.is_identity
    }
}

impl Parts {
    /// Adds bit `from` of the source to bit `to` of this byte.
    fn add(&mut self, from: usize, to: usize) {
        let nibble = (from / 4) as u8;
        let at = self.nibbles.iter().position(|&other| other == nibble).unwrap_or_else(|| {
            self.nibbles.push(nibble);
            self.tables.push([0; LANE]);
            self.tables.len() - 1
        });
        for (value, image) in self.tables[at].iter_mut().enumerate() {
            *image |= ((value >> (from % 4) & 1) << to) as u8;
        }
    }
}

/// Applies a map to the bits of rows.
pub(super) struct LookUp<'a> {
    pub(super) map: &'a BitMap,
    /// The planes of the source and of the target.
    pub(super) from: &'a [u8],
    pub(super) to: &'a mut [u8],
    /// The nibbles of the source, in planes as well.
    pub(super) nibbles: &'a mut [u8],
    /// Bytes from one plane to the next, in all three.
    pub(super) stride: usize,
    /// The number of rows. Planes have room for a multiple of 64.
    pub(super) rows: usize,
}

impl Work for LookUp<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { map, from, to, nibbles, stride, rows } = self;
        let rows = rows.next_multiple_of(<V::Long as Vector>::BYTES);
        assert!(rows <= stride);
        assert!(map.planes * stride <= from.len() && map.parts.len() * stride <= to.len());
        assert!(map.planes * 2 * stride <= nibbles.len());
        for plane in 0..map.planes {
            let from = &from[plane * stride..][..rows];
            let (low, high) = nibbles[2 * plane * stride..].split_at_mut(stride);
            // SAFETY: as the caller promises.
            unsafe { split_nibbles::<V::Long>(from, &mut low[..rows], &mut high[..rows]) }
        }
        for (parts, to) in map.parts.iter().zip(to.chunks_exact_mut(stride)) {
            let to = &mut to[..rows];
            // SAFETY: as the caller promises.
            unsafe {
                match parts.nibbles.len() {
                    1 => look_up::<V::Long, 1>(parts, nibbles, stride, to),
                    2 => look_up::<V::Long, 2>(parts, nibbles, stride, to),
                    3 => look_up::<V::Long, 3>(parts, nibbles, stride, to),
                    4 => look_up::<V::Long, 4>(parts, nibbles, stride, to),
                    5 => look_up::<V::Long, 5>(parts, nibbles, stride, to),
                    6 => look_up::<V::Long, 6>(parts, nibbles, stride, to),
                    7 => look_up::<V::Long, 7>(parts, nibbles, stride, to),
                    _ => look_up::<V::Long, MAX_NIBBLES>(parts, nibbles, stride, to),
                }
            }
        }
    }
}

/// Splits each byte into nibbles.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn split_nibbles<V: Vector>(from: &[u8], low: &mut [u8], high: &mut [u8]) {
    assert!(low.len() == from.len() && high.len() == from.len() && from.len().is_multiple_of(V::BYTES));
    // SAFETY: all three have a multiple of the bytes of a vector.
    unsafe {
        let mask = V::splat(15);
        for at in (0..from.len()).step_by(V::BYTES) {
            let bytes = V::load(from.as_ptr().add(at));
            bytes.and(mask).store(low.as_mut_ptr().add(at));
            bytes.right::<4>().and(mask).store(high.as_mut_ptr().add(at));
        }
    }
}

/// Writes the union of what `N` nibbles contribute.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn look_up<V: Vector, const N: usize>(parts: &Parts, nibbles: &[u8], stride: usize, to: &mut [u8]) {
    assert!(parts.nibbles.len() == N && parts.tables.len() == N && to.len().is_multiple_of(V::BYTES));
    // SAFETY: tables are as long as a lane, the planes of nibbles were checked to be as long as `to`, which
    // has a multiple of the bytes of a vector.
    unsafe {
        let (mut tables, mut from) = ([V::splat(0); N], [nibbles.as_ptr(); N]);
        for part in 0..N {
            tables[part] = V::load_copies(parts.tables[part].as_ptr());
            from[part] = nibbles[usize::from(parts.nibbles[part]) * stride..][..to.len()].as_ptr();
        }
        for at in (0..to.len()).step_by(V::BYTES) {
            let mut sum = tables[0].shuffle(V::load(from[0].add(at)));
            for part in 1..N {
                sum = sum.or(tables[part].shuffle(V::load(from[part].add(at))));
            }
            sum.store(to.as_mut_ptr().add(at));
        }
    }
}
