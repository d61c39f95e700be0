//! The mark by which a shared store belongs to one run.
//!
//! A layer file tells of which space it is. Two runs of one space have the same files, and each would delete
//! what the other one needs. So a shared store has a mark with an id that only one run's journal has.

use super::{FORMAT, absolute, is_absent, parse, write};
use crate::run::RunError;
use fathom_layer::Disk;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// The name of the mark, in the store.
pub const OWNER: &str = "owner.toml";

/// The mark of a shared store.
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

    /// Makes the mark of a run. A path that is not UTF-8 is written as far as possible, for people.
    pub fn new(id: String, run: &Path) -> Self {
        Self { format: FORMAT, id, run: absolute(run).to_string_lossy().into_owned().into() }
    }

    /// Reads the mark of a store; `None` if there is none.
    ///
    /// # Errors
    /// [`RunError::Store`] if the mark cannot be read or used.
    pub fn of(store: &Path) -> Result<Option<Self>, RunError> {
        let refused =
            |what: String| RunError::Store { path: store.into(), reason: format!("its {OWNER} {what}") };
        match fs::read_to_string(store.join(OWNER)) {
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(refused(format!("cannot be read: {error}"))),
            Ok(text) => parse(&text).map(Some).map_err(refused),
        }
    }

    /// Writes the mark into a store, durably.
    ///
    /// # Errors
    /// If the mark cannot be written.
    pub fn write(&self, store: &Path, disk: &dyn Disk) -> Result<(), RunError> {
        let path = store.join(OWNER);
        write(&path, self, disk).map_err(|source| RunError::Io { action: "write", path, source })
    }
}
