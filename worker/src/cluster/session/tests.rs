//! Tests of sessions, step by step: responses that are lost, late, or of a session that has ended.

use super::*;
use fathom_engine::run::{ShardId, ShardReport};
use fathom_layer::{Digest, Totals};
use fathom_proto::v1;

const COPIED: Copied = Copied { bytes: 1, digest: Digest([0; 32]) };

fn task(shard: u32) -> Task {
    Task { depth: Depth(1), shard: ShardId(shard) }
}

fn attempt(number: u32) -> Attempt {
    Attempt { epoch: 1, number }
}

fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// Returns a holder map in which one peer holds shard 0 of depth 1.
fn map(version: u64, address: &str) -> Holders {
    let layers = vec![v1::HeldLayer {
        depth: 1,
        shards: vec![v1::HeldShard { holders: vec![0], ..Default::default() }],
    }];
    Holders::new(v1::Holders { version, addresses: vec![address.into()], layers })
}

fn made(shard: u32) -> Result<Done, Failure> {
    Ok(Done::Made(ShardReport {
        task: task(shard),
        totals: Totals { stored: 1, states: 1, pairs: None, inverse_pairs: None },
        bytes: 1,
        checksums: vec![Digest::new(b"1")],
        watched: Vec::new(),
    }))
}

fn registered(session: u64) -> Input {
    Input::Registered { session, heartbeat: millis(1000), needed: vec![Depth(0), Depth(1)] }
}

fn answered(number: u64, session: u64, commands: Vec<Command>, holders: Option<Holders>) -> Input {
    Input::CommandsAnswered { number, session, known: true, commands, holders }
}

/// Returns a session of one thread that has started and has sent its first request for commands.
fn begun() -> Session {
    let (mut session, first) = Session::begin(1);
    assert!(matches!(first[..], [Action::Register]));
    let actions = session.step(millis(0), registered(1));
    assert!(
        matches!(
            actions[..],
            [
                Action::UseHolders(_),
                Action::KeepOnly(_),
                Action::Beat { session: 1, .. },
                Action::Ask { number: 1, session: 1, tasks: 32, holders_version: 0 }
            ]
        ),
        "{actions:?}"
    );
    session
}

fn uses(actions: &[Action]) -> Option<Vec<String>> {
    actions.iter().rev().find_map(|action| match action {
        Action::UseHolders(holders) => Some(holders.of(task(0))),
        _ => None,
    })
}

#[test]
fn holder_map_ends_with_its_session() {
    let mut session = begun();
    assert_eq!(
        uses(&session.step(millis(1), answered(1, 1, Vec::new(), Some(map(7, "old:1"))))).unwrap(),
        ["old:1"]
    );
    // The coordinator comes back. Its versions must not be compared with those of its earlier epoch.
    session.step(millis(2), Input::HeartbeatAnswered { session: 1, known: false });
    let actions = session.step(millis(3), registered(2));
    assert_eq!(uses(&actions).unwrap(), [""; 0]);
    let Some(&Action::Ask { number, holders_version, .. }) = actions.last() else { panic!("{actions:?}") };
    assert_eq!(holders_version, 0);
    // A reply of the earlier session arrives late.
    assert_eq!(uses(&session.step(millis(4), answered(1, 1, Vec::new(), Some(map(8, "old:1"))))), None);
    let actions = session.step(millis(5), answered(number, 2, Vec::new(), Some(map(3, "new:1"))));
    assert_eq!(uses(&actions).unwrap(), ["new:1"]);
    // An older reply may arrive after a newer one.
    assert_eq!(uses(&session.step(millis(6), answered(number, 2, Vec::new(), Some(map(2, "old:1"))))), None);
}

#[test]
fn ended_session_is_replaced_once() {
    let mut session = begun();
    let ended = Input::HeartbeatAnswered { session: 1, known: false };
    assert!(matches!(session.step(millis(1), ended.clone())[..], [Action::Register]));
    assert!(session.step(millis(2), ended).is_empty(), "the registration is on its way");
    // Commands of a session that has ended are void.
    let commands = vec![Command::Compute(task(0), attempt(1)), Command::Leave(LeaveReason::Done)];
    assert!(session.step(millis(3), answered(1, 1, commands, None)).is_empty());
    assert!(session.underway().is_empty());
    assert_eq!(session.wake(), None);
}

