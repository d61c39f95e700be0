//! Tests of the step from one layer to the next.

use super::*;
use fathom_engine::run::{Keep, Lookback};

/// A layer is durable before another is built on it.
#[test]
fn layer_is_committed_before_the_next_starts() {
    let mut t = Table::with(rules(2), "a b");
    assert_eq!(t.take("a", 1), ["a <- make 0/0 #1.1, holders"]);
    assert_eq!(t.take("b", 1), ["b <- make 0/1 #1.1, holders"]);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.take("a", 1), [""; 0]);
    t.now = 300;
    assert_eq!(
        t.made("b", 0, 1, 1),
        ["b <- known", "commit 0/0 0/1 in 300 ms, held 0/0 a, 0/1 b", "a <- make 1/0 #1.1, holders 0: a|b"]
    );
    assert_eq!(t.take("b", 1), ["b <- make 1/1 #1.1, holders 0: a|b"]);
}

#[test]
fn reports_are_saved_periodically() {
    let mut t = Table::with(rules(3), "a");
    t.take("a", 2);
    assert_eq!(t.made("a", 0, 0, 1), ["a <- known"]);
    assert_eq!(t.tick(500), [""; 0]);
    assert_eq!(t.tick(1), ["save 0/0, held 0/0 a"]);
    assert_eq!(t.made("a", 0, 1, 1), ["a <- known"]);
    assert_eq!(t.tick(500), [""; 0]);
    assert_eq!(t.tick(1), ["save 0/1, held 0/1 a"]);
    assert_eq!(t.tick(501), [""; 0]);
}

#[test]
fn unread_layers_are_retired() {
    for keep in [Keep::Last, Keep::All] {
        let mut t = Table::with(Rules { keep, ..rules(2) }, "a b").at_depth(2);
        t.take("a", 1);
        t.take("b", 1);
        t.made("a", 2, 0, 1);
        let committed = "commit 2/0 2/1 in 0 ms, held 1/0 a, 1/1 b, 2/0 a, 2/1 b";
        assert_eq!(t.made("b", 2, 1, 1), ["b <- known", committed]);
        let holders = "holders 1: a|b 2: a|b";
        assert_eq!(t.take("a", 1), [format!("a <- retire 0, make 3/0 #1.1, {holders}")]);
        assert_eq!(t.take("b", 1), [format!("b <- retire 0, make 3/1 #1.1, {holders}")]);
        assert_eq!(t.state.files().contains(harness::task(0, 0)), keep == Keep::All);
        let keeps = match keep {
            Keep::Last | Keep::Two => "a <- registered, keeps 1 2 3",
            Keep::All => "a <- registered, keeps 0 1 2 3",
        };
        assert_eq!(t.join("a"), [keeps]);
    }
}

/// A shard may move to a worker that has none of its files, which must then know the holders of all of them.
#[test]
fn all_read_layers_are_in_the_holder_map() {
    let rules = Rules { keep: Keep::All, lookback: Lookback::All, ..rules(2) };
    let mut t = Table::with(rules, "a b").at_depth(4);
    let holders = "holders 0: a|b 1: a|b 2: a|b 3: a|b";
    // A retired layer is compressed.
    assert_eq!(t.take("a", 1), [format!("a <- retire 1, make 4/0 #1.1, {holders}")]);
    t.leave("b");
    assert_eq!(t.state.files().missing().len(), 4, "of each layer, what b had");
}

#[test]
fn absent_worker_gets_no_commands() {
    let mut t = Table::with(rules(1), "a").at_depth(1);
    t.join("b");
    t.leave("b");
    t.sessions.remove("b");
    assert_eq!(t.at_depth(4).state.members()[harness::id("b")].commands, []);
}

#[test]
fn run_is_complete_when_all_states_are_visited() {
    let mut t = Table::with(Rules { states: 20, ..rules(1) }, "a").at_depth(1);
    assert_eq!(t.take("a", 1), ["a <- make 1/0 #1.1, holders 0: a"]);
    t.join("b");
    assert_eq!(t.take("b", 1), [""; 0]);
    assert_eq!(
        t.made("a", 1, 0, 1),
        ["a <- known", "commit 1/0 in 0 ms, held 0/0 a, 1/0 a", "b <- leave Done"]
    );
    assert_eq!(t.take("a", 1), ["a <- leave Done"]);
    // The workers take no more files, but nothing waits for them.
    assert_eq!(crate::cluster::status::obstacle(&t.state, crate::cluster::event::Millis(t.now)), None);
    assert_eq!(t.leave("a"), ["a <- known"]);
    assert_eq!(t.leave("b"), ["b <- known", "told", "end Complete"]);
}

#[test]
fn only_a_complete_run_is_cleaned() {
    let cleaning = Rules { clean_stores: true, ..rules(1) };
    let mut t = Table::with(Rules { states: 20, ..cleaning }, "a").at_depth(1);
    t.take("a", 1);
    t.made("a", 1, 0, 1);
    assert_eq!(t.take("a", 1), ["a <- leave Clean"]);
    // A run that may be continued to a larger depth keeps its files.
    let mut t = Table::with(Rules { max_depth: Some(1), ..cleaning }, "a").at_depth(1);
    t.take("a", 1);
    t.made("a", 1, 0, 1);
    assert_eq!(t.take("a", 1), ["a <- leave Done"]);
}

#[test]
fn run_stops_at_max_depth() {
    let mut t = Table::with(Rules { max_depth: Some(1), ..rules(1) }, "a").at_depth(1);
    t.take("a", 1);
    assert_eq!(t.made("a", 1, 0, 1), ["a <- known", "commit 1/0 in 0 ms, held 0/0 a, 1/0 a"]);
    assert_eq!(t.take("a", 1), ["a <- leave Done"]);
    assert_eq!(t.leave("a"), ["a <- known", "told", "end MaxDepth"]);
}
