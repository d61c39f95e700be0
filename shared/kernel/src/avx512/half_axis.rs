//! Packed tensors whose last axis is halved: a packed bit represents one of two neighbouring indices.

use super::blocks::{BitMap, split, store};
use super::source::load;
use crate::byte_planes::{MAX_PLANES, Planes};
use crate::portable::odd_rows;
use fathom_space::Shape;
use std::arch::x86_64::*;

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
    /// Copies each bit of a half row to both bits that it represents.
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

    /// Splits a packed tensor into planes of whole rows, which are `stride` bytes apart. `odd` is whether the
    /// parities of its states' indices have an odd sum. Without it, both bits are set for each packed bit.
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

/// Which bits of a row may be set, by the parity of the row.
#[derive(Debug)]
struct Parities {
    /// For each row a bit, set if the last index of the row's states is odd where the parities of all
    /// indices have an even sum.
    rows: Vec<u64>,
    /// The even indices, and the odd ones, in each plane.
    indices: [[u8; MAX_PLANES]; 2],
}

impl Parities {
    /// Computes the parities from those of the outer indices of each row, and those of the last index.
    fn new(odd_rows: &[bool], is_odd: &[bool]) -> Self {
        let word = |rows: &[bool]| rows.iter().rev().fold(0, |word, &is_odd| word << 1 | u64::from(is_odd));
        let mut indices = [[0; MAX_PLANES]; 2];
        for (index, &is_odd) in is_odd.iter().enumerate() {
            indices[usize::from(is_odd)][index / 8] |= 1 << (index % 8);
        }
        Self { rows: odd_rows.chunks(64).map(word).collect(), indices }
    }
}

/// Carries the bits of rows in planes to rows in other planes, all of them in the same order. A plane is
/// given by the bytes of all planes, the distance between two, and their number. With `parities`, and whether
/// all parities change, keeps only the bits that may be set.
fn widen(
    from: (&[u8], usize, u32),
    to: (&mut [u8], usize, u32),
    bits: &BitMap,
    parities: Option<(&Parities, bool)>,
) {
    // SAFETY: the processor has the instructions, because kernels are created only after `is_supported`.
    unsafe { widen_planes(from, to, bits, parities) }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn widen_planes(
    (source, apart, halves): (&[u8], usize, u32),
    (target, stride, planes): (&mut [u8], usize, u32),
    bits: &BitMap,
    parities: Option<(&Parities, bool)>,
) {
    let zero = _mm512_setzero_si512();
    let (halves, planes) = (halves as usize, planes as usize);
    let allowed = |parity: usize, plane: usize| match parities {
        Some((parities, _)) => _mm512_set1_epi8(parities.indices[parity][plane] as i8),
        None => _mm512_set1_epi8(-1),
    };
    let allowed: [[__m512i; MAX_PLANES]; 2] =
        std::array::from_fn(|parity| std::array::from_fn(|plane| allowed(parity, plane)));
    for (number, start) in (0..apart).step_by(64).enumerate() {
        let odd =
            parities.map_or(0, |(parities, all)| parities.rows[number] ^ if all { u64::MAX } else { 0 });
        let mut rows = [zero; MAX_PLANES];
        for (half, rows) in rows.iter_mut().enumerate().take(halves) {
            *rows = load(source[half * apart + start..].first_chunk().expect("64 rows"));
        }
        for plane in 0..planes {
            let mut whole = zero;
            for (&rows, &matrix) in rows.iter().zip(&bits.0[plane]).take(halves) {
                let matrix = _mm512_set1_epi64(matrix as i64);
                whole = _mm512_xor_si512(whole, _mm512_gf2p8affine_epi64_epi8::<0>(rows, matrix));
            }
            let allowed = _mm512_mask_blend_epi8(odd, allowed[0][plane], allowed[1][plane]);
            let place = &mut target[plane * stride + start..];
            store(place.first_chunk_mut().expect("64 rows"), _mm512_and_si512(whole, allowed));
        }
    }
}

/// Carries the bits of rows in planes to rows in fewer planes by each of two maps, and joins the results.
/// Planes are given by their bytes and number, and are `stride` bytes apart.
fn join_bits(from: (&[u8], u32), to: (&mut [u8], u32), stride: usize, maps: &[BitMap; 2]) {
    // SAFETY: the processor has the instructions, because kernels are created only after `is_supported`.
    unsafe { join_planes(from, to, stride, maps) }
}

#[target_feature(enable = "avx512f,avx512bw,gfni")]
fn join_planes(
    (source, planes): (&[u8], u32),
    (target, halves): (&mut [u8], u32),
    stride: usize,
    maps: &[BitMap; 2],
) {
    for start in (0..stride).step_by(64) {
        for half in 0..halves as usize {
            let mut joined = _mm512_setzero_si512();
            for plane in 0..planes as usize {
                let rows = load(source[plane * stride + start..].first_chunk().expect("64 rows"));
                for map in maps {
                    let matrix = _mm512_set1_epi64(map.0[half][plane] as i64);
                    joined = _mm512_or_si512(joined, _mm512_gf2p8affine_epi64_epi8::<0>(rows, matrix));
                }
            }
            let place = &mut target[half * stride + start..];
            store(place.first_chunk_mut().expect("64 rows"), joined);
        }
    }
}
