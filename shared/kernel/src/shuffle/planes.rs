//! The kernel for tensors of at least two axes with at most 32 entries each, whose last axis is not cut into
//! blocks.
//!
//! Layout: the accumulators are byte planes with slots (`byte_planes`). A source is read a *line* at
//! a time, some hundred rows in sequence, and split into planes without slots (`rows`), which stay in
//! the nearest cache. If the last axis is halved, each packed bit is then copied to both bits that it may
//! represent, and the one whose parity is that of the row is kept (`half_axis`); packing joins both.
//!
//! In this layout all parts of a transform are byte shuffles or exchanges of bits:
//! - a map along the last axis, which lies in the bits, is a union of look-ups by nibbles, from plane to
//!   plane, before the rows are moved (`bit_map`). It is omitted if all bits stay;
//! - a map along the inner axis is a shuffle for each half of a block (`blocks`);
//! - where the last axis trades places with the inner axis, squares of 8 x 8 bits are transposed in
//!   registers, and the tiles change planes (`blocks::Trade`);
//! - where the last axis trades places with an outer axis, the squares of bits are transposed across
//!   registers, and the inner axis stays (`exchange`). The source is one line then;
//! - maps along the other axes, and permutations of these axes, only determine where a block is written.
//!
//! Every state of the source is carried by exactly the maps of the transform, because each step is a bijection
//! of bits; and states are only ever added, so that the order does not matter.
//!
//! Cost, in vector operations for a block of 24 rows of 24 bits, if all of them move: 11 to split it, 32 to
//! permute the bits, and 12 to permute the rows and add the block. Splitting and permuting bits take no more
//! for short blocks, because lines have no gaps. Measured: a dense pull of 24 x 24 x 24 x 24 in 5.8 us if the
//! last axis stays, 6.2 if an outer axis becomes the last, and 8.4 if the inner one does; 3.8 if the last axis
//! stays and so do all bits (Intel Xeon, family 6, model 207; `docs/performance.md`).

use super::bit_map::{BitMap, LookUp};
use super::blocks::{From, Gather, RowMap, To, Trade};
use super::exchange::Exchange;
use super::half_axis::Halved;
use super::rows::{Join, Packing, Split};
use super::turn::Turn;
use super::vector::{Slot, Work};
use crate::byte_planes::{self, Ahead, Collected, Layout, Places, Planes, ROWS_A_STATE};
use crate::byte_planes::{restart, spread_by_source};
use crate::kernel::{Bits, Kernel, SLACK_BYTES};
use crate::summands::Lent;
use fathom_space::{AxisMap, Shape, Transform};
use std::marker::PhantomData;

/// Lines have at least this many rows, if the tensor does: the tables of a map are loaded once for each line.
const LINE_ROWS: u32 = 256;

/// The kernel of tensors in byte planes, for the instructions of a vector.
#[derive(Debug)]
pub(super) struct BytePlanes<V> {
    shape: Shape,
    /// The number of planes.
    planes: usize,
    collected: Collected,
    packing: Packing,
    /// How rows are packed if the last axis is halved.
    halved: Option<Halved>,
    /// The source or a line of it, split into planes: rows in their order, without slots.
    source: Planes,
    /// The same after a map of bits, or before one.
    mapped: Planes,
    /// The nibbles of either, in planes.
    nibbles: Planes,
    lines: Lines,
    /// The natural layout, as the target of the identity.
    straight: Lines,
    in_order: RowMap,
    /// Maps along the inner axis, by number of the axis map.
    row_maps: Vec<Option<RowMap>>,
    /// Maps along the last axis, by number of the axis map.
    bit_maps: Vec<Option<BitMap>>,
    /// A dense copy of a sparse source with many states.
    packed: Vec<u8>,
    /// The source of the pull after the next one, to be prefetched.
    ahead: Ahead,
    /// The starts of the blocks of the natural layout, in the order of packed tensors.
    starts: Vec<u32>,
    vector: PhantomData<fn() -> V>,
}

/// The lines of a source: rows in sequence, whole blocks of them, which are read together.
#[derive(Debug, Default)]
struct Lines {
    /// The number of axes whose indices number the lines.
    leading: usize,
    rows: usize,
    /// The first row of each line, and where index 0 of the other axes comes in the target.
    bases: Places,
    /// The first row of each block of a line, and its offset in the target.
    steps: Places,
    spare: Places,
}

impl Lines {
    fn new(shape: &Shape) -> Self {
        let outer = shape.lengths().len() - 1;
        let mut leading = outer - 1;
        let mut rows = shape.lengths()[leading];
        while leading > 0 && rows < LINE_ROWS {
            leading -= 1;
            rows *= shape.lengths()[leading];
        }
        Self { leading, rows: rows as usize, ..Self::default() }
    }

