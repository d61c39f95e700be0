//! What can be wrong with a layer file.

use crate::Digest;
use std::io;
use std::path::{Path, PathBuf};

/// Every variant names the file and carries the evidence.
#[derive(Debug, thiserror::Error)]
pub enum LayerError {
    /// The operating system refused.
    #[error("cannot {action} {path}", path = path.display())]
    Io {
        /// What was tried, as a verb.
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why it failed.
        source: io::Error,
    },
    /// The file does not begin as layer files do.
    #[error("{path} is no layer file: it begins with {got:02x?}", path = path.display())]
    NotALayer {
        /// The file.
        path: PathBuf,
        /// Its first bytes.
        got: Vec<u8>,
    },
    /// Written by a later version.
    #[error("{path} has layer format {got}, and this version of Fathom reads up to {supported}: use a newer version", path = path.display())]
    NewerFormat {
        /// The file.
        path: PathBuf,
        /// Its format version.
        got: u32,
        /// The newest that is understood.
        supported: u32,
    },
    /// Header bytes that do not match their checksum, or fields that contradict each other.
    #[error("{path} has a damaged header: {reason}", path = path.display())]
    DamagedHeader {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        reason: String,
    },
    /// The file belongs to another run, or to another place in this run.
    #[error("{path} does not belong here: its {field} is {got}, expected {expected}", path = path.display())]
    Misplaced {
        /// The file.
        path: PathBuf,
        /// The header field that differs.
        field: &'static str,
        /// What the file says.
        got: String,
        /// What belongs there.
        expected: String,
    },
    /// Shorter or longer than its header says.
    #[error("{path} has {got} bytes, but its header says {expected}: it was truncated or overwritten", path = path.display())]
    WrongLength {
        /// The file.
        path: PathBuf,
        /// Its length.
        got: u64,
        /// The length in the header.
        expected: u64,
    },
    /// Directory bytes that do not match their checksum.
    #[error("{path} has a damaged directory: checksum {got}, expected {expected}", path = path.display())]
    DamagedDirectory {
        /// The file.
        path: PathBuf,
        /// The checksum of what is there.
        got: String,
        /// The checksum in the header.
        expected: String,
    },
    /// Whole, and of this place in this run, but with other states than were committed.
    #[error("{path} is not the file that was committed: its states have the digest {got}, expected {expected}", path = path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
        /// The digest of what is there.
        got: Digest,
        /// The digest of what was committed.
        expected: Digest,
    },
    /// The data of one coset do not match its directory entry.
    #[error("{path} is damaged at coset {coset} (offset {offset}, {length} bytes): {reason}", path = path.display())]
    DamagedCoset {
        /// The file.
        path: PathBuf,
        /// The coset, numbered in the whole space.
        coset: u32,
        /// The offset of its data.
        offset: u64,
        /// How long they are.
        length: u32,
        /// What does not fit.
        reason: String,
    },
}

impl LayerError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Io { action, path: path.into(), source }
    }

    /// Whether what is there is not what was written: a file of this name can be made anew.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::NotALayer { .. }
            | Self::DamagedHeader { .. }
            | Self::WrongLength { .. }
            | Self::DamagedDirectory { .. }
            | Self::Replaced { .. }
            | Self::DamagedCoset { .. } => true,
            Self::Io { .. } | Self::NewerFormat { .. } | Self::Misplaced { .. } => false,
        }
    }

    /// The file that it is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::NotALayer { path, .. }
            | Self::NewerFormat { path, .. }
            | Self::DamagedHeader { path, .. }
            | Self::Misplaced { path, .. }
            | Self::WrongLength { path, .. }
            | Self::DamagedDirectory { path, .. }
            | Self::Replaced { path, .. }
            | Self::DamagedCoset { path, .. } => path,
        }
    }

    /// Whether there is no such file.
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }

    /// Whether there is no room for the file because its owner may not take more of the disk.
    pub fn is_quota(&self) -> bool {
        matches!(self, Self::Io { source, .. } if source.kind() == io::ErrorKind::QuotaExceeded)
    }

    /// Whether there is no room for the file: the disk is full, or this process may not write more.
    pub fn is_disk_full(&self) -> bool {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        matches!(self, Self::Io { source, .. } if matches!(source.kind(), StorageFull | QuotaExceeded | FileTooLarge))
    }
}
