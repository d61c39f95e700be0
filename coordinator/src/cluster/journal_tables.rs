//! The tables of a cluster in `run.db`: how often the run was served, its workers, the holders of files, and
//! the order in which workers get shards.
//!
//! The journal of `fathom-engine` does not know these tables. Data that must not contradict the journal's own
//! are written in one transaction with them. The tables are created when the run is served for the first
//! time; the order of shards is recorded before that.

#[cfg(test)]
mod tests;

use crate::cluster::event::{Held, MadeShard};
use anyhow::Result;
use fathom_engine::journal::{Journal, LayersAt, Producer};
use fathom_engine::run::{Depth, ShardId, ShardOrder, ShardReport, Task};
use fathom_proto::WorkerId;
use rusqlite::{Connection, params};
use std::collections::{BTreeMap, BTreeSet};
use tracing::warn;

/// Starts a new epoch of the coordinator, and sets the place of its layers. Returns the number of the epoch,
/// from 1.
pub fn begin_epoch(journal: &mut Journal, layers_at: &LayersAt) -> Result<u64> {
    journal.change(|change| {
        let epoch = change.set_layers_at(layers_at)?;
        let database = change.database();
        database.execute_batch(
            "CREATE TABLE IF NOT EXISTS worker (id BLOB PRIMARY KEY, name TEXT NOT NULL, address TEXT NOT NULL);
             CREATE TABLE IF NOT EXISTS holder (
                 depth INTEGER NOT NULL, shard INTEGER NOT NULL, worker BLOB NOT NULL,
                 PRIMARY KEY (depth, shard, worker));
             CREATE TABLE IF NOT EXISTS untold (epoch INTEGER PRIMARY KEY);",
        )?;
        database.execute("INSERT INTO untold VALUES (?1)", [epoch])?;
        Ok(epoch)
    })
}

/// Records that the workers of all epochs were informed how the run ended.
pub fn note_told(journal: &mut Journal) -> Result<()> {
    journal.change(|change| Ok(change.database().execute("DELETE FROM untold", []).map(drop)?))
}

/// Returns whether workers of an earlier epoch may wait for the coordinator: that epoch was cut short, or the
/// coordinator shut down while the run continued.
pub fn has_untold(journal: &Journal) -> Result<bool> {
    let database = journal.database();
    if !database.table_exists(None, "untold")? {
        return Ok(false);
    }
    Ok(database.query_row("SELECT EXISTS (SELECT * FROM untold)", [], |row| row.get(0))?)
}

/// Records the order in which workers get the shards of this run.
pub fn save_shard_order(journal: &mut Journal, order: &ShardOrder) -> Result<()> {
    journal.change(|change| {
        let database = change.database();
        let columns = "place INTEGER PRIMARY KEY, shard INTEGER NOT NULL";
        database.execute(&format!("CREATE TABLE IF NOT EXISTS shard_order ({columns})"), [])?;
        database.execute("DELETE FROM shard_order", [])?;
        let mut insert = database.prepare("INSERT INTO shard_order VALUES (?1, ?2)")?;
        for (place, shard) in order.shards().iter().enumerate() {
            insert.execute(params![place, shard.0])?;
        }
        Ok(())
    })
}

/// Returns the order in which workers get the shards of this run, of which there are `shards`; `None` if no
/// order was recorded, or one that does not list each shard once.
pub fn shard_order(journal: &Journal, shards: u32) -> Result<Option<ShardOrder>> {
    let database = journal.database();
    if !database.table_exists(None, "shard_order")? {
        return Ok(None);
    }
    let mut query = database.prepare("SELECT shard FROM shard_order ORDER BY place LIMIT ?1")?;
    let rows = query.query_map([u64::from(shards) + 1], |row| Ok(row.get(0).map(ShardId)))?;
    let rows = rows.collect::<Result<Vec<_>, _>>()?;
    // A value that is not the number of a shard has the same effect as a missing shard.
    let listed: Option<Vec<ShardId>> = rows.into_iter().map(Result::ok).collect();
    let order = listed.and_then(ShardOrder::new).filter(|order| order.shards().len() == shards as usize);
    if order.is_none() {
        warn!("ignoring the order of shards in run.db: it does not list each shard exactly once");
    }
    Ok(order)
}

/// Records a worker, or replaces its name and address.
pub fn save_worker(journal: &mut Journal, worker: WorkerId, name: &str, address: &str) -> Result<()> {
    journal.change(|change| {
        let row = params![worker.0, name, address];
        change.database().execute("INSERT OR REPLACE INTO worker VALUES (?1, ?2, ?3)", row)?;
        Ok(())
    })
}

