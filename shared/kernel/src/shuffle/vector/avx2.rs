//! Vectors of AVX2.

use super::{LANE, Slot, Vector, Work};
use std::arch::x86_64::*;

/// A register of AVX2.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256i);

/// Returns whether this processor has the instructions of [`Avx2`].
pub(crate) fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("popcnt")
}

/// Defines operations as intrinsics on the registers of vectors.
macro_rules! operations {
    ($($name:ident($($argument:ident),*) = $intrinsic:ident;)*) => {
        $(
            #[inline(always)]
            fn $name(self $(, $argument: Self)*) -> Self {
                // SAFETY: there is a vector, so the processor has the instructions.
                unsafe { Self($intrinsic(self.0 $(, $argument.0)*)) }
            }
        )*
    };
}

impl Vector for Avx2 {
    const BYTES: usize = 2 * LANE;

    operations! {
        and(other) = _mm256_and_si256;
        or(other) = _mm256_or_si256;
        xor(other) = _mm256_xor_si256;
        shuffle(index) = _mm256_shuffle_epi8;
    }

    #[inline(always)]
    unsafe fn load_lanes(from: *const u8, stride: usize) -> Self {
        // SAFETY: as the caller promises; the loads need no alignment.
        unsafe {
            match stride {
                0 => Self(_mm256_broadcastsi128_si256(_mm_loadu_si128(from.cast()))),
                LANE => Self(_mm256_loadu_si256(from.cast())),
                _ => {
                    let first = _mm256_castsi128_si256(_mm_loadu_si128(from.cast()));
                    Self(_mm256_inserti128_si256::<1>(first, _mm_loadu_si128(from.add(stride).cast())))
                }
            }
        }
    }

    #[inline(always)]
    unsafe fn store_lanes(self, to: *mut u8, stride: usize) {
        // SAFETY: as the caller promises; the stores need no alignment.
        unsafe {
            if stride == LANE {
                _mm256_storeu_si256(to.cast(), self.0);
            } else {
                _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(self.0));
                _mm_storeu_si128(to.add(stride).cast(), _mm256_extracti128_si256::<1>(self.0));
            }
        }
    }

    #[inline(always)]
    unsafe fn splat(byte: u8) -> Self {
        // SAFETY: as the caller promises.
        unsafe { Self(_mm256_set1_epi8(byte as i8)) }
    }

    #[inline(always)]
    fn without(self, other: Self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe { Self(_mm256_andnot_si256(other.0, self.0)) }
    }

    #[inline(always)]
    fn right<const BITS: i32>(self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe { Self(_mm256_srli_epi64::<BITS>(self.0)) }
    }

    #[inline(always)]
    fn left<const BITS: i32>(self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe { Self(_mm256_slli_epi64::<BITS>(self.0)) }
    }
}

impl Slot for Avx2 {
    type Long = Self;

    unsafe fn compiled<W: Work>(work: W) -> W::Output {
        #[target_feature(enable = "avx2,bmi1,bmi2,popcnt")]
        unsafe fn compiled<W: Work>(work: W) -> W::Output {
            // SAFETY: the processor has the instructions, or else this function would not be called.
            unsafe { work.run::<Avx2>() }
        }
        // SAFETY: as the caller promises.
        unsafe { compiled(work) }
    }

    #[inline(always)]
    unsafe fn load_words(from: [*const u8; 4]) -> Self {
        // SAFETY: as the caller promises; the loads need no alignment.
        unsafe {
            let [a, b, c, d] = from.map(|from| from.cast::<i64>().read_unaligned());
            Self(_mm256_setr_epi64x(a, b, c, d))
        }
    }

    #[inline(always)]
    fn interleave_low<const UNIT: usize>(self, other: Self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe {
            Self(match UNIT {
                1 => _mm256_unpacklo_epi8(self.0, other.0),
                2 => _mm256_unpacklo_epi16(self.0, other.0),
                4 => _mm256_unpacklo_epi32(self.0, other.0),
                _ => _mm256_unpacklo_epi64(self.0, other.0),
            })
        }
    }

    #[inline(always)]
    fn interleave_high<const UNIT: usize>(self, other: Self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe {
            Self(match UNIT {
                1 => _mm256_unpackhi_epi8(self.0, other.0),
                2 => _mm256_unpackhi_epi16(self.0, other.0),
                4 => _mm256_unpackhi_epi32(self.0, other.0),
                _ => _mm256_unpackhi_epi64(self.0, other.0),
            })
        }
    }

    #[inline(always)]
    fn first_lanes(self, other: Self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe { Self(_mm256_permute2x128_si256::<0x20>(self.0, other.0)) }
    }

    #[inline(always)]
    fn second_lanes(self, other: Self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe { Self(_mm256_permute2x128_si256::<0x31>(self.0, other.0)) }
    }

    #[inline(always)]
    fn select(self, other: Self, by: Self) -> Self {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe { Self(_mm256_blendv_epi8(other.0, self.0, by.0)) }
    }

    #[inline(always)]
    fn equal(self, other: Self) -> u32 {
        // SAFETY: there is a vector, so the processor has the instructions.
        unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, other.0)) as u32 }
    }
}
