//! The bit tensor of one coset: one axis a colour, one bit a state.

use crate::Colouring;

/// The axes of a tensor and how its bits are packed. All cosets of a space have the same shape, because a symmetry
/// maps a colour only to a colour of the same content.
///
/// Axis c has one entry for each arrangement of colour c. The last axis lies inside a row; rows are numbered in
/// row-major order of the other axes. Packed, a row takes `row_bytes` bytes: bit i of the row is bit `i % 8` of its
/// byte `i / 8`, and the bits behind the last are zero. The *position* of a state is its bit offset in that packing,
/// `(row * row_bytes + i / 8) * 8 + i % 8`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    lengths: Box<[u32]>,
    /// Rows from one index of an axis to the next; 0 for the last axis.
    strides: Box<[u32]>,
    rows: u32,
}

impl Shape {
    /// Positions are 32-bit numbers.
    const LARGEST_PACKED_BITS: u64 = 1 << 32;

    /// The shape of the cosets of a colouring; `None` if positions would exceed 32 bits.
    pub fn of(colouring: &Colouring) -> Option<Self> {
        let lengths: Vec<u32> = colouring.axes().iter().map(|axis| axis.total() as u32).collect();
        Self::new(&lengths)
    }

    /// A shape with these axes, at least one; `None` if positions would exceed 32 bits.
    pub fn new(lengths: &[u32]) -> Option<Self> {
        let (&row, outer) = lengths.split_last()?;
        let mut strides = vec![0; lengths.len()];
        let mut rows = 1_u64;
        for (axis, &length) in outer.iter().enumerate().rev() {
            strides[axis] = rows as u32;
            rows = rows.checked_mul(u64::from(length)).filter(|&rows| rows < Self::LARGEST_PACKED_BITS)?;
        }
        let row_bytes = u64::from(row.div_ceil(8));
        (rows * row_bytes * 8 < Self::LARGEST_PACKED_BITS).then(|| Self {
            lengths: lengths.into(),
            strides: strides.into(),
            rows: rows as u32,
        })
    }

    /// The length of each axis.
    pub fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// Rows from one index of each axis to the next; 0 for the last axis.
    pub fn strides(&self) -> &[u32] {
        &self.strides
    }

    /// The number of rows.
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// Bits a row: the length of the last axis.
    pub fn row_bits(&self) -> u32 {
        *self.lengths.last().expect("a shape has an axis")
    }

    /// Bytes a row, packed.
    pub fn row_bytes(&self) -> u32 {
        self.row_bits().div_ceil(8)
    }

    /// Bytes of a packed tensor.
    pub fn packed_bytes(&self) -> u32 {
        self.rows * self.row_bytes()
    }

    /// States of a coset, reachable or not: the product of the axes.
    pub fn bits(&self) -> u64 {
        u64::from(self.rows) * u64::from(self.row_bits())
    }

    /// The position of the state with these indices, one an axis.
    pub fn position(&self, indices: &[u32]) -> u32 {
        let row: u32 = indices.iter().zip(&self.strides).map(|(index, stride)| index * stride).sum();
        row * self.row_bytes() * 8 + indices[self.lengths.len() - 1]
    }

    /// The indices of the state at a position: the inverse of [`Shape::position`].
    pub fn indices(&self, position: u32, indices: &mut [u32]) {
        let (mut row, bit) = (position / (self.row_bytes() * 8), position % (self.row_bytes() * 8));
        let last = self.lengths.len() - 1;
        for (index, stride) in indices.iter_mut().zip(&self.strides[..last]) {
            *index = row / stride;
            row %= stride;
        }
        indices[last] = bit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_and_indices_are_inverse() {
        for lengths in [&[24, 24, 24][..], &[6, 2, 5], &[1], &[70], &[1, 13, 1]] {
            let shape = Shape::new(lengths).unwrap();
            let mut seen = 0;
            let mut previous = None;
            let mut indices = vec![0; lengths.len()];
            for position in 0..shape.packed_bytes() * 8 {
                shape.indices(position, &mut indices);
                if indices[lengths.len() - 1] < shape.row_bits() {
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
    fn sizes() {
        let shape = Shape::new(&[24, 24, 24, 24]).unwrap();
        assert_eq!((shape.rows(), shape.row_bytes(), shape.packed_bytes()), (13_824, 3, 41_472));
        assert!(Shape::new(&[5040, 5040, 5040]).is_none());
    }
}
