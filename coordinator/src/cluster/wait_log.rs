//! Log messages about a run that waits, for users who see only the log.

use crate::cluster::event::Millis;
use std::time::Duration;

/// The interval between checks.
const LOOK: Duration = Duration::from_secs(10);
/// A wait is logged after this time: shorter waits end without intervention.
const LONG: Duration = Duration::from_secs(60);
/// The time after which it is logged again.
const AGAIN: Duration = Duration::from_secs(60 * 60);

/// A change to log about a run that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It waits, for this reason.
    Waits(String),
    /// It no longer waits.
    GoesOn,
}

/// Since when a run waits, and when that was last logged.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    looked: Millis,
    since: Option<Millis>,
    told: Option<Millis>,
}

impl Waiting {
    /// Checks from time to time whether the run waits and why, and returns what to log.
    pub(super) fn look(&mut self, now: Millis, obstacle: impl FnOnce() -> Option<String>) -> Option<News> {
        if now.since(self.looked) < LOOK {
            return None;
        }
        self.looked = now;
        let Some(reason) = obstacle() else {
            self.since = None;
            return self.told.take().map(|_| News::GoesOn);
        };
        let since = *self.since.get_or_insert(now);
        let is_due = match self.told {
            None => now.since(since) >= LONG,
            Some(told) => now.since(told) >= AGAIN,
        };
        is_due.then(|| {
            self.told = Some(now);
            News::Waits(reason)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_waits_are_logged_then_hourly() {
        let mut waiting = Waiting::default();
        let mut told = Vec::new();
        for second in 0..10_000 {
            // One wait of half a minute, and one of two hours.
            let waits = (100..130).contains(&second) || (1000..8200).contains(&second);
            let obstacle = || waits.then(|| format!("since {second}"));
            told.extend(waiting.look(Millis(1000 * second), obstacle).map(|news| (second, news)));
        }
        let waits = |second| (second, News::Waits(format!("since {second}")));
        assert_eq!(told, [waits(1060), waits(4660), (8200, News::GoesOn)]);
    }
}
