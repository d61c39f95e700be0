//! Tests of commands that fail repeatedly.

use super::harness::{damaged, unreachable};
use super::*;
use crate::cluster::event::{Event, Millis, Progress};
use crate::cluster::parts::Worker;
use crate::cluster::parts::backoff::{MAX_BACKOFF, MAX_STRIKES, MAX_UNREACHED, PAUSE, REST, RETRY};
use crate::cluster::state::failures::STALL;
use fathom_proto::{Failure, Usage};

/// Returns a table at depth 1 with two shards, of which a and b hold one each.
fn two() -> Table {
    Table::with(rules(2), "a b").at_depth(1)
}

/// Lets a worker fail its tasks until it gets none. Returns the number of failures.
fn fail_until_spared(t: &mut Table, worker: &str, failure: &dyn Fn() -> Failure) -> u32 {
    for failures in 0..50 {
        let mut lines = t.take(worker, 1);
        lines.extend(t.tick(PAUSE.as_millis() as u64));
        t.beat("a", &[]);
        t.beat("b", &[]);
        let Some(line) = lines.iter().find(|line| line.starts_with(&format!("{worker} <- make"))) else {
            return failures;
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let (depth, shard) = words[3].split_once('/').unwrap();
        let attempt = words[4].trim_end_matches(',').split_once('.').unwrap().1.parse().unwrap();
        t.failed(worker, depth.parse().unwrap(), shard.parse().unwrap(), attempt, failure());
    }
    panic!("{worker} gets tasks for ever");
}

/// The worker advertises `127.0.0.1:1`: its heartbeats arrive, but no peer can reach it. Workers that need
/// its files compute nothing, and it computes all shards.
#[test]
fn tasks_go_to_the_unreachable_holder() {
    let mut t = two();
    let failures = fail_until_spared(&mut t, "a", &|| unreachable(0, 1, "b"));
    assert_eq!(failures, MAX_UNREACHED);
    assert!(t.state.members()[harness::id("a")].is_cut_off);
    let (mut lines, mut left) = (Vec::new(), vec![(1, 0), (1, 1)]);
    for _ in 0..8 {
        lines.extend(t.take("b", 2));
        t.beat("a", &[]);
        lines.extend(t.tick(500));
    }
    left.retain(|(depth, shard)| !lines.iter().any(|line| line.contains(&format!("make {depth}/{shard}"))));
    assert!(left.is_empty(), "{lines:?}");
    assert!(!lines.iter().any(|line| line.starts_with("a <- make")), "{lines:?}");
}

#[test]
fn third_worker_relays_unreachable_files() {
    let mut t = Table::with(rules(3), "a b c").at_depth(1);
    fail_until_spared(&mut t, "a", &|| unreachable(0, 1, "b"));
    // Only b holds shard 1 of depth 0. c takes a copy, and then a can work again.
    let lines = t.take("c", 0);
    assert!(lines.iter().any(|line| line.contains("copy 0/1 from b")), "{lines:?}");
    t.copied("c", 0, 1);
    t.tick(100);
    assert!(!t.state.members()[harness::id("a")].is_cut_off);
}

#[test]
fn unreachable_peer_is_retried() {
    let mut t = two();
    fail_until_spared(&mut t, "a", &|| unreachable(0, 1, "b"));
    let end = t.now + RETRY.as_millis() as u64 + 100;
    while t.now < end {
        t.beat("a", &[]);
        t.beat("b", &[]);
        t.tick(1000);
    }
    assert!(!t.state.members()[harness::id("a")].is_cut_off);
    // One failure is now enough to mark the pair.
    let failures = fail_until_spared(&mut t, "a", &|| unreachable(0, 1, "b"));
    assert_eq!(failures, 1);
    // A worker that registers again may have another address.
    t.join_with("b", 1, &[(0, 1)]);
    assert!(!t.state.members()[harness::id("a")].is_cut_off);
}

#[test]
fn status_names_unreachable_pairs() {
    let mut t = two();
    t.notes = true;
    let mut noted = Vec::new();
    for _ in 0..20 {
        let lines = t.take("a", 1);
        let now = t.now;
        if let Some(line) = lines.iter().find(|line| line.starts_with("a <- make")) {
            let attempt = line.split_once('.').unwrap().1;
            let attempt: u32 = attempt.split([',', ' ']).next().unwrap().parse().unwrap();
            let shard = if line.contains("1/0") { 0 } else { 1 };
            noted.extend(t.failed("a", 1, shard, attempt, unreachable(0, 1, "b")));
        }
        t.now = now;
        t.tick(PAUSE.as_millis() as u64);
        t.beat("b", &[]);
    }
    let named = noted.iter().filter(|line| line.contains("peer cannot be reached a")).count();
    assert_eq!(named, 1, "{noted:?}");
    let obstacle = crate::cluster::status::obstacle(&t.state, Millis(t.now)).unwrap();
    assert!(obstacle.contains("host-a cannot reach host-b at b:1 (silence)"), "{obstacle}");
    assert!(obstacle.contains("host-b can reach all needed files and continue"), "{obstacle}");
}

/// A holder died and restarted at another address, and then failures to reach the old address arrive.
#[test]
fn failures_at_old_address_do_not_count() {
    let mut t = two();
    let (file, addresses) = (harness::task(0, 1), vec!["b:0".into()]);
    let former = || Failure::Unreachable { file, addresses: addresses.clone(), message: "gone".into() };
    assert!(fail_until_spared(&mut t, "a", &former) > MAX_UNREACHED);
    assert!(t.state.members()[harness::id("a")].unreached.is_empty());
}

/// A worker with many threads loses a peer: all its tasks fail at once.
#[test]
fn simultaneous_failures_count_once() {
    let mut t = Table::with(rules(16), "a b").at_depth(1);
    let lines = t.take("a", 16);
    let given: Vec<u32> =
        (0..16).filter(|shard| lines.join(" ").contains(&format!("make 1/{shard} "))).collect();
    assert!(given.len() > MAX_STRIKES as usize, "{lines:?}");
    for shard in given {
        t.failed("a", 1, shard, 1, unreachable(0, 15, "b"));
    }
    let worker = &t.state.members()[harness::id("a")];
    assert_eq!((worker.strikes, worker.unreached[&harness::id("b")].failures()), (1, 1));
    assert!(worker.backoff_until <= Millis(t.now) && !worker.is_cut_off);
}

/// The disk of a worker hangs: its heart beats, but its tasks neither end nor fail.
#[test]
fn stuck_worker_is_lost() {
    let mut t = two();
    let given = t.take("a", 1);
    let shard = (0..2).find(|shard| given.join(" ").contains(&format!("make 1/{shard} "))).unwrap();
    let start = t.now;
    let mut commands = Vec::new();
    let mut told = None;
    while t.state.members().get(harness::id("a")).is_some_and(Worker::is_alive) {
        t.beat("a", &[(1, shard)]);
        t.beat("b", &[]);
        commands.extend(t.tick(1000));
        commands.extend(t.take("b", 1));
        told = told.or(crate::cluster::status::obstacle(&t.state, Millis(t.now)));
        assert!(t.now - start <= STALL.as_millis() as u64 + 2000, "it is never lost");
    }
    assert!(t.now - start >= STALL.as_millis() as u64);
    assert!(told.unwrap().contains("host-a has made no progress on its commands for 3 min"));
}

/// The log of a worker grows although its tasks are stuck; an audit has no other progress than its cosets.
#[test]
fn log_writes_are_not_progress() {
    let working = Progress { underway: vec![harness::task(1, 0)], ..Progress::default() };
    let logged = Progress { usage: Usage { written_bytes: 8192, ..Usage::default() }, ..working.clone() };
    assert!(!logged.has_moved_since(&working));
    let written = Progress { usage: Usage { written_bytes: 1 << 20, ..Usage::default() }, ..working.clone() };
    assert!(written.has_moved_since(&working));
    let audits = Progress { audited_cosets: 1, ..working.clone() };
    assert!(audits.has_moved_since(&working));
}

/// A worker that makes progress, however slowly, is not lost.
#[test]
fn slow_worker_is_not_lost() {
    let mut t = two();
    t.take("a", 1);
    for cosets in 0..4 {
        let progress = Progress { cosets, underway: vec![harness::task(1, 0)], ..Progress::default() };
        let session = t.sessions["a"];
        t.ask("a", |request| Event::Heartbeat(request, session, progress));
        for _ in 0..STALL.as_secs() - 10 {
            t.beat("b", &[]);
            // A request counts as a message, but not as progress.
            t.take("a", 0);
            t.tick(1000);
        }
    }
    assert!(t.state.members()[harness::id("a")].is_alive());
}

/// Each kind of failure that is retried has a bound.
#[test]
fn backoff_grows_with_failures_in_a_row() {
    let kinds: [&dyn Fn() -> Failure; 2] = [&|| Failure::Stopped, &|| damaged(7, 0, Some("nobody"))];
    for failure in kinds {
        let mut t = two();
        let failures = fail_until_spared(&mut t, "a", failure);
        assert_eq!(failures, MAX_STRIKES);
        let rest = |t: &Table| t.state.members()[harness::id("a")].backoff_until.0 - t.now;
        assert!(rest(&t) > REST.as_millis() as u64 - 3000);
        // Each failure after a backoff doubles the next backoff, up to a limit.
        for _ in 0..8 {
            t.now = t.state.members()[harness::id("a")].backoff_until.0 + 1;
            t.beat("a", &[]);
            t.beat("b", &[]);
            t.tick(0);
            fail_until_spared(&mut t, "a", failure);
        }
        let most = MAX_BACKOFF.as_millis() as u64;
        assert!(rest(&t) > most - 3000 && rest(&t) <= most, "{}", rest(&t));
    }
}

#[test]
fn success_resets_failures_in_a_row() {
    let mut t = Table::with(rules(1), "a");
    for attempt in 1..MAX_STRIKES {
        t.take("a", 1);
        t.tick(PAUSE.as_millis() as u64);
        t.failed("a", 0, 0, attempt, Failure::Stopped);
    }
    assert_eq!(t.state.members()[harness::id("a")].strikes, MAX_STRIKES - 1);
    t.take("a", 1);
    t.tick(PAUSE.as_millis() as u64);
    t.made("a", 0, 0, MAX_STRIKES);
    assert_eq!(t.state.members()[harness::id("a")].strikes, 0);
    t.apply(Event::Tick);
}

/// Two workers must hold each file, and the disk of one of them is full.
#[test]
fn run_waits_for_space_for_copies() {
    let mut t = Table::with(Rules { replicas: 2, ..rules(1) }, "a b");
    assert_eq!(crate::cluster::status::obstacle(&t.state, Millis(t.now)), None);
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders"]);
    t.made("a", 0, 0, 1);
    assert!(t.take("b", 0).iter().any(|line| line.starts_with("b <- copy 0/0")));
    t.copy_failed("b", 0, 0, Failure::DiskFull("cannot write".into()));
    let obstacle = crate::cluster::status::obstacle(&t.state, Millis(t.now)).unwrap();
    assert!(
        obstacle.starts_with("2 workers must hold each file, but host-b (62626262) cannot take"),
        "{obstacle}"
    );
}
