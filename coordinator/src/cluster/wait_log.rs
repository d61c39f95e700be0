//! What the log says of a run that waits, so that also those who read nothing else learn of it.

use crate::cluster::event::Millis;
use std::time::Duration;

/// The time between two looks.
const LOOK: Duration = Duration::from_secs(10);
/// A run that waits for so long is told of: shorter waits end by themselves.
const LONG: Duration = Duration::from_secs(60);
/// The time after which it is told again.
const AGAIN: Duration = Duration::from_secs(60 * 60);

/// News of a run that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// It waits, for this reason.
    Waits(String),
    /// It does not wait any more.
    GoesOn,
}

/// Since when a run waits, and when that was told.
#[derive(Clone, Debug, Default)]
pub(super) struct Waiting {
    looked: Millis,
    since: Option<Millis>,
    told: Option<Millis>,
}

impl Waiting {
    /// Looks from time to time what the run waits for, if it waits, and returns what the log has to say.
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
    fn long_waits_are_told_and_then_each_hour() {
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
