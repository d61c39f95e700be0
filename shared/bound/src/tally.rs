//! Counts of words or states, the even permutations among them apart from the odd ones.

use num_bigint::BigUint;
use std::cmp::min;
use std::ops::AddAssign;

/// So many that are even permutations, and so many that are odd.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Products of an even number of transpositions.
    pub even: BigUint,
    /// The others.
    pub odd: BigUint,
}

impl Tally {
    /// The identity alone.
    pub fn one() -> Self {
        Self { even: 1_u32.into(), odd: BigUint::ZERO }
    }

    /// All of them.
    pub fn total(&self) -> BigUint {
        &self.even + &self.odd
    }

    /// The smaller count of each parity.
    pub fn smaller(self, other: Self) -> Self {
        Self { even: min(self.even, other.even), odd: min(self.odd, other.odd) }
    }

    /// Whether of each parity there are at least as many as in `other`.
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
