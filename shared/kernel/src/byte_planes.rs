//! The layout that the kernels `avx512` and those of byte shuffles share: tensors as byte planes, and accumulators of them.
//!
//! Plane b holds byte b of every row, so a row of 24 bits lies in three planes. Along one axis, the *inner*
//! one, the bytes of a plane are adjacent: a *block* is the bytes of all indices of that axis, and starts
//! every 32 bytes, a *slot*. The transform of a pull determines which axis of the target is the inner one. So
//! there is an accumulator for each choice of the inner axis, and all accumulators are joined after the last
//! pull of a coset.

mod collected;

pub(crate) use collected::{Collected, unpack};
use fathom_space::AxisMap;
use fathom_space::Shape;
use std::ops::{Deref, DerefMut};

/// Bytes from one block of a plane to the next, and the largest length of an axis.
pub(crate) const SLOT: usize = 32;

/// The largest number of planes: rows have at most 32 bits.
pub(crate) const MAX_PLANES: usize = 4;

/// Rows of a dense tensor that can be carried in about the time of a single state of a sparse one.
pub(crate) const ROWS_A_STATE: usize = 64;

/// Returns whether tensors of a shape can be kept in planes.
pub(crate) fn fits(shape: &Shape) -> bool {
    let is_short = |&length: &u32| length as usize <= SLOT;
    shape.is_whole() && shape.lengths().len() > 1 && shape.lengths().iter().all(is_short)
}

/// Byte planes in some layout, in sequence, followed by padding for loads that reach beyond the last
/// plane.
#[derive(Debug)]
pub(crate) struct Planes {
    pub(crate) bytes: Aligned,
    /// Bytes from one plane to the next.
    pub(crate) stride: usize,
}

impl Planes {
    pub(crate) fn new(planes: usize, stride: usize) -> Self {
        Self { bytes: Aligned::new(planes * stride + 2 * SLOT), stride }
    }
}

/// Bytes that start at a line of the processor's cache, so that no register is stored across two lines.
#[derive(Debug)]
pub(crate) struct Aligned {
    bytes: Vec<u8>,
    start: usize,
}

impl Aligned {
    const LINE: usize = 64;

    pub(crate) fn new(length: usize) -> Self {
        let bytes = vec![0; length + Self::LINE];
        let start = bytes.as_ptr().align_offset(Self::LINE);
        Self { start, bytes }
    }
}

impl Deref for Aligned {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

/// The places of the bytes of a plane, for one choice of the inner axis.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// The axes whose indices determine the block of a byte, outermost first.
    pub(crate) outer: Vec<usize>,
    /// Bytes from one index to the next, for every axis but the last.
    pub(crate) strides: Vec<u32>,
    /// The size of a plane in bytes.
    pub(crate) bytes: usize,
}

impl Layout {
    /// Blocks are in row-major order of the other axes. The last of these axes is rounded up to an even
    /// length, so that blocks can be processed in pairs.
    pub(crate) fn new(lengths: &[u32], inner: usize) -> Self {
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

    /// Returns the starts of all blocks, in row-major order of the outer axes.
    pub(crate) fn starts(&self, lengths: &[u32]) -> Vec<u32> {
        self.outer.iter().fold(vec![0], |starts, &axis| {
            let along = |start: &u32| {
                (0..lengths[axis]).map(|index| index * self.strides[axis]).map({
                    let start = *start;
                    move |offset| start + offset
                })
            };
            starts.iter().flat_map(along).collect()
        })
    }
}

/// Offsets of blocks: in the source in rows, in the target in bytes.
pub(crate) type Places = Vec<(u32, u32)>;

/// Replaces each place by the places along one more axis, in the order of the target.
#[cfg(target_arch = "x86_64")]
pub(crate) fn spread(
    places: &mut Places,
    spare: &mut Places,
    map: &AxisMap,
    read_stride: u32,
    write_stride: u32,
) {
    spare.clear();
    for &(read, write) in &*places {
        let along = map.from.iter().zip(0..);
        spare.extend(along.map(|(&i, j)| (read + i * read_stride, write + j * write_stride)));
    }
    std::mem::swap(places, spare);
}

/// Replaces each place by the places along one more axis, in the order of the source.
pub(crate) fn spread_by_source(
    places: &mut Places,
    spare: &mut Places,
    map: &AxisMap,
    read_stride: u32,
    write_stride: u32,
) {
    spare.clear();
    for &(read, write) in &*places {
        let along = map.to.iter().zip(0..);
        spare.extend(along.map(|(&j, i)| (read + i * read_stride, write + j * write_stride)));
    }
    std::mem::swap(places, spare);
}

/// Resets to a single place, the first one.
pub(crate) fn restart(places: &mut Places) {
    places.clear();
    places.push((0, 0));
}

/// A range of addresses that will be read soon, prefetched into the processor's cache a few lines at a time.
/// The addresses are never read here, so a wrong range costs only time.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Ahead {
    next: usize,
    end: usize,
    lines_a_step: usize,
}

impl Ahead {
    const LINE: usize = 64;

    pub(crate) fn new(bytes: &[u8]) -> Self {
        let next = bytes.as_ptr().addr();
        Self { next, end: next + bytes.len(), lines_a_step: 0 }
    }

    /// Returns the same range, to be prefetched in `steps` steps.
    pub(crate) fn in_steps(self, steps: usize) -> Self {
        Self { lines_a_step: (self.end - self.next).div_ceil(Self::LINE).div_ceil(steps.max(1)), ..self }
    }

    #[inline(always)]
    pub(crate) fn step(&mut self) {
        for _ in 0..self.lines_a_step {
            if self.next < self.end {
                prefetch::<false>(std::ptr::without_provenance(self.next));
                self.next += Self::LINE;
            }
        }
    }
}

/// Prefetches a line into a cache of the processor: the nearest one, or the one behind it. The line need not
/// exist.
#[inline(always)]
pub(crate) fn prefetch<const NEAREST: bool>(line: *const u8) {
    // SAFETY: a prefetch has no observable effect, whatever the address.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _MM_HINT_T1, _mm_prefetch};
        if NEAREST {
            _mm_prefetch::<_MM_HINT_T0>(line.cast());
        } else {
            _mm_prefetch::<_MM_HINT_T1>(line.cast());
        }
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        use std::arch::asm;
        if NEAREST {
            asm!("prfm pldl1keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        } else {
            asm!("prfm pldl2keep, [{}]", in(reg) line, options(nostack, preserves_flags, readonly));
        }
    }
}
