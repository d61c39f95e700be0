//! Vectors of NEON, which every 64-bit Arm processor has: two registers of 16 bytes.

use super::{LANE, Slot, Vector, Work};
use std::arch::aarch64::*;

/// Two registers of NEON, one for each lane.
#[derive(Clone, Copy)]
pub(crate) struct Neon(uint8x16_t, uint8x16_t);

/// Defines operations as intrinsics on the registers of vectors.
macro_rules! operations {
    ($($name:ident($($argument:ident),*) = $intrinsic:ident;)*) => {
        $(
            #[inline(always)]
            fn $name(self $(, $argument: Self)*) -> Self {
                // SAFETY: every processor of this architecture has the instructions.
                unsafe { Self($intrinsic(self.0 $(, $argument.0)*), $intrinsic(self.1 $(, $argument.1)*)) }
            }
        )*
    };
}

/// Defines shifts as intrinsics on words of 64 bits.
macro_rules! shifts {
    ($($name:ident = $intrinsic:ident;)*) => {
        $(
            #[inline(always)]
            fn $name<const BITS: i32>(self) -> Self {
                // SAFETY: as for the operations.
                let shifted = |lane| unsafe {
                    vreinterpretq_u8_u64($intrinsic::<BITS>(vreinterpretq_u64_u8(lane)))
                };
                Self(shifted(self.0), shifted(self.1))
            }
        )*
    };
}

/// Defines interleavings as intrinsics on units of 1, 2, 4 and 8 bytes.
macro_rules! interleavings {
    ($($name:ident = [$one:ident, $two:ident, $four:ident, $eight:ident];)*) => {
        $(
            #[inline(always)]
            fn $name<const UNIT: usize>(self, other: Self) -> Self {
                // SAFETY: as for the operations.
                let lane = |a, b| unsafe {
                    match UNIT {
                        1 => $one(a, b),
                        2 => {
                            let [a, b] = [a, b].map(|lane| vreinterpretq_u16_u8(lane));
                            vreinterpretq_u8_u16($two(a, b))
                        }
                        4 => {
                            let [a, b] = [a, b].map(|lane| vreinterpretq_u32_u8(lane));
                            vreinterpretq_u8_u32($four(a, b))
                        }
                        _ => {
                            let [a, b] = [a, b].map(|lane| vreinterpretq_u64_u8(lane));
                            vreinterpretq_u8_u64($eight(a, b))
                        }
                    }
                };
                Self(lane(self.0, other.0), lane(self.1, other.1))
            }
        )*
    };
}

impl Vector for Neon {
    const BYTES: usize = 2 * LANE;

    operations! {
        and(other) = vandq_u8;
        or(other) = vorrq_u8;
        xor(other) = veorq_u8;
        without(other) = vbicq_u8;
        shuffle(index) = vqtbl1q_u8;
    }

    shifts! {
        right = vshrq_n_u64;
        left = vshlq_n_u64;
    }

    #[inline(always)]
    unsafe fn load_lanes(from: *const u8, stride: usize) -> Self {
        // SAFETY: as the caller promises; the loads need no alignment.
        unsafe { Self(vld1q_u8(from), vld1q_u8(from.add(stride))) }
    }

    #[inline(always)]
    unsafe fn store_lanes(self, to: *mut u8, stride: usize) {
        // SAFETY: as the caller promises; the stores need no alignment.
        unsafe {
            vst1q_u8(to, self.0);
            vst1q_u8(to.add(stride), self.1);
        }
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: as for the operations.
        unsafe { Self(vdupq_n_u8(byte), vdupq_n_u8(byte)) }
    }
}

impl Slot for Neon {
    type Long = Self;

    unsafe fn compiled<W: Work>(work: W) -> W::Output {
        // SAFETY: every processor of this architecture has the instructions.
        unsafe { work.run::<Self>() }
    }

    #[inline(always)]
    unsafe fn load_words(from: [*const u8; 4]) -> Self {
        // SAFETY: as the caller promises; the loads need no alignment.
        unsafe {
            let [a, b, c, d] = from.map(|from| vld1_u8(from));
            Self(vcombine_u8(a, b), vcombine_u8(c, d))
        }
    }

    interleavings! {
        interleave_low = [vzip1q_u8, vzip1q_u16, vzip1q_u32, vzip1q_u64];
        interleave_high = [vzip2q_u8, vzip2q_u16, vzip2q_u32, vzip2q_u64];
    }

    #[inline(always)]
    fn first_lanes(self, other: Self) -> Self {
        Self(self.0, other.0)
    }

    #[inline(always)]
    fn second_lanes(self, other: Self) -> Self {
        Self(self.1, other.1)
    }

    #[inline(always)]
    fn select(self, other: Self, by: Self) -> Self {
        // SAFETY: as for the operations.
        let lane = |ours, others, by| unsafe {
            let all_bits = vreinterpretq_u8_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(by)));
            vbslq_u8(all_bits, ours, others)
        };
        Self(lane(self.0, other.0, by.0), lane(self.1, other.1, by.1))
    }

    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        const BIT_OF_BYTE: [u8; LANE] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];
        // SAFETY: as for the operations; the constant is as long as a register.
        let lane = |a, b| unsafe {
            let bits = vandq_u8(vceqq_u8(a, b), vld1q_u8(BIT_OF_BYTE.as_ptr()));
            u32::from(vaddv_u8(vget_low_u8(bits))) | u32::from(vaddv_u8(vget_high_u8(bits))) << 8
        };
        lane(self.0, other.0) | lane(self.1, other.1) << 16
    }
}