#[test]
fn running_task_takes_the_newest_attempt() {
    let mut session = begun();
    let made_once =
        session.step(millis(1), answered(1, 1, vec![Command::Compute(task(0), attempt(1))], None));
    assert!(matches!(made_once[0], Action::Compute(_)), "{made_once:?}");
    session.step(millis(2), Input::HeartbeatAnswered { session: 1, known: false });
    let actions = session.step(millis(3), registered(2));
    let Some(&Action::Ask { number, .. }) = actions.last() else { panic!("{actions:?}") };
    let again =
        session.step(millis(4), answered(number, 2, vec![Command::Compute(task(0), attempt(2))], None));
    assert!(!again.iter().any(|action| matches!(action, Action::Compute(_))), "{again:?}");
    let actions = session.step(
        millis(5),
        Input::TaskEnded { task: task(0), audit: false, result: made(0), took: Some(millis(3)) },
    );
    let report = actions.iter().find_map(|action| match action {
        Action::Report { session: 2, outcomes, .. } => Some(outcomes.clone()),
        _ => None,
    });
    assert_eq!(report.unwrap()[0].attempt, Some(attempt(2)));
}

#[test]
fn discarded_file_is_recomputed() {
    let mut session = begun();
    let commands = vec![
        Command::Discard(StoredFile { task: task(0), digest: None }),
        Command::Compute(task(0), attempt(1)),
        Command::Compute(task(1), attempt(1)),
    ];
    let actions = session.step(millis(1), answered(1, 1, commands, None));
    assert!(
        matches!(actions[..2], [Action::Discard(_), Action::Compute(Task { shard: ShardId(1), .. })]),
        "{actions:?}"
    );
    // The coordinator sees both commands as under way.
    assert_eq!(session.underway(), [task(0), task(1)]);
    let actions = session.step(millis(2), Input::Discarded { task: task(0), whole: None });
    assert!(matches!(actions[0], Action::Compute(Task { shard: ShardId(0), .. })), "{actions:?}");
}

#[test]
fn worker_leaves_after_its_tasks_end() {
    let mut session = begun();
    session.step(millis(1), answered(1, 1, vec![Command::Compute(task(0), attempt(1))], None));
    let actions = session.step(millis(2), Input::Stop);
    assert!(matches!(actions[..], [Action::Halt]), "{actions:?}");
    let ended = Input::TaskEnded {
        task: task(0),
        audit: false,
        result: Err(Failure::Stopped),
        took: Some(millis(1)),
    };
    let actions = session.step(millis(3), ended);
    let [Action::Finish { end: End::Told, session: 1, outcomes, .. }] = &actions[..] else {
        panic!("{actions:?}")
    };
    assert_eq!(outcomes.len(), 1);
    assert!(session.step(millis(4), Input::Time).is_empty());
    assert_eq!(session.wake(), None);
}

#[test]
fn unregistered_worker_leaves_immediately() {
    let (mut session, _) = Session::begin(1);
    let actions = session.step(millis(1), Input::Stop);
    assert!(matches!(actions[..], [Action::Halt, Action::Finish { session: 0, .. }]), "{actions:?}");
}

#[test]
fn outcomes_are_batched() {
    let mut session = begun();
    let commands = (0..2).map(|shard| Command::Compute(task(shard), attempt(1))).collect();
    session.step(millis(1), answered(1, 1, commands, None));
    let first = Input::TaskEnded { task: task(0), audit: false, result: made(0), took: Some(millis(1)) };
    let actions = session.step(millis(2), first);
    assert!(!actions.iter().any(|action| matches!(action, Action::Report { .. })), "{actions:?}");
    assert_eq!(session.wake(), Some(millis(2) + TOGETHER));
    let actions = session.step(millis(2) + TOGETHER, Input::Time);
    assert!(
        actions.iter().any(|action| matches!(action, Action::Report { outcomes, .. } if outcomes.len() == 1))
    );
}

