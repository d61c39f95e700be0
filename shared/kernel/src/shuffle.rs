//! The coset kernels for processors with a byte shuffle: AVX2, and NEON.
//!
//! Four kernels share the shapes:
//! - `planes`: byte planes, for at least two axes with at most 32 entries each, also halved ones;
//! - `words`: rows of 33 to 64 bits, and halved rows, of tensors with longer axes;
//! - `long`: longer rows, if there are enough of them to fill squares of 64 x 64 bits or they have at most
//!   2,048 bits;
//! - the portable kernel, compiled for the same instructions, for all others: last axes that are cut into blocks, rows of up
//!   to 32 bits along longer axes, and few rows that are very long. The compiler may use the vectors there. All hot
//!   code of the portable kernel is marked `#[inline(always)]`, so that it is compiled a second time here.
//!
//! The first three are written with the vector operations of `vector`, of which each instruction set is an
//! instance. On x86-64 none needs more than AVX2 and the scalar instructions that come with it, so all of them
//! run, and are tested, on processors with AVX-512. On 64-bit Arm they need nothing that some processor lacks;
//! `tests/aarch64.sh` tests them under an emulator.
//!
//! Measurements: `docs/performance.md`.

mod bit_map;
mod blocks;
mod exchange;
mod half_axis;
mod long;
mod picks;
mod planes;
mod rows;
mod square;
mod turn;
mod vector;
mod words;

use crate::byte_planes;
use crate::kernel::{Bits, Kernel};
use crate::portable::Portable;
use crate::summands::{Lent, of_summands};
use crate::word::Word;
use fathom_space::{AxisMap, Shape, Transform};
use long::Long;
use planes::BytePlanes;
use std::marker::PhantomData;
use vector::{Slot, Work};
use words::Words;

/// Returns the kernel for tensors of a shape that needs AVX2; `None` if this processor lacks it.
#[cfg(target_arch = "x86_64")]
pub fn avx2(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    // SAFETY: the processor has the instructions.
    vector::avx2::has_avx2().then(|| unsafe { kernel::<vector::avx2::Avx2>(shape) })
}

/// Returns the kernel for tensors of a shape that needs NEON, which all processors of this architecture have.
#[cfg(target_arch = "aarch64")]
pub fn neon(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    // SAFETY: the processor has the instructions.
    Some(unsafe { kernel::<vector::neon::Neon>(shape) })
}

/// Returns the kernel for tensors of a shape.
///
/// # Safety
/// The processor must have the instructions of the vector.
unsafe fn kernel<V: Slot + 'static>(shape: &Shape) -> Box<dyn Kernel + Send> {
    let one = &shape.summand();
    // SAFETY: as the caller promises.
    unsafe {
        match shape.row_bits() {
            _ if byte_planes::fits(one) => of_summands(shape, BytePlanes::<V>::new(one)),
            _ if words::fits(shape) => Box::new(Words::<V>::new(shape)),
            _ if long::fits(shape) => Box::new(Long::<V>::new(shape)),
            0..=32 => of_summands(shape, Compiled::<V, u32>::new(one)),
            _ => of_summands(shape, Compiled::<V, u64>::new(one)),
        }
    }
}

/// The portable kernel, compiled for the instructions of a vector.
#[derive(Debug)]
struct Compiled<V, W> {
    kernel: Portable<W>,
    vector: PhantomData<fn() -> V>,
}

impl<V: Slot, W: Word> Compiled<V, W> {
    /// Creates the kernel.
    ///
    /// # Safety
    /// The processor must have the instructions of the vector.
    unsafe fn new(shape: &Shape) -> Self {
        Self { kernel: Portable::new(shape), vector: PhantomData }
    }

    /// Does a step of the work.
    fn work<S: Work>(step: S) -> S::Output {
        // SAFETY: the caller of `new` has promised that the processor has the instructions.
        unsafe { V::compiled(step) }
    }
}

struct Pull<'a, W> {
    kernel: &'a mut Portable<W>,
    source: Bits<'a>,
    transform: &'a Transform,
    maps: &'a [AxisMap],
}

impl<W: Word> Work for Pull<'_, W> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        self.kernel.pull(self.source, self.transform, self.maps);
    }
}

struct Subtract<'a, W> {
    kernel: &'a mut Portable<W>,
    known: Bits<'a>,
}

impl<W: Word> Work for Subtract<'_, W> {
    type Output = ();

    #[inline(always)]
    unsafe fn run<V: Slot>(self) {
        self.kernel.subtract(self.known);
    }
}

struct Pack<'a, W> {
    kernel: &'a mut Portable<W>,
    packed: &'a mut [u8],
}

impl<W: Word> Work for Pack<'_, W> {
    type Output = u32;

    #[inline(always)]
    unsafe fn run<V: Slot>(self) -> u32 {
        self.kernel.pack(self.packed)
    }
}

impl<V: Slot, W: Word> Lent for Compiled<V, W> {
    type States = Vec<W>;

    fn no_states(&self) -> Vec<W> {
        self.kernel.no_states()
    }

    fn states(&mut self) -> &mut Vec<W> {
        self.kernel.states()
    }
}

impl<V: Slot, W: Word> Kernel for Compiled<V, W> {
    fn drop_maps(&mut self) {
        self.kernel.drop_maps();
    }

    fn map_bytes(&self) -> usize {
        self.kernel.map_bytes()
    }

    fn clear(&mut self) {
        self.kernel.clear();
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        Self::work(Pull { kernel: &mut self.kernel, source, transform, maps });
    }

    fn subtract(&mut self, known: Bits<'_>) {
        Self::work(Subtract { kernel: &mut self.kernel, known });
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        Self::work(Pack { kernel: &mut self.kernel, packed })
    }
}
