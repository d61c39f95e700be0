//! Dense pulls where a row takes several words.
//!
//! The bits of a long row are permuted not by a network but by transposing 64 rows at a time: after 64 x 64
//! transpositions the index along the last axis is the index of a word, so that the permutation moves whole
//! words; a second round of transpositions restores rows. Cost of a word: its share of two transpositions, 2
//! x 6 passes of five operations.
//!
//! With few rows, most of each square would be empty. Then bits are fetched one by one, in about a nanosecond
//! each: a row of 2,880 bits takes 3 us instead of 55.

use super::{Meeting, Portable, Scratch};
use crate::transpose::transpose;
use crate::word::Word;
use fathom_space::{AxisMap, Transform};

/// Bits are fetched one by one if the rows fill at most this fraction of a square: one in four.
const SHARE_OF_FEW: usize = 4;

impl<W: Word> Portable<W> {
    #[inline(always)]
    pub(super) fn pull_wide(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let mut scratch = std::mem::take(&mut self.scratch);
        scratch.rows.resize(W::BITS as usize, W::default());
        scratch.walk.blocks(&self.shape, transform, maps);
        let turned = &maps[transform.maps[transform.target.len() - 1] as usize];
        match Meeting::new(transform) {
            Meeting::Kept => self.keep_wide(packed, turned, &mut scratch),
            Meeting::Traded { from, to } => {
                let gather = &maps[transform.maps[from] as usize];
                self.trade_wide(packed, gather, turned, (from, to), &mut scratch);
            }
        }
        self.scratch = scratch;
    }

    #[inline(always)]
    fn keep_wide(&mut self, packed: &[u8], along: &AxisMap, scratch: &mut Scratch<W>) {
        let size = W::BITS as usize;
        let Scratch { walk, rows, columns, .. } = scratch;
        columns.resize(self.row_words * size, W::default());
        for (sources, targets) in walk.source.chunks(size).zip(walk.target.chunks(size)) {
            if sources.len() <= size / SHARE_OF_FEW {
                for (&source, &target) in sources.iter().zip(targets) {
                    self.keep_bits(packed, along, source, target, columns);
                }
                continue;
            }
            for word in 0..self.row_words {
                rows.fill(W::default());
                for (row, &source) in rows.iter_mut().zip(sources) {
                    *row = self.load(packed, source, word);
                }
                transpose(rows);
                columns[word * size..][..size].copy_from_slice(rows);
            }
            for (word, from) in along.from.chunks(size).enumerate() {
                rows.fill(W::default());
                for (row, &index) in rows.iter_mut().zip(from) {
                    *row = columns[index as usize];
                }
                transpose(rows);
                for (row, &target) in rows.iter().zip(targets) {
                    self.words[target as usize * self.row_words + word] |= *row;
                }
            }
        }
    }

    /// Adds one row to another, bit by bit. `bits` must hold at least as many words as a row has.
    #[inline(always)]
    fn keep_bits(&mut self, packed: &[u8], along: &AxisMap, source: u32, target: u32, bits: &mut [W]) {
        let size = W::BITS as usize;
        for (word, bits) in bits[..self.row_words].iter_mut().enumerate() {
            *bits = self.load(packed, source, word);
        }
        let bits = &bits[..self.row_words];
        let words = &mut self.words[target as usize * self.row_words..][..self.row_words];
        for (word, from) in words.iter_mut().zip(along.from.chunks(size)) {
            let fetched = from.iter().zip(0_u32..).fold(W::default(), |fetched, (&index, bit)| {
                fetched | ((bits[index as usize / size] >> (index % W::BITS)) & W::low(1)) << bit
            });
            *word |= fetched;
        }
    }

    #[inline(always)]
    fn trade_wide(
        &mut self,
        packed: &[u8],
        gather: &AxisMap,
        scatter: &AxisMap,
        (from, to): (usize, usize),
        scratch: &mut Scratch<W>,
    ) {
        let size = W::BITS as usize;
        let (from_stride, to_stride) = (self.shape.strides()[from], self.shape.strides()[to]);
        let Scratch { walk, rows, .. } = scratch;
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            for (target_word, from) in gather.from.chunks(size).enumerate() {
                for (source_word, to) in scatter.to.chunks(size).enumerate() {
                    rows.fill(W::default());
                    for (row, &index) in rows.iter_mut().zip(from) {
                        *row = self.load(packed, source + index * from_stride, source_word);
                    }
                    transpose(rows);
                    for (row, &index) in rows.iter().zip(to) {
                        let target = (target + index * to_stride) as usize;
                        self.words[target * self.row_words + target_word] |= *row;
                    }
                }
            }
        }
    }
}
