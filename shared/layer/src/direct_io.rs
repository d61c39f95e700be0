//! Writing and reading past the page cache.
//!
//! Bytes that are written once and not read before the next layer, and bytes that are read only once, should
//! not evict bytes that are read repeatedly. There are two ways to bypass the cache:
//!
//! - Linux 6.14 and later accept a flag with each read and write (`RWF_DONTCACHE`): the bytes leave memory as
//!   soon as they have been read, or have reached the disk.
//! - A file in the mode `O_DIRECT` is read without the cache, into memory that is aligned as the file system
//!   requires (`STATX_DIOALIGN`, Linux 6.1).
//!
//! A file system refuses a method that it does not support. Refusals are recorded per device. Files that
//! cannot be read past the cache are read through maps, and written bytes leave memory when
//! [advice](crate::DiskFile::uncache) is given at the end of a file.

use crate::regular_file::open_regular;
use rustix::fs::{AtFlags, OFlags, StatxFlags};
use rustix::io::{Errno, ReadWriteFlags, preadv2, pwritev2};
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

/// The Linux flag, which some versions of the libraries do not define.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// The alignment of reads past the cache: of the offset in the file, and of the memory. Direct reads are not
/// tried if a file system requires more.
pub const ALIGNED_BYTES: usize = 4096;

/// A method to bypass the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Each read or write has the flag `RWF_DONTCACHE`.
    DontCache,
    /// The file is in the mode `O_DIRECT`.
    Direct,
}

/// The methods that file systems have refused, with their devices.
static REFUSED: Mutex<Vec<(u64, Way)>> = Mutex::new(Vec::new());

fn has_refused(device: u64, way: Way) -> bool {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner).contains(&(device, way))
}

fn note_refusal(device: u64, way: Way) {
    REFUSED.lock().unwrap_or_else(PoisonError::into_inner).push((device, way));
}

fn is_refusal(error: Errno) -> bool {
    matches!(error, Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS)
}

/// Returns the device of a file that is to be written; `None` if its file system has refused the flag, or
/// the device is unknown.
pub(crate) fn device(file: &File) -> Option<u64> {
    let device = file.metadata().ok()?.dev();
    (!has_refused(device, Way::DontCache)).then_some(device)
}

/// Writes bytes past the cache. Returns the number of bytes written: if that is less than all, the caller
/// must write the rest, and everything that follows, without the flag.
pub(crate) fn write(file: &File, device: u64, bytes: &[u8], offset: u64) -> usize {
    let (written, refused) =
        write_with(bytes, offset, |bytes, offset| pwritev2(file, &[IoSlice::new(bytes)], offset, DONTCACHE));
    if refused {
        note_refusal(device, Way::DontCache);
    }
    written
}

/// Writes until all bytes are written or a write fails. Also returns whether the flag was refused. Other
/// errors are dropped, because the caller's write of the rest meets them again.
fn write_with(
    bytes: &[u8],
    offset: u64,
    mut write: impl FnMut(&[u8], u64) -> Result<usize, Errno>,
) -> (usize, bool) {
    let mut written = 0;
    while written < bytes.len() {
        match write(&bytes[written..], offset + written as u64) {
            Ok(0) => break,
            Ok(count) => written += count,
            Err(Errno::INTR) => {}
            Err(error) => return (written, is_refusal(error)),
        }
    }
    (written, false)
}

/// A file that is read past the page cache.
pub trait ReadOnce: Debug + Send {
    /// Reads at least `needed` bytes at an offset, or to the end of the file. Returns the number of bytes
    /// read. The offset, the length of the buffer and its address must be multiples of
    /// [`ALIGNED_BYTES`].
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the file system has no method to bypass the cache, so that the file
    /// must be read through a map; otherwise the error of the operating system.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64, needed: usize) -> io::Result<usize>;
}

/// A local file that is read past the page cache. When it is closed, its pages leave the cache.
#[derive(Debug)]
pub struct Reader {
    file: File,
    device: u64,
    /// The method of the next read; `None` if the file system has refused all methods.
    way: Option<Way>,
}

