//! The pull in which an outer axis becomes the last one: squares of bits are transposed across registers.
//!
//! Register r has, in each byte, bits along the last axis for index r of the axis that becomes last. Eight
//! registers are a square of 8 x 8 bits for each of their bytes, and three rounds of exchanges between
//! registers transpose all squares at once. The inner axis stays the inner one, so that nothing moves between
//! bytes.

use super::blocks::{add, in_planes};
use super::source::{Packed, Planes, Read, RowMap, Source};
use crate::byte_planes::{Ahead, SLOT};
use std::arch::x86_64::*;

/// The blocks that an exchange reads and writes. Offsets in the source are rows, those in the target are
/// bytes; each block is at the sum of three offsets.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) target: &'a mut [u8],
    /// Bytes from one plane of the target to the next.
    pub(crate) target_stride: usize,
    /// Offsets in the source and in the target.
    pub(crate) bases: &'a [(u32, u32)],
    /// Offsets in the source and in the target of blocks that are processed in pairs.
    pub(crate) steps: &'a [(u32, u32)],
    /// For each index along the last axis of the target, the offset in the source.
    pub(crate) reads: &'a [u32],
    /// For each index along the last axis of the source, the offset in the target.
    pub(crate) writes: &'a [u32],
    pub(crate) ahead: Ahead,
}

impl Exchange<'_> {
    /// Panics unless all blocks of `PLANES` planes lie inside source and target.
    fn check<const PLANES: usize>(&self, source: &impl Read<PLANES>) {
        assert!(self.reads.len() <= 8 * PLANES && self.writes.len() <= 8 * PLANES);
        let most = |offsets: &mut dyn Iterator<Item = u32>| offsets.max().unwrap_or(0) as usize;
        let read = most(&mut self.bases.iter().map(|base| base.0))
            + most(&mut self.steps.iter().map(|step| step.0))
            + most(&mut self.reads.iter().copied());
        source.check(read);
        let write = most(&mut self.bases.iter().map(|base| base.1))
            + most(&mut self.steps.iter().map(|step| step.1))
            + most(&mut self.writes.iter().copied());
        assert!((PLANES - 1) * self.target_stride + write + SLOT <= self.target.len());
    }
}

/// Adds the blocks of `planes` planes, with their rows permuted by `rows`, and their squares of bits
/// transposed.
pub(crate) fn exchange(source: Source<'_>, blocks: Exchange<'_>, planes: u32, rows: &RowMap) {
    in_planes!(source, planes, rows, squares(blocks));
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn squares<const PLANES: usize>(source: &impl Read<PLANES>, blocks: Exchange<'_>) {
    blocks.check(source);
    let Exchange { target, target_stride, bases, steps, reads, writes, ahead } = blocks;
    let mut ahead = ahead.in_steps(bases.len() * steps.len().div_ceil(2) * PLANES * PLANES);
    for base in bases {
        for pair in steps.chunks(2) {
            let (first, second) = (pair[0], pair[pair.len() - 1]);
            let (first_read, second_read) = ((base.0 + first.0) as usize, (base.0 + second.0) as usize);
            let writes_at = (base.1 + first.1, base.1 + second.1);
            let is_pair = pair.len() == 2;
            for (eight, reads) in reads.chunks(8).enumerate() {
                // By plane of the source.
                let mut rows = [[_mm512_setzero_si512(); 8]; PLANES];
                for number in 0..8 {
                    let Some(&read) = reads.get(number) else {
                        break;
                    };
                    let read = read as usize;
                    // SAFETY: `check` has compared the largest row with the length of the source.
                    let planes = unsafe { source.two(first_read + read, second_read + read) };
                    for (rows, plane) in rows.iter_mut().zip(planes) {
                        rows[number] = plane;
                    }
                }
                for (rows, writes) in rows.into_iter().zip(writes.chunks(8)) {
                    ahead.step();
                    for (columns, &write) in transposed(rows).into_iter().zip(writes) {
                        let at = |base: u32| eight * target_stride + (base + write) as usize;
                        // SAFETY: `check` has compared the largest offset with the length of the target.
                        unsafe {
                            if is_pair && writes_at.1 == writes_at.0 + SLOT as u32 {
                                add(target, at(writes_at.0), columns);
                                continue;
                            }
                            add_one(target, at(writes_at.0), _mm512_castsi512_si256(columns));
                            if is_pair {
                                add_one(target, at(writes_at.1), _mm512_extracti64x4_epi64::<1>(columns));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Transposes the squares of bits of all bytes: bit r of register c is bit c of register r.
#[inline(always)]
fn transposed(rows: [__m512i; 8]) -> [__m512i; 8] {
    exchanged::<1>(exchanged::<2>(exchanged::<4>(rows, 0x0f), 0x33), 0x55)
}

/// Exchanges the bits outside of `mask` of each register with those inside of it of the register `APART`
/// after it, where they are shifted by as many bits.
#[inline(always)]
fn exchanged<const APART: u32>(rows: [__m512i; 8], mask: i8) -> [__m512i; 8] {
    /// The bits of the second operand where the first one is set, and of the third one elsewhere.
    const CHOOSE: i32 = 0xca;
    let apart = APART as usize;
    // SAFETY: the callers' caller has the instructions. Bits that are shifted into the next byte are not
    // chosen.
    std::array::from_fn(|row| unsafe {
        let mask = _mm512_set1_epi8(mask);
        if row & apart == 0 {
            let right = _mm512_slli_epi16::<APART>(rows[row + apart]);
            _mm512_ternarylogic_epi64::<CHOOSE>(mask, rows[row], right)
        } else {
            let left = _mm512_srli_epi16::<APART>(rows[row - apart]);
            _mm512_ternarylogic_epi64::<CHOOSE>(mask, left, rows[row])
        }
    })
}

/// ORs a block to the one at an offset.
///
/// # Safety
/// `SLOT` bytes from the offset must lie inside `bytes`.
#[target_feature(enable = "avx512f")]
unsafe fn add_one(bytes: &mut [u8], at: usize, block: __m256i) {
    debug_assert!(at + SLOT <= bytes.len());
    // SAFETY: as the caller promises.
    unsafe {
        let place = bytes.as_mut_ptr().add(at).cast();
        _mm256_storeu_si256(place, _mm256_or_si256(_mm256_loadu_si256(place), block));
    }
}
