//! The errors that end a search, with what to do about them.

use super::Search;
use crate::run::Depth;
use crate::task::TaskError;
use fathom_command::shell;
use fathom_layer::{Disk, LayerError};

impl Search<'_> {
    /// Returns the error of a file that could not be deleted, or before that could be, with what to do about
    /// it.
    pub(super) fn explain_deletion(&self, depth: Depth, error: LayerError) -> anyhow::Error {
        let is_changed = matches!(error, LayerError::Changed { .. });
        if is_changed || error.is_quota() || error.is_disk_full() {
            return self.explain(depth, error);
        }
        let path = shell::path(&self.run.path);
        anyhow::Error::new(error).context(format!(
            "a layer file that is not read any more could not be deleted; go on with 'fathom resume {path}'"
        ))
    }

    /// Returns the error of what could not be made durable, with what to do about it.
    pub(super) fn explain_sync(&self, error: LayerError) -> anyhow::Error {
        if error.is_quota() || error.is_disk_full() {
            return self.explain(self.newest.map_or(Depth(0), Depth::next), error);
        }
        let path = shell::path(&self.run.path);
        anyhow::Error::new(error).context(format!(
            "layers cannot be made durable; once the disk is in order, go on with 'fathom resume {path}'"
        ))
    }

    /// Returns the error of a failed task, with what to do about it.
    pub(super) fn explain_task(&self, depth: Depth, error: TaskError) -> anyhow::Error {
        match error {
            TaskError::Layer(error) => self.explain(depth, error),
            TaskError::GivenBack { .. } => {
                let path = shell::path(&self.run.path);
                anyhow::Error::new(error).context(format!(
                    "depth {depth} could not be made, and the run keeps no layer from which it could be made again: put the file back from a copy, or remove {path} and begin again"
                ))
            }
            error => anyhow::Error::new(error).context(format!("depth {depth} could not be made")),
        }
    }

    /// Returns the error of a layer file at `depth`, with what to do about it.
    pub(super) fn explain(&self, depth: Depth, error: LayerError) -> anyhow::Error {
        let path = shell::path(&self.run.path);
        let advice = if error.is_quota() {
            format!(
                "the quota of this user is used up at depth {depth}: remove files that count for it, or ask for more, then go on with 'fathom resume {path}'"
            )
        } else if error.is_disk_full() && self.disk.limit_bytes().is_some() {
            format!(
                "there is no more room at depth {depth}; make room or raise --disk-limit, then go on with 'fathom resume {path}'"
            )
        } else if error.is_disk_full() {
            format!("the disk is full at depth {depth}; make room, then go on with 'fathom resume {path}'")
        } else if let LayerError::Store { .. } = error {
            format!(
                "depth {depth} could not be made; mount the disk of the store, then go on with 'fathom resume {path}'"
            )
        } else if let LayerError::Changed { .. } = error {
            format!(
                "depth {depth} could not be made; once the file is what was written, go on with 'fathom resume {path}', which checks it"
            )
        } else if error.is_damage() || error.is_missing() {
            format!(
                "depth {depth} could not be made, for the layers before it are not what was written; put the file back from a copy, or remove {path} and begin again"
            )
        } else {
            format!("depth {depth} could not be made")
        };
        anyhow::Error::new(error).context(advice)
    }
}
