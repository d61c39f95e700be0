//! Dense pulls of rows of one or two words, for processors with AVX-512 BITALG.
//!
//! Layout: that of [`crate::portable`], each row in one or two `u64`.
//!
//! - The last axis stays last: `vpshufbitqmb` picks any 64 bits of a word, in any order, so one instruction
//!   permutes a word, and four permute a row of two words. Where the last axis is halved, a bit stands for one
//!   of two neighbouring indices, and the parity of the row says for which: each map is two permutations of
//!   the half rows, one for each parity.
//! - The last axis trades places with another: squares of 64 x 64 bits are transposed in registers. A byte
//!   shuffle of each eight rows makes tiles of 8 x 8 bits, a product with the unit vectors transposes the
//!   tiles (`vgf2p8affineqb`), and three rounds of interleaving bring the bytes of a column together. Halved
//!   rows are joined to halved columns as in `portable::halved`, eight words at a time.
//!
//! Both carry every state by exactly the maps of the transform, as the portable paths do, and only add states.
//! Sparse sources, subtraction and packing are those of the portable kernel.

use super::transpose::{Square, place, transpose};
use crate::kernel::{Bits, Kernel};
use crate::portable::{Meeting, Portable, Walk};
use fathom_space::{AxisMap, Shape, Transform};
use std::arch::x86_64::*;

/// Bits of a word, and rows of a square.
const SIZE: usize = 64;

/// Rows have at most so many words.
const MOST_WORDS: usize = 2;

/// The kernel for tensors of a shape; `None` if this processor or this shape is not one for it.
pub(super) fn rows(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    let is_supported = super::blocks::is_supported()
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    let fits = shape.blocks() == 1 && shape.row_bits() as usize <= MOST_WORDS * SIZE;
    (fits && is_supported).then(|| Box::new(Rows::new(shape)) as Box<dyn Kernel + Send>)
}

/// A permutation of the bits of a row, for rows of either parity.
#[derive(Clone, Debug)]
struct Picks([Pick; 2]);

/// For each word of the target the bits of the source that become its bits.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Pick {
    from: [[u8; SIZE]; MOST_WORDS],
    /// By word of the target and word of the source: the bits of the target that come from there.
    valid: [[u64; MOST_WORDS]; MOST_WORDS],
}

impl Pick {
    /// Bit j of a row becomes what was bit `from(j)`, for j below `bits`.
    fn new(bits: usize, from: impl Fn(usize) -> usize) -> Self {
        let mut pick = Self { from: [[0; SIZE]; MOST_WORDS], valid: [[0; MOST_WORDS]; MOST_WORDS] };
        for to in 0..bits {
            let from = from(to);
            pick.from[to / SIZE][to % SIZE] = (from % SIZE) as u8;
            pick.valid[to / SIZE][from / SIZE] |= 1 << (to % SIZE);
        }
        pick
    }
}

impl Picks {
    fn new(map: &AxisMap, odd: Option<&[bool]>) -> Self {
        let Some(is_odd) = odd else {
            let pick = Pick::new(map.from.len(), |to| map.from[to] as usize);
            return Self([pick.clone(), pick]);
        };
        // Of rows whose last index has this parity: which half stands in which place afterwards.
        let of_parity = |parity: bool| {
            let halves = map.to.len() / 2;
            let mut from = vec![0; halves];
            for half in 0..halves {
                let index = 2 * half + usize::from(is_odd[2 * half] != parity);
                from[map.to[index] as usize / 2] = half;
            }
            Pick::new(halves, |to| from[to])
        };
        Self([of_parity(false), of_parity(true)])
    }
}

#[derive(Debug)]
struct Rows {
    portable: Portable<u64>,
    /// By number of the axis map.
    picks: Vec<Option<Box<Picks>>>,
    walk: Walk,
    /// Along the innermost axis: the offset of a row in the source, and whether its index is odd.
    steps: Vec<(u32, bool)>,
}

impl Rows {
    fn new(shape: &Shape) -> Self {
        let (picks, steps) = (Vec::new(), Vec::new());
        Self { portable: Portable::new(shape), picks, walk: Walk::default(), steps }
    }