/// Returns all workers that ever registered: identifier, name and address.
pub fn workers(journal: &Journal) -> Result<Vec<(WorkerId, String, String)>> {
    let database = journal.database();
    if !database.table_exists(None, "worker")? {
        return Ok(Vec::new());
    }
    let mut query = database.prepare("SELECT id, name, address FROM worker ORDER BY id")?;
    let rows = query.query_map([], |row| Ok((WorkerId(row.get(0)?), row.get(1)?, row.get(2)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Records that a worker is quarantined: an audit has shown that its results were wrong, so it gets no more
/// tasks.
pub fn quarantine(journal: &mut Journal, worker: WorkerId) -> Result<()> {
    journal.change(|change| {
        let database = change.database();
        database.execute("CREATE TABLE IF NOT EXISTS quarantined (worker BLOB PRIMARY KEY)", [])?;
        database.execute("INSERT OR IGNORE INTO quarantined VALUES (?1)", params![worker.0])?;
        Ok(())
    })
}

/// Returns the workers that were quarantined.
pub fn workers_set_aside(journal: &Journal) -> Result<BTreeSet<WorkerId>> {
    let database = journal.database();
    if !database.table_exists(None, "quarantined")? {
        return Ok(BTreeSet::new());
    }
    let mut query = database.prepare("SELECT worker FROM quarantined")?;
    let rows = query.query_map([], |row| Ok(WorkerId(row.get(0)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Records finished shards of the current layer, each with the worker that computed it, if known, and the
/// holders of their files.
pub fn save_reports(journal: &mut Journal, made: &[MadeShard], held: &Held) -> Result<()> {
    let made: Vec<(&ShardReport, Option<Producer>)> =
        made.iter().map(|(report, producer)| (&**report, producer.map(|worker| worker.0))).collect();
    journal.change(|change| {
        change.save_reports(&made)?;
        note_holders(change.database(), held)
    })
}

/// Returns the workers that computed the finished shards of the current layer, as far as known.
pub fn producers(journal: &Journal) -> Result<BTreeMap<Task, WorkerId>> {
    Ok(journal.producers()?.into_iter().map(|(task, producer)| (task, WorkerId(producer))).collect())
}

/// Deletes the reports of these tasks of the current layer and the holders of their files, and records the
/// tasks as invalidated: stores may still have wrong files of them.
pub fn forget_reports(journal: &mut Journal, tasks: &[Task]) -> Result<()> {
    journal.change(|change| {
        change.forget_reports(tasks)?;
        tasks.iter().try_for_each(|task| forget_holders(change.database(), task))
    })
}

/// Records that `files` of the older layer may be deleted, and who holds the shards computed from them. The
/// flag of a file says whether an audit agreed with the shard that was computed from it. The older layer
/// counts as removed from then on.
pub fn give_back(journal: &mut Journal, files: &[(Task, bool)], held: &Held) -> Result<()> {
    journal.change(|change| {
        note_holders(change.database(), held)?;
        change.give_back(files)
    })
}

/// Returns the holders of the files of the newest layers.
pub fn holders(journal: &Journal) -> Result<Held> {
    let mut query = journal.database().prepare("SELECT depth, shard, worker FROM holder")?;
    let rows = query.query_map([], |row| {
        let task = Task { depth: Depth(row.get(0)?), shard: ShardId(row.get(1)?) };
        Ok((task, WorkerId(row.get(2)?)))
    })?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// Records the holders of a committed layer, and forgets those of the layers up to `retired`, whose files are
/// removed.
pub(super) fn note_commit(database: &Connection, retired: Option<Depth>, held: &Held) -> Result<()> {
    if let Some(depth) = retired {
        database.prepare_cached("DELETE FROM holder WHERE depth <= ?1")?.execute([depth.0])?;
    }
    note_holders(database, held)
}

/// Records the holders of files, replacing all earlier holders of the same files.
fn note_holders(database: &Connection, held: &Held) -> Result<()> {
    held.iter().try_for_each(|(task, _)| forget_holders(database, task))?;
    let mut insert = database.prepare_cached("INSERT OR IGNORE INTO holder VALUES (?1, ?2, ?3)")?;
    for (task, worker) in held {
        insert.execute(params![task.depth.0, task.shard.0, worker.0])?;
    }
    Ok(())
}

fn forget_holders(database: &Connection, task: &Task) -> Result<()> {
    let mut delete = database.prepare_cached("DELETE FROM holder WHERE depth = ?1 AND shard = ?2")?;
    delete.execute(params![task.depth.0, task.shard.0])?;
    Ok(())
}
