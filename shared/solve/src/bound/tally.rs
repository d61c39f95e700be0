//! Counts of words or states, with even and odd permutations counted separately.

use num_bigint::BigUint;
use std::cmp::min;
use std::ops::AddAssign;

/// The number of even permutations, and the number of odd ones.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Products of an even number of transpositions.
    pub even: BigUint,
    /// Products of an odd number of transpositions.
    pub odd: BigUint,
}

impl Tally {
    /// Returns the count of the identity alone.
    pub fn one() -> Self {
        Self { even: 1_u32.into(), odd: BigUint::ZERO }
    }

    /// Returns the sum of both counts.
    pub fn total(&self) -> BigUint {
        &self.even + &self.odd
    }

    /// Returns the smaller count of each parity.
    pub fn smaller(self, other: Self) -> Self {
        Self { even: min(self.even, other.even), odd: min(self.odd, other.odd) }
    }

    /// Returns whether both counts are at least those of `other`.
    pub fn covers(&self, other: &Self) -> bool {
        self.even >= other.even && self.odd >= other.odd
    }

    /// Adds the counts of `words`, each followed by one of `even` even and `odd` odd moves.
    pub(crate) fn add_products(&mut self, words: &Self, even: u32, odd: u32) {
        self.even += &words.even * even + &words.odd * odd;
        self.odd += &words.odd * even + &words.even * odd;
    }
}

impl AddAssign<&Self> for Tally {
    fn add_assign(&mut self, other: &Self) {
        self.even += &other.even;
        self.odd += &other.odd;
    }
}
