//! Writing a layer file: under a temporary name, which is changed to the final name once the file is durable.

use crate::digest::Digest;
use crate::disk::Disk;
use crate::encoding::{self, Encoding};
use crate::error::LayerError;
use crate::file::LayerFile;
use crate::format::{ALIGNMENT, Entry, Header, Identity, SLACK_BYTES, Totals, data_offset};
use crate::map::Stamp;
use crate::writeback::{self, SharedFile, WriteBack};
use std::ffi::OsString;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The suffix of the name of an unfinished file.
pub const TEMPORARY_SUFFIX: &str = ".tmp";

/// Returns a name under which a file is written before it gets its final name. Each call returns a new name,
/// so that no two writers share one, in this process or in others.
pub fn temporary(path: &Path) -> PathBuf {
    static PROCESS: OnceLock<u64> = OnceLock::new();
    static WRITERS: AtomicU64 = AtomicU64::new(0);
    // The keys of the standard library's hash tables are random.
    let process = PROCESS.get_or_init(|| RandomState::new().build_hasher().finish());
    let writer = WRITERS.fetch_add(1, Ordering::Relaxed);
    let mut name = OsString::from(path);
    name.push(format!(".{process:016x}-{writer}{TEMPORARY_SUFFIX}"));
    PathBuf::from(name)
}

/// Returns the files in a directory that have names of [`temporary`]. If no process writes there, they were
/// left by interrupted processes.
///
/// # Errors
/// If the directory cannot be read.
pub fn unfinished(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let is_temporary = |path: &PathBuf| {
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .and_then(|name| name.strip_suffix(TEMPORARY_SUFFIX));
        let writer =
            name.and_then(|name| name.rsplit_once('.')).and_then(|(_, writer)| writer.split_once('-'));
        writer.is_some_and(|(process, number)| {
            let is_hexadecimal = process.bytes().all(|digit| digit.is_ascii_hexdigit());
            process.len() == 16 && is_hexadecimal && number.parse::<u64>().is_ok()
        })
    };
    let paths =
        std::fs::read_dir(directory)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
    Ok(paths.into_iter().filter(is_temporary).collect())
}

/// The size of the write buffer, unless it is chosen by [`LayerWriter::write_behind`].
pub const BUFFER_BYTES: usize = 1 << 20;

/// The size of a page of memory, or a divisor of that size.
const PAGE_BYTES: u64 = 4096;

/// zstd's default level: archived layers are written once and rarely read.
const ZSTD_LEVEL: i32 = 3;

/// Writes the cosets of a shard in order. If dropped before [`LayerWriter::finish`], removes the temporary
/// file.
#[derive(Debug)]
pub struct LayerWriter<'d> {
    disk: &'d dyn Disk,
    path: PathBuf,
    temporary: PathBuf,
    file: SharedFile,
    /// The thread that writes, if it is not the one that fills the buffer.
    behind: Option<WriteBack>,
    identity: Identity,
    directory: Vec<u8>,
    checksums: Vec<Digest>,
    stored: u64,
    buffer: Vec<u8>,
    /// The size at which the buffer is written.
    buffer_bytes: usize,
    /// The offset at which the buffer will be written.
    buffer_offset: u64,
    empty: Digest,
    scratch: Vec<u8>,
    uncached: bool,
    replaces: Replaces,
    finished: bool,
}

/// The files that a new one may replace.
#[derive(Clone, Copy, Debug)]
enum Replaces {
    Any,
    /// The file with this stamp, or no file.
    Only(Option<Stamp>),
}

/// A file that is durable.
#[derive(Debug)]
pub struct Written {
    /// The checksums of the cosets in order.
    pub checksums: Vec<Digest>,
    /// The size of the file in bytes.
    pub bytes: u64,
    /// Whether the file has its final name. If not, another file got the name first, and this one is deleted.
    pub is_in_place: bool,
}

/// A coset as it will be in a file: encoded, with its checksum.
#[derive(Debug)]
pub struct Ready {
    encoding: Encoding,
    data: Vec<u8>,
    states: u32,
    visited: u32,
    checksum: Digest,
}

