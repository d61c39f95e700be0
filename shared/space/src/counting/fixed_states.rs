//! States that actions fix, listed once, with their addresses.

use crate::cosets::Locator;
use crate::placements::{Action, FixedWords, Placements};
use crate::{CosetGraph, CosetId};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A state that some action fixes.
#[derive(Clone, Copy, Debug)]
struct Crossing {
    /// The coset of the state.
    coset: CosetId,
    /// The position in the coset.
    position: u32,
    /// The number of pairs (action, state) that the entry represents.
    pairs: u32,
}

impl Crossing {
    /// Returns coset and position as one number, which is compared in one instruction.
    fn address(&self) -> u64 {
        u64::from(self.coset.0) << 32 | u64::from(self.position)
    }
}

/// Fixed states in the order of their addresses, 12 bytes each.
///
/// One state may represent all of its images under symmetries. The choice of this state affects the pairs of
/// a shard, but not those of a layer, so all files of an unfinished layer must be computed with the same
/// choice.
#[derive(Debug, Default)]
pub struct FixedStates {
    crossing: Vec<Crossing>,
}

impl FixedStates {
    /// The smallest number of new entries that are merged at a time.
    const BATCH: usize = 1 << 22;
    /// The number of words after which a thread reports its progress to the others.
    const TOLD: usize = 1 << 10;

    /// Lists the words that actions fix. Each action comes with the number of its conjugates by `symmetries`,
    /// all of which it represents. Returns `None` if more than `most` words would have to be examined.
    pub(crate) fn new(
        graph: &CosetGraph,
        placements: &Placements,
        actions: &[(Action, u32)],
        symmetries: &[Action],
        most: usize,
    ) -> Option<Self> {
        let looked_at = AtomicUsize::new(0);
        let list = |words: &FixedWords<'_>, branch: usize, pairs: u32| {
            let mut crossing = Vec::new();
            let (mut sorted, mut untold) = (0, 0);
            let mut locator = Locator::new(graph);
            words.visit(branch, &mut |word, orbit| {
                if let Some((coset, position)) = locator.locate(word) {
                    crossing.push(Crossing { coset, position, pairs: pairs * orbit });
                    if crossing.len() >= 2 * sorted + Self::BATCH {
                        merge(&mut crossing);
                        sorted = crossing.len();
                    }
                }
                untold += 1;
                untold < Self::TOLD || {
                    let told = std::mem::take(&mut untold);
                    looked_at.fetch_add(told, Ordering::Relaxed) + told <= most
                }
            });
            looked_at.fetch_add(untold, Ordering::Relaxed);
            crossing
        };
        let joined = |mut all: Vec<Crossing>, more: Vec<Crossing>| {
            all.extend(more);
            all
        };
        let list_all = |(action, pairs): &(Action, u32)| {
            let words = FixedWords::new(placements, graph.space(), action, symmetries);
            let branches = (0..words.branches()).into_par_iter();
            branches.map(|branch| list(&words, branch, *pairs)).reduce(Vec::new, joined)
        };
        let mut crossing = actions.par_iter().map(list_all).reduce(Vec::new, joined);
        merge(&mut crossing);
        (looked_at.into_inner() <= most).then_some(Self { crossing })
    }

    /// Counts the pairs (action, state) of the whole orbit of a coset, for the states whose positions
    /// `contains` accepts.
    pub fn pairs(&self, coset: CosetId, contains: impl Fn(u32) -> bool) -> u64 {
        let start = self.crossing.partition_point(|c| c.coset < coset);
        let here = self.crossing[start..].iter().take_while(|c| c.coset == coset);
        here.filter(|c| contains(c.position)).map(|c| u64::from(c.pairs)).sum()
    }
}

/// Sorts entries, and merges those with the same address.
fn merge(crossing: &mut Vec<Crossing>) {
    crossing.par_sort_unstable_by_key(Crossing::address);
    crossing.dedup_by(|next, kept| {
        let is_same = next.address() == kept.address();
        if is_same {
            kept.pairs += next.pairs;
        }
        is_same
    });
}
