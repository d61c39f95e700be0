//! The progress of a run: one line on a terminal, a line a minute elsewhere, and a file for `fathom
//! status`.

pub(crate) mod coordinator;

use crate::commands::progress_estimator::{ProgressEstimator, line};
use crate::commands::run_presence::RunPresence;
use anyhow::Result;
use fathom_command::activity::{Doing, doing};
use fathom_command::log::Verbosity;
use fathom_command::terminal_line;
use fathom_engine::directory::RunDirectory;
use fathom_engine::journal::LayerRow;
use fathom_engine::observer::{Observer, Progress};
use fathom_engine::run::{Depth, ShardReport};
use fathom_report::text::many;
use std::cell::RefCell;
use std::time::{Duration, Instant};

/// The minimum time between two updates of the line on a terminal.
const BETWEEN: Duration = Duration::from_millis(100);
/// The time between two lines if there is no terminal.
const MINUTE: Duration = Duration::from_secs(60);
/// The time between two writes of the file for `fathom status`.
const WRITE: Duration = Duration::from_secs(1);
/// The minimum time, in seconds, of a finished depth that gets its own line on the terminal.
const LONG: f64 = 1.0;

/// The progress line on standard error.
#[derive(Debug)]
struct Line {
    /// Whether the line is shown on a terminal.
    is_on_terminal: bool,
    /// Whether a line is printed each minute.
    each_minute: bool,
    /// When the line was last written. Without a terminal, it is initially the time when the run started.
    written: Option<Instant>,
}

impl Line {
    /// Creates a line that is not shown yet; `verbosity` and the terminal decide how it is shown.
    fn new(verbosity: Verbosity) -> Self {
        let is_on_terminal = verbosity.shows_bars();
        let each_minute = verbosity != Verbosity::Quiet && !is_on_terminal;
        Self { is_on_terminal, each_minute, written: each_minute.then(Instant::now) }
    }

    fn show(&mut self, estimator: &ProgressEstimator, now: Instant) {
        let wait = if self.is_on_terminal { BETWEEN } else { MINUTE };
        if self.written.is_some_and(|written| now - written < wait) {
            return;
        }
        self.written = Some(now);
        if self.is_on_terminal {
            terminal_line::show(&line::of(&estimator.reading(now), terminal_line::columns()));
        } else if self.each_minute {
            terminal_line::tell(&line::of(&estimator.reading(now), usize::MAX));
        }
    }

    /// Prints a line for a depth that took long, if standard error is a terminal.
    fn committed(&self, layer: &LayerRow) {
        if layer.seconds >= LONG && self.is_on_terminal {
            let took = line::duration(layer.seconds);
            let text = format!("depth {}: {} in {took}", layer.depth, many(layer.states, "state"));
            terminal_line::tell(&text);
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        terminal_line::clear();
    }
}

/// Shows the progress of a search on standard error, and writes it to a file for `fathom status`, until the
/// value is dropped.
#[derive(Debug)]
pub(crate) struct Display(RefCell<Inner>);

#[derive(Debug)]
struct Inner {
    line: Line,
    estimator: ProgressEstimator,
    at_work: RunPresence,
    preparing: Option<Doing>,
    written: Option<Instant>,
}

impl Display {
    /// Starts showing the search in a directory, as far as `verbosity` and the terminal allow.
    pub(crate) fn new(
        run: &RunDirectory,
        verbosity: Verbosity,
        max_depth: Option<u32>,
        disk_limit: Option<u64>,
    ) -> Result<Self> {
        Ok(Self(RefCell::new(Inner {
            line: Line::new(verbosity),
            estimator: ProgressEstimator::new(run, max_depth)?,
            at_work: RunPresence::begin(&run.path, "searched", None, disk_limit),
            preparing: Some(doing(&format!("computing the tables of {}", run.space.slug()))),
            written: None,
        })))
    }

    fn show(&self) {
        let Inner { line, estimator, at_work, written, .. } = &mut *self.0.borrow_mut();
        let now = Instant::now();
        if written.is_none_or(|written| now - written >= WRITE) {
            *written = Some(now);
            at_work.write(&estimator.reading(now));
        }
        line.show(estimator, now);
    }
}

impl Observer for Display {
    fn layer_begins(&self, depth: Depth, cosets: u64, shards: u32) {
        let mut inner = self.0.borrow_mut();
        inner.preparing = None;
        inner.estimator.begin(depth, cosets, shards, Instant::now());
        drop(inner);
        self.show();
    }

    fn progress(&self, progress: Progress) {
        self.0.borrow_mut().estimator.progress(progress, Instant::now());
        self.show();
    }

    fn shard_made(&self, report: &ShardReport, _took: Duration) {
        self.0.borrow_mut().estimator.shard_made(report.bytes);
    }

    fn layer_ends(&self, progress: Progress) {
        self.progress(progress);
    }

    fn layer_committed(&self, layer: &LayerRow) {
        let mut inner = self.0.borrow_mut();
        inner.estimator.committed(layer);
        inner.line.committed(layer);
    }
}
