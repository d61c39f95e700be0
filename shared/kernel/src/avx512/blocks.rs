//! The steps of a pull on byte planes, with AVX-512, VBMI and GFNI instructions. The layout is explained in
//! the parent module.
//!
//! All `pub(crate)` functions are safe to call: they check their ranges once, and kernels are created only
//! after [`is_supported`] has checked that the processor has the instructions.

use super::source::{Packed, Planes, Read, RowMap, Source, load, load_two};
use crate::byte_planes::{Ahead, MAX_PLANES, SLOT};
use std::arch::x86_64::*;

/// Returns whether this processor has the instructions.
pub(crate) fn is_supported() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512vbmi")
        && is_x86_feature_detected!("gfni")
        && is_x86_feature_detected!("popcnt")
}

/// A permutation of the bits of rows: a matrix of 8 x 8 bits for each plane of the target and each plane of
/// the source, in the form of `vgf2p8affineqb`: bit i of the product's byte is the parity of (byte 7 - i of
/// the matrix) AND the byte.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BitMap(pub(super) [[u64; MAX_PLANES]; MAX_PLANES]);

impl BitMap {
    /// Creates the map after which bit j of a row is the old bit `from[j]`.
    pub(crate) fn new(from: &[u32]) -> Self {
        let mut matrices = [[0; MAX_PLANES]; MAX_PLANES];
        for (to, &from) in from.iter().enumerate() {
            let (from, byte) = (from as usize, 7 - to % 8);
            matrices[to / 8][from / 8] |= 1 << (8 * byte + from % 8);
        }
        Self(matrices)
    }
}

/// The blocks that a pull reads and writes: for each base (offset in the source, offset in the target) and
/// each pair of steps, two blocks of the source and a pair of adjacent blocks of the target. Offsets in the
/// source are rows, those in the target are bytes.
#[derive(Debug)]
pub(crate) struct Pairs<'a> {
    pub(crate) target: &'a mut [u8],
    /// Bytes from one plane of the target to the next.
    pub(crate) target_stride: usize,
    pub(crate) bases: &'a [(u32, u32)],
    pub(crate) steps: &'a [u32],
    pub(crate) ahead: Ahead,
}

impl Pairs<'_> {
    /// Panics unless all blocks of `PLANES` planes lie inside source and target.
    fn check<const PLANES: usize>(&self, source: &impl Read<PLANES>) {
        assert!(self.steps.len().is_multiple_of(2));
        let most = |offsets: &mut dyn Iterator<Item = u32>| offsets.max().unwrap_or(0) as usize;
        let read = most(&mut self.bases.iter().map(|base| base.0)) + most(&mut self.steps.iter().copied());
        let write = most(&mut self.bases.iter().map(|base| base.1)) + self.steps.len() * SLOT;
        source.check(read);
        assert!((PLANES - 1) * self.target_stride + write <= self.target.len());
    }
}

/// Calls a function with a reader of the source in as many planes.
macro_rules! in_planes {
    ($source:expr, $planes:expr, $rows:expr, $function:ident($($argument:expr),*)) => {
        // SAFETY: the processor has the instructions, because kernels are created only after `is_supported`.
        unsafe {
            match ($source, $planes) {
                (Source::Planes(bytes, stride), 1) => {
                    $function::<1>(&Planes::new(bytes, stride, $rows), $($argument),*)
                }
                (Source::Planes(bytes, stride), 2) => {
                    $function::<2>(&Planes::new(bytes, stride, $rows), $($argument),*)
                }
                (Source::Planes(bytes, stride), 3) => {
                    $function::<3>(&Planes::new(bytes, stride, $rows), $($argument),*)
                }
                (Source::Planes(bytes, stride), _) => {
                    $function::<4>(&Planes::new(bytes, stride, $rows), $($argument),*)
                }
                (Source::Packed(bytes, block), 1) => {
                    $function::<1>(&Packed::new(bytes, block, $rows), $($argument),*)
                }
                (Source::Packed(bytes, block), 2) => {
                    $function::<2>(&Packed::new(bytes, block, $rows), $($argument),*)
                }
                (Source::Packed(bytes, block), 3) => {
                    $function::<3>(&Packed::new(bytes, block, $rows), $($argument),*)
                }
                (Source::Packed(bytes, block), _) => {
                    $function::<4>(&Packed::new(bytes, block, $rows), $($argument),*)
                }
            }
        }
    };
}
pub(super) use in_planes;

