//! Workers of which one of several stores fails.

use super::table::{self, Table, rules};
use crate::cluster::event::{Event, Millis};
use crate::cluster::parts::{FIRST_ATTEMPT, PARTS};
use crate::cluster::state::Rules;
use crate::cluster::status::obstacle;
use fathom_proto::Failure;

fn failed(number: u32, is_full: bool) -> Failure {
    Failure::Store { number, stores: 2, is_full, message: "cannot write /disk1".into() }
}

#[test]
fn only_the_shards_of_the_store_go_to_others() {
    let mut t = Table::with(rules(4), "a b");
    assert_eq!(t.take("a", 2), ["a <- make 0/0 #1.1, make 0/1 #1.1, holders"]);
    assert_eq!(t.take("b", 1), ["b <- make 0/2 #1.1, holders"]);
    assert_eq!(t.failed("a", 0, 1, 1, failed(1, true)), ["a <- known"]);
    // The worker goes on with what lies in its other store, and others do the rest.
    assert_eq!(t.take("a", 4), [""; 0]);
    assert_eq!(t.take("b", 4), ["b <- make 0/1 #1.2, make 0/3 #1.1"]);
    assert_eq!(t.leave("b"), ["b <- known", "a <- make 0/2 #1.2, holders"]);
}

#[test]
fn shards_come_back_when_the_store_has_rested() {
    let mut t = Table::with(rules(2), "a");
    assert_eq!(t.take("a", 2), ["a <- make 0/0 #1.1, make 0/1 #1.1, holders"]);
    t.failed("a", 0, 1, 1, failed(1, true));
    assert_eq!(t.take("a", 2), [""; 0]);
    let obstacle = obstacle(&t.state, Millis(t.now)).unwrap();
    assert!(obstacle.contains("no worker has a store for shard 1 that works"), "{obstacle}");
    assert!(obstacle.contains("host-a: cannot write /disk1"), "{obstacle}");
    for now in [9_000, 18_000, 27_000, 29_999] {
        t.now = now;
        t.beat("a", &[(0, 0)]);
        assert!(t.apply(Event::Tick).iter().all(|line| !line.contains("make")));
        t.take("a", 2);
    }
    assert_eq!(t.tick(1), ["a <- make 0/1 #1.2"]);
}

/// Two workers must hold each file, and the disk of one of them is full.
#[test]
fn copies_that_find_no_place_are_what_a_run_waits_for() {
    let mut t = Table::with(Rules { replicas: 2, ..rules(1) }, "a b");
    assert_eq!(obstacle(&t.state, Millis(t.now)), None);
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders"]);
    t.made("a", 0, 0, 1);
    assert!(t.take("b", 0).iter().any(|line| line.starts_with("b <- copy 0/0")));
    t.copy_failed("b", 0, 0, Failure::DiskFull("cannot write".into()));
    let obstacle = obstacle(&t.state, Millis(t.now)).unwrap();
    assert!(obstacle.starts_with("2 workers must hold each file, and not host-b can take"), "{obstacle}");
}

#[test]
fn shards_of_the_store_are_owned_by_others() {
    let mut t = Table::with(rules(4), "a b").at_depth(1);
    t.take("a", 2);
    t.failed("a", 1, 0, 1, failed(0, true));
    t.state.plan_owners(Millis(t.now));
    for shard in [0, 2] {
        assert!(t.state.tasks().queue(table::id("b")).any(|task| task == table::task(1, shard)), "{shard}");
    }
    assert!(!t.state.tasks().queue(table::id("a")).any(|task| task.shard.0 % 2 == 0));
}

#[test]
fn copies_go_where_the_store_works() {
    let mut t = Table::with(Rules { replicas: 2, ..rules(1) }, "a");
    t.take("a", 1);
    for worker in ["b", "c"] {
        t.join(worker);
    }
    t.made("a", 0, 0, 1);
    assert_eq!(t.take("b", 0), ["b <- copy 0/0 from a"]);
    assert_eq!(t.take("c", 0), [""; 0]);
    let lines = t.copy_failed("b", 0, 0, failed(0, false));
    assert_eq!(lines, ["b <- known", "c <- copy 0/0 from a"]);
    // The pause after a failed copy is over, and the rest of the store is not.
    t.copy_failed("c", 0, 0, Failure::Stopped);
    t.take("b", 0);
    assert!(t.tick(2000).iter().all(|line| !line.starts_with("b <- copy")));
}

/// A worker audits nothing whose files it would keep in a store that is full: the maker does that itself.
#[test]
fn shards_of_the_store_are_audited_by_others() {
    let mut t = Table::with(Rules { audit: PARTS, ..rules(2) }, "a b");
    assert_eq!(t.orders("b", 2), ["b <- make 0/1 #1.1"]);
    assert_eq!(t.orders("a", 1), ["a <- make 0/0 #1.1"]);
    t.made("b", 0, 1, 1);
    t.made("a", 0, 0, 1);
    assert_eq!(t.orders("a", 1), ["a <- audit 0/1 #1.1 not portable"]);
    t.failed("a", 0, 1, FIRST_ATTEMPT + 1, failed(1, true));
    t.now += 1_000;
    t.beat("a", &[]);
    t.beat("b", &[]);
    assert_eq!(t.orders("a", 1), [""; 0]);
    assert_eq!(t.orders("b", 1), ["b <- audit 0/0 #1.2 not portable"]);
    assert_eq!(t.orders("b", 1), ["b <- audit 0/1 #1.3 not portable"]);
}

/// Unless the store is full, five failures of one shard end the run, as other failures do.
#[test]
fn a_store_that_fails_has_a_bound() {
    let mut t = Table::with(rules(2), "a");
    for attempt in 1..=5 {
        t.take("a", 2);
        t.failed("a", 0, 1, attempt, failed(1, false));
        assert_eq!(t.state.ending().is_some(), attempt == 5, "{attempt}");
        for _ in 0..4 {
            t.now += 8_000;
            t.beat("a", &[(0, 0)]);
            t.apply(Event::Tick);
        }
    }
}