impl Ready {
    /// Encodes a coset; the arguments are those of [`LayerWriter::push`]. If the coset is dense, takes the
    /// tensor, and leaves `packed` empty.
    pub fn new(packed: &mut Vec<u8>, states: u32, visited: u32) -> Self {
        let encoding = Encoding::new(states, packed.len() as u32);
        let mut positions = Vec::new();
        let checksum = Digest::new(data_of(encoding, packed, &mut positions));
        let data = if encoding == Encoding::Dense { std::mem::take(packed) } else { positions };
        Self { encoding, data, states, visited, checksum }
    }

    /// Returns the tensor, if the coset is dense.
    pub fn into_packed(self) -> Option<Vec<u8>> {
        (self.encoding == Encoding::Dense).then_some(self.data)
    }
}

/// Returns the bytes of a coset in an encoding that is not compressed. Writes positions to `positions`.
fn data_of<'a>(encoding: Encoding, packed: &'a [u8], positions: &'a mut Vec<u8>) -> &'a [u8] {
    match encoding {
        Encoding::Empty => &[],
        Encoding::Sparse => {
            positions.clear();
            encoding::positions(packed, positions);
            positions.as_slice()
        }
        Encoding::Dense | Encoding::DenseZstd => packed,
    }
}

impl<'d> LayerWriter<'d> {
    /// Creates the file that will be `path`, under a temporary name.
    ///
    /// # Errors
    /// [`LayerError::Io`] if the temporary file cannot be created.
    pub fn create(disk: &'d dyn Disk, path: &Path, identity: Identity) -> Result<Self, LayerError> {
        let temporary = temporary(path);
        let file = disk.create(&temporary).map_err(LayerError::io("create", &temporary))?;
        Ok(Self {
            disk,
            path: path.into(),
            temporary,
            file: Arc::new(Mutex::new(file)),
            behind: None,
            directory: Vec::new(),
            checksums: Vec::new(),
            stored: 0,
            buffer: Vec::new(),
            buffer_bytes: BUFFER_BYTES,
            buffer_offset: data_offset(identity.cosets),
            identity,
            empty: Digest::new(&[]),
            scratch: Vec::new(),
            uncached: false,
            replaces: Replaces::Any,
            finished: false,
        })
    }

    /// Allows the new file to replace only the one that is there now: in a store that several processes
    /// share, another process may finish the same file first, and its readers depend on that file.
    pub fn replace_only_what_is_there(&mut self) {
        self.replaces = Replaces::Only(Stamp::new(&self.path).ok());
    }

    /// Keeps the contents out of the page cache. Must be called before the first coset is added.
    pub fn uncache(&mut self) {
        self.uncached = true;
        self.leave_cache();
    }

