//! A run on many hosts: the coordinator tells how far it is.

use super::outline::{Outline, Present};
use super::rate::Rate;
use super::snapshot::{EventFacts, RunState, Snapshot, Tallies, WorkerFacts};
use crate::cluster::serve::CoordinatorHandle;
use crate::cluster::status::{ClusterStatus, WorkerStatus};
use crate::cluster::view::{Latencies, ShardState, View};
use anyhow::Result;
use fathom_engine::directory::RunDirectory;
use serde::Deserialize;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::time::{Duration, Instant};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::TryRecvError;

/// A worker that was not heard for so many heartbeats is silent.
const SILENT_AFTER: u32 = 3;
/// Rates that are kept of each worker, and the time between two.
const HISTORY: usize = 40;
const BETWEEN: Duration = Duration::from_secs(3);
/// What happens to each task is too much for people.
const OF_TASKS: [&str; 4] = ["task given", "task done", "copy ordered", "copy done"];
/// Words of events that people should know.
const WARNINGS: [&str; 8] =
    ["lost", "failed", "damaged", "implausible", "cannot", "rests", "ignored", "left out"];

/// What is kept from one look to the next.
#[derive(Debug)]
pub(super) struct Served {
    outline: Outline,
    handle: CoordinatorHandle,
    lines: Receiver<String>,
    /// The numbers of the workers.
    numbers: HashMap<String, u32>,
    workers: Vec<WorkerFacts>,
    kept: Vec<Kept>,
    counts: BTreeMap<String, u64>,
    /// States that all workers have found, over time.
    states: Rate,
    done: Rate,
    noted: Option<Instant>,
    depth: u32,
}

/// What is kept of a worker.
#[derive(Debug, Default)]
struct Kept {
    rate: Rate,
    history: VecDeque<f64>,
}

/// A line of the coordinator.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    message: String,
    depth: Option<u32>,
    shard: Option<u32>,
    worker: Option<String>,
    detail: Option<String>,
    #[serde(default)]
    time_unix_ms: u64,
}

impl Served {
    pub(super) fn new(run: &RunDirectory, handle: CoordinatorHandle) -> Result<Self> {
        Ok(Self {
            outline: Outline::of(run)?,
            lines: handle.events(),
            handle,
            numbers: HashMap::new(),
            workers: Vec::new(),
            kept: Vec::new(),
            counts: BTreeMap::new(),
            states: Rate::default(),
            done: Rate::default(),
            noted: None,
            depth: u32::MAX,
        })
    }

