//! Deletes or compresses the layers of a shared store that tasks no longer read. A separate thread does this,
//! because it may take minutes, and workers whose heartbeats are not received count as lost.

use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};
use fathom_engine::run::Depth;
use fathom_layer::LayerError;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope};

/// The thread, and its queue of layers.
#[derive(Debug)]
pub(super) struct Retirer {
    layers: Sender<Depth>,
    ends: Receiver<Result<Depth, LayerError>>,
    underway: usize,
    is_over: Arc<AtomicBool>,
}

impl Retirer {
    /// Starts the thread, which calls `retire` for each layer. When the retirer is dropped, the thread ends
    /// after its current layer.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        retire: impl Fn(Depth) -> Result<(), LayerError> + Send + 'scope,
    ) -> std::io::Result<Self> {
        let (layers, given) = unbounded::<Depth>();
        let (ended, ends) = unbounded();
        let is_over = Arc::<AtomicBool>::default();
        let over = Arc::clone(&is_over);
        Builder::new().name("retire".into()).spawn_scoped(scope, move || {
            for depth in given.into_iter().take_while(|_| !over.load(Ordering::Relaxed)) {
                let _ = ended.send(retire(depth).map(|()| depth));
            }
        })?;
        Ok(Self { layers, ends, underway: 0, is_over })
    }

    /// Returns whether more than one layer waits, so that disks could run full if more were computed.
    pub(super) fn is_behind(&self) -> bool {
        self.underway > 1
    }

    /// Queues a layer to be retired.
    pub(super) fn retire(&mut self, depth: Depth) {
        self.underway += 1;
        // The thread lives as long as this sender.
        let _ = self.layers.send(depth);
    }

    /// Returns a layer that was retired, once. Returns `None` if there is none at present or, with `waits`,
    /// if none is under way.
    pub(super) fn next(&mut self, waits: bool) -> Option<Result<Depth, LayerError>> {
        if self.underway == 0 {
            return None;
        }
        let end = match waits {
            true => self.ends.recv().map_err(|_| TryRecvError::Disconnected),
            false => self.ends.try_recv(),
        };
        assert!(
            !matches!(end, Err(TryRecvError::Disconnected)),
            "the thread that retires layers has panicked"
        );
        let end = end.ok();
        self.underway -= usize::from(end.is_some());
        end
    }
}

impl Drop for Retirer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicUsize;

    #[test]
    fn slow_retirement_does_not_block() {
        let (goes_on, wait) = unbounded();
        let begun = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            let retire = |depth| {
                begun.fetch_add(1, Ordering::Relaxed);
                match wait.recv() {
                    Ok(true) => Ok(()),
                    _ => Err(LayerError::Store { path: "store".into(), reason: format!("depth {depth}") }),
                }
            };
            let mut retirer = Retirer::start(scope, retire).unwrap();
            assert!(retirer.next(true).is_none());
            retirer.retire(Depth(0));
            assert!(!retirer.is_behind());
            (1..4).for_each(|depth| retirer.retire(Depth(depth)));
            assert!(retirer.next(false).is_none() && retirer.is_behind());
            goes_on.send(true).unwrap();
            assert_eq!(retirer.next(true).unwrap().unwrap(), Depth(0));
            goes_on.send(false).unwrap();
            assert!(retirer.next(true).unwrap().is_err());
            goes_on.send(true).unwrap();
            assert_eq!(retirer.next(true).unwrap().unwrap(), Depth(2));
            assert!(!retirer.is_behind());
            goes_on.send(true).unwrap();
            assert_eq!(retirer.next(true).unwrap().unwrap(), Depth(3));
            assert!(retirer.next(true).is_none());
            (4..6).for_each(|depth| retirer.retire(Depth(depth)));
            drop(retirer);
            (4..6).for_each(|_| goes_on.send(true).unwrap());
        });
        // The last one waited when the retirer was dropped.
        assert!(begun.into_inner() < 6);
    }
}
