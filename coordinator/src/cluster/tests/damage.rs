//! Tests of lost and damaged files.

use super::harness::{damaged, id, task};
use super::*;
use crate::cluster::parts::backoff::PAUSE;
use crate::cluster::state::failures::MAX_FAILURES;
use fathom_engine::run::{Keep, Lookback};
use fathom_proto::Failure;

#[test]
fn run_waits_for_holders_of_missing_files() {
    let mut t = Table::with(rules(2), "a b").at_depth(4);
    assert_eq!(t.take("b", 1), ["b <- retire 1, make 4/1 #1.1, holders 2: a|b 3: a|b"]);
    assert_eq!(t.leave("a"), ["a <- known"]);
    let waits: Vec<String> = t.state.waiting_for().iter().map(|id| char::from(id.0[0]).into()).collect();
    assert_eq!(waits, ["a"]);
    assert_eq!(t.state.files().missing().len(), 2);
    // Tasks under way may still succeed, but no others are started.
    assert_eq!(t.made("b", 4, 1, 1), ["b <- known"]);
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.tick(1100), ["save 4/1, held 4/1 b"]);
    assert_eq!(t.join_with("a", 1, &[(2, 0), (3, 0)]), ["a <- registered, keeps 2 3 4"]);
    assert_eq!(t.take("a", 1), ["a <- make 4/0 #1.1, holders 2: a|b 3: a|b"]);
    assert_eq!(t.state.waiting_for().len(), 0);
}

/// Shards of depth 0 can always be computed again.
#[test]
fn lost_file_is_recomputed() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    t.notes = true;
    assert_eq!(t.failed("b", 1, 1, 1, damaged(0, 1, None)), ["note late report ignored b 1/1", "b <- known"]);
    t.take("b", 1);
    assert_eq!(
        t.failed("b", 1, 1, 1, damaged(0, 1, None)),
        [
            "note task failed b 1/1",
            "note damaged file discarded b 0/1",
            "b <- known",
            "note lost file is recomputed 0/1"
        ]
    );
    t.notes = false;
    assert_eq!(t.take("b", 1), ["b <- discard 0/1, make 0/1 afresh #1.1, holders 0: a|"]);
    // No task that reads the file starts before it is back.
    assert_eq!(t.take("a", 1), [""; 0]);
    assert_eq!(t.made("b", 0, 1, 1), ["b <- known", "a <- make 1/0 #1.1, holders 0: a|b"]);
    assert_eq!(t.state.tasks().iter().count(), 2);
}

#[test]
fn recomputed_file_must_match() {
    let mut t = Table::with(rules(1), "a").at_depth(1);
    t.take("a", 1);
    t.failed("a", 1, 0, 1, damaged(0, 0, None));
    assert_eq!(t.take("a", 1), ["a <- discard 0/0, make 0/0 afresh #1.1, holders 0: "]);
    // The worker may be wrong, so the shard is computed again, and the wrong file is not used.
    for attempt in 1..MAX_FAILURES {
        assert_eq!(t.made_wrong("a", 0, 0, attempt), ["a <- known"]);
        assert_eq!(t.take("a", 1), ["a <- discard 0/0"]);
        t.tick(PAUSE.as_millis() as u64);
        assert_eq!(t.commands("a", 1), [format!("a <- make 0/0 afresh #1.{}", attempt + 1)]);
    }
    assert_eq!(t.made_wrong("a", 0, 0, MAX_FAILURES), ["a <- known"]);
    assert_eq!(t.take("a", 1), ["a <- discard 0/0, leave Failed"]);
}

