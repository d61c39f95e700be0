use crate::cluster::journal_tables;
use fathom_engine::journal::{Journal, LayersAt};
use fathom_engine::run::{Depth, ShardId, ShardOrder, ShardReport, Task};
use fathom_layer::{Digest, Totals};
use fathom_proto::WorkerId;
use rusqlite::Connection;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

const RUN: Digest = Digest([7; 32]);
const WORKER: WorkerId = WorkerId([1; 16]);

fn journal(path: &Path) -> Journal {
    Journal::create(path, RUN, &[]).unwrap()
}

fn report(task: Task) -> ShardReport {
    let totals = Totals { stored: 1, states: 1, pairs: None, inverse_pairs: None };
    ShardReport { task, totals, bytes: 1, checksums: vec![RUN], watched: Vec::new() }
}

/// The next process reads what a coordinator has written.
#[test]
fn tables_survive_reopening() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let task = Task { depth: Depth(0), shard: ShardId(0) };
    let held = vec![(task, WORKER)];
    let mut journal = journal(&path);
    assert_eq!(journal_tables::begin_epoch(&mut journal, &LayersAt::Workers).unwrap(), 1);
    journal_tables::save_worker(&mut journal, WORKER, "w1", "127.0.0.1:1").unwrap();
    journal_tables::save_reports(&mut journal, &[(Arc::new(report(task)), Some(WORKER))], &held).unwrap();
    journal_tables::forget_reports(&mut journal, &[Task { shard: ShardId(1), ..task }]).unwrap();
    journal_tables::give_back(&mut journal, &[(task, true)], &held).unwrap();
    drop(journal);
    let other = Journal::open(&path, RUN).unwrap();
    assert_eq!((other.layers_at().unwrap(), other.shards_done().unwrap()), (LayersAt::Workers, 1));
    assert_eq!(journal_tables::holders(&other).unwrap(), held);
    assert_eq!(journal_tables::producers(&other).unwrap(), BTreeMap::from([(task, WORKER)]));
}

#[test]
fn unserved_run_has_no_workers() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(&directory.path().join("run.db"));
    assert_eq!(journal_tables::workers(&journal).unwrap(), []);
    assert!(!journal_tables::has_untold(&journal).unwrap());
    journal_tables::begin_epoch(&mut journal, &LayersAt::Workers).unwrap();
    journal_tables::save_worker(&mut journal, WORKER, "w1", "127.0.0.1:1").unwrap();
    assert_eq!(journal_tables::workers(&journal).unwrap(), [(WORKER, "w1".into(), "127.0.0.1:1".into())]);
    assert!(journal_tables::has_untold(&journal).unwrap());
}

#[test]
fn holders_of_removed_files_are_forgotten() {
    let directory = tempfile::tempdir().unwrap();
    let mut journal = journal(&directory.path().join("run.db"));
    journal_tables::begin_epoch(&mut journal, &LayersAt::Workers).unwrap();
    let held = |depth| vec![(Task { depth: Depth(depth), shard: ShardId(0) }, WORKER)];
    for depth in 0..3 {
        let retired = Depth(depth).previous().and_then(Depth::previous);
        journal
            .change(|change| journal_tables::note_commit(change.database(), retired, &held(depth)))
            .unwrap();
    }
    assert_eq!(journal_tables::holders(&journal).unwrap(), [held(1), held(2)].concat());
}

/// No result depends on the order of shards, so a journal with a damaged order is not refused.
#[test]
fn incomplete_shard_order_is_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let order = ShardOrder::new([2, 0, 1].map(ShardId).into()).unwrap();
    let mut new = journal(&path);
    assert_eq!(journal_tables::shard_order(&new, 3).unwrap(), None);
    journal_tables::save_shard_order(&mut new, &ShardOrder::by_number(3)).unwrap();
    journal_tables::save_shard_order(&mut new, &order).unwrap();
    drop(new);
    let read = |shards| journal_tables::shard_order(&Journal::open(&path, RUN).unwrap(), shards).unwrap();
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
