//! The feed of a run that this process computes: an observer of the search.

use crate::feed::{Feed, Story, StoryMaker};
use crate::outline::{Outline, Present};
use crate::snapshot::{EventFacts, RunState, ShardState, Snapshot, Tallies};
use anyhow::Result;
use fathom_command::machine;
use fathom_engine::directory::RunDirectory;
use fathom_engine::forecast::rate::Rate;
use fathom_engine::journal::LayerRow;
use fathom_engine::observer::{Observer, Progress};
use fathom_engine::run::{Depth, ShardReport};
use fathom_report::text::many;
use futures::future::{self, BoxFuture};
use indicatif::{HumanBytes, HumanCount};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// An observer of a search. It only stores numbers, so that it does not delay the search.
#[derive(Clone, Debug)]
pub struct Local(Arc<Mutex<Noted>>);

#[derive(Debug)]
struct Noted {
    outline: Outline,
    limits: Limits,
    /// Whether the first layer has started.
    is_ready: bool,
    present: Option<Layer>,
    events: Vec<EventFacts>,
    counts: BTreeMap<String, u64>,
    /// States of all depths, over time.
    states: Rate<Instant>,
}

/// The resource limits of a search.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Kernel threads.
    pub threads: usize,
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of disk, if there is a limit.
    pub disk_bytes: Option<u64>,
}

/// The depth that is being computed.
#[derive(Debug)]
struct Layer {
    depth: Depth,
    begun: Instant,
    /// Cosets, or states to come from.
    cosets: u64,
    progress: Progress,
    done: Rate<Instant>,
    shards: Vec<(ShardState, Option<u32>)>,
    /// States and bytes of the shards that this process has computed, and how long each took.
    made: BTreeMap<u32, (u64, u64, Duration)>,
    /// All shards before this one are done.
    first: usize,
}

impl Local {
    /// Creates the observer for a run that this process is about to search.
    ///
    /// # Errors
    /// If the journal cannot be read.
    pub fn new(run: &RunDirectory, limits: Limits) -> Result<Self> {
        Ok(Self(Arc::new(Mutex::new(Noted {
            outline: Outline::new(run)?,
            limits,
            is_ready: false,
            present: None,
            events: Vec::new(),
            counts: BTreeMap::new(),
            states: Rate::default(),
        }))))
    }

    fn noted(&self) -> MutexGuard<'_, Noted> {
        // A poisoned lock is harmless: each change is complete before any code that could panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a snapshot of the run. `over` says how the search has ended, if it has.
    fn look(&self, over: Option<RunState>) -> Snapshot {
        let mut noted = self.noted();
        let now = Instant::now();
        let events = std::mem::take(&mut noted.events);
        let Noted { outline, present, states, limits, is_ready, counts, .. } = &mut *noted;
        let layer = present.as_mut().filter(|_| over.is_none());
        let facts = layer.map(|layer| {
            layer.done.note(now, layer.progress.cosets);
            let before: u64 = outline.layers.iter().map(|layer| layer.states).sum();
            states.note(now, before + layer.progress.states);
            let left = (layer.cosets - layer.progress.cosets.min(layer.cosets)) as f64;
            // What remains after the last source, for a run by lists, is not known.
            let rate = layer.done.per_second(now).filter(|&rate| rate > 0.0 && left > 0.0);
            Present {
                states: layer.progress.states,
                // The first depth of a run by lists has no states to come from.
                share: layer.progress.cosets as f64 / layer.cosets.max(1) as f64,
                seconds: layer.begun.elapsed().as_secs_f64(),
                left: rate.map(|rate| left / rate),
                rate: states.per_second(now),
            }
        });
        let state = match over {
            Some(over) => over,
            None if *is_ready => RunState::Running,
            None => RunState::Preparing,
        };
        let mut run = outline.facts(state, facts);
        let Limits { threads, memory_bytes, disk_bytes } = *limits;
        run.threads = Some(threads as u64);
        // Rounded to whole MiB, so that not every snapshot contains a change.
        run.memory = machine::anonymous_bytes().map(|bytes| bytes >> 20 << 20);
        run.memory_limit = Some(memory_bytes);
        run.read = machine::disk_bytes().map(|[read, _]| read >> 20 << 20);
        run.disk_limit = disk_bytes;
        let present = present.as_ref().filter(|_| outline.is_by_cosets());
        let cosets = present.map(|layer| layer.progress.cosets);
        Snapshot {
            run,
            growth: outline.growth(),
            shards: present.map(|layer| layer.shards(threads)).unwrap_or_default(),
            workers: Vec::new(),
            events,
            tallies: Tallies { events: counts.clone(), cosets, ..Tallies::default() },
        }
    }

