//! The coset kernels for processors with AVX2.
//!
//! Four kernels share the shapes:
//! - `planes`: byte planes, for at least two axes with at most 32 entries each, also halved ones;
//! - `words`: rows of 33 to 64 bits, and halved rows, of tensors with longer axes;
//! - `long`: longer rows, if there are enough of them to fill squares of 64 x 64 bits or they have at most
//!   2,048 bits;
//! - the portable kernel, compiled for AVX2, for all others: last axes that are cut into blocks, rows of up
//!   to 32 bits along longer axes, and few rows that are very long. The compiler may use vectors of 32 bytes there. All hot
//!   code of the portable kernel is marked `#[inline(always)]`, so that it is compiled a second time here.
//!
//! The first three are written with the vector operations of `vector`, so that other instruction sets with
//! a byte shuffle can be instances. None needs more than AVX2 and the scalar instructions that come with it,
//! so all of them run, and are tested, on processors with AVX-512.
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
use words::Words;

/// Returns the kernel for tensors of a shape; `None` if this processor lacks the instructions.
pub fn avx2(shape: &Shape) -> Option<Box<dyn Kernel + Send>> {
    if !vector::has_avx2() {
        return None;
    }
    let one = &shape.summand();
    Some(match shape.row_bits() {
        // SAFETY: the processor has the instructions.
        _ if byte_planes::fits(one) => of_summands(shape, unsafe { BytePlanes::<vector::Avx2>::new(one) }),
        // SAFETY: as above.
        _ if words::fits(shape) => Box::new(unsafe { Words::<vector::Avx2>::new(shape) }),
        // SAFETY: as above.
        _ if long::fits(shape) => Box::new(unsafe { Long::<vector::Avx2>::new(shape) }),
        0..=32 => of_summands(shape, Avx2(Portable::<u32>::new(one))),
        _ => of_summands(shape, Avx2(Portable::<u64>::new(one))),
    })
}

#[derive(Debug)]
struct Avx2<W>(Portable<W>);

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn pull<W: Word>(kernel: &mut Portable<W>, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
    kernel.pull(source, transform, maps);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn subtract<W: Word>(kernel: &mut Portable<W>, known: Bits<'_>) {
    kernel.subtract(known);
}

#[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
fn pack<W: Word>(kernel: &mut Portable<W>, packed: &mut [u8]) -> u32 {
    kernel.pack(packed)
}

impl<W: Word> Lent for Avx2<W> {
    type States = Vec<W>;

    fn no_states(&self) -> Vec<W> {
        self.0.no_states()
    }

    fn states(&mut self) -> &mut Vec<W> {
        self.0.states()
    }
}

impl<W: Word> Kernel for Avx2<W> {
    fn drop_maps(&mut self) {
        self.0.drop_maps();
    }

    fn map_bytes(&self) -> usize {
        self.0.map_bytes()
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn pull(&mut self, source: Bits<'_>, transform: &Transform, maps: &[AxisMap]) {
        // SAFETY: only `avx2` creates this kernel, after checking that the processor has the instructions.
        unsafe { pull(&mut self.0, source, transform, maps) }
    }

    fn subtract(&mut self, known: Bits<'_>) {
        // SAFETY: as in `pull`.
        unsafe { subtract(&mut self.0, known) }
    }

    fn pack(&mut self, packed: &mut [u8]) -> u32 {
        // SAFETY: as in `pull`.
        unsafe { pack(&mut self.0, packed) }
    }
}
