//! The search: layer after layer, each cut into tasks, merged and committed before the next begins.

use crate::commit::{Commit, Committed, commit_layer};
use crate::directory::{RunDirectory, Visited};
use crate::estimate::Need;
use crate::journal::{Files, LayerRow, ProcessRow, ShardRow};
use crate::observer::{Observer, Progress};
use crate::older::Older;
use anyhow::{Context, Result, anyhow};
use fathom_command::{bad_input, failpoint, machine};
use fathom_layer::{Deferred, Disk, LayerError};
use fathom_run::{Depth, Keep, ShardReport, Task};
use fathom_task::{Counters, Job, Kernel, Layer, Leftovers, Pool, Resources, Store, TaskError, Watched};
use indicatif::{HumanBytes, HumanCount};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tracing::{debug, info, info_span, warn};

/// How often progress is shown and signals are noticed.
const TICK: Duration = Duration::from_millis(100);

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Kernel threads.
    pub threads: usize,
    /// The engine.
    pub kernel: Kernel,
    /// The last depth to make; `None` for all.
    pub max_depth: Option<u32>,
    /// Bytes of memory that may be taken: for tables and tensors, and what is left for layers in the page
    /// cache.
    pub memory_bytes: u64,
    /// The depths of a new search that is younger are made durable together: so much is lost at most when
    /// the process is killed.
    pub sync_after: Duration,
}

impl Options {
    /// A second: a small search takes less, and would mostly wait for the disk.
    pub const SYNC_AFTER: Duration = Duration::from_secs(1);
}

/// How a search is asked to stop.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    /// It should stop at the next coset.
    pub requested: Arc<AtomicBool>,
    /// It does not look at `requested` yet, for it is still making its tables: nothing would be lost by
    /// ending the process at once. The search sets it to false when it begins.
    pub at_once: Arc<AtomicBool>,
}

/// How a search ended without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every state was visited.
    Complete,
    /// The last depth that was asked for is made.
    MaxDepth,
    /// The stop flag was set.
    Stopped,
}

/// Continues a run from its last committed layer, until the run is complete or `stop` is set. `observer`
/// hears of each step.
///
/// # Errors
/// If a file cannot be read or written, data are damaged, or counts contradict each other. Layers that were
/// committed before stay.
pub fn search(
    run: &mut RunDirectory,
    disk: &dyn Disk,
    options: Options,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<End> {
    let _span = info_span!("run", id = %&run.manifest.fingerprint.to_string()[..16]).entered();
    let begun = Instant::now();
    let store_path = store_path(run)?;
    let resources = Resources {
        kernel: options.kernel,
        threads: options.threads,
        memory_bytes: options.memory_bytes,
        max_depth: options.max_depth,
    };
    let graph = run.graph.take();
    let colouring = match &graph {
        Some(graph) => graph.colouring().clone(),
        None => run.manifest.cut(&run.space)?,
    };
    run.manifest.check_cut(&run.space, &colouring)?;
    observer.tables_begin();
    let job = Job::of(&run.manifest, (&run.space, &colouring), graph, &run.path, resources, disk);
    observer.tables_end();
    let mut job = job?;
    let words = run.journal.watched().context("cannot read run.db")?;
    let words: Vec<Vec<u8>> =
        words.iter().map(|state| state.word(job.graph.space())).collect::<Result<_>>()?;
    job.watched = Watched::new(&job.graph, &words);
    let (engine, cut) = (job.kernel(), job.geometry.cut);
    info!(
        kernel = engine,
        cosets = job.graph.len(),
        shards = cut.shards(),
        seconds = begun.elapsed().as_secs_f64(),
        "ready"
    );
    let process = ProcessRow {
        begun: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        version: env!("CARGO_PKG_VERSION").into(),
        processor: machine::processor(),
        threads: options.threads,
        kernel: engine.into(),
        memory_bytes: options.memory_bytes,
        cache_bytes: job.cache.bytes(),
        seconds: begun.elapsed().as_secs_f64(),
        peak_anonymous_bytes: machine::anonymous_bytes(),
    };
    // Where nothing is committed yet, there is nothing that a crash could damage. But what is not durable
    // makes no room, and a run that keeps two layers has none to spare.
    let defers = !options.sync_after.is_zero() && run.manifest.keep != Keep::Two;
    let is_new = defers && run.visited()?.layers.is_empty();
    let disk = Deferred::new(disk, is_new);
    let disk = &disk;
    if is_new {
        run.journal.hold().context("cannot write run.db")?;
    }
    let store = Store::new(&store_path, disk);
    let counters = Counters::default();
    stop.at_once.store(false, Ordering::Relaxed);
    // Also set when a task fails, so that the others end early.
    let halt = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pool = Pool::start(scope, options.threads, &job, &store, &counters, &halt)
            .context("cannot start kernel threads")?;
        Search {
            run,
            disk,
            job: &job,
            store: &store,
            pool: &pool,
            counters: &counters,
            halt: &halt,
            stop,
            observer,
            options,
            archived: BTreeMap::new(),
            retired: Vec::new(),
            begun,
            process,
        }
        .go_on()
    })
}

