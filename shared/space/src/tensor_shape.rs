//! The bit tensor of one coset, with one axis for each colour and one bit for each state.

use crate::{Colouring, Space};

/// The axes of a tensor, and the packing of its bits. All cosets of a space have the same shape, because a
/// symmetry maps a colour only to a colour of the same content.
///
/// Axis c has one entry for each arrangement of colour c. The last axis lies inside a row; rows are numbered
/// in row-major order of the other axes. A packed row takes `row_bytes` bytes: bit i of the row is bit
/// `i % 8` of its byte `i / 8`, and the bits after the last are zero. A long last axis may be cut into
/// *blocks* if all maps carry blocks to blocks. Each block is then a row, and rows are in row-major order of
/// the other axes and of the blocks. The *position* of a state is its bit offset in that packing,
/// `(row * row_bytes + i / 8) * 8 + i % 8`.
///
/// Where all moves are even and all pieces differ, half of the arrangements cannot be reached: the sum of the
/// parities of the indices is the same for all states of a coset. The last axis is then *halved*, so that no
/// unreachable bit is stored: the arrangements of rank 2h and 2h + 1, which differ by an exchange of the last
/// two pieces, share bit h of their row.
///
/// Where axes are tied ([`AxisView`](crate::AxisView)), the tensor is a direct sum of tensors with equal
/// axes, its *summands*, which are packed one after the other. The axes are then those of a summand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    lengths: Box<[u32]>,
    /// The number of rows from one index of an axis to the next; 0 for the last axis.
    strides: Box<[u32]>,
    rows: u32,
    /// For a shape whose last axis is halved: whether the permutation of each lexicographic rank is odd.
    odd: Option<Box<[bool]>>,
    /// The number of rows that the last axis takes. Its entries are cut into blocks of equal length, each of
    /// which is a row.
    blocks: u32,
    summands: u32,
}

impl Shape {
    /// The packed bits of a tensor are fewer than this, because positions are 32-bit numbers.
    pub(crate) const MAX_PACKED_BITS: u64 = 1 << 32;

    /// The longest axis that is halved: a row of such an axis is a single 64-bit word.
    const MAX_HALVED: u32 = 128;

    /// Returns the shape of the cosets of a colouring; `None` if positions would exceed 32 bits.
    pub fn of(space: &Space, colouring: &Colouring) -> Option<Self> {
        let lengths = colouring.lengths();
        match (colouring.reached_axes(), colouring.summands().len() as u32) {
            (None, _) => Self::in_space(space, &lengths),
            (Some(_), 0 | 1) => Self::blocked(&lengths, colouring.block()),
            (Some(_), summands) => Self::sum(&lengths, summands),
        }
    }

    /// Creates the shape with these axes of arrangements of pieces of a space; `None` if positions would
    /// exceed 32 bits.
    pub(crate) fn in_space(space: &Space, lengths: &[u32]) -> Option<Self> {
        let last = *lengths.last()?;
        let halved = space.has_only_even_states() && last.is_multiple_of(2) && last <= Self::MAX_HALVED;
        if halved { Self::halved(lengths) } else { Self::new(lengths) }
    }

    /// Creates a shape with these axes, each of the permutations of some pieces, the last one halved. Returns
    /// `None` if there is no axis, or if positions would exceed 32 bits.
    ///
    /// # Panics
    /// If the length of the last axis is odd.
    pub fn halved(lengths: &[u32]) -> Option<Self> {
        let (last, outer) = lengths.split_last()?;
        assert!(last.is_multiple_of(2), "half of {last} entries");
        let half = Self::new(&[outer, &[last / 2]].concat())?;
        let longest = lengths.iter().copied().max()?;
        // The number of inversions is the sum of the digits of the rank in the factorial number system. Each
        // value of a digit repeats what the digits below it give.
        let mut odd = vec![false];
        let mut base = 2;
        while odd.len() < longest as usize {
            let below = odd.len();
            for digit in 1..base {
                odd.extend_from_within(..below);
                let repeated = &mut odd[digit * below..];
                repeated.iter_mut().for_each(|odd| *odd ^= digit % 2 == 1);
            }
            base += 1;
        }
        odd.truncate(longest as usize);
        Some(Self { lengths: lengths.into(), odd: Some(odd.into()), ..half })
    }

    /// Creates a shape with these axes. Returns `None` if there is no axis, or if positions would exceed 32
    /// bits.
    pub fn new(lengths: &[u32]) -> Option<Self> {
        Self::blocked(lengths, *lengths.last()?)
    }

