//! Writing past the page cache.
//!
//! Bytes that are written once and not read before the next layer should not evict bytes that are being read
//! from memory. Linux from 6.14 on accepts a flag with each write (`RWF_DONTCACHE`): the bytes go to the disk
//! at once, and leave memory as soon as they are there. File systems that do not support the flag refuse it.
//! A refusal is remembered for each device; then pages leave memory when [advice](crate::DiskFile::uncache)
//! is given at the end of a file.

use rustix::io::{Errno, ReadWriteFlags, pwritev2};
use std::fs::File;
use std::io::IoSlice;
use std::os::unix::fs::MetadataExt;
use std::sync::{Mutex, PoisonError};

/// The flag of Linux, for which some versions of the libraries have no name.
const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);

/// The devices whose file systems have refused the flag.
static REFUSED: Mutex<Vec<u64>> = Mutex::new(Vec::new());

/// Returns the device of a file; `None` if its file system has refused the flag, or the device is unknown.
pub(crate) fn device(file: &File) -> Option<u64> {
    let device = file.metadata().ok()?.dev();
    (!REFUSED.lock().unwrap_or_else(PoisonError::into_inner).contains(&device)).then_some(device)
}

/// Writes bytes past the cache. Returns the number of bytes written: if that is less than all, the caller
/// must write the rest, and everything that follows, without the flag.
pub(crate) fn write(file: &File, device: u64, bytes: &[u8], offset: u64) -> usize {
    let (written, refused) =
        write_with(bytes, offset, |bytes, offset| pwritev2(file, &[IoSlice::new(bytes)], offset, DONTCACHE));
    if refused {
        REFUSED.lock().unwrap_or_else(PoisonError::into_inner).push(device);
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
            Err(error) => return (written, matches!(error, Errno::OPNOTSUPP | Errno::INVAL | Errno::NOSYS)),
        }
    }
    (written, false)
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
    fn writing_goes_on_where_it_was_cut_short() {
        let (written, result) = told(usize::MAX, Errno::IO);
        assert_eq!(result, (10, false));
        let expected = [(&b"012"[..], 100), (b"345", 103), (b"678", 106), (b"9", 109)];
        assert_eq!(written, expected.map(|(bytes, offset)| (bytes.to_vec(), offset)));
    }

    #[test]
    fn a_refusal_in_the_middle_leaves_the_rest() {
        assert_eq!(told(2, Errno::OPNOTSUPP).1, (6, true));
        // A full disk is no refusal of the flag.
        assert_eq!(told(2, Errno::NOSPC).1, (6, false));
    }

    /// Tests a disk, and a file system in memory, where Linux 6.18 refuses the flag.
    #[test]
    fn files_hold_what_was_written_wherever_they_lie() {
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
