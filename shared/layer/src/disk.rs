//! The file system behind a trait: every change that Fathom makes to layers on disk goes through it, so that
//! a test can fail, crash or lose power at each of them.

use crate::direct_io::{self, ReadOnce, Reader, Way};
use crate::regular_file::open_regular;
use std::fmt::Debug;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::iter;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// The changes to a file system that writing layers needs.
///
/// A disk that changes some of them passes the others on to its [inner](Disk::inner) disk.
pub trait Disk: Debug + Send + Sync {
    /// Returns the disk that handles what this one does not handle itself: by default, the file system of
    /// this machine.
    fn inner(&self) -> &dyn Disk {
        &LocalDisk
    }

    /// Creates an empty file for writing. Replaces a file of that name.
    ///
    /// # Errors
    /// The error of the operating system.
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        self.inner().create(path)
    }

    /// Renames a file. Replaces a file of the new name.
    ///
    /// # Errors
    /// The error of the operating system.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner().rename(from, to)
    }

    /// Renames a file without replacing another: if two processes rename files to the same name at the same
    /// time, at most one succeeds, as far as the file system supports this.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`] if there is a file of the new name; otherwise the error of the
    /// operating system.
    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.inner().rename_new(from, to)
    }

    /// Deletes a file.
    ///
    /// # Errors
    /// The error of the operating system.
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.inner().remove(path)
    }

    /// Creates a directory and its parents. An existing directory is not an error.
    ///
    /// # Errors
    /// The error of the operating system.
    fn create_directory(&self, path: &Path) -> io::Result<()> {
        self.inner().create_directory(path)
    }

    /// Deletes an empty directory.
    ///
    /// # Errors
    /// The error of the operating system.
    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        self.inner().remove_directory(path)
    }

    /// Makes the names in a directory durable.
    ///
    /// # Errors
    /// The error of the operating system.
    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        self.inner().sync_directory(path)
    }

    /// Makes the contents of a finished file, which another process may have written, durable.
    ///
    /// # Errors
    /// The error of the operating system.
    fn sync_file(&self, path: &Path) -> io::Result<()> {
        self.inner().sync_file(path)
    }

    /// Opens a finished file that is read once, past the page cache.
    ///
    /// # Errors
    /// [`io::ErrorKind::Unsupported`] if the file system has no method to bypass the cache; otherwise the
    /// error of the operating system.
    fn open_once(&self, path: &Path) -> io::Result<Box<dyn ReadOnce>> {
        self.inner().open_once(path)
    }

    /// Returns the free bytes for files at a path.
    ///
    /// # Errors
    /// The error of the operating system.
    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        self.inner().free_bytes(path)
    }

    /// Returns the limit on the total size of a run's files in bytes, if there is one besides the size of the
    /// disk.
    fn limit_bytes(&self) -> Option<u64> {
        self.inner().limit_bytes()
    }
}

/// A file that is being written.
pub trait DiskFile: Debug + Send {
    /// Writes all bytes at an offset.
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes the contents durable.
    fn sync(&mut self) -> io::Result<()>;
    /// Advises that neither the durable contents nor later writes will be read soon.
    fn uncache(&mut self) {}
}

/// Asks the file system to allocate the subdirectories of this directory far apart.
///
/// Each layer has a directory, and when one is created, another one has just been deleted. If both are in one
/// block group, ext4 skips inodes that were deleted in the last half minute, and repeats that search for each
/// new file: a tenth of the time of a search that takes some seconds.
pub fn lay_apart(directory: &Path) {
    let ask = || -> io::Result<()> {
        let directory = File::open(directory)?;
        let flags = rustix::fs::ioctl_getflags(&directory)?;
        Ok(rustix::fs::ioctl_setflags(&directory, flags | rustix::fs::IFlags::TOPDIR)?)
    };
    // If the request is refused, it costs only time.
    let _ = ask();
}

