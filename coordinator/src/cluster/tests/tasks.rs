//! Tests of commands that are given, lost, late or failed.

use super::harness::{damaged, task, unreachable};
use super::*;
use crate::cluster::event::{Event, Millis};
use crate::cluster::page_view::ShardStory;
use crate::cluster::parts::TaskProgress;
use fathom_engine::run::ShardId;
use fathom_layer::Digest;
use fathom_proto::{Attempt, Copied, Done, Failure, Outcome};

/// Returns a table in which a has the one task of depth 0, and b can join.
fn busy() -> Table {
    let mut t = Table::with(rules(1), "a");
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders"]);
    t
}

fn is_waiting(t: &Table, depth: u32, shard: u32) -> bool {
    t.state.tasks().get(task(depth, shard)).unwrap().making == TaskProgress::Waiting
}

#[test]
fn late_reports_are_ignored() {
    let mut t = busy();
    t.join("b");
    t.notes = true;
    // Reports of another worker, another attempt, another epoch, and a session that has ended.
    let ignored = |name: &str| {
        vec!["note late report ignored ".to_owned() + name + " 0/0", name.to_owned() + " <- known"]
    };
    assert_eq!(t.made("b", 0, 0, 1), ignored("b"));
    assert_eq!(t.made("a", 0, 0, 2), ignored("a"));
    let attempt = Some(Attempt { epoch: 0, number: 1 });
    let result = Ok(Done::Made(harness::report(0, 0)));
    assert_eq!(t.outcome("a", Outcome { task: task(0, 0), attempt, result }), ignored("a"));
    t.sessions.insert("c".into(), t.sessions["a"]);
    t.leave("a");
    assert_eq!(t.made("c", 0, 0, 1), ["note late report ignored 0/0", "c <- unknown"]);
    assert!(is_waiting(&t, 0, 0));
}

#[test]
fn duplicate_reports_count_once() {
    let mut t = Table::with(rules(2), "a");
    t.take("a", 2);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.made("a", 0, 1, 1), ["a <- known", "commit 0/0 0/1 in 0 ms, held 0/0 a, 0/1 a"]);
    assert_eq!(t.made("a", 0, 1, 1), ["a <- known"]);
    assert_eq!(t.state.commit().visited(), 20);
}

#[test]
fn lost_commands_are_given_again() {
    let mut t = busy();
    assert_eq!(t.take("a", 1), [""; 0]);
    t.now = 6000;
    assert_eq!(t.beat("a", &[]), ["a <- known"]);
    t.now = 6001;
    assert_eq!(t.beat("a", &[]), ["a <- known", "a <- make 0/0 #1.2"]);
    t.now = 15_000;
    assert_eq!(t.beat("a", &[(0, 0)]), ["a <- known"]);
    assert!(!is_waiting(&t, 0, 0));
}

/// A worker removes a task from its list before its report arrives.
#[test]
fn report_in_transit_is_not_a_lost_command() {
    let mut t = busy();
    for now in [2000, 4000, 6000, 8000, 10_000] {
        t.now = now;
        assert_eq!(t.beat("a", &[(0, 0)]), ["a <- known"]);
    }
    t.now = 12_000;
    assert_eq!(t.beat("a", &[]), ["a <- known"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known", "commit 0/0 in 12000 ms, held 0/0 a"]);
}

#[test]
fn lease_expiry_reassigns_tasks() {
    let mut t = busy();
    t.join("b");
    assert_eq!(t.take("a", 1), [""; 0]);
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.tick(5_000), [""; 0]);
    t.now = 9900;
    assert_eq!(t.beat("b", &[]), ["b <- known"]);
    // Requests are answered after twenty seconds, and a lease lasts ten.
    assert_eq!(t.tick(100), [""; 0]);
    t.notes = true;
    assert_eq!(
        t.tick(1),
        ["a <- unknown", "note worker lost a", "b <- make 0/0 #1.2, holders", "note task given b 0/0"]
    );
    assert_eq!(t.tick(1), [""; 0]);
}

#[test]
fn coordinator_pause_loses_no_workers() {
    let mut t = busy();
    // The coordinator was stopped for longer than a lease.
    assert_eq!(t.tick(60_000), [""; 0]);
    assert_eq!(t.beat("a", &[(0, 0)]), ["a <- known"]);
}

#[test]
fn request_is_answered_by_the_next_or_a_timeout() {
    let mut t = busy();
    t.join("b");
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.take("b", 2), ["b <- nothing"]);
    t.now = 20_000;
    t.beat("a", &[(0, 0)]);
    t.beat("b", &[]);
    assert_eq!(t.tick(0), [""; 0]);
    assert_eq!(t.tick(1), ["b <- nothing"]);
    assert_eq!(t.tick(1), [""; 0]);
}

