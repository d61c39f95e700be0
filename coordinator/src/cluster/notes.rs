//! Notes on what has happened, for the log and the page, as effects.

use crate::cluster::event::{Effect, Note, NoteKind};
use fathom_engine::run::Task;
use fathom_proto::{Outcome, WorkerId};

/// Returns the note on the outcome of an order.
pub(super) fn note(
    kind: NoteKind,
    worker: Option<WorkerId>,
    outcome: &Outcome,
    detail: Option<String>,
) -> Effect {
    Effect::Note(Note { kind, worker, task: Some(outcome.task), attempt: outcome.attempt, detail })
}

/// Returns the note on a task.
pub(super) fn note_of(
    kind: NoteKind,
    worker: Option<WorkerId>,
    task: Task,
    detail: Option<String>,
) -> Effect {
    Effect::Note(Note { kind, worker, task: Some(task), attempt: None, detail })
}

/// Returns the note on a worker.
pub(super) fn note_of_worker(kind: NoteKind, worker: WorkerId, detail: Option<String>) -> Effect {
    Effect::Note(Note { kind, worker: Some(worker), task: None, attempt: None, detail })
}
