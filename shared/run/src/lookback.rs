//! Which layers a layer is made from.

use crate::{Depth, Keep, RunError};
use fathom_space::Space;

/// How far back the layers lie that a layer is made from.
///
/// A move leads from depth d to depth d + 1 or less. How much less depends on the way back: where it is a
/// move too, no less than d - 1, and a new layer is what moves lead to from the newest, without the two
/// newest. Otherwise a move may lead back to any depth, and the new layer is without all before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookback {
    /// A layer is made from the two before it: the moves are closed under inverses.
    Two,
    /// A layer is made from all before it.
    All,
}

impl Lookback {
    /// That of the moves of a space.
    pub fn of(space: &Space) -> Self {
        if space.is_closed_under_inverses() { Self::Two } else { Self::All }
    }

    /// The layers that the one at a depth is made from, the newest first.
    pub fn below(self, depth: Depth) -> impl Iterator<Item = Depth> {
        let most = match self {
            Self::Two => 2,
            Self::All => usize::MAX,
        };
        (0..depth.0).rev().take(most).map(Depth)
    }

    /// Which layers a run keeps, if this was asked for: where all are read, all.
    ///
    /// # Errors
    /// [`RunError::AllLayersNeeded`] if fewer were asked for than are read.
    pub fn keep(self, asked: Option<Keep>) -> Result<Keep, RunError> {
        match (self, asked) {
            (Self::Two, asked) => Ok(asked.unwrap_or_default()),
            (Self::All, None | Some(Keep::All)) => Ok(Keep::All),
            (Self::All, Some(Keep::Last | Keep::Two)) => Err(RunError::AllLayersNeeded),
        }
    }
}

/// How many shards workers with so many threads may have made, of so many, before what they were made from is
/// given back, in a run that [keeps two layers](Keep::Two). Reports are made durable together, and copies and
/// audits take their time: with fewer shards ahead workers would wait for them.
pub fn most_ahead(shards: u32, threads: u64) -> u64 {
    u64::from(shards.div_ceil(8)) + 2 * threads
}

/// How many shards more than two layers have lie with workers that have so many threads: those that are
/// [ahead](most_ahead), and those that each thread is at and has waiting.
pub fn most_in_the_making(shards: u32, threads: u64) -> u64 {
    u64::from(shards).min(most_ahead(shards, threads) + 2 * threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_made_from_two_or_from_all_before_them() {
        let below =
            |lookback: Lookback, depth| lookback.below(Depth(depth)).map(|depth| depth.0).collect::<Vec<_>>();
        for (depth, two, all) in
            [(0, &[][..], &[][..]), (1, &[0], &[0]), (2, &[1, 0], &[1, 0]), (4, &[3, 2], &[3, 2, 1, 0])]
        {
            assert_eq!(below(Lookback::Two, depth), two);
            assert_eq!(below(Lookback::All, depth), all);
        }
    }

    #[test]
    fn what_is_read_is_kept() {
        assert_eq!(Lookback::Two.keep(None).unwrap(), Keep::Last);
        assert_eq!(Lookback::All.keep(None).unwrap(), Keep::All);
        assert_eq!(Lookback::Two.keep(Some(Keep::Two)).unwrap(), Keep::Two);
        for keep in [Keep::Last, Keep::Two] {
            let error = Lookback::All.keep(Some(keep)).unwrap_err().to_string();
            assert!(error.contains("leave out --keep"), "{error}");
        }
    }
}