#[test]
fn stopped_task_is_reassigned() {
    let mut t = busy();
    t.join("b");
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.failed("a", 0, 0, 1, Failure::Stopped), ["a <- known"]);
    assert!(is_waiting(&t, 0, 0));
    // The task waits for a second, in which its worker may leave.
    t.leave("a");
    assert_eq!(t.tick(999), [""; 0]);
    assert_eq!(t.tick(1), ["b <- make 0/0 #1.2, holders"]);
}

#[test]
fn failed_tasks_are_retried_after_a_pause() {
    for failure in [unreachable(0, 0, "nobody"), damaged(0, 0, Some("nobody")), damaged(0, 0, None)] {
        let mut t = busy();
        assert_eq!(t.failed("a", 0, 0, 1, failure), ["a <- known"]);
        let discarded = t.take("a", 1);
        assert!(!discarded.iter().any(|line| line.contains("make")), "{discarded:?}");
        t.take("a", 1);
        assert_eq!(t.tick(999), [""; 0]);
        assert_eq!(t.tick(1), ["a <- make 0/0 #1.2"]);
    }
}

#[test]
fn fifth_failure_ends_the_run() {
    let mut t = busy();
    for attempt in 1..5 {
        assert_eq!(t.failed("a", 0, 0, attempt, Failure::Other("no".into())), ["a <- known"]);
        assert_eq!(t.take("a", 1), [""; 0]);
        assert_eq!(t.tick(1000), [format!("a <- make 0/0 #1.{}", attempt + 1)]);
    }
    t.now += 1000;
    t.join("b");
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.failed("a", 0, 0, 5, Failure::Other("no".into())), ["a <- known", "b <- leave Failed"]);
    assert_eq!(t.take("a", 1), ["a <- leave Failed"]);
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(
        t.leave("b"),
        ["b <- known", "told", r#"end Failed("shard 0 of depth 0 failed 5 times; last error: no")"#]
    );
}

/// A task that fails on one disk is done on another, and the run does not end.
#[test]
fn failing_worker_backs_off_unless_alone() {
    let mut t = busy();
    t.join("b");
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.failed("a", 0, 0, 1, Failure::Other("no".into())), ["a <- known"]);
    assert_eq!(t.take("a", 1), [""; 0]);
    assert_eq!(t.tick(1000), ["b <- make 0/0 #1.2, holders"]);
    // The last worker does not back off.
    assert_eq!(t.failed("b", 0, 0, 2, Failure::Other("no".into())), ["b <- known"]);
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.tick(1000), ["b <- make 0/0 #1.3"]);
}

