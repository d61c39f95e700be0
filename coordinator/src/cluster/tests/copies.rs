//! Tests of files that need more copies.

use super::harness::{damaged, task};
use super::*;
use crate::cluster::event::Event;
use fathom_proto::Failure;

fn twice(shards: u32) -> Rules {
    Rules { replicas: 2, ..rules(shards) }
}

/// Returns a table in which a has computed the one shard of depth 0, and then `others` join.
fn made(others: &str) -> Table {
    let mut t = Table::with(twice(1), "a");
    t.take("a", 1);
    others.split_whitespace().for_each(|worker| drop(t.join(worker)));
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    t
}

#[test]
fn task_is_done_when_enough_workers_hold_its_file() {
    let mut t = Table::with(twice(1), "a");
    t.take("a", 1);
    t.join("b");
    assert_eq!(t.take("b", 0), [""; 0]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known", "b <- copy 0/0 from a"]);
    assert!(!t.state.is_done(task(0, 0)));
    assert_eq!(t.copied("b", 0, 0), ["b <- known", "commit 0/0 in 0 ms, held 0/0 a, 0/0 b"]);
}

#[test]
fn copies_go_to_the_least_busy_workers() {
    let mut t = Table::with(twice(4), "a");
    assert_eq!(t.take("a", 2)[0].matches("make").count(), 2);
    t.join("b");
    t.join("c");
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.made("a", 0, 1, 1), ["a <- known"]);
    let b = t.take("b", 0);
    let c = t.take("c", 0);
    assert_eq!(b, ["b <- copy 0/0 from a"]);
    assert_eq!(c, ["c <- copy 0/1 from a"]);
}

#[test]
fn file_is_copied_again_after_its_holder_is_lost() {
    let mut t = Table::with(twice(1), "a b").at_depth(1);
    t.join("c");
    let (kept, other) = ("ab", "c");
    assert_eq!(t.state.holders_alive(task(0, 0)).count(), 2);
    assert_eq!(kept, holders(&t));
    assert_eq!(t.take(other, 0), [""; 0]);
    assert_eq!(t.leave("a"), ["a <- known", "c <- copy 0/0 from b"]);
    // The copy is not commanded twice, and the run continues in the meantime.
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(t.take("b", 1), ["b <- make 1/0 #1.1, holders 0: b"]);
    assert_eq!(t.copied(other, 0, 0), ["c <- known"]);
    assert_eq!(holders(&t), "bc");
}

fn holders(t: &Table) -> String {
    t.state.holders_alive(task(0, 0)).map(|id| char::from(id.0[0])).collect()
}

#[test]
fn file_does_not_wait_for_copy_by_lost_worker() {
    let mut t = made("b");
    assert_eq!(t.take("b", 1), ["b <- copy 0/0 from a"]);
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.take("b", 1), ["b <- make 0/0 afresh #1.2, holders"]);
    assert_eq!(t.made("b", 0, 0, 2), ["b <- known"]);
    // One holder is not enough.
    assert_eq!(t.tick(1), [""; 0]);
    assert_eq!(t.join("c"), ["save worker c", "c <- registered, keeps 0"]);
    assert_eq!(t.take("c", 0), ["c <- copy 0/0 from b"]);
    assert_eq!(t.copied("c", 0, 0), ["c <- known", "commit 0/0 in 1 ms, held 0/0 a, 0/0 b, 0/0 c"]);
}

#[test]
fn failed_copy_is_retried_after_a_pause() {
    let mut t = made("b");
    t.take("b", 0);
    assert_eq!(t.copy_failed("b", 0, 0, Failure::Other("no".into())), ["b <- known"]);
    assert_eq!(t.take("b", 0), [""; 0]);
    assert_eq!(t.tick(999), ["save 0/0, held 0/0 a"]);
    // Copies without a target are tried again once a second.
    assert_eq!(t.tick(1000), ["b <- copy 0/0 from a"]);
}

#[test]
fn failed_copy_moves_to_another_worker() {
    let mut t = made("b c");
    assert_eq!(t.take("b", 0), ["b <- copy 0/0 from a"]);
    assert_eq!(t.take("c", 0), [""; 0]);
    assert_eq!(
        t.copy_failed("b", 0, 0, Failure::DiskFull("no".into())),
        ["b <- known", "c <- copy 0/0 from a"]
    );
    t.now = 9000;
    assert_eq!(t.beat("b", &[]), ["b <- known"]);
}

#[test]
fn lost_copy_commands_are_given_again() {
    let mut t = made("b");
    t.take("b", 0);
    t.now = 6001;
    assert_eq!(t.beat("b", &[(0, 0)]), ["b <- known"]);
    assert_eq!(t.take("b", 0), [""; 0]);
    t.now = 12_003;
    assert_eq!(t.beat("a", &[]), ["a <- known"]);
    assert_eq!(t.beat("b", &[]), ["b <- known", "b <- copy 0/0 from a"]);
}

/// A copy command that its worker has not fetched yet is not lost.
#[test]
fn pending_copy_commands_are_not_repeated() {
    let mut t = made("b");
    for now in (0..60_000).step_by(2000) {
        t.now = now;
        t.beat("a", &[]);
        t.beat("b", &[]);
        t.apply(Event::Tick);
    }
    assert_eq!(t.take("b", 0), ["b <- copy 0/0 from a"]);
}

#[test]
fn damaged_file_is_copied_from_another_holder() {
    let mut t = Table::with(Rules { replicas: 3, ..rules(1) }, "a b c").at_depth(1);
    assert_eq!(t.join("d"), ["save worker d", "d <- registered, keeps 0 1"]);
    assert_eq!(t.leave("c"), ["c <- known"]);
    assert_eq!(t.take("d", 0), ["d <- copy 0/0 from ab"]);
    assert_eq!(t.copy_failed("d", 0, 0, damaged(0, 0, Some("a"))), ["d <- known"]);
    // a deletes the file and copies it from b again, and so does d after its pause.
    assert_eq!(t.take("a", 0), ["a <- discard 0/0, copy 0/0 from b"]);
    assert_eq!(t.copied("a", 0, 0), ["a <- known"]);
    assert_eq!(t.take("d", 0), [""; 0]);
    assert_eq!(t.tick(1000), ["d <- copy 0/0 from ab"]);
}

/// The run waits for more workers, and reports this.
#[test]
fn too_few_workers_for_copies_is_reported() {
    let mut t = Table::with(Rules { replicas: 3, ..rules(1) }, "a");
    t.take("a", 1);
    t.join("b");
    t.made("a", 0, 0, 1);
    assert_eq!(t.take("b", 0), ["b <- copy 0/0 from a"]);
    assert_eq!(t.copied("b", 0, 0), ["b <- known"]);
    for _ in 0..30 {
        assert_eq!(t.tick(100), ["save 0/0, held 0/0 a, 0/0 b"][usize::from(t.now != 600)..]);
    }
    assert_eq!(t.join("c"), ["save worker c", "c <- registered, keeps 0"]);
    assert_eq!(t.take("c", 0), ["c <- copy 0/0 from ab"]);
}

/// A copy that arrives after its layer was retired would otherwise stay forever.
#[test]
fn late_copy_is_retired() {
    let mut t = Table::with(rules(1), "a b").at_depth(3);
    assert_eq!(t.copied("b", 0, 0), ["b <- known"]);
    let lines = t.take("b", 0);
    assert!(lines[0].contains("retire 0"), "{lines:?}");
}
