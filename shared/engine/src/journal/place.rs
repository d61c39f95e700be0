//! Where the layers of a run are stored.

use super::{Change, Journal};
use anyhow::{Context, Result};
use rusqlite::{OptionalExtension, params};
use std::fmt;
use std::path::PathBuf;

/// The place where a run keeps its layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LayersAt {
    /// The layers are in the run's own directory.
    #[default]
    RunDirectory,
    /// The layers are in another directory, which all processes of the run can access.
    Store(PathBuf),
    /// The layers are in the stores of the workers, each shard in some of them.
    Workers,
}

impl LayersAt {
    fn new(text: &str) -> Option<Self> {
        match (text, text.strip_prefix("store ")) {
            ("run", _) => Some(Self::RunDirectory),
            ("workers", _) => Some(Self::Workers),
            (_, Some(path)) => Some(Self::Store(path.into())),
            _ => None,
        }
    }
}

impl fmt::Display for LayersAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunDirectory => f.write_str("run"),
            Self::Store(path) => write!(f, "store {}", path.display()),
            Self::Workers => f.write_str("workers"),
        }
    }
}

impl Journal {
    /// Returns the place of the run's layers.
    ///
    /// # Errors
    /// If the journal cannot be read, or names a place that this version does not know.
    pub fn layers_at(&self) -> Result<LayersAt> {
        let query =
            self.database.query_row("SELECT layers_at FROM cluster", [], |row| row.get(0)).optional()?;
        let Some(text): Option<String> = query else {
            return Ok(LayersAt::RunDirectory);
        };
        LayersAt::new(&text)
            .with_context(|| format!("this version does not know the place {text:?} of the layers"))
    }

    /// Records where the layers of a new run, which was not served yet, are stored.
    pub fn set_layers_at(&mut self, layers_at: &LayersAt) -> Result<()> {
        self.database.execute("DELETE FROM cluster", [])?;
        self.database.execute("INSERT INTO cluster VALUES (0, ?1)", [layers_at.to_string()])?;
        Ok(())
    }

    /// Returns the id by which a shared store belongs to this run; `None` if the run never had one.
    pub fn store_id(&self) -> Result<Option<String>> {
        Ok(self.database.query_row("SELECT id FROM store_id", [], |row| row.get(0)).optional()?)
    }

    /// Records the id by which a shared store belongs to this run.
    pub fn save_store_id(&mut self, id: &str) -> Result<()> {
        self.patiently(|journal| {
            let transaction = journal.database.transaction()?;
            transaction.execute("DELETE FROM store_id", [])?;
            transaction.execute("INSERT INTO store_id VALUES (?1)", [id])?;
            Ok(transaction.commit()?)
        })
    }
}

impl Change<'_> {
    /// Records where the layers of the run are stored from now on. Returns how often that was recorded,
    /// including this time: a coordinator records it when it starts, and uses the number as its epoch.
    pub fn set_layers_at(&self, layers_at: &LayersAt) -> Result<u64> {
        let database = self.database();
        let before: Option<u64> =
            database.query_row("SELECT epoch FROM cluster", [], |row| row.get(0)).optional()?;
        let times = before.unwrap_or(0) + 1;
        database.execute("DELETE FROM cluster", [])?;
        database.execute("INSERT INTO cluster VALUES (?1, ?2)", params![times, layers_at.to_string()])?;
        Ok(times)
    }
}
