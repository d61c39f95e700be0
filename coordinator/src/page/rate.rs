//! Rates over the last half minute.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// The time over which a rate is taken.
const WINDOW: Duration = Duration::from_secs(30);
/// The shortest time over which a rate is computed.
const SHORTEST: Duration = Duration::from_millis(400);

/// The rate at which a count grows.
#[derive(Clone, Debug, Default)]
pub(super) struct Rate(VecDeque<(Instant, f64)>);

impl Rate {
    /// Adds a count. If the count has become smaller, the rate begins anew.
    pub(super) fn note(&mut self, at: Instant, count: f64) {
        if self.0.back().is_some_and(|&(_, last)| count < last) {
            self.0.clear();
        }
        self.0.push_back((at, count));
        // One older count stays, so that the counts span the whole window.
        while self.0.get(1).is_some_and(|&(second, _)| at.duration_since(second) >= WINDOW) {
            self.0.pop_front();
        }
    }

    /// Returns the growth of the count per second; `None` until the counts span [`SHORTEST`].
    pub(super) fn per_second(&self) -> Option<f64> {
        let (&(from, first), &(to, last)) = (self.0.front()?, self.0.back()?);
        let time = to.duration_since(from);
        (time >= SHORTEST).then(|| (last - first) / time.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_of_the_last_half_minute() {
        let (begun, mut rate) = (Instant::now(), Rate::default());
        assert_eq!(rate.per_second(), None);
        let after = |seconds| begun + Duration::from_secs(seconds);
        // The count grows by ten a second for a minute, then by a hundred a second.
        for second in 0..=60 {
            rate.note(after(second), 10.0 * second as f64);
        }
        assert_eq!(rate.per_second(), Some(10.0));
        for second in 61..=90 {
            rate.note(after(second), 600.0 + 100.0 * (second - 60) as f64);
        }
        assert_eq!(rate.per_second(), Some(100.0));
        assert!(rate.0.len() <= 31, "what is older is forgotten");
        rate.note(after(91), 0.0);
        assert_eq!(rate.per_second(), None, "a new depth begins anew");
        rate.note(after(92), 7.0);
        assert_eq!(rate.per_second(), Some(7.0));
    }
}
