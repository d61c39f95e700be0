//! Passes the results of the kernel threads to the session, and checks before a report that they are valid.
//!
//! Several tasks read a coset, and only the first of them compares its checksum. So before tasks are
//! reported, the file system is asked whether another program has written to the files that they have read.
//! If so, their own files are deleted, and they fail with a damaged file.

use crate::cluster::driver::{Shared, Worker};
use crate::cluster::session::Input;
use fathom_engine::run::Task;
use fathom_engine::task::pool::Ended;
use fathom_engine::task::{Layer, TaskError};
use fathom_layer::LayerError;
use fathom_layer::map::Stamp;
use fathom_proto::{Done, Failure, Outcome};
use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard};
use tokio::task::block_in_place;
use tracing::{info, warn};

/// One call checks up to this many files without moving the runtime to another thread, which takes longer
/// than a few checks: about a microsecond each on a local disk.
const FEW: usize = 256;

/// The tasks that have ended and are not reported yet.
#[derive(Debug, Default)]
pub(super) struct Unreported {
    tasks: Mutex<Tasks>,
    /// Locked while files are checked: later callers must know the result.
    turn: Mutex<()>,
}

const NEVER: &str = "the lock is never poisoned: no code panics while holding it";

#[derive(Debug, Default)]
struct Tasks {
    /// Each of the newest layers that tasks have read, with these tasks.
    read: Vec<Read>,
    /// The invalid tasks, once for each time that they have ended.
    spoilt: BTreeMap<Task, Vec<Failure>>,
}

#[derive(Debug)]
struct Read {
    layer: Layer,
    /// The computed files, with their tasks.
    made: Vec<(Task, Stamp)>,
    /// Audits, and tasks that have failed.
    others: Vec<Task>,
}

impl Unreported {
    fn lock(&self) -> MutexGuard<'_, Tasks> {
        self.tasks.lock().expect(NEVER)
    }
}

impl Tasks {
    /// Adds a task that has read the files of a layer, with the file that it has written, if any.
    fn add(&mut self, layer: &Layer, task: Task, made: Option<Stamp>) {
        let known = self.read.iter().position(|read| read.layer.has_files_of(layer));
        let known = known.unwrap_or_else(|| {
            self.read.push(Read { layer: layer.files_only(), made: Vec::new(), others: Vec::new() });
            self.read.len() - 1
        });
        let read = &mut self.read[known];
        match made {
            Some(file) => read.made.push((task, file)),
            None => read.others.push(task),
        }
    }
}

impl Shared {
    /// Converts the result of a task from a kernel thread to an event.
    pub(super) fn task_ended(&self, ended: Ended) -> Input {
        let Ended { task, purpose, result, is_found, made, took, newest } = ended;
        let is_audit = purpose.is_audit();
        // A contradiction may have been read from a changed file.
        let is_to_check = matches!(
            &result,
            Ok(_)
                | Err(TaskError::TooManyStates { .. }
                    | TaskError::MadeOtherwise { .. }
                    | TaskError::Panicked { .. })
        );
        if let Some(newest) = newest.as_ref().filter(|_| is_to_check) {
            self.unreported.lock().add(newest, task, made);
        }
        // Tasks that wait for memory check again when notified.
        drop(newest);
        self.computing.fetch_sub(1, Ordering::Relaxed);
        self.task_ended.notify_one();
        let result = match result {
            Ok(report) if is_found => Ok(Done::Found(report)),
            Ok(report) => Ok(Done::Made(report)),
            Err(TaskError::Layer(error)) => Err(self.failure(&error)),
            Err(TaskError::Stopped) => Err(Failure::Stopped),
            Err(error @ (TaskError::TooManyStates { .. } | TaskError::MadeOtherwise { .. })) => {
                Err(Failure::Contradiction(error.to_string()))
            }
            Err(error @ (TaskError::Panicked { .. } | TaskError::GivenBack { .. })) => {
                Err(Failure::Other(error.to_string()))
            }
        };
        Input::TaskEnded { task, audit: is_audit, result, took: Some(took) }
    }

    /// Checks the files that unreported tasks have read. Deletes the files computed from those that have
    /// changed.
    pub(super) fn look_again(&self) {
        let _turn = self.unreported.turn.lock().expect(NEVER);
        let read = std::mem::take(&mut self.unreported.lock().read);
        let files = || read.iter().flat_map(|read| read.layer.files());
        let changed = || -> Vec<Option<LayerError>> {
            read.iter().map(|read| read.layer.check_unchanged().err()).collect()
        };
        let changed = if files().nth(FEW).is_none() { changed() } else { block_in_place(changed) };
        for (Read { made, others, .. }, changed) in read.into_iter().zip(changed) {
            let Some(error) = changed else { continue };
            let failure = self.failure(&error);
            self.discard_made(&made, &error);
            let mut unreported = self.unreported.lock();
            for task in made.into_iter().map(|(task, _)| task).chain(others) {
                unreported.spoilt.entry(task).or_default().push(failure.clone());
            }
        }
    }

    /// Turns the outcomes of invalid tasks into failures.
    pub(super) fn confirmed(&self, mut outcomes: Vec<Outcome>) -> Vec<Outcome> {
        self.look_again();
        let spoilt = &mut self.unreported.lock().spoilt;
        for Outcome { task, result, .. } in &mut outcomes {
            let is_of_task = match result {
                Ok(Done::Made(_) | Done::Found(_)) | Err(Failure::Contradiction(_) | Failure::Other(_)) => {
                    true
                }
                Ok(Done::Copied(_)) | Err(_) => false,
            };
            if is_of_task && let Some(failure) = spoilt.get_mut(task).and_then(Vec::pop) {
                *result = Err(failure);
            }
        }
        spoilt.retain(|_, failures| !failures.is_empty());
        outcomes
    }

    /// Deletes the files of invalid tasks, because a file that they have read has `changed`. In a store that
    /// workers share, another worker may have recomputed the file or reported this one in the meantime, and
    /// the file is kept.
    fn discard_made(&self, made: &[(Task, Stamp)], changed: &LayerError) {
        let Worker { files, store, .. } = &self.worker;
        for &(task, file) in made {
            let (depth, shard) = (task.depth.0, task.shard.0);
            files.forget_file(task);
            if Stamp::new(&store.path(task.depth, task.shard)).is_ok_and(|there| !there.has_stayed(&file)) {
                info!(depth, shard, error = %changed, "file kept: another worker has computed or reported it");
                continue;
            }
            match store.discard(task) {
                Ok(()) => warn!(depth, shard, error = %changed, "possibly wrong file deleted"),
                Err(error) => warn!(depth, shard, %error, "possibly wrong file could not be deleted"),
            }
        }
    }
}
