//! Tests of audits: shards are computed twice, and workers that were wrong are quarantined.

use super::harness::{held, id, report, task};
use super::*;
use crate::cluster::parts::FileHolders;
use crate::cluster::parts::backoff::PAUSE;
use crate::cluster::parts::{FIRST_ATTEMPT, PARTS};
use crate::cluster::state::{Past, digest_of};
use fathom_engine::run::ShardReport;
use fathom_layer::Digest;
use fathom_proto::{Done, Failure, Outcome, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// Returns rules under which every shard is audited.
fn all_audited(shards: u32) -> Rules {
    Rules { audit: PARTS, ..rules(shards) }
}

/// Returns the commands for a worker that asks for one task, without the holder map.
fn takes(t: &mut Table, worker: &str) -> Vec<String> {
    t.commands(worker, 1)
}

/// Returns a table with two shards: a has computed the first one and b the second one. Each then audits the
/// other's.
fn two_made(workers: &str) -> Table {
    let mut t = Table::with(all_audited(2), workers);
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 #1.1"]);
    assert_eq!(takes(&mut t, "b"), ["b <- make 0/1 #1.1"]);
    t
}

#[test]
fn layer_is_committed_after_audits_agree() {
    let mut t = two_made("a b");
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.made("b", 0, 1, 1), ["b <- known"]);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/1 #1.1 not portable"]);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2 not portable"]);
    assert_eq!(t.audited("a", 0, 1, 1), ["a <- known"]);
    let lines = t.audited("b", 0, 0, 2);
    assert!(lines[1].starts_with("commit 0/0 0/1 "), "{lines:?}");
    assert_eq!(t.state.audits().results(), (2, 0));
}

#[test]
fn third_worker_decides_a_dispute() {
    let mut t = two_made("a b c");
    t.made_wrong("a", 0, 0, 1);
    assert_eq!(t.take("b", 0), [""; 0]);
    t.made("b", 0, 1, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    assert_eq!(t.audited("c", 0, 0, 1), ["doubt 0/0", "c <- known"]);
    assert_eq!(t.state.audits().results(), (0, 1));
    let obstacle = crate::cluster::status::obstacle(&t.state, crate::cluster::event::Millis(0)).unwrap();
    assert!(obstacle.contains("host-a found 10 states"), "{obstacle}");
    // The third worker agrees with c, so a is quarantined, and its shards are computed again.
    assert_eq!(takes(&mut t, "b"), ["b <- nothing", "b <- audit 0/0 #1.2"]);
    let lines = t.audited("b", 0, 0, 2);
    assert!(lines.contains(&"forget 0/0".into()) && lines.contains(&"set aside a".into()), "{lines:?}");
    let lines = [takes(&mut t, "b"), takes(&mut t, "c")].concat();
    assert!(lines.iter().any(|line| line.ends_with("make 0/0 afresh #1.2")), "{lines:?}");
}

#[test]
fn dispute_without_third_worker_ends_the_run() {
    let mut t = two_made("a b");
    t.made("b", 0, 1, 1);
    t.made_wrong("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.1 not portable"]);
    t.audited("b", 0, 0, 1);
    let failed = |t: &Table| match t.state.ending() {
        Some(crate::cluster::event::Ending::Failed(message)) => message.clone(),
        other => panic!("{other:?}"),
    };
    let message = failed(&t);
    assert!(message.contains("host-a found") && message.contains("a third worker"), "{message}");
}

#[test]
fn single_worker_audits_itself() {
    let mut t = Table::with(all_audited(1), "a");
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 #1.1"]);
    t.made("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/0 #1.1 not portable"]);
    let lines = t.audited("a", 0, 0, 1);
    assert!(lines[1].starts_with("commit 0/0 "), "{lines:?}");
}

/// A worker whose kernels disagree is found without another worker.
#[test]
fn self_contradiction_ends_the_run() {
    let mut t = Table::with(all_audited(1), "a");
    takes(&mut t, "a");
    t.made_wrong("a", 0, 0, 1);
    takes(&mut t, "a");
    t.audited("a", 0, 0, 1);
    assert!(matches!(t.state.ending(), Some(crate::cluster::event::Ending::Failed(_))));
}

