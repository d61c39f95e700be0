//! The words that hold rows of bits: `u32` for rows of up to 32 bits, `u64` for longer ones.

use std::fmt::Debug;
use std::ops::{BitAnd, BitOr, BitOrAssign, BitXor, BitXorAssign, Not, Shl, Shr};

pub(crate) trait Word:
    Copy
    + Default
    + Debug
    + Eq
    + Send
    + Not<Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + BitOrAssign
    + BitXorAssign
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
{
    const BITS: u32;
    /// Returns the low bits of `wide`.
    fn truncate(wide: u64) -> Self;
    fn widen(self) -> u64;
    /// Returns the word at a byte offset, little-endian.
    fn load(bytes: &[u8], at: usize) -> Self;
    fn count_ones(self) -> u32;

    /// Returns a word with its lowest `bits` bits set.
    fn low(bits: u32) -> Self {
        Self::truncate(u64::MAX.checked_shr(64 - bits).unwrap_or(0))
    }
}

macro_rules! word {
    ($word:ty) => {
        impl Word for $word {
            const BITS: u32 = <$word>::BITS;

            #[inline(always)]
            fn truncate(wide: u64) -> Self {
                wide as $word
            }

            #[inline(always)]
            fn widen(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn load(bytes: &[u8], at: usize) -> Self {
                let bytes = &bytes[at..at + size_of::<$word>()];
                <$word>::from_le_bytes(bytes.try_into().expect("the slice is as long as the word"))
            }

            #[inline(always)]
            fn count_ones(self) -> u32 {
                <$word>::count_ones(self)
            }
        }
    };
}

word!(u32);
word!(u64);
