//! The search: layer after layer, each cut into tasks, merged and committed before the next begins.

use crate::definition::Keep;
use crate::directory::RunDirectory;
use crate::journal::{Files, LayerRow, ShardRow};
use crate::log::Verbosity;
use crate::progress::Progress;
use anyhow::{Context, Result, anyhow};
use fathom_kernel::reference::Distances;
use fathom_layer::{Disk, LayerDigest};
use fathom_proto::{Depth, ShardReport, Task};
use fathom_space::counting::Fixed;
use fathom_worker::{Counters, Job, Method, Pool, Store, TaskError};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::{debug, info, info_span};

/// How often progress is shown and signals are noticed.
const TICK: Duration = Duration::from_millis(100);

/// Which engine finds the layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Kernel {
    /// The plain breadth-first search in memory, which checks all others.
    Reference,
    /// Cosets, in plain code.
    #[default]
    Portable,
}

impl std::str::FromStr for Kernel {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "reference" => Ok(Self::Reference),
            "portable" => Ok(Self::Portable),
            _ => Err(format!("kernels are 'reference' and 'portable', not {text:?}")),
        }
    }
}

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Kernel threads.
    pub threads: usize,
    /// The engine.
    pub kernel: Kernel,
    /// The last depth to make; `None` for all.
    pub max_depth: Option<u32>,
    /// How much is said.
    pub verbosity: Verbosity,
    /// Bytes of memory that the reference engine may take.
    pub memory_bytes: u64,
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

/// Goes on with a run from wherever it is, until it is complete or `stop` is set.
///
/// # Errors
/// If a file cannot be read or written, data are damaged, or counts contradict each other. What was committed before
/// stays.
pub fn search(run: &mut RunDirectory, disk: &dyn Disk, options: Options, stop: &AtomicBool) -> Result<End> {
    let _span = info_span!("run", id = %&run.definition.fingerprint.to_string()[..16]).entered();
    let begun = Instant::now();
    let (graph, cut) = run.build()?;
    let method = match options.kernel {
        Kernel::Portable => Method::Portable,
        Kernel::Reference => Method::Reference(
            Distances::search(graph.space(), options.max_depth, options.memory_bytes)
                .map_err(|error| crate::bad_input!("{error}"))?,
        ),
    };
    let fixed = Fixed::new(&graph);
    let job = Job { graph, fixed, cut, fingerprint: run.definition.fingerprint.0, method };
    info!(cosets = job.graph.len(), shards = cut.shards(), seconds = begun.elapsed().as_secs_f64(), "ready");
    let store = Store::new(&run.path, disk);
    let counters = Counters::default();
    // Also set when a task fails, so that the others end early.
    let halt = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let pool = Pool::start(scope, options.threads, &job, &store, &counters, &halt)
            .context("cannot start kernel threads")?;
        Search { run, job: &job, store: &store, pool: &pool, counters: &counters, halt: &halt, stop, options }
            .go_on()
    })
}

struct Search<'a> {
    run: &'a mut RunDirectory,
    job: &'a Job,
    store: &'a Store<'a>,
    pool: &'a Pool,
    counters: &'a Counters,
    halt: &'a AtomicBool,
    stop: &'a AtomicBool,
    options: Options,
}

