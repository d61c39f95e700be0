//! The feed of a directory in which another process may be working: its journal and its log.

use crate::cluster::journal_tables;
use crate::feed::log_events::Log;
use anyhow::{Context, Result};
use fathom_engine::directory::RunDirectory;
use fathom_engine::run_presence::{self, Note};
use fathom_page::feed::{Feed, StoryMaker};
use fathom_page::outline::{Outline, Present};
use fathom_page::snapshot::{RunState, Snapshot, WorkerFacts};
use futures::future::BoxFuture;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The feed of a directory.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    log: Log,
}

impl Directory {
    /// Creates the feed of the directory of a run.
    pub fn new(run: &RunDirectory) -> Self {
        Self { path: run.path.clone(), log: Log::default() }
    }
}

impl Feed for Directory {
    fn snapshot(&mut self) -> BoxFuture<'_, Option<Snapshot>> {
        Box::pin(async move {
            let (path, from) = (self.path.clone(), self.log);
            let read = tokio::task::spawn_blocking(move || of_directory(&path, from)).await.ok()?;
            let read = read.inspect_err(|error| tracing::warn!("the page cannot read the run: {error:#}"));
            let (snapshot, read_to) = read.ok()?;
            self.log = read_to;
            Some(snapshot)
        })
    }

    fn ended(&mut self, _run: &RunDirectory, _over: RunState) -> Result<Snapshot> {
        Ok(of_directory(&self.path, self.log)?.0)
    }

    fn stories(&self) -> StoryMaker {
        Arc::new(|_| Box::pin(async { Vec::new() }))
    }
}

/// Returns a snapshot from the journal of a run and from its log, and the position up to which the log was
/// read.
fn of_directory(path: &Path, mut log: Log) -> Result<(Snapshot, Log)> {
    let run = RunDirectory::open_for_reading(path)?;
    let outline = Outline::new(&run)?;
    let note = run_presence::of(path);
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
    let known = journal_tables::workers(&run.journal).context("cannot read run.db")?;
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
