//! The speed of a worker, in states a second.

use super::event::{Millis, Progress};
use std::collections::VecDeque;
use std::time::Duration;

/// Length of the time window of the rate.
const STRETCH: Duration = Duration::from_secs(30);
/// Smallest time between two samples in the window.
const SAMPLE: Duration = Duration::from_millis(500);

/// The states that a worker found over the last half minute.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecentRate {
    /// Number of states at the worker's present depth, as last reported.
    states: u64,
    /// Number of states found in all, at that depth and before.
    found: u64,
    samples: VecDeque<(Millis, u64)>,
}

impl RecentRate {
    /// Adds a progress report of the worker.
    pub fn note(&mut self, now: Millis, progress: &Progress) {
        // A worker counts from zero at each new depth.
        self.found += progress.states.checked_sub(self.states).unwrap_or(progress.states);
        self.states = progress.states;
        if self.samples.back().is_some_and(|(then, _)| now.since(*then) < SAMPLE) {
            return;
        }
        self.samples.push_back((now, self.found));
        // One older sample stays, so that the samples span the whole window.
        while self.samples.get(1).is_some_and(|(then, _)| now.since(*then) >= STRETCH) {
            self.samples.pop_front();
        }
    }

    /// Returns the rate over the window; 0 before the second report.
    pub fn states_per_second(&self, now: Millis) -> f64 {
        match self.samples.front() {
            // A single sample gives no rate.
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
