//! `run.db`, the journal of a run: its committed layers, in SQLite.
//!
//! A layer's row and the rows of its shards are added in memory, and committed at the next
//! [checkpoint](Journal::checkpoint) in one durable transaction, after the layer's files are durable. So a
//! layer in the journal is on disk, and any other layer is computed again, reusing those of its files that
//! exist. No transaction stays open between checkpoints, because it would keep readers waiting.
//!
//! The database uses a rollback journal and not WAL, so that `fathom status` can read it from other hosts and
//! from read-only directories. Checkpoints are rare enough to pay for that.

mod change;
mod current_layer;
mod patience;
mod place;
mod rows;
mod waits;

pub use change::{Beside, Change};
pub use current_layer::Producer;
pub use patience::{give_up, obstacle};
pub use place::LayersAt;
pub use rows::{Entry, Files, LayerRow, ProcessRow, ShardRow, Watched};

use crate::run::{Depth, ShardId};
use anyhow::{Context, Result, anyhow};
use fathom_layer::{Digest, RunDigest, Totals};
use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, ToSql, params};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The name of the journal in the run's directory.
pub const NAME: &str = "run.db";
/// The version of the schema.
const SCHEMA: i32 = 6;

/// An open journal.
#[derive(Debug)]
pub struct Journal {
    database: Connection,
    /// The rowid of this process, once it has committed a layer.
    process: Option<i64>,
    /// Whether writes wait while another process locks the database, or while its disk is full.
    waits: bool,
    /// The finished layers, once this process has added one. From then on no other process adds layers, so
    /// they need not be read again.
    known: Option<Known>,
    /// The known layers that wait for the next checkpoint, each with the run digest up to it.
    added: Vec<(Entry, Digest)>,
}

/// The finished layers, and the run digest over them.
#[derive(Debug)]
struct Known {
    layers: Vec<LayerRow>,
    digest: RunDigest,
}

impl Journal {
    /// Creates the journal of a new run. `watched` has the tiles of each state to watch.
    pub fn create(path: &Path, fingerprint: Digest, watched: &[Box<[u8]>]) -> Result<Self> {
        let mut database = Connection::open(no_address(path)?)?;
        configure(&database)?;
        // Without `run.toml`, which is written later, there is no run: the remains of a crash are deleted,
        // and need not be rolled back.
        database.pragma_update(None, "journal_mode", "OFF")?;
        let transaction = database.transaction()?;
        transaction.execute_batch(&format!(
            "CREATE TABLE run (fingerprint BLOB NOT NULL, complete INTEGER NOT NULL);
             CREATE TABLE layer (
                 depth INTEGER PRIMARY KEY, states INTEGER NOT NULL, classes INTEGER, classes_with_inverse INTEGER,
                 stored INTEGER NOT NULL, bytes INTEGER NOT NULL, seconds REAL NOT NULL, digest BLOB NOT NULL, run_digest BLOB NOT NULL,
                 files TEXT NOT NULL);
             CREATE TABLE shard (
                 depth INTEGER NOT NULL REFERENCES layer, shard INTEGER NOT NULL, stored INTEGER NOT NULL,
                 states INTEGER NOT NULL, pairs INTEGER, inverse_pairs INTEGER, digest BLOB NOT NULL,
                 PRIMARY KEY (depth, shard));
             CREATE TABLE process (
                 begun INTEGER NOT NULL, version TEXT NOT NULL, processor TEXT, threads INTEGER NOT NULL,
                 kernel TEXT NOT NULL, memory_bytes INTEGER NOT NULL, cache_bytes INTEGER NOT NULL,
                 seconds REAL NOT NULL, peak_anonymous_bytes INTEGER);
             CREATE TABLE cluster (epoch INTEGER NOT NULL, layers_at TEXT NOT NULL);
             CREATE TABLE report (
                 depth INTEGER NOT NULL, shard INTEGER NOT NULL, stored INTEGER NOT NULL, states INTEGER NOT NULL,
                 pairs INTEGER, inverse_pairs INTEGER, bytes INTEGER NOT NULL, watched TEXT NOT NULL,
                 checksums BLOB NOT NULL, PRIMARY KEY (depth, shard));
             CREATE TABLE store_id (id TEXT NOT NULL);
             CREATE TABLE invalidated (depth INTEGER NOT NULL, shard INTEGER NOT NULL, PRIMARY KEY (depth, shard));
             CREATE TABLE suspected (depth INTEGER NOT NULL, shard INTEGER NOT NULL, PRIMARY KEY (depth, shard));
             CREATE TABLE producer (
                 depth INTEGER NOT NULL, shard INTEGER NOT NULL, worker BLOB NOT NULL,
                 PRIMARY KEY (depth, shard));
             CREATE TABLE given_back (
                 depth INTEGER NOT NULL, shard INTEGER NOT NULL, audited INTEGER NOT NULL,
                 PRIMARY KEY (depth, shard));
             CREATE TABLE wait (
                 depth INTEGER PRIMARY KEY, kernel REAL NOT NULL, sources REAL NOT NULL, subtract REAL NOT NULL,
                 write REAL NOT NULL, sync REAL NOT NULL, barrier REAL NOT NULL);
             CREATE TABLE watched (number INTEGER PRIMARY KEY, tiles BLOB NOT NULL, depth INTEGER);
             INSERT INTO run VALUES (x'{fingerprint}', 0);
             PRAGMA user_version = {SCHEMA};"
        ))?;
        {
            let mut insert = transaction.prepare("INSERT INTO watched VALUES (?1, ?2, NULL)")?;
            for (number, tiles) in watched.iter().enumerate() {
                insert.execute(params![number, tiles])?;
            }
        }
        transaction.commit()?;
        database.pragma_update(None, "journal_mode", "DELETE")?;
        Ok(Self::new(database))
    }

