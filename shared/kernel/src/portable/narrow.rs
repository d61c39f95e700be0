//! Dense pulls where a row is one word, and the last axis is neither halved nor cut into blocks.
//!
//! Cost of a row of 24 bits in a u32: if the last axis stays, one load, one OR and at most nine stages of six
//! operations; if it is exchanged, one load, one OR and five passes of six operations on pairs of rows. Both
//! run over whole blocks of rows without a branch.

use super::{Meeting, Portable, Scratch};
use crate::transpose::transpose;
use crate::word::Word;
use fathom_space::{AxisMap, Transform};

impl<W: Word> Portable<W> {
    #[inline(always)]
    pub(super) fn pull_narrow(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        match Meeting::new(transform) {
            Meeting::Kept => self.keep(packed, transform, maps, &mut scratch),
            Meeting::Traded { from, to } => self.trade(packed, transform, maps, from, to, &mut scratch),
        }
        self.scratch = scratch;
    }

    /// Pulls with the last axis staying last: blocks are the rows along the last axis but one.
    #[inline(always)]
    fn keep(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap], scratch: &mut Scratch<W>) {
        let strides = self.shape.strides();
        let last = transform.target.len() - 1;
        let source_of = |axis: usize| {
            let source = transform.target.iter().position(|&target| usize::from(target) == axis);
            let source = source.expect("the targets are a permutation of the axes");
            (&maps[transform.maps[source] as usize], strides[source])
        };
        let Scratch { walk, reads, rows, .. } = scratch;
        walk.restart();
        for (axis, &target_stride) in strides.iter().enumerate().take(last.saturating_sub(1)) {
            let (map, stride) = source_of(axis);
            walk.along(map, stride, target_stride);
        }
        let (inner, inner_stride) = match last.checked_sub(1) {
            Some(axis) => source_of(axis),
            None => (&maps[transform.maps[0] as usize], 0),
        };
        let length = if last == 0 { 1 } else { inner.from.len() };
        let number = transform.maps[last];
        let mut networks = std::mem::take(&mut self.networks);
        let network = Self::network(&mut networks, number, &maps[number as usize]);
        rows.resize(length, W::default());
        let row_bytes = self.shape.row_bytes();
        reads.clear();
        reads.extend(inner.from.iter().take(length).map(|from| from * inner_stride * row_bytes));
        let valid = self.valid(0);
        for (block, &start) in walk.source.iter().enumerate() {
            let packed = &packed[(start * row_bytes) as usize..];
            for (row, &read) in rows.iter_mut().zip(&*reads) {
                *row = W::load(packed, read as usize) & valid;
            }
            network.apply(rows);
            for (mine, row) in self.words[block * length..][..length].iter_mut().zip(&*rows) {
                *mine |= *row;
            }
        }
        self.networks = networks;
    }

    /// Pulls with the last axis trading places: blocks are the squares of axis `from` and the last axis.
    #[inline(always)]
    fn trade(
        &mut self,
        packed: &[u8],
        transform: &Transform,
        maps: &[AxisMap],
        from: usize,
        to: usize,
        scratch: &mut Scratch<W>,
    ) {
        let strides = self.shape.strides();
        let last = transform.target.len() - 1;
        let map = |source: usize| &maps[transform.maps[source] as usize];
        let Scratch { walk, reads, rows, .. } = scratch;
        walk.restart();
        for source in (0..last).filter(|&source| source != from) {
            walk.along(map(source), strides[source], strides[usize::from(transform.target[source])]);
        }
        let (gather, scatter) = (map(from), map(last));
        let (to_stride, row_bytes) = (strides[to], self.shape.row_bytes());
        reads.clear();
        reads.extend(gather.from.iter().map(|index| index * strides[from] * row_bytes));
        let valid = self.valid(0);
        rows.resize(W::BITS as usize, W::default());
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            let packed = &packed[(source * row_bytes) as usize..];
            for (row, &read) in rows.iter_mut().zip(&*reads) {
                *row = W::load(packed, read as usize) & valid;
            }
            rows[gather.from.len()..].fill(W::default());
            transpose(rows);
            for (row, &index) in rows.iter().zip(&scatter.to) {
                self.words[(target + index * to_stride) as usize] |= *row;
            }
        }
    }
}