/// The inventory shows which files exist. An outcome of the earlier session may be about a file that was
/// discarded since.
#[test]
fn outcomes_before_a_registration_are_dropped() {
    let mut session = begun();
    let copy = |shard| Command::Copy(StoredFile { task: task(shard), digest: None }, Vec::new());
    session
        .step(millis(1), answered(1, 1, vec![copy(0), copy(1), Command::Compute(task(2), attempt(1))], None));
    session.step(millis(2), Input::CopyEnded { task: task(0), result: Ok(Done::Copied(COPIED)) });
    session.step(millis(3), Input::HeartbeatAnswered { session: 1, known: false });
    // The inventory may have been taken before this copy ended.
    session.step(millis(4), Input::CopyEnded { task: task(1), result: Ok(Done::Copied(COPIED)) });
    session.step(millis(5), registered(2));
    let actions = session.step(millis(5) + TOGETHER, Input::Time);
    let reported = actions.iter().find_map(|action| match action {
        Action::Report { outcomes, .. } => {
            Some(outcomes.iter().map(|outcome| outcome.task).collect::<Vec<_>>())
        }
        _ => None,
    });
    assert_eq!(reported.unwrap(), [task(1)]);
}

#[test]
fn inventory_waits_for_discards() {
    let mut session = begun();
    session.step(
        millis(1),
        answered(1, 1, vec![Command::Discard(StoredFile { task: task(0), digest: None })], None),
    );
    let ended = Input::HeartbeatAnswered { session: 1, known: false };
    assert!(session.step(millis(2), ended).is_empty());
    let actions = session.step(millis(3), Input::Discarded { task: task(0), whole: None });
    assert!(matches!(actions[..], [Action::Register]), "{actions:?}");
}

/// A file that is to be deleted while it is being copied is deleted after the copy, and the copy is not
/// reported.
#[test]
fn discard_waits_for_running_copy() {
    let mut session = begun();
    let file = StoredFile { task: task(0), digest: None };
    let commands =
        vec![Command::Copy(file, Vec::new()), Command::Discard(file), Command::Compute(task(0), attempt(1))];
    let actions = session.step(millis(1), answered(1, 1, commands, None));
    assert!(matches!(actions[..], [Action::Copy(..), Action::Ask { .. }]), "{actions:?}");
    let actions =
        session.step(millis(2), Input::CopyEnded { task: task(0), result: Ok(Done::Copied(COPIED)) });
    assert!(matches!(actions[..], [Action::Discard(_)]), "{actions:?}");
    let actions = session.step(millis(3), Input::Discarded { task: task(0), whole: None });
    assert!(matches!(actions[..], [Action::Compute(_)]), "{actions:?}");
}

/// A task that uses no file continues under a newer attempt to recompute the shard; another one does not.
#[test]
fn recomputation_continues_under_newer_attempt() {
    for (is_afresh, reported) in [(true, 2), (false, 1)] {
        let mut session = begun();
        let first = match is_afresh {
            true => Command::Recompute(task(0), attempt(1)),
            false => Command::Compute(task(0), attempt(1)),
        };
        session.step(millis(1), answered(1, 1, vec![first], None));
        let again = vec![Command::Recompute(task(0), attempt(2))];
        let actions = session.step(millis(2), answered(2, 1, again, None));
        assert!(!actions.iter().any(|action| matches!(action, Action::Recompute(_))), "{actions:?}");
        let ended = Input::TaskEnded { task: task(0), audit: false, result: made(0), took: Some(millis(1)) };
        let mut actions = session.step(millis(3), ended);
        actions.extend(session.step(millis(300), Input::Time));
        let outcomes = actions.into_iter().find_map(|action| match action {
            Action::Report { outcomes, .. } => Some(outcomes),
            _ => None,
        });
        assert_eq!(outcomes.unwrap()[0].attempt, Some(attempt(reported)));
    }
}

