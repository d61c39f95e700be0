//! Predicts how long a running search still takes. [`expected_growth`](crate::forecast::expected_growth) predicts its
//! growth.
//!
//! The time of a depth is assumed to be proportional to its pulls. The finished depths give the factor.

use crate::forecast::expected_growth::growth;
use crate::forecast::growth::known;
use crate::journal::LayerRow;
use crate::task::expand::{COMPLETION_CHECKS, NEARLY_FULL};
use fathom_layer::encoding::SPARSE_BITS;
use fathom_space::{Shape, Space};

/// The cost, in pulls, of everything but the pulls for a coset with states to come from.
const PACKING: f64 = 0.5;
/// The cost, in pulls, of a coset without states to come from.
const ENTRY: f64 = 0.05;
/// Depths that took fewer seconds do not predict later ones.
const MIN_SECONDS: f64 = 10e-3;

/// The remaining part of a search.
#[derive(Clone, Debug)]
pub struct Outlook {
    all: f64,
    moves: f64,
    coset_bits: f64,
    known: Option<&'static [u64]>,
    /// States and seconds of the committed depths.
    done: Vec<(f64, f64)>,
}

/// The remaining time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimeLeft {
    /// Seconds.
    pub seconds: f64,
    /// The factor, at least 1, by which `seconds` may be too large or too small.
    pub uncertainty: f64,
}

impl Outlook {
    /// Makes the outlook of a search whose cosets have this shape, after the committed layers.
    pub fn new(space: &Space, shape: &Shape, layers: &[LayerRow]) -> Self {
        Self {
            all: u64::try_from(space.states()).map_or(f64::INFINITY, |states| states as f64),
            moves: space.incoming_moves().len() as f64,
            coset_bits: shape.bits() as f64,
            known: known(space),
            done: done(layers),
        }
    }

    /// Replaces the committed layers.
    pub fn set_layers(&mut self, layers: &[LayerRow]) {
        self.done = done(layers);
    }

    /// Adds a committed layer.
    pub fn push(&mut self, layer: &LayerRow) {
        self.done.push((layer.states as f64, layer.seconds));
    }

    /// Returns the states of all depths: of the committed depths, and of the expected ones after them. `None`
    /// if too few depths are known.
    pub fn states(&self) -> Option<Vec<f64>> {
        let mut counts: Vec<f64> = self.done.iter().map(|(states, _)| *states).collect();
        if let Some(known) = self.known {
            counts.extend(known.iter().skip(counts.len()).map(|&states| states as f64));
            return Some(counts);
        }
        let known: Vec<u64> = counts.iter().map(|&states| states as u64).collect();
        let expected = growth(&known, self.all as u64, self.moves as usize);
        let is_complete = self.all - counts.iter().sum::<f64>() < 1.0;
        counts.extend(&expected);
        (is_complete || !expected.is_empty()).then_some(counts)
    }

    /// Returns the pulls for a mean coset at each depth: of those cosets that have unvisited states, a pull
    /// for each move from a dense coset, and less from a sparse one.
    pub(crate) fn pulls(&self, states: &[f64]) -> Vec<f64> {
        let mut left = self.all;
        let mut pulls = vec![ENTRY];
        for depth in 1..states.len() {
            left -= states[depth - 1];
            let mean = states[depth - 1] / self.all * self.coset_bits;
            let source = (mean * SPARSE_BITS as f64 / self.coset_bits).min(1.0);
            let is_last_large = left * f64::from(NEARLY_FULL) <= self.all && states[depth] >= 0.99 * left;
            let most = if is_last_large { f64::from(COMPLETION_CHECKS[1]) } else { self.moves };
            let open = -(-left.max(0.0) / self.all * self.coset_bits).exp_m1();
            pulls.push(open * (self.moves.min(most) * source + PACKING * mean.min(1.0)) + ENTRY);
        }
        pulls
    }

