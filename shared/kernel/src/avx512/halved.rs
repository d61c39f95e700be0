//! Packed tensors whose last axis is halved: a packed bit stands for one of two neighbouring indices.

use super::Planes;
use super::blocks::{BitMap, Parities, join_bits, split, widen};
use crate::portable::odd_rows;
use fathom_space::Shape;

/// How packed half rows become planes of whole rows, and back.
#[derive(Debug)]
pub(super) struct Halved {
    rows: u32,
    /// The bytes of a packed row.
    row_bytes: u32,
    /// The planes of whole rows.
    planes: u32,
    /// A packed tensor, split into planes of half rows.
    halves: Planes,
    /// Copies each bit of a half row to both bits for which it stands.
    both: BitMap,
    /// The first, and the second, of each two neighbouring bits of a whole row.
    each: [BitMap; 2],
    parities: Parities,
}

impl Halved {
    /// Returns `None` unless the last axis is halved.
    pub(super) fn new(shape: &Shape) -> Option<Self> {
        let is_odd = shape.odd()?;
        let last = *shape.lengths().last().expect("a shape has an axis");
        let (rows, row_bytes) = (shape.rows(), shape.row_bytes());
        let both: Vec<u32> = (0..last).map(|index| index / 2).collect();
        let each = [0, 1].map(|second| (0..last / 2).map(|half| 2 * half + second).collect::<Vec<_>>());
        Some(Self {
            rows,
            row_bytes,
            planes: last.div_ceil(8),
            halves: Planes::new(row_bytes as usize, rows.next_multiple_of(64) as usize),
            both: BitMap::new(&both),
            each: each.map(|from| BitMap::new(&from)),
            parities: Parities::new(&odd_rows(shape), &is_odd[..last as usize]),
        })
    }

    /// Splits a packed tensor into planes of whole rows, which are `stride` bytes apart. `odd` tells whether
    /// the parities of its states' indices have an odd sum. Without it both bits are set for each packed one.
    pub(super) fn split(&mut self, packed: &[u8], (planes, stride): (&mut [u8], usize), odd: Option<bool>) {
        let Planes { bytes, stride: apart } = &mut self.halves;
        split(packed, bytes, *apart, self.rows, self.row_bytes);
        let parities = odd.map(|odd| (&self.parities, odd));
        widen((bytes, *apart, self.row_bytes), (planes, stride, self.planes), &self.both, parities);
    }

    /// Joins each two neighbouring bits of planes, which are `stride` bytes apart, to one.
    pub(super) fn join(&self, planes: &[u8], halves: &mut [u8], stride: usize) {
        join_bits((planes, self.planes), (halves, self.row_bytes), stride, &self.each);
    }
}

/// Returns a bit of a byte together with the one for which the same packed bit stands.
pub(super) fn both(bit: u8) -> u8 {
    if bit & 0b0101_0101 != 0 { bit | bit << 1 } else { bit | bit >> 1 }
}