    /// Finds the places of all blocks in the target. `to` returns the axis of the target that an axis of the
    /// source becomes, and the map along it.
    fn plan<'m>(&mut self, shape: &Shape, target: &Layout, to: impl Fn(usize) -> (usize, &'m AxisMap)) {
        let Self { leading, bases, steps, spare, .. } = self;
        restart(bases);
        restart(steps);
        for axis in 0..shape.lengths().len() - 2 {
            let places = if axis < *leading { &mut *bases } else { &mut *steps };
            let (becomes, map) = to(axis);
            spread_by_source(places, spare, map, shape.strides()[axis], target.strides[becomes]);
        }
    }
}

impl<V: Slot> BytePlanes<V> {
    /// Creates the kernel.
    ///
    /// # Safety
    /// The processor must have the instructions of the vector.
    pub(super) unsafe fn new(shape: &Shape) -> Self {
        let last = *shape.lengths().last().expect("a shape has an axis");
        let planes = last.div_ceil(8) as usize;
        let collected = Collected::new(shape);
        let identities: Vec<AxisMap> =
            shape.lengths().iter().map(|&length| AxisMap::new((0..length).collect())).collect();
        let natural = &collected.layouts[collected.natural()];
        let mut straight = Lines::new(shape);
        straight.plan(shape, natural, |axis| (axis, &identities[axis]));
        let stride = shape.rows().next_multiple_of(64) as usize;
        Self {
            planes,
            packing: Packing::new(shape.row_bytes() as usize),
            halved: Halved::new(shape),
            source: Planes::new(planes, stride),
            mapped: Planes::new(planes, stride),
            nibbles: Planes::new(2 * planes, stride),
            lines: Lines::new(shape),
            straight,
            in_order: RowMap::new(&identities[collected.natural()].from),
            row_maps: Vec::new(),
            bit_maps: Vec::new(),
            packed: vec![0; shape.packed_bytes() as usize + SLACK_BYTES],
            ahead: Ahead::default(),
            starts: natural.starts(shape.lengths()),
            collected,
            shape: shape.clone(),
            vector: PhantomData,
        }
    }

    /// Does a step of the work.
    fn work<W: Work>(work: W) -> W::Output {
        // SAFETY: the caller of `new` has promised that the processor has the instructions.
        unsafe { V::compiled(work) }
    }

    /// Splits rows of a packed tensor, from row `first` on, into the planes of the source. `odd` is whether
    /// the parities of its states' indices have an odd sum; without it, both bits of a halved row are set for
    /// each packed bit.
    fn split(&mut self, packed: &[u8], first: usize, rows: usize, odd: Option<bool>) {
        let packed = &packed[first * self.shape.row_bytes() as usize..];
        let (stride, packing) = (self.source.stride, &self.packing);
        let (source, halves) = (&mut self.source.bytes, &mut self.mapped.bytes);
        let Some(halved) = &self.halved else {
            return Self::work(Split { packed, rows, planes: source, stride, packing });
        };
        Self::work(Split { packed, rows, planes: halves, stride, packing });
        let nibbles = &mut self.nibbles.bytes;
        Self::work(LookUp { map: &halved.both, from: halves, to: source, nibbles, stride, rows });
        if let Some(odd) = odd {
            Self::work(halved.mask(odd, first, rows, source, stride));
        }
    }

    fn pull_dense(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let last = transform.target.len() - 1;
        let natural = self.collected.natural();
        let becomes_last = transform.target.iter().position(|&axis| usize::from(axis) == last);
        match becomes_last.expect("the targets are a permutation of the axes") {
            from if from == last => self.keep(packed, transform, maps),
            from if from == natural => self.trade(packed, transform, maps),
            from => self.exchange(packed, transform, maps, from),
        }
    }

    /// Finds the places in the target of all blocks, if the inner axis of the target is `inner`.
    fn plan(&mut self, transform: &Transform, maps: &[AxisMap], inner: usize) {
        self.lines.plan(&self.shape, &self.collected.layouts[inner], |axis| {
            (usize::from(transform.target[axis]), &maps[transform.maps[axis] as usize])
        });
        self.collected.touched[inner] = true;
    }

