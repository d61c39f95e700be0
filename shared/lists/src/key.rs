//! Packed states as numbers of a fixed width.

use std::fmt::Debug;

/// The largest number of 64-bit words that a state may take.
pub const MAX_WORDS: usize = 512;

/// Calls a function with the narrowest type of key that holds a state of so many words.
#[macro_export]
macro_rules! with_key {
    ($words:expr, $function:ident ( $($argument:expr),* )) => {
        match $words {
            0..=1 => $function::<u64>($($argument),*),
            2 => $function::<u128>($($argument),*),
            3..=4 => $function::<[u64; 4]>($($argument),*),
            5..=8 => $function::<[u64; 8]>($($argument),*),
            9..=16 => $function::<[u64; 16]>($($argument),*),
            17..=32 => $function::<[u64; 32]>($($argument),*),
            33..=64 => $function::<[u64; 64]>($($argument),*),
            65..=128 => $function::<[u64; 128]>($($argument),*),
            _ => $function::<[u64; $crate::key::MAX_WORDS]>($($argument),*),
        }
    };
}

/// A packed state. Bits are numbered from the most significant one, so that the order of keys is that of their
/// bytes. A field of a state never crosses a word of 64 bits.
pub trait Key: Copy + Ord + Debug + Send + Sync + 'static {
    /// The number of 64-bit words.
    const WORDS: usize;
    /// All bits are zero.
    const ZERO: Self;

    /// Returns a word; word 0 has the most significant bits.
    fn word(&self, word: usize) -> u64;

    /// Sets the bits of a word that are set in `bits`.
    fn set(&mut self, word: usize, bits: u64);

    /// Returns the bits that are set in both.
    #[must_use]
    fn and(&self, mask: &Self) -> Self;

    /// Returns a hash that depends on all bits of the first `words` words, which are those of a state.
    #[inline]
    fn hash(&self, words: usize) -> u64 {
        let mix = |hash: u64, word: usize| {
            let mixed = (hash ^ self.word(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
            mixed ^ (mixed >> 32)
        };
        (0..words).fold(0, mix).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Sorts states, and drops those that occur twice.
pub fn sort_distinct<K: Key>(states: &mut Vec<K>) {
    // Wide keys are not moved until their order is known.
    const WIDE: usize = 8;
    if K::WORDS <= WIDE {
        states.sort_unstable();
        return states.dedup();
    }
    let mut order: Vec<u32> = (0..states.len() as u32).collect();
    order.sort_unstable_by(|&one, &other| states[one as usize].cmp(&states[other as usize]));
    order.dedup_by(|one, other| states[*one as usize] == states[*other as usize]);
    *states = order.into_iter().map(|number| states[number as usize]).collect();
}

impl Key for u64 {
    const WORDS: usize = 1;
    const ZERO: Self = 0;

    #[inline]
    fn word(&self, _: usize) -> u64 {
        *self
    }

    #[inline]
    fn set(&mut self, _: usize, bits: u64) {
        *self |= bits;
    }

    #[inline]
    fn and(&self, mask: &Self) -> Self {
        self & mask
    }
}

impl Key for u128 {
    const WORDS: usize = 2;
    const ZERO: Self = 0;

    #[inline]
    fn word(&self, word: usize) -> u64 {
        (self >> (64 * (1 - word))) as u64
    }

    #[inline]
    fn set(&mut self, word: usize, bits: u64) {
        *self |= Self::from(bits) << (64 * (1 - word));
    }

    #[inline]
    fn and(&self, mask: &Self) -> Self {
        self & mask
    }
}

impl<const W: usize> Key for [u64; W] {
    const WORDS: usize = W;
    const ZERO: Self = [0; W];

    #[inline]
    fn word(&self, word: usize) -> u64 {
        self[word]
    }

    #[inline]
    fn set(&mut self, word: usize, bits: u64) {
        self[word] |= bits;
    }

    #[inline]
    fn and(&self, mask: &Self) -> Self {
        std::array::from_fn(|word| self[word] & mask[word])
    }
}
