//! Deletes or compresses the layers of a shared store that tasks no longer read. A thread of its own does so,
//! because that may take minutes, and workers whose heartbeats nobody hears count as lost.

use crossbeam_channel::{Receiver, Sender, unbounded};
use fathom_layer::LayerError;
use fathom_run::{Depth, Geometry, Keep};
use fathom_task::Store;
use std::sync::Arc;
use std::thread::Scope;

/// The thread, and the layers that it was given.
#[derive(Debug)]
pub(super) struct Retirer {
    layers: Sender<Depth>,
    ends: Receiver<Result<Depth, LayerError>>,
    underway: usize,
}

impl Retirer {
    /// Starts the thread, which ends when the retirer is dropped. Layers are compressed if `keep` keeps all,
    /// and deleted otherwise.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        store: Arc<Store<'scope>>,
        geometry: Geometry,
        keep: Keep,
    ) -> std::io::Result<Self> {
        let (layers, given) = unbounded::<Depth>();
        let (ended, ends) = unbounded();
        let retire = move |depth| match keep {
            Keep::Last | Keep::Two => store.remove(depth),
            Keep::All => store.archive(&geometry, depth).map(drop),
        };
        std::thread::Builder::new().name("retire".into()).spawn_scoped(scope, move || {
            for depth in given {
                let _ = ended.send(retire(depth).map(|()| depth));
            }
        })?;
        Ok(Self { layers, ends, underway: 0 })
    }

    /// Has a layer deleted or compressed.
    pub(super) fn retire(&mut self, depth: Depth) {
        self.underway += 1;
        // The thread lives as long as this sender.
        let _ = self.layers.send(depth);
    }

    /// Returns a layer that was deleted or compressed. Returns `None` if none is at present or, with
    /// `waits`, if none is under way.
    pub(super) fn next(&mut self, waits: bool) -> Option<Result<Depth, LayerError>> {
        if self.underway == 0 {
            return None;
        }
        let end = if waits { self.ends.recv().ok() } else { self.ends.try_recv().ok() };
        self.underway -= usize::from(end.is_some());
        end
    }
}
