//! The source of a pull: pairs of blocks are read from byte planes, or from a packed tensor without splitting
//! the tensor first.

use crate::byte_planes::SLOT;
use std::arch::x86_64::*;

/// The states of a coset, in the form in which blocks of rows are read.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// The bytes of all planes, with rows in their order, and the bytes from one plane to the next.
    Planes(&'a [u8], usize),
    /// A packed tensor, and the bytes of a block of rows, at least [`SLOT`].
    Packed(&'a [u8], usize),
}

/// A permutation of the rows of each of two blocks.
#[derive(Clone, Debug)]
pub(crate) struct RowMap {
    in_plane: Shuffle,
    /// For each plane, the bytes taken from the first two pieces of both packed blocks, and from the others.
    /// Empty if blocks are shorter than [`SLOT`].
    packed: Box<[[Shuffle; 2]]>,
}

/// A choice of bytes from a register or two; bytes that are not `valid` become zero.
#[derive(Clone, Copy, Debug)]
struct Shuffle {
    index: [u8; 2 * SLOT],
    valid: u64,
}

impl Shuffle {
    const NOTHING: Self = Self { index: [0; 2 * SLOT], valid: 0 };

    fn set(&mut self, place: usize, from: usize) {
        self.index[place] = from as u8;
        self.valid |= 1 << place;
    }
}

impl RowMap {
    /// Creates the map after which row i of a block is the old row `from[i]`. Packed rows have `row_bytes`
    /// bytes.
    pub(crate) fn new(from: &[u32], row_bytes: usize) -> Self {
        Self::with(from, row_bytes, |i| i)
    }

    /// Creates the map with the order reversed inside each eight rows, because matrices store their rows in
    /// that order.
    pub(crate) fn reversed(from: &[u32], row_bytes: usize) -> Self {
        Self::with(from, row_bytes, |i| i ^ 7)
    }

    /// Returns the indices and the valid bytes of the map in a plane.
    #[target_feature(enable = "avx512f")]
    pub(super) fn in_plane(&self) -> (__m512i, u64) {
        (load(&self.in_plane.index), self.in_plane.valid)
    }

    fn with(from: &[u32], row_bytes: usize, place: impl Fn(usize) -> usize) -> Self {
        let length = from.len() * row_bytes;
        let planes = if length < SLOT { 0 } else { row_bytes };
        let mut map = Self { in_plane: Shuffle::NOTHING, packed: vec![[Shuffle::NOTHING; 2]; planes].into() };
        let starts = starts(length);
        for block in 0..2 {
            for (i, &row) in from.iter().enumerate() {
                let place = block * SLOT + place(i);
                map.in_plane.set(place, block * SLOT + row as usize);
                for (plane, halves) in map.packed.iter_mut().enumerate() {
                    let byte = row as usize * row_bytes + plane;
                    let piece = starts.iter().position(|start| byte < start + SLOT);
                    let piece = piece.expect("the pieces hold the whole block");
                    let from = piece % 2 * 2 * SLOT + block * SLOT + byte - starts[piece];
                    halves[piece / 2].set(place, from);
                }
            }
        }
        map
    }
}

/// Returns the starts of four pieces of [`SLOT`] bytes that cover a block of that many bytes, at least
/// [`SLOT`]. All pieces lie inside the block, and some may be the same.
fn starts(block: usize) -> [usize; 4] {
    [0, 1, 2, 3].map(|piece| (piece * SLOT).min(block.saturating_sub(SLOT)))
}

/// Reads pairs of blocks, with their rows permuted.
pub(super) trait Read<const PLANES: usize> {
    /// Panics unless the blocks that start at the rows up to `last` lie inside the source.
    fn check(&self, last: usize);

    /// Reads the two blocks that start at these rows, in planes.
    ///
    /// # Safety
    /// Both rows must have been [checked](Read::check), and the processor must have the instructions.
    unsafe fn two(&self, first: usize, second: usize) -> [__m512i; PLANES];
}

/// Reads from byte planes.
pub(super) struct Planes<'a> {
    bytes: &'a [u8],
    stride: usize,
    index: __m512i,
    valid: u64,
}

impl<'a> Planes<'a> {
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(bytes: &'a [u8], stride: usize, rows: &RowMap) -> Self {
        let (index, valid) = rows.in_plane();
        Self { bytes, stride, index, valid }
    }
}

