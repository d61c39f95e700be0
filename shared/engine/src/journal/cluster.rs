//! The journal's tables for a run on many hosts: where the layers are, the workers, the holders of files, and
//! the finished shards of the current layer.

use super::{Files, Journal, LayerRow, set_files, totals};
use crate::run::{Depth, MadeShard, ShardId, ShardOrder, ShardReport, Task, WorkerId};
use anyhow::{Context, Result};
use fathom_layer::Digest;
use rusqlite::{Connection, OptionalExtension, params};
use std::borrow::Borrow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use tracing::warn;

/// The place where a run keeps its layers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum LayersAt {
    /// The layers lie in the run's own directory.
    #[default]
    RunDirectory,
    /// The layers lie in another directory, which all hosts of the run can access.
    SharedStore(PathBuf),
    /// The layers lie in the stores of the workers, each shard in some of them.
    Workers,
}

impl LayersAt {
    fn of(text: &str) -> Option<Self> {
        match (text, text.strip_prefix("shared ")) {
            ("run", _) => Some(Self::RunDirectory),
            ("workers", _) => Some(Self::Workers),
            (_, Some(path)) => Some(Self::SharedStore(path.into())),
            _ => None,
        }
    }
}

impl fmt::Display for LayersAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RunDirectory => f.write_str("run"),
            Self::SharedStore(path) => write!(f, "shared {}", path.display()),
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
        LayersAt::of(&text)
            .with_context(|| format!("the layers lie at {text:?}, which this version does not know"))
    }

    /// Begins a new epoch of the coordinator, and sets the place of its layers. Returns the number of the
    /// epoch, from 1.
    pub fn begin_epoch(&mut self, layers_at: &LayersAt) -> Result<u64> {
        self.patiently(|journal| journal.begin_epoch_once(layers_at))
    }

    fn begin_epoch_once(&mut self, layers_at: &LayersAt) -> Result<u64> {
        let transaction = self.database.savepoint()?;
        let before: Option<u64> =
            transaction.query_row("SELECT epoch FROM cluster", [], |row| row.get(0)).optional()?;
        let epoch = before.unwrap_or(0) + 1;
        transaction.execute("DELETE FROM cluster", [])?;
        transaction.execute("INSERT INTO cluster VALUES (?1, ?2)", params![epoch, layers_at.to_string()])?;
        // Journals of earlier versions do not have this table.
        transaction.execute("CREATE TABLE IF NOT EXISTS untold (epoch INTEGER PRIMARY KEY)", [])?;
        transaction.execute("INSERT INTO untold VALUES (?1)", [epoch])?;
        transaction.commit()?;
        Ok(epoch)
    }

    /// Returns the id by which a shared store belongs to this run; `None` if the run never had one.
    pub fn store_id(&self) -> Result<Option<String>> {
        if !self.database.table_exists(None, "store_id")? {
            return Ok(None);
        }
        Ok(self.database.query_row("SELECT id FROM store_id", [], |row| row.get(0)).optional()?)
    }

    /// Records the id by which a shared store belongs to this run.
    pub fn save_store_id(&mut self, id: &str) -> Result<()> {
        self.patiently(|journal| {
            let transaction = journal.database.savepoint()?;
            // Journals of earlier versions do not have this table.
            transaction.execute("CREATE TABLE IF NOT EXISTS store_id (id TEXT NOT NULL)", [])?;
            transaction.execute("DELETE FROM store_id", [])?;
            transaction.execute("INSERT INTO store_id VALUES (?1)", [id])?;
            Ok(transaction.commit()?)
        })
    }

    /// Records that the workers of all epochs were told how the run ended.
    pub fn note_told(&mut self) -> Result<()> {
        self.patiently(|journal| Ok(journal.database.execute("DELETE FROM untold", []).map(drop)?))
    }

    /// Returns whether workers of an earlier epoch may wait for the coordinator: that epoch was cut short, or
    /// the coordinator went away while the run went on.
    pub fn has_untold(&self) -> Result<bool> {
        if !self.database.table_exists(None, "untold")? {
            return Ok(false);
        }
        Ok(self.database.query_row("SELECT EXISTS (SELECT * FROM untold)", [], |row| row.get(0))?)
    }

    /// Records the order in which workers get the shards of this run.
    pub fn save_shard_order(&mut self, order: &ShardOrder) -> Result<()> {
        self.patiently(|journal| {
            let transaction = journal.database.savepoint()?;
            // Journals of earlier versions do not have this table.
            let columns = "place INTEGER PRIMARY KEY, shard INTEGER NOT NULL";
            transaction.execute(&format!("CREATE TABLE IF NOT EXISTS shard_order ({columns})"), [])?;
            transaction.execute("DELETE FROM shard_order", [])?;
            {
                let mut insert = transaction.prepare("INSERT INTO shard_order VALUES (?1, ?2)")?;
                for (place, shard) in order.shards().iter().enumerate() {
                    insert.execute(params![place, shard.0])?;
                }
            }
            Ok(transaction.commit()?)
        })
    }

    /// Returns the order in which workers get the shards of this run, of which there are `shards`; `None` if
    /// no order was recorded, or one that does not list each shard once.
    pub fn shard_order(&self, shards: u32) -> Result<Option<ShardOrder>> {
        if !self.database.table_exists(None, "shard_order")? {
            return Ok(None);
        }
        let mut query = self.database.prepare("SELECT shard FROM shard_order ORDER BY place LIMIT ?1")?;
        let rows = query.query_map([u64::from(shards) + 1], |row| Ok(row.get(0).map(ShardId)))?;
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        // A number that is none of a shard, or no number, is like a shard that lacks.
        let listed: Option<Vec<ShardId>> = rows.into_iter().map(Result::ok).collect();
        let order = listed.and_then(ShardOrder::of).filter(|order| order.shards().len() == shards as usize);
        if order.is_none() {
            warn!("the order of shards in run.db does not list each shard once, and is not used");
        }
        Ok(order)
    }

    /// Records a worker, or replaces its name and address.
    pub fn save_worker(&mut self, worker: WorkerId, name: &str, address: &str) -> Result<()> {
        self.patiently(|journal| {
            let row = params![worker.0, name, address];
            journal.database.execute("INSERT OR REPLACE INTO worker VALUES (?1, ?2, ?3)", row)?;
            Ok(())
        })
    }

    /// Records that a worker is set aside: an audit has shown that its results were wrong, so it gets no more
    /// tasks.
    pub fn set_aside(&mut self, worker: WorkerId) -> Result<()> {
        self.patiently(|journal| {
            // Journals of earlier versions do not have this table.
            journal.database.execute("CREATE TABLE IF NOT EXISTS set_aside (worker BLOB PRIMARY KEY)", [])?;
            journal.database.execute("INSERT OR IGNORE INTO set_aside VALUES (?1)", params![worker.0])?;
            Ok(())
        })
    }

    /// Returns the workers that were set aside.
    pub fn workers_set_aside(&self) -> Result<BTreeSet<WorkerId>> {
        if !self.database.table_exists(None, "set_aside")? {
            return Ok(BTreeSet::new());
        }
        let mut query = self.database.prepare("SELECT worker FROM set_aside")?;
        let rows = query.query_map([], |row| Ok(WorkerId(row.get(0)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Deletes the reports of these tasks of the current layer and the holders of their files, and records
    /// the tasks as disowned: stores may still have wrong files of them.
    pub fn forget_reports(&mut self, tasks: &[Task]) -> Result<()> {
        self.patiently(|journal| {
            let transaction = journal.database.savepoint()?;
            create_makers(&transaction)?;
            note_tasks(&transaction, "disowned", tasks)?;
            for Task { depth, shard } in tasks {
                for table in ["report", "holder", "maker"] {
                    let row = params![depth.0, shard.0];
                    transaction
                        .execute(&format!("DELETE FROM {table} WHERE depth = ?1 AND shard = ?2"), row)?;
                }
            }
            Ok(transaction.commit()?)
        })
    }

    /// Returns the tasks of which stores may have wrong files.
    pub fn disowned(&self) -> Result<BTreeSet<Task>> {
        self.tasks_of("disowned")
    }

    /// Records that two results of a shard of the current layer differ.
    pub fn doubt(&mut self, task: Task) -> Result<()> {
        self.patiently(|journal| note_tasks(&journal.database, "doubted", &[task]))
    }

    /// Returns the shards of which two results differed.
    pub fn doubted(&self) -> Result<BTreeSet<Task>> {
        self.tasks_of("doubted")
    }

    /// Deletes the reports of these tasks as [`Journal::forget_reports`] does, and all that is recorded
    /// of differing results: the tasks are made again without any of them.
    pub fn disown_doubted(&mut self, tasks: &[Task]) -> Result<()> {
        self.forget_reports(tasks)?;
        self.patiently(|journal| {
            if journal.database.table_exists(None, "doubted")? {
                journal.database.execute("DELETE FROM doubted", [])?;
            }
            Ok(())
        })
    }

    /// Returns the tasks whose files may be wrong, as a coordinator has found: of which two results differ,
    /// or that are disowned and were not reported since. Only those of the current layer matter.
    pub fn doubtful(&self) -> Result<BTreeSet<Task>> {
        let (disowned, reported) = (self.disowned()?, self.tasks_of("report")?);
        Ok(disowned.difference(&reported).copied().chain(self.doubted()?).collect())
    }

    /// Returns the tasks in a table, none if the table was not made.
    fn tasks_of(&self, table: &str) -> Result<BTreeSet<Task>> {
        if !self.database.table_exists(None, table)? {
            return Ok(BTreeSet::new());
        }
        let mut query = self.database.prepare(&format!("SELECT depth, shard FROM {table}"))?;
        let task =
            |row: &rusqlite::Row<'_>| Ok(Task { depth: Depth(row.get(0)?), shard: ShardId(row.get(1)?) });
        let rows = query.query_map([], task)?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns all workers that ever registered: identifier, name and address.
    pub fn workers(&self) -> Result<Vec<(WorkerId, String, String)>> {
        let mut query = self.database.prepare("SELECT id, name, address FROM worker ORDER BY id")?;
        let rows = query.query_map([], |row| Ok((WorkerId(row.get(0)?), row.get(1)?, row.get(2)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the holders of the files of the newest layers.
    pub fn holders(&self) -> Result<Vec<(Task, WorkerId)>> {
        let mut query = self.database.prepare("SELECT depth, shard, worker FROM holder")?;
        let rows = query.query_map([], |row| {
            let task = Task { depth: Depth(row.get(0)?), shard: ShardId(row.get(1)?) };
            Ok((task, WorkerId(row.get(2)?)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Records finished shards of the current layer, each with the worker that computed it, if that is known,
    /// and the holders of their files.
    pub fn save_reports(&mut self, made: &[MadeShard], held: &[(Task, WorkerId)]) -> Result<()> {
        self.patiently(|journal| journal.save_reports_once(made, held))
    }

    fn save_reports_once(&mut self, made: &[MadeShard], held: &[(Task, WorkerId)]) -> Result<()> {
        let transaction = self.database.savepoint()?;
        let reports: Vec<&ShardReport> = made.iter().map(|(report, _)| &**report).collect();
        note_reports(&transaction, &reports)?;
        note_makers(&transaction, made)?;
        note_holders(&transaction, held)?;
        transaction.commit()?;
        Ok(())
    }

    /// Returns the workers that computed the finished shards of the current layer, as far as they are known.
    pub fn makers(&self) -> Result<BTreeMap<Task, WorkerId>> {
        if !self.database.table_exists(None, "maker")? {
            return Ok(BTreeMap::new());
        }
        let mut query = self
            .database
            .prepare("SELECT depth, shard, worker FROM maker JOIN report USING (depth, shard)")?;
        let rows = query.query_map([], |row| {
            let task = Task { depth: Depth(row.get(0)?), shard: ShardId(row.get(1)?) };
            Ok((task, WorkerId(row.get(2)?)))
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Does a [checkpoint](Journal::checkpoint) that also records finished shards of the current layer, and
    /// that the shards of the layer at `older` from which they were made may be deleted. The layer at `older`
    /// counts as removed from then on.
    pub fn give_back(&mut self, reports: &[ShardReport], older: Depth) -> Result<()> {
        let given = reports.iter().map(|report| (Task { depth: older, shard: report.task.shard }, false));
        let given: Vec<(Task, bool)> = given.collect();
        self.checkpoint_with(|transaction| {
            note_reports(transaction, reports)?;
            note_given_back(transaction, &given)
        })?;
        self.forget_files(older);
        Ok(())
    }

    /// Records that `files` of the older layer may be deleted, and who holds the shards made from them. The
    /// flag of a file tells whether an audit agreed with the shard that was made from it. The older layer
    /// counts as removed from then on.
    pub fn give_back_held(&mut self, files: &[(Task, bool)], held: &[(Task, WorkerId)]) -> Result<()> {
        self.patiently(|journal| {
            let transaction = journal.database.savepoint()?;
            note_holders(&transaction, held)?;
            note_given_back(&transaction, files)?;
            Ok(transaction.commit()?)
        })?;
        if let Some((file, _)) = files.first() {
            self.forget_files(file.depth);
        }
        Ok(())
    }

    fn forget_files(&mut self, depth: Depth) {
        if let Some(known) = &mut self.known {
            known.note_files(Some(depth), Files::Removed);
        }
    }

    /// Returns the shards of the current layer, the one after `layers`, whose sources two depths before may
    /// have been deleted. The value of a shard tells whether an audit agreed with it.
    pub fn given_back(&self, layers: &[LayerRow]) -> Result<BTreeMap<ShardId, bool>> {
        let older = layers.len().checked_sub(2).and_then(|older| layers.get(older));
        let Some(older) = older else { return Ok(BTreeMap::new()) };
        if !self.database.table_exists(None, "given_back")? {
            return Ok(BTreeMap::new());
        }
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

/// Records tasks in a table of their own, which journals of earlier versions do not have.
fn note_tasks(database: &Connection, table: &str, tasks: &[Task]) -> Result<()> {
    let columns = "depth INTEGER NOT NULL, shard INTEGER NOT NULL, PRIMARY KEY (depth, shard)";
    database.execute(&format!("CREATE TABLE IF NOT EXISTS {table} ({columns})"), [])?;
    for Task { depth, shard } in tasks {
        let row = params![depth.0, shard.0];
        database.execute(&format!("INSERT OR IGNORE INTO {table} VALUES (?1, ?2)"), row)?;
    }
    Ok(())
}

/// Records finished shards, replacing their earlier reports.
fn note_reports<R: Borrow<ShardReport>>(database: &Connection, reports: &[R]) -> Result<()> {
    let mut insert =
        database.prepare("INSERT OR REPLACE INTO report VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)")?;
    for report in reports.iter().map(Borrow::borrow) {
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

/// Records who computed finished shards, replacing what was known of them.
fn note_makers(database: &Connection, made: &[MadeShard]) -> Result<()> {
    create_makers(database)?;
    let mut delete = database.prepare_cached("DELETE FROM maker WHERE depth = ?1 AND shard = ?2")?;
    let mut insert = database.prepare_cached("INSERT INTO maker VALUES (?1, ?2, ?3)")?;
    if let Some((report, _)) = made.first() {
        // Nothing reads the makers of earlier layers any more.
        database.execute("DELETE FROM maker WHERE depth < ?1", [report.task.depth.0])?;
    }
    for (report, maker) in made {
        let Task { depth, shard } = report.task;
        delete.execute(params![depth.0, shard.0])?;
        if let Some(worker) = maker {
            insert.execute(params![depth.0, shard.0, worker.0])?;
        }
    }
    Ok(())
}

/// Makes the table of makers, which journals of earlier versions do not have.
fn create_makers(database: &Connection) -> Result<()> {
    let columns =
        "depth INTEGER NOT NULL, shard INTEGER NOT NULL, worker BLOB NOT NULL, PRIMARY KEY (depth, shard)";
    database.execute(&format!("CREATE TABLE IF NOT EXISTS maker ({columns})"), [])?;
    Ok(())
}

/// Records that files of one layer may be deleted, and marks the layer as removed. Rows of earlier layers are
/// deleted, because nothing reads them any more.
fn note_given_back(database: &Connection, files: &[(Task, bool)]) -> Result<()> {
    let Some((Task { depth, .. }, _)) = files.first() else {
        return Ok(());
    };
    // Journals of earlier versions do not have this table.
    let columns = "depth INTEGER NOT NULL, shard INTEGER NOT NULL, audited INTEGER NOT NULL, PRIMARY KEY (depth, shard)";
    database.execute(&format!("CREATE TABLE IF NOT EXISTS given_back ({columns})"), [])?;
    database.execute("DELETE FROM given_back WHERE depth < ?1", [depth.0])?;
    let mut insert = database.prepare("INSERT OR REPLACE INTO given_back VALUES (?1, ?2, ?3)")?;
    for (Task { depth, shard }, audited) in files {
        insert.execute(params![depth.0, shard.0, audited])?;
    }
    set_files(database, *depth, Files::Removed)
}

/// Records the holders of files, replacing all earlier holders of the same files.
pub(super) fn note_holders(database: &Connection, holders: &[(Task, WorkerId)]) -> Result<()> {
    let mut delete = database.prepare_cached("DELETE FROM holder WHERE depth = ?1 AND shard = ?2")?;
    let mut insert = database.prepare_cached("INSERT OR IGNORE INTO holder VALUES (?1, ?2, ?3)")?;
    for (task, _) in holders {
        delete.execute(params![task.depth.0, task.shard.0])?;
    }
    for (task, worker) in holders {
        insert.execute(params![task.depth.0, task.shard.0, worker.0])?;
    }
    Ok(())
}