struct Search<'a> {
    run: &'a mut RunDirectory,
    disk: &'a Deferred<'a>,
    job: &'a Job,
    store: &'a Store<'a>,
    pool: &'a Pool,
    counters: &'a Counters,
    halt: &'a AtomicBool,
    stop: &'a Stop,
    observer: &'a dyn Observer,
    options: Options,
    /// Layers whose files stay as they are, and that are read for what was visited: open, for data are
    /// checked when they are first read.
    archived: BTreeMap<Depth, Arc<Layer>>,
    /// Layers that are read no longer, whose files are removed when the commits behind them are durable.
    retired: Vec<Depth>,
    /// When this process began.
    begun: Instant,
    process: ProcessRow,
}

impl Search<'_> {
    fn go_on(&mut self) -> Result<End> {
        let end = self.make_layers();
        // Also after a failure: the layers before it stay.
        let released = self.release();
        let end = end?;
        released?;
        Ok(end)
    }

    /// Makes durable what was held back while the search was young.
    fn release(&mut self) -> Result<()> {
        if !self.run.journal.is_held() {
            return Ok(());
        }
        self.disk
            .flush()
            .with_context(|| format!("cannot make layers durable in {}", self.run.path.display()))?;
        self.run.journal.release().context("cannot write run.db")?;
        for depth in std::mem::take(&mut self.retired) {
            self.store.remove(depth)?;
        }
        let newest = self.run.journal.layers().context("cannot read run.db")?.last().map(|layer| layer.depth);
        self.archive(newest)
    }

    fn release_when_grown(&mut self) -> Result<()> {
        if self.begun.elapsed() >= self.options.sync_after { self.release() } else { Ok(()) }
    }

    fn make_layers(&mut self) -> Result<End> {
        let Visited { layers, mut visited, all } = self.run.visited()?;
        self.store.sweep(&leftovers(self.store, &layers)?)?;
        let mut newest = layers.last().map(|layer| layer.depth);
        self.archive(newest)?;
        while visited < all {
            let depth = newest.map_or(Depth(0), Depth::next);
            if self.options.max_depth.is_some_and(|max| depth.0 > max) {
                return Ok(End::MaxDepth);
            }
            let Some(layer) = self.make(depth, all - visited)? else {
                return Ok(End::Stopped);
            };
            visited += layer.states;
            newest = Some(depth);
            self.archive(newest)?;
        }
        Ok(End::Complete)
    }

    /// Makes one layer and commits it; `None` if stopped. `left` is the number of states that were not
    /// visited yet.
    fn make(&mut self, depth: Depth, left: u64) -> Result<Option<LayerRow>> {
        let begun = Instant::now();
        self.require_room(depth, left)?;
        let Some(reports) = self.do_tasks(depth)? else {
            return Ok(None);
        };
        self.process.seconds = self.begun.elapsed().as_secs_f64();
        self.process.peak_anonymous_bytes = self.process.peak_anonymous_bytes.max(machine::anonymous_bytes());
        let symmetries = self.job.graph.space().symmetries().len() as u64;
        let seconds = begun.elapsed().as_secs_f64();
        let waits = self.counters.spent.waits(self.options.threads, begun.elapsed());
        let process = Some(&self.process);
        let commit = Commit { symmetries, seconds, process, waits: Some(&waits), holders: &[] };
        failpoint::point("committing");
        let Committed { layer, retired } = commit_layer(self.run, self.disk, &reports, commit)?;
        failpoint::point("committed");
        match retired {
            Some(retired) if self.run.journal.is_held() => self.retired.push(retired),
            Some(retired) => self.store.remove(retired)?,
            None => {}
        }
        self.release_when_grown()?;
        self.observer.layer_committed(&layer);
        Ok(Some(layer))
    }

    /// Looks whether the disk will hold a layer before it is begun. Where that is no more than a guess it
    /// warns alone: if the disk runs full, the run can be resumed. `left` states are not visited yet.
    fn require_room(&self, depth: Depth, left: u64) -> Result<()> {
        let layers = self.run.journal.layers().context("cannot read run.db")?;
        let cosets = u64::from(self.job.graph.len());
        let Need { bytes, certain } = Need::after(&layers, left, cosets, self.job.geometry.packed_bytes);
        let shards = u64::from(self.job.geometry.cut.shards());
        let missing = shards - self.store.finished_files(depth)?.min(shards);
        let share =
            |bytes: u64, part: u64| (u128::from(bytes) * u128::from(part) / u128::from(shards)) as u64;
        let needed = match (self.run.manifest.keep, &layers[..]) {
            // What is given back makes room, except for the shards that are being made.
            (Keep::Two, [.., older, _]) => {
                let at_once = missing.min(self.options.threads as u64 + 1);
                share(bytes, missing).saturating_sub(share(older.bytes, missing)).max(share(bytes, at_once))
            }
            _ => share(bytes, missing),
        };
        let free = self
            .disk
            .free_bytes(&self.run.path)
            .with_context(|| format!("cannot ask for free space at {}", self.run.path.display()))?;
        if needed <= free {
            return Ok(());
        }
        let path = self.run.path.display();
        let (limit, way_out) = match self.disk.limit_bytes() {
            Some(limit) => {
                (format!(" within --disk-limit {}", HumanBytes(limit)), "make room or raise --disk-limit")
            }
            None => (String::new(), "make room"),
        };
        let message = format!(
            "depth {depth} will need about {} of disk, and {} are free at {path}{limit}, {} bytes too few",
            HumanBytes(needed),
            HumanBytes(free),
            HumanCount(needed - free)
        );
        match certain {
            true => Err(anyhow!("{message}; {way_out}, then go on with 'fathom resume {path}'")),
            false => {
                warn!("{message}; this is a guess, and the run goes on");
                Ok(())
            }
        }
    }

    /// Has every task of a layer done, and returns the reports in order of shards; `None` if stopped.
    fn do_tasks(&mut self, depth: Depth) -> Result<Option<Vec<ShardReport>>> {
        self.store.remove_unfinished(depth)?;
        self.store.prepare(depth)?;
        let mut before = Vec::new();
        let older = depth.previous().and_then(Depth::previous);
        let older = older.filter(|_| self.run.manifest.keep == Keep::Two);
        for below in self.job.lookback.below(depth).filter(|&below| Some(below) != older) {
            if let Some(layer) = self.archived.get(&below) {
                before.push(Arc::clone(layer));
                continue;
            }
            let layer = self.store.open(&self.job.geometry, below);
            let layer = layer.map_err(|error| self.explain(depth, error))?;
            let digests = self.run.digests(below)?;
            layer.check_digests(&digests).map_err(|error| self.explain(depth, error))?;
            let layer = Arc::new(self.job.windowed(layer, before.is_empty()));
            if is_passed(below, depth.previous()) {
                self.archived.insert(below, Arc::clone(&layer));
            }
            before.push(layer);
        }
        let cut = self.job.geometry.cut;
        let mut reports: Vec<Option<ShardReport>> = vec![None; cut.shards() as usize];
        let (mut older, sources) = older.map(|older| self.open_older(depth, older)).transpose()?.unzip();
        let mut sources = sources.into_iter().flatten();
        let mut tasks = cut.ids().map(|shard| {
            let before = before.iter().cloned().chain(sources.next()).collect();
            (Task { depth, shard }, before)
        });
        self.counters.begin();
        // Threads must not be ahead of what is given back by more shards than there is room for.
        let ahead = if older.is_some() { self.options.threads + 1 } else { cut.shards() as usize };
        let mut running = 0;
        for (task, before) in tasks.by_ref().take(ahead) {
            self.pool.submit(task, before);
            running += 1;
        }
        self.observer.layer_begins(depth, cut.cosets().into(), cut.shards());
        let mut failure: Option<TaskError> = None;
        while running > 0 {
            if self.stop.requested.load(Ordering::Relaxed) {
                self.halt.store(true, Ordering::Relaxed);
            }
            let ended = self.pool.next(TICK)?;
            let has_ended = ended.is_some();
            if let Some(ended) = ended {
                running -= 1;
                let shard = ended.task.shard;
                match ended.result {
                    Ok(report) => {
                        let seconds = ended.took.as_secs_f64();
                        debug!(
                            depth = depth.0,
                            shard = shard.0,
                            states = report.totals.states,
                            bytes = report.bytes,
                            seconds,
                            "task done"
                        );
                        self.observer.shard_made(&report, ended.took);
                        if let Some(older) = &mut older {
                            older.note_made(&report);
                        }
                        reports[shard.0 as usize] = Some(report);
                    }
                    Err(error) => {
                        debug!(
                            depth = depth.0,
                            shard = shard.0,
                            error = &error as &dyn std::error::Error,
                            "task ended early"
                        );
                        self.halt.store(true, Ordering::Relaxed);
                        if !matches!(error, TaskError::Stopped) {
                            failure.get_or_insert(error);
                        }
                    }
                }
            }
            self.observer.progress(self.progress());
            if failure.is_none() {
                self.release_when_grown()?;
                if let Some(older) = &mut older {
                    let given = older.give_back(&mut self.run.journal, self.store);
                    given.inspect_err(|_| self.halt.store(true, Ordering::Relaxed))?;
                }
            }
            if has_ended
                && !self.halt.load(Ordering::Relaxed)
                && let Some((task, before)) = tasks.next()
            {
                self.pool.submit(task, before);
                running += 1;
            }
        }
        self.observer.layer_ends(self.progress());
        match failure {
            Some(error) => Err(self.explain_task(depth, error)),
            // With no failure, tasks without report were stopped.
            None => Ok(reports.into_iter().collect()),
        }
    }

    /// Opens the older layer of two, shard by shard, for the tasks of the layer at `depth`.
    fn open_older(&self, depth: Depth, older: Depth) -> Result<(Older, Vec<Arc<Layer>>)> {
        let reports = self.run.journal.reports().context("cannot read run.db")?;
        let reports = reports.iter().filter(|report| report.task.depth == depth);
        let made = reports.map(|report| (report.task.shard, ShardRow::of(report).digest)).collect();
        let digests = self.run.digests(older)?;
        Older::open(self.store, &self.job.geometry, older, &digests, &made)
            .map_err(|error| self.explain_task(depth, error))
    }

    fn progress(&self) -> Progress {
        let Counters { cosets, states, .. } = self.counters;
        Progress { cosets: cosets.load(Ordering::Relaxed), states: states.load(Ordering::Relaxed) }
    }

    /// What the failure of a task means, and what to do.
    fn explain_task(&self, depth: Depth, error: TaskError) -> anyhow::Error {
        match error {
            TaskError::Layer(error) => self.explain(depth, error),
            TaskError::GivenBack { .. } => {
                let path = self.run.path.display();
                anyhow::Error::new(error).context(format!(
                    "depth {depth} could not be made, and the run keeps no layer from which it could be made again: put the file back from a copy, or remove {path} and begin again"
                ))
            }
            error => anyhow::Error::new(error).context(format!("depth {depth} could not be made")),
        }
    }

    /// What a failure of the disk means for the layer that was to be made, and what to do.
    fn explain(&self, depth: Depth, error: LayerError) -> anyhow::Error {
        let path = self.run.path.display();
        let advice = if error.is_quota() {
            format!(
                "the quota of this user is used up at depth {depth}: remove files that count for it, or ask for more, then go on with 'fathom resume {path}'"
            )
        } else if error.is_disk_full() && self.disk.limit_bytes().is_some() {
            format!(
                "there is no more room at depth {depth}; make room or raise --disk-limit, then go on with 'fathom resume {path}'"
            )
        } else if error.is_disk_full() {
            format!("the disk is full at depth {depth}; make room, then go on with 'fathom resume {path}'")
        } else if error.is_damage() || error.is_missing() {
            format!(
                "depth {depth} could not be made, for the layers before it are not what was written; put the file back from a copy, or remove {path} and begin again"
            )
        } else {
            format!("depth {depth} could not be made")
        };
        anyhow::Error::new(error).context(advice)
    }

    /// Compresses the layers that are read no longer, or for what was visited alone, when `newest` is
    /// committed, if they are kept.
    fn archive(&mut self, newest: Option<Depth>) -> Result<()> {
        if self.run.journal.is_held() {
            return Ok(());
        }
        let layers = self.run.journal.layers().context("cannot read run.db")?;
        for layer in layers.iter().filter(|layer| is_behind(layer, newest)) {
            let bytes = self.store.archive(&self.job.geometry, layer.depth)?;
            self.run.journal.set_files(layer.depth, Files::Archived).context("cannot write run.db")?;
            debug!(depth = layer.depth.0, bytes, "layer archived");
        }
        Ok(())
    }
}

