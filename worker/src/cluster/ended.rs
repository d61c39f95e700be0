//! Takes what the kernel threads have done to the session.
//!
//! Several tasks read a coset, and only the first of them compares its checksum. So before a task counts, the
//! file system is asked whether another program has written to the files that the task has read. If so, the
//! task's own file is deleted, and the task has failed for a damaged file.

use crate::cluster::driver::{Shared, Worker};
use crate::cluster::session::Input;
use fathom_proto::{Done, Failure};
use fathom_task::pool::Ended;
use fathom_task::{Layer, TaskError};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use tracing::warn;

/// The loop itself asks about up to this many files: each takes about a microsecond on a local disk, and to
/// wake another thread takes longer than some of them.
const FEW: usize = 256;

/// The tasks that have ended and are not looked at yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    tasks: Mutex<Vec<Ended>>,
    /// Held while some of them are looked at. Those that end meanwhile are looked at together.
    turn: Mutex<()>,
}

impl Shared {
    /// Tells the loop of tasks that have ended.
    pub(super) fn tasks_ended(self: &Arc<Self>, ended: impl Iterator<Item = Ended>) {
        let never = "the lock is never poisoned: no code panics while holding it";
        let is_quick = {
            let mut waiting = self.ended.tasks.lock().expect(never);
            waiting.extend(ended);
            let newest = waiting.last().and_then(|ended| ended.before.first());
            newest.is_none_or(|newest| newest.files().take(FEW + 1).count() <= FEW)
        };
        let this = Arc::clone(self);
        let look = move || {
            let _turn = this.ended.turn.lock().expect(never);
            let ended = std::mem::take(&mut *this.ended.tasks.lock().expect(never));
            this.look_at(ended);
        };
        if is_quick { look() } else { drop(tokio::task::spawn_blocking(look)) }
    }

    fn look_at(&self, ended: Vec<Ended>) {
        let mut looked_at = BTreeMap::new();
        for ended in ended {
            let mut failure_of = |layer: &Arc<Layer>| match looked_at.entry(Arc::as_ptr(layer)) {
                Entry::Occupied(known) => Option::clone(known.get()),
                Entry::Vacant(unknown) => {
                    let changed = layer.check_unchanged().err();
                    unknown.insert(changed.map(|error| self.failure(&error))).clone()
                }
            };
            // A file that was found was made from other files than these.
            let is_new = ended.result.is_ok() && !ended.is_found;
            let changed = ended.before.iter().filter(|_| is_new).find_map(&mut failure_of);
            self.happened(self.task_ended(ended, changed));
        }
    }

    /// Converts the result of a task from a kernel thread to an event. The result does not count if what the
    /// task has read was `changed`.
    fn task_ended(&self, ended: Ended, changed: Option<Failure>) -> Input {
        let Ended { task, purpose, result, is_found, took, before } = ended;
        // A task that waits for memory looks for it when it is told.
        drop(before);
        self.computing.fetch_sub(1, Ordering::Relaxed);
        self.task_ended.notify_one();
        let result = match (result, changed) {
            (Ok(_), Some(failure)) => {
                if !purpose.is_audit() {
                    self.discard_made(task);
                }
                Err(failure)
            }
            (Ok(report), None) if is_found => Ok(Done::Found(report)),
            (Ok(report), None) => Ok(Done::Made(report)),
            (Err(TaskError::Layer(error)), _) => Err(self.failure(&error)),
            (Err(TaskError::Stopped), _) => Err(Failure::Stopped),
            (Err(error @ TaskError::TooManyStates { .. }), _) => {
                Err(Failure::Contradiction(error.to_string()))
            }
            (Err(error @ (TaskError::Panicked { .. } | TaskError::GivenBack { .. })), _) => {
                Err(Failure::Other(error.to_string()))
            }
        };
        Input::TaskEnded { task, audit: purpose.is_audit(), result, took: Some(took) }
    }

    /// Deletes the file of a task that does not count.
    fn discard_made(&self, task: fathom_run::Task) {
        let Worker { files, store, .. } = &self.worker;
        files.forget_file(task);
        if let Err(error) = store.discard(task) {
            warn!(depth = task.depth.0, shard = task.shard.0, %error, "a file that may be wrong cannot be deleted");
        }
    }
}
