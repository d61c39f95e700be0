//! The coset kernel for processors with AVX-512 and GFNI, for tensors of at least two axes with at most 32
//! entries each, whose last axis is not cut into blocks. `rows` handles other tensors with rows of up to 128
//! bits, and `long` those with longer rows.
//!
//! Layout: a tensor is split into *byte planes*. Plane b holds byte b of every row, so a row of 24 bits lies
//! in three planes. Along one axis, the *inner* one, the bytes of a plane are adjacent: a *block* is the
//! bytes of all indices of that axis, and starts every 32 bytes, a *slot*. Two blocks fill a register. The
//! accumulators are kept in planes. A source is read as packed rows, from which the shuffle that permutes the
//! rows of two blocks also picks the bytes of each plane (`source`). A source is first split into planes only
//! if a packed block is shorter than a slot, or the last axis is halved.
//!
//! In this layout all parts of a transform are byte shuffles or products of 8 x 8 bit matrices:
//! - a map along the inner axis is one byte permutation of a register (`vpermb`);
//! - a map along the last axis, which lies in the bits, is a block matrix of 8 x 8 bit matrices, from plane
//!   to plane (`vgf2p8affineqb`, with the matrices as constants);
//! - where the last axis trades places with the inner axis, the square of bits is transposed in tiles of 8 x
//!   8 bits (the same instruction, with the tiles as matrices and the unit vectors as constants), and the
//!   tiles change planes;
//! - where the last axis trades places with an outer axis, the squares of bits are transposed across
//!   registers, and the inner axis stays (`exchange`);
//! - maps along the other axes, and permutations of these axes, only determine where a block is read and
//!   written.
//!
//! The transform determines which axis of the target is the inner one. So there is an accumulator for each
//! choice of the inner axis, and all accumulators are joined after the last pull of a coset. Every state of
//! the source is carried by exactly the maps of the transform, because each step is a bijection of bits; and
//! states are only ever added, so that the order does not matter.
//!
//! If the last axis is halved, a packed bit represents one of two neighbouring bits of a plane. Reading a
//! source copies the packed bit to both, and keeps the one whose parity is that of the row (`half_axis`);
//! packing joins both.
//!
//! Cost for two blocks of 24 rows of 24 bits, which are 144 bytes of the packed tensor: 32 instructions if
//! the last axis stays, about as many if it is exchanged with the inner axis, and half as many again if with
//! an outer one. Measured: a dense pull of 24 x 24 x 24 x 24 in 2.1 us, 160,000 million states per second
//! (`docs/performance.md`).

mod blocks;
mod exchange;
mod half_axis;
mod long;
mod rows;
mod source;
mod transpose;
mod walk;

use crate::byte_planes::{self, Ahead, Collected, Planes, ROWS_A_STATE, SLOT};
use crate::kernel::{Bits, Kernel, SLACK_BYTES};
use crate::summands::{Lent, of_summands};
use blocks::{BitMap, Pairs, count, join, keep, remove, split, trade, turn};
use exchange::{Exchange, exchange};
use fathom_space::{AxisMap, Shape, Transform};
use half_axis::Halved;
use source::{RowMap, Source};
use walk::{Squares, Walk};

/// Returns the kernel for tensors of a shape; `None` if no kernel here fits the shape, or this processor
/// lacks the instructions.
pub fn avx512(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    let one = &shape.summand();
    match byte_planes::fits(one) && blocks::is_supported() {
        true => Some(of_summands(shape, Avx512::new(one))),
        false => rows::rows(shape).or_else(|| long::long(shape)),
    }
}

/// An axis map as shuffles of rows.
#[derive(Debug)]
struct RowMaps {
    plain: RowMap,
    /// For rows that will be transposed.
    reversed: RowMap,
}

#[derive(Debug)]
struct Avx512 {
    shape: Shape,
    /// The number of planes.
    planes: u32,
    /// How rows are packed if the last axis is halved.
    halved: Option<Halved>,
    /// The states collected so far.
    collected: Collected,
    /// The source, split into planes: rows in their order, without slots.
    source: Planes,
    /// The bytes of a packed block along the natural inner axis, if blocks are read from packed tensors.
    block: Option<usize>,
    /// Planes of half rows, if the last axis is halved.
    halves: Vec<u8>,
    /// Maps along the inner axis, as shuffles, by number of the axis map.
    row_maps: Vec<Option<RowMaps>>,
    /// Maps along the last axis, as matrices, by number of the axis map.
    bit_maps: Vec<Option<BitMap>>,
    /// A dense copy of a sparse source with many states.
    packed: Vec<u8>,
    /// The source of the pull after the next one, to be prefetched.
    ahead: Ahead,
    walk: Walk,
    squares: Squares,
    /// The identity map along the inner axis.
    in_order: RowMap,
    /// The walk from the source, as split, to the natural layout.
    straight: Walk,
    /// The starts of the blocks of the natural layout, in the order of packed tensors.
    starts: Vec<u32>,
}

