//! A disk with a limit on the bytes in use.

use crate::disk::{Disk, DiskFile, LocalDisk, free_bytes, tree_bytes};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The local file system, with a limit on the total size of the files below a directory, and optionally below
/// another one. A new file can be created as long as the limit of its directory is not reached, so files that
/// are being written at the same time may together exceed the limit.
#[derive(Clone, Debug)]
pub struct LimitedDisk {
    directory: PathBuf,
    /// The other directory.
    other: OnceLock<PathBuf>,
    most: u64,
}

impl LimitedDisk {
    /// Limits the files below `directory` to `most` bytes. Files elsewhere may be created as long as this
    /// limit is not reached.
    pub fn new(directory: PathBuf, most: u64) -> Self {
        Self { directory, other: OnceLock::new(), most }
    }

    /// Also limits the files below another directory to the same number of bytes. Only the first such call
    /// has an effect.
    pub fn limit_too(&self, other: PathBuf) {
        let _ = self.other.set(other);
    }

    /// Returns the directory whose limit applies to a path.
    fn directory(&self, path: &Path) -> &Path {
        self.other.get().filter(|other| path.starts_with(other)).unwrap_or(&self.directory)
    }

    fn left(&self, path: &Path) -> io::Result<u64> {
        let directory = self.directory(path);
        let mut used = tree_bytes(directory)?;
        // A link leads to files that are not below the directory, such as one in the place of `layers`.
        let below = path.ancestors().take_while(|path| path.starts_with(directory) && *path != directory);
        for link in below.filter(|path| path.is_symlink()) {
            used += tree_bytes(link)?;
        }
        Ok(self.most.saturating_sub(used))
    }
}

impl Disk for LimitedDisk {
    fn create(&self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        if self.left(path)? == 0 {
            return Err(io::Error::new(
                io::ErrorKind::StorageFull,
                format!(
                    "the files in {} have used up the {} bytes of --disk-limit",
                    self.directory(path).display(),
                    self.most
                ),
            ));
        }
        LocalDisk.create(path)
    }

    fn free_bytes(&self, path: &Path) -> io::Result<u64> {
        Ok(free_bytes(path)?.min(self.left(path)?))
    }

    fn limit_bytes(&self) -> Option<u64> {
        Some(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn create_fails_beyond_the_limit() {
        let directory = tempfile::tempdir().unwrap();
        let disk = LimitedDisk::new(directory.path().into(), 1 << 16);
        assert_eq!(disk.free_bytes(directory.path()).unwrap(), 1 << 16);
        let path = directory.path().join("file");
        let mut file = disk.create(&path).unwrap();
        file.write_at(&[7; 1 << 16], 0).unwrap();
        file.sync().unwrap();
        assert_eq!(disk.free_bytes(directory.path()).unwrap(), 0);
        let error = disk.create(&directory.path().join("other")).map(drop).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull);
        assert!(error.to_string().contains("--disk-limit"), "{error}");
        disk.remove(&path).unwrap();
        disk.create(&directory.path().join("other")).unwrap();
    }

    #[test]
    fn linked_files_count_towards_the_limit() {
        let [own, other] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let disk = LimitedDisk::new(own.path().into(), 1 << 16);
        let link = own.path().join("link");
        std::os::unix::fs::symlink(other.path(), &link).unwrap();
        let mut file = disk.create(&link.join("file")).unwrap();
        file.write_at(&[7; 1 << 16], 0).unwrap();
        file.sync().unwrap();
        let full = disk.create(&link.join("more")).map(drop).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
    }

    #[test]
    fn second_directory_has_its_own_limit() {
        let [own, shared] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        let disk = LimitedDisk::new(own.path().into(), 1 << 16);
        disk.limit_too(shared.path().into());
        let mut file = disk.create(&shared.path().join("file")).unwrap();
        file.write_at(&[7; 1 << 16], 0).unwrap();
        file.sync().unwrap();
        let full = disk.create(&shared.path().join("other")).map(drop).unwrap_err();
        assert_eq!(full.kind(), io::ErrorKind::StorageFull);
        disk.create(&own.path().join("other")).unwrap();
    }
}
