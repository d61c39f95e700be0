//! Dense pulls of rows of more than 64 bits.
//!
//! Layout: that of `portable`, each row in several `u64`.
//!
//! - The last axis stays last: squares of 64 x 64 bits are transposed (`square`), so that each bit
//!   of 64 rows is a word, a *column*. The columns are read in the order of the target, as the rows of
//!   squares that are transposed back.
//!   Tensors of few rows, which would leave most of each square empty, get each bit by itself (`picks`).
//! - The last axis trades places with another: each square of the two axes is gathered by the map along
//!   one, transposed, and scattered by the map along the other. Eight squares side by side in the target are
//!   ready before their words are added, so that a line of the cache is brought once.
//!
//! Both take each bit of the target from the one bit that the maps determine. The portable code handles sparse
//! sources.
//!
//! Cost of 64 words of the target: two transpositions of a square, of 208 vector operations
//! each, or one.
//! Measurements: `docs/performance.md`.

use super::picks::{MAX_BYTES, Pick, Picks};
use super::planes::{entry, made};
use super::square::{PLACES, SIZE, Square, place, transpose};
use super::vector::{Slot, Work};
use super::words::{Pack, Subtract};
use crate::byte_planes;
use crate::kernel::{Bits, Kernel};
use crate::portable::{Meeting, Portable, Walk};
use fathom_space::{AxisMap, Shape, Transform};
use std::marker::PhantomData;

/// The bytes of a word.
const BYTES: usize = 8;

/// Squares whose words are added together: as many as a line of the cache has words.
const WORDS: usize = 8;

/// With fewer rows than this, most of each square would be empty.
const FEW_ROWS: u32 = 16;

/// Returns whether the kernel fits the rows of a shape.
pub(super) fn fits(shape: &Shape) -> bool {
    let is_long = shape.row_bits() as usize > SIZE && shape.odd().is_none();
    shape.is_whole() && is_long && (shape.rows() > FEW_ROWS || is_picked(shape))
}

/// Returns whether the bits of each row are picked one by one.
fn is_picked(shape: &Shape) -> bool {
    shape.rows() <= FEW_ROWS && shape.row_bytes() as usize <= MAX_BYTES
}

/// The kernel of long rows, for the instructions of a vector.
#[derive(Debug)]
pub(super) struct Long<V> {
    portable: Portable<u64>,
    walk: Walk,
    /// The columns of 64 rows: a square for each word of a row, and an empty one.
    columns: Vec<Square>,
    /// For each word of the target, the offsets of the columns that become its bits.
    order: Vec<[u32; SIZE]>,
    /// The picks of each axis map, by its number.
    picks: Vec<Option<Box<[Picks]>>>,
    vector: PhantomData<fn() -> V>,
}

impl<V: Slot> Long<V> {
    /// Creates the kernel.
    ///
    /// # Safety
    /// The processor must have the instructions of the vector.
    pub(super) unsafe fn new(shape: &Shape) -> Self {
        let portable = Portable::new(shape);
        let columns = vec![Square::default(); portable.row_words + 1];
        let (order, picks) = (Vec::new(), Vec::new());
        Self { portable, walk: Walk::default(), columns, order, picks, vector: PhantomData }
    }

    /// Does a step of the work.
    fn work<W: Work>(work: W) -> W::Output {
        // SAFETY: the caller of `new` has promised that the processor has the instructions.
        unsafe { V::compiled(work) }
    }