    fn leave_cache(&self) {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).uncache();
    }

    /// Lets another thread write the contents, in [`writeback::BUFFERS`] buffers of `buffer_bytes` bytes.
    /// Does nothing if a coset may be larger than that. An error is returned by a later call. Must be called
    /// before the first coset is added.
    pub fn write_behind(&mut self, buffer_bytes: usize) {
        let coset_bytes = self.identity.packed_bytes as usize + ALIGNMENT as usize;
        // A buffer that is written has at least one whole page.
        if buffer_bytes >= coset_bytes + 2 * PAGE_BYTES as usize {
            // If no thread can be spawned, the file is written as before.
            self.behind = WriteBack::start(&self.file).ok();
            self.buffer_bytes = buffer_bytes - coset_bytes;
            self.buffer.reserve_exact(buffer_bytes);
        }
    }

    /// Returns whether more was written than fits into the buffer, so that syncing the file takes a while.
    pub fn is_large(&self) -> bool {
        self.buffer_offset > data_offset(self.identity.cosets)
    }

    /// Adds the next coset: its packed tensor, the number of its states in this layer, and `visited`, the
    /// number of its states in this layer and all before it. If `states` is 0, `packed` is not read.
    ///
    /// # Errors
    /// [`LayerError::Io`] if writing fails.
    pub fn push(&mut self, packed: &[u8], states: u32, visited: u32) -> Result<(), LayerError> {
        let mut positions = std::mem::take(&mut self.scratch);
        let encoding = Encoding::new(states, self.identity.packed_bytes);
        let data = data_of(encoding, packed, &mut positions);
        let checksum = if data.is_empty() { self.empty } else { Digest::new(data) };
        let result = self.push_encoded(encoding, data, states, visited, checksum);
        self.scratch = positions;
        result
    }

    /// Adds the next coset, which another thread has encoded.
    ///
    /// # Errors
    /// [`LayerError::Io`] if writing fails.
    pub fn push_ready(&mut self, ready: &Ready) -> Result<(), LayerError> {
        let &Ready { encoding, ref data, states, visited, checksum } = ready;
        self.push_encoded(encoding, data, states, visited, checksum)
    }

    fn push_encoded(
        &mut self,
        encoding: Encoding,
        data: &[u8],
        states: u32,
        visited: u32,
        checksum: Digest,
    ) -> Result<(), LayerError> {
        let offset = if data.is_empty() { 0 } else { self.buffer_offset + self.buffer.len() as u64 };
        let entry = Entry { offset, length: data.len() as u32, states, visited, encoding, checksum };
        self.directory.extend(entry.to_bytes());
        self.checksums.push(checksum);
        self.stored += u64::from(states);
        self.buffer.extend_from_slice(data);
        self.buffer.resize(self.buffer.len().next_multiple_of(ALIGNMENT as usize), 0);
        if self.buffer.len() < self.buffer_bytes {
            return Ok(());
        }
        // Whole pages, so that no page is written twice.
        let end = (self.buffer_offset + self.buffer.len() as u64) / PAGE_BYTES * PAGE_BYTES;
        self.flush(end.saturating_sub(self.buffer_offset) as usize)
    }

    /// Writes header and directory, makes the file durable, and gives it its final name.
    ///
    /// # Errors
    /// [`LayerError::Io`] if writing fails. Unless only the last sync, of the directory, has failed, the
    /// final name then does not refer to this file.
    ///
    /// # Panics
    /// If the number of added cosets is not that of the identity, or the number of their states is not
    /// `totals.stored`.
    pub fn finish(mut self, totals: Totals) -> Result<Written, LayerError> {
        assert_eq!(
            self.checksums.len(),
            self.identity.cosets as usize,
            "every coset of the shard is pushed once"
        );
        assert_eq!(self.stored, totals.stored, "stored states are those of the cosets");
        self.buffer.extend([0; SLACK_BYTES as usize]);
        self.buffer.resize(self.buffer.len().next_multiple_of(ALIGNMENT as usize), 0);
        self.flush(self.buffer.len())?;
        let header = Header {
            identity: self.identity.clone(),
            totals,
            file_bytes: self.buffer_offset,
            directory_checksum: Digest::new(&self.directory),
        };
        let mut front = header.to_bytes().to_vec();
        front.append(&mut self.directory);
        front.resize(data_offset(self.identity.cosets) as usize, 0);
        self.await_writes()?;
        writeback::write_at(&self.file, &front, 0).map_err(LayerError::io("write", &self.temporary))?;
        let synced = self.file.lock().unwrap_or_else(PoisonError::into_inner).sync();
        synced.map_err(LayerError::io("sync", &self.temporary))?;
        if self.uncached {
            self.leave_cache();
        }
        let is_in_place = self.put_in_place().map_err(LayerError::io("rename", &self.temporary))?;
        self.finished = is_in_place;
        let directory = self.path.parent().unwrap_or(Path::new("."));
        self.disk.sync_directory(directory).map_err(LayerError::io("sync", directory))?;
        Ok(Written { checksums: std::mem::take(&mut self.checksums), bytes: header.file_bytes, is_in_place })
    }

    /// Gives the file its final name. Returns whether the file may have the name.
    fn put_in_place(&self) -> io::Result<bool> {
        let rename = || self.disk.rename(&self.temporary, &self.path).map(|()| true);
        let Replaces::Only(seen) = self.replaces else { return rename() };
        let there = || Stamp::new(&self.path);
        if seen.is_some_and(|seen| there().is_ok_and(|there| there.has_stayed(&seen))) {
            return rename();
        }
        match self.disk.rename_new(&self.temporary, &self.path) {
            // A path that cannot be examined, such as a dangling link, is not a file of another process.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => match there() {
                Ok(_) => Ok(false),
                Err(_) => rename(),
            },
            renamed => renamed.map(|()| true),
        }
    }

    /// Returns the checksums of the cosets in order, and removes the temporary file, if the disk has one.
    pub fn abandon(mut self) -> Vec<Digest> {
        std::mem::take(&mut self.checksums)
    }

    /// Writes the first `bytes` bytes of the buffer.
    fn flush(&mut self, bytes: usize) -> Result<(), LayerError> {
        let offset = self.buffer_offset;
        self.buffer_offset += bytes as u64;
        let Some(behind) = &self.behind else {
            writeback::write_at(&self.file, &self.buffer[..bytes], offset)
                .map_err(LayerError::io("write", &self.temporary))?;
            self.buffer.drain(..bytes);
            return Ok(());
        };
        let capacity = self.buffer.capacity();
        let rest = self.buffer[bytes..].to_vec();
        self.buffer.truncate(bytes);
        match behind.write(std::mem::take(&mut self.buffer), offset) {
            Some(empty) => {
                self.buffer = empty;
                self.buffer.reserve_exact(capacity);
                self.buffer.extend_from_slice(&rest);
                Ok(())
            }
            None => self.await_writes(),
        }
    }

    /// Waits until everything that was handed to the other thread is written.
    fn await_writes(&mut self) -> Result<(), LayerError> {
        let ended = self.behind.take().map_or(Ok(()), WriteBack::end);
        ended.map_err(LayerError::io("write", &self.temporary))
    }
}

