//! The coset kernel for processors with AVX-512 and GFNI, for tensors of at least two axes with at most 32
//! entries each, whose last axis is not cut into blocks. `rows` handles other tensors with rows of up to 128
//! bits, and `long` those with longer rows.
//!
//! Layout: a tensor is split into *byte planes*. Plane b holds byte b of every row, so a row of 24 bits lies
//! in three planes. Along one axis, the *inner* one, the bytes of a plane are adjacent: a *block* is the
//! bytes of all indices of that axis, and starts every 32 bytes, a *slot*. Two blocks fill a register.
//!
//! In this layout all parts of a transform are byte shuffles or products of 8 x 8 bit matrices:
//! - a map along the inner axis is one byte permutation of a register (`vpermb`);
//! - a map along the last axis, which lies in the bits, is a block matrix of 8 x 8 bit matrices, from plane
//!   to plane (`vgf2p8affineqb`, with the matrices as constants);
//! - where the last axis trades places with the inner axis, the square of bits is transposed in tiles of 8 x
//!   8 bits (the same instruction, with the tiles as matrices and the unit vectors as constants), and the
//!   tiles change planes;
//! - maps along the other axes, and permutations of these axes, only say where a block is read and written.
//!
//! The transform determines which axis of the target is the inner one. So there is an accumulator for each
//! choice of the inner axis, and all accumulators are joined after the last pull of a coset. A source is
//! brought to another inner axis only if the last axis is traded for another axis than the inner one. Every
//! state of the source is carried by exactly the maps of the transform, because each step is a bijection of
//! bits; and states are only ever added, so that the order does not matter.
//!
//! If the last axis is halved, a packed bit stands for one of two neighbouring bits of a plane. Reading a
//! source copies the packed bit to both, and keeps the one whose parity is that of the row (`halved`);
//! packing joins both.
//!
//! Cost for two blocks of 24 rows of 24 bits, which are 144 bytes of the packed tensor: 27 instructions if
//! the last axis stays, 29 if it is traded. Splitting 64 rows of the source, 192 bytes, into planes takes 16
//! more. Measured: a dense pull of 24 x 24 x 24 x 24 in 3.6 us, 90,000 million states a second
//! (`docs/performance.md`).

mod blocks;
mod halved;
mod long;
mod rows;
mod transpose;

use crate::kernel::{Bits, Kernel, SLACK_BYTES};
use blocks::{Ahead, BitMap, Pairs, RowMap, count, join, keep, remove, split, trade, turn};
use fathom_space::{AxisMap, Shape, Transform};
use halved::Halved;

/// Bytes from one block of a plane to the next, and the largest length of an axis.
pub(crate) const SLOT: usize = 32;

/// The largest number of planes: rows have at most 32 bits.
pub(crate) const MOST_PLANES: usize = 4;

/// Rows of a dense tensor that can be carried in about the time of a single state of a sparse one.
const ROWS_A_STATE: usize = 64;

/// Returns the kernel for tensors of a shape; `None` if no kernel here fits the shape, or this processor
/// lacks the instructions.
pub fn avx512(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    let fits = shape.blocks() == 1
        && shape.lengths().len() > 1
        && shape.lengths().iter().all(|&length| length as usize <= SLOT);
    match fits && blocks::is_supported() {
        true => Some(Box::new(Avx512::new(shape))),
        false => rows::rows(shape).or_else(|| long::long(shape)),
    }
}

/// The places of the bytes of a plane, for one choice of the inner axis.
#[derive(Clone, Debug)]
struct Layout {
    /// The axes whose indices determine the block of a byte, outermost first.
    outer: Vec<usize>,
    /// Bytes from one index to the next, for every axis but the last.
    strides: Vec<u32>,
    /// The size of a plane in bytes.
    bytes: usize,
}

impl Layout {
    /// Blocks are in row-major order of the other axes. The last of these axes is rounded up to an even
    /// length, so that blocks can be processed in pairs.
    fn new(lengths: &[u32], inner: usize) -> Self {
        let outer: Vec<usize> = (0..lengths.len() - 1).filter(|&axis| axis != inner).collect();
        let mut strides = vec![1; lengths.len() - 1];
        let mut bytes = SLOT as u32;
        for (number, &axis) in outer.iter().enumerate().rev() {
            strides[axis] = bytes;
            let length =
                if number + 1 == outer.len() { lengths[axis].next_multiple_of(2) } else { lengths[axis] };
            bytes *= length;
        }
        Self { outer, strides, bytes: bytes.max(2 * SLOT as u32) as usize }
    }
}

