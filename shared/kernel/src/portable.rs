//! The coset kernel in plain code that compilers vectorise.
//!
//! Layout: the states collected so far are unpacked, each row in `row_words` words of its own. A row of up to
//! 32 bits is one `u32`, a row of up to 64 bits one `u64`, and a longer row several `u64`. Dense pulls of
//! rows of one word are in `narrow`, in `half_axis` if the last axis is halved, or in `blocks` if that axis
//! is cut into blocks; those of longer rows are in `wide`. Sources are read in place from their packed form.
//!
//! Apart from blocks, there are three kinds of pulls. *Sparse*: the indices of each state are mapped one by
//! one, and its bit is set. *Dense, the last axis stays last*: rows are gathered in the order of the target,
//! and the bits of all rows get the same permutation. *Dense, the last axis trades places with another*: rows
//! along that other axis are gathered into a square, in the order given by the map along the axis; the square
//! is transposed, and its rows are scattered by the map along the last axis. In each kind, every state of the
//! source is carried by exactly the maps of the transform, and states are only ever added, so that the order
//! does not matter.
//!
//! Measured: a dense pull of 24 x 24 x 24 x 24 in 30 us, 11,000 million states per second
//! (`docs/performance.md`).

mod blocks;
mod half_axis;
mod narrow;
mod wide;

use crate::kernel::{Bits, Kernel};
use crate::network::Network;
use crate::summands::{Lent, of_summands};
use crate::word::Word;
use blocks::Blocks;
use fathom_space::{AxisMap, Shape, Transform};

/// Creates the portable kernel for tensors of a shape.
pub fn portable(shape: &Shape) -> Box<dyn Kernel + Send> {
    let one = &shape.summand();
    match shape.row_bits() {
        0..=32 => of_summands(shape, Portable::<u32>::new(one)),
        _ => of_summands(shape, Portable::<u64>::new(one)),
    }
}

#[derive(Debug)]
pub(crate) struct Portable<W> {
    pub(crate) shape: Shape,
    pub(crate) row_words: usize,
    pub(crate) words: Vec<W>,
    /// Whether the indices of each row have parities with an odd sum; empty unless the last axis is halved.
    pub(crate) odd_rows: Vec<bool>,
    /// The network of each axis map, by the number of the map.
    networks: Vec<Option<Network<W>>>,
    /// The permutations of a last axis that is cut into blocks.
    blocks: Blocks<W>,
    scratch: Scratch<W>,
}

/// Buffers that are kept between pulls, so that a pull allocates nothing.
#[derive(Debug, Default)]
struct Scratch<W> {
    walk: Walk,
    /// Byte offsets, in the source, of the rows of a block.
    reads: Vec<u32>,
    rows: Vec<W>,
    columns: Vec<W>,
}

/// The rows at which the blocks of a pull begin, in the source and in the target.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) source: Vec<u32>,
    pub(crate) target: Vec<u32>,
    next: Vec<u32>,
}

impl Walk {
    fn restart(&mut self) {
        for starts in [&mut self.source, &mut self.target] {
            starts.clear();
            starts.push(0);
        }
    }

    /// Repeats every block for each index of one more axis of the target, to which `map` leads from an axis
    /// of the source.
    #[inline(always)]
    fn along(&mut self, map: &AxisMap, source_stride: u32, target_stride: u32) {
        self.next.clear();
        for start in &self.source {
            self.next.extend(map.from.iter().map(|index| start + index * source_stride));
        }
        std::mem::swap(&mut self.source, &mut self.next);
        self.next.clear();
        for start in &self.target {
            self.next.extend((0..map.from.len() as u32).map(|index| start + index * target_stride));
        }
        std::mem::swap(&mut self.target, &mut self.next);
    }

    /// Finds the blocks of a pull: one for each index of the axes other than the last one and the axis that
    /// becomes last.
    #[inline(always)]
    pub(crate) fn blocks(&mut self, shape: &Shape, transform: &Transform, maps: &[AxisMap]) {
        let last = transform.target.len() - 1;
        let except = match Meeting::new(transform) {
            Meeting::Kept => last,
            Meeting::Traded { from, .. } => from,
        };
        self.restart();
        for source in (0..last).filter(|&source| source != except) {
            let target = usize::from(transform.target[source]);
            let map = &maps[transform.maps[source] as usize];
            self.along(map, shape.strides()[source], shape.strides()[target]);
        }
    }

