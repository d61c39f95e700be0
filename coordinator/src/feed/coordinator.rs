//! The feed of a run on many hosts: the coordinator in this process.

use crate::cluster::handle::{CoordinatorHandle, held_up};
use crate::cluster::page_view::{News, Piece, ShardStage, View};
use crate::cluster::status::{ClusterStatus, WorkerStatus};
use anyhow::{Result, anyhow};
use fathom_engine::directory::RunDirectory;
use fathom_engine::forecast::rate::Rate;
use fathom_engine::run::ShardId;
use fathom_page::feed::{Feed, StatusMaker, Story, StoryMaker};
use fathom_page::outline::{Outline, Present};
use fathom_page::snapshot::{
    EventFacts, Faults, RunFacts, RunState, ShardState, Snapshot, Tallies, WorkerFacts,
};
use fathom_proto::{Latencies, WorkerId};
use futures::future::BoxFuture;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The number of missed heartbeats after which a worker is silent.
const SILENT_AFTER: u32 = 3;
/// The number of rates that are kept for each worker.
const HISTORY: usize = 40;
/// The time between two rates that are kept.
const BETWEEN: Duration = Duration::from_secs(3);

/// The feed of a coordinator, and what it keeps between two snapshots.
#[derive(Debug)]
pub struct Served {
    outline: Outline,
    handle: CoordinatorHandle,
    /// The number of each worker by its id: the worker's index in `workers`.
    numbers: HashMap<String, u32>,
    workers: Vec<WorkerFacts>,
    kept: Vec<Kept>,
    counts: BTreeMap<String, u64>,
    faults: Faults,
    /// States that all workers have found, over time.
    states: Rate<Instant>,
    done: Rate<Instant>,
    /// How long all workers have waited for the cosets that they fetched.
    fetches: Latencies,
    noted: Option<Instant>,
    depth: u32,
    /// The requested view, if the loop was blocked.
    asked: Option<oneshot::Receiver<View>>,
    /// The last snapshot.
    last: Option<Snapshot>,
}

/// The state that a feed keeps of one worker.
#[derive(Debug, Default)]
struct Kept {
    history: VecDeque<f64>,
    fetches: Latencies,
}

impl Served {
    /// Creates the feed of the coordinator that serves a run.
    ///
    /// # Errors
    /// If the run cannot be read.
    pub fn new(run: &RunDirectory, handle: CoordinatorHandle) -> Result<Self> {
        Ok(Self {
            outline: Outline::new(run)?,
            handle,
            numbers: HashMap::new(),
            workers: Vec::new(),
            kept: Vec::new(),
            counts: BTreeMap::new(),
            faults: Faults::default(),
            states: Rate::default(),
            done: Rate::default(),
            fetches: Latencies::default(),
            noted: None,
            depth: u32::MAX,
            asked: None,
            last: None,
        })
    }

    /// Returns a snapshot of the run; `None` if the coordinator has ended.
    async fn look(&mut self) -> Option<Snapshot> {
        let mut asked = match self.asked.take() {
            Some(asked) => asked,
            None => self.handle.view(self.outline.layers.len()).ok()?,
        };
        let snapshot = tokio::select! {
            view = &mut asked => self.of_view(view.ok()?),
            reason = held_up() => {
                self.asked = Some(asked);
                self.waiting(reason)
            }
        };
        self.last = Some(Snapshot { events: Vec::new(), ..snapshot.clone() });
        Some(snapshot)
    }

    /// Returns the last snapshot of a run, marked as waiting.
    fn waiting(&self, obstacle: String) -> Snapshot {
        let mut snapshot = self.last.clone().unwrap_or_else(|| Snapshot {
            run: self.outline.facts(RunState::Waiting, None),
            growth: self.outline.growth(),
            ..Snapshot::default()
        });
        snapshot.run.wait_for(obstacle);
        snapshot
    }