    /// Pulls with the last axis staying last.
    fn keep(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let natural = self.collected.natural();
        let inner = usize::from(transform.target[natural]);
        let [along_inner, along_last] = [transform.maps[natural], transform.maps[natural + 1]];
        self.plan(transform, maps, inner);
        entry(&mut self.row_maps, along_inner, || RowMap::new(&maps[along_inner as usize].from));
        entry(&mut self.bit_maps, along_last, || BitMap::permutation(&maps[along_last as usize].from));
        let lines = std::mem::take(&mut self.lines);
        let Lines { bases, steps, rows, .. } = &lines;
        let mut ahead = std::mem::take(&mut self.ahead).in_steps(bases.len() * steps.len());
        for &(first, base) in bases {
            self.split(packed, first as usize, *rows, Some(transform.odd));
            let bits = made(&self.bit_maps, along_last);
            let mut source = &self.source;
            if !bits.is_identity() {
                let (to, nibbles) = (&mut self.mapped.bytes, &mut self.nibbles.bytes);
                Self::work(LookUp {
                    map: bits,
                    from: &source.bytes,
                    to,
                    nibbles,
                    stride: source.stride,
                    rows: *rows,
                });
                source = &self.mapped;
            }
            Self::work(Gather::<false> {
                from: From { bytes: &source.bytes, stride: source.stride, planes: self.planes },
                to: to(&mut self.collected.planes[inner]),
                length: self.shape.lengths()[natural] as usize,
                map: made(&self.row_maps, along_inner),
                base,
                steps,
                ahead: &mut ahead,
            });
        }
        self.lines = lines;
    }

    /// Pulls with the last axis trading places with the natural inner axis.
    fn trade(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let natural = self.collected.natural();
        let inner = usize::from(transform.target[natural + 1]);
        let [along_inner, along_last] = [transform.maps[natural], transform.maps[natural + 1]];
        self.plan(transform, maps, inner);
        entry(&mut self.row_maps, along_inner, || RowMap::new(&maps[along_inner as usize].from));
        entry(&mut self.row_maps, along_last, || RowMap::new(&maps[along_last as usize].from));
        let lines = std::mem::take(&mut self.lines);
        let Lines { bases, steps, rows, .. } = &lines;
        let mut ahead = std::mem::take(&mut self.ahead).in_steps(bases.len() * steps.len());
        for &(first, base) in bases {
            self.split(packed, first as usize, *rows, Some(transform.odd));
            Self::work(Trade {
                from: from(&self.source, self.planes),
                to: to(&mut self.collected.planes[inner]),
                length: self.shape.lengths()[natural] as usize,
                gather: made(&self.row_maps, along_inner),
                scatter: made(&self.row_maps, along_last),
                base,
                steps,
                ahead: &mut ahead,
            });
        }
        self.lines = lines;
    }

    /// Pulls with axis `becomes_last` of the source, an outer one, trading places with the last axis.
    fn exchange(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap], becomes_last: usize) {
        let natural = self.collected.natural();
        let target = |axis: usize| usize::from(transform.target[axis]);
        let map = |axis: usize| &maps[transform.maps[axis] as usize];
        let inner = target(natural);
        let (strides, layout) = (self.shape.strides(), &self.collected.layouts[inner]);
        let Lines { bases, spare, .. } = &mut self.lines;
        restart(bases);
        for axis in (0..natural).filter(|&axis| axis != becomes_last) {
            spread_by_source(bases, spare, map(axis), strides[axis], layout.strides[target(axis)]);
        }
        let along = |offsets: &[u32], stride: u32| offsets.iter().map(|&i| i * stride).collect::<Vec<_>>();
        let reads = along(&map(becomes_last).from, strides[becomes_last]);
        let writes = along(&map(natural + 1).to, layout.strides[target(natural + 1)]);
        let along_inner = transform.maps[natural];
        entry(&mut self.row_maps, along_inner, || RowMap::new(&map(natural).from));
        self.split(packed, 0, self.shape.rows() as usize, Some(transform.odd));
        Self::work(Exchange {
            from: from(&self.source, self.planes),
            to: to(&mut self.collected.planes[inner]),
            length: self.shape.lengths()[natural] as usize,
            map: made(&self.row_maps, along_inner),
            places: &self.lines.bases,
            reads: &reads,
            writes: &writes,
            ahead: std::mem::take(&mut self.ahead),
        });
        self.collected.touched[inner] = true;
    }

    /// Joins all accumulators to the accumulator of the natural layout.
    fn join(&mut self) {
        let natural = self.collected.natural();
        let Collected { layouts, planes, touched, .. } = &mut self.collected;
        let (others, mine) = planes.split_at_mut(natural);
        for (inner, other) in others.iter_mut().enumerate() {
            if !std::mem::take(&mut touched[inner]) {
                continue;
            }
            Self::work(Turn {
                from: from(other, self.planes),
                to: to(&mut mine[0]),
                strides: [&layouts[inner].strides, &layouts[natural].strides],
                lengths: self.shape.lengths(),
                inner: [inner, natural],
            });
            other.bytes.fill(0);
            touched[natural] = true;
        }
    }

    fn remove_dense(&mut self, packed: &[u8]) {
        let natural = self.collected.natural();
        let lines = std::mem::take(&mut self.straight);
        let Lines { bases, steps, rows, .. } = &lines;
        for &(first, base) in bases {
            self.split(packed, first as usize, *rows, None);
            Self::work(Gather::<true> {
                from: from(&self.source, self.planes),
                to: to(&mut self.collected.planes[natural]),
                length: self.shape.lengths()[natural] as usize,
                map: &self.in_order,
                base,
                steps,
                ahead: &mut Ahead::default(),
            });
        }
        self.straight = lines;
    }
}

