//! The time that the threads of a search spent on each activity, by depth.

use super::Journal;
use crate::run::Depth;
use crate::task::Waits;
use anyhow::Result;
use rusqlite::{Connection, params};

impl Journal {
    /// Returns the times of the threads of processes that searched without workers, by depth.
    pub fn waits(&self) -> Result<Vec<(Depth, Waits)>> {
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
    let Waits { kernel, sources, subtract, write, sync, barrier } = *waits;
    let mut insert =
        database.prepare_cached("INSERT OR REPLACE INTO wait VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    insert.execute(params![depth.0, kernel, sources, subtract, write, sync, barrier])?;
    Ok(())
}