    fn new(database: Connection) -> Self {
        Self { database, process: None, waits: false, known: None, added: Vec::new() }
    }

    /// Opens the journal of the run with this fingerprint. A journal in a read-only directory can be opened
    /// as well, for reading.
    ///
    /// # Errors
    /// If the journal has another schema, belongs to another run, contains triggers or views, or cannot be
    /// read.
    pub fn open(path: &Path, fingerprint: Digest) -> Result<Self> {
        let database = Connection::open_with_flags(no_address(path)?, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        configure(&database)?;
        let schema: i32 = database.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if schema == 0 {
            return Err(anyhow!("it is empty or damaged. Restore it from a backup, or start again"));
        }
        if schema != SCHEMA {
            let advice =
                if schema > SCHEMA { "use a newer version" } else { "use an older version, or start again" };
            return Err(anyhow!(
                "it has schema {schema}, but this version of Fathom reads {SCHEMA}: {advice}"
            ));
        }
        require_no_code(&database)?;
        let found: Option<[u8; 32]> =
            database.query_row("SELECT fingerprint FROM run", [], |row| row.get(0)).optional()?;
        match found.map(Digest) {
            Some(found) if found == fingerprint => Ok(Self::new(database)),
            Some(found) => {
                Err(anyhow!("it is the journal of another run, {found}; this run is {fingerprint}"))
            }
            None => Err(anyhow!("it does not name a run")),
        }
    }

    /// Returns the finished layers in order of depth, including those that wait for the next checkpoint.
    ///
    /// # Errors
    /// If the journal cannot be read, the row of a depth is missing, or a run digest differs from the
    /// committed one.
    pub fn layers(&self) -> Result<Vec<LayerRow>> {
        match &self.known {
            Some(known) => Ok(known.layers.clone()),
            None => Ok(self.read_layers()?.layers),
        }
    }

    fn read_layers(&self) -> Result<Known> {
        let mut query = self.database.prepare(
            "SELECT depth, states, classes, classes_with_inverse, stored, bytes, seconds, digest, run_digest, files
             FROM layer ORDER BY depth",
        )?;
        let rows = query.query_map([], |row| {
            let files: String = row.get(9)?;
            let run_digest = Digest(row.get(8)?);
            Ok((
                LayerRow {
                    depth: Depth(row.get(0)?),
                    states: row.get(1)?,
                    classes: row.get(2)?,
                    classes_with_inverse: row.get(3)?,
                    stored: row.get(4)?,
                    bytes: row.get(5)?,
                    seconds: row.get(6)?,
                    digest: Digest(row.get(7)?),
                    files: Files::Live,
                },
                run_digest,
                files,
            ))
        })?;
        let mut layers = Vec::new();
        let mut digest = RunDigest::new();
        for row in rows {
            let (layer, expected, word) = row?;
            if layer.depth.0 as usize != layers.len() {
                return Err(anyhow!("the row of depth {} is missing", layers.len()));
            }
            let files = Files::ALL.into_iter().find(|files| files.as_str() == word);
            let files = files
                .with_context(|| format!("depth {} has the unknown file state {word:?}", layer.depth))?;
            let got = digest.add(&layer.digest);
            if got != expected {
                return Err(anyhow!(
                    "the layers up to depth {} have run digest {got}, but {expected} was committed",
                    layer.depth
                ));
            }
            layers.push(LayerRow { files, ..layer });
        }
        Ok(Known { layers, digest })
    }

    /// Returns the shards of a finished layer in order.
    pub fn shards(&self, depth: Depth) -> Result<Vec<ShardRow>> {
        if let Some((entry, _)) = self.added.iter().find(|(entry, _)| entry.layer.depth == depth) {
            return Ok(entry.shards.clone());
        }
        let mut query = self.database.prepare_cached(
            "SELECT depth, shard, stored, states, pairs, inverse_pairs, digest
             FROM shard WHERE depth = ?1 ORDER BY shard",
        )?;
        let rows = query.query_map([depth.0], |row| {
            Ok(ShardRow { shard: ShardId(row.get(1)?), totals: totals(row)?, digest: Digest(row.get(6)?) })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the sums over the shards of each finished layer, by depth. A number of pairs is `None` unless
    /// all shards count the pairs.
    ///
    /// # Errors
    /// If the journal cannot be read, or lacks one of the `shards` shards of a depth.
    pub fn totals(&self, shards: u32) -> Result<BTreeMap<Depth, Totals>> {
        let mut query = self.database.prepare(
            "SELECT depth, COUNT(*), SUM(stored), SUM(states),
                 CASE COUNT(pairs) WHEN COUNT(*) THEN SUM(pairs) END,
                 CASE COUNT(inverse_pairs) WHEN COUNT(*) THEN SUM(inverse_pairs) END
             FROM shard WHERE shard BETWEEN 0 AND ?1 GROUP BY depth",
        )?;
        let rows = query.query_map([shards - 1], |row| {
            let totals = Totals {
                stored: row.get(2)?,
                states: row.get(3)?,
                pairs: row.get(4)?,
                inverse_pairs: row.get(5)?,
            };
            Ok((Depth(row.get(0)?), row.get::<_, u32>(1)?, totals))
        })?;
        let complete = rows.map(|row| {
            let (depth, there, totals) = row?;
            match there == shards {
                true => Ok((depth, totals)),
                false => Err(anyhow!("run.db has {there} shards of depth {depth}, not {shards}")),
            }
        });
        complete.collect()
    }

    /// Returns the digests of the `shards` shards of a finished layer, in order. A layer file with another
    /// digest is not the file that was committed.
    ///
    /// # Errors
    /// If the journal cannot be read, or lacks a shard.
    pub fn digests(&self, depth: Depth, shards: u32) -> Result<Vec<Digest>> {
        let rows = self.shards(depth).context("cannot read run.db")?;
        if rows.iter().map(|row| row.shard).ne((0..shards).map(ShardId)) {
            return Err(anyhow!("run.db does not have each shard of depth {depth} exactly once"));
        }
        Ok(rows.into_iter().map(|row| row.digest).collect())
    }

    /// Returns whether a run by lists has visited every state: the last layer leads to no other.
    pub fn is_complete(&self) -> Result<bool> {
        Ok(self.database.query_row("SELECT complete FROM run", [], |row| row.get(0))?)
    }

    /// Notes that a run by lists has visited every state.
    pub fn set_complete(&mut self) -> Result<()> {
        self.patiently(|journal| Ok(journal.database.execute("UPDATE run SET complete = 1", [])?))?;
        Ok(())
    }

    /// Returns the watched states in the order in which they were given.
    pub fn watched(&self) -> Result<Vec<Watched>> {
        let mut query = self.database.prepare("SELECT tiles, depth FROM watched ORDER BY number")?;
        let rows = query.query_map([], |row| {
            let (tiles, depth): (Vec<u8>, Option<u32>) = (row.get(0)?, row.get(1)?);
            Ok(Watched { tiles: tiles.into(), depth: depth.map(Depth) })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Returns the processes that have worked on the run, oldest first.
    pub fn processes(&self) -> Result<Vec<ProcessRow>> {
        let mut query = self.database.prepare(
            "SELECT begun, version, processor, threads, kernel, memory_bytes, cache_bytes, seconds, peak_anonymous_bytes
             FROM process ORDER BY rowid",
        )?;
        let rows = query.query_map([], |row| {
            Ok(ProcessRow {
                begun: row.get(0)?,
                version: row.get(1)?,
                processor: row.get(2)?,
                threads: row.get(3)?,
                kernel: row.get(4)?,
                memory_bytes: row.get(5)?,
                cache_bytes: row.get(6)?,
                seconds: row.get(7)?,
                peak_anonymous_bytes: row.get(8)?,
            })
        })?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Adds a layer, which the next checkpoint commits.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn add(&mut self, entry: Entry) -> Result<()> {
        let mut known = match self.known.take() {
            Some(known) => known,
            None => self.read_layers()?,
        };
        let run_digest = known.digest.add(&entry.layer.digest);
        known.layers.push(entry.layer.clone());
        known.note_files(entry.retired, Files::Removed);
        self.known = Some(known);
        self.added.push((entry, run_digest));
        Ok(())
    }

    /// Returns whether layers wait for the next checkpoint.
    pub fn has_added(&self) -> bool {
        !self.added.is_empty()
    }

    /// Returns whether watched states are in layers that wait for the next checkpoint.
    pub fn has_found(&self) -> bool {
        self.added.iter().any(|(entry, _)| !entry.found.is_empty())
    }

    /// Commits the layers that were added, in one transaction. Their files must be durable. If the
    /// transaction fails, the database is unchanged, and the layers still wait.
    ///
    /// # Errors
    /// If the database cannot be written, or a watched state is in two layers.
    pub fn checkpoint(&mut self) -> Result<()> {
        if self.has_added() { self.checkpoint_with(|_| Ok(())) } else { Ok(()) }
    }

    /// Does a [checkpoint](Journal::checkpoint) that makes another change in the same transaction.
    ///
    /// # Errors
    /// As [`Journal::checkpoint`], and those of the change.
    pub fn checkpoint_with(&mut self, mut change: impl FnMut(&mut Change<'_>) -> Result<()>) -> Result<()> {
        let (process, removed) = self.patiently(|journal| {
            let mut changed = Change { transaction: journal.database.transaction()?, removed: None };
            let mut process = journal.process;
            for (entry, run_digest) in &journal.added {
                process = write_layer(&changed.transaction, entry, *run_digest, process)?;
            }
            change(&mut changed)?;
            let Change { transaction, removed } = changed;
            transaction.commit()?;
            Ok((process, removed))
        })?;
        self.process = process;
        self.added.clear();
        if let Some(known) = &mut self.known {
            known.note_files(removed, Files::Removed);
        }
        Ok(())
    }

    /// Sets the state of a layer's files.
    pub fn set_files(&mut self, depth: Depth, files: Files) -> Result<()> {
        self.patiently(|journal| set_files(&journal.database, depth, files))?;
        if let Some(known) = &mut self.known {
            known.note_files(Some(depth), files);
        }
        Ok(())
    }
}

impl Known {
    /// Sets the state of the files of a layer, if `depth` is a known one.
    fn note_files(&mut self, depth: Option<Depth>, files: Files) {
        if let Some(layer) = depth.and_then(|depth| self.layers.get_mut(depth.0 as usize)) {
            layer.files = files;
        }
    }
}

/// Reads the totals of a shard from a row whose first two columns are depth and shard.
fn totals(row: &Row<'_>) -> rusqlite::Result<Totals> {
    Ok(Totals { stored: row.get(2)?, states: row.get(3)?, pairs: row.get(4)?, inverse_pairs: row.get(5)? })
}

/// Writes a layer. `row` is the rowid of this process, if it already has one. Returns its rowid afterwards.
fn write_layer(
    database: &Connection,
    entry: &Entry,
    run_digest: Digest,
    row: Option<i64>,
) -> Result<Option<i64>> {
    let Entry { layer, shards, retired, found, process, waits } = entry;
    let run = |statement, values: &[&dyn ToSql]| -> rusqlite::Result<usize> {
        database.prepare_cached(statement)?.execute(values)
    };
    run(
        "INSERT INTO layer VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
        params![
            layer.depth.0,
            layer.states,
            layer.classes,
            layer.classes_with_inverse,
            layer.stored,
            layer.bytes,
            layer.seconds,
            layer.digest.0,
            run_digest.0,
            layer.files.as_str()
        ],
    )?;
    run("DELETE FROM report WHERE depth <= ?1", &[&layer.depth.0])?;
    if let Some(depth) = *retired {
        set_files(database, depth, Files::Removed)?;
    }
    let mut insert = database.prepare_cached("INSERT INTO shard VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
    for row in shards {
        insert.execute(params![
            layer.depth.0,
            row.shard.0,
            row.totals.stored,
            row.totals.states,
            row.totals.pairs,
            row.totals.inverse_pairs,
            row.digest.0
        ])?;
    }
    let mut update =
        database.prepare_cached("UPDATE watched SET depth = ?2 WHERE number = ?1 AND depth IS NULL")?;
    for number in found {
        if update.execute(params![number, layer.depth.0])? != 1 {
            return Err(anyhow!(
                "watched state {number} is at depth {} and at another depth, or is not watched",
                layer.depth
            ));
        }
    }
    if let Some(waits) = waits {
        waits::note(database, layer.depth, waits)?;
    }
    match process {
        Some(process) => Ok(Some(note_process(database, process, row)?)),
        None => Ok(row),
    }
}

/// Writes the row of a process: updates `row`, or inserts a new row. Returns its rowid.
fn note_process(database: &Connection, process: &ProcessRow, row: Option<i64>) -> Result<i64> {
    if let Some(row) = row {
        let mut update = database
            .prepare_cached("UPDATE process SET seconds = ?2, peak_anonymous_bytes = ?3 WHERE rowid = ?1")?;
        update.execute(params![row, process.seconds, process.peak_anonymous_bytes])?;
        return Ok(row);
    }
    database.execute(
        "INSERT INTO process VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        params![
            process.begun,
            process.version,
            process.processor,
            process.threads,
            process.kernel,
            process.memory_bytes,
            process.cache_bytes,
            process.seconds,
            process.peak_anonymous_bytes
        ],
    )?;
    Ok(database.last_insert_rowid())
}

fn set_files(database: &Connection, depth: Depth, files: Files) -> Result<()> {
    let mut update = database.prepare_cached("UPDATE layer SET files = ?2 WHERE depth = ?1")?;
    update.execute(params![depth.0, files.as_str()])?;
    Ok(())
}

/// Checks that the journal has no triggers and no views, which would run automatically. Fathom creates none,
/// but someone who passes on a run directory could have added some.
fn require_no_code(database: &Connection) -> Result<()> {
    let mut query =
        database.prepare("SELECT type, name FROM sqlite_schema WHERE type IN ('trigger', 'view')")?;
    let found = query.query_row([], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
    match found {
        None => Ok(()),
        Some((kind, name)) => {
            let (kind, name): (String, String) = (kind, name);
            Err(anyhow!("it contains a {kind}, {name:?}, that Fathom did not create: do not use it"))
        }
    }
}

/// Returns a path that SQLite always treats as a path: one that begins with `file:` would be taken as a URI
/// of another file.
fn no_address(path: &Path) -> std::io::Result<PathBuf> {
    std::path::absolute(path)
}

/// Sets up a connection. With synchronous EXTRA a commit survives a power cut; the files of older layers are
/// deleted because of that guarantee. The busy timeout makes readers wait for a commit to end.
fn configure(database: &Connection) -> Result<()> {
    database.pragma_update(None, "synchronous", "EXTRA")?;
    database.busy_timeout(std::time::Duration::from_secs(10))?;
    // Code that someone else added to the schema after it was checked does not run either.
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    database.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
    Ok(())
}
