//! Tests of audits: shards are computed twice, and workers that were wrong are set aside.

use super::table::{held, id, report, task};
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

/// Returns a table with two shards: a has made the first one and b the second one. Each then audits the
/// other's.
fn two_made(workers: &str) -> Table {
    let mut t = Table::with(all_audited(2), workers);
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 #1.1"]);
    assert_eq!(takes(&mut t, "b"), ["b <- make 0/1 #1.1"]);
    t
}

#[test]
fn a_layer_is_committed_when_others_have_found_the_same() {
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
fn a_third_worker_says_who_is_wrong() {
    let mut t = two_made("a b c");
    t.made_wrong("a", 0, 0, 1);
    assert_eq!(t.take("b", 0), [""; 0]);
    t.made("b", 0, 1, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    assert_eq!(t.audited("c", 0, 0, 1), ["doubt 0/0", "c <- known"]);
    assert_eq!(t.state.audits().results(), (0, 1));
    let obstacle = crate::cluster::status::obstacle(&t.state, crate::cluster::event::Millis(0)).unwrap();
    assert!(obstacle.contains("host-a found 10 states"), "{obstacle}");
    // The third worker agrees with c, so a is set aside, and its shards are computed again.
    assert_eq!(takes(&mut t, "b"), ["b <- nothing", "b <- audit 0/0 #1.2"]);
    let lines = t.audited("b", 0, 0, 2);
    assert!(lines.contains(&"forget 0/0".into()) && lines.contains(&"set aside a".into()), "{lines:?}");
    let lines = [takes(&mut t, "b"), takes(&mut t, "c")].concat();
    assert!(lines.iter().any(|line| line.ends_with("make 0/0 afresh #1.2")), "{lines:?}");
}

#[test]
fn without_a_third_worker_the_run_ends() {
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
fn one_worker_checks_itself() {
    let mut t = Table::with(all_audited(1), "a");
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 #1.1"]);
    t.made("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/0 #1.1 not portable"]);
    let lines = t.audited("a", 0, 0, 1);
    assert!(lines[1].starts_with("commit 0/0 "), "{lines:?}");
}

/// A worker whose engines disagree is found without another worker.
#[test]
fn one_worker_that_contradicts_itself_ends_the_run() {
    let mut t = Table::with(all_audited(1), "a");
    takes(&mut t, "a");
    t.made_wrong("a", 0, 0, 1);
    takes(&mut t, "a");
    t.audited("a", 0, 0, 1);
    assert!(matches!(t.state.ending(), Some(crate::cluster::event::Ending::Failed(_))));
}

/// An audit that fails again and again does not stop the run.
#[test]
fn a_shard_that_cannot_be_audited_is_committed_all_the_same() {
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
fn an_audit_survives_its_worker() {
    let mut t = two_made("a b c");
    t.made("b", 0, 1, 1);
    t.made("a", 0, 0, 1);
    assert_eq!(takes(&mut t, "c"), ["c <- audit 0/0 #1.1 not portable"]);
    t.leave("c");
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #1.2 not portable"]);
}

/// Makes a layer of so many shards with two workers, and returns the number of audits. A shard takes
/// `shard_takes` milliseconds, and an audit `audit_takes`.
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

/// Where shards take long, audits take no more than their share of the time.
#[test]
fn audits_take_their_share_of_the_time() {
    let audits = audits_of_a_layer(PARTS / 50, 400, 5_000, 5_000);
    assert!((1..=400 / 50 + 1).contains(&audits), "{audits} audits");
}

/// Who asks for all audits gets them, even if they take longer than the shards.
#[test]
fn with_a_share_of_all_every_shard_is_audited() {
    assert_eq!(audits_of_a_layer(PARTS, 40, 1_000, 4_000), 40);
}

/// A disputed shard that no third worker can audit is computed again.
#[test]
fn a_disputed_shard_is_never_committed() {
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

/// The findings and running audits of a worker that is set aside count for nothing, and do not end the run.
#[test]
fn the_findings_of_a_worker_that_is_wrong_are_forgotten() {
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
    // The report that shard 1 differs comes too late.
    t.made_wrong("a", 0, 1, FIRST_ATTEMPT + 1);
    assert!(t.state.ending().is_none() && t.state.audits().results() == (0, 1));
}

/// A run that waits for a third worker says so when there is none.
#[test]
fn a_dispute_without_a_third_worker_asks_for_one() {
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

/// A wrong file in a shared store is deleted, because a process that continues the run alone would use it.
#[test]
fn a_wrong_file_in_a_shared_store_is_deleted() {
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

/// A worker that makes a shard again may have a copy of what another worker made, and does not use it. If
/// the results differ, the shard is made once more and audited.
#[test]
fn a_shard_that_was_reported_before_is_made_afresh_by_others() {
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

/// A worker that comes back with a file finds it, and does not count as another one that has found the same.
#[test]
fn who_brings_a_file_back_does_not_audit_it() {
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

/// Who made a shard may not be known, because its file was found; its holder may have.
#[test]
fn holders_do_not_audit_what_nobody_is_known_to_have_made() {
    let past = Past { files: vec![held(0, 0, "a")], reports: vec![report(0, 0)], ..Past::default() };
    let mut t = Table::after(all_audited(2), 2, past);
    t.state.draw_again();
    t.join_with("a", 1, &[(0, 0)]);
    t.join("b");
    assert_eq!(takes(&mut t, "a"), [""; 0]);
    assert_eq!(takes(&mut t, "b"), ["b <- audit 0/0 #2.1, make 0/1 #2.1"]);
}

/// The journal tells who made the shards of an earlier epoch, so only those of a wrong worker are made again.
#[test]
fn a_worker_that_was_wrong_in_an_earlier_epoch_is_found() {
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

/// A coordinator that is started again while two results of a shard differ has the shard audited again,
/// whatever share of the shards is audited.
#[test]
fn what_was_doubted_in_an_earlier_epoch_is_audited() {
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

/// The maker of a suspect shard does not audit it while a worker of an earlier epoch may come back.
#[test]
fn what_is_doubted_is_not_left_to_its_maker() {
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
    // If there was never another one, nobody can come back.
    let mut t = again(past(&workers[..1]));
    takes(&mut t, "a");
    t.audited("a", 0, 0, 1);
    assert_eq!(t.state.dispute(), None);
    assert_eq!(takes(&mut t, "a"), ["a <- audit 0/1 #2.2 not portable"]);
}

/// If the report of a suspect shard was not journalled, a file of the shard may be found by anyone, and
/// nobody would know who made it.
#[test]
fn a_doubtful_shard_without_a_report_is_made_afresh() {
    let past = Past { suspected: BTreeSet::from([task(0, 0)]), ..Past::default() };
    let mut t = Table::after(all_audited(2), 2, past);
    t.join("a");
    assert_eq!(takes(&mut t, "a"), ["a <- make 0/0 afresh #2.1"]);
}

/// A suspect shard whose audits fail is not committed without one.
#[test]
fn what_is_doubted_is_made_again_if_its_audits_fail() {
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

/// A shard may wait to be made again although its file is back, because the worker was gone meanwhile.
#[test]
fn what_a_wrong_worker_brings_back_is_not_used() {
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

/// What a wrong worker is making would replace the right file in a shared store, and might be used there.
#[test]
fn a_wrong_worker_stops_at_once_in_a_shared_store() {
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
    // Another process of the worker, too.
    t.join("a");
    assert_eq!(t.take("a", 1), ["a <- leave Stopped"]);
}

/// A worker may find a file that another one has made: a copy whose report was not saved before the
/// coordinator was killed, or what a process has left in a shared store.
#[test]
fn nobody_is_blamed_for_a_file_that_was_found() {
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
fn what_is_found_beside_a_wrong_worker_is_not_used() {
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
    // Who finds a file again, against the order, rests.
    t.found_wrong("c", 0, 1, 2);
    assert!(!t.state.members()[id("c")].is_willing(crate::cluster::event::Millis(t.now)));
}

/// The files are the same, and the reports name other watched states.
#[test]
fn an_audit_compares_watched_states() {
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