impl Avx512 {
    fn new(shape: &Shape) -> Self {
        let last = *shape.lengths().last().expect("a shape has an axis");
        let planes = last.div_ceil(8) as usize;
        let outer = shape.lengths().len() - 1;
        let collected = Collected::new(shape);
        let identities: Vec<AxisMap> =
            shape.lengths().iter().map(|&length| AxisMap::new((0..length).collect())).collect();
        let natural = &collected.layouts[outer - 1];
        let mut straight = Walk::default();
        straight.plan(shape.strides(), natural, |axis| (axis, &identities[axis]));
        let starts = natural.starts(shape.lengths());
        let block = shape.lengths()[outer - 1] as usize * planes;
        Self {
            source: Planes::new(planes, shape.rows().next_multiple_of(64) as usize),
            block: Some(block).filter(|&block| block >= SLOT && shape.odd().is_none()),
            halves: vec![0; if shape.odd().is_some() { planes * natural.bytes } else { 0 }],
            row_maps: Vec::new(),
            bit_maps: Vec::new(),
            packed: vec![0; shape.packed_bytes() as usize + SLACK_BYTES],
            ahead: Ahead::default(),
            walk: Walk::default(),
            squares: Squares::default(),
            in_order: RowMap::new(&identities[outer - 1].from, planes),
            straight,
            starts,
            collected,
            planes: planes as u32,
            halved: Halved::new(shape),
            shape: shape.clone(),
        }
    }

    /// Splits a packed tensor into the planes of the source, if blocks are not read from the tensor itself.
    /// `odd` is whether the parities of its states' indices have an odd sum; without it, both bits of a
    /// halved row are set for each packed bit.
    fn split(&mut self, packed: &[u8], odd: Option<bool>) {
        let (rows, row_bytes) = (self.shape.rows(), self.shape.row_bytes());
        let Planes { bytes, stride } = &mut self.source;
        match &mut self.halved {
            None if self.block.is_some() => {}
            None => split(packed, bytes, *stride, rows, row_bytes),
            Some(halved) => halved.split(packed, (bytes, *stride), odd),
        }
    }

    fn pull_dense(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let ahead = std::mem::take(&mut self.ahead);
        let last = transform.target.len() - 1;
        let natural = self.collected.natural();
        let source_axis = |target: usize| {
            let source = transform.target.iter().position(|&axis| usize::from(axis) == target);
            source.expect("the targets are a permutation of the axes")
        };
        let from = |target: usize| {
            let source = source_axis(target);
            (source, &maps[transform.maps[source] as usize])
        };
        self.split(packed, Some(transform.odd));
        let source = source_of(packed, &self.source, self.block);
        let becomes_last = source_axis(last);
        let last_number = transform.maps[last];
        let last_map = &maps[last_number as usize];
        // The inner axis of the source is always the natural one.
        let inner_number = transform.maps[natural];
        let numbers = [inner_number, last_number];
        let [along_inner, along_last] = row_maps(&mut self.row_maps, numbers, maps, self.planes);
        let strides = self.shape.strides();
        if becomes_last == last {
            let inner = usize::from(transform.target[natural]);
            self.walk.plan(strides, &self.collected.layouts[inner], from);
            let bits = bit_map(&mut self.bit_maps, last_number, last_map);
            let pairs = pairs(&mut self.collected.planes[inner], &self.walk, ahead);
            keep(source, pairs, self.planes, &along_inner.plain, bits);
            self.collected.touched[inner] = true;
        } else if becomes_last == natural {
            let inner = usize::from(transform.target[last]);
            self.walk.plan(strides, &self.collected.layouts[inner], from);
            let pairs = pairs(&mut self.collected.planes[inner], &self.walk, ahead);
            trade(source, pairs, self.planes, &along_inner.reversed, &along_last.plain);
            self.collected.touched[inner] = true;
        } else {
            let inner = usize::from(transform.target[natural]);
            let layout = &self.collected.layouts[inner];
            let becomes_outer = usize::from(transform.target[last]);
            self.squares.plan(strides, layout, becomes_outer, from);
            let along =
                |offsets: &[u32], stride: u32| offsets.iter().map(|&i| i * stride).collect::<Vec<_>>();
            let reads = along(&from(last).1.from, strides[becomes_last]);
            let writes = along(&last_map.to, layout.strides[becomes_outer]);
            let Planes { bytes: target, stride: target_stride } = &mut self.collected.planes[inner];
            let squares = Exchange {
                target,
                target_stride: *target_stride,
                bases: &self.squares.bases,
                steps: &self.squares.steps,
                reads: &reads,
                writes: &writes,
                ahead,
            };
            exchange(source, squares, self.planes, &along_inner.plain);
            self.collected.touched[inner] = true;
        }
    }

