//! Dense pulls of rows of many words, for processors with AVX-512 VBMI and GFNI.
//!
//! Layout: that of [`crate::portable`], each row in several `u64`. The portable kernel handles sparse
//! sources.
//!
//! There are three methods, all of which take each bit of the target from the one bit that the maps
//! determine:
//! - *Picks*, if the last axis stays last and rows are not too long. For each bit of the target, the map
//!   gives the byte of the source row that has the bit, and the place of the bit in that byte. A shuffle
//!   collects 64 such bytes out of 128 (`vpermi2b`), and one test against 64 bytes of one bit each turns them
//!   into a word of the target (`vptestmb`). A row of more than 128 bytes is processed in *pieces* of that
//!   length, each with a mask of the bits that come from it.
//! - *Columns*, if the last axis stays last and rows are longer. Squares of 64 rows are transposed, so
//!   that each bit of the last axis is a word, the words are put into the order of the target, and squares
//!   are transposed back.
//! - *Trades*, if the last axis trades places with another one: each square of 64 x 64 bits of the two axes
//!   is gathered by the map along one, transposed, and scattered by the map along the other. The squares of
//!   the two axes are processed for one pair of the other indices after another, so that the rows stay in the
//!   cache.
//!
//! Cost of a word of the target: two loads, a shuffle, a test and an OR for each piece; or two transpositions
//! of a square for 64 words; or one, with 64 loads and 64 stores (`docs/performance.md`).

use super::transpose::{Square, column_at, columns, place, tile, transpose, words_of};
use crate::kernel::{Bits, Kernel};
use crate::portable::{Meeting, Portable, Walk};
use fathom_space::{AxisMap, Shape, Transform};
use std::arch::x86_64::*;

/// Bits of a word of the target, and bytes of a register.
const SIZE: usize = 64;

/// Words of a cache line.
const WORDS: usize = 8;

/// Bytes of a piece: two registers.
const PIECE: usize = 2 * SIZE;

/// The largest number of pieces of a row whose bits are picked.
const MAX_PIECES: usize = 8;

/// The largest number of pieces of a row whose bits are picked if there are enough rows for squares.
const FEW_PIECES: usize = 2;

/// Returns the kernel for tensors of a shape; `None` if the shape does not fit, or this processor lacks the
/// instructions.
pub(super) fn long(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    let fits = shape.is_whole() && shape.odd().is_none() && shape.row_bits() as usize > 2 * SIZE;
    let is_supported = super::blocks::is_supported();
    (fits && is_supported).then(|| Box::new(Long::new(shape)) as Box<dyn Kernel + Send>)
}

/// The sources of the 64 bits of a word of the target: for each bit, its byte within a piece, and a byte in
/// which only the bit to be tested is set.
#[derive(Clone, Debug)]
#[repr(align(64))]
struct Picks {
    bytes: [u8; SIZE],
    bits: [u8; SIZE],
    /// For each piece, the bits of the word that come from it.
    pieces: [u64; MAX_PIECES],
}

impl Picks {
    /// Creates the picks after which bit j of the word is bit `from[j]` of the source row.
    fn new(from: &[u32]) -> Self {
        let mut picks = Self { bytes: [0; SIZE], bits: [0; SIZE], pieces: [0; MAX_PIECES] };
        for (to, &from) in from.iter().enumerate() {
            let (byte, bit) = (from as usize / 8, from % 8);
            picks.bytes[to] = (byte % PIECE) as u8;
            picks.bits[to] = 1 << bit;
            picks.pieces[byte / PIECE] |= 1 << to;
        }
        picks
    }
}

/// The method of a dense pull whose last axis stays last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kept {
    Picks,
    Columns,
    Portable,
}

impl Kept {
    /// Returns the fastest method for tensors of a shape.
    fn new(shape: &Shape) -> Self {
        let pieces = (shape.row_bits() as usize).div_ceil(8 * PIECE);
        match shape.rows() as usize >= SIZE {
            true if pieces > FEW_PIECES => Self::Columns,
            false if pieces > MAX_PIECES => Self::Portable,
            _ => Self::Picks,
        }
    }
}

