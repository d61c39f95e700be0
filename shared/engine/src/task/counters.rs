//! Counters of the work that the threads of a process have done, to show progress.

use crate::task::waits::Spent;
use std::sync::atomic::{AtomicU64, Ordering};

/// The work that the threads have done on the current layer, to show progress.
#[derive(Debug, Default)]
pub struct Counters {
    /// The number of cosets done.
    pub cosets: AtomicU64,
    /// The number of states found.
    pub states: AtomicU64,
    /// The number of states found in earlier layers.
    earlier_states: AtomicU64,
    /// The number of cosets done in audits, of all layers.
    pub audited_cosets: AtomicU64,
    /// The time that the threads spent on each activity.
    pub spent: Spent,
}

impl Counters {
    /// Sets the counters of a layer to zero, at its beginning.
    pub fn begin(&self) {
        self.cosets.store(0, Ordering::Relaxed);
        self.earlier_states.fetch_add(self.states.swap(0, Ordering::Relaxed), Ordering::Relaxed);
        self.spent.begin();
    }

    /// Returns the number of states found in all layers. While a layer starts, its number may be briefly
    /// wrong.
    pub fn states_of_all_layers(&self) -> u64 {
        self.earlier_states.load(Ordering::Relaxed) + self.states.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_earlier_layers_are_added() {
        let counters = Counters::default();
        for (found, of_all) in [(3, 3), (5, 8), (0, 8)] {
            counters.begin();
            counters.states.fetch_add(found, Ordering::Relaxed);
            assert_eq!(counters.states.load(Ordering::Relaxed), found);
            assert_eq!(counters.states_of_all_layers(), of_all);
        }
    }
}