    /// Joins all accumulators to the accumulator of the natural layout.
    fn gather(&mut self) {
        let natural = self.collected.natural();
        let (others, mine) = self.collected.planes.split_at_mut(natural);
        for (inner, other) in others.iter_mut().enumerate() {
            if !std::mem::take(&mut self.collected.touched[inner]) {
                continue;
            }
            turn(
                (&other.bytes, other.stride, &self.collected.layouts[inner].strides),
                (&mut mine[0].bytes, mine[0].stride, &self.collected.layouts[natural].strides),
                self.shape.lengths(),
                (inner, natural),
                self.planes,
            );
            other.bytes.fill(0);
            self.collected.touched[natural] = true;
        }
    }
}

/// Returns the source of a pull: the packed tensor, if its blocks are read and have `block` bytes, or else
/// the planes into which the tensor was split.
fn source_of<'a>(packed: &'a [u8], planes: &'a Planes, block: Option<usize>) -> Source<'a> {
    match block {
        Some(block) => Source::Packed(packed, block),
        None => Source::Planes(&planes.bytes, planes.stride),
    }
}

/// Describes the blocks that one pull reads and writes.
fn pairs<'a>(target: &'a mut Planes, walk: &'a Walk, ahead: Ahead) -> Pairs<'a> {
    Pairs {
        target: &mut target.bytes,
        target_stride: target.stride,
        bases: &walk.bases,
        steps: &walk.steps,
        ahead,
    }
}

/// Returns two axis maps as shuffles, which are computed on first use. Rows have a byte in each of `planes`
/// planes.
fn row_maps<'a>(
    made: &'a mut Vec<Option<RowMaps>>,
    numbers: [u32; 2],
    maps: &[AxisMap],
    planes: u32,
) -> [&'a RowMaps; 2] {
    for number in numbers.map(|number| number as usize) {
        if made.len() <= number {
            made.resize_with(number + 1, || None);
        }
        made[number].get_or_insert_with(|| RowMaps {
            plain: RowMap::new(&maps[number].from, planes as usize),
            reversed: RowMap::reversed(&maps[number].from, planes as usize),
        });
    }
    numbers.map(|number| made[number as usize].as_ref().expect("both were made"))
}

fn bit_map<'a>(made: &'a mut Vec<Option<BitMap>>, number: u32, map: &AxisMap) -> &'a BitMap {
    let number = number as usize;
    if made.len() <= number {
        made.resize_with(number + 1, || None);
    }
    made[number].get_or_insert_with(|| BitMap::new(&map.from))
}

impl Lent for Avx512 {
    type States = Collected;

    fn no_states(&self) -> Collected {
        Collected::new(&self.shape)
    }

    fn states(&mut self) -> &mut Collected {
        &mut self.collected
    }
}

impl Kernel for Avx512 {
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
        self.gather();
        let natural = self.collected.natural();
        match known {
            Bits::Empty => {}
            Bits::Sparse(bytes) => self.collected.remove_sparse(Bits::positions(bytes)),
            Bits::Dense(packed) => {
                self.split(packed, None);
                let source = source_of(packed, &self.source, self.block);
                let pairs = pairs(&mut self.collected.planes[natural], &self.straight, Ahead::default());
                remove(source, pairs, self.planes, &self.in_order);
            }
        }
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        self.gather();
        let natural = self.collected.natural();
        let layout = &self.collected.layouts[natural];
        let block = (self.shape.lengths()[natural], self.shape.row_bytes());
        let collected = &self.collected.planes[natural].bytes;
        let rows: &[u8] = match &self.halved {
            None => collected,
            Some(halved) => {
                halved.join(collected, &mut self.halves, layout.bytes);
                &self.halves
            }
        };
        join(rows, layout.bytes, &self.starts, block, packed);
        count(packed)
    }
}