    /// Returns the time until `max_depth`, or the last depth, is computed, when a share `done` of the next
    /// depth took `elapsed` seconds. `None` if too little is known.
    pub fn time_left(&self, done: f64, elapsed: f64, max_depth: Option<u32>) -> Option<TimeLeft> {
        let states = self.states()?;
        let pulls = self.pulls(&states);
        let now = self.done.len();
        let end = max_depth.map_or(states.len(), |max| states.len().min(max as usize + 1));
        if now >= end {
            return Some(TimeLeft { seconds: 0.0, uncertainty: 1.0 });
        }
        let measured = self.done.iter().zip(&pulls).map(|((_, seconds), pulls)| (*seconds, *pulls));
        let measured = measured.chain([(elapsed, done * pulls[now])]);
        let mut measured: Vec<(f64, f64)> =
            measured.filter(|(seconds, pulls)| *seconds >= MIN_SECONDS && *pulls > 0.0).collect();
        // The newest depths predict best.
        let newest = measured.split_off(measured.len().saturating_sub(2));
        if newest.is_empty() {
            return None;
        }
        let (seconds, work) =
            newest.iter().fold((0.0, 0.0), |(s, p), (seconds, pulls)| (s + seconds, p + pulls));
        let to_come = pulls[now] * (1.0 - done) + pulls[now + 1..end].iter().sum::<f64>();
        let left: f64 = states[now..].iter().sum();
        let uncertainty = match (self.known, left * 2.0 < self.all) {
            (Some(_), _) => 1.2,
            (None, true) => 1.5,
            (None, false) => 3.0,
        };
        Some(TimeLeft { seconds: seconds / work * to_come, uncertainty })
    }
}

fn done(layers: &[LayerRow]) -> Vec<(f64, f64)> {
    layers.iter().map(|layer| (layer.states as f64, layer.seconds)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_puzzle::{Board, Metric};
    use fathom_space::{Colouring, Labels, Plan};

    /// States of the 3x4 board by distance: `tests/data/boards.json`, from an independent program.
    const THREE_BY_FOUR: [u64; 14] =
        [1, 17, 195, 2147, 22888, 227316, 2090826, 17077746, 106891431, 285831902, 66812623, 44418, 88, 2];

    fn space(rows: usize, columns: usize) -> (Space, Shape) {
        let board = Board::new(rows, columns).unwrap();
        let space =
            Space::new(board.puzzle(Metric::Multi), Metric::Multi, Labels::distinct(board.cells())).unwrap();
        let colouring: Colouring = Plan::new(&space).unwrap().colouring;
        let shape = Shape::of(&space, &colouring).unwrap();
        (space, shape)
    }

    fn after(depths: usize, seconds: impl Fn(usize) -> f64) -> Outlook {
        let (space, shape) = space(3, 4);
        let mut outlook = Outlook::new(&space, &shape, &[]);
        outlook.done = (0..depths).map(|depth| (THREE_BY_FOUR[depth] as f64, seconds(depth))).collect();
        outlook
    }

    #[test]
    fn remaining_depths_are_predicted_from_the_first_half() {
        for depths in [6, 7, 8, 9, 10] {
            let expected = after(depths, |_| 0.0).states().unwrap();
            let sum: f64 = expected.iter().sum();
            assert!((sum / 479_001_600.0 - 1.0).abs() < 1e-6, "{sum}");
            // All but a thousandth of the states are expected at depths that exist.
            let deep: f64 = expected.iter().skip(12).sum();
            assert!(deep < 479_001.0, "after {depths}: {expected:?}");
            let largest = expected.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1)).unwrap();
            assert_eq!(largest.0, 9, "after {depths}: {expected:?}");
        }
    }

    #[test]
    fn too_few_depths_give_no_prediction() {
        assert_eq!(after(2, |_| 1.0).states(), None);
        assert_eq!(after(2, |_| 1.0).time_left(0.5, 1.0, None), None);
        assert_eq!(after(8, |_| 0.0).time_left(0.0, 0.0, None), None);
    }

    /// If each depth takes as long as its pulls, so does the rest.
    #[test]
    fn time_is_proportional_to_pulls() {
        let whole = after(14, |_| 0.0);
        let pulls = whole.pulls(&whole.states().unwrap());
        let outlook = after(10, |depth| pulls[depth] * 2.0);
        let left = outlook.time_left(0.0, 0.0, None).unwrap();
        let truly: f64 = pulls[10..].iter().sum::<f64>() * 2.0;
        assert!(left.seconds < truly * 2.0 && left.seconds * 2.0 > truly, "{left:?}, not {truly}");
        let later = outlook.time_left(0.5, pulls[10], None).unwrap();
        assert!(later.seconds < left.seconds);
        assert_eq!(outlook.time_left(0.5, 1.0, Some(9)).unwrap().seconds, 0.0);
    }

    #[test]
    fn known_growth_is_used() {
        let (space, shape) = space(4, 4);
        let states = Outlook::new(&space, &shape, &[]).states().unwrap();
        assert_eq!(states.iter().sum::<f64>(), 20_922_789_888_000.0);
    }
}