/// An audit that keeps failing does not stop the run.
#[test]
fn unauditable_shard_is_committed() {
    let mut t = two_made("a b");
    t.made("b", 0, 1, 1);
    t.take("a", 0);
    t.made("a", 0, 0, 1);
    takes(&mut t, "a");
    t.audited("a", 0, 1, 1);
    for attempt in 2..7 {
        assert_eq!(takes(&mut t, "b"), [format!("b <- audit 0/0 #1.{attempt} not portable")]);
        let lines = t.failed("b", 0, 0, FIRST_ATTEMPT + attempt, Failure::Other("cannot".into()));
        if attempt == 6 {
            assert!(lines[1].starts_with("commit 0/0 0/1 "), "{lines:?}");
        }
        t.tick(PAUSE.as_millis() as u64);
        t.beat("a", &[]);
        t.beat("b", &[]);
    }
}

/// The audit of a lost worker is given to another worker.
#[test]
fn audit_of_lost_worker_is_reassigned() {
    let mut t = two_made("a b c");
    t.made("b", 0, 1, 1);
    t.made("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    t.leave("c");
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2 not portable"]);
}

/// Computes a layer of the given number of shards with two workers, and returns the number of audits. A
/// shard takes `shard_takes` milliseconds, and an audit `audit_takes`.
fn audits_of_a_layer(audit: u32, shards: u32, shard_takes: u64, audit_takes: u64) -> u32 {
    let mut t = Table::with(Rules { audit, ..rules(shards) }, "a b");
    let (mut makes, mut audits) = (0, 0);
    for _ in 0..10 * shards {
        if t.state.depth().0 > 0 {
            break;
        }
        for worker in ["a", "b"] {
            let lines = t.take(worker, 1);
            t.now += if lines.iter().any(|line| line.contains("audit")) { audit_takes } else { shard_takes };
            t.beat("a", &[]);
            t.beat("b", &[]);
            for line in lines.iter().filter_map(|line| line.strip_prefix(&format!("{worker} <- "))) {
                for order in line.split(", ").filter(|order| order.contains(" 0/")) {
                    let words: Vec<&str> = order.split_whitespace().collect();
                    let shard = words[1].split_once('/').unwrap().1.parse().unwrap();
                    let number = words[2].split_once('.').unwrap().1.parse().unwrap();
                    if words[0] == "make" {
                        makes += 1;
                        t.made(worker, 0, shard, number);
                    } else {
                        audits += 1;
                        t.audited(worker, 0, shard, number);
                    }
                }
            }
        }
    }
    assert_eq!(makes, shards);
    audits
}

/// If shards take long, audits take no more than their share of the time.
#[test]
fn audits_take_their_share_of_the_time() {
    let audits = audits_of_a_layer(PARTS / 50, 400, 5_000, 5_000);
    assert!((1..=400 / 50 + 1).contains(&audits), "{audits} audits");
}

/// With a share of 100%, every shard is audited, even if that takes longer than the shards.
#[test]
fn full_share_audits_every_shard() {
    assert_eq!(audits_of_a_layer(PARTS, 40, 1_000, 4_000), 40);
}

/// A disputed shard that no third worker can audit is computed again.
#[test]
fn disputed_shard_is_not_committed() {
    let mut t = two_made("a b c");
    t.made("b", 0, 1, 1);
    t.made_wrong("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    t.audited("c", 0, 0, 1);
    for number in 2..7 {
        assert_eq!(takes(&mut t, "b"), [format!("b <- audit 0/0 #1.{number}")]);
        let lines = t.failed("b", 0, 0, FIRST_ATTEMPT + number, Failure::Other("cannot".into()));
        assert_eq!(lines.contains(&"forget 0/0".into()), number == 6, "{lines:?}");
        t.tick(PAUSE.as_millis() as u64);
        t.beat("b", &[]);
        t.beat("c", &[]);
    }
    assert_eq!(t.state.depth().0, 0);
}

/// The results and running audits of a quarantined worker are ignored, and do not end the run.
#[test]
fn quarantined_worker_findings_are_ignored() {
    let mut t = Table::with(all_audited(3), "a b c");
    for (worker, shard) in [("a", 0), ("b", 1), ("c", 2)] {
        assert_eq!(takes(&mut t, worker), [format!("{worker} <- make 0/{shard} #1.1")]);
    }
    t.made_wrong("a", 0, 0, 1);
    t.made("b", 0, 1, 1);
    t.made("c", 0, 2, 1);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/1 #1.1 not portable"]);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2 not portable"]);
    t.audited("b", 0, 0, 2);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.3"]);
    let lines = t.audited("c", 0, 0, 3);
    assert!(lines.contains(&"set aside a".into()), "{lines:?}");
    // The report that shard 1 differs arrives too late.
    t.made_wrong("a", 0, 1, FIRST_ATTEMPT + 1);
    assert!(t.state.ending().is_none() && t.state.audits().results() == (0, 1));
}

/// A run that waits for a third worker says so when there is none.
#[test]
fn dispute_asks_for_a_third_worker() {
    let mut t = two_made("a b c");
    t.made("b", 0, 1, 1);
    t.made_wrong("a", 0, 0, 1);
    takes(&mut t, "c");
    t.audited("c", 0, 0, 1);
    assert!(t.state.dispute().unwrap().ends_with("a third worker decides"));
    t.leave("b");
    assert!(t.state.dispute().unwrap().ends_with("none is connected: start one"));
    t.join("d");
    assert_eq!(takes(&mut t, "d"), ["d <- audit 0/0 #1.2"]);
}

/// A wrong file in a shared store is deleted, because a single process that continues the run would use it.
#[test]
fn wrong_file_in_shared_store_is_deleted() {
    let mut t = Table::with(Rules { shared_store: true, ..all_audited(2) }, "a b c");
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 #1.1"]);
    assert_eq!(takes(&mut t, "b"), ["b <- make 0/1 #1.1"]);
    t.made_wrong("a", 0, 0, 1);
    t.made("b", 0, 1, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    t.audited("c", 0, 0, 1);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2"]);
    let lines = t.audited("b", 0, 0, 2);
    let at = |what: &str| lines.iter().position(|line| line == what).unwrap_or_else(|| panic!("{lines:?}"));
    assert!(at("discard shared 0/0") < at("forget 0/0"));
}

/// A worker that recomputes a shard may have a copy of another worker's file, and does not use it. If the
/// results differ, the shard is computed once more and audited.
#[test]
fn previously_reported_shard_is_recomputed() {
    let mut t = two_made("a b c");
    t.made("b", 0, 1, 1);
    t.made_wrong("a", 0, 0, 1);
    t.leave("a");
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/1 #1.1 not portable, make 0/0 afresh #1.2"]);
    t.audited("c", 0, 1, 1);
    assert_eq!(t.made("c", 0, 0, 2), ["doubt 0/0", "forget 0/0", "c <- known"]);
    assert!(t.state.ending().is_none() && t.state.audits().is_doubted(task(0, 0)));
    assert_eq!(takes(&mut t, "c"), ["c <- make 0/0 afresh #1.3"]);
    t.made("c", 0, 0, 3);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2 not portable"]);
}

/// A worker that comes back with a file finds it, and does not count as a second worker with the same result.
#[test]
fn returning_holder_does_not_audit() {
    let mut t = two_made("a b");
    t.made("b", 0, 1, 1);
    t.made("a", 0, 0, 1);
    t.join_with("a", 1, &[]);
    t.join_with("a", 1, &[(0, 0)]);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/1 #1.1 not portable, make 0/0 #1.2"]);
    t.audited("a", 0, 1, 1);
    t.made("a", 0, 0, 2);
    assert_eq!(takes(&mut t, "a"), [""; 0]);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2 not portable"]);
}

/// The producer of a shard may be unknown, because its file was found; any holder may be the producer.
#[test]
fn holders_do_not_audit_shards_of_unknown_producer() {
    let past = Past { files: vec![held(0, 0, "a")], reports: vec![report(0, 0)], ..Past::default() };
    let mut t = Table::after(all_audited(2), 2, past);
    t.state.draw_again();
    t.join_with("a", 1, &[(0, 0)]);
    t.join("b");
    assert_eq!(takes(&mut t, "a"), [""; 0]);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #2.1, make 0/1 #2.1"]);
}

/// The producers of shards are in the journal, so only the shards of a wrong worker are recomputed.
#[test]
fn audit_finds_wrong_worker_of_earlier_epoch() {
    let wrong = ShardReport { checksums: vec![Digest::new(b"a")], ..report(0, 0) };
    let in_store = |report: &ShardReport| {
        let holders = BTreeSet::from([WorkerId::SHARED_STORE]);
        (report.task, FileHolders { holders, bytes: report.bytes, digest: digest_of(report) })
    };
    let reports = vec![wrong, report(0, 1)];
    let files = reports.iter().map(in_store).collect();
    let producers = BTreeMap::from([(task(0, 0), id("a")), (task(0, 1), id("b"))]);
    let rules = Rules { shared_store: true, ..all_audited(2) };
    let workers = ["a", "b", "c"].map(|name| (id(name), format!("host-{name}"), format!("{name}:1"))).into();
    let mut t = Table::after(rules, 2, Past { files, reports, producers, workers, ..Past::default() });
    t.state.draw_again();
    for worker in ["a", "b", "c"] {
        t.join(worker);
    }
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #2.1 not portable"]);
    assert_eq!(t.audited("c", 0, 0, 1), ["doubt 0/0", "c <- known"]);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #2.2"]);
    let lines = t.audited("b", 0, 0, 2);
    assert!(lines.contains(&"forget 0/0".into()) && lines.contains(&"set aside a".into()), "{lines:?}");
}

/// A coordinator that is restarted while two results of a shard differ has the shard audited again,
/// whatever share of the shards is audited.
#[test]
fn suspect_shard_of_earlier_epoch_is_audited() {
    let past = Past {
        files: vec![held(0, 0, "a"), held(0, 1, "a")],
        reports: vec![report(0, 0), report(0, 1)],
        suspected: BTreeSet::from([task(0, 1), task(5, 0)]),
        ..Past::default()
    };
    let mut t = Table::after(Rules { audit: 0, ..all_audited(2) }, 2, past);
    t.state.draw_again();
    t.join_with("a", 1, &[(0, 0), (0, 1)]);
    t.join("b");
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/1 #2.1"]);
}

/// The producer of a suspect shard does not audit it while a worker of an earlier epoch may come back.
#[test]
fn producer_does_not_audit_its_suspect_shard() {
    let workers = ["a", "b"].map(|name| (id(name), format!("host-{name}"), format!("{name}:1"))).to_vec();
    let past = |workers: &[(WorkerId, String, String)]| Past {
        files: vec![held(0, 0, "a"), held(0, 1, "a")],
        reports: vec![report(0, 0), report(0, 1)],
        producers: BTreeMap::from([(task(0, 0), id("a")), (task(0, 1), id("a"))]),
        suspected: BTreeSet::from([task(0, 1)]),
        workers: workers.to_vec(),
        ..Past::default()
    };
    let again = |past| {
        let mut t = Table::after(all_audited(2), 2, past);
        t.state.draw_again();
        t.join_with("a", 1, &[(0, 0), (0, 1)]);
        t
    };
    let mut t = again(past(&workers));
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/0 #2.1 not portable"]);
    t.audited("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "a"), [""; 0]);
    assert!(t.state.dispute().unwrap().ends_with("start another one"));
    t.join("b");
    assert_eq!(t.state.dispute(), None);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/1 #2.2 not portable"]);
    // If there never was another worker, none can come back.
    let mut t = again(past(&workers[..1]));
    takes(&mut t, "a");
    t.audited("a", 0, 0, 1);
    assert_eq!(t.state.dispute(), None);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/1 #2.2 not portable"]);
}

/// If the report of a suspect shard was not journalled, any worker may find a file of the shard, and its
/// producer would be unknown.
#[test]
fn suspect_shard_without_report_is_recomputed() {
    let past = Past { suspected: BTreeSet::from([task(0, 0)]), ..Past::default() };
    let mut t = Table::after(all_audited(2), 2, past);
    t.join("a");
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 afresh #2.1"]);
}

/// A suspect shard whose audits fail is not committed without one.
#[test]
fn suspect_shard_is_recomputed_when_audits_fail() {
    let past = Past {
        files: vec![held(0, 0, "a"), held(0, 1, "a")],
        reports: vec![report(0, 0), report(0, 1)],
        suspected: BTreeSet::from([task(0, 1)]),
        ..Past::default()
    };
    let mut t = Table::after(Rules { audit: 0, ..all_audited(2) }, 2, past);
    t.state.draw_again();
    t.join_with("a", 1, &[(0, 0), (0, 1)]);
    t.join("b");
    for attempt in 1..=5 {
        assert_eq!(takes(&mut t, "b"), [format!("b <- audit 0/1 #2.{attempt}")]);
        t.failed("b", 0, 1, FIRST_ATTEMPT + attempt, Failure::Other("cannot".into()));
        t.tick(PAUSE.as_millis() as u64);
        t.beat("a", &[]);
        t.beat("b", &[]);
    }
    assert_eq!((t.state.depth().0, t.state.audits().is_doubted(task(0, 1))), (0, true));
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/1 afresh #2.1"]);
}

/// A shard may wait to be recomputed although its file is back, because the worker was gone in the meantime.
#[test]
fn file_returned_by_wrong_worker_is_not_used() {
    let mut t = two_made("a b c");
    t.made("b", 0, 1, 1);
    t.made("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/1 #1.1 not portable"]);
    t.made_wrong("a", 0, 1, FIRST_ATTEMPT + 1);
    t.join_with("a", 1, &[]);
    t.join_with("a", 1, &[(0, 0)]);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/1 #1.2"]);
    assert_eq!(t.audited("c", 0, 1, 2), ["forget 0/0", "set aside a", "c <- known"]);
    assert_eq!(takes(&mut t, "c"), ["c <- make 0/0 afresh #1.2"]);
}

/// A file that a wrong worker is computing would replace the right file in a shared store, and might be used.
#[test]
fn wrong_worker_stops_immediately_in_shared_store() {
    let mut t = Table::new(Rules { shared_store: true, ..all_audited(3) });
    t.join_with("a", 2, &[]);
    assert_eq!(t.commands("a", 2), ["a <- make 0/0 #1.1, make 0/1 #1.1"]);
    t.join("b");
    t.join("c");
    t.made_wrong("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    t.audited("c", 0, 0, 1);
    assert_eq!(t.take("a", 0), [""; 0]);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2, make 0/2 #1.1"]);
    let lines = t.audited("b", 0, 0, 2);
    assert!(lines.contains(&"a <- leave Stopped".into()), "{lines:?}");
    assert!(lines.contains(&"forget 0/0 0/1 0/2".into()), "{lines:?}");
    // Another process of the worker is stopped, too.
    t.join("a");
    assert_eq!(t.take("a", 1), ["a <- leave Stopped"]);
}

/// A worker may find a file that another one has computed: a copy whose report was not saved before the
/// coordinator was killed, or a file that a process has left in a shared store.
#[test]
fn found_file_blames_no_worker() {
    for shared_store in [false, true] {
        let mut t = Table::with(Rules { shared_store, ..all_audited(1) }, "a b");
        assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 #1.1"]);
        t.found_wrong("a", 0, 0, 1);
        assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.1"]);
        let lines = t.audited("b", 0, 0, 1);
        assert!(lines.contains(&"forget 0/0".into()) && t.state.ending().is_none(), "{lines:?}");
        assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 afresh #1.2"]);
    }
}

/// Once a worker is known to be wrong, a file that was not reported before may be the worker's.
#[test]
fn found_file_is_not_used_after_quarantine() {
    let mut t = two_made("a b");
    t.join("c");
    t.join("d");
    t.made_wrong("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    t.audited("c", 0, 0, 1);
    assert_eq!(takes(&mut t, "d"), ["d <- audit 0/0 #1.2"]);
    assert!(t.audited("d", 0, 0, 2).contains(&"forget 0/0 0/1".into()));
    t.found_wrong("b", 0, 1, 1);
    assert_eq!(takes(&mut t, "b"), ["b <- make 0/0 afresh #1.2"]);
    assert_eq!(takes(&mut t, "c"), ["c <- make 0/1 afresh #1.2"]);
    // A worker that finds a file again, despite the command, backs off.
    t.found_wrong("c", 0, 1, 2);
    assert!(!t.state.members()[id("c")].is_willing(crate::cluster::event::Millis(t.now)));
}

/// The files are the same, but the reports list different watched states.
#[test]
fn audit_compares_watched_states() {
    let mut t = two_made("a b c");
    let watched = ShardReport { watched: vec![4], ..report(0, 0) };
    let (attempt, result) = (t.attempt(1), Ok(Done::Made(watched)));
    t.outcome("a", Outcome { task: task(0, 0), attempt, result });
    assert_eq!(t.take("b", 0), [""; 0]);
    t.made("b", 0, 1, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    assert_eq!(t.audited("c", 0, 0, 1), ["doubt 0/0", "c <- known"]);
    let obstacle = crate::cluster::status::obstacle(&t.state, crate::cluster::event::Millis(0)).unwrap();
    assert!(obstacle.contains(", watched states 5; host-c found"), "{obstacle}");
}
