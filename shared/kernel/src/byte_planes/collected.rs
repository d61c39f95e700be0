//! The accumulators of a coset in byte planes, and what single states do to them.

use super::{Layout, Planes};
use crate::kernel::Bits;
use fathom_space::{AxisMap, Shape, Transform};

/// The states of a coset collected so far: the union of an accumulator for each choice of the inner axis.
#[derive(Debug)]
pub(crate) struct Collected {
    shape: Shape,
    /// The layout for each inner axis.
    pub(crate) layouts: Vec<Layout>,
    /// The accumulators, by inner axis. In a block, the bytes after the end of the inner axis are zero.
    /// Padding blocks have unspecified contents.
    pub(crate) planes: Vec<Planes>,
    /// Whether each accumulator may have bits that are set.
    pub(crate) touched: Vec<bool>,
}

impl Collected {
    pub(crate) fn new(shape: &Shape) -> Self {
        let lengths = shape.lengths();
        let planes = lengths.last().expect("a shape has an axis").div_ceil(8) as usize;
        let layouts: Vec<Layout> = (0..lengths.len() - 1).map(|inner| Layout::new(lengths, inner)).collect();
        Self {
            shape: shape.clone(),
            planes: layouts.iter().map(|layout| Planes::new(planes, layout.bytes)).collect(),
            touched: vec![false; layouts.len()],
            layouts,
        }
    }

    /// Returns the innermost axis of packed tensors, to whose accumulator all others are joined.
    pub(crate) fn natural(&self) -> usize {
        self.layouts.len() - 1
    }

    /// Removes all states.
    pub(crate) fn clear(&mut self) {
        for (planes, touched) in self.planes.iter_mut().zip(&mut self.touched) {
            if std::mem::take(touched) {
                planes.bytes.fill(0);
            }
        }
    }

    /// Adds the states to which a transform carries those at these positions, one by one.
    pub(crate) fn add_sparse(
        &mut self,
        positions: impl Iterator<Item = u32>,
        transform: &Transform,
        maps: &[AxisMap],
    ) {
        let (axes, natural) = (transform.target.len(), self.natural());
        let (mut from, mut to) = (vec![0; axes], vec![0; axes]);
        for position in positions {
            self.shape.indices(position, transform.odd, &mut from);
            for axis in 0..axes {
                let map = &maps[transform.maps[axis] as usize];
                to[usize::from(transform.target[axis])] = map.to[from[axis] as usize];
            }
            let (byte, bit) = self.place(&to);
            self.planes[natural].bytes[byte] |= bit;
            self.touched[natural] = true;
        }
    }

    /// Removes the states at these positions from the natural accumulator.
    pub(crate) fn remove_sparse(&mut self, positions: impl Iterator<Item = u32>) {
        let natural = self.natural();
        let mut indices = vec![0; self.shape.lengths().len()];
        for position in positions {
            self.shape.indices(position, false, &mut indices);
            let (byte, bit) = self.place(&indices);
            // Of a halved row, only one of both bits can be set.
            let bits = if self.shape.odd().is_some() { both(bit) } else { bit };
            self.planes[natural].bytes[byte] &= !bits;
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

/// Writes the packed tensor with the states of a sparse source.
pub(crate) fn unpack(source: &[u8], packed: &mut [u8]) {
    packed.fill(0);
    for position in Bits::positions(source) {
        packed[position as usize / 8] |= 1 << (position % 8);
    }
}

/// Returns a bit of a byte together with the other one that the same packed bit represents if the last axis is
/// halved.
fn both(bit: u8) -> u8 {
    if bit & 0b0101_0101 != 0 { bit | bit << 1 } else { bit | bit >> 1 }
}