    /// Creates the shape of a direct sum of `summands` tensors with these axes. Returns `None` if there is no
    /// axis, or if positions would exceed 32 bits.
    pub fn sum(lengths: &[u32], summands: u32) -> Option<Self> {
        let one = Self::new(lengths)?;
        let bytes = u64::from(one.packed_bytes()) * u64::from(summands);
        (bytes * 8 < Self::MAX_PACKED_BITS).then(|| Self { rows: one.rows * summands, summands, ..one })
    }

    /// Creates a shape with these axes, the last of which is cut into blocks of `row` entries. Returns `None`
    /// if there is no axis, or if positions would exceed 32 bits. Maps of the last axis must carry blocks to
    /// blocks, and no other axis may become the last.
    ///
    /// # Panics
    /// If `row` does not divide the length of the last axis.
    pub fn blocked(lengths: &[u32], row: u32) -> Option<Self> {
        let (&last, outer) = lengths.split_last()?;
        assert!(last.is_multiple_of(row), "{last} entries in blocks of {row}");
        let blocks = last / row;
        let mut strides = vec![0; lengths.len()];
        let mut rows = u64::from(blocks);
        for (axis, &length) in outer.iter().enumerate().rev() {
            strides[axis] = rows as u32;
            rows = rows.checked_mul(u64::from(length)).filter(|&rows| rows < Self::MAX_PACKED_BITS)?;
        }
        let row_bytes = u64::from(row.div_ceil(8));
        (rows * row_bytes * 8 < Self::MAX_PACKED_BITS).then(|| Self {
            lengths: lengths.into(),
            strides: strides.into(),
            rows: rows as u32,
            odd: None,
            blocks,
            summands: 1,
        })
    }

    /// Returns whether the tensor is neither a direct sum nor cut into blocks.
    pub fn is_whole(&self) -> bool {
        self.summands == 1 && self.blocks == 1
    }

    /// Returns the number of summands; 1 unless the tensor is a direct sum.
    #[inline]
    pub fn summands(&self) -> u32 {
        self.summands
    }

    /// Returns the shape of a summand.
    pub fn summand(&self) -> Self {
        Self { rows: self.rows / self.summands, summands: 1, ..self.clone() }
    }

    /// Returns the number of positions, used or not, of a summand.
    #[inline]
    pub fn summand_positions(&self) -> u32 {
        self.packed_bytes() / self.summands * 8
    }

    /// Returns the length of each axis.
    #[inline]
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Returns the number of rows from one index of each axis to the next; 0 for the last axis.
    #[inline]
    pub fn strides(&self) -> &[u32] {
        &self.strides
    }

    /// Returns the number of rows.
    #[inline]
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Returns the number of bits of a row: the length of the last axis, half of that length, or the length
    /// of a block.
    #[inline]
    pub fn row_bits(&self) -> u32 {
        let last = *self.lengths.last().expect("a shape has an axis");
        if self.odd.is_some() { last / 2 } else { last / self.blocks }
    }

    /// Returns the number of rows that the last axis takes: more than one if the axis is cut into blocks.
    #[inline]
    pub fn blocks(&self) -> u32 {
        self.blocks
    }

    /// Returns, for a shape whose last axis is halved, whether each index along an axis is an odd
    /// permutation.
    #[inline]
    pub fn odd(&self) -> Option<&[bool]> {
        self.odd.as_deref()
    }

    /// Returns whether a coset has a state with these indices. `odd` is whether the parities of the indices
    /// of the coset's states have an odd sum. Always true unless the last axis is halved.
    pub fn holds(&self, indices: &[u32], odd: bool) -> bool {
        self.odd.as_ref().is_none_or(|is_odd| {
            indices.iter().fold(false, |sum, &index| sum ^ is_odd[index as usize]) == odd
        })
    }

    /// Returns the number of bytes of a packed row.
    #[inline]
    pub fn row_bytes(&self) -> u32 {
        self.row_bits().div_ceil(8)
    }

    /// Returns the number of bytes of a packed tensor.
    #[inline]
    pub fn packed_bytes(&self) -> u32 {
        self.rows * self.row_bytes()
    }

