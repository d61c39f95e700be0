//! Tests of what those who watch a run are told.

use super::*;
use crate::cluster::event::{Event, Note, NoteKind, Progress};
use crate::cluster::view::{News, states};
use fathom_proto::Attempt;
use fathom_run::Depth;

/// A worker that has not spoken since the layer was committed has told what it found in the layer before.
#[test]
fn states_of_a_layer_are_not_those_of_the_one_before() {
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

/// People are not told of each task that is given out, but tasks that are given once more are counted.
#[test]
fn tasks_that_are_given_once_more_are_counted() {
    let mut news = News::default();
    news.take();
    for number in [1, 2, 1, 3] {
        let attempt = Some(Attempt { epoch: 1, number });
        news.note(&Note { kind: NoteKind::TaskGiven, worker: None, task: None, attempt, detail: None });
    }
    let told = news.take();
    assert_eq!((told.retries, told.pieces.unwrap().len()), (2, 0));
}
