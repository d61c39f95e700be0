//! Journals that another process has written to, or holds.

use fathom_engine::journal::{Journal, LayersAt};
use fathom_engine::run::{Depth, ShardId, ShardOrder, ShardReport, Task, WorkerId};
use fathom_layer::{Digest, Totals};
use rusqlite::Connection;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

const RUN: Digest = Digest([7; 32]);
const WORKER: WorkerId = WorkerId([1; 16]);

fn journal(path: &Path) -> Journal {
    Journal::create(path, RUN, &[]).unwrap()
}

/// Someone who hands over a run directory could have put code into its journal.
#[test]
fn triggers_and_views_of_a_foreign_journal_are_refused() {
    for (code, what) in [
        ("CREATE TRIGGER t AFTER INSERT ON worker BEGIN DELETE FROM layer; END", "trigger"),
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

/// While a run is young, all that its coordinator writes is held back, and a kill undoes it.
#[test]
fn what_a_coordinator_writes_is_held_back_as_a_whole() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let task = Task { depth: Depth(0), shard: ShardId(0) };
    let write = |journal: &mut Journal| {
        journal.hold().unwrap();
        assert_eq!(journal.begin_epoch(&LayersAt::Workers).unwrap(), 1);
        journal.save_worker(WORKER, "w1", "127.0.0.1:1").unwrap();
        journal.save_reports(&[(Arc::new(report(task)), Some(WORKER))], &[(task, WORKER)]).unwrap();
        journal.forget_reports(&[Task { shard: ShardId(1), ..task }]).unwrap();
        journal.give_back_held(&[(task, true)], &[(task, WORKER)]).unwrap();
    };
    drop(journal(&path));
    let mut killed = Journal::open(&path, RUN).unwrap();
    write(&mut killed);
    drop(killed);
    let mut again = Journal::open(&path, RUN).unwrap();
    assert_eq!((again.layers_at().unwrap(), again.shards_done().unwrap()), (LayersAt::RunDirectory, 0));
    write(&mut again);
    again.release().unwrap();
    let other = Journal::open(&path, RUN).unwrap();
    assert_eq!((other.layers_at().unwrap(), other.shards_done().unwrap()), (LayersAt::Workers, 1));
    assert_eq!(other.holders().unwrap(), [(task, WORKER)]);
    assert_eq!(other.makers().unwrap(), BTreeMap::from([(task, WORKER)]));
}

/// The maker of a shard is forgotten with its report, or if a later report does not tell.
#[test]
fn makers_are_those_of_the_last_reports() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    assert_eq!(journal.makers().unwrap(), BTreeMap::new());
    let tasks = [0, 1, 2].map(|shard| Task { depth: Depth(0), shard: ShardId(shard) });
    let made = |task, maker| (Arc::new(report(task)), maker);
    journal.save_reports(&tasks.map(|task| made(task, Some(WORKER))), &[]).unwrap();
    journal.save_reports(&[made(tasks[0], None)], &[]).unwrap();
    journal.forget_reports(&[tasks[1]]).unwrap();
    assert_eq!(journal.makers().unwrap(), BTreeMap::from([(tasks[2], WORKER)]));
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
    let made = [(Arc::new(report(task)), Some(WORKER))];
    journal.save_reports(&made, &[]).unwrap();
    journal.doubt(task).unwrap();
    journal.doubt(task).unwrap();
    journal.forget_reports(&[task]).unwrap();
    journal.save_reports(&made, &[]).unwrap();
    drop(journal);
    let mut again = Journal::open(&path, RUN).unwrap();
    assert_eq!(again.doubted().unwrap(), BTreeSet::from([task]));
    again.disown_doubted(&[task]).unwrap();
    assert_eq!((again.doubted().unwrap(), again.shards_done().unwrap()), (BTreeSet::new(), 0));
    assert_eq!(again.disowned().unwrap(), BTreeSet::from([task]));
}

/// No result depends on the order of shards, so a journal in which it is damaged is not refused.
#[test]
fn an_order_that_lacks_a_shard_is_not_used() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let order = ShardOrder::of([2, 0, 1].map(ShardId).into()).unwrap();
    let mut new = journal(&path);
    assert_eq!(new.shard_order(3).unwrap(), None);
    new.save_shard_order(&ShardOrder::by_number(3)).unwrap();
    new.save_shard_order(&order).unwrap();
    drop(new);
    let read = |shards| Journal::open(&path, RUN).unwrap().shard_order(shards).unwrap();
    assert_eq!(read(3), Some(order));
    assert_eq!(read(4), None);
    for damage in [
        "UPDATE shard_order SET shard = 1",
        "UPDATE shard_order SET shard = -1 WHERE place = 0",
        "UPDATE shard_order SET shard = 'none' WHERE place = 0",
        "DELETE FROM shard_order WHERE place = 0",
    ] {
        Connection::open(&path).unwrap().execute_batch(damage).unwrap();
        assert_eq!(read(3), None, "{damage}");
    }
}

/// A trigger that is added after the journal was opened does not run either.
#[test]
fn a_late_trigger_does_not_run() {
    let directory = fathom_tests::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TRIGGER t AFTER INSERT ON worker BEGIN DELETE FROM run; END").unwrap();
    journal.save_worker(WORKER, "w1", "127.0.0.1:1").unwrap();
    let rows: u64 = other.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}
