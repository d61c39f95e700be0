//! Tests of a coordinator that comes back with its journal.

use super::harness::{held, report};
use super::*;
use crate::cluster::event::{Effect, Event, Reply, RequestId};
use crate::cluster::state::Past;

/// Returns a journal in which depth 0 is committed and held by a and b, and a has computed shard 0 of depth
/// 1.
fn past() -> Past {
    let worker = |name: &str| (harness::id(name), format!("host-{name}"), format!("{name}:1"));
    Past {
        counts: vec![20],
        workers: vec![worker("a"), worker("b")],
        files: vec![held(0, 0, "a"), held(0, 1, "b"), held(1, 0, "a")],
        reports: vec![report(1, 0)],
        ..Past::default()
    }
}

#[test]
fn workers_of_earlier_epoch_are_waited_for() {
    let mut t = Table::after(rules(2), 2, past());
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(t.join_with("b", 1, &[(0, 1)]), ["b <- registered, keeps 0 1"]);
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(t.state.waiting_for().len(), 1);
    // A computed shard is not computed again, and counts once its holder is back.
    assert_eq!(
        t.join_with("a", 1, &[(0, 0), (1, 0)]),
        ["a <- registered, keeps 0 1", "b <- make 1/1 #2.1, holders 0: a|b"]
    );
    assert_eq!(t.take("a", 1), [""; 0]);
    let committed = "commit 1/0 1/1 in 100 ms, held 0/0 a, 0/1 b, 1/0 a, 1/1 b";
    let begun = "a <- make 2/0 #2.1, holders 0: a|b 1: a|b";
    assert_eq!(t.made("b", 1, 1, 1), ["b <- known", committed, begun]);
}

/// The holder came back without the file while the last epoch was ending, when nothing was computed again.
#[test]
fn report_without_holder_is_recomputed() {
    let files = vec![held(0, 0, "a"), held(0, 1, "b"), held(1, 0, "")];
    let mut t = Table::after(rules(2), 2, Past { files, ..past() });
    t.join_with("a", 1, &[(0, 0)]);
    t.join_with("b", 1, &[(0, 1)]);
    let lines = [t.take("a", 1), t.take("b", 1)].concat();
    assert!(lines.iter().any(|line| line.contains("make 1/0")), "{lines:?}");
}

#[test]
fn absent_workers_are_lost_after_a_lease() {
    let mut t = Table::after(rules(2), 2, past());
    t.notes = true;
    assert_eq!(t.tick(5_000), [""; 0]);
    assert_eq!(t.tick(5_000), [""; 0]);
    // After the lease, every missing file that can be recomputed is.
    assert_eq!(
        t.tick(1),
        [
            "note worker lost a",
            "note worker lost b",
            "note lost file is recomputed 0/0",
            "note lost file is recomputed 0/1"
        ]
    );
    assert_eq!(t.tick(1), [""; 0]);
}

/// The disk was wiped, so the shard must be computed again, not waited for.
#[test]
fn report_without_file_is_dropped() {
    let mut t = Table::after(rules(2), 2, past());
    t.join_with("b", 1, &[(0, 1)]);
    assert_eq!(t.join_with("a", 1, &[(0, 0)]), ["a <- registered, keeps 0 1"]);
    assert_eq!(t.take("a", 2), ["a <- make 1/0 afresh #2.1, holders 0: a|b"]);
}

#[test]
fn complete_layer_is_committed_when_holders_return() {
    let past = Past { files: vec![held(0, 0, "a"), held(1, 0, "a")], ..past() };
    let mut t = Table::after(rules(1), 2, past);
    assert_eq!(t.tick(100), [""; 0]);
    assert_eq!(
        t.join_with("a", 1, &[(0, 0), (1, 0)]),
        ["a <- registered, keeps 0 1", "commit 1/0 in 100 ms, held 0/0 a, 1/0 a"]
    );
    assert_eq!(t.take("a", 1), ["a <- make 2/0 #2.1, holders 0: a 1: a"]);
}

#[test]
fn reports_of_another_epoch_are_ignored() {
    let mut t = Table::after(rules(2), 2, past());
    t.join_with("a", 1, &[(0, 0), (1, 0)]);
    t.join_with("b", 1, &[(0, 1)]);
    t.take("b", 1);
    let attempt = Some(fathom_proto::Attempt { epoch: 1, number: 1 });
    let result = Ok(fathom_proto::Done::Made(report(1, 1)));
    let late = fathom_proto::Outcome { task: harness::task(1, 1), attempt, result };
    assert_eq!(t.outcome("b", late), ["b <- known"]);
}

/// A worker between two attempts to reach the coordinator learns that the run is over, if it returns in time.
#[test]
fn ending_waits_for_workers_of_earlier_epoch() {
    let ends = |comes_back: bool| {
        let past = Past { files: vec![held(0, 0, "a"), held(0, 1, "a"), held(1, 0, "a")], ..past() };
        let mut t = Table::after(Rules { max_depth: Some(1), ..rules(2) }, 2, past);
        t.join_with("a", 1, &[(0, 0), (0, 1), (1, 0)]);
        t.take("a", 1);
        t.made("a", 1, 1, 1);
        assert_eq!(t.take("a", 1), ["a <- leave Done"]);
        assert_eq!(t.leave("a"), ["a <- known"]);
        assert_eq!(t.tick(5_000), [""; 0]);
        if comes_back {
            t.join_with("b", 1, &[]);
            assert_eq!(t.take("b", 1), ["b <- leave Done"]);
            return t.leave("b");
        }
        assert_eq!(t.tick(5_000), [""; 0]);
        t.tick(1)
    };
    assert_eq!(ends(true), ["b <- known", "told", "end MaxDepth"]);
    assert_eq!(ends(false), ["told", "end MaxDepth"]);
}

/// A worker that kept the version of a map from an earlier epoch receives the holders again, whatever that
/// version was.
#[test]
fn map_versions_of_earlier_epochs_are_invalid() {
    // Small numbers, and versions of the first epoch.
    let first = Table::after(rules(2), 1, past()).state.holder_map().version();
    for number in (0..64).chain(first..first + 64) {
        let mut t = Table::after(rules(2), 2, past());
        t.join_with("a", 1, &[(0, 0), (1, 0)]);
        t.join_with("b", 1, &[(0, 1)]);
        let (session, now) = (t.sessions["b"], t.now);
        let effects = t.state.apply(
            crate::cluster::event::Millis(now),
            Event::TakeCommands { request: RequestId(99), session, tasks: 1, version: number },
        );
        let told = effects.iter().find_map(|effect| match effect {
            Effect::Reply(_, Reply::Commands(commands, holders)) if !commands.is_empty() => {
                Some(holders.is_some())
            }
            _ => None,
        });
        assert_eq!(told, Some(true), "map number {number}");
    }
}

/// If the last epoch was cut short, the run ends once its workers have been informed, or are lost.
#[test]
fn completed_run_is_not_extended() {
    for (states, max_depth, end) in [(20, None, "end Complete"), (21, Some(0), "end MaxDepth")] {
        let mut t = Table::after(Rules { states, max_depth, ..rules(2) }, 2, past());
        assert_eq!(t.tick(5_000), [""; 0]);
        t.join_with("a", 1, &[(0, 0)]);
        assert_eq!(t.take("a", 1), ["a <- leave Done"]);
        assert_eq!(t.leave("a"), ["a <- known"]);
        assert_eq!(t.tick(5_000), [""; 0]);
        assert_eq!(t.tick(1), ["told", end]);
    }
}
