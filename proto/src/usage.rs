//! The resources that a worker's process uses, and the latencies of its fetches.

use crate::v1;
use std::time::Duration;

/// The resources that a worker's process uses on its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Bytes of anonymous memory.
    pub memory_bytes: u64,
    /// The memory limit in bytes, which includes layers in the page cache.
    pub memory_limit_bytes: u64,
    /// Bytes read from disks.
    pub read_bytes: u64,
    /// Bytes written to disks.
    pub written_bytes: u64,
    /// Maximum size in bytes of the files in its store, if there is a limit.
    pub disk_limit_bytes: Option<u64>,
    /// Latencies of its requests to peers.
    pub fetches: Latencies,
    /// Bytes of cosets from peers that it has kept in memory.
    pub kept_bytes: u64,
    /// Bytes of cosets from peers that it has written to disk, because they did not fit in memory.
    pub spilled_bytes: u64,
}

/// A histogram of latencies, with the classes of a Prometheus histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Latencies {
    /// Number of latencies in each class of [`Latencies::BOUNDS`], and in a last class of longer ones.
    pub counts: [u64; Latencies::BOUNDS.len() + 1],
    /// Sum of all latencies, in microseconds.
    pub micros: u64,
}

impl Latencies {
    /// The upper bounds of the classes, in seconds.
    pub const BOUNDS: [f64; 9] = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0];

    /// Adds a latency to its class.
    pub fn note(&mut self, took: Duration) {
        let seconds = took.as_secs_f64();
        let class = Self::BOUNDS.iter().position(|&bound| seconds <= bound).unwrap_or(Self::BOUNDS.len());
        self.counts[class] += 1;
        self.micros = self.micros.saturating_add(took.as_micros() as u64);
    }

    /// Returns the smallest class bound, in seconds, within which the share `share` of all latencies is;
    /// `None` if that share exceeds all bounds, or there are no latencies.
    pub fn within(&self, share: f64) -> Option<f64> {
        let all: u64 = self.counts.iter().sum();
        let sums = self.counts.iter().scan(0, |sum, count| {
            *sum += count;
            Some(*sum)
        });
        let reached = sums.zip(Self::BOUNDS).find(|(sum, _)| *sum as f64 >= share * all as f64);
        reached.filter(|_| all > 0).map(|(_, bound)| bound)
    }

    /// Adds the difference between two readings of another histogram. If a number has decreased, that
    /// histogram was reset, and all of `now` is added.
    pub fn add_since(&mut self, before: &Self, now: &Self) {
        let is_anew =
            now.micros < before.micros || now.counts.iter().zip(before.counts).any(|(now, b)| *now < b);
        let before = if is_anew { Self::default() } else { *before };
        for (sum, (now, before)) in self.counts.iter_mut().zip(now.counts.iter().zip(before.counts)) {
            *sum = sum.saturating_add(now - before);
        }
        self.micros = self.micros.saturating_add(now.micros - before.micros);
    }
}

impl From<v1::Usage> for Usage {
    /// Missing classes count as zero, and surplus classes are ignored.
    fn from(usage: v1::Usage) -> Self {
        let mut fetches = Latencies { micros: usage.fetch_micros, ..Latencies::default() };
        fetches.counts.iter_mut().zip(usage.fetches).for_each(|(count, said)| *count = said);
        Self {
            memory_bytes: usage.memory_bytes,
            memory_limit_bytes: usage.memory_limit_bytes,
            read_bytes: usage.read_bytes,
            written_bytes: usage.written_bytes,
            disk_limit_bytes: usage.disk_limit_bytes,
            fetches,
            kept_bytes: usage.kept_bytes,
            spilled_bytes: usage.spilled_bytes,
        }
    }
}

impl From<Usage> for v1::Usage {
    fn from(usage: Usage) -> Self {
        Self {
            memory_bytes: usage.memory_bytes,
            memory_limit_bytes: usage.memory_limit_bytes,
            read_bytes: usage.read_bytes,
            written_bytes: usage.written_bytes,
            disk_limit_bytes: usage.disk_limit_bytes,
            fetches: usage.fetches.counts.into(),
            fetch_micros: usage.fetches.micros,
            kept_bytes: usage.kept_bytes,
            spilled_bytes: usage.spilled_bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn restarted_histogram_is_added_completely() {
        let noted = |times: &[u64]| {
            let mut latencies = Latencies::default();
            times.iter().for_each(|&millis| latencies.note(Duration::from_millis(millis)));
            latencies
        };
        let mut sum = Latencies::default();
        sum.add_since(&Latencies::default(), &noted(&[2, 20]));
        sum.add_since(&noted(&[2, 20]), &noted(&[2, 20, 20_000]));
        assert_eq!(sum, noted(&[2, 20, 20_000]));
        // A sample of a new process of the worker.
        sum.add_since(&noted(&[2, 20, 20_000]), &noted(&[5]));
        assert_eq!(sum, noted(&[2, 20, 20_000, 5]));
    }

    #[test]
    fn shares_end_at_class_bounds() {
        let mut latencies = Latencies::default();
        assert_eq!(latencies.within(0.5), None);
        for millis in [1, 2, 2, 20_000] {
            latencies.note(Duration::from_millis(millis));
        }
        assert_eq!(
            [0.25, 0.5, 0.75, 0.99].map(|share| latencies.within(share)),
            [Some(0.001), Some(0.003), Some(0.003), None]
        );
    }

    #[test]
    fn usage_survives_conversion() {
        let mut fetches = Latencies::default();
        fetches.note(Duration::from_secs(11));
        let usage = Usage {
            memory_bytes: 1,
            memory_limit_bytes: 4,
            read_bytes: 2,
            written_bytes: 3,
            disk_limit_bytes: Some(0),
            fetches,
            kept_bytes: 5,
            spilled_bytes: 6,
        };
        assert_eq!(Usage::from(v1::Usage::from(usage.clone())), usage);
        // Lists of a length that no worker sends.
        for length in [0, 100] {
            let told = v1::Usage { fetches: vec![u64::MAX; length], ..v1::Usage::default() };
            let mut sum = Latencies::default();
            for _ in 0..2 {
                sum.add_since(&Latencies::default(), &Usage::from(told.clone()).fetches);
            }
            assert_eq!(sum.counts[0], if length == 0 { 0 } else { u64::MAX });
        }
    }
}