impl<const PLANES: usize> Read<PLANES> for Planes<'_> {
    fn check(&self, last: usize) {
        assert!((PLANES - 1) * self.stride + last + SLOT <= self.bytes.len());
    }

    #[inline(always)]
    unsafe fn two(&self, first: usize, second: usize) -> [__m512i; PLANES] {
        // SAFETY: the caller has checked that the blocks lie inside the planes.
        std::array::from_fn(|plane| unsafe {
            let at = plane * self.stride;
            let blocks = load_two(self.bytes, at + first, at + second);
            _mm512_maskz_permutexvar_epi8(self.valid, self.index, blocks)
        })
    }
}

/// Reads from a packed tensor, whose rows have a byte for each plane.
pub(super) struct Packed<'a, const PLANES: usize> {
    bytes: &'a [u8],
    block: usize,
    starts: [usize; 4],
    index: [[__m512i; PLANES]; 2],
    valid: [[u64; PLANES]; 2],
}

impl<'a, const PLANES: usize> Packed<'a, PLANES> {
    #[target_feature(enable = "avx512f")]
    pub(super) fn new(bytes: &'a [u8], block: usize, rows: &RowMap) -> Self {
        assert!((SLOT..=PLANES * SLOT).contains(&block));
        let index = |half: usize| std::array::from_fn(|plane| load(&rows.packed[plane][half].index));
        let valid = |half: usize| std::array::from_fn(|plane| rows.packed[plane][half].valid);
        Self { bytes, block, starts: starts(block), index: [index(0), index(1)], valid: [valid(0), valid(1)] }
    }
}

impl<const PLANES: usize> Read<PLANES> for Packed<'_, PLANES> {
    fn check(&self, last: usize) {
        assert!(last * PLANES + self.block <= self.bytes.len());
    }

    #[inline(always)]
    unsafe fn two(&self, first: usize, second: usize) -> [__m512i; PLANES] {
        let (first, second) = (first * PLANES, second * PLANES);
        let [low, high] = &self.index;
        let [low_valid, high_valid] = &self.valid;
        // SAFETY: the caller has checked that the blocks lie inside the tensor, and each piece of a block
        // ends inside the block.
        unsafe {
            let piece = |number: usize| {
                let start = self.starts[number];
                load_two(self.bytes, first + start, second + start)
            };
            let (a, b) = (piece(0), piece(1));
            let mut planes = std::array::from_fn(|plane| {
                _mm512_maskz_permutex2var_epi8(low_valid[plane], a, low[plane], b)
            });
            match PLANES {
                // A block has at most 64 bytes.
                1 | 2 => {}
                3 => {
                    let c = piece(2);
                    for (plane, rows) in planes.iter_mut().enumerate() {
                        *rows = _mm512_mask_permutexvar_epi8(*rows, high_valid[plane], high[plane], c);
                    }
                }
                _ => {
                    let (c, d) = (piece(2), piece(3));
                    for (plane, rows) in planes.iter_mut().enumerate() {
                        let behind = _mm512_maskz_permutex2var_epi8(high_valid[plane], c, high[plane], d);
                        *rows = _mm512_or_si512(*rows, behind);
                    }
                }
            }
            planes
        }
    }
}

/// Loads the blocks at two offsets.
///
/// # Safety
/// `SLOT` bytes from each offset must lie inside `bytes`, and the processor must have the instructions.
#[inline(always)]
pub(super) unsafe fn load_two(bytes: &[u8], first: usize, second: usize) -> __m512i {
    debug_assert!(first.max(second) + SLOT <= bytes.len());
    // SAFETY: as the caller promises.
    unsafe {
        let low = _mm256_loadu_si256(bytes.as_ptr().add(first).cast());
        let high = _mm256_loadu_si256(bytes.as_ptr().add(second).cast());
        _mm512_inserti64x4::<1>(_mm512_castsi256_si512(low), high)
    }
}

#[target_feature(enable = "avx512f")]
pub(super) fn load(bytes: &[u8; 64]) -> __m512i {
    // SAFETY: the reference is to 64 readable bytes.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_pieces_cover_the_block() {
        for block in SLOT..=4 * SLOT {
            let pieces = starts(block).map(|start| start..start + SLOT);
            assert!(pieces.iter().all(|piece| piece.end <= block), "{block}: {pieces:?}");
            assert!((0..block).all(|byte| pieces.iter().any(|piece| piece.contains(&byte))), "{block}");
        }
    }
}