/// A copy that is under way when its shard is to be recomputed is of an earlier file, and would replace
/// the new one.
#[test]
fn recomputation_waits_for_running_copy() {
    for is_discarded in [false, true] {
        let mut session = begun();
        let file = StoredFile { task: task(0), digest: None };
        let mut commands = vec![Command::Copy(file, Vec::new()), Command::Recompute(task(0), attempt(1))];
        if is_discarded {
            commands.insert(1, Command::Discard(file));
        }
        let actions = session.step(millis(1), answered(1, 1, commands, None));
        assert!(matches!(actions[..], [Action::Copy(..), Action::Ask { .. }]), "{actions:?}");
        let mut actions =
            session.step(millis(2), Input::CopyEnded { task: task(0), result: Ok(Done::Copied(COPIED)) });
        if is_discarded {
            assert!(matches!(actions[..], [Action::Discard(_)]), "{actions:?}");
            actions = session.step(millis(3), Input::Discarded { task: task(0), whole: None });
        }
        assert!(matches!(actions[0], Action::Recompute(_)), "{actions:?}");
    }
}

/// A heartbeat lists a copy until the coordinator has its report. Otherwise the command would seem lost
/// and be given again, and the second report might come after the copy was found damaged and discarded.
#[test]
fn unreported_outcomes_are_listed_in_heartbeats() {
    let mut session = begun();
    let file = StoredFile { task: task(0), digest: None };
    session.step(millis(1), answered(1, 1, vec![Command::Copy(file, Vec::new())], None));
    let ended = Input::CopyEnded { task: task(0), result: Ok(Done::Copied(COPIED)) };
    let actions = session.step(millis(2), ended);
    assert!(actions.iter().any(|action| matches!(action, Action::Report { .. })), "{actions:?}");
    assert_eq!(session.underway(), [task(0)]);
    session.step(millis(3), Input::ReportAnswered { session: 1, known: true });
    assert!(session.underway().is_empty());
}

/// An audit is reported with its own attempt, beside a task of the same shard.
#[test]
fn audit_is_reported_with_its_own_attempt() {
    let mut session = begun();
    let commands =
        vec![Command::Compute(task(0), attempt(1)), Command::Audit(task(0), attempt(2), "avx2".into())];
    let actions = session.step(millis(1), answered(1, 1, commands, None));
    assert!(
        matches!(&actions[..2], [Action::Compute(_), Action::Audit(_, engine)] if engine == "avx2"),
        "{actions:?}"
    );
    assert_eq!(session.underway(), [task(0), task(0)]);
    let ended = |audit| Input::TaskEnded { task: task(0), audit, result: made(0), took: Some(millis(1)) };
    session.step(millis(2), ended(true));
    let actions = session.step(millis(3), ended(false));
    let reported = actions.iter().find_map(|action| match action {
        Action::Report { outcomes, .. } => Some(outcomes.iter().map(|o| o.attempt).collect::<Vec<_>>()),
        _ => None,
    });
    assert_eq!(reported.unwrap(), [Some(attempt(2)), Some(attempt(1))]);
}

/// The size of a message is limited, however many tasks end together.
#[test]
fn large_reports_are_split() {
    let mut session = begun();
    let commands = (0..4).map(|shard| Command::Compute(task(shard), attempt(1))).collect();
    session.step(millis(1), answered(1, 1, commands, None));
    let mut actions = Vec::new();
    for (shard, checksums) in [(0, MAX_CHECKSUMS / 2), (1, MAX_CHECKSUMS / 2), (2, 2 * MAX_CHECKSUMS), (3, 1)]
    {
        let Ok(Done::Made(mut report)) = made(shard) else { panic!("a report") };
        report.checksums = vec![Digest::new(b"1"); checksums];
        let result = Ok(Done::Made(report));
        let ended = Input::TaskEnded { task: task(shard), audit: false, result, took: None };
        actions.extend(session.step(millis(2), ended));
    }
    actions.extend(session.step(millis(3), Input::Stop));
    for _ in 0..4 {
        actions.extend(session.step(millis(200), Input::ReportAnswered { session: 1, known: true }));
    }
    let reports = actions.into_iter().filter_map(|action| match action {
        Action::Report { outcomes, .. } => Some((false, outcomes.len())),
        Action::Finish { outcomes, .. } => Some((true, outcomes.len())),
        _ => None,
    });
    // The last outcomes wait until the earlier ones have been reported.
    assert_eq!(reports.collect::<Vec<_>>(), [(false, 2), (false, 1), (true, 1)]);
}
