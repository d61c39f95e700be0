//! Reading a shard ahead of its use, past the page cache.
//!
//! The layer that is subtracted is read once, in order. A thread reads pieces of a few cosets into buffers,
//! at most two pieces ahead of the one in use, so that the search waits for the disk only if the disk is too
//! slow. Whatever cannot be read in this way is read through the map of the file.

use crate::direct_io::{ALIGNED_BYTES, ReadOnce};
use crate::disk::Disk;
use crate::encoding::Encoding;
use crate::error::LayerError;
use crate::file::{LayerFile, Stored};
use crate::format::SLACK_BYTES;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::{Builder, JoinHandle};

/// The number of buffers: one in use, one that is read, and one that waits for either.
pub const BUFFERS: usize = 3;

/// The largest gap between two cosets that is read with them rather than skipped: a disk reads it in the time
/// of starting another request.
const GAP_BYTES: usize = 1 << 16;

/// Reads the cosets of a shard in order; each can be requested repeatedly until a later one is requested.
#[derive(Debug)]
pub struct ReadAhead {
    file: Arc<LayerFile>,
    /// The piece in use.
    piece: Option<Piece>,
    /// The coset of that piece that was checked last.
    checked: Option<u32>,
    /// Buffers that were used. Dropped, like the other end, before the thread is joined.
    used: Sender<Buffer>,
    pieces: Receiver<Piece>,
    _thread: Joined,
}

/// Cosets whose data are contiguous in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Extent {
    /// The first coset and the end of the last one, numbered in the shard.
    cosets: Range<u32>,
    /// The range of their data in the file.
    bytes: Range<usize>,
}

/// Cosets that were read.
#[derive(Debug)]
struct Piece {
    extent: Extent,
    buffer: Buffer,
    result: io::Result<()>,
}

/// Memory for direct reads.
#[derive(Debug)]
struct Buffer(Vec<u8>);

impl Buffer {
    fn new(bytes: usize) -> Self {
        Self(vec![0; bytes + ALIGNED_BYTES])
    }

    /// Returns the bytes from the first aligned one on.
    fn aligned(&mut self) -> &mut [u8] {
        let skip = self.0.as_ptr().align_offset(ALIGNED_BYTES);
        let end = skip + (self.0.len() - skip) / ALIGNED_BYTES * ALIGNED_BYTES;
        &mut self.0[skip..end]
    }

    fn as_slice(&self) -> &[u8] {
        &self.0[self.0.as_ptr().align_offset(ALIGNED_BYTES)..]
    }
}

/// A thread that is joined when it is dropped.
#[derive(Debug)]
struct Joined(Option<JoinHandle<()>>);

impl Drop for Joined {
    fn drop(&mut self) {
        if let Some(thread) = self.0.take() {
            // A panic of the thread has closed the channel, and the map was read instead.
            let _ = thread.join();
        }
    }
}

impl ReadAhead {
    /// Starts reading cosets of a file, in increasing order, into [`BUFFERS`] buffers of `buffer_bytes`
    /// bytes. Returns `None` if a coset may be larger than that, or if the file cannot be read past the page
    /// cache. Cosets are numbered in the whole space.
    ///
    /// # Errors
    /// [`LayerError`] if the directory of the file is damaged.
    pub fn begin(
        file: &Arc<LayerFile>,
        disk: &dyn Disk,
        cosets: impl Iterator<Item = u32>,
        buffer_bytes: usize,
    ) -> Result<Option<Self>, LayerError> {
        let buffer_bytes = buffer_bytes / ALIGNED_BYTES * ALIGNED_BYTES;
        if buffer_bytes < file.identity().packed_bytes as usize + SLACK_BYTES as usize + 2 * ALIGNED_BYTES {
            return Ok(None);
        }
        let extents = extents(file, cosets, buffer_bytes)?;
        // The map may be of a file that another one has replaced.
        let Some(once) = disk.open_once(file.path()).ok().filter(|_| file.is_at_its_path()) else {
            return Ok(None);
        };
        let (read, pieces) = sync_channel(BUFFERS);
        let (used, unused) = channel();
        for _ in 0..BUFFERS.min(extents.len()) {
            let _ = used.send(Buffer::new(buffer_bytes));
        }
        let thread = Builder::new().name("read-ahead".into()).spawn(move || {
            read_all(once, extents, &unused, &read);
        });
        Ok(thread.ok().map(|thread| Self {
            file: Arc::clone(file),
            piece: None,
            checked: None,
            used,
            pieces,
            _thread: Joined(Some(thread)),
        }))
    }

