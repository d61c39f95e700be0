//! Tests of draining, stopping and ending; for lost workers see `tasks`, `copies` and `restarts`.

use super::*;
use crate::cluster::event::Event;

#[test]
fn drained_worker_leaves_after_its_files_are_copied() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    assert_eq!(t.take("a", 1), ["a <- make 1/0 #1.1, holders 0: a|b"]);
    assert_eq!(t.take("a", 1), [""; 0]);
    assert_eq!(t.take("b", 0), [""; 0]);
    let lines = t.drain("host-a");
    assert_eq!(
        lines,
        [
            "person <- said draining host-a (61616161): it will leave once its files have been copied",
            "b <- copy 0/0 from a"
        ]
    );
    assert_eq!(t.copied("b", 0, 0), ["b <- known"]);
    // The worker finishes its task, and that file is copied too.
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(t.take("b", 0), [""; 0]);
    assert_eq!(t.made("a", 1, 0, 1), ["a <- known", "b <- copy 1/0 from a"]);
    assert_eq!(t.copied("b", 1, 0), ["b <- known"]);
    assert_eq!(t.tick(100), ["a <- leave Drained"]);
    // The reply may have been lost, so a worker that asks again gets the command again.
    assert_eq!(t.take("a", 1), ["a <- leave Drained"]);
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.take("b", 1), ["b <- make 1/1 #1.1, holders 0: b|b"]);
    assert_eq!(t.state.files().missing().len(), 0);
}

#[test]
fn draining_is_refused_if_ambiguous_or_last() {
    let mut t = Table::new(rules(1));
    assert_eq!(t.drain("a"), ["person <- refused no worker is connected"]);
    t.join("a");
    let refused = |t: &mut Table, name: &str, why: &str| {
        let lines = t.drain(name);
        assert_eq!(lines.len(), 1);
        assert!(lines[0].starts_with("person <- refused") && lines[0].contains(why), "{lines:?}");
    };
    refused(&mut t, "host-a", "is the last worker");
    t.join("b");
    refused(&mut t, "host-z", "Connected workers: 61616161 (host-a), 62626262 (host-b)");
    refused(&mut t, "", "unknown worker");
    refused(&mut t, "6", "matches 2 workers");
    assert_eq!(
        t.drain("61"),
        ["person <- said draining host-a (61616161): it will leave once its files have been copied"]
    );
    refused(&mut t, "host-b", "is the last worker");
}

#[test]
fn concurrently_drained_workers_do_not_rely_on_each_other() {
    let mut t = Table::with(Rules { replicas: 2, ..rules(1) }, "a b").at_depth(1);
    t.join("c");
    t.drain("host-a");
    t.drain("host-b");
    t.take("a", 0);
    t.take("b", 0);
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(t.take("c", 0), ["c <- copy 0/0 from ab"]);
    assert_eq!(t.copied("c", 0, 0), ["c <- known"]);
    // Both may leave: the one remaining worker can hold only one copy.
    assert_eq!(t.tick(100), ["a <- leave Drained", "b <- leave Drained"]);
}

#[test]
fn draining_preserves_the_number_of_copies() {
    let mut t = Table::with(Rules { replicas: 2, ..rules(1) }, "a b").at_depth(1);
    t.join("c");
    t.take("a", 0);
    t.drain("host-a");
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(t.take("c", 0), ["c <- copy 0/0 from ab"]);
    assert_eq!(t.copied("c", 0, 0), ["c <- known"]);
    assert_eq!(t.tick(100), ["a <- leave Drained"]);
}

#[test]
fn draining_survives_a_new_session() {
    let mut t = Table::with(rules(1), "a").at_depth(1);
    t.join("b");
    t.drain("host-a");
    assert_eq!(t.join_with("a", 1, &[(0, 0)]), ["a <- registered, keeps 0 1"]);
    assert!(t.state.members()[harness::id("a")].draining);
    // A worker that has left and is started again is no longer drained.
    t.leave("a");
    assert_eq!(t.join_with("a", 1, &[(0, 0)]), ["a <- registered, keeps 0 1"]);
    assert!(!t.state.members()[harness::id("a")].draining);
}

#[test]
fn stopped_run_ends_when_all_workers_have_left() {
    let mut t = Table::with(rules(2), "a b");
    t.take("a", 1);
    t.made("a", 0, 0, 1);
    t.take("b", 1);
    assert_eq!(t.take("a", 1), [""; 0]);
    assert_eq!(
        t.stop(),
        [
            "person <- said stopping: 2 workers will stop at the next coset",
            "save 0/0, held 0/0 a",
            "a <- leave Stopped"
        ]
    );
    // Reports that still arrive are saved, but nothing is committed and no task is assigned.
    assert_eq!(t.made("b", 0, 1, 1), ["b <- known"]);
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.take("b", 1), ["b <- leave Stopped"]);
    assert_eq!(t.stop(), ["person <- said stopping: 1 worker will stop at the next coset"]);
    assert_eq!(t.leave("b"), ["b <- known", "save 0/1, held 0/1 b", "told", "end Stopped"]);
    assert_eq!(t.stop(), ["person <- said stopping: no worker is connected"]);
}

#[test]
fn run_without_workers_stops_immediately() {
    let mut t = Table::new(rules(2));
    assert_eq!(t.stop(), ["person <- said stopping: no worker is connected", "told", "end Stopped"]);
}

#[test]
fn terminated_coordinator_does_not_wait() {
    let mut t = Table::with(rules(2), "a b");
    t.take("a", 1);
    t.made("a", 0, 0, 1);
    t.take("a", 1);
    assert_eq!(
        t.apply(Event::Terminate),
        ["save 0/0, held 0/0 a", "a <- leave CoordinatorGoes", "end Terminated"]
    );
    assert_eq!(t.apply(Event::Terminate), [""; 0]);
}

/// A complete run remains complete.
#[test]
fn termination_keeps_the_ending() {
    let mut t = Table::with(Rules { max_depth: Some(0), ..rules(1) }, "a");
    t.take("a", 1);
    t.made("a", 0, 0, 1);
    assert_eq!(t.apply(Event::Terminate), ["told", "end MaxDepth"]);

    let mut t = Table::with(rules(1), "a");
    t.stop();
    assert_eq!(t.apply(Event::Terminate), ["told", "end Stopped"]);
}

#[test]
fn worker_joining_an_ending_run_is_told_to_leave() {
    let mut t = Table::with(rules(1), "a");
    t.stop();
    t.join("b");
    assert_eq!(t.take("b", 1), ["b <- leave Stopped"]);
}
