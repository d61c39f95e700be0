//! The errors that end a search, with advice for the user.

use super::Search;
use crate::run::Depth;
use crate::task::TaskError;
use crate::task::error::file_limit;
use fathom_command::shell;
use fathom_layer::{Disk, LayerError};

impl Search<'_> {
    /// Adds advice to the error of a file that could not be deleted, or of a check before its deletion.
    pub(super) fn explain_deletion(&self, depth: Depth, error: LayerError) -> anyhow::Error {
        let is_changed = matches!(error, LayerError::Changed { .. });
        if is_changed || error.is_quota() || error.is_disk_full() {
            return self.explain(depth, error);
        }
        let path = shell::path(&self.run.path);
        anyhow::Error::new(error).context(format!(
            "a layer file that is no longer needed could not be deleted; continue with 'fathom resume {path}'"
        ))
    }

    /// Adds advice to the error of files that could not be made durable.
    pub(super) fn explain_sync(&self, error: LayerError) -> anyhow::Error {
        if error.is_quota() || error.is_disk_full() {
            return self.explain(self.newest.map_or(Depth(0), Depth::next), error);
        }
        let path = shell::path(&self.run.path);
        anyhow::Error::new(error).context(format!(
            "layers could not be synced to disk; once the disk works again, continue with 'fathom resume {path}'"
        ))
    }

    /// Adds advice to the error of a failed task.
    pub(super) fn explain_task(&self, depth: Depth, error: TaskError) -> anyhow::Error {
        match error {
            TaskError::Layer(error) => self.explain(depth, error),
            TaskError::GivenBack { .. } => {
                let path = shell::path(&self.run.path);
                anyhow::Error::new(error).context(format!(
                    "depth {depth} could not be computed, and the layer needed to compute it again is no longer kept; restore the file from a backup, or remove {path} and start again"
                ))
            }
            error => anyhow::Error::new(error).context(format!("depth {depth} could not be computed")),
        }
    }

    /// Adds advice to the error of a layer file at `depth`.
    pub(super) fn explain(&self, depth: Depth, error: LayerError) -> anyhow::Error {
        let path = shell::path(&self.run.path);
        let advice = if error.is_quota() {
            format!(
                "the disk quota of this user is used up at depth {depth}; remove files that count towards it or ask for a larger one, then continue with 'fathom resume {path}'"
            )
        } else if error.is_file_limit() {
            file_limit(depth, &path)
        } else if error.is_disk_full() && self.disk.limit_bytes().is_some() {
            format!(
                "no disk space is left at depth {depth}; free some space or raise --disk-limit, then continue with 'fathom resume {path}'"
            )
        } else if error.is_disk_full() {
            format!(
                "the disk is full at depth {depth}; free some space, then continue with 'fathom resume {path}'"
            )
        } else if let LayerError::Store { .. } = error {
            format!(
                "depth {depth} could not be computed; mount the disk of the store, then continue with 'fathom resume {path}'"
            )
        } else if let LayerError::Changed { .. } = error {
            format!(
                "depth {depth} could not be computed; restore the original file, then continue with 'fathom resume {path}', which checks it"
            )
        } else if error.is_damage() || error.is_missing() {
            format!(
                "depth {depth} could not be computed because a file of an earlier layer is damaged or missing; restore the file from a backup, or remove {path} and start again"
            )
        } else {
            format!("depth {depth} could not be computed")
        };
        anyhow::Error::new(error).context(advice)
    }
}
