//! Passes snapshots from the one task that observes the run to the many readers of the page.

use crate::deltas::PublishedFacts;
use crate::snapshot::Snapshot;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// Maximum number of changes that a reader may lag behind. A slower reader is disconnected, and receives
/// everything when it connects again.
const MAX_BEHIND: usize = 32;

/// What readers have received, and the newest snapshot for callers that ask only once.
#[derive(Debug)]
pub(crate) struct Hub {
    kept: Mutex<Kept>,
    changes: broadcast::Sender<Arc<str>>,
}

#[derive(Debug, Default)]
struct Kept {
    told: PublishedFacts,
    newest: Arc<Snapshot>,
}

impl Hub {
    pub(crate) fn new() -> Self {
        Self { kept: Mutex::default(), changes: broadcast::channel(MAX_BEHIND).0 }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // The state remains usable after a panic, because the next snapshot updates it.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sends the changes to all readers.
    pub(crate) fn publish(&self, snapshot: Snapshot) {
        let mut kept = self.kept();
        kept.newest = Arc::new(Snapshot { events: Vec::new(), ..snapshot.clone() });
        if let Some(change) = kept.told.change(snapshot) {
            // Sending fails only if there are no readers.
            let _ = self.changes.send(change.into());
        }
    }

    /// Returns everything that readers have received, and a receiver of the changes from then on.
    pub(crate) fn read(&self) -> (String, broadcast::Receiver<Arc<str>>) {
        // Both are taken under the lock, so that no change is missed between them.
        let kept = self.kept();
        (kept.told.all(), self.changes.subscribe())
    }

    /// Returns the newest snapshot, without events.
    pub(crate) fn newest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.kept().newest)
    }
}
