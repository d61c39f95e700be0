//! Changes of the journal in one transaction, in which the calling crate also writes tables of its own.
//!
//! A coordinator has tables in `run.db` that this crate does not know. They must not contradict the journal's
//! own tables after a crash, so both are written in one transaction: a [`Change`], or the commit of a layer
//! with its [`Beside`].

use super::{Files, Journal};
use crate::run::Depth;
use anyhow::Result;
use rusqlite::{Connection, Transaction};

/// Writes tables of the calling crate, in the transaction that commits a layer. The depth is that of the
/// layer whose files are marked as removed.
pub type Beside<'a> = &'a dyn Fn(&Connection, Option<Depth>) -> Result<()>;

/// A change in progress.
#[derive(Debug)]
pub struct Change<'a> {
    pub(super) transaction: Transaction<'a>,
    /// The layer that counts as removed once the change is made.
    pub(super) removed: Option<Depth>,
}

impl Change<'_> {
    /// Returns the database within the transaction, for the tables of the caller.
    pub fn database(&self) -> &Connection {
        &self.transaction
    }
}

impl Journal {
    /// Makes a change in one transaction. If that fails, the journal is unchanged. `change` is called again
    /// if the journal waits and could not be written at first.
    pub fn change<T>(&mut self, mut change: impl FnMut(&mut Change<'_>) -> Result<T>) -> Result<T> {
        let (value, removed) = self.patiently(|journal| {
            let mut changed = Change { transaction: journal.database.transaction()?, removed: None };
            let value = change(&mut changed)?;
            let Change { transaction, removed } = changed;
            transaction.commit()?;
            Ok((value, removed))
        })?;
        if let Some(known) = &mut self.known {
            known.note_files(removed, Files::Removed);
        }
        Ok(value)
    }

    /// Returns the database, to read the tables of the caller.
    pub fn database(&self) -> &Connection {
        &self.database
    }
}