#[test]
fn confirmed_contradiction_ends_the_run() {
    let mut t = busy();
    t.join("b");
    // A single worker is not believed, because its memory may be at fault.
    assert_eq!(t.failed("a", 0, 0, 1, Failure::Contradiction("too many".into())), ["a <- known"]);
    assert_eq!(t.take("b", 1), ["b <- make 0/0 #1.2, holders"]);
    assert_eq!(t.failed("b", 0, 0, 2, Failure::Contradiction("too many".into())), ["b <- known"]);
    assert_eq!(t.take("b", 1), ["b <- leave Failed"]);
    assert_eq!(t.leave("b"), ["b <- known"]);
    // A worker that does not leave is not waited for.
    t.now += 29_000;
    assert_eq!(t.beat("a", &[]), ["a <- known"]);
    assert_eq!(t.tick(1000), ["told", r#"end Failed("too many")"#]);
    assert_eq!(t.tick(1000), [""; 0]);
}

/// A worker in backoff is present, so that a single other worker does not end the run.
#[test]
fn contradiction_waits_for_worker_in_backoff() {
    let mut t = busy();
    t.join("b");
    t.state.rest_until(harness::id("b"), Millis(t.now + 20_000));
    for attempt in [1, 2] {
        let failure = Failure::Contradiction("too many".into());
        assert_eq!(t.failed("a", 0, 0, attempt, failure), ["a <- known"]);
        assert_eq!(t.state.ending(), None);
        t.take("a", 1);
        t.now += 10_000;
        t.beat("a", &[]);
        t.beat("b", &[]);
        t.tick(1);
    }
    assert!(t.take("b", 1)[0].starts_with("b <- make 0/0"));
}

/// The file of a lost worker is computed again, with another result.
#[test]
fn conflicting_reports_of_one_shard_end_the_run() {
    let mut t = Table::with(rules(2), "a");
    t.take("a", 1);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.leave("a"), ["a <- known"]);
    t.join("b");
    assert_eq!(t.take("b", 1), ["b <- make 0/0 afresh #1.2, holders"]);
    let mut other = harness::report(0, 0);
    other.checksums.reverse();
    other.checksums.push(other.checksums[0]);
    let (attempt, result) = (t.attempt(2), Ok(Done::Made(other)));
    let lines = t.outcome("b", Outcome { task: task(0, 0), attempt, result });
    assert_eq!(lines, ["b <- known"]);
    let lines = t.leave("b");
    assert_eq!(lines[..2], ["b <- known", "told"]);
    assert!(lines[2].contains("was computed twice with different states"), "{lines:?}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn copy_does_not_answer_a_task() {
    let mut t = busy();
    let (attempt, result) = (t.attempt(1), Ok(Done::Copied(Copied { bytes: 1, digest: Digest([0; 32]) })));
    assert_eq!(t.outcome("a", Outcome { task: task(0, 0), attempt, result }), ["a <- known"]);
    assert!(is_waiting(&t, 0, 0));
    let result = Ok(Done::Made(harness::report(0, 0)));
    assert_eq!(t.outcome("a", Outcome { task: task(0, 0), attempt: None, result }), ["a <- known"]);
    assert!(is_waiting(&t, 0, 0));
}

#[test]
fn worker_with_full_disk_backs_off() {
    let mut t = busy();
    t.join("b");
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(
        t.failed("a", 0, 0, 1, Failure::DiskFull("no room".into())),
        ["a <- known", "b <- make 0/0 #1.2, holders"]
    );
    assert_eq!(t.take("a", 1), [""; 0]);
    t.leave("b");
    for now in [9_000, 18_000, 27_000, 29_999] {
        t.now = now;
        assert_eq!(t.beat("a", &[]), ["a <- known"]);
        assert_eq!(t.apply(Event::Tick).iter().filter(|line| line.contains("make")).count(), 0);
        t.take("a", 1);
    }
    assert_eq!(t.tick(1), ["a <- make 0/0 #1.3, holders"]);
}

#[test]
fn shard_story_has_producer_and_time() {
    let mut t = Table::with(rules(2), "a b");
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders"]);
    t.tick(1500);
    t.made("a", 0, 0, 1);
    let story = ShardStory::new(&t.state, ShardId(0), Millis(t.now)).0;
    for fact in [("computed by", "host-a"), ("took", "1.500 s"), ("held by", "host-a")] {
        assert!(story.iter().any(|(what, how)| (*what, how.as_str()) == fact), "{fact:?}: {story:?}");
    }
}