impl Drop for LayerWriter<'_> {
    fn drop(&mut self) {
        if !self.finished {
            // The error is already known, or no longer matters.
            let _ = self.await_writes();
            // If this fails, the leftover file is removed when the run is resumed.
            let _ = self.disk.remove(&self.temporary);
        }
    }
}

/// Replaces a layer file by one whose dense cosets are compressed. Returns the size of the new file. A file
/// that is already compressed is not changed.
///
/// # Errors
/// [`LayerError`] if the file is damaged or writing fails. Unless only the last sync, of the directory,
/// has failed, the old file then stays.
pub fn archive(disk: &dyn Disk, path: &Path, identity: &Identity) -> Result<u64, LayerError> {
    let old = LayerFile::open(path, identity)?;
    if is_archived(&old)? {
        return Ok(old.bytes());
    }
    let mut new = LayerWriter::create(disk, path, identity.clone())?;
    new.uncache();
    let mut zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).map_err(LayerError::io("compress", path))?;
    for coset in 0..identity.cosets {
        let entry = old.entry(coset)?;
        let stored = old.coset(coset)?;
        match stored.canonical() {
            packed if entry.encoding == Encoding::Dense || entry.encoding == Encoding::DenseZstd => {
                let compressed = zstd.compress(packed).map_err(LayerError::io("compress", path))?;
                let (encoding, data) = match compressed.len() < packed.len() {
                    true => (Encoding::DenseZstd, compressed.as_slice()),
                    false => (Encoding::Dense, packed),
                };
                new.push_encoded(encoding, data, entry.states, entry.visited, entry.checksum)?;
            }
            data => new.push_encoded(entry.encoding, data, entry.states, entry.visited, entry.checksum)?,
        }
    }
    Ok(new.finish(old.totals())?.bytes)
}

/// Returns whether the dense cosets of a file are compressed as far as that makes them smaller: nothing else
/// writes compressed cosets, and a file without dense cosets would stay the same.
fn is_archived(file: &LayerFile) -> Result<bool, LayerError> {
    let mut has_dense = false;
    for coset in 0..file.identity().cosets {
        match file.entry(coset)?.encoding {
            Encoding::DenseZstd => return Ok(true),
            Encoding::Dense => has_dense = true,
            Encoding::Empty | Encoding::Sparse => {}
        }
    }
    Ok(!has_dense)
}