/// Creates a directory and its parents, and makes their names durable. An earlier process may have created
/// the directory, and died before making its name durable.
///
/// # Errors
/// If a directory cannot be created, or its name cannot be made durable.
pub fn create_directory_durably(directory: &Path, disk: &dyn Disk) -> io::Result<()> {
    let above = directory.ancestors().skip(1);
    let absent: Vec<&Path> =
        above.take_while(|path| !path.as_os_str().is_empty() && !path.exists()).collect();
    disk.create_directory(directory)?;
    for parent in iter::once(directory).chain(absent).filter_map(Path::parent) {
        disk.sync_directory(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })?;
    }
    Ok(())
}

/// Returns how many files of one kind may be kept open as a cache: a third of the files that this process may
/// have open.
pub fn many_descriptors() -> usize {
    // `None` means that there is no limit.
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    limit.map_or(usize::MAX, |limit| usize::try_from(limit / 3).unwrap_or(usize::MAX))
}

/// Returns the free bytes of the file system on which a path is or will be.
///
/// # Errors
/// The error of the operating system.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let there = path.ancestors().find(|ancestor| ancestor.exists()).filter(|p| !p.as_os_str().is_empty());
    let stat = rustix::fs::statvfs(there.unwrap_or(Path::new(".")))?;
    Ok(stat.f_bavail * stat.f_frsize)
}