    fn pull_dense(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, picks, walk, steps } = self;
        let shape = &portable.shape;
        let source = Source::new(packed, shape);
        let last = transform.target.len() - 1;
        let turned = transform.maps[last];
        match Meeting::of(transform) {
            Meeting::Kept => {
                let picks = picks_of(picks, turned, &maps[turned as usize], shape.odd());
                walk.lines(shape, transform, maps, steps);
                let (odd_rows, odd) = (&portable.odd_rows[..], transform.odd);
                let parity = |row: u32| odd_rows.get(row as usize).is_some_and(|&is_odd| is_odd ^ odd);
                let lines = Lines { walk, steps, parity };
                // SAFETY: that the processor has the instructions was checked in `rows`.
                unsafe {
                    match portable.row_words {
                        1 => keep::<1, _>(&source, &mut portable.words, lines, picks),
                        _ => keep::<2, _>(&source, &mut portable.words, lines, picks),
                    }
                }
            }
            Meeting::Traded { from, to } => {
                walk.blocks(shape, transform, maps);
                let trade = Trade {
                    walk,
                    gather: &maps[transform.maps[from] as usize],
                    scatter: &maps[turned as usize],
                    strides: (shape.strides()[from], shape.strides()[to]),
                };
                // SAFETY: as above.
                unsafe {
                    match (shape.odd(), portable.row_words) {
                        (Some(is_odd), _) => {
                            let parity = |row: u32| portable.odd_rows[row as usize] ^ transform.odd;
                            trade_halved(&source, &mut portable.words, trade, is_odd, parity);
                        }
                        (None, 1) => trade_whole::<1>(&source, &mut portable.words, trade),
                        (None, _) => trade_whole::<2>(&source, &mut portable.words, trade),
                    }
                }
            }
        }
    }
}

fn picks_of<'a>(
    made: &'a mut Vec<Option<Box<Picks>>>,
    number: u32,
    map: &AxisMap,
    odd: Option<&[bool]>,
) -> &'a Picks {
    let number = number as usize;
    if made.len() <= number {
        made.resize_with(number + 1, || None);
    }
    made[number].get_or_insert_with(|| Box::new(Picks::new(map, odd)))
}

/// The rows of a packed tensor.
struct Source<'a> {
    bytes: &'a [u8],
    row_bytes: usize,
}

impl<'a> Source<'a> {
    fn new(bytes: &'a [u8], shape: &Shape) -> Self {
        Self { bytes, row_bytes: shape.row_bytes() as usize }
    }

    /// A word of a row, with bits of the next row behind the end of this one.
    #[inline(always)]
    fn word(&self, row: u32, word: usize) -> u64 {
        let at = row as usize * self.row_bytes + 8 * word;
        let bytes = &self.bytes[at..at + 8];
        u64::from_le_bytes(bytes.try_into().expect("the slice is as long as the word"))
    }
}

/// The rows of a pull whose last axis stays: lines of rows that are adjacent in the target.
struct Lines<'a, P> {
    walk: &'a Walk,
    steps: &'a [(u32, bool)],
    /// Whether the states of the first row of a line have an odd last index.
    parity: P,
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bitalg,bmi1,bmi2")]
fn keep<const WORDS: usize, P: Fn(u32) -> bool>(
    source: &Source<'_>,
    words: &mut [u64],
    lines: Lines<'_, P>,
    picks: &Picks,
) {
    let from = [0, 1].map(|parity: usize| picks.0[parity].from.each_ref().map(load));
    let valid = [0, 1].map(|parity: usize| picks.0[parity].valid);
    // The parity of a line is that of its first row in the target, but for the index of that row.
    for (&read, &write) in lines.walk.source.iter().zip(&lines.walk.target) {
        let line = (lines.parity)(read);
        let targets = &mut words[write as usize * WORDS..][..lines.steps.len() * WORDS];
        for (row, &(step, is_odd)) in targets.chunks_exact_mut(WORDS).zip(lines.steps) {
            let parity = usize::from(line ^ is_odd);
            let at = read + step;
            for (to, word) in row.iter_mut().enumerate() {
                for part in 0..WORDS {
                    let bits = _mm512_set1_epi64(source.word(at, part) as i64);
                    *word |=
                        _mm512_mask_bitshuffle_epi64_mask(valid[parity][to][part], bits, from[parity][to]);
                }
            }
        }
    }
}

