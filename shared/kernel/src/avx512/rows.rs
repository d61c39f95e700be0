//! Dense pulls of rows of one or two words, for processors with AVX-512 BITALG.
//!
//! Layout: that of [`crate::portable`], each row in one or two `u64`.
//!
//! - The last axis stays last: `vpshufbitqmb` picks any 64 bits of a word, in any order, so one instruction
//!   permutes a word, and four permute a row of two words. Where the last axis is halved, a bit represents
//!   one of two neighbouring indices, and the parity of the row determines which: each map is two
//!   permutations of the half rows, one for each parity.
//! - The last axis trades places with another: squares of 64 x 64 bits are transposed in registers. A byte
//!   shuffle of each eight rows forms tiles of 8 x 8 bits, a product with the unit vectors transposes the
//!   tiles (`vgf2p8affineqb`), and three rounds of interleaving bring the bytes of a column together. Halved
//!   rows are joined to halved columns as in `portable::half_axis`, eight words at a time.
//!
//! Both carry every state by exactly the maps of the transform, like the portable code, and only add states.
//! The portable kernel handles sparse sources.
//!
//! Measurements: `docs/performance.md`.

use super::transpose::{Square, place, transpose};
use crate::kernel::{Bits, Kernel};
use crate::portable::{Meeting, Portable, Walk};
use fathom_space::{AxisMap, Shape, Transform};
use std::arch::x86_64::*;

/// Bits of a word, and rows of a square.
const SIZE: usize = 64;

/// The largest number of words of a row.
const MAX_WORDS: usize = 2;

/// Returns the kernel for tensors of a shape; `None` if the shape does not fit, or this processor lacks the
/// instructions.
pub(super) fn rows(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    let is_supported = super::blocks::is_supported()
        && is_x86_feature_detected!("avx512bitalg")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2");
    let fits = shape.is_whole() && shape.row_bits() as usize <= MAX_WORDS * SIZE;
    (fits && is_supported).then(|| Box::new(Rows::new(shape)) as Box<dyn Kernel + Send>)
}

/// A permutation of the bits of a row, for each parity of the row.
#[derive(Clone, Debug)]
struct Picks([Pick; 2]);

/// The bits of the source that become the bits of each word of the target.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Pick {
    from: [[u8; SIZE]; MAX_WORDS],
    /// For each word of the target and each word of the source, the bits of the target that come from there.
    valid: [[u64; MAX_WORDS]; MAX_WORDS],
}

impl Pick {
    /// Creates the pick after which bit j of a row is the old bit `from(j)`, for j below `bits`.
    fn new(bits: usize, from: impl Fn(usize) -> usize) -> Self {
        let mut pick = Self { from: [[0; SIZE]; MAX_WORDS], valid: [[0; MAX_WORDS]; MAX_WORDS] };
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
        // For rows whose last index has this parity, finds the half that comes to each place.
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
    /// The picks of each axis map, by the number of the map.
    picks: Vec<Option<Box<Picks>>>,
    walk: Walk,
    /// For each row along the innermost axis, by parity of its index in the source: its offset in the
    /// source, and its index in the target.
    steps: [Vec<(u32, u32)>; 2],
}

impl Rows {
    fn new(shape: &Shape) -> Self {
        let (picks, steps) = (Vec::new(), [Vec::new(), Vec::new()]);
        Self { portable: Portable::new(shape), picks, walk: Walk::default(), steps }
    }