/// Byte planes in some layout, one after the other, followed by padding for loads that reach beyond the last
/// plane.
#[derive(Debug)]
struct Planes {
    bytes: Vec<u8>,
    /// Bytes from one plane to the next.
    stride: usize,
}

impl Planes {
    fn new(planes: usize, stride: usize) -> Self {
        Self { bytes: vec![0; planes * stride + 2 * SLOT], stride }
    }
}

#[derive(Debug)]
struct Avx512 {
    shape: Shape,
    /// The number of planes.
    planes: u32,
    /// How rows are packed if the last axis is halved.
    halved: Option<Halved>,
    /// The layout for each inner axis.
    layouts: Vec<Layout>,
    /// The accumulators, by inner axis; the states collected so far are their union. In a block, the bytes
    /// after the end of the inner axis are zero. Padding blocks may hold anything.
    collected: Vec<Planes>,
    /// Whether each of `collected` may have bits that are set.
    touched: Vec<bool>,
    /// The source, split into planes: rows in their order, without slots.
    source: Planes,
    /// The source with another inner axis.
    regrouped: Planes,
    /// Maps along the inner axis, as shuffles, by number of the axis map.
    row_maps: Vec<Option<[RowMap; 2]>>,
    /// Maps along the last axis, as matrices, by number of the axis map.
    bit_maps: Vec<Option<BitMap>>,
    /// A dense copy of a sparse source with many states.
    packed: Vec<u8>,
    /// The source of the pull after the next one, to be prefetched.
    ahead: Ahead,
    walk: Walk,
    /// The walk from the source, as split, to the natural layout.
    straight: Walk,
    /// The starts of the blocks of the natural layout, in the order of packed tensors.
    starts: Vec<u32>,
}

/// The places at which pairs of blocks are read and written.
#[derive(Debug, Default)]
struct Walk {
    /// Byte offsets in the source and in the target.
    bases: Vec<(u32, u32)>,
    next: Vec<(u32, u32)>,
    /// From each base, the offsets in the source of the blocks at multiples of [`SLOT`] in the target.
    steps: Vec<u32>,
}

impl Walk {
    /// Plans the reads and writes from a source with these strides to `target`. `from` returns, for an axis
    /// of the target, the axis of the source that becomes it, and the map along that axis.
    fn plan<'m>(
        &mut self,
        source_strides: &[u32],
        target: &Layout,
        from: impl Fn(usize) -> (usize, &'m AxisMap),
    ) {
        self.bases.clear();
        self.bases.push((0, 0));
        self.steps.clear();
        let Some((&paired, rest)) = target.outer.split_last() else {
            self.steps.resize(2, 0);
            return;
        };
        for &axis in rest {
            let (source, map) = from(axis);
            let (source_stride, target_stride) = (source_strides[source], target.strides[axis]);
            self.next.clear();
            for &(read, write) in &self.bases {
                let along = map.from.iter().zip(0..);
                self.next.extend(along.map(|(&i, j)| (read + i * source_stride, write + j * target_stride)));
            }
            std::mem::swap(&mut self.bases, &mut self.next);
        }
        let (source, map) = from(paired);
        self.steps.extend(map.from.iter().map(|&i| i * source_strides[source]));
        // The padding block gets a copy of the first block, which nothing reads.
        self.steps.resize(self.steps.len().next_multiple_of(2), self.steps[0]);
    }
}

