//! A limit on the log lines about refused callers, so that callers cannot fill the log.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Maximum number of lines in a [`PERIOD`].
const MOST: u32 = 300;
/// The time over which lines are counted.
const PERIOD: Duration = Duration::from_secs(60);

/// Counts the log lines about refusals.
#[derive(Debug, Default)]
pub(super) struct Refusals(Mutex<Option<Period>>);

#[derive(Debug)]
struct Period {
    began: Instant,
    lines: u32,
    left_out: u64,
}

impl Refusals {
    /// Returns the number of lines omitted before this one, or `None` if this line must be omitted too.
    pub(super) fn line(&self) -> Option<u64> {
        self.line_at(Instant::now())
    }

    fn line_at(&self, now: Instant) -> Option<u64> {
        let mut period = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let left_out = match &mut *period {
            Some(period) if now.duration_since(period.began) < PERIOD => {
                if period.lines >= MOST {
                    period.left_out += 1;
                    return None;
                }
                period.lines += 1;
                return Some(0);
            }
            Some(period) => period.left_out,
            None => 0,
        };
        *period = Some(Period { began: now, lines: 1, left_out: 0 });
        Some(left_out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_limited_and_omitted_ones_counted() {
        let refusals = Refusals::default();
        let begin = Instant::now();
        let lines: Vec<Option<u64>> = (0..1000).map(|_| refusals.line_at(begin)).collect();
        assert_eq!(lines.iter().flatten().count(), MOST as usize);
        assert_eq!(refusals.line_at(begin + PERIOD), Some(1000 - u64::from(MOST)));
        assert_eq!(refusals.line_at(begin + PERIOD), Some(0));
    }
}