/// Returns the bytes that the files below a directory take on their disk. Files that disappear in the
/// meantime are not counted, and links are not followed.
///
/// # Errors
/// If a directory cannot be read.
pub fn tree_bytes(path: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    let entries = match std::fs::read_dir(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        entries => entries?,
    };
    for entry in entries {
        let entry = entry?;
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes += tree_bytes(&entry.path())?,
            // `blocks` counts blocks of 512 bytes on every file system.
            Ok(metadata) => bytes += metadata.blocks() * 512,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(bytes)
}

/// The writeback of writes of at least this size is started immediately.
const WRITE_AT_ONCE: usize = 1 << 20;

/// The file system of this machine. It is its own inner disk, and handles everything itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalDisk;

impl Disk for LocalDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        // What a link points to is not this program's file.
        let flags = rustix::fs::OFlags::NOFOLLOW.bits() as i32;
        let file =
            OpenOptions::new().write(true).create(true).truncate(true).custom_flags(flags).open(path)?;
        Ok(Box::new(LocalFile { file, direct_io: None }))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn rename_new(&self, from: &Path, to: &Path) -> io::Result<()> {
        use rustix::fs::{CWD, RenameFlags, renameat_with};
        let renamed = renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE).map_err(io::Error::from);
        match renamed {
            Err(error) if is_no_offer(&error) => link_new(from, to),
            renamed => renamed,
        }
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn create_directory(&self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn remove_directory(&self, path: &Path) -> io::Result<()> {
        fs::remove_dir(path)
    }

    fn sync_directory(&self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn sync_file(&self, path: &Path) -> io::Result<()> {
        open_regular(path)?.0.sync_all()
    }

    fn open_once(&self, path: &Path) -> io::Result<Box<dyn ReadOnce>> {
        Ok(Box::new(Reader::open(path, Way::DontCache)?))
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        free_bytes(path)
    }

    fn limit_bytes(&self) -> Option<u64> {
        None
    }
}

/// Returns whether a system call failed because the kernel or the file system does not support it.
fn is_no_offer(error: &io::Error) -> bool {
    let is = |code| error.raw_os_error() == Some(code);
    [libc::EINVAL, libc::ENOSYS, libc::EOPNOTSUPP, libc::EPERM, libc::EMLINK].into_iter().any(is)
}

/// Renames a file without replacing another on file systems without a call for that, such as NFS: creating a
/// link does not replace a file.
fn link_new(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Ok(()) => {}
        // A request that was sent twice finds its own result.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && is_same(from, to)? => {}
        Err(error) if is_no_offer(&error) => return rename_if_absent(from, to),
        Err(error) => return Err(error),
    }
    // If the first name remains, it is removed together with other unfinished files.
    let _ = fs::remove_file(from);
    Ok(())
}

/// Renames a file if no file has the new name at the time of a check.
fn rename_if_absent(from: &Path, to: &Path) -> io::Result<()> {
    match to.symlink_metadata() {
        Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(_) => fs::rename(from, to),
    }
}

/// Returns whether two paths name the same file.
fn is_same(path: &Path, other: &Path) -> io::Result<bool> {
    let (is, other) = (path.symlink_metadata()?, other.symlink_metadata()?);
    Ok((is.dev(), is.ino()) == (other.dev(), other.ino()))
}

/// A disk that discards everything, for files of which only the checksums or the time matter.
#[derive(Clone, Copy, Debug, Default)]
pub struct NullDisk;

impl Disk for NullDisk {
    fn create(&self, _: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(NullDisk))
    }

    fn rename(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn rename_new(&self, _: &Path, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_directory(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn sync_file(&self, _: &Path) -> io::Result<()> {
        Ok(())
    }
}

impl DiskFile for NullDisk {
    fn write_at(&mut self, _: &[u8], _: u64) -> io::Result<()> {
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[derive(Debug)]
struct LocalFile {
    file: File,
    /// The device, if the file is written past the cache.
    direct_io: Option<u64>,
}

impl DiskFile for LocalFile {
    fn write_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        let written = match self.direct_io {
            Some(device) => direct_io::write(&self.file, device, bytes, offset),
            None => 0,
        };
        if written < bytes.len() {
            self.direct_io = None;
            self.file.write_all_at(&bytes[written..], offset + written as u64)?;
        }
        if bytes.len() >= WRITE_AT_ONCE {
            // The disk may start to write now, so that less remains when the file is synced. This is only a
            // hint: the sync writes what this call does not.
            // SAFETY: the file is open, and the call touches no memory of this process.
            let _ = unsafe {
                libc::sync_file_range(
                    self.file.as_raw_fd(),
                    offset as i64,
                    bytes.len() as i64,
                    libc::SYNC_FILE_RANGE_WRITE,
                )
            };
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_all()
    }

    fn uncache(&mut self) {
        self.direct_io = direct_io::device(&self.file);
        // If the advice is ignored, it costs only memory, which the operating system can take back.
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::DontNeed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{IFlags, ioctl_getflags};

    #[test]
    fn rename_new_never_replaces_a_file() {
        type Rename = fn(&Path, &Path) -> io::Result<()>;
        let ways: [Rename; 3] = [|from, to| LocalDisk.rename_new(from, to), link_new, rename_if_absent];
        for rename in ways {
            let directory = tempfile::tempdir().unwrap();
            let [first, second, name] = ["first", "second", "name"].map(|name| directory.path().join(name));
            let is_there = || [&first, &second, &name].map(|path| fs::read(path).ok());
            let [one, other] = [Some(vec![1]), Some(vec![2])];
            fs::write(&first, [1]).unwrap();
            fs::write(&second, [2]).unwrap();
            rename(&first, &name).unwrap();
            assert_eq!(is_there(), [None, other.clone(), one.clone()]);
            assert_eq!(rename(&second, &name).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(is_there(), [None, other, one]);
        }
    }

    /// A file server may link a file, and its answer may be lost. The client then retries.
    #[test]
    fn existing_link_to_same_file_is_success() {
        let directory = tempfile::tempdir().unwrap();
        let [first, name] = ["first", "name"].map(|name| directory.path().join(name));
        fs::write(&first, [1]).unwrap();
        fs::hard_link(&first, &name).unwrap();
        link_new(&first, &name).unwrap();
        assert!(!first.exists() && fs::read(&name).unwrap() == [1]);
    }

    #[test]
    fn spread_hint_on_ext4_is_best_effort() {
        const EXT4: i64 = 0xef53;
        let directory = tempfile::tempdir().unwrap();
        lay_apart(&directory.path().join("absent"));
        lay_apart(directory.path());
        let opened = File::open(directory.path()).unwrap();
        if rustix::fs::fstatfs(&opened).unwrap().f_type as i64 == EXT4 {
            assert!(ioctl_getflags(&opened).unwrap().contains(IFlags::TOPDIR));
        }
    }
}
