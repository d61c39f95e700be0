//! Journals that another process has written to, or holds.

use fathom_engine::journal::Journal;
use fathom_layer::Digest;
use fathom_run::WorkerId;
use rusqlite::Connection;
use std::path::Path;

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
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("run.db");
        drop(journal(&path));
        Connection::open(&path).unwrap().execute_batch(code).unwrap();
        let error = Journal::open(&path, RUN).map(drop).unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// A trigger that is added after the journal was opened does not run either.
#[test]
fn a_late_trigger_does_not_run() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run.db");
    let mut journal = journal(&path);
    let other = Connection::open(&path).unwrap();
    other.execute_batch("CREATE TRIGGER t AFTER INSERT ON worker BEGIN DELETE FROM run; END").unwrap();
    journal.save_worker(WORKER, "w1", "127.0.0.1:1").unwrap();
    let rows: u64 = other.query_row("SELECT count(*) FROM run", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 1);
}