    /// Returns the states of a coset, numbered in the whole space. A coset before one that was returned
    /// earlier, or one that is not among those of [`ReadAhead::begin`], may be read through the map.
    ///
    /// # Errors
    /// [`LayerError`] if the directory or the coset's data are damaged, or the disk fails.
    pub fn coset(&mut self, coset: u32) -> Result<Stored<'_>, LayerError> {
        let coset = coset - self.file.identity().first_coset;
        let entry = self.file.entry(coset)?;
        if entry.encoding == Encoding::Empty {
            return Ok(Stored::Empty);
        }
        while self.piece.as_ref().is_none_or(|piece| piece.extent.cosets.end <= coset) {
            if let Some(piece) = self.piece.take() {
                // The thread has ended if everything was read.
                let _ = self.used.send(piece.buffer);
            }
            match self.pieces.recv() {
                Ok(piece) => self.piece = Some(piece),
                Err(_) => return self.file.coset(coset),
            }
        }
        let data = self.file.data(&entry);
        let piece = self.piece.as_ref().expect("the loop ends with a piece");
        let within = |data: &Range<usize>| {
            piece.extent.bytes.start <= data.start && data.end <= piece.extent.bytes.end
        };
        let Some(data) = data.filter(within) else {
            return self.file.coset(coset);
        };
        if let Err(error) = &piece.result {
            return Err(self.failure(error));
        }
        let start = piece.extent.bytes.start / ALIGNED_BYTES * ALIGNED_BYTES;
        let data = &piece.buffer.as_slice()[data.start - start..data.end - start];
        let stored = self.file.decoded(coset, &entry, Some(data), self.checked == Some(coset))?;
        self.checked = Some(coset);
        Ok(stored)
    }

    fn failure(&self, error: &io::Error) -> LayerError {
        let path = self.file.path();
        let length = std::fs::metadata(path).map_or(0, |file| file.len());
        if error.kind() == io::ErrorKind::UnexpectedEof && length < self.file.bytes() {
            return LayerError::WrongLength { path: path.into(), got: length, expected: self.file.bytes() };
        }
        let source = error.raw_os_error().map_or_else(|| error.kind().into(), io::Error::from_raw_os_error);
        LayerError::io("read", path)(source)
    }
}

/// Returns the extents of the data of these cosets. The data of each element, with the bytes around it that
/// complete aligned blocks, fit into `most_bytes`.
fn extents(
    file: &LayerFile,
    cosets: impl Iterator<Item = u32>,
    most_bytes: usize,
) -> Result<Vec<Extent>, LayerError> {
    let mut extents: Vec<Extent> = Vec::new();
    for coset in cosets.map(|coset| coset - file.identity().first_coset) {
        let entry = file.entry(coset)?;
        let Some(data) = file.data(&entry).filter(|data| !data.is_empty()) else {
            continue;
        };
        let fits = |start: usize| {
            data.end.next_multiple_of(ALIGNED_BYTES) - start / ALIGNED_BYTES * ALIGNED_BYTES <= most_bytes
        };
        match extents.last_mut() {
            Some(last)
                if (last.bytes.end..=last.bytes.end + GAP_BYTES)
                    .contains(&(data.start + SLACK_BYTES as usize))
                    && fits(last.bytes.start) =>
            {
                last.cosets.end = coset + 1;
                last.bytes.end = data.end;
            }
            _ if fits(data.start) => extents.push(Extent { cosets: coset..coset + 1, bytes: data }),
            // No writer produces a coset this long: reading it through the map reports the damage.
            _ => {}
        }
    }
    Ok(extents)
}

/// Reads all extents, until the other ends of the channels are dropped or the file system refuses.
fn read_all(
    mut file: Box<dyn ReadOnce>,
    extents: Vec<Extent>,
    unused: &Receiver<Buffer>,
    read: &SyncSender<Piece>,
) {
    for extent in extents {
        let Ok(mut buffer) = unused.recv() else {
            return;
        };
        let start = extent.bytes.start / ALIGNED_BYTES * ALIGNED_BYTES;
        let needed = extent.bytes.end - start;
        let memory = &mut buffer.aligned()[..needed.next_multiple_of(ALIGNED_BYTES)];
        let result = match file.read_at(memory, start as u64, needed) {
            Ok(got) if got < needed => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::Unsupported => return,
            Err(error) => Err(error),
        };
        if read.send(Piece { extent, buffer, result }).is_err() {
            return;
        }
    }
}
