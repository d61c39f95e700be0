//! The data of the web page of a run on many hosts, shard by shard, and the totals for a progress line.

use crate::cluster::event::{Millis, Note, NoteKind, NoteLevel, Progress};
use crate::cluster::parts::{CopyState, TaskProgress};
use crate::cluster::state::State;
use crate::cluster::status::{ClusterStatus, obstacle};
use anyhow::{Context, Result};
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::LayerRow;
use fathom_engine::run::{Depth, ShardCut, ShardId, Task};
use fathom_proto::{FailureKind, Latencies, WorkerId};
use indicatif::{HumanBytes, HumanCount};
use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The progress of a shard of the current layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardStage {
    /// No worker computes the shard.
    Waiting,
    /// No worker computes the shard, because an attempt failed.
    Failed,
    /// A worker is fetching the inputs of the shard.
    Fetching,
    /// A worker is computing the shard.
    Running,
    /// The shard is computed, but too few workers hold it.
    Copying,
    /// The shard is done.
    Done,
}

/// A shard's progress, and the worker that computes it or one that holds it.
pub type ShardView = (ShardStage, Option<WorkerId>);

/// The data of the page.
#[derive(Clone, Debug)]
pub struct View {
    /// The cluster's part of `fathom status`.
    pub status: ClusterStatus,
    /// The shards of the current layer, in order.
    pub shards: Vec<ShardView>,
    /// Number of states found in the current layer so far.
    pub states: u64,
    /// The committed layers; `None` if the page already has them.
    pub layers: Option<Vec<LayerRow>>,
    /// Interval between the heartbeats of a worker.
    pub heartbeat: Duration,
    /// Latencies of writes to the journal.
    pub journal: Latencies,
    /// Events since the last view.
    pub news: News,
}

impl View {
    /// Returns the view of a run. `known_layers` is the number of committed layers that the page has.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(super) fn new(
        run: &RunDirectory,
        state: &State,
        now: Millis,
        known_layers: usize,
        (journal, news): (&Latencies, News),
    ) -> Result<Self> {
        let changed = known_layers != state.depth().0 as usize;
        let layers = || run.journal.layers().context("cannot read run.db");
        let fetching: BTreeSet<Task> = state
            .members()
            .alive()
            .flat_map(|(_, worker)| worker.progress.fetching.iter().copied())
            .collect();
        let shards: Vec<ShardView> = state
            .shards()
            .map(|shard| shard_view(state, &fetching, Task { depth: state.depth(), shard }))
            .collect();
        Ok(Self {
            status: ClusterStatus::new(state, now),
            states: states(state),
            shards,
            layers: changed.then(layers).transpose()?,
            heartbeat: state.rules().heartbeat,
            journal: *journal,
            news,
        })
    }
}

fn shard_view(state: &State, fetching: &BTreeSet<Task>, task: Task) -> ShardView {
    let Some(progress) = state.tasks().get(task) else {
        return (ShardStage::Waiting, None);
    };
    match &progress.making {
        TaskProgress::Waiting if progress.failed.back().is_some_and(|last| last.failure.is_some()) => {
            (ShardStage::Failed, None)
        }
        TaskProgress::Waiting => (ShardStage::Waiting, None),
        TaskProgress::Running(worker, _) if fetching.contains(&task) => (ShardStage::Fetching, Some(*worker)),
        TaskProgress::Running(worker, _) => (ShardStage::Running, Some(*worker)),
        TaskProgress::Made(_) => {
            let holder = state.holders_alive(task).next().filter(|&id| id != WorkerId::SHARED_STORE);
            let done = state.is_done(task);
            (if done { ShardStage::Done } else { ShardStage::Copying }, holder)
        }
    }
}

