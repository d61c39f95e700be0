//! The file of a task between its last coset and its report.

use crate::run::{ShardReport, Task};
use crate::task::{Job, Layer, Store, TaskError};
use fathom_command::failpoint;
use fathom_layer::map::Stamp;
use fathom_layer::{LayerWriter, Totals, Written};
use std::path::Path;

/// A task that was computed.
#[derive(Debug)]
pub enum ShardFile<'d> {
    /// The report of the task, whose file is durable.
    Reported(ShardReport),
    /// The task's file is not durable yet.
    Unfinished(Box<Unfinished<'d>>),
}

/// A file that was written but is not durable yet.
#[derive(Debug)]
pub struct Unfinished<'d> {
    pub(super) task: Task,
    pub(super) writer: LayerWriter<'d>,
    pub(super) totals: Totals,
}

/// A task whose file is durable.
#[derive(Debug)]
pub struct Finished {
    /// The report.
    pub report: ShardReport,
    /// Whether the file is one that another process has written.
    pub is_found: bool,
}

impl Unfinished<'_> {
    /// Makes the file durable, and returns the report of its task. If another process has written the same
    /// file in the meantime, that one stays.
    ///
    /// # Errors
    /// [`TaskError`] if the task did not end with a report. No new file is left then.
    pub fn finish(self, job: &Job, store: &Store<'_>) -> Result<Finished, TaskError> {
        let Self { task, writer, totals } = self;
        failpoint::point("writing");
        let Written { checksums, bytes, is_in_place } = writer.finish(totals)?;
        if !is_in_place {
            let report = store.read_back(&job.geometry, task)?;
            if (report.totals, &report.checksums) != (totals, &checksums) {
                return Err(TaskError::MadeOtherwise { task, path: store.path(task.depth, task.shard) });
            }
            store.make_durable(task)?;
            return Ok(Finished { report: with_watched(job, store, report)?, is_found: true });
        }
        let report = ShardReport { task, totals, bytes, checksums, watched: Vec::new() };
        Ok(Finished { report: with_watched(job, store, report)?, is_found: false })
    }

    /// Returns the task.
    pub fn task(&self) -> Task {
        self.task
    }

    /// Returns whether making the file durable may take so long that another thread is worthwhile.
    pub fn is_large(&self) -> bool {
        self.writer.is_large()
    }
}

/// Adds the watched states in a shard to its report.
pub(super) fn with_watched(
    job: &Job,
    store: &Store<'_>,
    mut report: ShardReport,
) -> Result<ShardReport, TaskError> {
    let task = report.task;
    report.watched = job.watched.found(job.geometry.cut.range(task.shard), || {
        store.open_shard(&job.geometry, task.depth, task.shard)
    })?;
    Ok(report)
}

/// Returns whether the file of a task was written after the last change of all files that the task reads.
pub(super) fn is_later(path: &Path, task: Task, before: &[&Layer]) -> bool {
    let Ok(made) = Stamp::new(path) else { return false };
    let older = before.iter().skip(1).filter_map(|layer| layer.file(task.shard)).map(|file| &**file);
    let newest = before.iter().take(1).flat_map(|layer| layer.files());
    newest.chain(older).all(|file| made.is_later_than(&file.stamp()))
}
