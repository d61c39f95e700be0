//! Workers, stores and peers that are not used for a while after failures.

use crate::cluster::event::Millis;
use std::time::Duration;

/// Pause before a failed task or copy is tried again.
pub const PAUSE: Duration = Duration::from_secs(1);
/// Backoff of a worker whose disk is full, or on which a task failed that others may be able to do.
pub const REST: Duration = Duration::from_secs(30);
/// Number of failures in a row after which a worker backs off.
pub const MAX_STRIKES: u32 = 5;
/// Maximum backoff.
pub const MAX_BACKOFF: Duration = Duration::from_secs(16 * 30);
/// Number of failures to reach a peer after which the pair of workers is marked.
pub const MAX_UNREACHED: u32 = 3;
/// Time for which a marked pair is not tried.
pub const RETRY: Duration = Duration::from_secs(60);

/// Returns whether a failure counts together with the last counted one: the tasks of many threads
/// fail together when a peer dies.
pub(super) fn is_of_one_burst(counted: Option<Millis>, now: Millis) -> bool {
    counted.is_some_and(|counted| now < counted.after(PAUSE))
}

/// A peer that a worker could not reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreached {
    /// Number of failures.
    failures: u32,
    /// When the last failure was counted.
    counted: Option<Millis>,
    /// The peer is not tried until this time.
    until: Millis,
    /// The last message of the worker about it.
    message: String,
}

impl Unreached {
    /// Returns whether the peer must not be tried now.
    pub fn is_marked(&self, now: Millis) -> bool {
        self.until > now
    }

    /// Returns the number of failures.
    #[cfg(test)]
    pub fn failures(&self) -> u32 {
        self.failures
    }

    /// Returns the last message of the worker about the peer.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Counts a failure, and marks the peer after several failures. Returns whether this failure did so.
    pub(super) fn count(&mut self, now: Millis, message: &str) -> bool {
        if is_of_one_burst(self.counted, now) {
            return false;
        }
        self.counted = Some(now);
        self.failures += 1;
        self.message = message.to_owned();
        let is_marked = self.failures >= MAX_UNREACHED;
        if is_marked {
            self.until = now.after(RETRY);
        }
        is_marked
    }

    /// Lets a marked peer be tried again after its time: a single further failure marks it again. Returns
    /// whether its time has come.
    pub(super) fn retry(&mut self, now: Millis) -> bool {
        let is_due = self.failures >= MAX_UNREACHED && !self.is_marked(now);
        if is_due {
            self.failures = MAX_UNREACHED - 1;
        }
        is_due
    }
}