/// The progress of the current layer, in totals.
#[derive(Clone, Debug)]
pub struct LayerProgress {
    /// The depth of the layer.
    pub depth: Depth,
    /// Number of cosets that are done, as far as known.
    pub cosets: u64,
    /// Number of shards that are done.
    pub shards: u32,
    /// Number of states found, as far as known.
    pub states: u64,
    /// Bytes of the files of this layer.
    pub bytes: u64,
    /// The committed layers; `None` if the caller already has them.
    pub layers: Option<Vec<LayerRow>>,
    /// The reason why the run waits, if it does.
    pub obstacle: Option<String>,
}

impl LayerProgress {
    /// Returns the progress of a run. `known_layers` is the number of committed layers that the caller has.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(super) fn new(
        run: &RunDirectory,
        state: &State,
        cut: ShardCut,
        known_layers: usize,
        now: Millis,
    ) -> Result<Self> {
        let changed = known_layers != state.depth().0 as usize;
        let layers = || run.journal.layers().context("cannot read run.db");
        let is_done = |shard: &ShardId| state.is_done(Task { depth: state.depth(), shard: *shard });
        let done = state.shards().filter(is_done);
        let (shards, cosets) = done.fold((0, 0), |(shards, cosets), shard| {
            let range = cut.range(shard);
            (shards + 1, cosets + u64::from(range.end - range.start))
        });
        let begun: u64 = at_work(state).map(|progress| progress.cosets).sum();
        Ok(Self {
            depth: state.depth(),
            cosets: cosets.max(begun).min(cut.cosets().into()),
            shards,
            states: states(state),
            bytes: state.tasks().reports().map(|(report, _)| report.bytes).sum(),
            layers: changed.then(layers).transpose()?,
            obstacle: obstacle(state, now),
        })
    }
}

/// Returns the number of states found in the current layer, as far as known: the larger of the sum of the
/// reports and the sum of the workers' own counts. The two overlap, so they cannot be added.
pub(super) fn states(state: &State) -> u64 {
    let made = state.tasks().reports().map(|(report, _)| report.totals.states);
    made.sum::<u64>().max(at_work(state).map(|progress| progress.states).sum())
}

/// Returns the progress of the live workers that have started the current layer.
fn at_work(state: &State) -> impl Iterator<Item = &Progress> {
    let progress = state.members().alive().map(|(_, worker)| &worker.progress);
    progress.filter(|progress| progress.depth == Some(state.depth()))
}

/// The history of a shard of the current layer, as pairs of a label and a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStory(pub Vec<(&'static str, String)>);

impl ShardStory {
    pub(super) fn new(state: &State, shard: ShardId, now: Millis) -> Self {
        let task = Task { depth: state.depth(), shard };
        let name = |id: WorkerId| match state.members().get(id) {
            Some(worker) => worker.name.clone(),
            None if id == WorkerId::SHARED_STORE => "the shared store".into(),
            None => id.to_string(),
        };
        let Some(progress) = state.tasks().get(task) else {
            return Self::default();
        };
        let mut facts = vec![
            ("depth", task.depth.to_string()),
            ("attempts since the coordinator started", progress.attempts.to_string()),
        ];
        facts.extend(progress.failed.iter().map(|attempt| {
            let ago = now.since(attempt.at).as_secs_f64();
            let why = attempt.failure.map_or("the worker is gone", FailureKind::as_str);
            ("failed", format!("{ago:.0} s ago, at {}: {why}", name(attempt.worker)))
        }));
        match &progress.making {
            TaskProgress::Waiting => {
                let owner = state.tasks().owner(task);
                facts.extend(owner.map(|owner| ("waiting for", name(owner))));
                if progress.not_before > now {
                    let pause = progress.not_before.since(now).as_secs_f64();
                    facts.push(("retry in", format!("{pause:.1} s")));
                }
            }
            TaskProgress::Running(worker, since) => {
                facts.push(("computed by", name(*worker)));
                let heard = now.since(*since).as_secs_f64();
                facts.push(("last heard", format!("{heard:.1} s ago")));
            }
            TaskProgress::Made(report) => {
                facts.extend(progress.producer.map(|producer| ("computed by", name(producer))));
                facts.extend(progress.took.map(|took| ("took", format!("{:.3} s", took.as_secs_f64()))));
                facts.push(("states", HumanCount(report.totals.states).to_string()));
                facts.push(("size", HumanBytes(report.bytes).to_string()));
            }
        }
        let holders: Vec<String> = state.files().holders(task).map(name).collect();
        if !holders.is_empty() {
            facts.push(("held by", holders.join(", ")));
        }
        for (worker, copying) in state.files().copies_of(task) {
            let how = match copying {
                CopyState::Ordered(_) => "copied to",
                CopyState::Failed(_) => "failed copy to",
            };
            facts.push((how, name(worker)));
        }
        Self(facts)
    }
}

