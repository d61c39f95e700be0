//! Dense pulls where the last axis is cut into blocks ([`fathom_space::Shape`]) and a row is a block of one
//! word.
//!
//! A map along the last axis carries blocks to blocks, and permutes the entries inside each block
//! differently. For each block of the target the map determines which block of the source comes there, and
//! which permutation its bits get. There are few such permutations, because a block holds the orientations of
//! pieces in the same arrangement. They are kept as tables of the images of four bits at a time.
//!
//! Cost of a row of 32 bits: one load, eight look-ups in a table of 512 bytes, and nine ORs; up to 64 bits
//! cost twice as many. Every state of the source is carried by exactly the maps of the transform, because the
//! tables are computed from the maps entry by entry.

use super::Portable;
use crate::word::Word;
use fathom_space::{AxisMap, Transform};
use std::collections::HashMap;

/// For each block of the target, the block that comes there, and the start of the table of its permutation.
type Rows = Box<[(u32, u32)]>;

/// The permutations of the bits of a row, and the permutation that each map uses for each block.
#[derive(Debug, Default)]
pub(super) struct Blocks<W> {
    /// The rows of each axis map, by the number of the map.
    maps: Vec<Option<Rows>>,
    /// For each permutation and each four bits of a row, the images of the sixteen values of these bits.
    tables: Vec<W>,
    /// The start of the table of each permutation.
    starts: HashMap<Box<[u8]>, u32>,
}

impl<W: Word> Blocks<W> {
    /// Returns the bytes of the tables and of their permutations.
    pub(super) fn table_bytes(&self) -> usize {
        self.tables.capacity() * size_of::<W>() + self.starts.len() * W::BITS as usize * 2
    }

    /// Computes the rows and tables of a map, unless they exist.
    fn prepare(&mut self, number: usize, map: &AxisMap, row_bits: u32) {
        if self.maps.len() <= number {
            self.maps.resize(number + 1, None);
        }
        if self.maps[number].is_some() {
            return;
        }
        let rows = map.from.chunks_exact(row_bits as usize).map(|from| {
            let block = from[0] / row_bits;
            assert!(from.iter().all(|index| index / row_bits == block), "maps carry blocks to blocks");
            let from: Box<[u8]> = from.iter().map(|index| (index % row_bits) as u8).collect();
            (block, self.table(from))
        });
        let rows: Rows = rows.collect();
        self.maps[number] = Some(rows);
    }

    /// Returns the start of the table of a permutation, after which bit j has the value of the old bit
    /// `from[j]`.
    fn table(&mut self, from: Box<[u8]>) -> u32 {
        let tables = &mut self.tables;
        *self.starts.entry(from).or_insert_with_key(|from| {
            let start = tables.len();
            tables.resize(start + W::BITS as usize * 4, W::default());
            for (to, &bit) in from.iter().enumerate() {
                let nibble = &mut tables[start + usize::from(bit / 4) * 16..][..16];
                for (value, image) in nibble.iter_mut().enumerate() {
                    if value >> (bit % 4) & 1 == 1 {
                        *image |= W::low(1) << to as u32;
                    }
                }
            }
            start as u32
        })
    }
}

impl<W: Word> Portable<W> {
    #[inline(always)]
    pub(super) fn pull_blocks(&mut self, packed: &[u8], transform: &Transform, maps: &[AxisMap]) {
        let mut walk = std::mem::take(&mut self.scratch.walk);
        let mut blocks = std::mem::take(&mut self.blocks);
        let number = *transform.maps.last().expect("a transform has an axis") as usize;
        blocks.prepare(number, &maps[number], self.shape.row_bits());
        let rows = blocks.maps[number].as_ref().expect("it was prepared");
        walk.blocks(&self.shape, transform, maps);
        for (&source, &target) in walk.source.iter().zip(&walk.target) {
            let words = target as usize..target as usize + rows.len();
            for (at, &(block, start)) in words.zip(rows) {
                let row = self.load(packed, source + block, 0).widen();
                let table = &blocks.tables[start as usize..][..W::BITS as usize * 4];
                let images = table.as_chunks::<16>().0.iter().enumerate();
                self.words[at] |= images.fold(W::default(), |image, (nibble, images)| {
                    image | images[(row >> (4 * nibble) & 15) as usize]
                });
            }
        }
        self.scratch.walk = walk;
        self.blocks = blocks;
    }
}
