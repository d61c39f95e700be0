//! Tests of young runs, of which nothing is durable.

use super::table::held;
use super::*;
use crate::cluster::event::Event;
use crate::cluster::state::Past;
use std::time::Duration;

fn young(shards: u32) -> Rules {
    Rules { sync_after: Duration::from_millis(1000), ..rules(shards) }
}

#[test]
fn a_run_is_young_until_all_workers_have_made_their_files_durable() {
    let mut t = Table::new(young(1));
    assert_eq!(t.join("a"), ["save worker a", "a <- registered, keeps 0, syncs after 1000 ms"]);
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders"]);
    t.tick(400);
    assert_eq!(t.join("b"), ["save worker b", "b <- registered, keeps 0, syncs after 600 ms"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known", "commit 0/0 in 400 ms, held 0/0 a"]);
    assert_eq!(t.beat("a", &[]), ["a <- known"]);
    // The other worker has not said anything yet, then that it is not ready.
    assert_eq!(t.tick(600), [""; 0]);
    assert_eq!(t.beat_holding_back("b"), ["b <- known"]);
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(t.beat("b", &[]), ["b <- known"]);
    assert_eq!(t.tick(100), ["release"]);
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(t.join("c"), ["save worker c", "c <- registered, keeps 0 1"]);
}

#[test]
fn a_run_that_ends_young_is_made_durable_when_all_have_left() {
    let mut t = Table::with(Rules { max_depth: Some(0), ..young(1) }, "a");
    t.take("a", 1);
    let ends = ["a <- known", "commit 0/0 in 0 ms, held 0/0 a"];
    assert_eq!(t.made("a", 0, 0, 1), ends);
    assert_eq!(t.take("a", 1), ["a <- leave Done"]);
    assert_eq!(t.leave("a"), ["a <- known", "told", "release", "end MaxDepth"]);
}

/// The files of such a worker are still on this machine, where all workers of a young run are.
#[test]
fn files_of_a_worker_that_died_young_are_made_durable() {
    let mut t = Table::with(young(2), "a b");
    assert_eq!(t.tick(900), [""; 0]);
    assert_eq!(t.join("a"), ["a <- registered, keeps 0, syncs after 100 ms"]);
    assert_eq!((t.beat("a", &[]), t.beat("b", &[])), (vec!["a <- known".into()], vec!["b <- known".into()]));
    assert_eq!(t.tick(100), ["release with files"]);
}

#[test]
fn a_run_with_a_layer_is_not_young() {
    let past = Past { counts: vec![1], files: vec![held(0, 0, "")], ..Past::default() };
    let mut t = Table::after(young(1), 2, past);
    assert_eq!(t.join_with("a", 1, &[(0, 0)]), ["save worker a", "a <- registered, keeps 0 1"]);
    assert_eq!(t.tick(2000), [""; 0]);
    assert_eq!(t.apply(Event::Terminate), ["end Terminated"]);
}