    /// Finds the lines of a pull whose last axis stays: rows that are adjacent in the target. Fills `steps`,
    /// by parity of the index along the line in the source, with the offset in the source of each row of a
    /// line, and the number of the row in the line.
    pub(crate) fn lines(
        &mut self,
        shape: &Shape,
        transform: &Transform,
        maps: &[AxisMap],
        steps: &mut [Vec<(u32, u32)>; 2],
    ) {
        let last = transform.target.len() - 1;
        let innermost = transform.target[..last].iter().position(|&axis| usize::from(axis) + 1 == last);
        self.restart();
        steps.iter_mut().for_each(Vec::clear);
        for source in (0..last).filter(|&source| Some(source) != innermost) {
            let target = usize::from(transform.target[source]);
            let map = &maps[transform.maps[source] as usize];
            self.along(map, shape.strides()[source], shape.strides()[target]);
        }
        let Some(innermost) = innermost else {
            steps[0].push((0, 0));
            return;
        };
        let (map, stride) = (&maps[transform.maps[innermost] as usize], shape.strides()[innermost]);
        for (&index, number) in map.from.iter().zip(0..) {
            let is_odd = shape.odd().is_some_and(|is_odd| is_odd[index as usize]);
            steps[usize::from(is_odd)].push((index * stride, number));
        }
    }
}

impl<W: Word> Portable<W> {
    pub(crate) fn new(shape: &Shape) -> Self {
        let row_words = shape.row_bits().div_ceil(W::BITS) as usize;
        Self {
            shape: shape.clone(),
            row_words,
            words: vec![W::default(); shape.rows() as usize * row_words],
            odd_rows: odd_rows(shape),
            networks: Vec::new(),
            blocks: Blocks::default(),
            scratch: Scratch::default(),
        }
    }

    /// Returns word `word` of row `row` of a packed tensor.
    #[inline(always)]
    fn load(&self, packed: &[u8], row: u32, word: usize) -> W {
        let at = row as usize * self.shape.row_bytes() as usize + word * size_of::<W>();
        W::load(packed, at) & self.valid(word)
    }

    /// Returns a mask of the bits in word `word` of a row that belong to the row.
    #[inline(always)]
    fn valid(&self, word: usize) -> W {
        W::low((self.shape.row_bits() - word as u32 * W::BITS).min(W::BITS))
    }

    /// Returns the word and the bit of a packed position.
    #[inline(always)]
    fn place(&self, position: u32) -> (usize, W) {
        let row_bits = self.shape.row_bytes() * 8;
        let (row, bit) = (position / row_bits, position % row_bits);
        (row as usize * self.row_words + (bit / W::BITS) as usize, W::low(1) << (bit % W::BITS))
    }

    /// Adds the images of a sparse coset whose last axis is halved or cut into blocks.
    #[inline(always)]
    fn push_sparse_by_indices(
        &mut self,
        positions: impl Iterator<Item = u32>,
        transform: &Transform,
        maps: &[AxisMap],
    ) {
        let axes = transform.target.len();
        let (mut from, mut to) = (vec![0; axes], vec![0; axes]);
        for position in positions {
            self.shape.indices(position, transform.odd, &mut from);
            for axis in 0..axes {
                let map = &maps[transform.maps[axis] as usize];
                to[usize::from(transform.target[axis])] = map.to[from[axis] as usize];
            }
            let (word, bit) = self.place(self.shape.position(&to));
            self.words[word] |= bit;
        }
    }

    /// Adds the images of a sparse coset. The outer indices, which take divisions, are mapped once for all
    /// states of a row.
    #[inline(always)]
    fn push_sparse(&mut self, positions: impl Iterator<Item = u32>, transform: &Transform, maps: &[AxisMap]) {
        let row_bits = self.row_words * W::BITS as usize;
        let (axes, strides) = (transform.target.len(), self.shape.strides());
        // Bits, in the unpacked layout, from one index of an axis to the next.
        let step = |axis: usize| if axis + 1 == axes { 1 } else { strides[axis] as usize * row_bits };
        let map_of = |axis: usize| {
            (&*maps[transform.maps[axis] as usize].to, step(usize::from(transform.target[axis])))
        };
        let (along_row, along_row_step) = map_of(axes - 1);
        let packed_row_bits = self.shape.row_bytes() * 8;
        // The positions of the current row, and the bit to which index 0 of that row would be mapped.
        let (mut in_row, mut base) = (0..0, 0);
        for position in positions {
            if !in_row.contains(&position) {
                let mut row = position / packed_row_bits;
                let start = row * packed_row_bits;
                in_row = start..start.saturating_add(packed_row_bits);
                base = 0;
                for (axis, stride) in strides[..axes - 1].iter().enumerate() {
                    let (map, step) = map_of(axis);
                    base += map[(row / stride) as usize] as usize * step;
                    row %= stride;
                }
            }
            let bit = base + along_row[(position - in_row.start) as usize] as usize * along_row_step;
            self.words[bit / W::BITS as usize] |= W::low(1) << (bit as u32 % W::BITS);
        }
    }

