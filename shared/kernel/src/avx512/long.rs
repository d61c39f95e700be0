//! Dense pulls of rows of many words whose last axis stays last, for processors with AVX-512 VBMI.
//!
//! Layout: that of [`crate::portable`], each row in several `u64`.
//!
//! For each bit of the target, the map gives the byte of the source row that has the bit, and the place of
//! the bit in that byte. A shuffle collects 64 such bytes out of 128 (`vpermi2b`), and one test against 64
//! bytes of one bit each turns them into a word of the target (`vptestmb`). A row of more than 128 bytes is
//! processed in *pieces* of that length, each with a mask of the bits that come from it. The portable kernel
//! handles rows that trade places, and sparse sources.
//!
//! Every state is carried by exactly the map of the transform, because each bit of the target is taken from
//! the one bit that the map names; states are only ever added.
//!
//! Cost of a word: two loads, a shuffle, a test and an OR for each piece. The portable kernel transposes rows
//! instead, or fetches bit by bit (`docs/performance.md`).

use crate::kernel::{Bits, Kernel};
use crate::portable::{Meeting, Portable, Walk};
use fathom_space::{AxisMap, Shape, Transform};
use std::arch::x86_64::*;

/// Bits of a word of the target, and bytes of a register.
const SIZE: usize = 64;

/// Bytes of a piece: two registers.
const PIECE: usize = 2 * SIZE;

/// The largest number of pieces of a row: longer rows are as fast by transposition.
const MOST_PIECES: usize = 8;

/// Returns the kernel for tensors of a shape; `None` if the shape does not fit, or this processor lacks the
/// instructions.
pub(super) fn long(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    let words = 3..=MOST_PIECES * PIECE * 8 / SIZE;
    let fits = shape.blocks() == 1 && words.contains(&(shape.row_bits() as usize).div_ceil(SIZE));
    let is_supported = super::blocks::is_supported();
    (fits && is_supported).then(|| Box::new(Long::new(shape)) as Box<dyn Kernel + Send>)
}

/// The origin of the 64 bits of a word of the target: for each bit, its byte within a piece, and a byte in
/// which only the bit to be tested is set.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Picks {
    bytes: [u8; SIZE],
    bits: [u8; SIZE],
    /// For each piece, the bits of the word that come from it.
    pieces: [u64; MOST_PIECES],
}

impl Picks {
    /// Makes the picks after which bit j of the word is bit `from[j]` of the source row.
    fn new(from: &[u32]) -> Self {
        let mut picks = Self { bytes: [0; SIZE], bits: [0; SIZE], pieces: [0; MOST_PIECES] };
        for (to, &from) in from.iter().enumerate() {
            let (byte, bit) = (from as usize / 8, from % 8);
            picks.bytes[to] = (byte % PIECE) as u8;
            picks.bits[to] = 1 << bit;
            picks.pieces[byte / PIECE] |= 1 << to;
        }
        picks
    }
}

#[derive(Debug)]
struct Long {
    portable: Portable<u64>,
    /// The picks of each axis map, by number of the map and by word of the target.
    picks: Vec<Option<Box<[Picks]>>>,
    walk: Walk,
}

impl Long {
    fn new(shape: &Shape) -> Self {
        Self { portable: Portable::new(shape), picks: Vec::new(), walk: Walk::default() }
    }

    fn pull_dense(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, picks, walk } = self;
        let number = *transform.maps.last().expect("a transform has an axis") as usize;
        if picks.len() <= number {
            picks.resize(number + 1, None);
        }
        let picks =
            picks[number].get_or_insert_with(|| maps[number].from.chunks(SIZE).map(Picks::new).collect());
        walk.blocks(&portable.shape, transform, maps);
        let row_bytes = portable.shape.row_bytes() as usize;
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            let row = &packed[source as usize * row_bytes..][..row_bytes];
            let words = &mut portable.words[target as usize * portable.row_words..][..portable.row_words];
            // SAFETY: `long` has checked that the processor has the instructions.
            unsafe { keep(row, words, picks) }
        }
    }
}

/// Adds the permuted bits of a row to the words of another.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi")]
fn keep(row: &[u8], words: &mut [u64], picks: &[Picks]) {
    for (number, piece) in row.chunks(PIECE).enumerate() {
        let (first, second) = piece.split_at(piece.len().min(SIZE));
        let [first, second] = [first, second].map(|bytes| load(bytes));
        for (word, picks) in words.iter_mut().zip(picks) {
            let (bytes, bits) = (load(&picks.bytes), load(&picks.bits));
            let brought = _mm512_permutex2var_epi8(first, bytes, second);
            *word |= _mm512_mask_test_epi8_mask(picks.pieces[number], brought, bits);
        }
    }
}

/// Loads up to 64 bytes, followed by zeros.
#[target_feature(enable = "avx512f,avx512bw")]
fn load(bytes: &[u8]) -> __m512i {
    assert!(bytes.len() <= SIZE);
    let there = if bytes.len() < SIZE { (1 << bytes.len()) - 1 } else { u64::MAX };
    // SAFETY: the load does not read bytes outside the mask, and needs no alignment.
    unsafe { _mm512_maskz_loadu_epi8(there, bytes.as_ptr().cast()) }
}

impl Kernel for Long {
    fn clear(&mut self) {
        self.portable.clear();
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        match (source, Meeting::of(transform)) {
            (Bits::Dense(packed), Meeting::Kept) => self.pull_dense(packed, transform, maps),
            _ => self.portable.pull(source, transform, maps),
        }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        self.portable.subtract(known);
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        self.portable.pack(packed)
    }
}
