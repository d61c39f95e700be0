//! Rates over the last half minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Length of the time window of a rate.
const WINDOW: Duration = Duration::from_secs(30);
/// Smallest time between two samples in the window.
const SAMPLE: Duration = Duration::from_millis(500);
/// Smallest time over which a rate is computed.
const SHORTEST: Duration = Duration::from_millis(400);

/// A point in time.
pub trait Moment: Copy {
    /// Returns the time since `earlier`; zero if that is later than `self`.
    fn since(self, earlier: Self) -> Duration;
}

impl Moment for Instant {
    fn since(self, earlier: Self) -> Duration {
        self.saturating_duration_since(earlier)
    }
}

/// The rate at which a count grows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate<T> {
    /// The last count.
    count: u64,
    /// Earlier counts. They are lowered when something that was counted is lost.
    samples: VecDeque<(T, u64)>,
}

impl<T> Default for Rate<T> {
    fn default() -> Self {
        Self { count: 0, samples: VecDeque::new() }
    }
}

impl<T: Moment> Rate<T> {
    /// Adds a count. If the count is smaller than the last one, something that was counted is lost, and is
    /// counted again when it is found again.
    pub fn note(&mut self, at: T, count: u64) {
        if let Some(lost) = self.count.checked_sub(count) {
            self.samples.iter_mut().for_each(|(_, sample)| *sample = sample.saturating_sub(lost));
        }
        self.count = count;
        if self.samples.back().is_some_and(|&(then, _)| at.since(then) < SAMPLE) {
            return;
        }
        self.samples.push_back((at, count));
        // One older sample stays, so that the samples span the whole window.
        while self.samples.get(1).is_some_and(|&(then, _)| at.since(then) >= WINDOW) {
            self.samples.pop_front();
        }
    }

    /// Returns the growth of the count per second; `None` until the window is long enough.
    pub fn per_second(&self, now: T) -> Option<f64> {
        let &(then, count) = self.samples.front()?;
        let time = now.since(then);
        (time >= SHORTEST).then(|| self.count.saturating_sub(count) as f64 / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A time in milliseconds.
    #[derive(Clone, Copy)]
    struct Millis(u64);

    impl Moment for Millis {
        fn since(self, earlier: Self) -> Duration {
            Duration::from_millis(self.0 - earlier.0)
        }
    }

    #[test]
    fn rate_covers_the_last_half_minute() {
        let mut rate = Rate::default();
        assert_eq!(rate.per_second(Millis(0)), None);
        let after = |second: u64| Millis(second * 1000);
        // The count grows by ten a second for a minute, then by a hundred a second.
        for second in 0..=60 {
            rate.note(after(second), 10 * second);
        }
        assert_eq!(rate.per_second(after(60)), Some(10.0));
        for second in 61..=90 {
            rate.note(after(second), 600 + 100 * (second - 60));
        }
        assert_eq!(rate.per_second(after(90)), Some(100.0));
        assert!(rate.samples.len() <= 31, "what is older is forgotten");
        // Then the count does not grow.
        for second in 91..=120 {
            rate.note(after(second), 3600);
        }
        assert_eq!(rate.per_second(after(120)), Some(0.0));
    }

    /// A worker is lost with most of the states that it has found, which are then found again.
    #[test]
    fn lost_states_count_when_found_again() {
        let mut rate = Rate::default();
        for (second, count) in [(0, 0), (1, 100), (2, 200), (3, 50), (4, 150)] {
            rate.note(Millis(second * 1000), count);
        }
        assert_eq!(rate.per_second(Millis(4000)), Some(37.5));
    }

    #[test]
    fn counts_between_samples_are_included() {
        let mut rate = Rate::default();
        (0..=100).for_each(|step| rate.note(Millis(10 * step), step));
        assert_eq!(rate.per_second(Millis(1000)), Some(100.0));
        // No count has arrived since.
        assert_eq!(rate.per_second(Millis(2000)), Some(50.0));
    }
}
