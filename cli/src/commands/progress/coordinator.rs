//! The progress of a run that this process serves to workers.

use super::{Line, WRITE};
use crate::commands::progress_estimator::ProgressEstimator;
use crate::commands::run_presence::RunPresence;
use anyhow::{Context, Result};
use fathom_command::log::Verbosity;
use fathom_coordinator::cluster::handle::CoordinatorHandle;
use fathom_coordinator::cluster::page_view::LayerProgress;
use fathom_engine::directory::RunDirectory;
use fathom_engine::observer::Progress;
use fathom_engine::run::ShardCut;
use futures::executor::block_on;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The time after which it is said why a run waits.
const WAIT: Duration = Duration::from_secs(5);

/// What is shown of a served run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DisplayOptions {
    pub(crate) verbosity: Verbosity,
    /// The depth after which the run ends, if there is one.
    pub(crate) max_depth: Option<u32>,
    /// Whether the size of the run's files is shown, because this machine has the layers.
    pub(crate) holds_layers: bool,
}

/// Polls the coordinator for the progress each second, and writes it to standard error and to a file for
/// `fathom status`, until the value is dropped.
#[derive(Debug)]
pub(crate) struct ServedDisplay {
    over: Option<Sender<()>>,
    shower: Option<JoinHandle<()>>,
}

impl ServedDisplay {
    /// Starts showing a run whose coordinator is about to serve.
    pub(crate) fn new(
        run: &RunDirectory,
        cut: ShardCut,
        handle: CoordinatorHandle,
        at_work: RunPresence,
        options: &DisplayOptions,
    ) -> Result<Self> {
        let DisplayOptions { verbosity, max_depth, holds_layers } = *options;
        let known = run.visited()?.layers.len();
        let estimator = ProgressEstimator::new(run, max_depth)?;
        let estimator = if holds_layers { estimator } else { estimator.without_disk() };
        let follower = Follower { estimator, cut, known, begun: None };
        let (over, is_over) = channel::<()>();
        let show = move || {
            let (mut follower, mut at_work, mut line) = (follower, at_work, Line::new(verbosity));
            let mut waiting: Option<(String, Instant, bool)> = None;
            while let Ok(progress) = block_on(handle.progress(follower.known)) {
                let now = Instant::now();
                follower.follow(&progress, now);
                match (&progress.obstacle, &mut waiting) {
                    (None, _) => waiting = None,
                    (Some(obstacle), Some((known, since, is_told))) if known == obstacle => {
                        if !*is_told && since.elapsed() >= WAIT {
                            *is_told = true;
                            tracing::info!(reason = obstacle, "waiting");
                        }
                    }
                    (Some(obstacle), _) => waiting = Some((obstacle.clone(), now, false)),
                }
                at_work.write(&follower.estimator.reading(now));
                line.show(&follower.estimator, now);
                if is_over.recv_timeout(WRITE) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
            }
        };
        let shower = std::thread::Builder::new().name("progress".into()).spawn(show);
        Ok(Self { over: Some(over), shower: Some(shower.context("cannot start a thread")?) })
    }
}

impl Drop for ServedDisplay {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(shower) = self.shower.take() {
            // A panic of this thread does not affect the run.
            let _ = shower.join();
        }
    }
}

/// Feeds an estimator with the progress reported by the coordinator.
struct Follower {
    estimator: ProgressEstimator,
    cut: ShardCut,
    /// The number of committed layers that the estimator knows.
    known: usize,
    /// The depth that the estimator measures.
    begun: Option<u32>,
}

impl Follower {
    fn follow(&mut self, told: &LayerProgress, now: Instant) {
        for layer in told.layers.iter().flatten().skip(self.known) {
            self.estimator.committed(layer);
            self.known += 1;
        }
        if self.begun != Some(told.depth.0) {
            self.begun = Some(told.depth.0);
            self.estimator.begin(told.depth, self.cut.cosets().into(), self.cut.shards(), now);
        }
        self.estimator.shards_made(told.shards, told.bytes);
        self.estimator.progress(Progress { cosets: told.cosets, states: told.states }, now);
    }
}
