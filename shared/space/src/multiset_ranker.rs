//! Words with fixed content, and their lexicographic ranks.
//!
//! Patterns, arrangements and whole states are words in which symbol `l` occurs `counts[l]` times. Ranking
//! walks through the vectors of remaining symbols: at each position, one table entry is the number of words
//! of the remaining symbols that begin with a smaller symbol. The cost is two dependent loads for each
//! position, and no division.

use std::sync::OnceLock;

/// The words in which symbol `l` occurs `counts[l]` times.
#[derive(Clone, Debug)]
pub struct MultisetRanker {
    counts: Box<[u16]>,
    length: usize,
    total: u64,
    /// A vector of remaining symbols is a number in mixed radix. Removing symbol `l` subtracts `strides[l]`.
    strides: Box<[u32]>,
    full: u32,
    /// See [`MultisetRanker::smaller`].
    smaller: OnceLock<Box<[u64]>>,
}

impl MultisetRanker {
    /// The largest number of vectors of remaining symbols for which tables are built.
    const MAX_TABLE: u64 = 1 << 20;

    /// Creates the ranker of words with this content. Returns `None` if there are 2^64 or more, or if the
    /// tables would be too large.
    pub fn new(counts: &[u16]) -> Option<Self> {
        let symbols = counts.len();
        let vectors: u64 = counts.iter().try_fold(1_u64, |n, &c| n.checked_mul(u64::from(c) + 1))?;
        let total = u64::try_from(multinomial(counts)?).ok()?;
        if vectors > Self::MAX_TABLE {
            return None;
        }
        let mut strides = vec![0_u32; symbols];
        let mut stride = 1;
        for (l, &count) in counts.iter().enumerate() {
            strides[l] = stride;
            stride *= u32::from(count) + 1;
        }
        Some(Self {
            counts: counts.into(),
            length: counts.iter().map(|&c| usize::from(c)).sum(),
            total,
            strides: strides.into(),
            full: vectors as u32 - 1,
            smaller: OnceLock::new(),
        })
    }

    /// Returns the table whose entry `left * symbols + l` is the number of words with content `left` that
    /// begin with a symbol smaller than `l`. The table is built when a word is first ranked, because the
    /// planner needs only the number of words for many contents.
    #[inline]
    fn smaller(&self) -> &[u64] {
        self.smaller.get_or_init(|| self.table())
    }

    #[cold]
    fn table(&self) -> Box<[u64]> {
        let (symbols, vectors) = (self.counts.len(), self.full as usize + 1);
        // The number of words of the remaining symbols is a sum over the first symbol. Vectors with one
        // symbol fewer have smaller numbers.
        let mut words = vec![0_u64; vectors];
        let mut smaller = vec![0_u64; vectors * symbols];
        words[0] = 1;
        for left in 1..vectors {
            let mut begun = 0;
            for l in 0..symbols {
                smaller[left * symbols + l] = begun;
                let of_letter = left as u32 / self.strides[l] % (u32::from(self.counts[l]) + 1);
                if of_letter > 0 {
                    begun += words[left - self.strides[l] as usize];
                }
            }
            words[left] = begun;
        }
        smaller.into()
    }

    /// Returns the number of words.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Returns the number of symbols of a word.
    pub fn length(&self) -> usize {
        self.length
    }

    /// Returns how often each symbol occurs.
    pub fn counts(&self) -> &[u16] {
        &self.counts
    }

    /// Returns the lexicographic rank of a word, which must have this content.
    #[inline]
    pub fn rank(&self, word: impl IntoIterator<Item = u8>) -> u64 {
        self.rank_from(self.full, word)
    }

    /// Returns the rank of a word whose content is `left`.
    #[inline]
    fn rank_from(&self, mut left: u32, word: impl IntoIterator<Item = u8>) -> u64 {
        let (symbols, smaller) = (self.counts.len(), self.smaller());
        let mut rank = 0;
        for letter in word {
            rank += smaller[left as usize * symbols + usize::from(letter)];
            left -= self.strides[usize::from(letter)];
        }
        rank
    }

    /// Returns the contribution of the first symbols of a word to its rank; `None` if the content has too few
    /// of one of them.
    pub(crate) fn rank_of_beginning(&self, symbols: impl Iterator<Item = u8> + Clone) -> Option<u64> {
        self.vector(symbols.clone()).map(|_| self.rank(symbols))
    }

