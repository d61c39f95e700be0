//! Tests of the information for users who watch a run.

use super::*;
use crate::cluster::event::{Event, Millis, Note, NoteKind, Progress};
use crate::cluster::page_view::{News, states};
use crate::cluster::status::ClusterStatus;
use fathom_engine::run::Depth;
use fathom_proto::Attempt;

/// A worker without a message since the layer was committed has reported its states of the layer before.
#[test]
fn states_of_the_previous_layer_are_not_counted() {
    let mut t = Table::with(rules(1), "a").at_depth(1);
    let tell = |t: &mut Table, depth, found| {
        let session = t.sessions["a"];
        let progress = Progress { depth: Some(Depth(depth)), states: found, ..Progress::default() };
        t.ask("a", |request| Event::Heartbeat(request, session, progress));
    };
    tell(&mut t, 1, 7);
    assert_eq!(states(&t.state), 7);
    let mut t = t.at_depth(2);
    assert_eq!(states(&t.state), 0);
    tell(&mut t, 2, 5);
    assert_eq!(states(&t.state), 5);
}

/// A worker counts the states of a depth from zero, and the total over all depths without reset.
#[test]
fn rate_continues_at_a_new_depth() {
    let mut t = Table::with(rules(1), "a");
    let session = t.sessions["a"];
    for second in 0..=20_u64 {
        t.now = 1000 * second;
        let (depth, states) = if second < 15 { (0, 100 * second) } else { (1, 100 * (second - 15)) };
        let found_states = 100 * second;
        let progress = Progress { depth: Some(Depth(depth)), states, found_states, ..Progress::default() };
        t.ask("a", |request| Event::Heartbeat(request, session, progress));
    }
    let status = ClusterStatus::new(&t.state, Millis(t.now));
    assert_eq!(status.workers[0].states_per_second, 100.0);
}

/// Assignments of tasks are not shown as events, but repeated assignments are counted.
#[test]
fn repeated_assignments_are_counted() {
    let mut news = News::default();
    news.take();
    for number in [1, 2, 1, 3] {
        let attempt = Some(Attempt { epoch: 1, number });
        news.note(&Note { kind: NoteKind::TaskGiven, worker: None, task: None, attempt, detail: None });
    }
    let told = news.take();
    assert_eq!((told.retries, told.pieces.unwrap().len()), (2, 0));
}
