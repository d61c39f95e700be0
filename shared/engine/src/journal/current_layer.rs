//! The journal's tables for the current layer, the one that is being computed: its finished shards, which of
//! them may be wrong, and the shards that were released for it.

use super::{Change, Files, Journal, LayerRow, set_files, totals};
use crate::run::{Depth, ShardId, ShardReport, Task};
use anyhow::Result;
use fathom_layer::Digest;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};

/// The identity of the process that computed a shard, if several processes compute a layer. The caller
/// chooses it.
pub type Producer = [u8; 16];

impl Journal {
    /// Returns the tasks for which stores may have wrong files.
    pub fn invalidated(&self) -> Result<BTreeSet<Task>> {
        self.tasks_of("invalidated")
    }

    /// Records that two results of a shard of the current layer differ.
    pub fn doubt(&mut self, task: Task) -> Result<()> {
        self.patiently(|journal| note_tasks(&journal.database, "suspected", &[task]))
    }

    /// Returns the shards for which two results differed.
    pub fn suspected(&self) -> Result<BTreeSet<Task>> {
        self.tasks_of("suspected")
    }

    /// Deletes the reports of these tasks as [`Change::forget_reports`] does, and all records of differing
    /// results. The tasks are then computed again from scratch.
    pub fn disown_doubted(&mut self, tasks: &[Task]) -> Result<()> {
        self.change(|change| change.forget_reports(tasks))?;
        self.patiently(|journal| Ok(journal.database.execute("DELETE FROM suspected", []).map(drop)?))
    }

    /// Returns the tasks whose files may be wrong according to a coordinator: those with two different
    /// results, and those that were invalidated and not reported since. Only those of the current layer
    /// matter.
    pub fn suspect(&self) -> Result<BTreeSet<Task>> {
        let (invalidated, reported) = (self.invalidated()?, self.tasks_of("report")?);
        Ok(invalidated.difference(&reported).copied().chain(self.suspected()?).collect())
    }

