//! Tests of registration: new workers, known ones, and their inventories.

use super::*;

#[test]
fn new_worker_gets_a_task() {
    let mut t = Table::new(rules(2));
    t.notes = true;
    assert_eq!(t.join("a"), ["save worker a", "note worker registered a", "a <- registered, keeps 0"]);
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders", "note task given a 0/0"]);
    // The holder map is sent only when it has changed.
    assert_eq!(t.take("a", 1), ["a <- make 0/1 #1.1", "note task given a 0/1"]);
    assert_eq!(t.take("a", 1), [""; 0]);
}

#[test]
fn restarted_worker_registers_again() {
    let mut t = Table::with(rules(1), "a");
    assert_eq!(t.take("a", 2), ["a <- make 0/0 #1.1, holders"]);
    assert_eq!(t.take("a", 1), [""; 0]);
    let old = t.sessions["a"];
    t.notes = true;
    assert_eq!(
        t.join("a"),
        [
            "a <- unknown",
            "note worker registered again a",
            "note worker registered a",
            "a <- registered, keeps 0"
        ]
    );
    assert_ne!(t.sessions["a"], old);
    // The task is given again, and reports of the old attempt are ignored.
    t.notes = false;
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.2, holders"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.made("a", 0, 0, 2), ["a <- known", "commit 0/0 in 0 ms, held 0/0 a"]);
}

/// Networks may deliver a message twice, and late: then files that it lists may no longer exist.
#[test]
fn late_registration_is_ignored() {
    let mut t = Table::new(rules(1));
    assert_eq!(t.join_again("a", (7, 1)), ["save worker a", "a <- registered, keeps 0"]);
    let first = t.sessions["a"];
    assert_eq!(t.join_again("a", (7, 1)), ["a <- registered, keeps 0"]);
    assert_eq!(t.sessions["a"], first, "the answer was lost");
    assert_eq!(t.join_again("a", (7, 2)), ["a <- registered, keeps 0"]);
    let second = t.sessions["a"];
    assert_ne!(second, first);
    let late = ["a <- refused a later registration of this worker has arrived first"];
    assert_eq!(t.join_again("a", (7, 1)), late);
    assert_eq!(t.state.members().of_session(second), Some(harness::id("a")));
    // Another process starts its numbers again.
    assert_eq!(t.join_again("a", (8, 1)), ["a <- registered, keeps 0"]);
    assert_eq!(t.state.members().of_session(second), None);
    // A lost worker may repeat a registration that was not answered.
    let third = t.sessions["a"];
    (0..20).for_each(|_| drop(t.tick(2000)));
    assert_eq!(t.state.members().of_session(third), None);
    assert_eq!(t.join_again("a", (8, 1)), ["a <- registered, keeps 0"]);
    // An answered registration is not repeated.
    t.take("a", 0);
    (0..20).for_each(|_| drop(t.tick(2000)));
    assert_eq!(t.join_again("a", (8, 1)), late);
    assert_eq!(t.join_again("a", (8, 2)), ["a <- registered, keeps 0"]);
    t.leave("a");
    assert_eq!(t.join_again("a", (8, 2)), late);
}

#[test]
fn new_address_is_saved() {
    let mut t = Table::new(rules(1));
    t.join_at("a", "elsewhere:1", 1, &[]);
    t.leave("a");
    assert_eq!(t.join("a"), ["save worker a", "a <- registered, keeps 0"]);
}

#[test]
fn inventory_of_returning_worker_counts() {
    let mut t = Table::with(rules(2), "a b").at_depth(4);
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.state.waiting_for().len(), 1);
    // Without the worker's files no task can start; with them, it gets its tasks.
    assert_eq!(t.join("a"), ["a <- registered, keeps 2 3 4"]);
    assert_eq!(t.take("a", 2), [""; 0]);
    assert_eq!(t.state.files().missing().len(), 2);
    assert_eq!(t.leave("a"), ["a <- nothing", "a <- known"]);
    assert_eq!(t.join_with("a", 1, &[(2, 0), (3, 0), (7, 7)]), ["a <- registered, keeps 2 3 4"]);
    assert_eq!(t.take("a", 2), ["a <- make 4/0 #1.1, holders 2: a|b 3: a|b"]);
}

/// Reports of a worker survive its session if its files still exist.
#[test]
fn reports_survive_a_restart_of_the_worker() {
    let mut t = Table::with(rules(3), "a");
    assert_eq!(t.take("a", 2), ["a <- make 0/0 #1.1, make 0/1 #1.1, holders"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.made("a", 0, 1, 1), ["a <- known"]);
    assert_eq!(t.join_with("a", 1, &[(0, 0)]), ["a <- registered, keeps 0"]);
    assert_eq!(t.take("a", 4), ["a <- make 0/1 afresh #1.2, make 0/2 #1.1, holders"]);
}

#[test]
fn unknown_sessions_are_rejected() {
    let mut t = Table::new(rules(1));
    assert_eq!(t.take("a", 1), ["a <- unknown"]);
    assert_eq!(t.beat("a", &[]), ["a <- unknown"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- unknown"]);
    // A worker without a session may leave too.
    assert_eq!(t.leave("a"), ["a <- known"]);
}

/// Two stores with the same content, as when a directory was copied.
#[test]
fn copied_store_adds_a_holder() {
    let mut t = Table::with(rules(2), "a b").at_depth(1);
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.join_with("c", 1, &[(0, 0)]), ["save worker c", "c <- registered, keeps 0 1"]);
    assert_eq!(t.take("c", 2), ["c <- make 1/0 #1.1, holders 0: c|b"]);
    assert_eq!(t.join_with("a", 1, &[(0, 0)]), ["a <- registered, keeps 0 1"]);
    assert_eq!(t.state.waiting_for().len(), 0);
}

/// Two processes with one id would each register again whenever the other one has taken its session.
#[test]
fn second_worker_with_same_id_is_refused() {
    let mut t = Table::with(rules(1), "a");
    // The process was restarted, and listens on another port.
    assert_eq!(t.join_at("a", "a:2", 1, &[]), ["save worker a", "a <- registered, keeps 0"]);
    let [refused] = &t.join_at("a", "a:1", 1, &[])[..] else { panic!("one reply") };
    assert!(refused.starts_with("a <- refused the worker at a:2 has the same id, "), "{refused}");
    // The second one keeps its session, and may be restarted.
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders"]);
    assert_eq!(t.join_at("a", "a:3", 1, &[]), ["save worker a", "a <- registered, keeps 0"]);
}

#[test]
fn worker_ahead_of_the_run_is_logged() {
    let mut t = Table::with(rules(1), "a").at_depth(2);
    assert_eq!(t.leave("a"), ["a <- known"]);
    t.notes = true;
    let said = t.join_with("a", 1, &[(0, 0), (1, 0), (5, 0)]);
    assert_eq!(
        said,
        ["note worker registered a", "note worker is ahead of this run a", "a <- registered, keeps 0 1 2"]
    );
}