/// Returns a table in which b copies the one file of depth 0 from a, and recomputes it at the same time.
fn copied_and_made() -> Table {
    let mut t = Table::with(Rules { replicas: 2, ..rules(1) }, "a b").at_depth(1);
    t.leave("a");
    t.take("b", 1);
    t.failed("b", 1, 0, 1, damaged(0, 0, None));
    assert_eq!(t.take("b", 1), ["b <- discard 0/0, make 0/0 afresh #1.1, holders 0: "]);
    t.join_with("a", 1, &[(0, 0)]);
    assert_eq!(t.take("b", 0), ["b <- copy 0/0 from a"]);
    t
}

/// The wrong file is at the path of the right copy.
#[test]
fn wrong_file_replaces_a_copy() {
    let mut t = copied_and_made();
    t.copied("b", 0, 0);
    t.made_wrong("b", 0, 0, 1);
    assert_eq!(t.state.files().holders(task(0, 0)).collect::<Vec<_>>(), [id("a")]);
    assert_eq!(t.take("b", 0), ["b <- discard 0/0"]);
}

/// The copy that is under way replaces the wrong file.
#[test]
fn copy_after_a_wrong_file_is_kept() {
    let mut t = copied_and_made();
    t.made_wrong("b", 0, 0, 1);
    assert_eq!(t.take("b", 0), [""; 0]);
    t.copied("b", 0, 0);
    assert_eq!(t.state.files().holders(task(0, 0)).collect::<Vec<_>>(), [id("a"), id("b")]);
}

/// A file is recomputed from files that are themselves recomputed.
#[test]
fn kept_layers_are_recomputed_from_the_first() {
    let mut t = Table::with(Rules { keep: Keep::All, ..rules(1) }, "a").at_depth(4);
    assert_eq!(t.join("a"), ["a <- registered, keeps 0 1 2 3 4"]);
    for (depth, holders) in
        [(0, "2:  3: "), (1, "0: a 2:  3: "), (2, "0: a 1: a 2:  3: "), (3, "1: a 2: a 3: ")]
    {
        let lines = t.take("a", 4);
        assert_eq!(lines, [format!("a <- make {depth}/0 afresh #1.1, holders {holders}")], "{depth}");
        t.made("a", depth, 0, 1);
    }
    assert_eq!(t.take("a", 4), ["a <- make 4/0 #1.1, holders 2: a 3: a"]);
}

/// If all layers are read, a lost file of the first layer is missing at any depth.
#[test]
fn lost_file_of_any_read_layer_is_recomputed() {
    let rules = Rules { keep: Keep::All, lookback: Lookback::All, ..rules(1) };
    let mut t = Table::with(rules, "a").at_depth(4);
    t.take("a", 1);
    t.failed("a", 4, 0, 1, damaged(1, 0, None));
    assert_eq!(t.take("a", 4), ["a <- discard 1/0, make 1/0 afresh #1.1, holders 0: a 1:  2: a 3: a"]);
    t.made("a", 1, 0, 1);
    t.tick(1000);
    assert_eq!(t.take("a", 4), ["a <- make 4/0 #1.2, holders 0: a 1: a 2: a 3: a"]);
}

#[test]
fn unrecoverable_file_is_waited_for() {
    let mut t = Table::with(rules(1), "a").at_depth(4);
    assert_eq!(t.join("a"), ["a <- registered, keeps 2 3 4"]);
    assert_eq!(t.take("a", 4), [""; 0]);
    assert_eq!(t.tick(5000), [""; 0]);
    assert_eq!(t.state.files().missing().len(), 2);
    // No worker holds the files any more, so none is waited for.
    assert_eq!(t.state.waiting_for().len(), 0);
}

#[test]
fn returned_file_is_not_recomputed() {
    let mut t = Table::with(rules(1), "a").at_depth(1);
    t.join("b");
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.state.tasks().iter().count(), 2);
    assert_eq!(t.join_with("a", 1, &[(0, 0)]), ["a <- registered, keeps 0 1"]);
    assert_eq!(t.state.tasks().iter().count(), 1);
    assert_eq!(t.take("a", 4), ["a <- make 1/0 #1.1, holders 0: a"]);
}

