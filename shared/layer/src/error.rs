//! Errors of layer files.

use crate::Digest;
use std::io;
use std::path::{Path, PathBuf};

/// An error of a layer file. Every variant names the file and gives the evidence.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// The operating system refused an operation.
    #[error("cannot {action} {path}", path = path.display())]
    Io {
        /// The operation, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// The file's directory is no longer the store that it was.
    #[error("cannot use the store {path}: {reason}", path = path.display())]
    Store {
        /// The directory.
        path: PathBuf,
        /// The reason, as a message.
        reason: String,
    },
    /// The file does not begin like a layer file.
    #[error("{path} is not a layer file: it begins with {got:02x?}", path = path.display())]
    NotALayer {
        /// The file.
        path: PathBuf,
        /// The first bytes of the file.
        got: Vec<u8>,
    },
    /// The file was written by a later version.
    #[error("{path} has layer format {got}, and this version of Fathom reads up to {supported}: use a newer version", path = path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// The format version of the file.
        got: u32,
        /// The newest supported version.
        supported: u32,
    },
    /// The header does not match its checksum, or its fields contradict each other.
    #[error("{path} has a damaged header: {reason}", path = path.display())]
    DamagedHeader {
        /// The file.
        path: PathBuf,
        /// The contradiction.
        reason: String,
    },
    /// The file belongs to another run, or to another place in this run.
    #[error("{path} does not belong here: its {field} is {got}, expected {expected}", path = path.display())]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// The header field that differs.
        field: &'static str,
        /// The value in the file.
        got: String,
        /// The expected value.
        expected: String,
    },
    /// The file is shorter or longer than its header says.
    #[error("{path} has {got} bytes, but its header says {expected}: it was truncated or overwritten", path = path.display())]
    WrongLength {
        /// The file.
        path: PathBuf,
        /// The length of the file.
        got: u64,
        /// The length in the header.
        expected: u64,
    },
    /// The directory does not match its checksum.
    #[error("{path} has a damaged directory: checksum {got}, expected {expected}", path = path.display())]
    DamagedDirectory {
        /// The file.
        path: PathBuf,
        /// The checksum of the directory in the file.
        got: String,
        /// The checksum in the header.
        expected: String,
    },
    /// The file is whole and belongs to this place in this run, but has other states than the committed file.
    #[error("{path} is not the file that was committed: its states have the digest {got}, expected {expected}", path = path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// The digest of the file's states.
        got: Digest,
        /// The digest that was committed.
        expected: Digest,
    },
    /// Another program has written to the file while it was open.
    #[error("{path} was changed while it was in use: no other program may write to layer files", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// The data of one coset do not match its directory entry.
    #[error("{path} is damaged at coset {coset} (offset {offset}, {length} bytes): {reason}", path = path.display())]
    DamagedCoset {
        /// The file.
        path: PathBuf,
        /// The coset, numbered in the whole space.
        coset: u32,
        /// The offset of the coset's data.
        offset: u64,
        /// The length of the data in bytes.
        length: u32,
        /// The contradiction.
        reason: String,
    },
    /// The states of one block of a list do not match its index.
    #[error("{path} is damaged at block {block}: {reason}", path = path.display())]
    DamagedBlock {
        /// The file.
        path: PathBuf,
        /// The number of the block.
        block: usize,
        /// The contradiction.
        reason: String,
    },
}

impl LayerError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.into(), source }
    }

    /// Returns whether the file differs from what was written, so that computing it again helps. A file of
    /// another shard of the run is no better than a damaged one.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::NotALayer { .. }
            | Self::DamagedHeader { .. }
            | Self::WrongLength { .. }
            | Self::DamagedDirectory { .. }
            | Self::Replaced { .. }
            | Self::Changed { .. }
            | Self::DamagedCoset { .. }
            | Self::DamagedBlock { .. } => true,
            Self::Misplaced { .. } => self.is_misplaced(),
            Self::Io { .. } | Self::Store { .. } | Self::NewerFormat { .. } => false,
        }
    }

    /// Returns whether the file belongs to another run.
    pub fn is_foreign(&self) -> bool {
        matches!(self, Self::Misplaced { field, .. } if *field == Self::RUN)
    }

    /// Returns whether the file belongs to another place in the same run.
    pub fn is_misplaced(&self) -> bool {
        matches!(self, Self::Misplaced { field, .. } if *field != Self::RUN)
    }

    /// The header field that identifies the run.
    pub(crate) const RUN: &str = "run fingerprint";

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::Store { path, .. }
            | Self::NotALayer { path, .. }
            | Self::NewerFormat { path, .. }
            | Self::DamagedHeader { path, .. }
            | Self::Misplaced { path, .. }
            | Self::WrongLength { path, .. }
            | Self::DamagedDirectory { path, .. }
            | Self::Replaced { path, .. }
            | Self::Changed { path }
            | Self::DamagedCoset { path, .. }
            | Self::DamagedBlock { path, .. } => path,
        }
    }

    /// Returns whether the file does not exist.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Returns whether a disk quota is exceeded.
    pub fn is_quota(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::QuotaExceeded)
    }

    /// Returns whether the file is larger than this process may write (`ulimit -f`), or than its file system
    /// allows.
    pub fn is_file_limit(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::FileTooLarge)
    }

    /// Returns whether there is no space for the file: the disk is full, or this process may not write more.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