    /// Converts a view of the run, and updates the state that is kept between two snapshots.
    fn of_view(&mut self, view: View) -> Snapshot {
        let View { status, shards, states, layers, heartbeat, journal, news } = view;
        let now = Instant::now();
        if let Some(layers) = layers {
            self.outline.set_layers(layers);
        }
        if status.depth != self.depth {
            self.depth = status.depth;
            self.done = Rate::default();
        }
        let notes = self.noted.is_none_or(|noted| now.duration_since(noted) >= BETWEEN);
        if notes {
            self.noted = Some(now);
        }
        for worker in &status.workers {
            self.note(worker, heartbeat, notes);
        }
        let number = |id: &WorkerId| self.numbers.get(&id.to_string()).copied();
        let shards: Vec<_> =
            shards.iter().map(|(stage, id)| (state_of(*stage), id.as_ref().and_then(number))).collect();
        let present = self.present(&status, &shards, states, now);
        let mut run =
            self.outline.facts(RunState::Running, Some(present).filter(|_| !self.outline.is_complete()));
        if let Some(obstacle) = status.obstacle.clone() {
            run.wait_for(obstacle);
        }
        run.sent = Some(status.sent_bytes);
        self.add_usage(&mut run, &status.workers);
        run.threads =
            Some(status.workers.iter().filter(|worker| is_there(worker)).map(|w| u64::from(w.threads)).sum());
        self.count(&news);
        let events = self.events(news.pieces.unwrap_or_default());
        self.assembled(run, shards, events, journal)
    }

    /// Applies the counts of events.
    fn count(&mut self, news: &News) {
        self.counts = news.counts.iter().map(|(&what, &times)| (what.to_owned(), times)).collect();
        self.faults = Faults { failures: news.failures.clone(), retries: news.retries };
    }

    /// Returns a snapshot with these parts, and the kept state of the workers.
    fn assembled(
        &self,
        run: RunFacts,
        shards: Vec<(ShardState, Option<u32>)>,
        events: Vec<EventFacts>,
        journal: Latencies,
    ) -> Snapshot {
        let mut workers = self.workers.clone();
        for (worker, kept) in workers.iter_mut().zip(&self.kept) {
            worker.history = kept.history.iter().copied().collect();
        }
        Snapshot {
            run,
            growth: self.outline.growth(),
            shards,
            workers,
            events,
            tallies: Tallies {
                events: self.counts.clone(),
                cosets: None,
                journal: Some(journal),
                fetches: Some(self.fetches),
                faults: Some(self.faults.clone()),
            },
        }
    }

    /// Adds the memory, the disk and the waiting times of the connected workers.
    fn add_usage(&self, run: &mut RunFacts, workers: &[WorkerStatus]) {
        let there = || workers.iter().filter(|worker| is_there(worker));
        let sum = |of: fn(&WorkerStatus) -> u64| Some(there().map(of).sum::<u64>() >> 20 << 20);
        run.memory = sum(|worker| worker.memory_bytes);
        run.memory_limit = sum(|worker| worker.memory_limit_bytes);
        run.read = sum(|worker| worker.read_bytes);
        run.disk_free = there().map(|worker| worker.free_bytes >> 26 << 26).min().or(run.disk_free);
        let noted = self.fetches.counts.iter().any(|&count| count > 0);
        run.fetches = noted.then(|| [0.5, 0.99].map(|share| self.fetches.within(share)));
    }

    fn present(
        &mut self,
        status: &ClusterStatus,
        shards: &[(ShardState, Option<u32>)],
        states: u64,
        now: Instant,
    ) -> Present {
        let before: u64 = self.outline.layers.iter().map(|layer| layer.states).sum();
        self.states.note(now, before + states);
        self.done.note(now, status.shards_done.into());
        let left = shards.len() as f64 - f64::from(status.shards_done);
        let rate = self.done.per_second(now).filter(|&rate| rate > 0.0 && status.obstacle.is_none());
        Present {
            states,
            share: f64::from(status.shards_done) / shards.len().max(1) as f64,
            seconds: status.depth_seconds,
            left: rate.map(|rate| left / rate),
            rate: self.states.per_second(now),
        }
    }