/// An event, as the page shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Milliseconds since the Unix epoch.
    pub time: u64,
    /// `info` or `warn`.
    pub severity: &'static str,
    /// The kind of event.
    pub what: &'static str,
    /// The depth concerned.
    pub depth: Option<Depth>,
    /// The shard concerned.
    pub shard: Option<ShardId>,
    /// The worker concerned.
    pub worker: Option<WorkerId>,
    /// Details, as text.
    pub detail: Option<String>,
}

/// The events of a run. All kinds are counted; only events that do not occur for every task are kept for
/// display.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// Number of events of each kind since the coordinator started.
    pub counts: BTreeMap<&'static str, u64>,
    /// Number of failed tasks and copies by the kind of failure.
    pub failures: BTreeMap<&'static str, u64>,
    /// Number of tasks that were assigned again.
    pub retries: u64,
    /// Events since the last call of `News::take`, oldest first; `None` before the first call, so that
    /// nothing is kept without a page.
    pub pieces: Option<Vec<Piece>>,
}

impl News {
    /// Maximum number of events kept; the oldest are dropped.
    const MOST: usize = 1000;

    fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    /// Counts an event, and keeps it if it is shown.
    pub(super) fn note(&mut self, note: &Note) {
        self.count(note.kind.message());
        match note.kind {
            NoteKind::TaskFailed(kind) | NoteKind::CopyFailed(kind) => {
                *self.failures.entry(kind.as_str()).or_default() += 1;
            }
            NoteKind::TaskGiven if note.attempt.is_some_and(|attempt| attempt.number > 1) => {
                self.retries += 1;
            }
            _ => {}
        }
        let severity = match note.kind.level() {
            NoteLevel::Detail => return,
            NoteLevel::Info => "info",
            NoteLevel::Warning => "warn",
        };
        let (depth, shard) = (note.task.map(|task| task.depth), note.task.map(|task| task.shard));
        self.push(Piece {
            time: now(),
            severity,
            what: note.kind.message(),
            depth,
            shard,
            worker: note.worker,
            detail: note.detail.clone(),
        });
    }

    pub(super) fn layer(&mut self, depth: Depth, detail: String) {
        let what = "layer done";
        self.count(what);
        let (time, depth, detail) = (now(), Some(depth), Some(detail));
        self.push(Piece { time, severity: "info", what, depth, shard: None, worker: None, detail });
    }

    pub(super) fn room(&mut self, depth: Depth, detail: String) {
        let what = "low disk space";
        self.count(what);
        let (time, depth, detail) = (now(), Some(depth), Some(detail));
        self.push(Piece { time, severity: "warn", what, depth, shard: None, worker: None, detail });
    }

    fn push(&mut self, piece: Piece) {
        if let Some(pieces) = &mut self.pieces {
            if pieces.len() >= Self::MOST {
                pieces.remove(0);
            }
            pieces.push(piece);
        }
    }

    /// Returns the events since the last call, and all counts. From the first call on, events are kept.
    pub(super) fn take(&mut self) -> Self {
        Self {
            counts: self.counts.clone(),
            failures: self.failures.clone(),
            retries: self.retries,
            pieces: self.pieces.replace(Vec::new()),
        }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