impl Avx512 {
    fn new(shape: &Shape) -> Self {
        let last = *shape.lengths().last().expect("a shape has an axis");
        let planes = last.div_ceil(8) as usize;
        let outer = shape.lengths().len() - 1;
        let layouts: Vec<Layout> = (0..outer).map(|inner| Layout::new(shape.lengths(), inner)).collect();
        let identities: Vec<AxisMap> =
            shape.lengths().iter().map(|&length| AxisMap::new((0..length).collect())).collect();
        let natural = &layouts[outer - 1];
        let mut straight = Walk::default();
        straight.plan(shape.strides(), natural, |axis| (axis, &identities[axis]));
        let run = natural.outer.last().map_or(1, |&axis| shape.lengths()[axis]);
        let in_run = |base: &(u32, u32)| {
            let start = base.1;
            (0..run).map(move |number| start + number * SLOT as u32)
        };
        let starts = straight.bases.iter().flat_map(in_run).collect();
        let largest =
            layouts.iter().map(|layout| layout.bytes).max().expect("there is an axis before the last");
        Self {
            collected: layouts.iter().map(|layout| Planes::new(planes, layout.bytes)).collect(),
            touched: vec![false; outer],
            source: Planes::new(planes, shape.rows().next_multiple_of(64) as usize),
            regrouped: Planes::new(planes, largest),
            row_maps: Vec::new(),
            bit_maps: Vec::new(),
            packed: vec![0; shape.packed_bytes() as usize + SLACK_BYTES],
            ahead: Ahead::default(),
            walk: Walk::default(),
            straight,
            starts,
            layouts,
            planes: planes as u32,
            halved: Halved::new(shape),
            shape: shape.clone(),
        }
    }

    /// Splits a packed tensor into the planes of the source. `odd` tells whether the parities of its states'
    /// indices have an odd sum; without it both bits of a halved row are set for each packed one.
    fn split(&mut self, packed: &[u8], odd: Option<bool>) {
        let (rows, row_bytes) = (self.shape.rows(), self.shape.row_bytes());
        let Planes { bytes, stride } = &mut self.source;
        match &mut self.halved {
            None => split(packed, bytes, *stride, rows, row_bytes),
            Some(halved) => halved.split(packed, (bytes, *stride), odd),
        }
    }

    /// Returns the innermost axis of packed tensors, to whose accumulator all others are joined.
    fn natural(&self) -> usize {
        self.layouts.len() - 1
    }

    fn pull_dense(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let ahead = std::mem::take(&mut self.ahead);
        let last = transform.target.len() - 1;
        let natural = self.natural();
        let source_axis = |target: usize| {
            let source = transform.target.iter().position(|&axis| usize::from(axis) == target);
            source.expect("the targets are a permutation of the axes")
        };
        let from = |target: usize| {
            let source = source_axis(target);
            (source, &maps[transform.maps[source] as usize])
        };
        self.split(packed, Some(transform.odd));
        let becomes_last = source_axis(last);
        let last_number = transform.maps[last];
        let last_map = &maps[last_number as usize];
        if becomes_last == last {
            let inner = usize::from(transform.target[natural]);
            let layout = &self.layouts[inner];
            self.walk.plan(self.shape.strides(), layout, from);
            let inner_number = transform.maps[natural];
            let rows = row_map(&mut self.row_maps, inner_number, &maps[inner_number as usize])[0];
            let bits = bit_map(&mut self.bit_maps, last_number, last_map);
            let pairs = pairs(&self.source, &mut self.collected[inner], &self.walk, ahead);
            keep(pairs, self.planes, &rows, bits);
            self.touched[inner] = true;
        } else {
            let (source, strides) = if becomes_last == natural {
                (&self.source, self.shape.strides())
            } else {
                let layout = &self.layouts[becomes_last];
                self.regrouped.stride = layout.bytes;
                turn::<false>(
                    (&self.source.bytes, self.source.stride, self.shape.strides()),
                    (&mut self.regrouped.bytes, layout.bytes, &layout.strides),
                    self.shape.lengths(),
                    (natural, becomes_last),
                    self.planes,
                );
                (&self.regrouped, &layout.strides[..])
            };
            let inner = usize::from(transform.target[last]);
            self.walk.plan(strides, &self.layouts[inner], from);
            let number = transform.maps[becomes_last];
            let gather = row_map(&mut self.row_maps, number, &maps[number as usize])[1];
            let scatter = row_map(&mut self.row_maps, last_number, last_map)[0];
            let pairs = pairs(source, &mut self.collected[inner], &self.walk, ahead);
            trade(pairs, self.planes, &gather, &scatter);
            self.touched[inner] = true;
        }
    }

    /// Joins all accumulators to the accumulator of the natural layout.
    fn gather(&mut self) {
        let natural = self.natural();
        let (others, mine) = self.collected.split_at_mut(natural);
        for (inner, other) in others.iter_mut().enumerate() {
            if !std::mem::take(&mut self.touched[inner]) {
                continue;
            }
            turn::<true>(
                (&other.bytes, other.stride, &self.layouts[inner].strides),
                (&mut mine[0].bytes, mine[0].stride, &self.layouts[natural].strides),
                self.shape.lengths(),
                (inner, natural),
                self.planes,
            );
            other.bytes.fill(0);
            self.touched[natural] = true;
        }
    }