    /// The run now; `None` if the coordinator has ended.
    pub(super) async fn look(&mut self) -> Option<Snapshot> {
        let view = self.handle.view(self.outline.layers.len()).await.ok()?;
        let View { status, shards, states, found, layers, heartbeat, journal } = view;
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
            let found = found.get(&worker.id).copied();
            self.note(worker, found, now, heartbeat, notes);
        }
        let number = |id: &fathom_run::WorkerId| self.numbers.get(&id.to_string()).copied();
        let shards = shards.iter().map(|(state, id)| (*state, id.as_ref().and_then(number))).collect();
        let present = self.present(&status, &shards, states, now);
        let mut run = self.outline.facts(RunState::Running, Some(present).filter(|_| !self.outline.is_complete()));
        run.obstacle = status.obstacle.clone();
        if run.obstacle.is_some() && run.state == RunState::Running {
            run.state = RunState::Waiting;
        }
        run.sent = Some(status.sent_bytes);
        run.threads = Some(status.workers.iter().filter(|worker| is_there(worker)).map(|w| u64::from(w.threads)).sum());
        let events = self.events();
        Some(self.snapshot(run, shards, events, journal))
    }

    fn snapshot(
        &self,
        run: super::snapshot::RunFacts,
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
            tallies: Tallies { events: self.counts.clone(), cosets: None, journal: Some(journal) },
        }
    }

    fn present(
        &mut self,
        status: &ClusterStatus,
        shards: &Vec<(ShardState, Option<u32>)>,
        states: u64,
        now: Instant,
    ) -> Present {
        let before: u64 = self.outline.layers.iter().map(|layer| layer.states).sum();
        self.states.note(now, (before + states) as f64);
        self.done.note(now, f64::from(status.shards_done));
        let left = shards.len() as f64 - f64::from(status.shards_done);
        let rate = self.done.per_second().filter(|&rate| rate > 0.0 && status.obstacle.is_none());
        Present {
            states,
            share: f64::from(status.shards_done) / shards.len().max(1) as f64,
            seconds: status.depth_seconds,
            left: rate.map(|rate| left / rate),
            rate: self.states.per_second(),
        }
    }

    /// Notes how a worker is, which has found so many states in the present depth, if it is there; for its history too if `notes`.
    fn note(&mut self, worker: &WorkerStatus, found: Option<u64>, now: Instant, heartbeat: Duration, notes: bool) {
        let next = self.workers.len() as u32;
        let number = *self.numbers.entry(worker.id.clone()).or_insert(next) as usize;
        if number == self.workers.len() {
            self.workers.push(WorkerFacts::default());
            self.kept.push(Kept::default());
        }
        let kept = &mut self.kept[number];
        if let Some(found) = found {
            kept.rate.note(now, found as f64);
        }
        let rate = if is_there(worker) { kept.rate.per_second().unwrap_or(0.0) } else { 0.0 };
        if notes {
            kept.history.push_back(rate);
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
            // In steps, so that a worker that stays away is not told again and again.
            silent: silent.map(|seconds| if seconds < 60.0 { seconds as u64 / 5 * 5 } else { seconds as u64 / 60 * 60 }),
            threads: worker.threads,
            kernel: worker.kernel.clone(),
            shards: worker.shards_running,
            rate,
            sent: worker.sent_bytes,
            received: worker.received_bytes,
            free: worker.free_bytes >> 26 << 26,
            history: Vec::new(),
        };
    }

    /// What the coordinator has said since the last look.
    fn events(&mut self) -> Vec<EventFacts> {
        let mut events = Vec::new();
        loop {
            let line = match self.lines.try_recv() {
                Ok(line) => line,
                Err(TryRecvError::Lagged(lines)) => format!(r#"{{"message":"{lines} lines left out"}}"#),
                Err(TryRecvError::Empty | TryRecvError::Closed) => return events,
            };
            let Ok(Line { message, depth, shard, worker, detail, time_unix_ms }) = serde_json::from_str(&line)
            else {
                continue;
            };
            if !message.ends_with("lines left out") {
                *self.counts.entry(message.clone()).or_default() += 1;
            }
            if OF_TASKS.contains(&message.as_str()) {
                continue;
            }
            let is_warning = WARNINGS.iter().any(|word| message.contains(word));
            let named = worker.as_ref().and_then(|id| self.numbers.get(id));
            let name = named.map(|&number| self.workers[number as usize].name.clone());
            events.push(EventFacts {
                time: time_unix_ms,
                severity: if is_warning { "warn" } else { "info" },
                what: message,
                depth,
                shard,
                worker: name.or(worker),
                detail,
            });
        }
    }

    /// The run when the coordinator has ended, by its journal.
    pub(super) fn ended(&mut self, run: &RunDirectory, over: RunState) -> Result<Snapshot> {
        self.outline.set_layers(run.visited()?.layers);
        let mut facts = self.outline.facts(over, None);
        facts.sent = Some(self.workers.iter().map(|worker| worker.sent).sum());
        let events = self.events();
        Ok(self.snapshot(facts, Vec::new(), events, Latencies::default()))
    }
}

fn is_there(worker: &WorkerStatus) -> bool {
    ["alive", "draining", "silent"].contains(&worker.presence.as_str())
}
