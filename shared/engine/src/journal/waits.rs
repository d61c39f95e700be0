//! The time that the threads of a search spent on each activity, by depth.
//!
//! The table is created with the first layer whose times are known: journals of earlier versions do not have
//! it, and earlier versions do not read it.

use super::Journal;
use crate::run::Depth;
use crate::task::Waits;
use anyhow::Result;
use rusqlite::{Connection, params};

impl Journal {
    /// Returns the times of the threads of processes that searched by themselves, by depth.
    pub fn waits(&self) -> Result<Vec<(Depth, Waits)>> {
        if !self.database.table_exists(None, "wait")? {
            return Ok(Vec::new());
        }
        let mut query = self.database.prepare(
            "SELECT depth, kernel, sources, subtract, write, sync, barrier FROM wait ORDER BY depth",
        )?;
        let rows = query.query_map([], |row| {
            let waits = Waits {
                kernel: row.get(1)?,
                sources: row.get(2)?,
                subtract: row.get(3)?,
                write: row.get(4)?,
                sync: row.get(5)?,
                barrier: row.get(6)?,
            };
            Ok((Depth(row.get(0)?), waits))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

pub(super) fn note(database: &Connection, depth: Depth, waits: &Waits) -> Result<()> {
    let mut create = database.prepare_cached(
        "CREATE TABLE IF NOT EXISTS wait (
             depth INTEGER PRIMARY KEY, kernel REAL NOT NULL, sources REAL NOT NULL, subtract REAL NOT NULL,
             write REAL NOT NULL, sync REAL NOT NULL, barrier REAL NOT NULL)",
    )?;
    create.execute([])?;
    let Waits { kernel, sources, subtract, write, sync, barrier } = *waits;
    let mut insert =
        database.prepare_cached("INSERT OR REPLACE INTO wait VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    insert.execute(params![depth.0, kernel, sources, subtract, write, sync, barrier])?;
    Ok(())
}
