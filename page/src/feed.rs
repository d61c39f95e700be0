//! The source of a page's data, and the other data that a page requests.

use crate::snapshot::{RunState, Snapshot};
use anyhow::Result;
use fathom_engine::directory::RunDirectory;
use fathom_report::Format;
use futures::future::BoxFuture;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

/// The source of a page's data: a search in this process, a coordinator, or a directory in which another
/// process may be working.
pub trait Feed: Debug + Send {
    /// Returns a snapshot of the run; `None` if the source has ended or cannot be read. The events of a
    /// snapshot are those since the last one.
    fn snapshot(&mut self) -> BoxFuture<'_, Option<Snapshot>>;

    /// Returns the last snapshot of a run that has ended in the state `over`.
    ///
    /// # Errors
    /// If the run cannot be read.
    fn ended(&mut self, run: &RunDirectory, over: RunState) -> Result<Snapshot>;

    /// Returns the source of details about individual shards.
    fn stories(&self) -> StoryMaker;
}

/// What is known about a shard of the present depth: pairs of a label and a value.
pub type Story = Vec<(&'static str, String)>;

/// Returns the history of a shard, which is empty if nothing is known about the shard.
pub type StoryMaker = Arc<dyn Fn(u32) -> BoxFuture<'static, Story> + Send + Sync>;

/// Returns the output of `fathom status --json`.
pub type StatusMaker = Arc<dyn Fn() -> BoxFuture<'static, Result<String>> + Send + Sync>;

/// Returns the output of `fathom report` for a directory.
pub type ReportMaker = fn(&Path, Format) -> Result<String>;
