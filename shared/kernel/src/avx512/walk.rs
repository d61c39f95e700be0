//! The offsets of blocks in byte planes, and the order in which a pull reads and writes them.

use super::SLOT;
use fathom_space::AxisMap;

/// The places of the bytes of a plane, for one choice of the inner axis.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The axes whose indices determine the block of a byte, outermost first.
    pub(super) outer: Vec<usize>,
    /// Bytes from one index to the next, for every axis but the last.
    pub(super) strides: Vec<u32>,
    /// The size of a plane in bytes.
    pub(super) bytes: usize,
}

impl Layout {
    /// Blocks are in row-major order of the other axes. The last of these axes is rounded up to an even
    /// length, so that blocks can be processed in pairs.
    pub(super) fn new(lengths: &[u32], inner: usize) -> Self {
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

/// Offsets of blocks: in the source in rows, in the target in bytes.
type Places = Vec<(u32, u32)>;

/// Replaces each place by the places along one more axis.
fn spread(places: &mut Places, spare: &mut Places, map: &AxisMap, read_stride: u32, write_stride: u32) {
    spare.clear();
    for &(read, write) in &*places {
        let along = map.from.iter().zip(0..);
        spare.extend(along.map(|(&i, j)| (read + i * read_stride, write + j * write_stride)));
    }
    std::mem::swap(places, spare);
}

/// Resets to a single place, the first one.
fn restart(places: &mut Places) {
    places.clear();
    places.push((0, 0));
}

/// The places at which pairs of blocks are read and written.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) bases: Places,
    spare: Places,
    /// From each base, the offsets in the source of the blocks at multiples of [`SLOT`] in the target.
    pub(super) steps: Vec<u32>,
}

impl Walk {
    /// Plans the reads and writes from a source with these strides to `target`. `from` returns, for an axis
    /// of the target, the axis of the source that becomes it, and the map along that axis.
    pub(super) fn plan<'m>(
        &mut self,
        source_strides: &[u32],
        target: &Layout,
        from: impl Fn(usize) -> (usize, &'m AxisMap),
    ) {
        restart(&mut self.bases);
        self.steps.clear();
        let Some((&paired, rest)) = target.outer.split_last() else {
            self.steps.resize(2, 0);
            return;
        };
        for &axis in rest {
            let (source, map) = from(axis);
            spread(&mut self.bases, &mut self.spare, map, source_strides[source], target.strides[axis]);
        }
        let (source, map) = from(paired);
        self.steps.extend(map.from.iter().map(|&i| i * source_strides[source]));
        // The padding block receives a copy of the first block, which is never read.
        self.steps.resize(self.steps.len().next_multiple_of(2), self.steps[0]);
    }
}

/// The places at which blocks are read and written if an outer axis becomes the last one.
#[derive(Debug, Default)]
pub(super) struct Squares {
    pub(super) bases: Places,
    spare: Places,
    /// From each base, the places of blocks that are processed in pairs.
    pub(super) steps: Places,
}

impl Squares {
    /// Plans the reads and writes as [`Walk::plan`] does, for index 0 of the axis `last` of the target, which
    /// the last axis of the source becomes.
    pub(super) fn plan<'m>(
        &mut self,
        source_strides: &[u32],
        target: &Layout,
        last: usize,
        from: impl Fn(usize) -> (usize, &'m AxisMap),
    ) {
        restart(&mut self.bases);
        restart(&mut self.steps);
        for (number, &axis) in target.outer.iter().filter(|&&axis| axis != last).rev().enumerate() {
            let (source, map) = from(axis);
            let places = if number == 0 { &mut self.steps } else { &mut self.bases };
            spread(places, &mut self.spare, map, source_strides[source], target.strides[axis]);
        }
    }
}
