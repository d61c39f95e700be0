//! Transposition of a square of bits, one row per word.

use crate::word::Word;

/// Exchanges bit j of word i with bit i of word j. `rows` must have as many words as a word has bits.
///
/// Blocks of half the size are exchanged across the diagonal, then blocks of a quarter inside each, and so on
/// (Warren, *Hacker's Delight*, section 7-3): log2(bits) passes of five operations and two shifts per pair of
/// words. After each pass the halves are interleaved, so that every pass pairs the two halves (Pease, *An
/// adaptation of the fast Fourier transform for parallel processing*, 1968), which suits vector instructions;
/// after the last pass all rows are back in place.
#[inline(always)]
pub(crate) fn transpose<W: Word>(rows: &mut [W]) {
    let half = W::BITS as usize / 2;
    let mut mixed = [W::default(); 64];
    let mut block = W::BITS / 2;
    let mut low = W::low(block);
    while block > 0 {
        let (upper, lower) = rows[..2 * half].split_at(half);
        for ((&a, &b), pair) in upper.iter().zip(lower).zip(mixed.as_chunks_mut::<2>().0) {
            let exchanged = ((a >> block) ^ b) & low;
            *pair = [a ^ (exchanged << block), b ^ exchanged];
        }
        rows[..2 * half].copy_from_slice(&mixed[..2 * half]);
        block /= 2;
        low = low ^ (low << block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<W: Word>(rows: Vec<u64>) {
        let before: Vec<W> = rows.iter().take(W::BITS as usize).map(|&row| W::truncate(row)).collect();
        let mut after = before.clone();
        transpose(&mut after);
        for i in 0..W::BITS {
            for j in 0..W::BITS {
                assert_eq!(after[i as usize].widen() >> j & 1, before[j as usize].widen() >> i & 1);
            }
        }
    }

    proptest! {
        #[test]
        fn bit_j_of_row_i_becomes_bit_i_of_row_j(rows in proptest::collection::vec(any::<u64>(), 64)) {
            check::<u32>(rows.clone());
            check::<u64>(rows);
        }
    }
}
