//! The mark of a store outside the directory of its run: the run to which the store belongs.
//!
//! A layer file names its space, not its run. Two runs of one space have the same files, and each would
//! delete files that the other one needs. So such a store has a mark with an id that only the journal of its
//! run knows. The mark also distinguishes a store from the empty mount point of a disk that is not mounted.

use crate::run::RunError;
use fathom_layer::Disk;
use fathom_layer::writer::TEMPORARY_SUFFIX;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The name of the mark, in the store.
pub const OWNER: &str = "owner.toml";
/// The format version of the mark.
const FORMAT: u32 = 1;

/// The mark of a store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    format: u32,
    /// The id that the run's journal has, too.
    pub id: String,
    /// The run's directory at the time when the mark was written.
    pub run: PathBuf,
}

impl Owner {
    /// Returns an id that no other run has.
    pub fn new_id() -> String {
        uuid::Uuid::new_v4().simple().to_string()
    }

    /// Makes the mark of a run. A path that is not UTF-8 is written as far as possible, for information.
    pub fn new(id: String, run: &Path) -> Self {
        let run = std::path::absolute(run).unwrap_or_else(|_| run.into());
        Self { format: FORMAT, id, run: run.to_string_lossy().into_owned().into() }
    }

    /// Reads the mark of a store; `None` if there is none.
    ///
    /// # Errors
    /// [`RunError::Store`] if the mark cannot be read or used.
    pub fn of(store: &Path) -> Result<Option<Self>, RunError> {
        let refused =
            |what: String| RunError::Store { path: store.into(), reason: format!("its {OWNER} {what}") };
        match fs::read_to_string(store.join(OWNER)) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(refused(format!("cannot be read: {error}"))),
            Ok(text) => Self::parse(&text).map(Some).map_err(refused),
        }
    }

    /// Writes the mark into a store, durably.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub fn write(&self, store: &Path, disk: &dyn Disk) -> Result<(), RunError> {
        let path = store.join(OWNER);
        let write = || -> io::Result<()> {
            let text = toml::to_string(self).map_err(io::Error::other)?;
            // Only the process that has the lock of the run writes the mark.
            let mut temporary = OsString::from(&path);
            temporary.push(TEMPORARY_SUFFIX);
            let temporary = Path::new(&temporary);
            let mut file = disk.create(temporary)?;
            file.write_at(text.as_bytes(), 0)?;
            file.sync()?;
            disk.rename(temporary, &path)?;
            disk.sync_directory(store)
        };
        write().map_err(|source| RunError::Io { action: "write", path: path.clone(), source })
    }

    fn parse(text: &str) -> Result<Self, String> {
        #[derive(Deserialize)]
        struct Version {
            format: u32,
        }
        let damaged = |error: toml::de::Error| format!("is damaged: {}", error.message());
        let Version { format } = toml::from_str(text).map_err(damaged)?;
        if format > FORMAT {
            return Err(format!("has format {format}, but this version of Fathom reads up to {FORMAT}"));
        }
        toml::from_str(text).map_err(damaged)
    }
}
