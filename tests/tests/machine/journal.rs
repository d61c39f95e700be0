//! Journals that another process has written to, or has locked.

use anyhow::{Result, anyhow};
use fathom_engine::journal::{Change, Entry, Files, Journal, LayerRow, LayersAt, Producer, ShardRow};
use fathom_engine::run::{Depth, ShardId, ShardReport, Task};
use fathom_layer::{Digest, LayerDigest, Totals};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

const RUN: Digest = Digest([7; 32]);
const PRODUCER: Producer = [1; 16];

fn journal(path: &Path) -> Journal {
    Journal::create(path, RUN, &[]).unwrap()
}

/// Someone who passes on a run directory could have put code into its journal.
#[test]
fn triggers_and_views_of_a_foreign_journal_are_refused() {
    for (code, what) in [
        ("CREATE TRIGGER t AFTER INSERT ON shard BEGIN DELETE FROM layer; END", "trigger"),
        ("CREATE VIEW v AS SELECT * FROM layer", "view"),
    ] {
        let directory = fathom_tests::tempdir().unwrap();
        let path = directory.path().join("run.db");
        drop(journal(&path));
        Connection::open(&path).unwrap().execute_batch(code).unwrap();
        let error = Journal::open(&path, RUN).map(drop).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

fn report(task: Task) -> ShardReport {
    let totals = Totals { stored: 1, states: 1, pairs: None, inverse_pairs: None };
    ShardReport { task, totals, bytes: 1, checksums: vec![RUN], watched: Vec::new() }
}

fn entry(depth: u32) -> Entry {
    let (depth, report) = (Depth(depth), report(Task { depth: Depth(depth), shard: ShardId(0) }));
    let layer = LayerRow {
        depth,
        states: 1,
        classes: None,
        classes_with_inverse: None,
        stored: 1,
        bytes: 1,
        seconds: 1.0,
        digest: LayerDigest::new(depth.0).finish(),
        files: Files::Live,
    };
    let retired = depth.previous().and_then(Depth::previous);
    let shards = vec![ShardRow::new(&report)];
    Entry { layer, shards, retired, found: Vec::new(), process: None, waits: None }
}

/// Layers wait in memory: readers see only those of the last checkpoint, without waiting, and so does the
/// next process.
#[test]
fn added_layers_are_committed_at_a_checkpoint() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    let reader = Connection::open(&path).unwrap();
    // A reader that would have to wait fails.
    reader.busy_timeout(Duration::ZERO).unwrap();
    let committed =
        || reader.query_row("SELECT count(*) FROM layer", [], |row| row.get::<_, u32>(0)).unwrap();
    (0..3).for_each(|depth| journal.add(entry(depth)).unwrap());
    assert_eq!(committed(), 0);
    let files = [Files::Removed, Files::Live, Files::Live];
    let states = |journal: &Journal| journal.layers().unwrap().into_iter().map(|layer| layer.files).collect();
    let (held, expected): (Vec<Files>, _) = (states(&journal), Vec::from(files));
    assert_eq!(held, expected);
    assert_eq!(journal.digests(Depth(1), 1).unwrap(), [entry(1).shards[0].digest]);
    journal.checkpoint().unwrap();
    assert_eq!(committed(), 3);
    journal.add(entry(3)).unwrap();
    drop(journal);
    // The committed run digests are those of the layers, or they would be refused.
    let mut next = Journal::open(&path, RUN).unwrap();
    let held: Vec<Files> = states(&next);
    assert_eq!(held, expected);
    assert_eq!(next.digests(Depth(1), 1).unwrap(), [entry(1).shards[0].digest]);
    next.checkpoint().unwrap();
    // A release depends on the layers before it.
    next.add(entry(3)).unwrap();
    next.give_back(&[report(Task { depth: Depth(4), shard: ShardId(0) })], Depth(2)).unwrap();
    assert_eq!((committed(), next.shards_done().unwrap()), (4, 1));
    assert_eq!(next.given_back(&next.layers().unwrap()).unwrap(), BTreeMap::from([(ShardId(0), false)]));
}

/// A failed checkpoint changes nothing, and the next one commits everything that waits.
#[test]
fn failed_checkpoint_commits_nothing() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    let other = Connection::open(&path).unwrap();
    let committed = || other.query_row("SELECT count(*) FROM layer", [], |row| row.get::<_, u32>(0)).unwrap();
    // The second layer cannot be written.
    other.execute_batch("CREATE UNIQUE INDEX one ON shard (shard)").unwrap();
    (0..2).for_each(|depth| journal.add(entry(depth)).unwrap());
    assert!(journal.checkpoint().is_err() && committed() == 0);
    other.execute_batch("DROP INDEX one").unwrap();
    journal.checkpoint().unwrap();
    assert_eq!(committed(), 2);
}

