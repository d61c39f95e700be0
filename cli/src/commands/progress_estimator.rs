//! Measures the progress, the rate and the remaining time of a search.

pub(crate) mod line;

use anyhow::Result;
use fathom_engine::directory::{RunDirectory, Visited};
use fathom_engine::forecast::outlook::{Outlook, TimeLeft};
use fathom_engine::forecast::rate::Rate;
use fathom_engine::journal::LayerRow;
use fathom_engine::observer::Progress;
use fathom_engine::run::Depth;
use fathom_layer::tree_bytes;
use fathom_space::{Shape, Space};
use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a listing of files is used. Files of older layers may be released at any time.
const LISTED: Duration = Duration::from_secs(5);

/// The progress of a search at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Sample {
    /// The depth that is being computed.
    pub(crate) depth: u32,
    /// The finished cosets of this depth, and the number of all its cosets.
    pub(crate) cosets: [u64; 2],
    /// The finished shards of this depth, and the number of all its shards.
    pub(crate) shards: [u32; 2],
    /// Seconds since this depth was started.
    pub(crate) seconds: f64,
    /// The states visited at this depth and all smaller depths.
    pub(crate) visited: u64,
    /// The number of states of the space, if it is known.
    pub(crate) all: Option<u64>,
    /// New states per second over the last half minute.
    pub(crate) rate: f64,
    /// The expected time until the run is complete or has reached the requested depth.
    pub(crate) left: Option<TimeLeft>,
    /// The size of the files in the run's directory, in bytes; `None` if the layers are elsewhere.
    pub(crate) disk_bytes: Option<u64>,
}

/// The files of a run.
#[derive(Debug)]
struct RunFiles {
    directories: Vec<PathBuf>,
    /// Created on first use, because most depths of a small search end before one is needed.
    listing: Cell<Option<Listing>>,
}

/// The size of a run's files at one moment.
#[derive(Clone, Copy, Debug)]
struct Listing {
    at: Instant,
    bytes: u64,
    /// The part of `bytes` in files of the current depth.
    layer_bytes: u64,
}

impl RunFiles {
    /// Returns the size of all files in bytes, given that of the current depth, `layer_bytes`. If the files
    /// cannot be listed, only the growth of the current depth is counted.
    fn bytes(&self, layer_bytes: u64, now: Instant) -> u64 {
        let listed = || Listing {
            at: now,
            bytes: self.directories.iter().map(|path| tree_bytes(path).unwrap_or(0)).sum(),
            layer_bytes,
        };
        let listing = self.listing.get().filter(|listing| now - listing.at < LISTED).unwrap_or_else(listed);
        self.listing.set(Some(listing));
        listing.bytes + layer_bytes.saturating_sub(listing.layer_bytes)
    }
}

/// Follows a search so that a [`Sample`] can be computed at any time.
#[derive(Debug)]
pub(crate) struct ProgressEstimator {
    /// `None` if the layers are elsewhere.
    files: Option<RunFiles>,
    /// `None` if states are listed.
    outlook: Option<Outlook>,
    max_depth: Option<u32>,
    all: Option<u64>,
    /// The number of states in the committed layers.
    before: u64,
    depth: Depth,
    cosets: u64,
    shards: [u32; 2],
    progress: Progress,
    begun: Instant,
    /// The size of the files of this depth, in bytes.
    layer_bytes: u64,
    /// The states visited, over time.
    states: Rate<Instant>,
}

impl ProgressEstimator {
    pub(crate) fn new(run: &RunDirectory, max_depth: Option<u32>) -> Result<Self> {
        let Visited { layers, visited, all, .. } = run.visited()?;
        let outlook = |space: &Space| -> Result<Outlook> {
            let colouring = run.manifest.plan.cosets()?.colouring(space)?;
            let shape = Shape::of(space, &colouring).ok_or(fathom_engine::run::RunError::TensorTooLarge)?;
            Ok(Outlook::new(space, &shape, &layers))
        };
        Ok(Self {
            files: Some(RunFiles { directories: run.directories()?, listing: Cell::default() }),
            outlook: run.space.cosets().ok().map(outlook).transpose()?,
            max_depth,
            all,
            before: visited,
            depth: Depth(layers.len() as u32),
            cosets: 0,
            shards: [0; 2],
            progress: Progress { cosets: 0, states: 0 },
            begun: Instant::now(),
            layer_bytes: 0,
            states: Rate::default(),
        })
    }

    /// Omits the disk use, because the layers are not in the run's directory.
    pub(crate) fn without_disk(self) -> Self {
        Self { files: None, ..self }
    }

    pub(crate) fn begin(&mut self, depth: Depth, cosets: u64, shards: u32, now: Instant) {
        (self.depth, self.cosets, self.shards, self.begun) = (depth, cosets, [0, shards], now);
        self.progress = Progress { cosets: 0, states: 0 };
        self.files.iter().for_each(|files| files.listing.set(None));
        self.layer_bytes = 0;
    }

    pub(crate) fn progress(&mut self, progress: Progress, now: Instant) {
        self.progress = progress;
        self.states.note(now, self.before + progress.states);
    }

    pub(crate) fn shard_made(&mut self, bytes: u64) {
        self.shards_made(self.shards[0] + 1, self.layer_bytes + bytes);
    }

    /// Sets the number of finished shards of this depth and the size of their files in bytes.
    pub(crate) fn shards_made(&mut self, shards: u32, bytes: u64) {
        self.shards[0] = shards;
        self.layer_bytes = bytes;
    }

    pub(crate) fn committed(&mut self, layer: &LayerRow) {
        self.before += layer.states;
        self.progress = Progress { cosets: 0, states: 0 };
        self.outlook.iter_mut().for_each(|outlook| outlook.push(layer));
        self.depth = layer.depth.next();
        (self.cosets, self.shards) = (0, [0; 2]);
    }

    pub(crate) fn reading(&self, now: Instant) -> Sample {
        let done = self.progress.cosets as f64 / self.cosets.max(1) as f64;
        let seconds = (now - self.begun).as_secs_f64();
        let visited = self.before + self.progress.states;
        Sample {
            depth: self.depth.0,
            cosets: [self.progress.cosets, self.cosets],
            shards: self.shards,
            seconds,
            visited,
            all: self.all,
            rate: self.states.per_second(now).unwrap_or(0.0),
            left: self.outlook.as_ref().and_then(|outlook| outlook.time_left(done, seconds, self.max_depth)),
            disk_bytes: self.files.as_ref().map(|files| files.bytes(self.layer_bytes, now)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn released_files_no_longer_count() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path();
        let files = RunFiles { directories: vec![path.into()], listing: Cell::default() };
        fs::write(path.join("older"), vec![7; 1 << 20]).unwrap();
        let (begun, before) = (Instant::now(), tree_bytes(path).unwrap());
        assert_eq!(files.bytes(0, begun), before);
        fs::remove_file(path.join("older")).unwrap();
        let after = tree_bytes(path).unwrap();
        assert_ne!(before, after);
        // Growth of the current depth counts immediately, everything else when the files are listed again.
        assert_eq!(files.bytes(30, begun + LISTED / 2), before + 30);
        assert_eq!(files.bytes(30, begun + LISTED), after);
    }
}
