//! Tests of layers in a file system that all workers share.

use super::harness::{damaged, task};
use super::*;
use fathom_engine::run::Keep;

fn shared(shards: u32) -> Rules {
    Rules { shared_store: true, ..rules(shards) }
}

#[test]
fn shared_files_need_no_copies() {
    let mut t = Table::with(shared(2), "a b");
    assert_eq!(t.commands("a", 1), ["a <- make 0/0 #1.1"]);
    assert_eq!(t.commands("b", 1), ["b <- make 0/1 #1.1"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    // The producer of a file may leave.
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.made("b", 0, 1, 1), ["b <- known", "commit 0/0 0/1 in 0 ms, held 0/0 shared, 0/1 shared"]);
    assert_eq!(t.commands("b", 4), ["b <- make 1/0 #1.1, make 1/1 #1.1"]);
}

/// Clients that verify and audit a run ask the workers, each for some of the files.
#[test]
fn file_requests_are_spread_over_workers() {
    let mut t = Table::with(shared(2), "a b").at_depth(2);
    let asked = |t: &Table| -> Vec<Vec<_>> {
        let layers = t.state.kept().layers;
        layers.iter().map(|(_, shards)| shards.iter().map(|shard| shard.holders.clone()).collect()).collect()
    };
    let workers: Vec<_> = t.state.members().alive().map(|(id, _)| id).collect();
    let each: Vec<_> = workers.iter().map(|&id| vec![id]).collect();
    assert_eq!(asked(&t), [each.clone(), each]);
    t.leave("a");
    t.leave("b");
    assert!(asked(&t).concat().iter().all(|holders| holders.is_empty()));
}

#[test]
fn coordinator_retires_layers() {
    let mut t = Table::with(shared(1), "a").at_depth(2);
    t.commands("a", 1);
    assert_eq!(
        t.made("a", 2, 0, 1),
        ["a <- known", "commit 2/0 in 0 ms, held 1/0 shared, 2/0 shared", "retire shared 0"]
    );
    assert_eq!(t.commands("a", 1), ["a <- make 3/0 #1.1"]);
}

#[test]
fn damaged_file_is_discarded_once_and_recomputed() {
    let mut t = Table::with(shared(2), "a b").at_depth(1);
    t.commands("a", 1);
    t.commands("b", 1);
    assert_eq!(t.failed("a", 1, 0, 1, damaged(0, 1, None)), ["discard shared 0/1", "a <- known"]);
    assert_eq!(t.failed("b", 1, 1, 1, damaged(0, 1, None)), ["b <- known"]);
    assert_eq!(t.commands("b", 4), ["b <- make 0/1 afresh #1.1"]);
    assert_eq!(t.made("b", 0, 1, 1), ["b <- known"]);
    t.commands("b", 4);
    assert_eq!(t.tick(1000), ["b <- make 1/1 #1.2, holders 0: shared|shared"]);
}

#[test]
fn unrecoverable_file_ends_the_run() {
    let mut t = Table::with(shared(1), "a").at_depth(4);
    t.commands("a", 1);
    assert_eq!(t.failed("a", 4, 0, 1, damaged(3, 0, None)), ["discard shared 3/0", "a <- known"]);
    assert_eq!(t.commands("a", 1), ["a <- leave Failed"]);
    let lines = t.leave("a");
    assert!(lines[2].contains("Restore the file from a copy"), "{lines:?}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn file_is_recomputed_if_all_layers_are_kept() {
    let mut t = Table::with(Rules { keep: Keep::All, ..shared(1) }, "a").at_depth(4);
    t.commands("a", 1);
    assert_eq!(t.failed("a", 4, 0, 1, damaged(3, 0, None)), ["discard shared 3/0", "a <- known"]);
    assert_eq!(t.commands("a", 1), ["a <- make 3/0 afresh #1.1"]);
    assert_eq!(t.failed("a", 3, 0, 1, damaged(2, 0, None)), ["discard shared 2/0", "a <- known"]);
    assert_eq!(t.commands("a", 1), ["a <- make 2/0 afresh #1.1"]);
    assert_eq!(t.made("a", 2, 0, 1), ["a <- known"]);
    assert!(t.state.tasks().get(task(3, 0)).is_some());
}

#[test]
fn drained_worker_leaves_when_idle() {
    let mut t = Table::with(shared(1), "a").at_depth(1);
    t.commands("a", 1);
    t.join("b");
    t.drain("host-a");
    assert_eq!(t.commands("a", 1), [""; 0]);
    assert_eq!(t.tick(100), [""; 0]);
    let committed = "commit 1/0 in 100 ms, held 0/0 shared, 1/0 shared";
    assert_eq!(t.made("a", 1, 0, 1), ["a <- known", committed]);
    assert_eq!(t.tick(100), ["a <- leave Drained"]);
}
