//! Threads that delete files while a search goes on.
//!
//! Deleting a large file takes milliseconds, because its pages in memory are freed one by one. With many
//! kernel threads a shard is made in less, so the thread that submits tasks does not delete files.

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};
use fathom_command::failpoint;
use fathom_layer::LayerError;
use fathom_run::Task;
use fathom_task::Store;
use std::io;
use std::thread::{Builder, Scope};

/// One thread deletes files for so many kernel threads.
const KERNEL_THREADS: usize = 8;

/// Threads that delete files until the removers are dropped.
#[derive(Debug)]
pub(crate) struct Removers {
    files: Sender<Task>,
    ended: Receiver<Result<(), LayerError>>,
    /// The number of files that were given to the threads, less those whose end is known.
    open: usize,
}

impl Removers {
    /// Starts threads beside `threads` kernel threads. They delete files of `store`, and end when the
    /// removers are dropped and the files given before are deleted; the scope waits for them, and passes
    /// their panics on.
    ///
    /// # Errors
    /// If a thread cannot be spawned.
    pub(crate) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        store: &'env Store<'env>,
    ) -> io::Result<Self> {
        // No file waits: what is on the disk until it is deleted is limited.
        let (files, inbox) = bounded::<Task>(0);
        let (outbox, ended) = unbounded();
        for number in 0..Self::beside(threads) {
            let (inbox, outbox) = (inbox.clone(), outbox.clone());
            Builder::new().name(format!("remover-{number}")).spawn_scoped(scope, move || {
                for file in inbox {
                    failpoint::point("deleting");
                    let removed = store.discard(file);
                    failpoint::point("deleted");
                    // Nobody waits for the end any more if the search has failed.
                    let _ = outbox.send(removed);
                }
            })?;
        }
        Ok(Self { files, ended, open: 0 })
    }

    /// Returns the number of threads beside `threads` kernel threads. Each deletes one file at a time.
    pub(crate) fn beside(threads: usize) -> usize {
        threads.div_ceil(KERNEL_THREADS)
    }

    /// Has a file deleted. Waits for a thread that has nothing to do.
    ///
    /// # Errors
    /// If a file given earlier could not be deleted.
    pub(crate) fn remove(&mut self, file: Task) -> Result<(), LayerError> {
        // Without threads, all of them have panicked.
        if self.files.send(file).is_ok() {
            self.open += 1;
        }
        while let Ok(removed) = self.ended.try_recv() {
            self.open -= 1;
            removed?;
        }
        Ok(())
    }

    /// Waits until all files are deleted.
    ///
    /// # Errors
    /// If a file could not be deleted.
    pub(crate) fn finish(&mut self) -> Result<(), LayerError> {
        while self.open > 0
            && let Ok(removed) = self.ended.recv()
        {
            self.open -= 1;
            removed?;
        }
        Ok(())
    }
}