    /// Returns the number of bits of a tensor: the states of a coset, reachable or not, or the reachable half
    /// if the last axis is halved.
    #[inline]
    pub fn bits(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.row_bits())
    }

    /// Returns all positions in increasing order.
    pub fn positions(&self) -> impl Iterator<Item = u32> {
        let (row, bits) = (self.row_bytes() * 8, self.row_bits());
        (0..self.rows).flat_map(move |number| (0..bits).map(move |bit| number * row + bit))
    }

    /// Returns the position of the state with these indices, one for each axis, in the first summand. In each
    /// other summand it is larger by [`Shape::summand_positions`] than in the one before.
    pub fn position(&self, indices: &[u32]) -> u32 {
        let row: u32 = indices.iter().zip(&self.strides).map(|(index, stride)| index * stride).sum();
        let last = indices[self.lengths.len() - 1];
        if self.blocks > 1 {
            let (block, bit) = (last / self.row_bits(), last % self.row_bits());
            return (row + block) * self.row_bytes() * 8 + bit;
        }
        row * self.row_bytes() * 8 + if self.odd.is_some() { last / 2 } else { last }
    }

    /// Writes the indices of the state at a position: the inverse of [`Shape::position`] in any summand. `odd`
    /// is whether
    /// the parities of the indices of the coset's states have an odd sum; it matters only if the last axis is
    /// halved.
    pub fn indices(&self, position: u32, odd: bool, indices: &mut [u32]) {
        let row_positions = self.row_bytes() * 8;
        let (mut row, bit) = (position / row_positions, position % row_positions);
        if self.summands > 1 {
            row %= self.rows / self.summands;
        }
        let last = self.lengths.len() - 1;
        for (index, stride) in indices.iter_mut().zip(&self.strides[..last]) {
            *index = row / stride;
            row %= stride;
        }
        indices[last] = if self.blocks > 1 { row * self.row_bits() + bit } else { bit };
        if self.odd.is_some() {
            indices[last] = 2 * bit;
            indices[last] += u32::from(!self.holds(indices, odd));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_indices_are_inverse() {
        let plain = [&[24, 24, 24][..], &[6, 2, 5], &[1], &[70], &[1, 13, 1]];
        let plain = plain.map(|lengths| (lengths, *lengths.last().unwrap()));
        let blocked = [(&[360][..], 12), (&[5, 3, 24], 6), (&[2, 100], 1)];
        for (lengths, row) in plain.into_iter().chain(blocked) {
            let shape = Shape::blocked(lengths, row).unwrap();
            let mut seen = 0;
            let mut previous = None;
            let mut indices = vec![0; lengths.len()];
            for position in 0..shape.packed_bytes() * 8 {
                shape.indices(position, false, &mut indices);
                if position % (shape.row_bytes() * 8) < shape.row_bits() {
                    assert_eq!(shape.position(&indices), position);
                    assert!(previous < Some(indices.clone()));
                    previous = Some(indices.clone());
                    seen += 1;
                }
            }
            assert_eq!(seen, shape.bits());
        }
    }

    #[test]
    fn summands_follow_each_other() {
        let (one, sum) = (Shape::new(&[3, 7, 9]).unwrap(), Shape::sum(&[3, 7, 9], 4).unwrap());
        assert_eq!(sum.summand(), one);
        assert_eq!((sum.bits(), sum.packed_bytes()), (4 * one.bits(), 4 * one.packed_bytes()));
        let mut indices = [0; 3];
        for (number, position) in sum.positions().enumerate() {
            let summand = position / sum.summand_positions();
            assert_eq!(u64::from(summand), number as u64 / one.bits());
            sum.indices(position, false, &mut indices);
            assert_eq!(summand * sum.summand_positions() + sum.position(&indices), position);
        }
        assert!(Shape::sum(&[5040, 5040], 1 << 8).is_none());
    }

    #[test]
    fn halved_shapes_store_each_state_once() {
        let shape = Shape::halved(&[6, 2, 6]).unwrap();
        assert_eq!((shape.rows(), shape.row_bits(), shape.bits()), (12, 3, 36));
        for odd in [false, true] {
            let mut positions = std::collections::BTreeSet::new();
            for a in 0..6 {
                for (b, c) in (0..2).flat_map(|b| (0..6).map(move |c| (b, c))) {
                    if shape.holds(&[a, b, c], odd) {
                        let position = shape.position(&[a, b, c]);
                        assert!(positions.insert(position));
                        let mut indices = [9; 3];
                        shape.indices(position, odd, &mut indices);
                        assert_eq!(indices, [a, b, c]);
                    }
                }
            }
            assert_eq!(positions.len() as u64, shape.bits());
        }
        // The permutations of three points in lexicographic order.
        assert_eq!(shape.odd().unwrap(), [false, true, true, false, false, true]);
    }

    #[test]
    fn sizes() {
        let shape = Shape::new(&[24, 24, 24, 24]).unwrap();
        assert_eq!((shape.rows(), shape.row_bytes(), shape.packed_bytes()), (13_824, 3, 41_472));
        assert!(Shape::new(&[5040, 5040, 5040]).is_none());
    }
}