    /// Updates the facts about a worker. If `notes` is set, its rate is added to its history.
    fn note(&mut self, worker: &WorkerStatus, heartbeat: Duration, notes: bool) {
        let next = self.workers.len() as u32;
        let number = *self.numbers.entry(worker.id.clone()).or_insert(next) as usize;
        if number == self.workers.len() {
            self.workers.push(WorkerFacts::default());
            self.kept.push(Kept::default());
        }
        let kept = &mut self.kept[number];
        self.fetches.add_since(&kept.fetches, &worker.fetches);
        kept.fetches = worker.fetches;
        if notes {
            kept.history.push_back(worker.states_per_second);
            if kept.history.len() > HISTORY {
                kept.history.pop_front();
            }
        }
        let silent = worker.heard_seconds.filter(|&heard| heard > (heartbeat * SILENT_AFTER).as_secs_f64());
        let presence = match silent {
            Some(_) if is_there(worker) => "silent",
            _ => &worker.presence,
        };
        self.workers[number] = WorkerFacts {
            id: worker.id.clone(),
            name: worker.name.clone(),
            address: worker.address.clone(),
            presence: presence.into(),
            // In steps, so that readers do not receive a change every second about a worker that stays away.
            silent: silent.map(|seconds| {
                if seconds < 60.0 { seconds as u64 / 5 * 5 } else { seconds as u64 / 60 * 60 }
            }),
            threads: worker.threads,
            kernel: worker.kernel.clone(),
            shards: worker.shards_running,
            rate: worker.states_per_second,
            sent: worker.sent_bytes,
            received: worker.received_bytes,
            free: worker.free_bytes >> 26 << 26,
            memory: worker.memory_bytes >> 20 << 20,
            read: worker.read_bytes >> 20 << 20,
            written: worker.written_bytes >> 20 << 20,
            history: Vec::new(),
        };
    }

    /// Converts events to the form for readers, with the names of workers.
    fn events(&self, pieces: Vec<Piece>) -> Vec<EventFacts> {
        let name = |id: WorkerId| {
            let id = id.to_string();
            let number = self.numbers.get(&id).map(|&number| number as usize);
            number.and_then(|number| self.workers.get(number)).map_or(id, |worker| worker.name.clone())
        };
        let told = |piece: Piece| EventFacts {
            time: piece.time,
            severity: piece.severity,
            what: piece.what.into(),
            depth: piece.depth.map(|depth| depth.0),
            shard: piece.shard.map(|shard| shard.0),
            worker: piece.worker.map(name),
            detail: piece.detail,
        };
        pieces.into_iter().map(told).collect()
    }
}

impl Feed for Served {
    fn snapshot(&mut self) -> BoxFuture<'_, Option<Snapshot>> {
        Box::pin(self.look())
    }

    /// Reads the journal of a run whose coordinator has ended.
    fn ended(&mut self, run: &RunDirectory, over: RunState) -> Result<Snapshot> {
        self.outline.set_layers(run.visited()?.layers);
        let mut facts = self.outline.facts(over, None);
        let (mut events, mut journal) = (Vec::new(), Latencies::default());
        if let Some(last) = self.handle.take_last_view() {
            for worker in &last.status.workers {
                self.note(worker, last.heartbeat, false);
            }
            self.count(&last.news);
            events = self.events(last.news.pieces.unwrap_or_default());
            journal = last.journal;
        }
        facts.sent = Some(self.workers.iter().map(|worker| worker.sent).sum());
        Ok(self.assembled(facts, Vec::new(), events, journal))
    }

    fn stories(&self) -> StoryMaker {
        let asked = self.handle.clone();
        Arc::new(move |shard| {
            let handle = asked.clone();
            Box::pin(async move {
                tokio::select! {
                    story = handle.story(ShardId(shard)) => story.map_or_else(|_| Story::new(), |story| story.0),
                    reason = held_up() => vec![("waiting", reason)],
                }
            })
        })
    }
}

/// Returns a function that yields the status of a run that a coordinator serves.
pub fn status(handle: &CoordinatorHandle) -> StatusMaker {
    let asked = handle.clone();
    Arc::new(move || {
        let handle = asked.clone();
        Box::pin(async move {
            tokio::select! {
                status = handle.status() => Ok(status?),
                reason = held_up() => Err(anyhow!(reason)),
            }
        })
    })
}

fn state_of(stage: ShardStage) -> ShardState {
    match stage {
        ShardStage::Waiting => ShardState::Waiting,
        ShardStage::Failed => ShardState::Failed,
        ShardStage::Fetching => ShardState::Fetching,
        ShardStage::Running => ShardState::Running,
        ShardStage::Copying => ShardState::Copying,
        ShardStage::Done => ShardState::Done,
    }
}

fn is_there(worker: &WorkerStatus) -> bool {
    ["alive", "draining", "silent"].contains(&worker.presence.as_str())
}