/// Whether a layer is as the search wrote it, though the search reads it no longer.
fn is_behind(layer: &LayerRow, newest: Option<Depth>) -> bool {
    layer.files == Files::Live && is_passed(layer.depth, newest)
}

/// Whether a layer at a depth is read no longer, or for what was visited alone, when `newest` is there.
fn is_passed(depth: Depth, newest: Option<Depth>) -> bool {
    newest.is_some_and(|newest| depth.0 + 1 < newest.0)
}

/// Whether nothing is left to do: every state is visited, and the files are those that should be kept.
///
/// # Errors
/// If the journal or the directory cannot be read, or the journal contradicts itself.
pub fn is_settled(run: &RunDirectory, disk: &dyn Disk) -> Result<bool> {
    let Visited { layers, visited, all } = run.visited()?;
    if visited == all && run.store_path()?.is_none() {
        // Workers see to their files.
        return Ok(true);
    }
    let newest = layers.last().map(|layer| layer.depth);
    let behind = layers.iter().any(|layer| is_behind(layer, newest));
    Ok(visited == all && !behind && leftovers(&Store::new(&store_path(run)?, disk), &layers)?.is_empty())
}

/// The store that this process is to read and write.
fn store_path(run: &RunDirectory) -> Result<PathBuf> {
    run.store_path()?.ok_or_else(|| {
        bad_input!(
            "the layers of the run in {path} lie with its workers: go on with 'fathom serve' and these workers, or with 'fathom run --workers' if that is how it began",
            path = run.path.display()
        )
    })
}

/// What interruptions have left behind of a run with these layers. A current layer is no leftover.
///
/// # Errors
/// If the directory cannot be listed.
pub fn leftovers(store: &Store<'_>, layers: &[LayerRow]) -> Result<Leftovers> {
    let removed = |depth: Depth| layers.get(depth.0 as usize).is_some_and(|l| l.files == Files::Removed);
    // What is left of the older of two layers is read for the layer that is made now.
    let is_read = |depth: Depth| depth.0 as usize + 2 >= layers.len();
    Ok(store.leftovers(|depth| is_read(depth) || !removed(depth))?)
}
