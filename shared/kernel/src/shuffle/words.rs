//! Dense pulls of rows of up to 64 bits, each in a word, for axes that are too long for byte planes.
//!
//! Layout: that of `portable`, each row in a `u64`.
//!
//! - The last axis stays last: rows are read in the order of the target, as many at a time as stay in the
//!   nearest cache, and brought to byte planes. The bits are permuted by look-ups (`bit_map`): each
//!   byte of the target has at most eight bits, so that at most eight nibbles contribute to it. Then the rows
//!   are brought back to words. Where the last axis is halved, a bit represents one of two neighbouring
//!   indices, and the parity of the row determines which: each map is two permutations of the half rows, and
//!   rows of either parity are collected apart.
//! - The last axis trades places with another: squares of 64 x 64 bits are transposed in registers
//!   (`square`). Halved rows are joined to halved columns as in `portable::half_axis`.
//!
//! Both carry every state by exactly the maps of the transform, like the portable code, and only add states;
//! so it does no harm that the last row of a batch may be added more than once. The portable code handles
//! sparse sources.
//!
//! Cost, in vector operations for 32 rows of 64 bits: 56 to bring them to planes and back, 24 to split
//! nibbles, and at most 120 to look them up. A square takes 208. Measured: a dense pull of 120 x 120 x
//! 120, halved, in 33 us if the last axis stays and 25 if it trades places (Intel Xeon, family 6, model 207;
//! `docs/performance.md`).

use super::bit_map::{BitMap, LookUp};
use super::square::{SIZE, Square, place, transpose};
use super::vector::{Slot, Vector, Work};
use crate::byte_planes::Planes;
use crate::kernel::{Bits, Kernel};
use crate::portable::{Meeting, Portable, Walk};
use fathom_space::{AxisMap, Shape, Transform};
use std::marker::PhantomData;

/// Rows of a batch. Their words, planes and nibbles take 8 KiB.
const BATCH: usize = 256;

/// Rows that are brought to planes at once: those of eight vectors of four words.
const GROUP: usize = 32;

/// The bytes of a word.
const BYTES: usize = 8;

/// Returns whether the kernel fits the rows of a shape.
pub(super) fn fits(shape: &Shape) -> bool {
    let is_short = shape.row_bits() as usize <= SIZE;
    shape.is_whole() && is_short && (shape.row_bits() > u32::BITS || shape.odd().is_some())
}

/// The kernel of rows in words, for the instructions of a vector.
#[derive(Debug)]
pub(super) struct Words<V> {
    portable: Portable<u64>,
    /// For each axis map, by its number, the permutation of the bits of a row, by parity of the row.
    bit_maps: Vec<Option<[BitMap; 2]>>,
    /// The bytes of these permutations.
    map_bytes: usize,
    walk: Walk,
    /// For each row along the innermost axis, by parity of its index in the source: its offset in the
    /// source, and its index in the target.
    steps: [Vec<(u32, u32)>; 2],
    batches: [Batch; 2],
    buffers: Buffers,
    vector: PhantomData<fn() -> V>,
}

/// Rows that get the same permutation: the offset of each in the source, and its number in the target.
type Batch = Vec<(u32, u32)>;

/// The rows of a batch, before and after their bits are permuted.
#[derive(Debug)]
struct Buffers {
    source: Planes,
    nibbles: Planes,
    target: Planes,
}

impl Buffers {
    fn new() -> Self {
        let planes = |number| Planes::new(number, BATCH);
        Self { source: planes(BYTES), nibbles: planes(2 * BYTES), target: planes(BYTES) }
    }
}

/// Returns the permutations of the bits of a row that are an axis map, for each parity of the row.
fn permutations(map: &AxisMap, odd: Option<&[bool]>) -> [BitMap; 2] {
    let Some(is_odd) = odd else {
        return [0, 1].map(|_| BitMap::permutation(&map.from));
    };
    // For rows whose last index has this parity, each half goes to the half of the index's image.
    [false, true].map(|parity| {
        let halves = map.to.len() / 2;
        let pairs = (0..halves).map(|half| {
            let index = 2 * half + usize::from(is_odd[2 * half] != parity);
            (half, map.to[index] as usize / 2)
        });
        BitMap::new(halves, pairs)
    })
}

impl<V: Slot> Words<V> {
    /// Creates the kernel.
    ///
    /// # Safety
    /// The processor must have the instructions of the vector.
    pub(super) unsafe fn new(shape: &Shape) -> Self {
        Self {
            portable: Portable::new(shape),
            bit_maps: Vec::new(),
            map_bytes: 0,
            walk: Walk::default(),
            steps: Default::default(),
            batches: Default::default(),
            buffers: Buffers::new(),
            vector: PhantomData,
        }
    }

