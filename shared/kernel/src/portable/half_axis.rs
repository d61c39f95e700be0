//! Dense pulls where the last axis is halved ([`fathom_space::Shape`]) and a row is one word.
//!
//! A bit of a row represents one of two neighbouring indices; the parity of the row's other indices
//! determines which. When rows are transposed, the index along the last axis becomes the index of a word,
//! whose bits are rows. So two masks, of the rows of either parity, turn the words of a halved axis into
//! those of the whole axis: index k is half k / 2, but only for rows with the parity of k. The maps are
//! applied to whole axes. To halve an axis again, the words of two neighbouring indices are joined, because
//! at most one of the two states has the coset's parity.
//!
//! Cost: that of rows of half the length in [`super::wide`], plus one AND and one OR per word.

use super::{Meeting, Portable, Scratch};
use crate::transpose::transpose;
use crate::word::Word;
use fathom_space::{AxisMap, Transform};

impl<W: Word> Portable<W> {
    #[inline(always)]
    pub(super) fn pull_halved(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.rows.resize(W::BITS as usize, W::default());
        scratch.columns.resize(W::BITS as usize, W::default());
        scratch.walk.blocks(&self.shape, transform, maps);
        let turned = &maps[transform.maps[transform.target.len() - 1] as usize];
        match Meeting::new(transform) {
            Meeting::Kept => self.keep_halved(packed, turned, transform.odd, &mut scratch),
            Meeting::Traded { from, to } => {
                let gather = &maps[transform.maps[from] as usize];
                self.trade_halved(packed, (gather, turned), (from, to), transform.odd, &mut scratch);
            }
        }
        self.scratch = scratch;
    }

    /// Transposes up to a word's number of rows. Returns a mask of the rows whose states have an even last
    /// index, and a mask of those with an odd one.
    #[inline(always)]
    fn turn(&self, packed: &[u8], sources: impl Iterator<Item = u32>, odd: bool, rows: &mut [W]) -> [W; 2] {
        rows.fill(W::default());
        let mut masks = [W::default(); 2];
        for (number, (row, source)) in rows.iter_mut().zip(sources).enumerate() {
            *row = self.load(packed, source, 0);
            masks[usize::from(self.odd_rows[source as usize] ^ odd)] |= W::low(1) << number as u32;
        }
        transpose(rows);
        masks
    }

    #[inline(always)]
    fn keep_halved(&mut self, packed: &[u8], along: &AxisMap, odd: bool, scratch: &mut Scratch<W>) {
        let size = W::BITS as usize;
        let is_odd = self.shape.odd().expect("the last axis is halved");
        let Scratch { walk, rows, columns, .. } = scratch;
        for (sources, targets) in walk.source.chunks(size).zip(walk.target.chunks(size)) {
            let masks = self.turn(packed, sources.iter().copied(), odd, columns);
            let whole = |index: u32| columns[index as usize / 2] & masks[usize::from(is_odd[index as usize])];
            rows.fill(W::default());
            for (row, [even, odd]) in rows.iter_mut().zip(along.from.as_chunks().0) {
                *row = whole(*even) | whole(*odd);
            }
            transpose(rows);
            for (row, &target) in rows.iter().zip(targets) {
                self.words[target as usize] |= *row;
            }
        }
    }

    #[inline(always)]
    fn trade_halved(
        &mut self,
        packed: &[u8],
        (gather, scatter): (&AxisMap, &AxisMap),
        (from, to): (usize, usize),
        odd: bool,
        scratch: &mut Scratch<W>,
    ) {
        let (from_stride, to_stride) = (self.shape.strides()[from], self.shape.strides()[to]);
        let Scratch { walk, rows, columns, .. } = scratch;
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            // The pairs of neighbours along the axis that becomes last: first the first ones, then the second
            // ones.
            let half = |which: usize| {
                gather.from.iter().skip(which).step_by(2).map(move |&index| source + index * from_stride)
            };
            let first = self.turn(packed, half(0), odd, rows);
            let second = self.turn(packed, half(1), odd, columns);
            let is_odd = self.shape.odd().expect("the last axis is halved");
            for (index, &image) in scatter.to.iter().enumerate() {
                let parity = usize::from(is_odd[index]);
                let whole = rows[index / 2] & first[parity] | columns[index / 2] & second[parity];
                self.words[(target + image * to_stride) as usize] |= whole;
            }
        }
    }
}
