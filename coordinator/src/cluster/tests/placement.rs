//! Tests of the assignment of shards to workers.

use super::harness::{id, task};
use super::*;
use crate::cluster::event::Millis;
use crate::cluster::parts::PARTS;
use crate::cluster::state::Past;
use fathom_engine::run::{ShardId, ShardOrder};
use std::collections::BTreeMap;

/// Returns the owners of all shards, one letter each.
fn owners(t: &mut Table) -> String {
    t.tick(0);
    let owner = |shard| t.state.tasks().owner(fathom_engine::run::Task { depth: t.state.depth(), shard });
    t.state.shards().map(|shard| owner(shard).map_or('-', |id| char::from(id.0[0]))).collect()
}

#[test]
fn unowned_shards_are_divided_into_pieces() {
    let mut t = Table::with(rules(9), "a b c");
    assert_eq!(owners(&mut t), "aaabbbccc");
    t.leave("b");
    assert_eq!(owners(&mut t), "aaaaacccc");
    t.leave("a");
    t.leave("c");
    assert_eq!(owners(&mut t), "---------");
}

#[test]
fn pieces_follow_the_shard_order() {
    let order = ShardOrder::new([4, 1, 3, 0, 5, 2].map(ShardId).into()).unwrap();
    let past = Past { order: Some(order), ..Past::default() };
    let mut t = Table::after(rules(6), 1, past.clone());
    t.join("a");
    // Tasks are assigned in the order, and the excess of one worker is taken from the end of the order.
    assert_eq!(t.take("a", 2), ["a <- make 0/4 #1.1, make 0/1 #1.1, holders"]);
    t.join("b");
    assert_eq!(owners(&mut t), "babaab");
    assert_eq!(t.take("b", 2), ["b <- make 0/0 #1.1, make 0/5 #1.1, holders"]);
    // The order persists beyond a layer.
    let mut t = Table::after(rules(6), 1, past);
    t.join("a");
    t.join("b");
    let mut t = t.at_depth(1);
    assert_eq!(owners(&mut t), "babaab");
    let commands = t.take("b", 3);
    assert!(commands[0].starts_with("b <- make 1/0 #1.1, make 1/5 #1.1, make 1/2 #1.1"), "{commands:?}");
}

#[test]
fn shards_return_to_their_piece() {
    let mut t = Table::with(rules(8), "a b").at_depth(1);
    // The first half is so large that a part of it goes to the other worker.
    for shard in 0..8 {
        t.state.set_bytes(task(0, shard), if shard < 4 { 100 << 20 } else { 1 << 20 });
    }
    t.state.plan_owners(Millis(t.now));
    assert_eq!(owners(&mut t), "aaabbbbb");
    let mut t = t.at_depth(2);
    assert_eq!(owners(&mut t), "aaaabbbb");
}

#[test]
fn new_worker_gets_the_piece_of_a_lost_one() {
    let mut t = Table::with(rules(9), "a b c").at_depth(1);
    assert_eq!(owners(&mut t), "aaabbbccc");
    t.leave("b");
    assert_eq!(owners(&mut t), "aaaaacccc");
    t.join("d");
    assert_eq!(owners(&mut t), "aaadddccc");
}

#[test]
fn piece_sizes_differ_by_at_most_one() {
    let workers: Vec<String> = ('a'..='j').map(String::from).collect();
    let mut t = Table::with(rules(24), &workers.join(" "));
    let owners = owners(&mut t);
    let count = |worker: &String| owners.matches(worker.as_str()).count();
    assert!(workers.iter().all(|worker| (2..=3).contains(&count(worker))), "{owners}");
}

#[test]
fn pieces_are_proportional_to_threads() {
    let mut t = Table::new(rules(8));
    t.join_with("a", 3, &[]);
    t.join_with("b", 1, &[]);
    assert_eq!(owners(&mut t), "aaaaaabb");
}

#[test]
fn shards_stay_with_their_files() {
    let mut t = Table::with(rules(4), "a b").at_depth(1);
    assert_eq!(owners(&mut t), "aabb");
    t.leave("b");
    assert_eq!(owners(&mut t), "aaaa");
    t.join_with("b", 1, &[(0, 2), (0, 3)]);
    assert_eq!(owners(&mut t), "aabb");
}

#[test]
fn bytes_are_balanced_instead_of_shards() {
    let mut t = Table::with(rules(8), "a").at_depth(1);
    for shard in 0..8 {
        t.state.set_bytes(task(0, shard), if shard < 4 { 4 << 20 } else { 1 << 20 });
    }
    t.join("b");
    // The first half of the shards has 16 of 20 MiB. Up to a shard more than 10 MiB stays.
    assert_eq!(owners(&mut t), "aaabbbbb");
    // An excess of less than a shard is not moved; a larger one is.
    for shard in 0..8 {
        t.state.set_bytes(task(0, shard), 1 << 20);
    }
    t.join("c");
    let loads = owners(&mut t).chars().fold(BTreeMap::new(), |mut loads, owner| {
        *loads.entry(owner).or_insert(0) += 1;
        loads
    });
    assert!(loads.len() == 3 && loads.values().all(|&shards| shards <= 3), "{loads:?}");
}

