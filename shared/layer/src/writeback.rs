//! Write-behind: a thread writes one buffer of a file while the next one is filled.

use crate::disk::DiskFile;
use std::io;
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// The number of buffers: one that is filled, one that is written, and one that waits for either.
pub const BUFFERS: usize = 3;

/// A file that is written by one thread at a time.
pub(crate) type SharedFile = Arc<Mutex<Box<dyn DiskFile>>>;

/// Writes at an offset.
pub(crate) fn write_at(file: &SharedFile, bytes: &[u8], offset: u64) -> io::Result<()> {
    // It does not matter whether a write that panicked has written anything: its writer does not finish.
    file.lock().unwrap_or_else(PoisonError::into_inner).write_at(bytes, offset)
}

/// A thread that writes to a file. It ends at the first error.
#[derive(Debug)]
pub(crate) struct WriteBack {
    filled: SyncSender<(Vec<u8>, u64)>,
    written: Receiver<Vec<u8>>,
    thread: JoinHandle<io::Result<()>>,
}

impl WriteBack {
    /// Starts a thread for a file.
    ///
    /// # Errors
    /// If the thread cannot be spawned.
    pub(crate) fn start(file: &SharedFile) -> io::Result<Self> {
        let file = Arc::clone(file);
        let (filled, buffers) = sync_channel::<(Vec<u8>, u64)>(1);
        let (outbox, written) = channel();
        let thread = Builder::new().name("write-behind".into()).spawn(move || {
            for (mut buffer, offset) in buffers {
                write_at(&file, &buffer, offset)?;
                buffer.clear();
                let _ = outbox.send(buffer);
            }
            Ok(())
        })?;
        Ok(Self { filled, written, thread })
    }

    /// Hands over a buffer, and waits if two others are not written yet. Returns a buffer that is empty.
    /// Returns `None` if the thread has ended; [`WriteBack::end`] returns the reason.
    pub(crate) fn write(&self, buffer: Vec<u8>, offset: u64) -> Option<Vec<u8>> {
        self.filled.send((buffer, offset)).ok()?;
        Some(self.written.try_recv().unwrap_or_default())
    }

    /// Waits until everything is written, and ends the thread.
    ///
    /// # Errors
    /// The error of the write that failed.
    pub(crate) fn end(self) -> io::Result<()> {
        let Self { filled, written: _written, thread } = self;
        drop(filled);
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the writer thread panicked")))
    }
}
