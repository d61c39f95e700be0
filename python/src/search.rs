//! Runs in this process.

use crate::failure::{interruptible, is_users};
use crate::puzzle::{Options as SpaceOptions, Puzzle, space};
use anyhow::Result;
use fathom_begin::engine_choice::require_bound;
use fathom_begin::{Engine, NewRun, Room};
use fathom_command::{bad_input, machine};
use fathom_engine::directory::{Found, look};
use fathom_engine::estimate::Peak;
use fathom_engine::journal::LayerRow;
use fathom_engine::observer::{Observer, Progress};
use fathom_engine::run::{Depth, Producers, RunSpace};
use fathom_engine::search::{Options, Stop, is_settled, search as search_run};
use fathom_engine::task::Kernel;
use fathom_layer::LocalDisk;
use pyo3::prelude::*;
use std::cell::Cell;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// The interval at which unfinished layers are reported.
const EVERY: Duration = Duration::from_millis(500);

/// Calls a function of Python with a depth, its states so far, and whether the layer is finished.
struct Reporter {
    call: Option<Py<PyAny>>,
    depth: Cell<u32>,
    at: Cell<Instant>,
}

impl Reporter {
    fn report(&self, states: u64, is_finished: bool) {
        if let Some(call) = &self.call {
            self.at.set(Instant::now());
            // A report that fails does not end the search.
            let _ = Python::attach(|py| call.call1(py, (self.depth.get(), states, is_finished)).map(drop));
        }
    }
}

impl Observer for Reporter {
    fn layer_begins(&self, depth: Depth, _: u64, _: u32) {
        self.depth.set(depth.0);
    }

    fn progress(&self, progress: Progress) {
        if self.at.get().elapsed() > EVERY {
            self.report(progress.states, false);
        }
    }

    fn layer_committed(&self, layer: &LayerRow) {
        self.depth.set(layer.depth.0);
        self.report(layer.states, true);
    }
}

/// How a run is searched.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SearchOptions {
    threads: Option<usize>,
    max_depth: Option<u32>,
    keep: Option<String>,
    engine: Option<String>,
    memory: Option<u64>,
}

/// Searches a space in a directory, or continues the run there.
#[pyfunction]
pub(crate) fn search(
    py: Python<'_>,
    puzzle: &Puzzle,
    space_options: SpaceOptions,
    options: SearchOptions,
    directory: PathBuf,
    report: Option<Py<PyAny>>,
) -> PyResult<()> {
    let stop = Stop::default();
    let requested = stop.requested.clone();
    interruptible(py, &requested, || {
        let is_new = look(&directory)? == Found::Nothing;
        let was_there = directory.exists();
        let searched = searched(puzzle, &space_options, options, &directory, &stop, report);
        if is_new && !was_there && searched.as_ref().is_err_and(is_users) && directory.exists() {
            std::fs::remove_dir_all(&directory)?;
        }
        searched
    })
}

fn searched(
    puzzle: &Puzzle,
    space_options: &SpaceOptions,
    options: SearchOptions,
    directory: &std::path::Path,
    stop: &Stop,
    report: Option<Py<PyAny>>,
) -> Result<()> {
    let spec = space(puzzle, space_options)?;
    let threads = options.threads.unwrap_or_else(machine::processors);
    if threads == 0 {
        return Err(bad_input!("threads: at least 1"));
    }
    let keep = options.keep.map(|keep| keep.parse().map_err(|error| bad_input!("keep: {error}")));
    let engine = match options.engine.as_deref() {
        None => None,
        Some("cosets") => Some(Engine::Cosets),
        Some("lists") => Some(Engine::Lists),
        Some(other) => return Err(bad_input!("engine: expected 'cosets' or 'lists', not {other:?}")),
    };
    let keep = keep.transpose()?;
    let new = NewRun {
        keep,
        engine,
        can_list: true,
        max_depth: options.max_depth,
        is_bounded: options.max_depth.is_some(),
        producers: Producers::one_process(threads),
        shards: None,
        inverse_classes: false,
        plan: None,
        watch_states: None,
        store: None,
    };
    let space = spec.space();
    let memory_bytes = machine::memory_bytes(options.memory);
    let peak = Peak { max_depth: options.max_depth, threads, ..Peak::default() };
    let room = Room { memory_bytes, threads, disk_limit: None, keep, peak };
    let mut run =
        new.open_or_begin(directory, spec, space, |space, plan, path| room.require(space, plan, path))?;
    if is_settled(&run, &LocalDisk)? {
        return Ok(());
    }
    if let RunSpace::Lists(space) = &run.space {
        require_bound(space, options.max_depth.is_some())?;
    }
    let options = Options {
        threads,
        kernel: Kernel::Fastest,
        max_depth: options.max_depth,
        memory_bytes,
        checkpoint_every: Options::CHECKPOINT_EVERY,
    };
    let reporter = Reporter { call: report, depth: Cell::new(0), at: Cell::new(Instant::now()) };
    search_run(&mut run, &LocalDisk, options, stop, &reporter)?;
    Ok(())
}
