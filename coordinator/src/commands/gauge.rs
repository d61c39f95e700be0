//! What is known of a search at a moment: how far, how fast, and how long it will go on.

pub(crate) mod line;

use anyhow::Result;
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::journal::LayerRow;
use fathom_engine::observer::Progress;
use fathom_forecast::outlook::{Outlook, TimeLeft};
use fathom_layer::tree_bytes;
use fathom_run::Depth;
use fathom_space::Shape;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Rates are those of this last stretch of time.
pub(crate) const STRETCH: Duration = Duration::from_secs(30);
/// Between two samples of it.
const SAMPLE: Duration = Duration::from_millis(500);

/// How far a search is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Reading {
    /// The depth that is made.
    pub(crate) depth: u32,
    /// Its cosets that are done, and all of them.
    pub(crate) cosets: [u64; 2],
    /// Its shards that are done, and all of them.
    pub(crate) shards: [u32; 2],
    /// Seconds since it was begun.
    pub(crate) seconds: f64,
    /// States visited, at this depth and before.
    pub(crate) visited: u64,
    /// States of the space.
    pub(crate) all: u64,
    /// New states a second, over the last half minute.
    pub(crate) rate: f64,
    /// The time until the run is complete, or as deep as asked.
    pub(crate) left: Option<TimeLeft>,
    /// Bytes of files in the run's directory.
    pub(crate) disk_bytes: u64,
}

/// Follows a search.
#[derive(Debug)]
pub(crate) struct Gauge {
    path: PathBuf,
    outlook: Outlook,
    max_depth: Option<u32>,
    all: u64,
    /// States of the layers that are committed.
    before: u64,
    depth: Depth,
    cosets: u64,
    shards: [u32; 2],
    progress: Progress,
    begun: Instant,
    disk_bytes: u64,
    /// What was visited when.
    samples: VecDeque<(Instant, u64)>,
}

impl Gauge {
    pub(crate) fn new(run: &RunDirectory, max_depth: Option<u32>) -> Result<Self> {
        let Visited { layers, visited, all } = run.visited()?;
        let colouring = run.manifest.cut(&run.space)?;
        let shape = Shape::of(&run.space, &colouring).ok_or(fathom_run::RunError::TensorTooLarge)?;
        Ok(Self {
            path: run.path.clone(),
            outlook: Outlook::new(&run.space, &shape, &layers),
            max_depth,
            all,
            before: visited,
            depth: Depth(layers.len() as u32),
            cosets: 0,
            shards: [0; 2],
            progress: Progress { cosets: 0, states: 0 },
            begun: Instant::now(),
            disk_bytes: 0,
            samples: VecDeque::new(),
        })
    }

    pub(crate) fn begin(&mut self, depth: Depth, cosets: u64, shards: u32, now: Instant) {
        (self.depth, self.cosets, self.shards, self.begun) = (depth, cosets, [0, shards], now);
        self.progress = Progress { cosets: 0, states: 0 };
        // Where it cannot be counted, what is made now is all that is told.
        self.disk_bytes = tree_bytes(&self.path).unwrap_or(0);
    }

    pub(crate) fn progress(&mut self, progress: Progress, now: Instant) {
        self.progress = progress;
        if self.samples.back().is_some_and(|(then, _)| now - *then < SAMPLE) {
            return;
        }
        self.samples.push_back((now, self.before + progress.states));
        // One sample stays that is older, so that the stretch is whole.
        while self.samples.get(1).is_some_and(|(then, _)| now - *then >= STRETCH) {
            self.samples.pop_front();
        }
    }

    pub(crate) fn shard_made(&mut self, bytes: u64) {
        self.shards[0] += 1;
        self.disk_bytes += bytes;
    }

    pub(crate) fn committed(&mut self, layer: &LayerRow) {
        self.before += layer.states;
        self.progress = Progress { cosets: 0, states: 0 };
        self.outlook.push(layer);
        self.depth = layer.depth.next();
        (self.cosets, self.shards) = (0, [0; 2]);
    }

    pub(crate) fn reading(&self, now: Instant) -> Reading {
        let done = self.progress.cosets as f64 / self.cosets.max(1) as f64;
        let seconds = (now - self.begun).as_secs_f64();
        let visited = self.before + self.progress.states;
        let rate = self.samples.front().map_or(0.0, |(then, states)| {
            let seconds = (now - *then).as_secs_f64();
            if seconds > 0.0 { visited.saturating_sub(*states) as f64 / seconds } else { 0.0 }
        });
        Reading {
            depth: self.depth.0,
            cosets: [self.progress.cosets, self.cosets],
            shards: self.shards,
            seconds,
            visited,
            all: self.all,
            rate,
            left: self.outlook.time_left(done, seconds, self.max_depth),
            disk_bytes: self.disk_bytes,
        }
    }
}