#[test]
fn damaged_file_of_a_peer_is_discarded() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    t.take("b", 1);
    assert_eq!(t.take("a", 0), [""; 0]);
    assert_eq!(t.failed("b", 1, 1, 1, damaged(0, 0, Some("a"))), ["b <- known", "a <- discard 0/0"]);
    assert_eq!(t.take("a", 4), ["a <- make 0/0 afresh #1.1, holders 0: |b"]);
}

#[test]
fn damage_at_unknown_address_is_ignored() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    t.take("b", 1);
    assert_eq!(t.failed("b", 1, 1, 1, damaged(0, 0, Some("z"))), ["b <- known"]);
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.tick(1000), ["b <- make 1/1 #1.2"]);
}

/// A damaged file that the coordinator does not know of, such as a copy for the worker's own use, is deleted
/// too.
#[test]
fn unknown_damaged_file_is_discarded() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    t.take("b", 1);
    assert_eq!(t.failed("b", 1, 1, 1, damaged(0, 0, None)), ["b <- known"]);
    assert_eq!(t.take("b", 1), ["b <- discard 0/0"]);
    assert!(t.state.is_held(task(0, 0)));
}

#[test]
fn damaged_file_of_current_layer_is_recomputed() {
    let mut t = Table::with(rules(2), "a");
    t.take("a", 2);
    t.made("a", 0, 0, 1);
    assert_eq!(t.failed("a", 0, 1, 1, damaged(0, 0, None)), ["a <- known"]);
    assert_eq!(t.take("a", 2), ["a <- discard 0/0, make 0/0 afresh #1.2, holders"]);
    assert_eq!(t.made("a", 0, 0, 2), ["a <- known"]);
}

/// A copy that failed is not under way, and does not protect a damaged file.
#[test]
fn damaged_file_is_discarded_after_failed_copy() {
    let mut t = Table::with(Rules { replicas: 2, ..rules(2) }, "a b c");
    t.take("a", 1);
    t.take("b", 1);
    t.made("a", 0, 0, 1);
    t.made("b", 0, 1, 1);
    assert_eq!(t.take("b", 0), ["b <- copy 0/0 from a"]);
    t.take("c", 0);
    assert_eq!(t.copy_failed("b", 0, 0, Failure::Stopped), ["b <- known", "c <- copy 0/0 from a"]);
    t.copied("c", 0, 0);
    let lines = t.copied("c", 0, 1);
    assert!(lines[1].starts_with("commit 0/0 0/1 "), "{lines:?}");
    assert_eq!(t.take("b", 1), ["b <- make 1/1 #1.1, holders 0: ac|bc"]);
    assert_eq!(t.failed("b", 1, 1, 1, damaged(0, 0, None)), ["b <- known"]);
    assert_eq!(t.take("b", 0), ["b <- discard 0/0"]);
}

/// A file that a worker is computing is newer than the damage. Its report would otherwise make it a holder
/// of a file that is deleted.
#[test]
fn file_under_computation_is_not_discarded() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    t.take("b", 1);
    assert_eq!(t.take("a", 0), [""; 0]);
    assert_eq!(t.failed("b", 1, 1, 1, damaged(0, 0, Some("a"))), ["b <- known", "a <- discard 0/0"]);
    assert_eq!(t.take("a", 1), ["a <- make 0/0 afresh #1.1, holders 0: |b"]);
    t.copied("a", 0, 0);
    t.tick(1000);
    assert_eq!(t.take("b", 1), ["b <- make 1/1 #1.2, holders 0: a|b"]);
    assert_eq!(t.take("a", 0), [""; 0]);
    assert_eq!(t.failed("b", 1, 1, 2, damaged(0, 0, Some("a"))), ["b <- known"]);
    assert!(!t.state.is_held(task(0, 0)));
    t.made("a", 0, 0, 1);
    assert!(t.state.is_held(task(0, 0)));
}