#[test]
fn late_worker_gets_unstarted_shards() {
    let mut t = Table::with(rules(6), "a").at_depth(1);
    t.take("a", 2);
    t.join("b");
    assert_eq!(t.take("b", 1), ["b <- make 1/3 #1.1, holders 0: a|a|a|a|a|a"]);
    assert_eq!(t.take("a", 6), ["a <- make 1/2 #1.1, holders 0: a|a|a|a|a|a"]);
}

#[test]
fn idle_worker_takes_over_after_a_second() {
    let mut t = Table::with(rules(8), "a b").at_depth(1);
    assert_eq!(t.take("b", 8)[0].matches("make").count(), 4);
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.tick(999), [""; 0]);
    assert_eq!(t.tick(1), ["b <- make 1/3 #1.1"]);
    assert_eq!(t.take("b", 4), ["b <- make 1/2 #1.1"]);
    // Tasks that the owner can start immediately are left to it.
    assert_eq!(t.take("b", 4), ["b <- make 1/1 #1.1"]);
    assert_eq!(t.take("b", 4), [""; 0]);
    assert_eq!(t.take("a", 4), ["a <- make 1/0 #1.1, holders 0: a|a|a|a|b|b|b|b"]);
}

/// The first worker has started the shard of the second one's piece, and may take long over it. The other
/// shard does not wait for it while the second worker has a free thread.
#[test]
fn free_worker_takes_over_from_busy_one() {
    let mut t = Table::with(rules(2), "b");
    assert_eq!(t.take("b", 1), ["b <- make 0/0 #1.1, holders"]);
    t.join("a");
    assert_eq!(t.take("a", 1), [""; 0]);
    assert_eq!(t.tick(1000), ["a <- make 0/1 #1.1, holders"]);
}

/// A thread that audits starts no other shard in the meantime.
#[test]
fn free_worker_takes_over_from_auditor() {
    let mut t = Table::new(Rules { audit: PARTS, ..rules(4) });
    t.join_with("a", 2, &[]);
    t.join_with("b", 2, &[]);
    assert_eq!(t.commands("b", 2), ["b <- make 0/2 #1.1, make 0/3 #1.1"]);
    t.made("b", 0, 2, 1);
    assert_eq!(t.commands("a", 1), ["a <- audit 0/2 #1.1 not portable, make 0/0 #1.1"]);
    t.made("b", 0, 3, 1);
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.tick(1000), ["save 0/2 0/3, held 0/2 b, 0/3 b", "b <- make 0/1 #1.1"]);
}

/// The shards of that worker go to workers with free space.
#[test]
fn worker_with_full_disk_owns_nothing() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    t.take("a", 1);
    t.failed("a", 1, 0, 1, fathom_proto::Failure::DiskFull("no room".into()));
    assert_eq!(owners(&mut t), "bb");
    t.now += 29_999;
    t.beat("a", &[]);
    t.beat("b", &[]);
    assert_eq!(owners(&mut t), "bb");
    t.now += 1;
    assert_eq!(owners(&mut t), "ab");
}

/// Others compute the shards of a worker in backoff, and keep their own pieces.
#[test]
fn worker_in_backoff_keeps_its_piece() {
    let mut t = Table::with(rules(12), "a b c d").at_depth(1);
    t.take("b", 1);
    t.failed("b", 1, 3, 1, fathom_proto::Failure::DiskFull("no room".into()));
    let meanwhile = owners(&mut t);
    assert!(meanwhile.starts_with("aaa") && meanwhile.ends_with("cccddd"), "{meanwhile}");
    assert!(!meanwhile.contains('b'), "{meanwhile}");
    t.now += 30_000;
    for worker in ["a", "b", "c", "d"] {
        t.beat(worker, &[]);
    }
    assert_eq!(owners(&mut t), "aaabbbcccddd");
}

#[test]
fn drained_worker_owns_nothing() {
    let mut t = Table::with(rules(4), "a b").at_depth(1);
    t.drain("host-a");
    assert_eq!(owners(&mut t), "bbbb");
}

/// Sizes and numbers of threads as large as possible do not overflow.
#[test]
fn large_shares_do_not_overflow() {
    let mut t = Table::new(rules(4));
    t.join_with("a", 4096, &[]);
    let mut t = t.at_depth(1);
    for shard in 0..4 {
        t.state.set_bytes(task(0, shard), 1 << 52);
    }
    t.join_with("b", 4096, &[]);
    assert_eq!(owners(&mut t), "aabb");
    assert!(t.state.members().is_alive(id("b")));
}