    /// Returns what is known about a shard of the present depth; nothing if there is no such shard.
    fn story(&self, shard: u32) -> Story {
        let noted = self.noted();
        let Some(layer) = &noted.present else { return Vec::new() };
        let shards = layer.shards(noted.limits.threads);
        let Some((state, _)) = shards.get(shard as usize) else { return Vec::new() };
        let word =
            ShardState::ALL.into_iter().find(|(known, ..)| known == state).map_or("", |(.., word)| word);
        let mut story = vec![("depth", layer.depth.to_string()), ("is", word.into())];
        if let Some((states, bytes, took)) = layer.made.get(&shard) {
            story.push(("states", HumanCount(*states).to_string()));
            story.push(("size", HumanBytes(*bytes).to_string()));
            story.push(("took", format!("{:.3} s", took.as_secs_f64())));
        }
        story
    }
}

impl Feed for Local {
    fn snapshot(&mut self) -> BoxFuture<'_, Option<Snapshot>> {
        Box::pin(future::ready(Some(self.look(None))))
    }

    fn ended(&mut self, _run: &RunDirectory, over: RunState) -> Result<Snapshot> {
        if over == RunState::Complete {
            self.noted().outline.complete();
        }
        Ok(self.look(Some(over)))
    }

    fn stories(&self) -> StoryMaker {
        let local = self.clone();
        Arc::new(move |shard| Box::pin(future::ready(local.story(shard))))
    }
}

impl Layer {
    /// Returns the states of the shards. Threads take shards in order, so the first ones that are not done
    /// are counted as running.
    fn shards(&self, threads: usize) -> Vec<(ShardState, Option<u32>)> {
        let mut shards = self.shards.clone();
        let waiting = shards[self.first..].iter_mut().filter(|(state, _)| *state == ShardState::Waiting);
        waiting.take(threads).for_each(|(state, _)| *state = ShardState::Running);
        shards
    }
}

impl Noted {
    fn event(&mut self, what: &str, depth: Depth, detail: Option<String>) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis() as u64;
        *self.counts.entry(what.into()).or_default() += 1;
        self.events.push(EventFacts {
            time,
            severity: "info",
            what: what.into(),
            depth: Some(depth.0),
            detail,
            ..EventFacts::default()
        });
    }
}

impl Observer for Local {
    fn layer_begins(&self, depth: Depth, cosets: u64, shards: u32) {
        let mut noted = self.noted();
        noted.is_ready = true;
        noted.present = Some(Layer {
            depth,
            begun: Instant::now(),
            cosets,
            progress: Progress { cosets: 0, states: 0 },
            done: Rate::default(),
            shards: vec![(ShardState::Waiting, None); shards as usize],
            made: BTreeMap::new(),
            first: 0,
        });
        noted.event("layer begins", depth, None);
    }

    fn progress(&self, progress: Progress) {
        if let Some(layer) = &mut self.noted().present {
            layer.progress = progress;
        }
    }

    fn shard_made(&self, report: &ShardReport, took: Duration) {
        let mut noted = self.noted();
        *noted.counts.entry("task done".into()).or_default() += 1;
        if let Some(layer) = &mut noted.present {
            if let Some(shard) = layer.shards.get_mut(report.task.shard.0 as usize) {
                shard.0 = ShardState::Done;
            }
            layer.made.insert(report.task.shard.0, (report.totals.states, report.bytes, took));
            let done = layer.shards[layer.first..].iter().take_while(|(state, _)| *state == ShardState::Done);
            layer.first += done.count();
        }
    }

    fn layer_committed(&self, layer: &LayerRow) {
        let mut noted = self.noted();
        noted.present = None;
        let seconds = layer.seconds;
        let detail = format!("{} in {seconds:.1} s", many(layer.states, "state"));
        noted.event("layer done", layer.depth, Some(detail));
        noted.outline.push(layer.clone());
    }
}