    /// Pulls with the last axis staying last.
    fn keep(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, walk, columns, order, .. } = self;
        let Portable { shape, words, row_words, .. } = portable;
        walk.blocks(shape, transform, maps);
        let along = &maps[*transform.maps.last().expect("a transform has an axis") as usize];
        // Bits behind the last one come from the empty square.
        let empty = (*row_words * SIZE * BYTES) as u32;
        order.clear();
        order.extend(along.from.chunks(SIZE).map(|from| {
            let mut offsets = [empty; SIZE];
            for (offset, &index) in offsets.iter_mut().zip(from) {
                let (word, bit) = (index as usize / SIZE, index as usize % SIZE);
                *offset = ((word * SIZE + place(bit)) * BYTES) as u32;
            }
            offsets
        }));
        let (row_words, row_bytes) = (*row_words, shape.row_bytes());
        Self::work(Keep { packed, row_bytes, walk, columns, order, words, row_words });
    }

    /// Pulls with the last axis staying last, bit by bit.
    fn pick(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, walk, picks, .. } = self;
        let Portable { shape, words, row_words, .. } = portable;
        walk.blocks(shape, transform, maps);
        let number = *transform.maps.last().expect("a transform has an axis");
        let map = &maps[number as usize];
        entry(picks, number, || Picks::of(&map.from));
        let picks = made(picks, number);
        let row_bytes = shape.row_bytes() as usize;
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            let packed = &packed[source as usize * row_bytes..];
            let words = &mut words[target as usize * *row_words..][..*row_words];
            Self::work(Pick { packed, row_bytes, picks, words });
        }
    }

    /// Pulls with axis `from` of the source becoming the last one, which becomes axis `to` of the target.
    fn trade(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap], from: usize, to: usize) {
        let Self { portable, walk, columns, order, .. } = self;
        let Portable { shape, words, row_words, .. } = portable;
        walk.blocks(shape, transform, maps);
        let last = transform.target.len() - 1;
        let [gather, scatter] = [from, last].map(|axis| &maps[transform.maps[axis] as usize]);
        let read_step = shape.strides()[from] * shape.row_bytes();
        order.clear();
        order.extend(gather.from.chunks(SIZE).map(|from| {
            let mut offsets = [0; SIZE];
            for (offset, &index) in offsets.iter_mut().zip(from) {
                *offset = index * read_step;
            }
            offsets
        }));
        // Missing rows are replaced by that of index 0, and their bits are omitted.
        let valid = u64::MAX >> (order.len() * SIZE - gather.from.len());
        let write_step = shape.strides()[to] as usize * *row_words;
        columns.resize(columns.len().max(WORDS), Square::default());
        Self::work(Trade {
            packed,
            row_bytes: shape.row_bytes(),
            walk,
            squares: &mut columns[..WORDS],
            reads: order,
            valid,
            scatter: &scatter.to,
            write_step,
            words,
            row_words: *row_words,
        });
    }
}

/// Adds rows with their bits permuted.
struct Keep<'a> {
    packed: &'a [u8],
    row_bytes: u32,
    walk: &'a Walk,
    columns: &'a mut [Square],
    order: &'a [[u32; SIZE]],
    words: &'a mut [u64],
    row_words: usize,
}

impl Work for Keep<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { packed, row_bytes, walk, columns, order, words, row_words } = self;
        let largest = |rows: &[u32]| rows.iter().copied().max().unwrap_or(0) as usize;
        let read = largest(&walk.source) * row_bytes as usize + row_words * BYTES;
        assert!(read <= packed.len(), "the rows lie inside the tensor");
        assert!((largest(&walk.target) + 1) * row_words <= words.len(), "the rows lie inside the target");
        assert!(order.len() == row_words && row_words < columns.len());
        let bytes = std::mem::size_of_val(columns);
        assert!(order.iter().flatten().all(|&offset| offset as usize + BYTES <= bytes));
        columns[row_words] = Square::default();
        let mut square = Square::default();
        let mut rows = rows_of(&walk.source, row_bytes);
        for (number, targets) in walk.target.chunks(SIZE).enumerate() {
            let later = ((number + 1) * SIZE).min(walk.source.len());
            let later = rows_of(&walk.source[later..], row_bytes);
            for (word, square) in columns[..row_words].iter_mut().enumerate() {
                // SAFETY: the last word of the last row was compared with the length of the tensor.
                unsafe { transpose::<V>(packed.as_ptr().add(word * BYTES), &rows, square) }
            }
            for (word, order) in order.iter().enumerate() {
                if word.is_multiple_of(WORDS) {
                    later.iter().for_each(|&row| prefetch(packed, row as usize + word * BYTES));
                }
                // SAFETY: the offsets were compared with the size of the columns, and the last row with the
                // length of the target.
                unsafe {
                    transpose::<V>(columns.as_ptr().cast(), order, &mut square);
                    for (&target, &place) in targets.iter().zip(&PLACES) {
                        *words.get_unchecked_mut(target as usize * row_words + word) |=
                            square.0[usize::from(place) % SIZE];
                    }
                }
            }
            rows = later;
        }
    }
}