impl Search<'_> {
    fn go_on(&mut self) -> Result<End> {
        let all = u64::try_from(self.job.graph.space().states())
            .expect("spaces with tables have fewer than 2^64 states");
        let layers = self.run.journal.layers().context("cannot read run.db")?;
        let mut visited: u64 = layers.iter().map(|layer| layer.states).sum();
        let mut newest = layers.last().map(|layer| layer.depth);
        if let Some(newest) = newest {
            self.retire(newest)?;
        }
        while visited < all {
            let depth = newest.map_or(Depth(0), Depth::next);
            if self.options.max_depth.is_some_and(|max| depth.0 > max) {
                return Ok(End::MaxDepth);
            }
            let Some(layer) = self.make(depth)? else {
                return Ok(End::Stopped);
            };
            visited += layer.states;
            if layer.states == 0 || visited > all {
                return Err(anyhow!(
                    "the counts do not add up: {visited} states up to depth {depth}, and nothing beyond, but the space has {all}; the run is wrong, and must not be used"
                ));
            }
            newest = Some(depth);
            self.retire(depth)?;
        }
        Ok(End::Complete)
    }

    /// Makes one layer and commits it; `None` if stopped.
    fn make(&mut self, depth: Depth) -> Result<Option<LayerRow>> {
        let _span = info_span!("layer", depth = depth.0).entered();
        let begun = Instant::now();
        let Some(reports) = self.do_tasks(depth)? else {
            return Ok(None);
        };
        let layer = self.merge(depth, &reports, begun)?;
        let shards: Vec<ShardRow> = reports.iter().map(ShardRow::of).collect();
        self.run.journal.commit(&layer, &shards).context("cannot write run.db")?;
        info!(
            states = layer.states,
            classes = layer.classes,
            bytes = layer.bytes,
            seconds = layer.seconds,
            digest = %layer.digest,
            "layer done"
        );
        Ok(Some(layer))
    }

    /// Has every task of a layer done, and returns the reports in order of shards; `None` if stopped.
    fn do_tasks(&self, depth: Depth) -> Result<Option<Vec<ShardReport>>> {
        self.store.prepare(depth)?;
        let mut before = Vec::new();
        let mut older = depth.previous();
        while let Some(depth) = older.filter(|_| before.len() < 2) {
            before.push(Arc::new(self.store.open(self.job, depth)?));
            older = depth.previous();
        }
        let cut = self.job.cut;
        let mut reports: Vec<Option<ShardReport>> = vec![None; cut.shards() as usize];
        let mut running = 0;
        self.counters.begin(0, 0);
        for shard in cut.ids() {
            let task = Task { depth, shard };
            // A task that an interrupted run finished is not done again.
            if let Some(report) = self.store.finished(self.job, task)? {
                let cosets = cut.range(shard);
                self.counters.cosets.fetch_add((cosets.end - cosets.start).into(), Ordering::Relaxed);
                self.counters.states.fetch_add(report.states, Ordering::Relaxed);
                debug!(shard = shard.0, states = report.states, bytes = report.bytes, "task found done");
                reports[shard.0 as usize] = Some(report);
            } else {
                self.pool.submit(task, before.clone());
                running += 1;
            }
        }
        let progress = Progress::begin(self.options.verbosity, depth, cut.cosets().into());
        let mut failure: Option<TaskError> = None;
        while running > 0 {
            if self.stop.load(Ordering::Relaxed) {
                self.halt.store(true, Ordering::Relaxed);
            }
            if let Some(ended) = self.pool.next(TICK) {
                running -= 1;
                let shard = ended.task.shard;
                match ended.result {
                    Ok(report) => {
                        let seconds = ended.took.as_secs_f64();
                        debug!(
                            shard = shard.0,
                            states = report.states,
                            bytes = report.bytes,
                            seconds,
                            "task done"
                        );
                        reports[shard.0 as usize] = Some(report);
                    }
                    Err(error) => {
                        debug!(shard = shard.0, %error, "task ended early");
                        self.halt.store(true, Ordering::Relaxed);
                        if !matches!(error, TaskError::Stopped) {
                            failure.get_or_insert(error);
                        }
                    }
                }
            }
            progress.show(self.counters);
        }
        progress.end(self.counters);
        match failure {
            Some(TaskError::Layer(error)) if error.is_disk_full() => {
                let path = self.run.path.display();
                Err(anyhow::Error::new(error).context(format!(
                    "the disk is full at depth {depth}; make room, then go on with 'fathom resume {path}'"
                )))
            }
            Some(error) => Err(error).with_context(|| format!("depth {depth} could not be made")),
            // With no failure, tasks without report were stopped.
            None => Ok(reports.into_iter().collect()),
        }
    }

    /// Adds up the reports of a layer, and checks that they can be true.
    fn merge(&self, depth: Depth, reports: &[ShardReport], begun: Instant) -> Result<LayerRow> {
        let mut digest = LayerDigest::new(depth.0);
        for report in reports {
            digest.add(&report.checksums);
        }
        let symmetries = self.job.graph.space().symmetries().len() as u64;
        let pairs: Option<u64> = reports.iter().map(|report| report.pairs).sum();
        if let Some(pairs) = pairs.filter(|pairs| !pairs.is_multiple_of(symmetries)) {
            return Err(anyhow!(
                "the counts of depth {depth} contradict each other: {pairs} fixed states are no multiple of {symmetries} symmetries"
            ));
        }
        Ok(LayerRow {
            depth,
            states: reports.iter().map(|report| report.states).sum(),
            classes: pairs.map(|pairs| pairs / symmetries),
            stored: reports.iter().map(|report| report.stored).sum(),
            bytes: reports.iter().map(|report| report.bytes).sum(),
            seconds: begun.elapsed().as_secs_f64(),
            digest: digest.finish(),
            files: Files::Live,
        })
    }

    /// Deletes or compresses the layers that are no longer read when `newest` is committed.
    fn retire(&mut self, newest: Depth) -> Result<()> {
        let layers = self.run.journal.layers().context("cannot read run.db")?;
        for layer in layers.iter().filter(|l| l.files == Files::Live && l.depth.0 + 1 < newest.0) {
            match self.run.definition.keep {
                // First noted, then done: a layer that is noted as removed but still there does no harm.
                Keep::Last => {
                    self.run.journal.set_files(layer.depth, Files::Removed).context("cannot write run.db")?;
                    self.store.remove(self.job, layer.depth)?;
                }
                Keep::All => {
                    let bytes = self.store.archive(self.job, layer.depth)?;
                    self.run
                        .journal
                        .set_files(layer.depth, Files::Archived)
                        .context("cannot write run.db")?;
                    debug!(depth = layer.depth.0, bytes, "layer archived");
                }
            }
        }
        Ok(())
    }
}