/// The rows of a pull whose last axis trades places with another one.
struct Trade<'a> {
    /// The rows with index 0 along the axes that trade.
    walk: &'a Walk,
    gather: &'a AxisMap,
    scatter: &'a AxisMap,
    /// Of the axis of the source that becomes the last, and of that of the target that the last becomes.
    strides: (u32, u32),
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn trade_whole<const WORDS: usize>(source: &Source<'_>, words: &mut [u64], trade: Trade<'_>) {
    let Trade { walk, gather, scatter, strides: (from_stride, to_stride) } = trade;
    let mut square = Square::default();
    for (&read, &write) in walk.source.iter().zip(&walk.target) {
        for (target_word, from) in gather.from.chunks(SIZE).enumerate() {
            for (source_word, to) in scatter.to.chunks(SIZE).enumerate() {
                let columns = transpose(|row| {
                    from.get(row).map_or(0, |&index| source.word(read + index * from_stride, source_word))
                });
                square.store(columns);
                for (column, &index) in to.iter().enumerate() {
                    let target = (write + index * to_stride) as usize * WORDS + target_word;
                    words[target] |= square.0[place(column)];
                }
            }
        }
    }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn trade_halved<P: Fn(u32) -> bool>(
    source: &Source<'_>,
    words: &mut [u64],
    trade: Trade<'_>,
    is_odd: &[bool],
    parity: P,
) {
    let Trade { walk, gather, scatter, strides: (from_stride, to_stride) } = trade;
    let pairs: &[[u32; 2]] = gather.from.as_chunks().0;
    // Of each index along the last axis of the source: where its row of the target lies, and where the words
    // of its parity do.
    let scattered = |index: usize| {
        let parity = if is_odd[index] { SIZE } else { 0 };
        (scatter.to[index] * to_stride, (parity + place(index / 2)) as u32)
    };
    let scattered: Vec<(u32, u32)> = (0..scatter.to.len()).map(scattered).collect();
    // By place of each pair: whether its two rows, but for the line's own parity, have an odd last index.
    let mask = |which: usize| {
        pairs
            .iter()
            .enumerate()
            .fold(0_u64, |mask, (number, pair)| mask | u64::from(is_odd[pair[which] as usize]) << number)
    };
    let masks = [mask(0), mask(1)];
    let mut both = [Square::default(), Square::default()];
    for (&read, &write) in walk.source.iter().zip(&walk.target) {
        let half = |which: usize| {
            move |row: usize| {
                pairs.get(row).map_or(0, |pair| source.word(read + pair[which] * from_stride, 0))
            }
        };
        let (first, second) = (transpose(half(0)), transpose(half(1)));
        let flip = if parity(read) { u64::MAX } else { 0 };
        // Index 0 along the axis that is gathered is even.
        let odd = masks.map(|mask| _mm512_set1_epi64((mask ^ flip) as i64));
        let mut even = first;
        let mut uneven = first;
        for group in 0..8 {
            let (a, b) = (first[group], second[group]);
            // (a and not odd[0]) or (b and not odd[1]).
            even[group] = _mm512_or_si512(_mm512_andnot_si512(odd[0], a), _mm512_andnot_si512(odd[1], b));
            uneven[group] = _mm512_or_si512(_mm512_and_si512(odd[0], a), _mm512_and_si512(odd[1], b));
        }
        both[0].store(even);
        both[1].store(uneven);
        for &(offset, place) in &scattered {
            let place = place as usize;
            words[(write + offset) as usize] |= both[place / SIZE].0[place % SIZE];
        }
    }
}

#[inline(always)]
fn load(bytes: &[u8; SIZE]) -> __m512i {
    // SAFETY: the array has 64 bytes, and the load asks for no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
fn subtract(kernel: &mut Portable<u64>, known: Bits<'_>) {
    kernel.subtract(known);
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
fn pack(kernel: &mut Portable<u64>, packed: &mut [u8]) -> u32 {
    kernel.pack(packed)
}

impl Kernel for Rows {
    fn clear(&mut self) {
        self.portable.clear();
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        match source {
            Bits::Dense(packed) => self.pull_dense(packed, transform, maps),
            Bits::Empty | Bits::Sparse(_) => self.portable.pull(source, transform, maps),
        }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        // SAFETY: as in `pull_dense`.
        unsafe { subtract(&mut self.portable, known) }
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        // SAFETY: as in `pull_dense`.
        unsafe { pack(&mut self.portable, packed) }
    }
}