/// Returns the offsets of up to 64 rows; missing ones are the first row of the tensor.
fn rows_of(sources: &[u32], row_bytes: u32) -> [u32; SIZE] {
    let mut rows = [0; SIZE];
    for (row, &source) in rows.iter_mut().zip(sources) {
        *row = source * row_bytes;
    }
    rows
}

/// Prefetches the cache line of an element, which need not exist.
#[inline(always)]
fn prefetch<T>(slice: &[T], at: usize) {
    byte_planes::prefetch::<true>(slice.as_ptr().wrapping_add(at).cast());
}

/// Adds the transposed squares of two axes.
struct Trade<'a> {
    packed: &'a [u8],
    row_bytes: u32,
    /// The rows with index 0 along the axes that trade.
    walk: &'a Walk,
    /// Squares on their way to the target.
    squares: &'a mut [Square],
    /// The offsets of the rows that become the bits of each word of the target.
    reads: &'a [[u32; SIZE]],
    /// The bits of the last word that have a row.
    valid: u64,
    /// For each bit of the source, the index of its row in the target.
    scatter: &'a [u32],
    /// Words from one index of the target to the next.
    write_step: usize,
    words: &'a mut [u64],
    row_words: usize,
}

impl Work for Trade<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { packed, row_bytes, walk, squares, reads, valid, scatter, write_step, words, row_words } =
            self;
        let largest = |numbers: &mut dyn Iterator<Item = u32>| numbers.max().unwrap_or(0) as usize;
        let read = largest(&mut walk.source.iter().copied()) * row_bytes as usize
            + largest(&mut reads.iter().flatten().copied())
            + scatter.len().div_ceil(SIZE) * BYTES;
        assert!(read <= packed.len(), "the rows lie inside the tensor");
        let write = largest(&mut walk.target.iter().copied()) * row_words
            + largest(&mut scatter.iter().copied()) * write_step
            + reads.len();
        assert!(write <= words.len(), "the rows lie inside the target");
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            for (group, rows) in reads.chunks(WORDS).enumerate() {
                let first = group * WORDS;
                for (word, scatter) in scatter.chunks(SIZE).enumerate() {
                    for (square, rows) in squares.iter_mut().zip(rows) {
                        let from = source as usize * row_bytes as usize + word * BYTES;
                        // SAFETY: the last word of the last row was compared with the length of the tensor.
                        unsafe { transpose::<V>(packed.as_ptr().add(from), rows, square) }
                    }
                    if first + rows.len() == reads.len() {
                        squares[rows.len() - 1].0.iter_mut().for_each(|column| *column &= valid);
                    }
                    for (&index, &place) in scatter.iter().zip(&PLACES) {
                        let at = target as usize * row_words + index as usize * write_step + first;
                        // SAFETY: the last word of the last row was compared with the length of the target.
                        let words = unsafe { words.get_unchecked_mut(at..at + rows.len()) };
                        for (word, square) in words.iter_mut().zip(&*squares) {
                            *word |= square.0[usize::from(place) % SIZE];
                        }
                    }
                }
            }
        }
    }
}

impl<V: Slot> Kernel for Long<V> {
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
        match (source, Meeting::new(transform)) {
            (Bits::Dense(packed), Meeting::Kept) if is_picked(&self.portable.shape) => {
                self.pick(packed, transform, maps);
            }
            (Bits::Dense(packed), Meeting::Kept) => self.keep(packed, transform, maps),
            (Bits::Dense(packed), Meeting::Traded { from, to }) => {
                self.trade(packed, transform, maps, from, to);
            }
            _ => self.portable.pull(source, transform, maps),
        }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        Self::work(Subtract(&mut self.portable, known));
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        Self::work(Pack(&mut self.portable, packed))
    }
}
