//! Log files that do not grow without limit.
//!
//! A file that has reached its maximum size is renamed, and a new one is started: `log.jsonl` becomes
//! `log.1.jsonl`, which has become `log.2.jsonl`, and so on; the oldest is replaced. Several processes may
//! append to one log: a process that finds another file under the name opens that file.

use rustix::fs::OFlags;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The size, in bytes, at which a new file is started.
pub(crate) const MAX_BYTES: u64 = 64 << 20;
/// The number of older files that are kept.
const KEPT: u32 = 4;
/// After this fraction of the size has been written, the file's size is read again: other processes may write
/// to the file as well.
const SIZE_CHECKS: u64 = 16;

/// A log that is appended to.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    file: File,
    most_bytes: u64,
    /// Bytes that were written since the size was read last.
    written: u64,
}

/// Opens a file for appending, or creates it. A symbolic link is not followed.
fn append(path: &Path) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW.bits() as i32;
    File::options().create(true).append(true).custom_flags(flags).open(path)
}

impl LogFile {
    /// Opens a log, or creates it.
    pub(crate) fn open(path: &Path, most_bytes: u64) -> io::Result<Self> {
        let file = append(path)?;
        Ok(Self { path: path.into(), file, most_bytes, written: 0 })
    }

    /// Appends a line in one call.
    pub(crate) fn line(&mut self, line: &[u8]) -> io::Result<()> {
        self.file.write_all(line)?;
        self.written += line.len() as u64;
        if self.written >= self.most_bytes / SIZE_CHECKS {
            self.written = 0;
            // A log that cannot be rotated is still a log.
            let _ = self.rotate();
        }
        Ok(())
    }

    /// Returns whether the open file still has this name.
    fn is_named(&self) -> io::Result<bool> {
        let (open, named) = (self.file.metadata()?, fs::metadata(&self.path));
        Ok(named.is_ok_and(|named| (named.dev(), named.ino()) == (open.dev(), open.ino())))
    }

    fn rotate(&mut self) -> io::Result<()> {
        if self.is_named()? {
            if self.file.metadata()?.len() < self.most_bytes {
                return Ok(());
            }
            // Only one process renames. A later one finds another file under the name.
            self.file.lock()?;
            if self.is_named()? {
                for number in (1..KEPT).rev() {
                    // There may be no file with that number yet.
                    let _ = fs::rename(self.older(number), self.older(number + 1));
                }
                fs::rename(&self.path, self.older(1))?;
            }
        }
        self.file = append(&self.path)?;
        Ok(())
    }

    fn older(&self, number: u32) -> PathBuf {
        let extension = self.path.extension().unwrap_or_default().to_string_lossy();
        self.path.with_extension(format!("{number}.{extension}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rotation_limits_size_and_loses_no_recent_line() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let path = directory.path().join("log.jsonl");
        let mut writers = [0, 1].map(|_| LogFile::open(&path, 1600).expect("a log"));
        for number in 0..2000_u32 {
            writers[number as usize % 2].line(format!("{number:09}\n").as_bytes()).expect("room");
        }
        let mut files: Vec<PathBuf> = (1..=KEPT).rev().map(|number| writers[0].older(number)).collect();
        files.push(path);
        assert_eq!(fs::read_dir(directory.path()).expect("files").count(), files.len());
        let mut numbers: Vec<u32> = Vec::new();
        for file in &files {
            let text = fs::read_to_string(file).expect("a log");
            assert!(text.len() < 2 * 1600, "{} bytes", text.len());
            numbers.extend(text.lines().map(|line| line.parse::<u32>().expect("a whole line")));
        }
        numbers.sort_unstable();
        assert!(numbers[0] > 0, "the oldest are gone");
        // A writer may continue in a renamed file for a while, so each has an oldest line of its own.
        for writer in 0..2 {
            let own: Vec<u32> = numbers.iter().copied().filter(|number| number % 2 == writer).collect();
            assert!(own.iter().copied().eq((own[0]..2000).step_by(2)), "and no others");
        }
    }
}