/// The producer of a shard is forgotten with its report, or if a later report does not name one.
#[test]
fn producers_are_those_of_the_last_reports() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    assert_eq!(journal.producers().unwrap(), BTreeMap::new());
    let tasks = [0, 1, 2].map(|shard| Task { depth: Depth(0), shard: ShardId(shard) });
    let reports = tasks.map(report);
    let made = reports.each_ref().map(|report| (report, Some(PRODUCER)));
    journal.change(|change| change.save_reports(&made)).unwrap();
    journal.change(|change| change.save_reports(&[(&reports[0], None)])).unwrap();
    journal.change(|change| change.forget_reports(&[tasks[1]])).unwrap();
    assert_eq!(journal.producers().unwrap(), BTreeMap::from([(tasks[2], PRODUCER)]));
}

/// A shard with two different results stays suspect when its report is forgotten or replaced, until a process
/// that continues without workers recomputes it.
#[test]
fn shards_stay_suspect_until_they_are_recomputed() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    assert_eq!(journal.suspected().unwrap(), BTreeSet::new());
    let task = Task { depth: Depth(0), shard: ShardId(0) };
    let report = report(task);
    let save = |journal: &mut Journal| journal.change(|change| change.save_reports(&[(&report, None)]));
    save(&mut journal).unwrap();
    journal.doubt(task).unwrap();
    journal.doubt(task).unwrap();
    journal.change(|change| change.forget_reports(&[task])).unwrap();
    save(&mut journal).unwrap();
    drop(journal);
    let mut again = Journal::open(&path, RUN).unwrap();
    assert_eq!(again.suspected().unwrap(), BTreeSet::from([task]));
    again.disown_doubted(&[task]).unwrap();
    assert_eq!((again.suspected().unwrap(), again.shards_done().unwrap()), (BTreeSet::new(), 0));
    assert_eq!(again.invalidated().unwrap(), BTreeSet::from([task]));
}

/// Rows that another crate writes next to the journal's tables are committed with them, or neither is.
#[test]
fn failure_beside_the_journal_changes_nothing() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    let task = Task { depth: Depth(0), shard: ShardId(0) };
    let report = report(task);
    let failed = journal.change(|change| -> Result<()> {
        change.database().execute_batch("CREATE TABLE other (number INTEGER)")?;
        change.save_reports(&[(&report, Some(PRODUCER))])?;
        Err(anyhow!("no"))
    });
    assert!(failed.is_err());
    assert_eq!(journal.shards_done().unwrap(), 0);
    let create = |change: &mut Change<'_>| -> Result<()> {
        Ok(change.database().execute_batch("CREATE TABLE other (number INTEGER)")?)
    };
    journal.add(entry(0)).unwrap();
    let failed = journal.checkpoint_with(|change| {
        create(change)?;
        Err(anyhow!("no"))
    });
    assert!(failed.is_err() && !journal.database().table_exists(None, "other").unwrap());
    assert_eq!(Journal::open(&path, RUN).unwrap().layers().unwrap(), []);
    journal.checkpoint_with(create).unwrap();
    assert_eq!(Journal::open(&path, RUN).unwrap().layers().unwrap(), [entry(0).layer]);
    assert!(journal.database().table_exists(None, "other").unwrap());
}

/// A trigger that is added after the journal was opened does not run either.
#[test]
fn late_trigger_does_not_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TRIGGER t AFTER INSERT ON cluster BEGIN DELETE FROM run; END").unwrap();
    journal.change(|change| change.set_layers_at(&LayersAt::Workers)).unwrap();
    let rows: u64 = other.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}
