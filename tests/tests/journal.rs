//! Journals that another process has written to, or holds.

use anyhow::{Result, anyhow};
use fathom_engine::journal::{Beside, Entry, Files, Journal, LayerRow, LayersAt, Maker};
use fathom_engine::run::{Depth, ShardId, ShardReport, Task};
use fathom_layer::{Digest, Totals};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

const RUN: Digest = Digest([7; 32]);
const MAKER: Maker = [1; 16];

fn journal(path: &Path) -> Journal {
    Journal::create(path, RUN, &[]).unwrap()
}

/// Someone who hands over a run directory could have put code into its journal.
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

/// The maker of a shard is forgotten with its report, or if a later report does not tell.
#[test]
fn makers_are_those_of_the_last_reports() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    assert_eq!(journal.makers().unwrap(), BTreeMap::new());
    let tasks = [0, 1, 2].map(|shard| Task { depth: Depth(0), shard: ShardId(shard) });
    let reports = tasks.map(report);
    let made = reports.each_ref().map(|report| (report, Some(MAKER)));
    journal.change(|change| change.save_reports(&made)).unwrap();
    journal.change(|change| change.save_reports(&[(&reports[0], None)])).unwrap();
    journal.change(|change| change.forget_reports(&[tasks[1]])).unwrap();
    assert_eq!(journal.makers().unwrap(), BTreeMap::from([(tasks[2], MAKER)]));
}

/// A shard of which two results differ stays doubtful when its report is forgotten or replaced, until a
/// process that goes on alone makes it again.
#[test]
fn doubts_last_until_the_shards_are_made_again() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    assert_eq!(journal.doubted().unwrap(), BTreeSet::new());
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
    assert_eq!(again.doubted().unwrap(), BTreeSet::from([task]));
    again.disown_doubted(&[task]).unwrap();
    assert_eq!((again.doubted().unwrap(), again.shards_done().unwrap()), (BTreeSet::new(), 0));
    assert_eq!(again.disowned().unwrap(), BTreeSet::from([task]));
}

/// What another crate writes beside the journal's tables is there with them, or neither is.
#[test]
fn what_fails_beside_the_journal_changes_nothing() {
    let directory = fathom_tests::tempdir().unwrap();
    let mut journal = journal(&directory.path().join("run.db"));
    let task = Task { depth: Depth(0), shard: ShardId(0) };
    let report = report(task);
    let failed = journal.change(|change| -> Result<()> {
        change.database().execute_batch("CREATE TABLE other (number INTEGER)")?;
        change.save_reports(&[(&report, Some(MAKER))])?;
        Err(anyhow!("no"))
    });
    assert!(failed.is_err());
    assert_eq!(journal.shards_done().unwrap(), 0);
    let layer = LayerRow {
        depth: Depth(0),
        states: 1,
        classes: None,
        classes_with_inverse: None,
        stored: 1,
        bytes: 1,
        seconds: 0.0,
        digest: RUN,
        files: Files::Live,
    };
    let commit = |journal: &mut Journal, beside: Beside<'_>| {
        let (layer, beside) = (&layer, Some(beside));
        let (shards, found, retired) = (&[], &[], None);
        journal.commit(&Entry { layer, shards, retired, found, process: None, waits: None, beside })
    };
    let create = |database: &Connection, _: Option<Depth>| -> Result<()> {
        Ok(database.execute_batch("CREATE TABLE other (number INTEGER)")?)
    };
    let fails = |database: &Connection, retired: Option<Depth>| {
        create(database, retired)?;
        Err(anyhow!("no"))
    };
    assert!(commit(&mut journal, &fails).is_err());
    assert_eq!(journal.layers().unwrap(), []);
    commit(&mut journal, &create).unwrap();
    assert_eq!(journal.layers().unwrap(), std::slice::from_ref(&layer));
    assert!(journal.database().table_exists(None, "other").unwrap());
}

/// A trigger that is added after the journal was opened does not run either.
#[test]
fn a_late_trigger_does_not_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TRIGGER t AFTER INSERT ON cluster BEGIN DELETE FROM run; END").unwrap();
    journal.change(|change| change.set_layers_at(&LayersAt::Workers)).unwrap();
    let rows: u64 = other.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}