#[derive(Debug)]
struct Long {
    portable: Portable<u64>,
    kept: Kept,
    /// The picks of each axis map, by number of the map and by word of the target.
    picks: Vec<Option<Box<[Picks]>>>,
    /// For each word of the target, the places of its columns, by number of the map.
    columns: Vec<Option<Box<[Columns]>>>,
    /// The columns of 64 rows: a square for each word of a row, and an empty one.
    squares: Vec<Square>,
    /// Squares on their way to the target: those of trades, by word of the source and by place in the target.
    /// Columns use the first eight.
    ready: Box<[[Square; WORDS]; WORDS]>,
    /// The offsets of rows that become bits of a row, in the order of the target.
    reads: Vec<usize>,
    walk: Walk,
}

impl Long {
    fn new(shape: &Shape) -> Self {
        Self {
            portable: Portable::new(shape),
            kept: Kept::new(shape),
            picks: Vec::new(),
            columns: Vec::new(),
            squares: Vec::new(),
            ready: Box::default(),
            reads: Vec::new(),
            walk: Walk::default(),
        }
    }

    fn keep_by_picks(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, picks, walk, .. } = self;
        let (number, map) = last_map(transform, maps);
        let picks = entry(picks, number, || map.from.chunks(SIZE).map(Picks::new).collect());
        walk.blocks(&portable.shape, transform, maps);
        let row_bytes = portable.shape.row_bytes() as usize;
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            let row = &packed[source as usize * row_bytes..][..row_bytes];
            let words = &mut portable.words[target as usize * portable.row_words..][..portable.row_words];
            // SAFETY: `long` has checked that the processor has the instructions.
            unsafe { keep(row, words, picks) }
        }
    }

    fn keep_by_columns(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, columns, squares, ready, walk, .. } = self;
        let (number, map) = last_map(transform, maps);
        walk.blocks(&portable.shape, transform, maps);
        let (row_bytes, row_words) = (portable.shape.row_bytes() as usize, portable.row_words);
        let columns = entry(columns, number, || columns_of(map, row_words));
        // The last square stays empty, for the columns that complete the last word of a row.
        squares.resize(row_words + 1, Square::default());
        let rows_of = |sources: &[u32]| -> [usize; SIZE] {
            std::array::from_fn(|number| sources.get(number).map_or(0, |&row| row as usize * row_bytes))
        };
        let mut rows = rows_of(&walk.source);
        for (number, targets) in walk.target.chunks(SIZE).enumerate() {
            let later = rows_of(&walk.source[((number + 1) * SIZE).min(walk.source.len())..]);
            let targets: Vec<usize> = targets.iter().map(|&row| row as usize * row_words).collect();
            // SAFETY: `long` has checked that the processor has the instructions.
            unsafe {
                let source = (packed, row_bytes, (&rows, &later));
                keep_columns(source, (columns, squares), &mut ready[0], (&mut portable.words, &targets));
            }
            rows = later;
        }
    }

    fn trade(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap], (from, to): (usize, usize)) {
        let Self { portable, ready, reads, walk, .. } = self;
        walk.blocks(&portable.shape, transform, maps);
        let (shape, words, row_words) = (&portable.shape, &mut portable.words[..], portable.row_words);
        let gather = &maps[transform.maps[from] as usize].from;
        let row_bytes = shape.row_bytes() as usize;
        reads.clear();
        reads.extend(gather.iter().map(|&index| (index * shape.strides()[from]) as usize * row_bytes));
        // Squares are complete: missing rows are replaced by those of index 0, and omitted later.
        reads.resize(reads.len().next_multiple_of(SIZE), 0);
        let last = u64::MAX >> (reads.len() - gather.len());
        let scatter = (&*last_map(transform, maps).1.to, shape.strides()[to]);
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            let rows = (&packed[source as usize * row_bytes..], row_bytes, reads.as_chunks().0, last);
            // SAFETY: `long` has checked that the processor has the instructions.
            unsafe { trade(rows, ready, (words, row_words), (target, scatter)) }
        }
    }
}

/// The words of 64 columns, among those of all squares.
type Columns = [u32; SIZE];