    /// Returns the byte and the bit of a state in the natural accumulator.
    fn place(&self, indices: &[u32]) -> (usize, u8) {
        let natural = &self.layouts[self.natural()];
        let (&last, outer) = indices.split_last().expect("a shape has an axis");
        let offset: u32 = outer.iter().zip(&natural.strides).map(|(index, stride)| index * stride).sum();
        let plane = last as usize / 8;
        (plane * natural.bytes + offset as usize, 1 << (last % 8))
    }
}

/// Describes the blocks that one pull reads and writes.
fn pairs<'a>(source: &'a Planes, target: &'a mut Planes, walk: &'a Walk, ahead: Ahead) -> Pairs<'a> {
    Pairs {
        source: &source.bytes,
        source_stride: source.stride,
        target: &mut target.bytes,
        target_stride: target.stride,
        bases: &walk.bases,
        steps: &walk.steps,
        ahead,
    }
}

/// Returns the shuffles of an axis map: a plain one, and one for rows that will be transposed. Makes them on
/// first use.
fn row_map<'a>(made: &'a mut Vec<Option<[RowMap; 2]>>, number: u32, map: &AxisMap) -> &'a [RowMap; 2] {
    let number = number as usize;
    if made.len() <= number {
        made.resize_with(number + 1, || None);
    }
    made[number].get_or_insert_with(|| [RowMap::new(&map.from), RowMap::reversed(&map.from)])
}

fn bit_map<'a>(made: &'a mut Vec<Option<BitMap>>, number: u32, map: &AxisMap) -> &'a BitMap {
    let number = number as usize;
    if made.len() <= number {
        made.resize_with(number + 1, || None);
    }
    made[number].get_or_insert_with(|| BitMap::new(&map.from))
}

impl Kernel for Avx512 {
    fn clear(&mut self) {
        for (planes, touched) in self.collected.iter_mut().zip(&mut self.touched) {
            if std::mem::take(touched) {
                planes.bytes.fill(0);
            }
        }
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
                packed.fill(0);
                for position in Bits::positions(bytes) {
                    packed[position as usize / 8] |= 1 << (position % 8);
                }
                self.pull_dense(&packed, transform, maps);
                self.packed = packed;
            }
            Bits::Sparse(bytes) => {
                let axes = transform.target.len();
                let (mut from, mut to) = (vec![0; axes], vec![0; axes]);
                for position in Bits::positions(bytes) {
                    self.shape.indices(position, transform.odd, &mut from);
                    for axis in 0..axes {
                        let map = &maps[transform.maps[axis] as usize];
                        to[usize::from(transform.target[axis])] = map.to[from[axis] as usize];
                    }
                    let (byte, bit) = self.place(&to);
                    let natural = self.natural();
                    self.collected[natural].bytes[byte] |= bit;
                    self.touched[natural] = true;
                }
            }
            Bits::Dense(packed) => self.pull_dense(packed, transform, maps),
        }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        self.gather();
        let natural = self.natural();
        match known {
            Bits::Empty => {}
            Bits::Sparse(bytes) => {
                let mut indices = vec![0; self.shape.lengths().len()];
                for position in Bits::positions(bytes) {
                    self.shape.indices(position, false, &mut indices);
                    let (byte, bit) = self.place(&indices);
                    // Of a halved row, only one of both bits can be set.
                    let bits = if self.halved.is_some() { halved::both(bit) } else { bit };
                    self.collected[natural].bytes[byte] &= !bits;
                }
            }
            Bits::Dense(packed) => {
                self.split(packed, None);
                let pairs =
                    pairs(&self.source, &mut self.collected[natural], &self.straight, Ahead::default());
                remove(pairs, self.planes, self.shape.lengths()[natural]);
            }
        }
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        self.gather();
        let natural = self.natural();
        let layout = &self.layouts[natural];
        let block = (self.shape.lengths()[natural], self.shape.row_bytes());
        let collected = &self.collected[natural].bytes;
        let rows = match &self.halved {
            None => collected,
            Some(halved) => {
                halved.join(collected, &mut self.regrouped.bytes, layout.bytes);
                &self.regrouped.bytes
            }
        };
        join(rows, layout.bytes, &self.starts, block, packed);
        count(packed)
    }
}
