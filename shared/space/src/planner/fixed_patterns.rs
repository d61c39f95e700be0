//! Patterns that symmetries fix.

use crate::cells::Cell;
use rustc_hash::FxHashMap;

/// Returns the number of patterns with these colour sizes that a symmetry fixes. The colour on the first cell
/// of a cycle of cells determines the colours of the others, and must come back to itself. The cycle of that
/// colour therefore has a length k that divides the length l of the cycle of cells, and each colour of its
/// cycle is used l / k times.
pub(super) fn fixed_patterns(cells: &[Cell], colours: &[u8], sizes: &[u16]) -> u128 {
    let colour_cycles = cycle_lengths_by_start(colours);
    let left: Vec<u16> = colour_cycles.iter().map(|&(start, _)| sizes[start]).collect();
    let mut ways: FxHashMap<Vec<u16>, u128> = FxHashMap::from_iter([(left, 1)]);
    for (_, length) in cycle_lengths_by_start(cells) {
        let mut next: FxHashMap<Vec<u16>, u128> = FxHashMap::default();
        for (left, count) in &ways {
            for (i, &(_, period)) in colour_cycles.iter().enumerate() {
                let used = length / period;
                if length % period == 0 && usize::from(left[i]) >= used {
                    let mut left = left.clone();
                    left[i] -= used as u16;
                    *next.entry(left).or_default() += count * period as u128;
                }
            }
        }
        ways = next;
    }
    ways.values().sum()
}

fn cycle_lengths_by_start<N: Copy + Into<usize>>(map: &[N]) -> Vec<(usize, usize)> {
    let mut seen = vec![false; map.len()];
    let mut cycles = Vec::new();
    for start in 0..map.len() {
        let (mut at, mut length) = (start, 0);
        while !std::mem::replace(&mut seen[at], true) {
            at = map[at].into();
            length += 1;
        }
        if length > 0 {
            cycles.push((start, length));
        }
    }
    cycles
}