    /// Returns the contribution of the last symbols of a word to its rank; `None` if the content has too few
    /// of one of them.
    pub(crate) fn rank_of_end(&self, symbols: impl Iterator<Item = u8> + Clone) -> Option<u64> {
        let left = self.vector(symbols.clone())?;
        Some(self.rank_from(left, symbols))
    }

    /// Returns the number of the vector of these symbols; `None` if the content has too few of one of them.
    fn vector(&self, symbols: impl Iterator<Item = u8>) -> Option<u32> {
        let mut left = self.full;
        for letter in symbols {
            let (count, stride) = (self.counts[usize::from(letter)], self.strides[usize::from(letter)]);
            let of_letter = left / stride % (u32::from(count) + 1);
            left = left.checked_sub(stride).filter(|_| of_letter > 0)?;
        }
        Some(self.full - left)
    }

    /// Writes the word with this rank: the inverse of [`MultisetRanker::rank`].
    ///
    /// # Panics
    /// If `word` is shorter than [`MultisetRanker::length`], or `rank` is not below
    /// [`MultisetRanker::total`].
    pub fn unrank(&self, mut rank: u64, word: &mut [u8]) {
        assert!(rank < self.total, "rank {rank} of {} words", self.total);
        let (symbols, smaller) = (self.counts.len(), self.smaller());
        let mut left = self.full;
        for place in &mut word[..self.length] {
            let row = &smaller[left as usize * symbols..][..symbols];
            // The last symbol whose words begin at or before this rank. A symbol of which none remain is
            // never chosen: the words of the next symbol begin at the same rank, and a symbol after all
            // remaining ones has an entry larger than any rank.
            let letter = row.iter().rposition(|&begun| begun <= rank).expect("row[0] is 0");
            rank -= row[letter];
            left -= self.strides[letter];
            *place = letter as u8;
        }
    }
}

/// Replaces a word by the next word with this content, in lexicographic order. Returns false, and changes
/// nothing, if the word is the last.
pub(crate) fn advance(word: &mut [u8]) -> bool {
    let Some(at) = word.windows(2).rposition(|pair| pair[0] < pair[1]) else {
        return false;
    };
    let larger = word.iter().rposition(|&letter| letter > word[at]).expect("the next letter is larger");
    word.swap(at, larger);
    word[at + 1..].reverse();
    true
}

/// Returns (sum of `counts`)! / product of the factorials of `counts`; `None` if an intermediate value
/// exceeds 128 bits.
pub fn multinomial(counts: &[u16]) -> Option<u128> {
    let mut total = 1_u128;
    let mut placed = 0_u128;
    for &count in counts {
        for i in 1..=u128::from(count) {
            placed += 1;
            total = total.checked_mul(placed)? / i;
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rank_and_unrank_are_inverse_and_lexicographic() {
        for counts in
            [&[4, 4][..], &[1; 6], &[2, 0, 3, 1], &[3, 3, 3], &[5], &[0, 2], &[1, 7], &[], &[2, 1, 1, 2, 1]]
        {
            let words = MultisetRanker::new(counts).unwrap();
            let mut previous: Option<Vec<u8>> = None;
            for rank in 0..words.total() {
                let mut word = vec![0; words.length()];
                words.unrank(rank, &mut word);
                assert_eq!(words.rank(word.iter().copied()), rank);
                for (letter, &count) in counts.iter().enumerate() {
                    assert_eq!(
                        word.iter().filter(|&&l| usize::from(l) == letter).count(),
                        usize::from(count)
                    );
                }
                if let Some(mut previous) = previous {
                    assert!(advance(&mut previous), "{counts:?}");
                    assert_eq!(previous, word, "{counts:?}");
                }
                previous = Some(word);
            }
            assert!(!previous.is_some_and(|mut last| advance(&mut last)), "{counts:?}");
        }
    }

    #[test]
    fn totals_are_multinomials() {
        assert_eq!(MultisetRanker::new(&[4, 4, 4, 4]).unwrap().total(), 63_063_000);
        assert_eq!(MultisetRanker::new(&[1; 12]).unwrap().total(), 479_001_600);
        assert!(MultisetRanker::new(&[1; 21]).is_none());
    }
}