/// Adds the blocks, with their rows permuted by `rows`, and the bits of each row by `bits`.
pub(crate) fn keep(source: Source<'_>, pairs: Pairs<'_>, planes: u32, rows: &RowMap, bits: &BitMap) {
    in_planes!(source, planes, rows, keep_planes(pairs, bits));
}

/// Adds the blocks after three steps: their rows are permuted by `gather`, which is a reversed map, their
/// squares of bits are transposed, and the bytes of the result are permuted by `scatter`.
pub(crate) fn trade(source: Source<'_>, pairs: Pairs<'_>, planes: u32, gather: &RowMap, scatter: &RowMap) {
    in_planes!(source, planes, gather, trade_planes(pairs, scatter));
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn keep_planes<const PLANES: usize>(source: &impl Read<PLANES>, pairs: Pairs<'_>, bits: &BitMap) {
    pairs.check(source);
    let matrices: [[__m512i; PLANES]; PLANES] =
        std::array::from_fn(|to| std::array::from_fn(|from| _mm512_set1_epi64(bits.0[to][from] as i64)));
    let mut ahead = pairs.ahead.in_steps(pairs.bases.len() * pairs.steps.len() / 2);
    for &(read, write) in pairs.bases {
        let mut write = write as usize;
        for steps in pairs.steps.as_chunks::<2>().0 {
            ahead.step();
            // SAFETY: `check` has compared the largest offsets with the length of the source.
            let source = unsafe { source.two((read + steps[0]) as usize, (read + steps[1]) as usize) };
            for (plane, matrices) in matrices.iter().enumerate() {
                let mut sum = _mm512_gf2p8affine_epi64_epi8::<0>(source[0], matrices[0]);
                for from in 1..PLANES {
                    let product = _mm512_gf2p8affine_epi64_epi8::<0>(source[from], matrices[from]);
                    sum = _mm512_or_si512(sum, product);
                }
                // SAFETY: `check` has compared the largest offset with the length of the target.
                unsafe { add(pairs.target, plane * pairs.target_stride + write, sum) };
            }
            write += 2 * SLOT;
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn trade_planes<const PLANES: usize>(source: &impl Read<PLANES>, pairs: Pairs<'_>, scatter: &RowMap) {
    pairs.check(source);
    let (scatter, valid) = scatter.in_plane();
    let mut ahead = pairs.ahead.in_steps(pairs.bases.len() * pairs.steps.len() / 2);
    // Byte r selects bit r of each row of a matrix.
    let units = _mm512_set1_epi64(0x8040_2010_0804_0201_u64 as i64);
    let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    for &(read, write) in pairs.bases {
        let mut write = write as usize;
        for steps in pairs.steps.as_chunks::<2>().0 {
            ahead.step();
            // SAFETY: `check` has compared the largest offsets with the length of the source.
            let planes = unsafe { source.two((read + steps[0]) as usize, (read + steps[1]) as usize) };
            let mut rows = [_mm512_setzero_si512(); MAX_PLANES];
            rows[..PLANES].copy_from_slice(&planes);
            // In both blocks, eight rows of plane j at place k are exchanged with eight rows of plane k at
            // place j.
            let low = |a, b| _mm512_unpacklo_epi64(a, b);
            let high = |a, b| _mm512_unpackhi_epi64(a, b);
            let [a, b, c, d] = rows;
            let tiles = [
                _mm512_permutex2var_epi64(low(a, b), even, low(c, d)),
                _mm512_permutex2var_epi64(high(a, b), even, high(c, d)),
                _mm512_permutex2var_epi64(low(a, b), odd, low(c, d)),
                _mm512_permutex2var_epi64(high(a, b), odd, high(c, d)),
            ];
            for (plane, tiles) in tiles.into_iter().enumerate().take(PLANES) {
                let turned = _mm512_gf2p8affine_epi64_epi8::<0>(units, tiles);
                let rows = _mm512_maskz_permutexvar_epi8(valid, scatter, turned);
                // SAFETY: `check` has compared the largest offset with the length of the target.
                unsafe { add(pairs.target, plane * pairs.target_stride + write, rows) };
            }
            write += 2 * SLOT;
        }
    }
}

/// Splits a packed tensor into byte planes that are `stride` bytes apart.
pub(crate) fn split(packed: &[u8], planes: &mut [u8], stride: usize, rows: u32, row_bytes: u32) {
    // SAFETY: as in `keep`.
    unsafe { split_rows(packed, planes, stride, rows as usize, row_bytes as usize) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn split_rows(packed: &[u8], planes: &mut [u8], stride: usize, rows: usize, row_bytes: usize) {
    assert!(packed.len() >= rows * row_bytes);
    if row_bytes == 1 {
        planes[..rows].copy_from_slice(&packed[..rows]);
        return;
    }
    let shuffles: [_; MAX_PLANES] = std::array::from_fn(|plane| {
        let mut index = [0; 64];
        let mut upper = 0;
        for (row, index) in index.iter_mut().enumerate() {
            let place = row * row_bytes + plane.min(row_bytes - 1);
            *index = (place % 128) as u8;
            upper |= u64::from(place >= 128) << row;
        }
        (load(&index), upper)
    });
    for start in (0..rows).step_by(64) {
        let at = start * row_bytes;
        let mut end = [0; 256];
        let bytes: &[u8; 256] = match packed.get(at..).and_then(|bytes| bytes.first_chunk()) {
            Some(bytes) => bytes,
            None => {
                end[..packed.len() - at].copy_from_slice(&packed[at..]);
                &end
            }
        };
        let (quarters, _) = bytes.as_chunks::<64>();
        let [a, b, c, d] = [0, 1, 2, 3].map(|quarter: usize| load(&quarters[quarter]));
        for (plane, &(index, upper)) in shuffles.iter().enumerate().take(row_bytes) {
            let low = _mm512_permutex2var_epi8(a, index, b);
            let high = _mm512_permutex2var_epi8(c, index, d);
            let place = &mut planes[plane * stride + start..][..64];
            store(place.first_chunk_mut().expect("64 bytes"), _mm512_mask_blend_epi8(upper, low, high));
        }
    }
}

/// Joins byte planes to a packed tensor: the blocks at `starts` in order, of `length` rows of `row_bytes`
/// bytes each.
pub(crate) fn join(
    planes: &[u8],
    stride: usize,
    starts: &[u32],
    (length, row_bytes): (u32, u32),
    packed: &mut [u8],
) {
    // SAFETY: as in `keep`.
    unsafe { join_blocks(planes, stride, starts, length as usize, row_bytes as usize, packed) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn join_blocks(
    planes: &[u8],
    stride: usize,
    starts: &[u32],
    length: usize,
    row_bytes: usize,
    packed: &mut [u8],
) {
    let block = length * row_bytes;
    assert_eq!(packed.len(), starts.len() * block);
    let most = starts.iter().copied().max().unwrap_or(0) as usize;
    assert!((row_bytes - 1) * stride + most + SLOT <= planes.len());
    let [first, second] = [0, 64].map(|half| {
        let (mut index, mut valid) = ([0; 64], 0);
        for (place, index) in index.iter_mut().enumerate().take(block.saturating_sub(half)) {
            let (row, plane) = ((half + place) / row_bytes, (half + place) % row_bytes);
            *index = (plane * SLOT + row) as u8;
            valid |= 1 << place;
        }
        (load(&index), valid)
    });
    let mut end = [0; 128];
    for (number, &start) in starts.iter().enumerate() {
        let plane = |plane: usize| start as usize + plane.min(row_bytes - 1) * stride;
        // SAFETY: the largest start was compared with the length of the planes.
        let (low, high) =
            unsafe { (load_two(planes, plane(0), plane(1)), load_two(planes, plane(2), plane(3))) };
        let shuffle = |(index, valid)| _mm512_maskz_permutex2var_epi8(valid, low, index, high);
        let place = &mut packed[number * block..];
        // The next block overwrites the bytes beyond this one.
        let (out, rest) = match place.first_chunk_mut::<128>() {
            Some(place) => (place, None),
            None => (&mut end, Some(block)),
        };
        let (halves, _) = out.as_chunks_mut::<64>();
        store(&mut halves[0], shuffle(first));
        store(&mut halves[1], shuffle(second));
        if let Some(block) = rest {
            place[..block].copy_from_slice(&end[..block]);
        }
    }
}

/// Byte planes, the distance between them, and the bytes from one index to the next of each axis but the
/// last.
pub(crate) type Strided<'a> = (&'a [u8], usize, &'a [u32]);
/// Byte planes to be written, with the same fields.
pub(crate) type StridedMut<'a> = (&'a mut [u8], usize, &'a [u32]);

/// Adds byte planes whose inner axis is `from` to byte planes whose inner axis is `to`. `lengths` are those
/// of all axes. In a block of the target, nothing is added after its end.
pub(crate) fn turn(
    source: Strided<'_>,
    target: StridedMut<'_>,
    lengths: &[u32],
    (from, to): (usize, usize),
    row_bytes: u32,
) {
    // SAFETY: as in `keep`.
    unsafe { turn_squares(source, target, lengths, (from, to), row_bytes as usize) }
}

/// Transposes one square of bytes for each index of the other axes and each plane: up to 32 rows of up to 32
/// bytes. Two rounds of shuffles turn eight rows into four registers of eight columns; two more rounds turn
/// four such sets into the columns.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn turn_squares(
    (source, source_stride, read_strides): Strided<'_>,
    (target, target_stride, write_strides): StridedMut<'_>,
    lengths: &[u32],
    (from, to): (usize, usize),
    row_bytes: usize,
) {
    const TILES: usize = SLOT / 8;
    let others: Vec<usize> = (0..lengths.len() - 1).filter(|&axis| axis != from && axis != to).collect();
    let count: u32 = others.iter().map(|&axis| lengths[axis]).product();
    let (columns, rows) = (lengths[from] as usize, lengths[to] as usize);
    let (read_step, write_step) = (read_strides[to] as usize, write_strides[from] as usize);
    let most = |strides: &[u32]| -> usize {
        others.iter().map(|&axis| (lengths[axis] as usize - 1) * strides[axis] as usize).sum()
    };
    let read_end = most(read_strides) + (rows - 1) * read_step + SLOT;
    let write_end = most(write_strides) + (columns - 1) * write_step + SLOT;
    assert!((row_bytes - 1) * source_stride + read_end <= source.len());
    assert!((row_bytes - 1) * target_stride + write_end <= target.len());

    // From registers of two rows each, rows 0 to 3: the bytes of columns 0 to 15, and of columns 16 to 31.
    let quarters: [__m512i; 2] = std::array::from_fn(|half| {
        let mut index = [0; 64];
        for (place, index) in index.iter_mut().enumerate() {
            *index = (place % 4 * SLOT + half * 16 + place / 4) as u8;
        }
        load(&index)
    });
    // Rows 0 to 3 and 4 to 7 of columns 0 to 7, and of columns 8 to 15.
    let eights = [
        _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23),
        _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31),
    ];
    let even = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13);
    let odd = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);

    for number in 0..count {
        let (mut rest, mut read, mut write) = (number, 0, 0);
        for &axis in others.iter().rev() {
            let index = rest % lengths[axis];
            rest /= lengths[axis];
            read += (index * read_strides[axis]) as usize;
            write += (index * write_strides[axis]) as usize;
        }
        for plane in 0..row_bytes {
            let (read, write) = (plane * source_stride + read, plane * target_stride + write);
            // By groups of eight columns, then by eight rows: a quadword for each column.
            let mut tiles = [[_mm512_setzero_si512(); TILES]; TILES];
            for first in (0..rows).step_by(8) {
                let pair = |number: usize| {
                    let row = first + number * 2;
                    let at = |row: usize| read + row.min(rows - 1) * read_step;
                    // SAFETY: the largest offset was compared with the length of the source.
                    let both = unsafe { load_two(source, at(row), at(row + 1)) };
                    let valid = if row + 1 < rows { u64::MAX } else { u64::from(row < rows) * 0xffff_ffff };
                    _mm512_maskz_mov_epi8(valid, both)
                };
                let (a, b, c, d) = (pair(0), pair(1), pair(2), pair(3));
                for half in 0..2 {
                    let low = _mm512_permutex2var_epi8(a, quarters[half], b);
                    let high = _mm512_permutex2var_epi8(c, quarters[half], d);
                    tiles[2 * half][first / 8] = _mm512_permutex2var_epi32(low, eights[0], high);
                    tiles[2 * half + 1][first / 8] = _mm512_permutex2var_epi32(low, eights[1], high);
                }
            }
            for (group, [a, b, c, d]) in tiles.into_iter().enumerate().take(columns.div_ceil(8)) {
                let (even_low, even_high) = (_mm512_unpacklo_epi64(a, b), _mm512_unpacklo_epi64(c, d));
                let (odd_low, odd_high) = (_mm512_unpackhi_epi64(a, b), _mm512_unpackhi_epi64(c, d));
                // Columns 0 and 4, 1 and 5, 2 and 6, 3 and 7 of the group.
                let turned = [
                    _mm512_permutex2var_epi64(even_low, even, even_high),
                    _mm512_permutex2var_epi64(odd_low, even, odd_high),
                    _mm512_permutex2var_epi64(even_low, odd, even_high),
                    _mm512_permutex2var_epi64(odd_low, odd, odd_high),
                ];
                for (column, both) in turned.into_iter().enumerate() {
                    let halves = [_mm512_castsi512_si256(both), _mm512_extracti64x4_epi64::<1>(both)];
                    for (half, bytes) in halves.into_iter().enumerate() {
                        let column = group * 8 + half * 4 + column;
                        if column < columns {
                            // SAFETY: the largest offset was compared with the length of the target.
                            unsafe {
                                let place = target.as_mut_ptr().add(write + column * write_step).cast();
                                _mm256_storeu_si256(place, _mm256_or_si256(bytes, _mm256_loadu_si256(place)));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Removes the bits of the source's blocks, with their rows permuted by `rows`, from the blocks of the
/// target.
pub(crate) fn remove(source: Source<'_>, pairs: Pairs<'_>, planes: u32, rows: &RowMap) {
    in_planes!(source, planes, rows, remove_planes(pairs));
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn remove_planes<const PLANES: usize>(source: &impl Read<PLANES>, pairs: Pairs<'_>) {
    pairs.check(source);
    for &(read, write) in pairs.bases {
        let mut write = write as usize;
        for steps in pairs.steps.as_chunks::<2>().0 {
            // SAFETY: `check` has compared the largest offsets with the lengths of source and target.
            unsafe {
                let known = source.two((read + steps[0]) as usize, (read + steps[1]) as usize);
                for (plane, known) in known.into_iter().enumerate() {
                    let place = pairs.target.as_mut_ptr().add(plane * pairs.target_stride + write).cast();
                    let left = _mm512_andnot_si512(known, _mm512_loadu_si512(place));
                    _mm512_storeu_si512(place.cast(), left);
                }
            }
            write += 2 * SLOT;
        }
    }
}

/// Returns the number of bits that are set.
pub(crate) fn count(bytes: &[u8]) -> u32 {
    #[target_feature(enable = "popcnt")]
    fn count_words(bytes: &[u8]) -> u32 {
        let (words, rest) = bytes.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum::<u32>()
            + rest.iter().map(|byte| byte.count_ones()).sum::<u32>()
    }
    // SAFETY: as in `keep`.
    unsafe { count_words(bytes) }
}

#[target_feature(enable = "avx512f")]
pub(super) fn store(bytes: &mut [u8; 64], value: __m512i) {
    // SAFETY: the reference is to 64 writable bytes.
    unsafe { _mm512_storeu_si512(bytes.as_mut_ptr().cast(), value) }
}

/// ORs a pair of blocks to the pair at an offset.
///
/// # Safety
/// 64 bytes from the offset must lie inside `bytes`.
#[target_feature(enable = "avx512f")]
pub(super) unsafe fn add(bytes: &mut [u8], at: usize, blocks: __m512i) {
    debug_assert!(at + 64 <= bytes.len());
    // SAFETY: as the caller promises.
    unsafe {
        let place = bytes.as_mut_ptr().add(at);
        let before = _mm512_loadu_si512(place.cast());
        _mm512_storeu_si512(place.cast(), _mm512_or_si512(before, blocks));
    }
}