    /// Returns the tasks in a table.
    fn tasks_of(&self, table: &str) -> Result<BTreeSet<Task>> {
        let mut query = self.database.prepare(&format!("SELECT depth, shard FROM {table}"))?;
        let task =
            |row: &rusqlite::Row<'_>| Ok(Task { depth: Depth(row.get(0)?), shard: ShardId(row.get(1)?) });
        let rows = query.query_map([], task)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the producers of the finished shards of the current layer, as far as that is known.
    pub fn producers(&self) -> Result<BTreeMap<Task, Producer>> {
        let mut query = self
            .database
            .prepare("SELECT depth, shard, worker FROM producer JOIN report USING (depth, shard)")?;
        let rows = query.query_map([], |row| {
            let task = Task { depth: Depth(row.get(0)?), shard: ShardId(row.get(1)?) };
            Ok((task, row.get(2)?))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Does a [checkpoint](Journal::checkpoint) that also records finished shards of the current layer, and
    /// that the shards of the layer at `older` from which they were computed may be deleted. The layer at
    /// `older` counts as removed from then on.
    pub fn give_back(&mut self, reports: &[ShardReport], older: Depth) -> Result<()> {
        let files = reports.iter().map(|report| (Task { depth: older, shard: report.task.shard }, false));
        let files: Vec<(Task, bool)> = files.collect();
        self.checkpoint_with(|change| {
            note_reports(change.database(), reports)?;
            change.give_back(&files)
        })
    }

    /// Returns the shards of the current layer, the one after `layers`, whose sources two depths before may
    /// have been deleted. The value of a shard says whether an audit agreed with it.
    pub fn given_back(&self, layers: &[LayerRow]) -> Result<BTreeMap<ShardId, bool>> {
        let older = layers.len().checked_sub(2).and_then(|older| layers.get(older));
        let Some(older) = older else { return Ok(BTreeMap::new()) };
        let mut query = self.database.prepare("SELECT shard, audited FROM given_back WHERE depth = ?1")?;
        let rows = query.query_map([older.depth.0], |row| Ok((ShardId(row.get(0)?), row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the reports of the finished shards of the current layer.
    pub fn reports(&self) -> Result<Vec<ShardReport>> {
        let mut query = self.database.prepare(
            "SELECT depth, shard, stored, states, pairs, inverse_pairs, bytes, watched, checksums
             FROM report ORDER BY depth, shard",
        )?;
        let rows = query.query_map([], |row| {
            let (watched, checksums): (String, Vec<u8>) = (row.get(7)?, row.get(8)?);
            Ok((
                ShardReport {
                    task: Task { depth: Depth(row.get(0)?), shard: ShardId(row.get(1)?) },
                    totals: totals(row)?,
                    bytes: row.get(6)?,
                    checksums: checksums.as_chunks().0.iter().map(|&checksum| Digest(checksum)).collect(),
                    watched: Vec::new(),
                },
                watched,
            ))
        })?;
        rows.map(|row| {
            let (report, watched) = row?;
            Ok(ShardReport { watched: serde_json::from_str(&watched)?, ..report })
        })
        .collect()
    }

    /// Returns the number of finished shards of the current layer.
    pub fn shards_done(&self) -> Result<u64> {
        Ok(self.database.query_row("SELECT count(*) FROM report", [], |row| row.get(0))?)
    }
}

impl Change<'_> {
    /// Records finished shards of the current layer, each with its producer, if that is known.
    pub fn save_reports(&self, made: &[(&ShardReport, Option<Producer>)]) -> Result<()> {
        note_reports(self.database(), made.iter().map(|(report, _)| *report))?;
        note_producers(self.database(), made)
    }

    /// Deletes the reports of these tasks of the current layer, and records the tasks as invalidated: stores
    /// may still have wrong files for them.
    pub fn forget_reports(&self, tasks: &[Task]) -> Result<()> {
        let database = self.database();
        note_tasks(database, "invalidated", tasks)?;
        for Task { depth, shard } in tasks {
            for table in ["report", "producer"] {
                let row = params![depth.0, shard.0];
                database.execute(&format!("DELETE FROM {table} WHERE depth = ?1 AND shard = ?2"), row)?;
            }
        }
        Ok(())
    }

    /// Records that `files` of the older layer may be deleted. The flag of a file says whether an audit
    /// agreed with the shard that was computed from it. The older layer counts as removed from then on.
    pub fn give_back(&mut self, files: &[(Task, bool)]) -> Result<()> {
        note_given_back(&self.transaction, files)?;
        self.removed = files.first().map(|(file, _)| file.depth);
        Ok(())
    }
}

/// Records tasks in a table of their own.
fn note_tasks(database: &Connection, table: &str, tasks: &[Task]) -> Result<()> {
    for Task { depth, shard } in tasks {
        let row = params![depth.0, shard.0];
        database.execute(&format!("INSERT OR IGNORE INTO {table} VALUES (?1, ?2)"), row)?;
    }
    Ok(())
}

/// Records finished shards, replacing their earlier reports.
fn note_reports<'r>(database: &Connection, reports: impl IntoIterator<Item = &'r ShardReport>) -> Result<()> {
    let mut insert =
        database.prepare("INSERT OR REPLACE INTO report VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for report in reports {
        let checksums = Digest::concatenated(&report.checksums);
        insert.execute(params![
            report.task.depth.0,
            report.task.shard.0,
            report.totals.stored,
            report.totals.states,
            report.totals.pairs,
            report.totals.inverse_pairs,
            report.bytes,
            serde_json::to_string(&report.watched)?,
            checksums
        ])?;
    }
    Ok(())
}

/// Records the producers of finished shards, replacing earlier records.
fn note_producers(database: &Connection, made: &[(&ShardReport, Option<Producer>)]) -> Result<()> {
    let mut delete = database.prepare_cached("DELETE FROM producer WHERE depth = ?1 AND shard = ?2")?;
    let mut insert = database.prepare_cached("INSERT INTO producer VALUES (?1, ?2, ?3)")?;
    if let Some((report, _)) = made.first() {
        // Nothing reads the producers of earlier layers any more.
        database.execute("DELETE FROM producer WHERE depth < ?1", [report.task.depth.0])?;
    }
    for (report, producer) in made {
        let Task { depth, shard } = report.task;
        delete.execute(params![depth.0, shard.0])?;
        if let Some(producer) = producer {
            insert.execute(params![depth.0, shard.0, producer])?;
        }
    }
    Ok(())
}

/// Records that files of one layer may be deleted, and marks the layer as removed. Rows of earlier layers are
/// deleted, because nothing reads them any more.
fn note_given_back(database: &Connection, files: &[(Task, bool)]) -> Result<()> {
    let Some((Task { depth, .. }, _)) = files.first() else {
        return Ok(());
    };
    database.execute("DELETE FROM given_back WHERE depth < ?1", [depth.0])?;
    let mut insert = database.prepare("INSERT OR REPLACE INTO given_back VALUES (?1, ?2, ?3)")?;
    for (Task { depth, shard }, audited) in files {
        insert.execute(params![depth.0, shard.0, audited])?;
    }
    set_files(database, *depth, Files::Removed)
}
