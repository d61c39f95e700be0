//! How fast a worker finds states.

use super::event::{Millis, Progress};
use std::collections::VecDeque;
use std::time::Duration;

/// The rate is that of this last stretch of time.
const STRETCH: Duration = Duration::from_secs(30);
/// Between two samples of it.
const SAMPLE: Duration = Duration::from_millis(500);

/// What a worker has found over the last half minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentRate {
    /// States at the depth that it is at, as it said last.
    states: u64,
    /// All that it has found, at that depth and before.
    found: u64,
    samples: VecDeque<(Millis, u64)>,
}

impl RecentRate {
    /// Takes up what a worker says of itself.
    pub fn note(&mut self, now: Millis, progress: &Progress) {
        // With a new depth a worker counts from zero.
        self.found += progress.states.checked_sub(self.states).unwrap_or(progress.states);
        self.states = progress.states;
        if self.samples.back().is_some_and(|(then, _)| now.since(*then) < SAMPLE) {
            return;
        }
        self.samples.push_back((now, self.found));
        // One sample stays that is older, so that the stretch is whole.
        while self.samples.get(1).is_some_and(|(then, _)| now.since(*then) >= STRETCH) {
            self.samples.pop_front();
        }
    }

    /// States a second.
    pub fn states_per_second(&self, now: Millis) -> f64 {
        match self.samples.front() {
            // Nobody has a rate from the first word on.
            Some((then, found)) if now > *then => {
                (self.found - found) as f64 / now.since(*then).as_secs_f64().max(SAMPLE.as_secs_f64())
            }
            _ => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(states: u64) -> Progress {
        Progress { states, ..Progress::default() }
    }

    #[test]
    fn the_rate_is_that_of_the_last_half_minute() {
        let mut rate = RecentRate::default();
        assert_eq!(rate.states_per_second(Millis(0)), 0.0);
        // A thousand states a second for a minute, with a new depth in between.
        for second in 0..=60_u64 {
            let of_depth = if second < 40 { second } else { second - 40 };
            rate.note(Millis(second * 1000), &said(of_depth * 1000));
        }
        let found = rate.states_per_second(Millis(60_000));
        assert!((found - 1000.0).abs() < 50.0, "{found}");
        // Then nothing more.
        for second in 61..=95 {
            rate.note(Millis(second * 1000), &said(20_000));
        }
        assert_eq!(rate.states_per_second(Millis(95_000)), 0.0);
    }
}
