//! The layers that a layer is computed from.

use crate::run::Depth;
use fathom_space::Space;

/// The layers before it that a layer is computed from: two, or all.
///
/// A move leads from depth d to depth d + 1 or less. If the inverse of every move is a move, it leads to
/// depth d - 1 or more: the new layer is the set of states to which moves lead from the newest layer,
/// without the states of the two newest layers. Otherwise a move may lead back to any depth, and the states
/// of all earlier layers must be subtracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookback {
    /// A layer is computed from the two before it: the moves are closed under inverses.
    Two,
    /// A layer is computed from all before it.
    All,
}

impl Lookback {
    /// Returns the lookback of the moves of a space.
    pub fn new(space: &Space) -> Self {
        if space.is_closed_under_inverses() { Self::Two } else { Self::All }
    }

    /// Returns the depths of the layers that the layer at `depth` is computed from, the newest first.
    pub fn below(self, depth: Depth) -> impl Iterator<Item = Depth> {
        let most = match self {
            Self::Two => 2,
            Self::All => usize::MAX,
        };
        (0..depth.0).rev().take(most).map(Depth)
    }
}

/// Returns, for a run that [keeps two layers](crate::run::Keep::Two) and has `shards` shards, how many shards
/// that workers with `threads` threads may at most have computed whose sources are not released yet. Reports
/// are made durable together, and copies and audits take time: with a smaller number, workers would wait for
/// them.
pub fn most_ahead(shards: u32, threads: u64) -> u64 {
    u64::from(shards.div_ceil(8)) + 2 * threads
}

/// Returns the maximum number of shards beyond two whole layers that are stored by workers that have
/// `threads` threads: the shards made [ahead](most_ahead), and for each thread the shard that it computes and
/// one that waits.
pub fn most_in_the_making(shards: u32, threads: u64) -> u64 {
    u64::from(shards).min(most_ahead(shards, threads) + 2 * threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lookback_is_two_layers_or_all() {
        let below =
            |lookback: Lookback, depth| lookback.below(Depth(depth)).map(|depth| depth.0).collect::<Vec<_>>();
        for (depth, two, all) in
            [(0, &[][..], &[][..]), (1, &[0], &[0]), (2, &[1, 0], &[1, 0]), (4, &[3, 2], &[3, 2, 1, 0])]
        {
            assert_eq!(below(Lookback::Two, depth), two);
            assert_eq!(below(Lookback::All, depth), all);
        }
    }
}