fn from(planes: &Planes, number: usize) -> From<'_> {
    From { bytes: &planes.bytes, stride: planes.stride, planes: number }
}

fn to(planes: &mut Planes) -> To<'_> {
    To { bytes: &mut planes.bytes, stride: planes.stride }
}

/// Makes the entry of an axis map, unless it exists.
pub(super) fn entry<T>(entries: &mut Vec<Option<T>>, number: u32, make: impl FnOnce() -> T) {
    let number = number as usize;
    if entries.len() <= number {
        entries.resize_with(number + 1, || None);
    }
    entries[number].get_or_insert_with(make);
}

/// Returns the entry of an axis map.
pub(super) fn made<T>(entries: &[Option<T>], number: u32) -> &T {
    entries[number as usize].as_ref().expect("it was made")
}

/// Copies the blocks at these starts to planes without slots.
struct Compact<'a> {
    from: From<'a>,
    to: To<'a>,
    starts: &'a [u32],
    /// The number of rows of a block.
    length: usize,
}

impl Work for Compact<'_> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        let Self { from, to, starts, length } = self;
        let read = super::blocks::largest(starts.iter().copied());
        super::blocks::check(from, read, &to, length * starts.len().saturating_sub(1));
        for plane in 0..from.planes {
            for (number, &start) in starts.iter().enumerate() {
                // SAFETY: the largest offsets were compared with the lengths of source and target. The next
                // block overwrites the bytes beyond a block, and the next plane those beyond a plane.
                unsafe {
                    let block = V::load(from.bytes.as_ptr().add(plane * from.stride + start as usize));
                    block.store(to.bytes.as_mut_ptr().add(plane * to.stride + number * length));
                }
            }
        }
    }
}

/// Counts the bits that are set.
struct Count<'a>(&'a [u8]);

impl Work for Count<'_> {
    type Output = u32;

    #[inline(always)]
    unsafe fn run<V: Slot>(self) -> u32 {
        let (words, rest) = self.0.as_chunks::<8>();
        words.iter().map(|word| u64::from_le_bytes(*word).count_ones()).sum::<u32>()
            + rest.iter().map(|byte| byte.count_ones()).sum::<u32>()
    }
}

impl<V: Slot> Lent for BytePlanes<V> {
    type States = Collected;

    fn no_states(&self) -> Collected {
        Collected::new(&self.shape)
    }

    fn states(&mut self) -> &mut Collected {
        &mut self.collected
    }
}

impl<V: Slot> Kernel for BytePlanes<V> {
    fn drop_maps(&mut self) {
        self.row_maps.clear();
        self.bit_maps.clear();
    }

    fn clear(&mut self) {
        self.collected.clear();
    }

    fn expect(&mut self, later: Bits<'_>) {
        self.ahead = match later {
            Bits::Dense(packed) => Ahead::new(packed),
            Bits::Empty | Bits::Sparse(_) => Ahead::default(),
        };
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        match source {
            Bits::Empty => {}
            Bits::Sparse(bytes) if bytes.len() / 4 > self.shape.rows() as usize / ROWS_A_STATE => {
                let mut packed = std::mem::take(&mut self.packed);
                byte_planes::unpack(bytes, &mut packed);
                self.pull_dense(&packed, transform, maps);
                self.packed = packed;
            }
            Bits::Sparse(bytes) => self.collected.add_sparse(Bits::positions(bytes), transform, maps),
            Bits::Dense(packed) => self.pull_dense(packed, transform, maps),
        }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        self.join();
        match known {
            Bits::Empty => {}
            Bits::Sparse(bytes) => self.collected.remove_sparse(Bits::positions(bytes)),
            Bits::Dense(packed) => self.remove_dense(packed),
        }
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        self.join();
        let natural = self.collected.natural();
        let (stride, packing) = (self.source.stride, &self.packing);
        Self::work(Compact {
            from: from(&self.collected.planes[natural], self.planes),
            to: to(&mut self.source),
            starts: &self.starts,
            length: self.shape.lengths()[natural] as usize,
        });
        let mut planes = &self.source.bytes;
        if let Some(halved) = &self.halved {
            let (to, nibbles) = (&mut self.mapped.bytes, &mut self.nibbles.bytes);
            let rows = self.shape.rows() as usize;
            Self::work(LookUp { map: &halved.join, from: planes, to, nibbles, stride, rows });
            planes = &self.mapped.bytes;
        }
        Self::work(Join { planes, stride, packed, packing });
        Self::work(Count(packed))
    }
}
