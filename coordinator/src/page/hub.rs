//! Between the one who looks at the run and the many who read the page.

use super::snapshot::Snapshot;
use super::told::PublishedFacts;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// Changes that a slow reader may be behind. Further behind, it is sent away, and gets everything when it
/// comes again.
const MOST_BEHIND: usize = 32;

/// What readers are told, and the newest snapshot for those who only ask once.
#[derive(Debug)]
pub(super) struct Hub {
    kept: Mutex<Kept>,
    changes: broadcast::Sender<Arc<str>>,
}

#[derive(Debug, Default)]
struct Kept {
    told: PublishedFacts,
    newest: Arc<Snapshot>,
}

impl Hub {
    pub(super) fn new() -> Self {
        Self { kept: Mutex::default(), changes: broadcast::channel(MOST_BEHIND).0 }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        // What a panic leaves behind is told anew with the next change.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells all readers what has changed.
    pub(super) fn publish(&self, snapshot: Snapshot) {
        let mut kept = self.kept();
        kept.newest = Arc::new(Snapshot { events: Vec::new(), ..snapshot.clone() });
        if let Some(change) = kept.told.change(snapshot) {
            // Nobody may be reading.
            let _ = self.changes.send(change.into());
        }
    }

    /// All that is known, and what changes from then on.
    pub(super) fn read(&self) -> (String, broadcast::Receiver<Arc<str>>) {
        // Under the lock, lest a change fall between the two.
        let kept = self.kept();
        (kept.told.all(), self.changes.subscribe())
    }

    /// The newest snapshot, without events.
    pub(super) fn newest(&self) -> Arc<Snapshot> {
        Arc::clone(&self.kept().newest)
    }
}
