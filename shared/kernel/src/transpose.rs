//! Transposition of a square of bits, one row a word.

use crate::word::Word;

/// Exchanges bit j of word i with bit i of word j. `rows` has as many words as a word has bits.
///
/// Blocks of half the size are exchanged across the diagonal, then blocks of a quarter inside each, and so on
/// (Warren, *Hacker's Delight*, section 7-3): log2(bits) passes of three operations and two shifts a pair of words.
#[inline(always)]
pub(crate) fn transpose<W: Word>(rows: &mut [W]) {
    let size = W::BITS as usize;
    let rows = &mut rows[..size];
    let mut block = size / 2;
    let mut low = W::low(block as u32);
    while block > 0 {
        let shift = block as u32;
        for pair in rows.chunks_exact_mut(2 * block) {
            let (upper, lower) = pair.split_at_mut(block);
            for (a, b) in upper.iter_mut().zip(lower) {
                let exchanged = ((*a >> shift) ^ *b) & low;
                *b ^= exchanged;
                *a ^= exchanged << shift;
            }
        }
        block /= 2;
        low = low ^ (low << block as u32);
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