    /// Does a step of the work.
    fn work<W: Work>(work: W) -> W::Output {
        // SAFETY: the caller of `new` has promised that the processor has the instructions.
        unsafe { V::compiled(work) }
    }

    /// Pulls with the last axis staying last.
    fn keep(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let Self { portable, bit_maps, map_bytes, walk, steps, batches, buffers, .. } = self;
        let Portable { shape, words, odd_rows, .. } = portable;
        let number = *transform.maps.last().expect("a transform has an axis") as usize;
        if bit_maps.len() <= number {
            bit_maps.resize_with(number + 1, || None);
        }
        let bits = bit_maps[number].get_or_insert_with(|| {
            let made = permutations(&maps[number], shape.odd());
            *map_bytes += made.iter().map(BitMap::bytes).sum::<usize>();
            made
        });
        walk.lines(shape, transform, maps, steps);
        let row_bytes = shape.row_bytes();
        for (&read, &write) in walk.source.iter().zip(&walk.target) {
            let line = odd_rows.get(read as usize).is_some_and(|&is_odd| is_odd ^ transform.odd);
            for (steps, is_odd) in steps.iter().zip([false, true]) {
                let parity = usize::from(line ^ is_odd);
                let batch = &mut batches[parity];
                batch.extend(steps.iter().map(|&(step, at)| ((read + step) * row_bytes, write + at)));
                let whole = batch.len() / BATCH * BATCH;
                for rows in batch[..whole].chunks(BATCH) {
                    add_rows::<V>(packed, rows, &bits[parity], buffers, words);
                }
                batch.drain(..whole);
            }
        }
        for (batch, bits) in batches.iter_mut().zip(bits) {
            if let Some(&last) = batch.last() {
                batch.resize(batch.len().next_multiple_of(GROUP), last);
                add_rows::<V>(packed, batch, bits, buffers, words);
                batch.clear();
            }
        }
    }

    /// Pulls with axis `from` of the source becoming the last one, which becomes axis `to` of the target.
    fn trade(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap], from: usize, to: usize) {
        let Self { portable, walk, .. } = self;
        let Portable { shape, words, odd_rows, .. } = portable;
        walk.blocks(shape, transform, maps);
        let last = transform.target.len() - 1;
        let [gather, scatter] = [from, last].map(|axis| &maps[transform.maps[axis] as usize]);
        let row_bytes = shape.row_bytes();
        let read_stride = shape.strides()[from] * row_bytes;
        let (is_odd, odd) = (shape.odd(), transform.odd);
        let each = if is_odd.is_some() { 2 } else { 1 };
        let mut trade = Trade {
            packed,
            words,
            walk,
            row_bytes,
            reads: [[0; SIZE]; 2],
            writes: Vec::new(),
            masks: [[0; 2]; 2],
            odd_rows,
            odd,
        };
        for (number, &index) in gather.from.iter().enumerate() {
            let (which, bit) = (number % each, number / each);
            trade.reads[which][bit] = index * read_stride;
            let parity = usize::from(is_odd.is_some_and(|is_odd| is_odd[index as usize]));
            trade.masks[parity][which] |= 1 << bit;
        }
        let writes = scatter.to.iter().enumerate().map(|(index, &image)| {
            let parity = usize::from(is_odd.is_some_and(|is_odd| is_odd[index]));
            (image * shape.strides()[to], (parity * SIZE + place(index / each)) as u32)
        });
        trade.writes.extend(writes);
        match is_odd.is_some() {
            true => Self::work(trade),
            false => Self::work(Whole(trade)),
        }
    }
}

/// Adds the rows of a batch, at most [`BATCH`] and a multiple of [`GROUP`], with their bits permuted.
fn add_rows<V: Slot>(
    packed: &[u8],
    rows: &[(u32, u32)],
    bits: &BitMap,
    buffers: &mut Buffers,
    words: &mut [u64],
) {
    let Buffers { source, nibbles, target } = buffers;
    let stride = source.stride;
    Words::<V>::work(Read { packed, rows, planes: &mut source.bytes, stride });
    let (from, to, nibbles) = (&source.bytes, &mut target.bytes, &mut nibbles.bytes);
    Words::<V>::work(LookUp { map: bits, from, to, nibbles, stride, rows: rows.len() });
    Words::<V>::work(Add { planes: &target.bytes, stride, rows, words });
}

