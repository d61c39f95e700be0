//! Tests of runs that keep two layers: files that are no longer read are released while a layer is
//! computed.

use super::harness::{damaged, held, report, task};
use super::*;
use crate::cluster::event::Ending;
use crate::cluster::parts::{FIRST_ATTEMPT, PARTS};
use crate::cluster::state::Past;
use fathom_engine::run::{Keep, ShardId};

fn two(shards: u32) -> Rules {
    Rules { keep: Keep::Two, ..rules(shards) }
}

fn failure(t: &Table) -> &str {
    match t.state.ending() {
        Some(Ending::Failed(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// Returns a table at depth 2, of two shards that a and b compute. Each has computed one shard of each
/// layer before.
fn at_work(rules: Rules) -> Table {
    let mut t = Table::with(rules, "a b").at_depth(2);
    assert_eq!(t.take("a", 1), ["a <- make 2/0 #1.1, holders 0: a|b 1: a|b"]);
    assert_eq!(t.take("b", 1), ["b <- make 2/1 #1.1, holders 0: a|b 1: a|b"]);
    t
}

/// Returns a table of two shards at depth 2, from which on every shard is audited.
fn audited(workers: &str) -> Table {
    let mut t = Table::with(two(2), workers).at_depth(2);
    t.state.set_audit(PARTS);
    t
}

/// Returns the table of [`at_work`] after 2/0 is computed and 0/0 is released.
fn given_back() -> Table {
    let mut t = at_work(two(2));
    assert_eq!(t.made("a", 2, 0, 1), ["a <- known"]);
    assert_eq!(t.tick(501), ["save 2/0, held 2/0 a", "release 0/0, held 2/0 a"]);
    t
}

#[test]
fn source_is_released_once_the_shard_is_durable() {
    let mut t = at_work(two(2));
    assert_eq!(t.made("a", 2, 0, 1), ["a <- known"]);
    assert_eq!(t.take("a", 0), [""; 0]);
    assert_eq!(t.tick(500), [""; 0]);
    let given = ["save 2/0, held 2/0 a", "release 0/0, held 2/0 a", "a <- release 0/0"];
    assert_eq!(t.tick(1), given);
    assert!(!t.state.files().contains(task(0, 0)) && t.state.files().contains(task(0, 1)));
    // To an outside reader, the layer counts as removed.
    let kept: Vec<u32> = t.state.kept().layers.iter().map(|(depth, _)| depth.0).collect();
    assert_eq!(kept, [1]);
    // Its remaining files are not needed.
    assert_eq!(t.join("c"), ["save worker c", "c <- registered, keeps 0 1 2"]);
    assert_eq!(t.state.files().missing().len(), 0);
    let committed = "commit 2/0 2/1 in 501 ms, held 1/0 a, 1/1 b, 2/0 a, 2/1 b";
    assert_eq!(t.made("b", 2, 1, 1), ["b <- known", committed]);
    assert_eq!(t.take("a", 1), ["a <- retire 0, make 3/0 #1.1, holders 1: a|b 2: a|b"]);
}

#[test]
fn nothing_is_released_without_an_older_layer() {
    let mut t = Table::with(two(2), "a b").at_depth(1);
    t.take("a", 1);
    t.made("a", 1, 0, 1);
    assert_eq!(t.tick(501), ["save 1/0, held 1/0 a"]);
    assert_eq!(t.tick(501), [""; 0]);
}

#[test]
fn source_is_kept_until_the_shard_has_copies() {
    let mut t = Table::with(Rules { replicas: 2, ..two(2) }, "a b").at_depth(2);
    t.take("a", 1);
    assert_eq!(t.made("a", 2, 0, 1), ["a <- known"]);
    assert_eq!(t.tick(501), ["save 2/0, held 2/0 a"]);
    assert_eq!(t.take("b", 0), ["b <- copy 2/0 from a"]);
    assert_eq!(t.tick(501), [""; 0]);
    assert_eq!(t.copied("b", 2, 0), ["b <- known"]);
    assert_eq!((t.take("a", 0), t.take("b", 0)), (vec![], vec![]));
    let given = "release 0/0, held 2/0 a, 2/0 b";
    assert_eq!(t.tick(100), [given, "a <- release 0/0", "b <- release 0/0"]);
}

#[test]
fn source_is_kept_until_the_audit_ends() {
    let mut t = audited("a b");
    t.take("a", 1);
    t.made("a", 2, 0, 1);
    assert_eq!(t.tick(501), ["save 2/0, held 2/0 a"]);
    let lines = t.take("b", 1);
    assert!(lines[0].starts_with("b <- audit 2/0 #1.1"), "{lines:?}");
    assert_eq!(t.tick(501), [""; 0]);
    assert_eq!(t.audited("b", 2, 0, 1), ["b <- known"]);
    // The auditor may also have a copy of the source.
    assert_eq!((t.take("a", 0), t.take("b", 0)), (vec![], vec![]));
    assert_eq!(t.tick(1), ["release 0/0, held 2/0 a", "a <- release 0/0", "b <- release 0/0"]);
}

/// Two of three results agree, so the shard is kept when its producer is quarantined because of another one.
#[test]
fn agreeing_third_worker_counts_as_audit() {
    let mut t = audited("a b c");
    t.commands("a", 1);
    t.made("a", 2, 0, 1);
    assert!(t.commands("b", 1)[0].starts_with("b <- audit 2/0 #1.1 not portable"));
    t.made_wrong("b", 2, 0, FIRST_ATTEMPT + 1);
    assert!(t.commands("c", 1)[0].starts_with("c <- audit 2/0 #1.2"));
    let lines = t.audited("c", 2, 0, 2);
    assert!(lines.contains(&"set aside b".into()), "{lines:?}");
    assert!(t.tick(501).contains(&"release 0/0, held 2/0 a".into()));
    assert!(t.state.scheduler().is_settled(task(2, 0)));
    assert_eq!(t.state.audits().results(), (1, 1));
}

/// The shard cannot be computed again, so it is treated like a shard of an earlier layer.
#[test]
fn shard_with_released_source_is_waited_for() {
    let mut t = given_back();
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.state.waiting_for().into_iter().collect::<Vec<_>>(), [harness::id("a")]);
    assert!(t.state.files().missing().contains(&task(2, 0)));
    assert_eq!(t.made("b", 2, 1, 1), ["b <- known"]);
    assert_eq!(t.take("b", 2), [""; 0]);
    assert_eq!(t.tick(501), ["save 2/1, held 2/1 b", "release 0/1, held 2/1 b", "b <- release 0/1"]);
    let lines = t.join_with("a", 1, &[(1, 0), (2, 0)]);
    assert_eq!(lines[0], "a <- registered, keeps 0 1 2");
    assert!(lines[1].starts_with("commit 2/0 2/1 "), "{lines:?}");
}

/// The source still exists, so the shard can be computed again.
#[test]
fn shard_with_existing_source_is_recomputed() {
    let mut t = at_work(two(2));
    t.made("a", 2, 0, 1);
    t.leave("a");
    t.join_with("a", 1, &[(0, 0), (1, 0)]);
    assert_eq!(t.take("a", 1), ["a <- make 2/0 afresh #1.2, holders 0: a|b 1: a|b"]);
}

#[test]
fn two_copies_survive_the_loss_of_a_worker() {
    let mut t = Table::with(Rules { replicas: 2, ..two(2) }, "a b c").at_depth(2);
    for (worker, shard) in [("a", 0), ("b", 1)] {
        t.take(worker, 1);
        t.made(worker, 2, shard, 1);
    }
    let copies = [t.take("a", 0), t.take("b", 0), t.take("c", 0)].concat();
    for line in &copies {
        let (worker, file) = line.split_once(" <- copy 2/").expect("a copy");
        t.copied(worker, 2, file[..1].parse().unwrap());
    }
    assert_eq!(copies.len(), 1, "the other one goes to the same worker when it is there: {copies:?}");
    t.tick(501);
    let gone = copies[0][..1].to_owned();
    t.leave(&gone);
    assert_eq!(t.state.files().missing().len(), 0);
}

/// The command to delete the file was lost, or a copy came too late.
#[test]
fn stale_released_file_is_deleted() {
    let mut t = given_back();
    assert_eq!(t.take("a", 0), ["a <- release 0/0"]);
    assert_eq!(t.join_with("a", 1, &[(0, 0), (1, 0), (2, 0)]), ["a <- registered, keeps 0 1 2"]);
    assert_eq!(t.take("a", 0), ["a <- release 0/0"]);
    assert_eq!(t.copied("b", 0, 0), ["b <- known"]);
    let lines = t.take("b", 0);
    assert_eq!(lines, ["b <- release 0/0"], "and not the whole layer, which is still read");
}

/// Workers wait if there would be three layers otherwise, but not for a tick. A worker that computes
/// shards faster than it reports them gets no more.
#[test]
fn shards_ahead_of_releases_are_limited() {
    let mut t = Table::with(Rules { replicas: 2, ..two(64) }, "a b").at_depth(2);
    let most = fathom_engine::run::lookback::most_in_the_making(64, 2);
    let mut made = 0;
    loop {
        let lines = t.take("a", 64);
        let Some(line) = lines.iter().find(|line| line.contains("make 2/")) else { break };
        let shards: Vec<u32> = line
            .split(", ")
            .filter_map(|order| order.split_once("make 2/")?.1.split_once(' ')?.0.parse().ok())
            .collect();
        assert_eq!(shards.len() as u64, most, "all were asked for");
        for shard in shards {
            t.made("a", 2, shard, 1);
            made += 1;
        }
    }
    assert!(made < 64, "nothing was copied, and {made} shards were made");
    assert_eq!(made, most);
    // Once copies are reported, the run continues without a tick.
    let commands = t.take("b", 0).concat();
    for file in commands.split("copy 2/").skip(1) {
        let shard = file.split_once(' ').unwrap().0.parse().unwrap();
        t.copied("b", 2, shard);
    }
    let lines = t.take("a", 1).concat();
    assert!(lines.contains("make 2/"), "{lines}");
}

/// Returns a journal in which a has computed shard 0 of depth 2, and its source was released; 0/1 still
/// exists.
fn past() -> Past {
    let worker = |name: &str| (harness::id(name), format!("host-{name}"), format!("{name}:1"));
    let files = [held(0, 1, "b"), held(1, 0, "a"), held(1, 1, "b"), held(2, 0, "a")];
    Past {
        counts: vec![20, 20],
        workers: vec![worker("a"), worker("b")],
        files: files.to_vec(),
        reports: vec![report(2, 0)],
        given_back: [(ShardId(0), false)].into(),
        ..Past::default()
    }
}

#[test]
fn releases_survive_a_restart() {
    let mut t = Table::after(two(2), 2, past());
    t.join_with("b", 1, &[(0, 1), (1, 1)]);
    // The worker may not have received the command to delete 0/0.
    t.join_with("a", 1, &[(0, 0), (1, 0), (2, 0)]);
    assert_eq!(t.state.files().missing().len(), 0);
    assert_eq!(t.take("a", 1), ["a <- release 0/0"]);
    assert_eq!(t.take("b", 1), ["b <- make 2/1 #2.1, holders 0: |b 1: a|b"]);
    let lines = t.made("b", 2, 1, 1);
    assert!(lines[1].starts_with("commit 2/0 2/1 "), "{lines:?}");
}

#[test]
fn missing_report_of_released_shard_ends_the_run() {
    let past = Past { reports: Vec::new(), ..past() };
    let mut t = Table::after(two(2), 2, past);
    t.tick(1);
    let message = failure(&t);
    assert!(message.contains("shard 0 of depth 2") && message.contains("start a new run"), "{message}");
}

#[test]
fn wrong_producer_of_released_shard_ends_the_run() {
    for is_audited in [false, true] {
        let mut t = Table::with(two(3), "a b c").at_depth(2);
        t.take("a", 1);
        t.made("a", 2, 0, 1);
        if is_audited {
            t.state.note_audited(ShardId(0));
        }
        t.tick(501);
        t.state.set_audit(PARTS);
        t.take("b", 1);
        t.made_wrong("b", 2, 1, 1);
        t.take("c", 1);
        t.audited("c", 2, 1, 1);
        // There is nothing against a, so its shard stays.
        t.take("a", 1);
        t.audited("a", 2, 1, 2);
        assert!(t.state.ending().is_none() && t.state.members()[harness::id("b")].is_set_aside);
        assert!(t.state.files().contains(task(2, 0)));
    }
    for is_audited in [false, true] {
        let mut t = Table::with(two(6), "a b c").at_depth(2);
        let commands = t.take("b", 2).concat();
        let shards: Vec<u32> =
            commands.split("make 2/").skip(1).map(|order| order[..1].parse().unwrap()).collect();
        let [right, wrong] = shards[..] else { panic!("{commands}") };
        t.made("b", 2, right, 1);
        if is_audited {
            t.state.note_audited(ShardId(right));
        }
        t.tick(501);
        assert!(t.state.scheduler().is_given_back(task(0, right)));
        t.state.set_audit(PARTS);
        t.made_wrong("b", 2, wrong, 1);
        t.take("c", 1);
        t.audited("c", 2, wrong, 1);
        t.take("a", 1);
        t.audited("a", 2, wrong, 2);
        assert_eq!(t.state.ending().is_none(), is_audited);
        if !is_audited {
            let message = failure(&t);
            assert!(message.contains("host-b was wrong"), "{message}");
            assert!(message.contains(&format!("shard {right} of depth 2 may be wrong")), "{message}");
        }
    }
}

#[test]
fn coordinator_deletes_released_files_in_shared_store() {
    let mut t = Table::with(Rules { shared_store: true, ..two(2) }, "a").at_depth(2);
    t.take("a", 1);
    t.made("a", 2, 0, 1);
    assert_eq!(t.tick(501), ["save 2/0, held 2/0 shared", "release 0/0, held 2/0 shared"]);
    assert_eq!(t.take("a", 1), ["a <- make 2/1 #1.1"]);
    // A shard that cannot be computed again ends the run.
    t.failed("a", 2, 1, 1, damaged(2, 0, None));
    let message = failure(&t);
    assert!(message.contains("shard 0 of depth 2") && message.contains("file from a copy"), "{message}");
}
