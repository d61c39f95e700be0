//! The offsets of blocks in byte planes, and the order in which a pull reads and writes them.

use crate::byte_planes::{Layout, Places, restart, spread};
use fathom_space::AxisMap;

/// The places at which pairs of blocks are read and written.
#[derive(Debug, Default)]
pub(super) struct Walk {
    pub(super) bases: Places,
    spare: Places,
    /// From each base, the offsets in the source of the blocks at multiples of [`SLOT`](crate::byte_planes::SLOT) in the target.
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