/// Reads rows as byte planes.
struct Read<'a> {
    packed: &'a [u8],
    rows: &'a [(u32, u32)],
    planes: &'a mut [u8],
    stride: usize,
}

impl Work for Read<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { packed, rows, planes, stride } = self;
        let last = rows.iter().map(|row| row.0).max().unwrap_or(0) as usize;
        assert!(last + BYTES <= packed.len(), "the rows lie inside the tensor");
        assert!(rows.len() <= stride && BYTES * stride <= planes.len());
        for (group, rows) in rows.as_chunks::<GROUP>().0.iter().enumerate() {
            // SAFETY: the largest offset was compared with the length of the tensor, and the planes have as
            // many bytes as there are rows.
            unsafe {
                let mut registers = [V::splat(0); BYTES];
                for (number, register) in registers.iter_mut().enumerate() {
                    // The first lane gets 16 rows, and the second lane the others.
                    let row = |at: usize| packed.as_ptr().add(rows[at].0 as usize);
                    let at = 2 * number;
                    *register = V::load_words([row(at), row(at + 1), row(at + 16), row(at + 17)]);
                }
                // Rotates the bits of a byte's register and place until the register has the place in a row.
                let turned = rotated(rotated(rotated(rotated(registers))));
                for (plane, bytes) in turned.into_iter().enumerate() {
                    bytes.store(planes.as_mut_ptr().add(plane * stride + group * GROUP));
                }
            }
        }
    }
}

/// Interleaves the first four vectors with the last four. Three bits number the vector of a byte, and four
/// its place in a lane: the seven bits are rotated by one.
#[inline(always)]
fn rotated<V: Slot>(vectors: [V; BYTES]) -> [V; BYTES] {
    let mut next = vectors;
    for number in 0..BYTES / 2 {
        let (a, b) = (vectors[number], vectors[number + BYTES / 2]);
        next[2 * number] = a.interleave_low::<1>(b);
        next[2 * number + 1] = a.interleave_high::<1>(b);
    }
    next
}

/// Adds rows in byte planes to words.
struct Add<'a> {
    planes: &'a [u8],
    stride: usize,
    rows: &'a [(u32, u32)],
    words: &'a mut [u64],
}

impl Work for Add<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { planes, stride, rows, words } = self;
        let last = rows.iter().map(|row| row.1).max().unwrap_or(0) as usize;
        assert!(last < words.len(), "the rows lie inside the target");
        assert!(rows.len() <= stride && BYTES * stride <= planes.len());
        let mut ready = Square::default();
        for (group, rows) in rows.as_chunks::<GROUP>().0.iter().enumerate() {
            // SAFETY: the planes have as many bytes as there are rows, the square has room for a group, and
            // the largest number of a row was compared with the length of the target.
            unsafe {
                let mut vectors = [V::splat(0); BYTES];
                for (plane, vector) in vectors.iter_mut().enumerate() {
                    *vector = V::load(planes.as_ptr().add(plane * stride + group * GROUP));
                }
                // Three more rotations, seven in all, restore the order before `Read` has changed it.
                let turned = rotated(rotated(rotated(vectors)));
                for (number, vector) in turned.into_iter().enumerate() {
                    vector.store(ready.0.as_mut_ptr().cast::<u8>().add(number * <V as Vector>::BYTES));
                }
                for (at, row) in rows.iter().enumerate() {
                    // Four words to a vector, two of them in each lane.
                    let place = at % 16 / 2 * 4 + at / 16 * 2 + at % 2;
                    *words.get_unchecked_mut(row.1 as usize) |= ready.0[place];
                }
            }
        }
    }
}

/// Adds transposed squares, of halved rows. A pull of whole rows is a [`Whole`].
struct Trade<'a> {
    packed: &'a [u8],
    words: &'a mut [u64],
    /// The rows with index 0 along the axes that trade.
    walk: &'a Walk,
    row_bytes: u32,
    /// The offsets in the source of the rows that become a bit of the target. Halved rows: those of the first
    /// of two neighbouring indices, and of the second. Missing rows get the offset 0.
    reads: [[u32; SIZE]; 2],
    /// For each index along the last axis of the source, the offset of its row in the target, and its word
    /// in a square: the second one if rows are halved and the index is odd.
    writes: Vec<(u32, u32)>,
    /// By parity of the index along the axis that becomes last: the bits of the rows of both squares.
    masks: [[u64; 2]; 2],
    odd_rows: &'a [bool],
    odd: bool,
}