impl Reader {
    /// Opens a file. `first` is the method that is tried first.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the file system has already refused all methods; otherwise the error
    /// of the operating system.
    pub fn open(path: &Path, first: Way) -> io::Result<Self> {
        let (file, is) = open_regular(path)?;
        let device = is.dev();
        let mut reader = Self { file, device, way: None };
        reader.way = reader.usable([first, Way::Direct]);
        match reader.way {
            Some(_) => Ok(reader),
            None => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Returns the first of these methods that the file system has not refused, and sets the file's mode
    /// accordingly.
    fn usable(&self, ways: impl IntoIterator<Item = Way>) -> Option<Way> {
        ways.into_iter().find(|&way| {
            !has_refused(self.device, way)
                && match way {
                    Way::DontCache => true,
                    Way::Direct => {
                        is_direct(&self.file) || {
                            note_refusal(self.device, way);
                            false
                        }
                    }
                }
        })
    }
}

/// Sets a file to the mode `O_DIRECT`. Returns whether it has that mode, and reads aligned to
/// [`ALIGNED_BYTES`] are aligned enough.
fn is_direct(file: &File) -> bool {
    let aligned = |bytes: u32| bytes > 0 && ALIGNED_BYTES.is_multiple_of(bytes as usize);
    rustix::fs::statx(file, "", AtFlags::EMPTY_PATH, StatxFlags::DIOALIGN).is_ok_and(|found| {
        StatxFlags::from_bits_retain(found.stx_mask).contains(StatxFlags::DIOALIGN)
            && aligned(found.stx_dio_mem_align)
            && aligned(found.stx_dio_offset_align)
    }) && rustix::fs::fcntl_getfl(file)
        .and_then(|flags| rustix::fs::fcntl_setfl(file, flags | OFlags::DIRECT))
        .is_ok()
}

impl ReadOnce for Reader {
    fn read_at(&mut self, buffer: &mut [u8], offset: u64, needed: usize) -> io::Result<usize> {
        let mut way = self.way;
        let read = |way, buffer: &mut [u8], offset| {
            let flags = if way == Way::DontCache { DONTCACHE } else { ReadWriteFlags::empty() };
            preadv2(&self.file, &mut [IoSliceMut::new(buffer)], offset, flags)
        };
        let next = |refused| {
            note_refusal(self.device, refused);
            self.usable([Way::Direct])
        };
        let result = read_with(buffer, offset, needed, &mut way, read, next);
        self.way = way;
        result
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        // Pages from the time when the file was read through a map. If the advice is ignored, it costs only
        // memory, which the operating system can take back.
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

/// Reads at least `needed` bytes, or to the end of the file. `next` returns the method after one that was
/// refused. Returns the number of bytes read.
fn read_with(
    buffer: &mut [u8],
    offset: u64,
    needed: usize,
    way: &mut Option<Way>,
    mut read: impl FnMut(Way, &mut [u8], u64) -> Result<usize, Errno>,
    mut next: impl FnMut(Way) -> Option<Way>,
) -> io::Result<usize> {
    let mut got = 0;
    while got < needed {
        let Some(present) = *way else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        // A direct read that ends within a block has met the end of the file.
        let aligned = got / ALIGNED_BYTES * ALIGNED_BYTES;
        match read(present, &mut buffer[aligned..], offset + aligned as u64) {
            Ok(count) if aligned + count <= got => break,
            Ok(count) => got = aligned + count,
            Err(Errno::INTR) => {}
            Err(error) if is_refusal(error) => *way = next(present),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Disk, LocalDisk};

    /// Bytes and their offset.
    type Written = (Vec<u8>, u64);

    /// Runs a writer that takes three bytes at a time, is interrupted once, and fails with `then` after
    /// `takes` writes.
    fn told(takes: usize, then: Errno) -> (Vec<Written>, (usize, bool)) {
        let mut written: Vec<Written> = Vec::new();
        let mut interrupted = false;
        let result = write_with(b"0123456789", 100, |bytes, offset| {
            if written.len() == 1 && !std::mem::replace(&mut interrupted, true) {
                return Err(Errno::INTR);
            }
            if written.len() == takes {
                return Err(then);
            }
            let count = bytes.len().min(3);
            written.push((bytes[..count].to_vec(), offset));
            Ok(count)
        });
        (written, result)
    }

    #[test]
    fn short_writes_are_continued() {
        let (written, result) = told(usize::MAX, Errno::IO);
        assert_eq!(result, (10, false));
        let expected = [(&b"012"[..], 100), (b"345", 103), (b"678", 106), (b"9", 109)];
        assert_eq!(written, expected.map(|(bytes, offset)| (bytes.to_vec(), offset)));
    }

    #[test]
    fn midway_refusal_reports_bytes_written() {
        assert_eq!(told(2, Errno::OPNOTSUPP).1, (6, true));
        // A full disk does not count as a refusal of the flag.
        assert_eq!(told(2, Errno::NOSPC).1, (6, false));
    }

    /// The bytes of a file for the tests of reading: a block and a part of one.
    const BYTES: usize = 2 * ALIGNED_BYTES + 100;

    /// Reads a file that is [`BYTES`] long. `results` contains the result of each read: a number of bytes, or
    /// an error. Returns the methods and offsets of the reads, and the number of bytes read.
    fn read_told(results: &[Result<usize, Errno>]) -> (Vec<(Way, u64)>, io::Result<usize>) {
        let mut results = results.iter();
        let (mut reads, mut way) = (Vec::new(), Some(Way::DontCache));
        let mut buffer = vec![0; 3 * ALIGNED_BYTES];
        let read = |way, buffer: &mut [u8], offset| {
            reads.push((way, offset));
            let most = BYTES.saturating_sub(offset as usize).min(buffer.len());
            results.next().map_or(Ok(most), |result| result.map(|count| count.min(most)))
        };
        let next = |refused| (refused == Way::DontCache).then_some(Way::Direct);
        let got = read_with(&mut buffer, 0, BYTES, &mut way, read, next);
        (reads, got)
    }

    #[test]
    fn refused_read_falls_back_at_block_boundary() {
        use Way::{Direct, DontCache};
        const BLOCK: u64 = ALIGNED_BYTES as u64;
        let (reads, got) = read_told(&[Ok(5000), Err(Errno::INTR), Err(Errno::OPNOTSUPP)]);
        assert_eq!(got.unwrap(), BYTES);
        assert_eq!(reads, [(DontCache, 0), (DontCache, BLOCK), (DontCache, BLOCK), (Direct, BLOCK)]);
        let (reads, got) = read_told(&[Err(Errno::INVAL), Ok(8192), Err(Errno::INVAL)]);
        assert_eq!(got.unwrap_err().kind(), io::ErrorKind::Unsupported);
        assert_eq!(reads, [(DontCache, 0), (Direct, 0), (Direct, 2 * BLOCK)]);
        // A failing disk does not count as a refusal.
        let (reads, got) = read_told(&[Err(Errno::IO)]);
        assert_eq!(got.unwrap_err().raw_os_error(), Some(Errno::IO.raw_os_error()));
        assert_eq!(reads.len(), 1);
    }

    #[test]
    fn reads_stop_at_end_of_file() {
        let (reads, got) = read_told(&[Ok(ALIGNED_BYTES), Ok(0)]);
        assert_eq!((reads.len(), got.unwrap()), (2, ALIGNED_BYTES));
        // If a read ends in the middle of a block, the whole block is read again.
        let (reads, got) = read_told(&[Ok(100), Ok(100)]);
        assert_eq!((reads.len(), got.unwrap()), (2, 100));
    }

    /// Reads a disk, and a file system in memory, which refuses both methods with Linux 6.18.
    #[test]
    fn every_read_method_returns_file_contents() {
        for directory in [std::env::temp_dir(), "/dev/shm".into()] {
            let Ok(directory) = tempfile::tempdir_in(&directory) else {
                continue;
            };
            let path = directory.path().join("file");
            let bytes: Vec<u8> = (0..BYTES).map(|at| (at % 251) as u8).collect();
            std::fs::write(&path, &bytes).unwrap();
            for first in [Way::DontCache, Way::Direct] {
                let Ok(mut reader) = Reader::open(&path, first) else {
                    continue;
                };
                let mut memory = vec![0; 4 * ALIGNED_BYTES];
                let skip = memory.as_ptr().align_offset(ALIGNED_BYTES);
                let buffer = &mut memory[skip..][..2 * ALIGNED_BYTES];
                let offset = ALIGNED_BYTES as u64;
                match reader.read_at(buffer, offset, ALIGNED_BYTES + 100) {
                    Ok(got) => {
                        assert_eq!(got, ALIGNED_BYTES + 100, "{first:?}");
                        assert_eq!(buffer[..got], bytes[ALIGNED_BYTES..], "{first:?}");
                    }
                    Err(error) => assert_eq!(error.kind(), io::ErrorKind::Unsupported, "{first:?}"),
                }
            }
        }
    }

    /// Tests a disk, and a file system in memory, where Linux 6.18 refuses the flag.
    #[test]
    fn written_bytes_read_back_on_every_file_system() {
        for directory in [std::env::temp_dir(), "/dev/shm".into()] {
            let Ok(directory) = tempfile::tempdir_in(&directory) else {
                continue;
            };
            let path = directory.path().join("file");
            for _ in 0..2 {
                let mut file = LocalDisk.create(&path).unwrap();
                file.write_at(b"abcdef", 4).unwrap();
                file.uncache();
                file.write_at(&vec![7; 1 << 20], 10).unwrap();
                file.write_at(b"0123", 0).unwrap();
                file.sync().unwrap();
                file.uncache();
                let bytes = std::fs::read(&path).unwrap();
                assert_eq!(&bytes[..11], b"0123abcdef\x07");
                assert_eq!(bytes.len(), 10 + (1 << 20));
            }
        }
    }
}
