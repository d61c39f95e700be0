//! States that actions fix, listed once, with their addresses.

use crate::placements::{Action, FixedWords, Placements};
use crate::{CosetGraph, CosetId};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A state that is fixed by something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Crossing {
    /// Where it lies.
    coset: CosetId,
    /// Its position there.
    position: u32,
    /// How many pairs (action, state) it stands for.
    pairs: u32,
}

/// Fixed states in order of their addresses; 12 bytes each.
///
/// Of states that symmetries make of each other one may be here for all. Which one it is decides what the
/// pairs of a shard are, though not what those of a layer are: files of an unfinished layer must come from
/// one way to choose it.
#[derive(Debug, Default)]
pub struct Listed {
    crossing: Vec<Crossing>,
}

impl Listed {
    /// So many new entries are sorted in at a time.
    const BATCH: usize = 1 << 22;

    /// The words that actions fix; each action stands for as many as are written behind it, conjugates by
    /// `symmetries`. `None` if more than `most` are to be looked at.
    pub(crate) fn of(
        graph: &CosetGraph,
        placements: &Placements,
        actions: &[(Action, u32)],
        symmetries: &[Action],
        most: usize,
    ) -> Option<Self> {
        let looked_at = AtomicUsize::new(0);
        let words: Vec<(FixedWords<'_>, u32)> = actions
            .iter()
            .map(|(action, pairs)| (FixedWords::of(placements, graph.space(), action, symmetries), *pairs))
            .collect();
        let branches: Vec<(&FixedWords<'_>, usize, u32)> = words
            .iter()
            .flat_map(|(words, pairs)| (0..words.branches()).map(move |branch| (words, branch, *pairs)))
            .collect();
        let list = |&(words, branch, pairs): &(&FixedWords<'_>, usize, u32)| {
            let mut crossing = Vec::new();
            let mut sorted = 0;
            words.visit(branch, &mut |word, orbit| {
                if let Some((coset, position)) = graph.locate(word) {
                    crossing.push(Crossing { coset, position, pairs: pairs * orbit });
                    if crossing.len() >= 2 * sorted + Self::BATCH {
                        merge(&mut crossing);
                        sorted = crossing.len();
                    }
                }
                looked_at.fetch_add(1, Ordering::Relaxed) < most
            });
            merge(&mut crossing);
            crossing
        };
        let mut crossing = branches.par_iter().map(list).reduce(Vec::new, |mut all, more| {
            all.extend(more);
            all
        });
        merge(&mut crossing);
        (looked_at.into_inner() <= most).then_some(Self { crossing })
    }

    /// The pairs (action, state) of a coset's whole orbit, of the states whose positions `contains` has.
    pub fn pairs(&self, coset: CosetId, contains: impl Fn(u32) -> bool) -> u64 {
        let start = self.crossing.partition_point(|c| c.coset < coset);
        let here = self.crossing[start..].iter().take_while(|c| c.coset == coset);
        here.filter(|c| contains(c.position)).map(|c| u64::from(c.pairs)).sum()
    }
}

/// Brings entries in order, and makes one of those with one address.
fn merge(crossing: &mut Vec<Crossing>) {
    crossing.sort_unstable();
    crossing.dedup_by(|next, kept| {
        let is_same = (next.coset, next.position) == (kept.coset, kept.position);
        if is_same {
            kept.pairs += next.pairs;
        }
        is_same
    });
}