/// Returns the places of the columns of each word of the target. Columns after the last one are in an empty
/// square, whose number is the number of words of a row.
fn columns_of(map: &AxisMap, row_words: usize) -> Box<[Columns]> {
    let place_of = |&index: &u32| index / SIZE as u32 * SIZE as u32 + place(index as usize % SIZE) as u32;
    let of_word =
        |from: &[u32]| std::array::from_fn(|at| from.get(at).map_or((row_words * SIZE) as u32, place_of));
    map.from.chunks(SIZE).map(of_word).collect()
}

/// Returns the number of the map along the last axis of the source, and the map.
fn last_map<'m>(transform: &Transform, maps: &'m [AxisMap]) -> (usize, &'m AxisMap) {
    let number = *transform.maps.last().expect("a transform has an axis") as usize;
    (number, &maps[number])
}

/// Returns an entry of a list, which is computed on first use.
fn entry<T: Clone>(entries: &mut Vec<Option<T>>, number: usize, make: impl FnOnce() -> T) -> &T {
    if entries.len() <= number {
        entries.resize(number + 1, None);
    }
    entries[number].get_or_insert_with(make)
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

/// Prefetches the cache line of element `at` of a slice; the element need not exist.
#[inline(always)]
fn prefetch<T>(slice: &[T], at: usize) {
    // SAFETY: a prefetch has no observable effect, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(slice.as_ptr().wrapping_add(at).cast()) };
}

/// Transposes up to eight words of 64 rows, of `bytes` bytes together: a square for each word. `rows` has the
/// offsets of the rows, and the words begin at byte `at` of a row.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
#[inline]
fn read_squares<'s>(
    (packed, rows, at, bytes): (&[u8], &[usize; SIZE], usize, usize),
    squares: impl Iterator<Item = &'s mut Square>,
) {
    let mut tiles = [[_mm512_setzero_si512(); WORDS]; WORDS];
    for (group, rows) in rows.as_chunks::<WORDS>().0.iter().enumerate() {
        let words = words_of(rows.map(|row| load(&packed[row + at..row + at + bytes])));
        for (tiles, word) in tiles.iter_mut().zip(words) {
            tiles[group] = tile(word);
        }
    }
    for (square, tiles) in squares.zip(tiles) {
        square.store(columns(tiles));
    }
}

/// Adds the columns of up to eight squares to up to 64 rows of the target, side by side. `targets` has the
/// first word of each row, and `first` is added to it.
#[target_feature(enable = "avx512f")]
#[inline]
fn add_squares(squares: &[Square], words: &mut [u64], targets: &[usize], first: usize) {
    let there = u8::MAX >> (WORDS - squares.len());
    for group in 0..WORDS {
        let columns = words_of(std::array::from_fn(|word| match squares.get(word) {
            // SAFETY: eight words are as long as a register, and the load needs no alignment.
            Some(square) => unsafe { _mm512_loadu_si512(square.0[group * WORDS..][..WORDS].as_ptr().cast()) },
            None => _mm512_setzero_si512(),
        }));
        for (number, column) in columns.into_iter().enumerate() {
            let Some(&at) = targets.get(column_at(group * WORDS + number)) else { continue };
            let words = words[at + first..at + first + squares.len()].as_mut_ptr().cast();
            // SAFETY: the load and the store touch no words outside the mask, and need no alignment.
            unsafe {
                if there == u8::MAX {
                    _mm512_storeu_si512(words, _mm512_or_si512(_mm512_loadu_si512(words), column));
                } else {
                    let words = words.cast();
                    let before = _mm512_maskz_loadu_epi64(there, words);
                    _mm512_mask_storeu_epi64(words, there, _mm512_or_si512(before, column));
                }
            }
        }
    }
}

