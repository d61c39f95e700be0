//! The sources of a page's numbers: a search in this process, a coordinator, or a directory on which another
//! process may be working.

use super::local::{Local, Story};
use super::outline::{Outline, Present};
use super::past::Log;
use super::served::Served;
use super::snapshot::{RunState, Snapshot, WorkerFacts};
use crate::cluster::handle::{CoordinatorHandle, held_up};
use anyhow::{Context, Result};
use fathom_engine::at_work::{self, Note};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run::ShardId;
use std::path::{Path, PathBuf};

/// The source of the numbers.
#[derive(Debug)]
pub(super) enum Feed {
    Local(Local),
    Served(Box<Served>),
    Directory(PathBuf, Log),
}

impl Feed {
    /// Returns a snapshot of the run; `None` if the source has ended or cannot be read.
    pub(super) async fn snapshot(&mut self) -> Option<Snapshot> {
        match self {
            Self::Local(local) => Some(local.snapshot(None)),
            Self::Served(served) => served.snapshot().await,
            Self::Directory(path, log) => {
                let (path, from) = (path.clone(), *log);
                let read = tokio::task::spawn_blocking(move || of_directory(&path, from)).await.ok()?;
                let read =
                    read.inspect_err(|error| tracing::warn!("the page cannot read the run: {error:#}"));
                let (snapshot, read_to) = read.ok()?;
                *log = read_to;
                Some(snapshot)
            }
        }
    }

    /// Returns the last snapshot of a run that has ended as `over` says.
    pub(super) fn ended(&mut self, run: &RunDirectory, over: RunState) -> Result<Snapshot> {
        match self {
            Self::Local(local) => Ok(local.snapshot(Some(over))),
            Self::Served(served) => served.ended(run, over),
            Self::Directory(path, log) => Ok(of_directory(path, *log)?.0),
        }
    }
}

/// Returns a snapshot from the journal of a run and from its log, and how far the log was read.
fn of_directory(path: &Path, mut log: Log) -> Result<(Snapshot, Log)> {
    let run = RunDirectory::open_for_reading(path)?;
    let outline = Outline::of(&run)?;
    let note = at_work::of(path);
    let state = match &note {
        Some(Note { progress: Some(_), .. }) => RunState::Running,
        Some(_) => RunState::Preparing,
        None => RunState::Unfinished,
    };
    let at = note.as_ref().and_then(|note| note.progress.as_ref()).filter(|_| !outline.is_complete());
    let present = at.map(|at| Present {
        states: at.visited.saturating_sub(outline.visited()),
        share: at.cosets_done as f64 / at.cosets.max(1) as f64,
        seconds: at.depth_seconds,
        left: None,
        rate: Some(at.states_per_second),
    });
    let facts = outline.facts(state, present);
    let known = run.journal.workers().context("cannot read run.db")?;
    let names = known.iter().map(|(id, name, _)| (id.to_string(), name.clone())).collect();
    let workers = known.into_iter().map(|(id, name, address)| WorkerFacts {
        id: id.to_string(),
        name,
        address,
        presence: "left".into(),
        ..WorkerFacts::default()
    });
    let events = log.news(path, &names);
    let (workers, growth) = (workers.collect(), outline.growth());
    Ok((Snapshot { run: facts, growth, workers, events, ..Snapshot::default() }, log))
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
            Self::Served(handle) => tokio::select! {
                story = handle.story(ShardId(shard)) => story.map_or_else(|_| Story::new(), |story| story.0),
                reason = held_up() => vec![("waits", reason)],
            },
            Self::Nobody => Vec::new(),
        }
    }
}