impl Trade<'_> {
    /// Panics unless all rows lie inside source and target.
    fn check(&self) {
        let largest = |numbers: &mut dyn Iterator<Item = u32>| numbers.max().unwrap_or(0) as usize;
        let read = largest(&mut self.walk.source.iter().copied()) * self.row_bytes as usize
            + largest(&mut self.reads.iter().flatten().copied());
        let write = largest(&mut self.walk.target.iter().copied())
            + largest(&mut self.writes.iter().map(|write| write.0));
        assert!(read + BYTES <= self.packed.len(), "the rows lie inside the tensor");
        assert!(write < self.words.len(), "the rows lie inside the target");
        assert!(self.writes.iter().all(|write| (write.1 as usize) < 2 * SIZE));
    }
}

impl Work for Trade<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        self.check();
        let Self { packed, words, walk, row_bytes, reads, writes, masks, odd_rows, odd } = self;
        let (mut first, mut second) = (Square::default(), Square::default());
        let mut both = [Square::default(), Square::default()];
        for (&read, &write) in walk.source.iter().zip(&walk.target) {
            // SAFETY: `check` has compared the largest offsets with the lengths of source and target, and the
            // places of words with the number of words of two squares.
            unsafe {
                let from = packed.as_ptr().add(read as usize * row_bytes as usize);
                transpose::<V>(from, &reads[0], &mut first);
                transpose::<V>(from, &reads[1], &mut second);
                let is_odd = usize::from(odd_rows[read as usize] ^ odd);
                for (parity, square) in both.iter_mut().enumerate() {
                    join_squares::<V>(&first, &second, masks[parity ^ is_odd], square);
                }
                let both = both.as_ptr().cast::<u64>();
                for &(offset, place) in &writes {
                    *words.get_unchecked_mut((write + offset) as usize) |= *both.add(place as usize);
                }
            }
        }
    }
}

/// Joins the words of two squares: of each, the bits of a mask.
///
/// # Safety
/// The processor must have the instructions.
#[inline(always)]
unsafe fn join_squares<V: Slot>(first: &Square, second: &Square, masks: [u64; 2], joined: &mut Square) {
    // SAFETY: all squares are as long, and the caller promises the instructions.
    unsafe {
        let masks = masks.map(|mask| V::load_copies([mask; 2].as_ptr().cast()));
        for at in (0..SIZE * BYTES).step_by(<V as Vector>::BYTES) {
            let first = V::load(first.0.as_ptr().cast::<u8>().add(at)).and(masks[0]);
            let second = V::load(second.0.as_ptr().cast::<u8>().add(at)).and(masks[1]);
            first.or(second).store(joined.0.as_mut_ptr().cast::<u8>().add(at));
        }
    }
}

/// Adds transposed squares of rows that are not halved.
struct Whole<'a>(Trade<'a>);

impl Work for Whole<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        self.0.check();
        let Trade { packed, words, walk, row_bytes, reads, writes, masks, .. } = self.0;
        let valid = masks[0][0];
        let mut square = [Square::default(), Square::default()];
        for (&read, &write) in walk.source.iter().zip(&walk.target) {
            // SAFETY: `check` has compared the largest offsets with the lengths of source and target, and the
            // places of words with the number of words of two squares.
            unsafe {
                let from = packed.as_ptr().add(read as usize * row_bytes as usize);
                transpose::<V>(from, &reads[0], &mut square[0]);
                let columns = square.as_ptr().cast::<u64>();
                for &(offset, place) in &writes {
                    *words.get_unchecked_mut((write + offset) as usize) |=
                        *columns.add(place as usize) & valid;
                }
            }
        }
    }
}

/// Work of the portable code, compiled for the instructions of a vector.
pub(super) struct Subtract<'a>(pub(super) &'a mut Portable<u64>, pub(super) Bits<'a>);

impl Work for Subtract<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        self.0.subtract(self.1);
    }
}

/// Work of the portable code, compiled for the instructions of a vector.
pub(super) struct Pack<'a>(pub(super) &'a mut Portable<u64>, pub(super) &'a mut [u8]);

impl Work for Pack<'_> {
    type Output = u32;

    #[inline(always)]
    unsafe fn run<V: Slot>(self) -> u32 {
        self.0.pack(self.1)
    }
}

impl<V: Slot> Kernel for Words<V> {
    fn drop_maps(&mut self) {
        self.portable.drop_maps();
        self.bit_maps.clear();
        self.map_bytes = 0;
    }

    fn map_bytes(&self) -> usize {
        self.portable.map_bytes() + self.map_bytes
    }

    fn clear(&mut self) {
        self.portable.clear();
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        match (source, Meeting::new(transform)) {
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