    /// Returns the network of an axis map. Routes the network on first use.
    fn network<'a>(networks: &'a mut Vec<Option<Network<W>>>, number: u32, map: &AxisMap) -> &'a Network<W> {
        let number = number as usize;
        if networks.len() <= number {
            networks.resize(number + 1, None);
        }
        networks[number].get_or_insert_with(|| Network::new(&map.from))
    }
}

/// Returns for each row whether its indices have parities with an odd sum; nothing unless the last axis is
/// halved.
pub(crate) fn odd_rows(shape: &Shape) -> Vec<bool> {
    let Some(odd) = shape.odd() else {
        return Vec::new();
    };
    let outer = &shape.lengths()[..shape.lengths().len() - 1];
    outer.iter().fold(vec![false], |rows, &length| {
        rows.iter().flat_map(|row| odd[..length as usize].iter().map(move |odd| row ^ odd)).collect()
    })
}

/// The role of the last axis in a dense pull.
pub(crate) enum Meeting {
    /// The last axis stays last.
    Kept,
    /// Axis `from` of the source becomes last, and the last axis becomes axis `to` of the target.
    Traded { from: usize, to: usize },
}

impl Meeting {
    pub(crate) fn new(transform: &Transform) -> Self {
        let last = transform.target.len() - 1;
        let from = transform
            .target
            .iter()
            .position(|&axis| usize::from(axis) == last)
            .expect("the targets are a permutation of the axes");
        if from == last { Self::Kept } else { Self::Traded { from, to: usize::from(transform.target[last]) } }
    }
}

impl<W: Word> Lent for Portable<W> {
    type States = Vec<W>;

    fn no_states(&self) -> Vec<W> {
        vec![W::default(); self.words.len()]
    }

    fn states(&mut self) -> &mut Vec<W> {
        &mut self.words
    }
}

impl<W: Word> Kernel for Portable<W> {
    fn drop_maps(&mut self) {
        self.networks.clear();
        self.blocks = Blocks::default();
    }

    fn map_bytes(&self) -> usize {
        self.blocks.table_bytes()
    }

    fn clear(&mut self) {
        self.words.fill(W::default());
    }

    #[inline(always)]
    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        match source {
            Bits::Empty => {}
            Bits::Sparse(bytes) if self.shape.odd().is_some() || self.shape.blocks() > 1 => {
                self.push_sparse_by_indices(Bits::positions(bytes), transform, maps);
            }
            Bits::Sparse(bytes) => self.push_sparse(Bits::positions(bytes), transform, maps),
            Bits::Dense(packed) if self.shape.odd().is_some() => self.pull_halved(packed, transform, maps),
            Bits::Dense(packed) if self.shape.blocks() > 1 => self.pull_blocks(packed, transform, maps),
            Bits::Dense(packed) if self.row_words == 1 => self.pull_narrow(packed, transform, maps),
            Bits::Dense(packed) => self.pull_wide(packed, transform, maps),
        }
    }

    #[inline(always)]
    fn subtract(&mut self, known: Bits<'_>) {
        match known {
            Bits::Empty => {}
            Bits::Sparse(bytes) => {
                for position in Bits::positions(bytes) {
                    let (word, bit) = self.place(position);
                    self.words[word] = self.words[word] & !bit;
                }
            }
            Bits::Dense(packed) => {
                let row_bytes = self.shape.row_bytes() as usize;
                for (row, words) in self.words.chunks_exact_mut(self.row_words).enumerate() {
                    let known = &packed[row * row_bytes..][..self.row_words * size_of::<W>()];
                    for (mine, known) in words.iter_mut().zip(known.chunks_exact(size_of::<W>())) {
                        // The last word of a row may be followed by bits of the next, which are removed
                        // from bits that are never set.
                        *mine = *mine & !W::load(known, 0);
                    }
                }
            }
        }
    }

    #[inline(always)]
    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        let row_bytes = self.shape.row_bytes() as usize;
        let mut states = 0;
        for (words, bytes) in self.words.chunks_exact(self.row_words).zip(packed.chunks_exact_mut(row_bytes))
        {
            let mut packed = bytes.chunks_exact_mut(size_of::<W>());
            for (word, bytes) in words.iter().zip(&mut packed) {
                states += word.count_ones();
                bytes.copy_from_slice(&word.widen().to_le_bytes()[..size_of::<W>()]);
            }
            let rest = packed.into_remainder();
            if let (false, Some(word)) = (rest.is_empty(), words.last()) {
                states += word.count_ones();
                rest.copy_from_slice(&word.widen().to_le_bytes()[..rest.len()]);
            }
        }
        states
    }
}