    fn pull_dense(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, picks, walk, steps } = self;
        let shape = &portable.shape;
        let source = Source::new(packed, shape);
        let last = transform.target.len() - 1;
        let turned = transform.maps[last];
        match Meeting::new(transform) {
            Meeting::Kept => {
                let picks = picks_of(picks, turned, &maps[turned as usize], shape.odd());
                walk.lines(shape, transform, maps, steps);
                steps.iter_mut().flatten().for_each(|(row, _)| *row = source.at(*row) as u32);
                let (odd_rows, odd) = (&portable.odd_rows[..], transform.odd);
                let parity = |row: u32| odd_rows.get(row as usize).is_some_and(|&is_odd| is_odd ^ odd);
                let lines = Lines { walk, steps, parity };
                // SAFETY: `rows` has checked that the processor has the instructions.
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

    /// Returns the offset of a row in bytes.
    fn at(&self, row: u32) -> usize {
        row as usize * self.row_bytes
    }

    /// Panics unless `words` words from each sum of a base and a step lie inside the tensor. Bases are
    /// numbers of rows, and steps are offsets in bytes.
    fn check(&self, bases: &[u32], steps: impl Iterator<Item = u32>, words: usize) {
        let last = self.at(largest(bases.iter().copied())) + largest(steps) as usize;
        assert!(last + 8 * words <= self.bytes.len(), "the rows lie inside the tensor");
    }

    /// Returns the word at an offset. After the end of a row, the word has bits of the next row.
    ///
    /// # Safety
    /// Eight bytes from the offset must lie inside the tensor.
    #[inline(always)]
    unsafe fn word(&self, at: usize) -> u64 {
        // SAFETY: the caller guarantees the range, and the read needs no alignment.
        unsafe { self.bytes.as_ptr().add(at).cast::<u64>().read_unaligned() }
    }
}

fn largest(numbers: impl Iterator<Item = u32>) -> u32 {
    numbers.max().unwrap_or(0)
}

/// The rows of a pull whose last axis stays: lines of rows that are adjacent in the target.
struct Lines<'a, P> {
    walk: &'a Walk,
    /// For each row of a line, its offset in the source and its number in the line: first the rows whose
    /// last index has the same parity as in the row where the line begins in the source, then the
    /// others.
    steps: &'a [Vec<(u32, u32)>; 2],
    /// Whether the states of the row where a line begins in the source have an odd last index.
    parity: P,
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512bitalg,bmi1,bmi2")]
fn keep<const WORDS: usize, P: Fn(u32) -> bool>(
    source: &Source<'_>,
    words: &mut [u64],
    lines: Lines<'_, P>,
    picks: &Picks,
) {
    source.check(&lines.walk.source, lines.steps.iter().flatten().map(|step| step.0), WORDS);
    let length = lines.steps.iter().map(Vec::len).sum::<usize>();
    assert!((largest(lines.steps.iter().flatten().map(|step| step.1)) as usize) < length);
    let from = [0, 1].map(|parity: usize| picks.0[parity].from.each_ref().map(load));
    let valid = [0, 1].map(|parity: usize| picks.0[parity].valid);
    for (&read, &write) in lines.walk.source.iter().zip(&lines.walk.target) {
        let line = (lines.parity)(read);
        let read = source.at(read);
        let targets = &mut words[write as usize * WORDS..][..length * WORDS];
        let targets = targets.as_chunks_mut::<WORDS>().0;
        for (steps, is_odd) in lines.steps.iter().zip([false, true]) {
            let parity = usize::from(line ^ is_odd);
            let (from, valid) = (from[parity], valid[parity]);
            for &(step, target) in steps {
                // SAFETY: `check` has compared the largest offsets with the length of the tensor, and the
                // targets are those of a line, which has `length` rows.
                let (parts, row): ([u64; WORDS], _) = unsafe {
                    let at = read + step as usize;
                    let parts = std::array::from_fn(|part| source.word(at + 8 * part));
                    (parts, targets.get_unchecked_mut(target as usize))
                };
                for (to, word) in row.iter_mut().enumerate() {
                    for (part, bits) in parts.into_iter().enumerate() {
                        let bits = _mm512_set1_epi64(bits as i64);
                        *word |= _mm512_bitshuffle_epi64_mask(bits, from[to]) & valid[to][part];
                    }
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
    /// The strides of the axis of the source that becomes last, and of the axis of the target that the last
    /// one becomes.
    strides: (u32, u32),
}

impl Trade<'_> {
    /// Returns the offsets of rows along the axis of the source that becomes last. There are always 64;
    /// missing rows get the offset 0.
    fn reads(&self, source: &Source<'_>, indices: impl Iterator<Item = u32>) -> [u32; SIZE] {
        let mut reads = [0; SIZE];
        for (read, index) in reads.iter_mut().zip(indices) {
            *read = source.at(index * self.strides.0) as u32;
        }
        reads
    }

    /// Panics unless the words at each sum of a row of the walk and an offset lie inside the target. Offsets
    /// are in words.
    fn check(&self, words: &[u64], row_words: usize, offsets: impl Iterator<Item = u32>) {
        let last = largest(self.walk.target.iter().copied()) as usize * row_words;
        assert!(last + (largest(offsets) as usize) < words.len(), "the words lie inside the target");
    }
}

/// Returns a word with its lowest `bits` bits set.
fn low(bits: usize) -> u64 {
    if bits < SIZE { (1 << bits) - 1 } else { u64::MAX }
}

#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn trade_whole<const WORDS: usize>(source: &Source<'_>, words: &mut [u64], trade: Trade<'_>) {
    let mut square = Square::default();
    for (target_word, from) in trade.gather.from.chunks(SIZE).enumerate() {
        let reads = trade.reads(source, from.iter().copied());
        let valid = _mm512_set1_epi64(low(from.len()) as i64);
        for (source_word, to) in trade.scatter.to.chunks(SIZE).enumerate() {
            let writes = to.iter().zip(0..).map(|(&index, column)| {
                (index * trade.strides.1 * WORDS as u32 + target_word as u32, place(column) as u32)
            });
            let writes: Vec<(u32, u32)> = writes.collect();
            source.check(&trade.walk.source, reads.iter().map(|read| read + 8 * source_word as u32), 1);
            trade.check(words, WORDS, writes.iter().map(|write| write.0));
            for (&read, &write) in trade.walk.source.iter().zip(&trade.walk.target) {
                let read = source.at(read) + 8 * source_word;
                // SAFETY: `check` has compared the largest offsets with the length of the tensor.
                let columns = transpose(|row| unsafe { source.word(read + reads[row] as usize) });
                square.store(columns.map(|words| _mm512_and_si512(words, valid)));
                for &(offset, place) in &writes {
                    // SAFETY: `check` has compared the largest offsets with the length of the target, and
                    // places are below 64.
                    unsafe {
                        *words.get_unchecked_mut(write as usize * WORDS + offset as usize) |=
                            *square.0.get_unchecked(place as usize);
                    }
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
    // The pairs of neighbours along the axis that becomes last: first the first ones, then the second ones.
    let pairs: &[[u32; 2]] = trade.gather.from.as_chunks().0;
    let reads = [0, 1].map(|which: usize| trade.reads(source, pairs.iter().map(|pair| pair[which])));
    // Masks of the rows with an odd last index, if the last index is even in the row where all these indices
    // are 0.
    let odd = [0, 1].map(|which: usize| {
        let bits = pairs.iter().zip(0..).map(|(pair, bit)| u64::from(is_odd[pair[which] as usize]) << bit);
        bits.sum::<u64>()
    });
    let valid = low(pairs.len());
    // For each index along the last axis of the source, the offset of its row in the target, and its word in
    // the two squares: the first for even indices, the second for odd ones.
    let write = |(index, &to): (usize, &u32)| {
        let of_parity = if is_odd[index] { SIZE } else { 0 };
        (to * trade.strides.1, (of_parity + place(index / 2)) as u32)
    };
    let writes: Vec<(u32, u32)> = trade.scatter.to.iter().enumerate().map(write).collect();
    source.check(&trade.walk.source, reads.iter().flatten().copied(), 1);
    trade.check(words, 1, writes.iter().map(|write| write.0));
    let mut both = [Square::default(), Square::default()];
    for (&read, &write) in trade.walk.source.iter().zip(&trade.walk.target) {
        let odd = if parity(read) { odd.map(|mask| mask ^ valid) } else { odd };
        let at = source.at(read);
        // SAFETY: `check` has compared the largest offsets with the length of the tensor.
        let half = |which: usize| transpose(|row| unsafe { source.word(at + reads[which][row] as usize) });
        let (first, second) = (half(0), half(1));
        for (square, masks) in both.iter_mut().zip([odd.map(|mask| mask ^ valid), odd]) {
            let [first_mask, second_mask] = masks.map(|mask| _mm512_set1_epi64(mask as i64));
            square.store(std::array::from_fn(|group| {
                let (a, b) = (first[group], second[group]);
                _mm512_or_si512(_mm512_and_si512(a, first_mask), _mm512_and_si512(b, second_mask))
            }));
        }
        let both = both.as_ptr().cast::<u64>();
        for &(offset, place) in &writes {
            // SAFETY: `check` has compared the largest offsets with the length of the target, and places are
            // below 128, the words of two squares.
            unsafe { *words.get_unchecked_mut((write + offset) as usize) |= *both.add(place as usize) };
        }
    }
}

#[inline(always)]
fn load(bytes: &[u8; SIZE]) -> __m512i {
    // SAFETY: the array has 64 bytes, and the load needs no alignment.
    unsafe { _mm512_loadu_si512(bytes.as_ptr().cast()) }
}

/// Removes the states of a packed tensor.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2")]
fn subtract<const WORDS: usize>(source: &Source<'_>, words: &mut [u64]) {
    let rows = words.as_chunks_mut::<WORDS>().0;
    source.check(&[rows.len() as u32 - 1], std::iter::empty(), WORDS);
    for (row, number) in rows.iter_mut().zip(0..) {
        for (part, word) in row.iter_mut().enumerate() {
            // SAFETY: `check` has compared the end of the last row with the length of the tensor.
            *word &= !unsafe { source.word(source.at(number) + 8 * part) };
        }
    }
}

/// Packs rows of `row_bytes` bytes, and returns the number of states. Whole words are written; the excess
/// bytes of each are zero, and the next row overwrites them.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,bmi1,bmi2,popcnt")]
fn pack<const WORDS: usize>(words: &[u64], row_bytes: usize, packed: &mut [u8]) -> u32 {
    let mut states = 0;
    for (row, words) in words.as_chunks::<WORDS>().0.iter().enumerate() {
        for (part, word) in words.iter().enumerate() {
            states += word.count_ones();
            let (bytes, behind) = (word.to_le_bytes(), &mut packed[row * row_bytes + 8 * part..]);
            match behind.first_chunk_mut() {
                Some(eight) => *eight = bytes,
                None => behind.copy_from_slice(&bytes[..behind.len()]),
            }
        }
    }
    states
}

impl Kernel for Rows {
    fn drop_maps(&mut self) {
        self.portable.drop_maps();
        self.picks.clear();
    }

    fn map_bytes(&self) -> usize {
        self.portable.map_bytes()
    }

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
        let Portable { shape, words, row_words, .. } = &mut self.portable;
        match (known, *row_words) {
            // SAFETY: as in `pull_dense`.
            (Bits::Dense(packed), 1) => unsafe { subtract::<1>(&Source::new(packed, shape), words) },
            // SAFETY: as in `pull_dense`.
            (Bits::Dense(packed), _) => unsafe { subtract::<2>(&Source::new(packed, shape), words) },
            _ => self.portable.subtract(known),
        }
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        let Portable { shape, words, row_words, .. } = &self.portable;
        let row_bytes = shape.row_bytes() as usize;
        // SAFETY: as in `pull_dense`.
        unsafe {
            match row_words {
                1 => pack::<1>(words, row_bytes, packed),
                _ => pack::<2>(words, row_bytes, packed),
            }
        }
    }
}