/// Adds the permuted bits of up to 64 rows of `row_bytes` bytes to others. `rows` has the offsets of the rows
/// of the source, and `later` of those that are processed next: both they and the rows of the target are
/// prefetched. `targets` has the first word of each row of the target.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn keep_columns(
    (packed, row_bytes, (rows, later)): (&[u8], usize, (&[usize; SIZE], &[usize; SIZE])),
    (columns, squares): (&[Columns], &mut [Square]),
    back: &mut [Square; WORDS],
    (words, targets): (&mut [u64], &[usize]),
) {
    let (empty, full) = squares.split_last_mut().expect("there is an empty square");
    *empty = Square::default();
    for (number, squares) in full.chunks_mut(WORDS).enumerate() {
        targets.iter().for_each(|&row| prefetch(words, row + number * WORDS));
        let at = number * SIZE;
        read_squares((packed, rows, at, (row_bytes - at).min(SIZE)), squares.iter_mut());
    }
    let from: &[u64] = Square::words(squares);
    for (number, columns) in columns.chunks(WORDS).enumerate() {
        later.iter().for_each(|&row| prefetch(packed, row + number * SIZE));
        let back = &mut back[..columns.len()];
        for (back, columns) in back.iter_mut().zip(columns) {
            back.store(transpose(|column| from[columns[column] as usize]));
        }
        add_squares(back, words, targets, number * WORDS);
    }
}

/// Adds the transposed square of two axes, of rows of `row_bytes` bytes. `reads` has the offsets of the rows
/// that become bits, in squares, with a mask of the rows of the last square. The target's rows begin at
/// `target`, and a map and a stride determine which of them a bit of the source becomes.
///
/// Eight by eight squares are transposed before their columns are added, so that a cache line of eight words
/// of the source or of the target is fetched once.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,gfni")]
fn trade(
    (packed, row_bytes, reads, last): (&[u8], usize, &[[usize; SIZE]], u64),
    squares: &mut [[Square; WORDS]; WORDS],
    (words, row_words): (&mut [u64], usize),
    (target, (scatter, stride)): (u32, (&[u32], u32)),
) {
    for (group, rows) in reads.chunks(WORDS).enumerate() {
        let first = group * WORDS;
        for (number, to) in scatter.chunks(WORDS * SIZE).enumerate() {
            let at = number * SIZE;
            let bytes = (row_bytes - at).min(SIZE);
            for (square, rows) in rows.iter().enumerate() {
                rows.iter().for_each(|row| prefetch(packed, row + at + SIZE));
                let of_words = squares.iter_mut().map(|of_word| &mut of_word[square]);
                read_squares((packed, rows, at, bytes), of_words);
                if group * WORDS + square + 1 == reads.len() {
                    squares.iter_mut().for_each(|of_word| {
                        of_word[square].0.iter_mut().for_each(|column| *column &= last);
                    });
                }
            }
            for (squares, to) in squares.iter().zip(to.chunks(SIZE)) {
                let mut targets = [0; SIZE];
                for (at, &index) in targets.iter_mut().zip(to) {
                    *at = (target + index * stride) as usize * row_words;
                    prefetch(words, *at + first);
                    prefetch(words, *at + first + WORDS - 1);
                }
                add_squares(&squares[..rows.len()], words, &targets[..to.len()], first);
            }
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
    fn drop_maps(&mut self) {
        self.portable.drop_maps();
        self.picks.clear();
        self.columns.clear();
    }

    fn map_bytes(&self) -> usize {
        self.portable.map_bytes()
    }

    fn clear(&mut self) {
        self.portable.clear();
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        match (source, Meeting::new(transform), self.kept) {
            (Bits::Dense(packed), Meeting::Traded { from, to }, _) => {
                self.trade(packed, transform, maps, (from, to));
            }
            (Bits::Dense(packed), Meeting::Kept, Kept::Picks) => self.keep_by_picks(packed, transform, maps),
            (Bits::Dense(packed), Meeting::Kept, Kept::Columns) => {
                self.keep_by_columns(packed, transform, maps);
            }
            _ => self.portable.pull(source, transform, maps),
        }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        #[target_feature(enable = "avx512f,avx512bw")]
        fn subtract(portable: &mut Portable<u64>, known: Bits<'_>) {
            portable.subtract(known);
        }
        // SAFETY: `long` has checked that the processor has the instructions.
        unsafe { subtract(&mut self.portable, known) }
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        #[target_feature(enable = "avx512f,avx512bw,popcnt")]
        fn pack(portable: &mut Portable<u64>, packed: &mut [u8]) -> u32 {
            portable.pack(packed)
        }
        // SAFETY: `long` has checked that the processor has the instructions.
        unsafe { pack(&mut self.portable, packed) }
    }
}
