//! Checks files of a shared store that workers have reported as damaged. A worker that has lost its mount
//! sees no file at all, and one with bad memory sees other bytes; a file that all workers share is not
//! deleted on the report of one. A separate thread reads the files, because workers whose heartbeats are not
//! received count as lost. The report of a worker waits in the meantime, as if it were still on its way.

use crate::cluster::event::Event;
use crossbeam_channel::{Receiver, Sender, TryRecvError, unbounded};
use fathom_engine::run::Geometry;
use fathom_engine::task::Store;
use fathom_layer::LayerError;
use fathom_proto::{Failure, Outcome, StoredFile};
use std::sync::Arc;
use std::thread::{Builder, Scope};
use tracing::warn;

/// The thread, and the reports that wait for it.
#[derive(Debug)]
pub(super) struct Checker {
    reports: Sender<(Event, Vec<StoredFile>)>,
    checked: Receiver<Event>,
}

impl Checker {
    /// Starts the thread, which reads files of this store. When the checker is dropped, the thread ends.
    ///
    /// # Errors
    /// If the system cannot start a thread.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        store: Arc<Store<'scope>>,
        geometry: Geometry,
    ) -> std::io::Result<Self> {
        let (reports, given) = unbounded::<(Event, Vec<StoredFile>)>();
        let (ended, checked) = unbounded();
        Builder::new().name("check".into()).spawn_scoped(scope, move || {
            for (mut event, files) in given {
                files
                    .iter()
                    .filter(|file| !is_lost(file, check(&store, &geometry, file)))
                    .for_each(|file| keep(file, &mut event));
                // The loop has ended and no longer receives.
                let _ = ended.send(event);
            }
        })?;
        Ok(Self { reports, checked })
    }

    /// Checks the files that a report calls damaged.
    pub(super) fn check(&self, report: Event, files: Vec<StoredFile>) {
        // The thread lives as long as this sender.
        let _ = self.reports.send((report, files));
    }

    /// Returns a report whose files were checked, once; `None` if there is none at present.
    ///
    /// # Panics
    /// If the thread has panicked: reports would be lost silently.
    pub(super) fn next(&self) -> Option<Event> {
        match self.checked.try_recv() {
            Err(TryRecvError::Disconnected) => panic!("the thread that checks files has panicked"),
            checked => checked.ok(),
        }
    }
}

/// Checks that a file is intact, and is the reported one.
///
/// # Errors
/// If it is not, or cannot be read.
fn check(store: &Store<'_>, geometry: &Geometry, file: &StoredFile) -> Result<(), LayerError> {
    let StoredFile { task, digest } = *file;
    let file = store.open_shard(geometry, task.depth, task.shard)?;
    file.check_all()?;
    digest.map_or(Ok(()), |digest| file.check_digest(digest))
}

/// Returns whether a file is damaged or missing, as far as this process can tell.
fn is_lost(file: &StoredFile, checked: Result<(), LayerError>) -> bool {
    let (depth, shard) = (file.task.depth.0, file.task.shard.0);
    match checked {
        Ok(()) => {
            warn!(depth, shard, "file kept: reported as damaged by a worker, but intact");
            false
        }
        Err(error) if error.is_damage() || error.is_missing() => true,
        Err(error) => {
            warn!(depth, shard, %error, "file kept: reported as damaged by a worker, and cannot be read");
            false
        }
    }
}

/// Changes what a report says about a kept file to: its reporter cannot read it.
fn keep(file: &StoredFile, report: &mut Event) {
    let Event::Report { outcomes, .. } = report else { return };
    for Outcome { result, .. } in outcomes {
        if let Err(Failure::Damaged { file: named, message, .. }) = result
            && *named == file.task
        {
            let message = format!("file kept by the coordinator; the worker reported: {message}");
            *result = Err(Failure::Unreachable { file: file.task, addresses: Vec::new(), message });
        }
    }
}
