//! Looks at files of a shared store that workers have called damaged. A worker that has lost its mount sees
//! no file at all, and one with bad memory sees other bytes; what all workers share is not deleted on the
//! word of one. A thread of its own reads the files, because workers whose heartbeats nobody hears count as
//! lost. The report of a worker waits meanwhile, as if it were still on its way.

use crate::cluster::event::Event;
use crossbeam_channel::{Receiver, Sender, unbounded};
use fathom_layer::LayerError;
use fathom_proto::{Failure, Outcome, StoredFile};
use std::thread::{Builder, Scope};
use tracing::warn;

/// The thread, and the reports that wait for it.
#[derive(Debug)]
pub(super) struct Checker {
    reports: Sender<(Event, Vec<StoredFile>)>,
    checked: Receiver<Event>,
}

impl Checker {
    /// Starts the thread, which calls `check` for each file. When the checker is dropped, the thread ends.
    ///
    /// # Errors
    /// If the system starts no thread.
    pub(super) fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        check: impl Fn(&StoredFile) -> Result<(), LayerError> + Send + 'scope,
    ) -> std::io::Result<Self> {
        let (reports, given) = unbounded::<(Event, Vec<StoredFile>)>();
        let (ended, checked) = unbounded();
        Builder::new().name("check".into()).spawn_scoped(scope, move || {
            for (mut event, files) in given {
                files
                    .iter()
                    .filter(|file| !is_lost(file, check(file)))
                    .for_each(|file| keep(file, &mut event));
                // The loop that does not listen any more has ended.
                let _ = ended.send(event);
            }
        })?;
        Ok(Self { reports, checked })
    }

    /// Has the files checked that a report calls damaged.
    pub(super) fn check(&self, report: Event, files: Vec<StoredFile>) {
        // The thread lives as long as this sender.
        let _ = self.reports.send((report, files));
    }

    /// Returns a report whose files were checked, once; `None` if there is none at present.
    pub(super) fn next(&self) -> Option<Event> {
        self.checked.try_recv().ok()
    }
}

/// Returns whether a file is damaged or missing, as far as this process can see.
fn is_lost(file: &StoredFile, checked: Result<(), LayerError>) -> bool {
    let (depth, shard) = (file.task.depth.0, file.task.shard.0);
    match checked {
        Ok(()) => {
            warn!(depth, shard, "a worker says that a file is damaged, and it is whole: it stays");
            false
        }
        Err(error) if error.is_damage() || error.is_missing() => true,
        Err(error) => {
            warn!(depth, shard, %error, "a worker says that a file is damaged, and it cannot be read: it stays");
            false
        }
    }
}

/// Changes what a report says of a file that stays: its reporter cannot read it.
fn keep(file: &StoredFile, report: &mut Event) {
    let Event::Report { outcomes, .. } = report else { return };
    for Outcome { result, .. } in outcomes {
        if let Err(Failure::Damaged { file: named, message, .. }) = result
            && *named == file.task
        {
            let message = format!("the worker cannot read it, and the coordinator keeps it: {message}");
            *result = Err(Failure::Unreachable { file: file.task, addresses: Vec::new(), message });
        }
    }
}
