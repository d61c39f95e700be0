//! What a page shows of a run on many hosts, shard by shard.

use crate::cluster::event::{Millis, Note};
use crate::cluster::state::{CopyState, State, TaskProgress};
use crate::cluster::status::ClusterStatus;
use anyhow::{Context, Result};
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::LayerRow;
use fathom_proto::Latencies;
use fathom_run::{Depth, ShardId, Task, WorkerId};
use indicatif::{HumanBytes, HumanCount};
use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How far a shard of the present layer is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ShardState {
    /// Nobody is at it.
    #[default]
    Waiting,
    /// Nobody is at it any more, because an attempt failed.
    Failed,
    /// A worker is at it.
    Running,
    /// It is made, and fewer workers hold it than should.
    Copying,
    /// It is done.
    Done,
}

impl ShardState {
    /// All of them, with the letters for which they stand.
    pub const ALL: [(Self, char, &'static str); 5] = [
        (Self::Waiting, 'w', "waiting"),
        (Self::Failed, 'f', "failed"),
        (Self::Running, 'r', "running"),
        (Self::Copying, 'c', "copying"),
        (Self::Done, 'd', "done"),
    ];
}

/// A shard, and who has most to do with it: the worker that is at it, or one that holds it.
pub type ShardView = (ShardState, Option<WorkerId>);

/// All that a page shows.
#[derive(Clone, Debug)]
pub struct View {
    /// What `fathom status` tells of the cluster.
    pub status: ClusterStatus,
    /// The shards of the present layer, in order.
    pub shards: Vec<ShardView>,
    /// States that workers have found in the present layer.
    pub states: u64,
    /// The same of each worker that is there, by its id.
    pub found: HashMap<String, u64>,
    /// The finished layers, if there are more or fewer than the page knows.
    pub layers: Option<Vec<LayerRow>>,
    /// How often workers say that they live.
    pub heartbeat: Duration,
    /// How long the journal takes.
    pub journal: Latencies,
    /// What has happened since the last view.
    pub news: News,
}

impl View {
    /// The view of a run in a state.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub(super) fn of(
        run: &RunDirectory,
        state: &State,
        now: Millis,
        known_layers: usize,
        (journal, news): (&Latencies, News),
    ) -> Result<Self> {
        let changed = known_layers != state.depth.0 as usize;
        let layers = || run.journal.layers().context("cannot read run.db");
        let shards: Vec<ShardView> =
            state.shards().map(|shard| shard_view(state, Task { depth: state.depth, shard })).collect();
        Ok(Self {
            status: ClusterStatus::of(state, now),
            states: states(state),
            found: state
                .workers
                .alive()
                .map(|(id, worker)| (id.to_string(), worker.progress.states))
                .collect(),
            shards,
            layers: changed.then(layers).transpose()?,
            heartbeat: state.rules.heartbeat,
            journal: *journal,
            news,
        })
    }
}

fn shard_view(state: &State, task: Task) -> ShardView {
    let Some(progress) = state.tasks.get(task) else {
        return (ShardState::Waiting, None);
    };
    match &progress.making {
        TaskProgress::Waiting if progress.failures > 0 => (ShardState::Failed, None),
        TaskProgress::Waiting => (ShardState::Waiting, None),
        TaskProgress::Running(worker, _) => (ShardState::Running, Some(*worker)),
        TaskProgress::Made(_) => {
            let holder = state.holders_alive(task).next().filter(|&id| id != WorkerId::SHARED_STORE);
            let done = state.is_done(task);
            (if done { ShardState::Done } else { ShardState::Copying }, holder)
        }
    }
}

/// States of shards that are made, and, of workers that are at others, what these workers say that they have
/// found there. The two overlap while a layer is made; the larger one is what is known for certain.
fn states(state: &State) -> u64 {
    let made = state.tasks.reports().map(|(report, _)| report.totals.states);
    let found: u64 = state.workers.alive().map(|(_, worker)| worker.progress.states).sum();
    made.sum::<u64>().max(found)
}

/// What has happened to a shard of the present layer, each fact with what it is about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardStory(pub Vec<(&'static str, String)>);

impl ShardStory {
    pub(super) fn of(state: &State, shard: ShardId, now: Millis) -> Self {
        let task = Task { depth: state.depth, shard };
        let name = |id: WorkerId| match state.workers.get(id) {
            Some(worker) => worker.name.clone(),
            None if id == WorkerId::SHARED_STORE => "the shared store".into(),
            None => id.to_string(),
        };
        let Some(progress) = state.tasks.get(task) else {
            return Self::default();
        };
        let mut facts = vec![
            ("depth", task.depth.to_string()),
            ("attempts since the coordinator began", progress.attempts.to_string()),
            ("failures", progress.failures.to_string()),
        ];
        match &progress.making {
            TaskProgress::Waiting => {
                let owner = state.tasks.owner(task);
                facts.extend(owner.map(|owner| ("waits for", name(owner))));
                if progress.not_before > now {
                    let pause = progress.not_before.since(now).as_secs_f64();
                    facts.push(("tried again in", format!("{pause:.1} s")));
                }
            }
            TaskProgress::Running(worker, since) => {
                facts.push(("made by", name(*worker)));
                let heard = now.since(*since).as_secs_f64();
                facts.push(("heard of", format!("{heard:.1} s ago")));
            }
            TaskProgress::Made(report) => {
                facts.extend(progress.maker.map(|maker| ("made by", name(maker))));
                facts.extend(progress.took.map(|took| ("took", format!("{:.3} s", took.as_secs_f64()))));
                facts.push(("states", HumanCount(report.totals.states).to_string()));
                facts.push(("size", HumanBytes(report.bytes).to_string()));
            }
        }
        let holders: Vec<String> = state.files.holders(task).map(name).collect();
        if !holders.is_empty() {
            facts.push(("held by", holders.join(", ")));
        }
        for (worker, copying) in state.files.copies_of(task) {
            let how = match copying {
                CopyState::Ordered(_) => "copied to",
                CopyState::Failed(_) => "not yet copied to",
            };
            facts.push((how, name(worker)));
        }
        Self(facts)
    }
}

/// Something that has happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Milliseconds since 1970.
    pub time: u64,
    /// info or warn.
    pub severity: &'static str,
    /// What.
    pub what: &'static str,
    /// The depth at which it happened.
    pub depth: Option<Depth>,
    /// The shard with which it happened.
    pub shard: Option<ShardId>,
    /// The worker with which it happened.
    pub worker: Option<WorkerId>,
    /// What else there is to say.
    pub detail: Option<String>,
}

/// What has happened: each kind counted, and what is worth a line for people. What happens to every task is
/// only counted.
#[derive(Clone, Debug, Default)]
pub struct News {
    /// How often each kind has happened since the coordinator began.
    pub counts: BTreeMap<&'static str, u64>,
    /// Since the news were taken last, oldest first; `None` as long as nobody takes them.
    pub pieces: Option<Vec<Piece>>,
}

impl News {
    /// Pieces that are kept; the oldest are forgotten.
    const MOST: usize = 1000;

    pub(super) fn count(&mut self, what: &'static str) {
        *self.counts.entry(what).or_default() += 1;
    }

    pub(super) fn note(&mut self, severity: &'static str, note: &Note) {
        self.count(note.kind.message());
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
        let what = "little room";
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

    /// The news since they were taken last, with all counts. From now on pieces are kept.
    pub(super) fn take(&mut self) -> Self {
        Self { counts: self.counts.clone(), pieces: self.pieces.replace(Vec::new()) }
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64
}
