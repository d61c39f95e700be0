//! Packed tensors whose last axis is halved: a packed bit represents one of two neighbouring indices.

use super::bit_map::BitMap;
use super::vector::{Slot, Work};
use crate::byte_planes::MAX_PLANES;
use crate::portable::odd_rows;
use fathom_space::Shape;

/// How packed half rows become planes of whole rows, and back.
#[derive(Debug)]
pub(super) struct Halved {
    /// Copies each bit of a half row to both bits that it represents.
    pub(super) both: BitMap,
    /// Joins each two neighbouring bits of a whole row.
    pub(super) join: BitMap,
    /// For each row a byte: all ones if the last index of the row's states is odd where the parities of all
    /// indices have an even sum.
    odd_rows: Vec<u8>,
    /// The even indices, in each plane.
    even: [u8; MAX_PLANES],
}

impl Halved {
    /// Returns `None` unless the last axis is halved.
    pub(super) fn new(shape: &Shape) -> Option<Self> {
        let is_odd = shape.odd()?;
        let last = *shape.lengths().last().expect("a shape has an axis") as usize;
        let mut even = [0; MAX_PLANES];
        for index in (0..last).filter(|&index| !is_odd[index]) {
            even[index / 8] |= 1 << (index % 8);
        }
        let mut odd_rows: Vec<u8> =
            odd_rows(shape).into_iter().map(|is_odd| 0_u8.wrapping_sub(is_odd.into())).collect();
        // Lines of rows are processed a whole vector at a time.
        odd_rows.resize(odd_rows.len() + 64, 0);
        Some(Self {
            both: BitMap::new(last / 2, (0..last).map(|index| (index / 2, index))),
            join: BitMap::new(last, (0..last).map(|index| (index, index / 2))),
            odd_rows,
            even,
        })
    }

    /// Returns the work that keeps the bits of `rows` rows, the first of which is `first`, that may be set.
    /// `odd` is whether the parities of the states' indices have an odd sum.
    pub(super) fn mask<'a>(
        &'a self,
        odd: bool,
        first: usize,
        rows: usize,
        planes: &'a mut [u8],
        stride: usize,
    ) -> Mask<'a> {
        let rows = rows.next_multiple_of(64).min(stride);
        Mask { odd_rows: &self.odd_rows[first..], even: self.even, odd, rows, planes, stride }
    }
}

/// Keeps the bits of whole rows that may be set.
pub(super) struct Mask<'a> {
    odd_rows: &'a [u8],
    even: [u8; MAX_PLANES],
    odd: bool,
    rows: usize,
    planes: &'a mut [u8],
    stride: usize,
}

impl Work for Mask<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { odd_rows, even, odd, rows, planes, stride } = self;
        let rows = rows.min(odd_rows.len() / V::BYTES * V::BYTES);
        assert!(rows <= stride && rows.is_multiple_of(V::BYTES));
        for (planes, even) in planes.chunks_exact_mut(stride).zip(even) {
            // The other indices are odd. Bits behind the last index are not set.
            let even = if odd { !even } else { even };
            // SAFETY: the planes have as many rows, and the caller promises the instructions.
            unsafe {
                let even = V::splat(even);
                for at in (0..rows).step_by(V::BYTES) {
                    let allowed = V::load(odd_rows.as_ptr().add(at)).xor(even);
                    let place = planes.as_mut_ptr().add(at);
                    V::load(place).and(allowed).store(place);
                }
            }
        }
    }
}
