//! The time that kernel threads spend on each activity.
//!
//! A thread is always in one of six activities, so their seconds, summed over the threads, are the seconds of
//! a depth times the number of threads. Sources are read through memory maps: data that are read for the
//! first time are checked, which counts as `sources`; a page that has left memory since then comes back in
//! the middle of a pull, which counts as `kernel`. The time of threads that read ahead, write behind and make
//! files durable does not count, unless a kernel thread waits for them. If threads compute a shard
//! together, a thread waits for its turn to take a coset as `subtract`, and for its turn to hand one over as
//! `write`. Closing the file of the second layer, which unmaps it, counts as `subtract`.

use serde::Serialize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// The activity of a kernel thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Computing.
    Kernel,
    /// Reading the layer that moves lead from.
    Sources,
    /// Reading and subtracting the states that were visited before.
    Subtract,
    /// Encoding and writing.
    Write,
    /// Making a shard durable, or waiting until the previous one is.
    Sync,
}

/// The seconds spent on each activity, summed over the threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Waits {
    /// Computing.
    pub kernel: f64,
    /// Reading the layer that moves lead from.
    pub sources: f64,
    /// Reading and subtracting the states that were visited before.
    pub subtract: f64,
    /// Encoding and writing.
    pub write: f64,
    /// Making shards durable, or waiting until others are.
    pub sync: f64,
    /// Waiting for other threads, at the beginning and at the end of a depth.
    pub barrier: f64,
}

impl Waits {
    /// The names of the activities, in order.
    pub const CAUSES: [&str; 6] = ["kernel", "sources", "subtract", "write", "sync", "barrier"];

    /// Returns the seconds, in the order of [`Waits::CAUSES`].
    pub fn seconds(&self) -> [f64; 6] {
        [self.kernel, self.sources, self.subtract, self.write, self.sync, self.barrier]
    }
}

/// The time that all threads together have spent on each [`Cause`] at one depth.
#[derive(Debug, Default)]
pub struct Spent([AtomicU64; 5]);

impl Spent {
    /// Sets all times to zero, at the beginning of a depth.
    pub fn begin(&self) {
        self.0.iter().for_each(|nanoseconds| nanoseconds.store(0, Ordering::Relaxed));
    }

    /// Returns the times of a depth that took `took` on `threads` threads. The time that is not accounted for
    /// is `barrier`.
    pub fn waits(&self, threads: usize, took: Duration) -> Waits {
        let [kernel, sources, subtract, write, sync] =
            self.0.each_ref().map(|nanoseconds| nanoseconds.load(Ordering::Relaxed) as f64 / 1e9);
        let busy = kernel + sources + subtract + write + sync;
        let barrier = (threads as f64 * took.as_secs_f64() - busy).max(0.0);
        Waits { kernel, sources, subtract, write, sync, barrier }
    }
}

/// A stopwatch for the activities of one thread.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    last: Instant,
    spent: [Duration; 5],
}

impl Stopwatch {
    pub(crate) fn start() -> Self {
        Self { last: Instant::now(), spent: [Duration::ZERO; 5] }
    }

    /// Counts the time since the last lap, or since the start, as time of `cause`.
    #[inline]
    pub(crate) fn lap(&mut self, cause: Cause) {
        let now = Instant::now();
        self.spent[cause as usize] += now - self.last;
        self.last = now;
    }

    /// Adds all laps to the times of all threads.
    pub(crate) fn add_to(self, all: &Spent) {
        for (all, mine) in all.0.iter().zip(self.spent) {
            all.fetch_add(mine.as_nanos() as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unaccounted_time_is_barrier() {
        let spent = Spent::default();
        let mut watch = Stopwatch::start();
        watch.spent[Cause::Kernel as usize] = Duration::from_millis(1500);
        watch.spent[Cause::Sync as usize] = Duration::from_millis(500);
        watch.add_to(&spent);
        let waits = spent.waits(2, Duration::from_secs(2));
        assert_eq!(waits, Waits { kernel: 1.5, sync: 0.5, barrier: 2.0, ..Waits::default() });
        assert_eq!(waits.seconds().iter().sum::<f64>(), 4.0);
        spent.begin();
        assert_eq!(spent.waits(1, Duration::ZERO), Waits::default());
    }
}
