//! The sources of a page's numbers: a search in this process, a coordinator, or a directory on which another
//! process may be working.

use super::local::{Local, Story};
use super::outline::Outline;
use super::served::Served;
use super::snapshot::{RunState, Snapshot};
use crate::cluster::handle::CoordinatorHandle;
use anyhow::Result;
use fathom_engine::directory::RunDirectory;
use fathom_run::ShardId;
use std::path::PathBuf;

/// The source of the numbers.
#[derive(Debug)]
pub(super) enum Feed {
    Local(Local),
    Served(Box<Served>),
    Directory(PathBuf),
}

impl Feed {
    /// Returns a snapshot of the run; `None` if the source has ended or cannot be read.
    pub(super) async fn snapshot(&mut self) -> Option<Snapshot> {
        match self {
            Self::Local(local) => Some(local.snapshot(None)),
            Self::Served(served) => served.snapshot().await,
            Self::Directory(path) => {
                let path = path.clone();
                let read = tokio::task::spawn_blocking(move || of_directory(path)).await;
                read.ok()?.inspect_err(|error| tracing::warn!("the page cannot read the run: {error:#}")).ok()
            }
        }
    }

    /// Returns the last snapshot of a run that has ended as `over` says.
    pub(super) fn ended(&mut self, run: &RunDirectory, over: RunState) -> Result<Snapshot> {
        match self {
            Self::Local(local) => Ok(local.snapshot(Some(over))),
            Self::Served(served) => served.ended(run, over),
            Self::Directory(path) => of_directory(path.clone()),
        }
    }
}

/// Returns a snapshot from the journal of a run.
fn of_directory(path: PathBuf) -> Result<Snapshot> {
    let run = RunDirectory::open_for_reading(&path)?;
    let outline = Outline::of(&run)?;
    let facts = outline.facts(RunState::Unfinished, None);
    Ok(Snapshot { run: facts, growth: outline.growth(), ..Snapshot::default() })
}

/// The source of details about single shards.
#[derive(Clone, Debug)]
pub(super) enum Shards {
    Local(Local),
    Served(CoordinatorHandle),
    Nobody,
}

impl Shards {
    pub(super) async fn story(&self, shard: u32) -> Story {
        match self {
            Self::Local(local) => local.story(shard),
            Self::Served(handle) => match handle.story(ShardId(shard)).await {
                Ok(story) => story.0,
                Err(_) => Vec::new(),
            },
            Self::Nobody => Vec::new(),
        }
    }
}
