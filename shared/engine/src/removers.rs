//! Threads that delete files while a search continues.
//!
//! Deleting a large file takes milliseconds, because its pages in memory are freed one by one. With many
//! kernel threads a shard is computed in less, so the thread that submits tasks does not delete files itself.
//! With few kernel threads it does: it then has the time, and the disk holds one file less meanwhile.

use crate::run::Task;
use crate::task::Store;
use crossbeam_channel::{Receiver, SendError, Sender, bounded, unbounded};
use fathom_command::failpoint;
use fathom_layer::LayerError;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::{Builder, Scope};

/// The number of kernel threads per deleting thread. With fewer kernel threads there is none.
const KERNEL_THREADS: usize = 8;

/// Threads that delete files until the removers are dropped.
#[derive(Debug)]
pub(crate) struct Removers<'env> {
    store: &'env Store<'env>,
    files: Sender<Task>,
    ended: Receiver<Result<(), LayerError>>,
    /// The number of files that were given to the threads and whose deletion is not confirmed yet.
    pending: usize,
}

/// Deletes a file. A panic must not leave the search waiting for the result.
fn delete(store: &Store<'_>, file: Task) -> Result<(), LayerError> {
    failpoint::point("deleting");
    let deleted = catch_unwind(AssertUnwindSafe(|| store.discard(file)));
    failpoint::point("deleted");
    deleted.unwrap_or_else(|_| {
        let source = io::Error::other("the thread panicked");
        Err(LayerError::Io { action: "delete", path: store.path(file.depth, file.shard), source })
    })
}

impl<'env> Removers<'env> {
    /// Starts threads beside `threads` kernel threads, as many as can be spawned. They delete files of
    /// `store`, and end when the removers are dropped and the files given before are deleted; the scope waits
    /// for them.
    pub(crate) fn start<'scope>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        store: &'env Store<'env>,
    ) -> Self {
        // A thread takes a file only when it can delete it immediately, because files that wait take disk
        // space.
        let (files, inbox) = bounded::<Task>(0);
        let (outbox, ended) = unbounded();
        for number in 0..Self::beside(threads) {
            let (inbox, outbox) = (inbox.clone(), outbox.clone());
            let started = Builder::new().name(format!("remover-{number}")).spawn_scoped(scope, move || {
                // If the search has failed, nobody receives the results any more.
                inbox.into_iter().for_each(|file| drop(outbox.send(delete(store, file))));
            });
            if started.is_err() {
                break;
            }
        }
        Self { store, files, ended, pending: 0 }
    }

    /// Returns the number of threads beside `threads` kernel threads. Each deletes one file at a time.
    pub(crate) fn beside(threads: usize) -> usize {
        threads / KERNEL_THREADS
    }

    /// Has a file deleted. Waits for an idle thread, or deletes the file itself if there are
    /// no threads.
    ///
    /// # Errors
    /// If this file, or one given earlier, could not be deleted.
    pub(crate) fn remove(&mut self, file: Task) -> Result<(), LayerError> {
        match self.files.send(file) {
            Ok(()) => self.pending += 1,
            // There are no threads.
            Err(SendError(file)) => delete(self.store, file)?,
        }
        while let Ok(deleted) = self.ended.try_recv() {
            self.pending -= 1;
            deleted?;
        }
        Ok(())
    }

    /// Waits until all files are deleted.
    ///
    /// # Errors
    /// If a file could not be deleted.
    pub(crate) fn finish(&mut self) -> Result<(), LayerError> {
        while self.pending > 0
            && let Ok(deleted) = self.ended.recv()
        {
            self.pending -= 1;
            deleted?;
        }
        Ok(())
    }
}
