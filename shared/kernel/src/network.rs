//! A fixed permutation of the bits of a word, as a Benes network.
//!
//! For 2^k bits the network has 2k - 1 stages; a stage of distance d exchanges bits i and i + d for the i in
//! its mask, which takes six word operations. The masks are found once for each permutation by the looping
//! algorithm (V. Benes, *Mathematical theory of connecting networks and telephone traffic*, 1965, and Waksman
//! 1968); stages that exchange nothing are dropped. On a whole slice of words every stage is one pass of
//! independent operations, which compilers turn into vector code.

use crate::word::Word;

/// The stages of a network.
#[derive(Clone, Debug)]
pub(crate) struct Network<W> {
    stages: Vec<(u32, W)>,
}

impl<W: Word> Network<W> {
    /// Creates the network after which bit j has the value of the old bit `from[j]`. `from` must be a
    /// permutation of at most as many points as the word has bits; the other bits are unchanged.
    pub(crate) fn new(from: &[u32]) -> Self {
        let size = from.len().next_power_of_two();
        let levels = size.trailing_zeros() as usize;
        let mut masks = vec![0_u64; (2 * levels).saturating_sub(1)];
        let padded: Vec<u32> = from.iter().copied().chain(from.len() as u32..size as u32).collect();
        if size > 1 {
            route(&padded, 0, 0, &mut masks);
        }
        let distance = |stage: usize| 1 << (levels - 1 - stage.min(2 * levels - 2 - stage));
        let stages = masks
            .into_iter()
            .enumerate()
            .filter(|&(_, mask)| mask != 0)
            .map(|(stage, mask)| (distance(stage), W::truncate(mask)))
            .collect();
        Self { stages }
    }

    /// Permutes the bits of every word.
    #[inline(always)]
    pub(crate) fn apply(&self, words: &mut [W]) {
        for &(distance, mask) in &self.stages {
            for word in &mut *words {
                let exchanged = (*word ^ (*word >> distance)) & mask;
                *word ^= exchanged ^ (exchanged << distance);
            }
        }
    }
}

/// Sets the masks of the sub-network on bits `base..base + from.len()`, whose first stage is stage `level`.
///
/// Sources i and i + h go through different halves, and so do the sources of targets j and j + h. Following
/// these constraints from a target without a half closes a loop without contradiction.
fn route(from: &[u32], base: usize, level: usize, masks: &mut [u64]) {
    let size = from.len();
    let last = masks.len() - 1 - level;
    if size == 2 {
        masks[level] |= u64::from(from[0] == 1) << base;
        return;
    }
    let half = size / 2;
    let mut to = vec![0; size];
    for (target, &source) in from.iter().enumerate() {
        to[source as usize] = target;
    }
    let mut through: Vec<Option<bool>> = vec![None; size];
    for start in 0..size {
        let mut target = start;
        while through[from[target] as usize].is_none() {
            let source = from[target] as usize;
            let partner = source ^ half;
            through[source] = Some(false);
            through[partner] = Some(true);
            target = to[partner] ^ half;
        }
    }
    let upper = |source: u32| through[source as usize] == Some(true);
    let mut inner = [vec![0; half], vec![0; half]];
    for place in 0..half {
        masks[level] |= u64::from(upper(place as u32)) << (base + place);
        masks[last] |= u64::from(upper(from[place])) << (base + place);
        for target in [place, place + half] {
            inner[usize::from(upper(from[target]))][place] = from[target] % half as u32;
        }
    }
    for (which, from) in inner.iter().enumerate() {
        route(from, base + which * half, level + 1, masks);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check<W: Word>(from: &[u32], word: u64) {
        let mut words = [W::truncate(word)];
        Network::<W>::new(from).apply(&mut words);
        let mut expected = W::truncate(word).widen();
        for (j, &i) in from.iter().enumerate() {
            expected = expected & !(1 << j) | (word >> i & 1) << j;
        }
        assert_eq!(words[0].widen(), expected, "{from:?}");
    }

    #[test]
    fn all_permutations_of_up_to_five_bits() {
        fn permutations(left: Vec<u32>, done: Vec<u32>, found: &mut impl FnMut(&[u32])) {
            if left.is_empty() {
                found(&done);
            }
            for (at, &next) in left.iter().enumerate() {
                let mut left = left.clone();
                left.remove(at);
                permutations(left, [&done[..], &[next]].concat(), found);
            }
        }
        for size in 0..=5 {
            permutations((0..size).collect(), Vec::new(), &mut |from| {
                for word in [0b10110, 0b01001, 0b11101, 0xdead_beef] {
                    check::<u32>(from, word);
                    check::<u64>(from, word);
                }
            });
        }
    }

    proptest! {
        #[test]
        fn random_permutations_of_a_word(from in (1..=64_u32).prop_flat_map(|n| Just((0..n).collect::<Vec<_>>()).prop_shuffle()), word: u64) {
            if from.len() <= 32 {
                check::<u32>(&from, word & 0xffff_ffff);
            }
            check::<u64>(&from, word);
        }
    }
}
