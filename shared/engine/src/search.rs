//! The search on one machine: each layer is cut into tasks, computed, and added to the journal before the
//! next layer begins.
//!
//! Results become durable at a checkpoint, about once a second and at the end of the search: first the
//! files that were written since the last checkpoint, then in one transaction the rows that name them. A
//! crash takes the search back to the last checkpoint. So the two newest layers in a checkpoint stay until
//! the next one. Older layers are removed, and so are layers between two checkpoints that the search no
//! longer reads: nothing durable depends on either.

use crate::audit::spot_checks::SpotChecks;
use crate::commit::{Added, Commit, add_layer, checkpoint};
use crate::directory::{RunDirectory, Visited};
use crate::journal::{Files, LayerRow, ProcessRow, ShardRow};
use crate::layers_root::root_of_layers;
use crate::list_search;
use crate::observer::{Observer, Progress};
use crate::older_layer::Older;
use crate::options::TICK;
pub use crate::options::{End, Options, Stop};
use crate::removers::Removers;
use crate::run::{Depth, Geometry, Keep, Lookback, ShardReport, Task};
use crate::task::{Counters, Job, Layer, Leftovers, Pool, Resources, Store, TaskError, Watched, store};
use anyhow::{Context, Result};
use fathom_command::{failpoint, machine};
use fathom_layer::{Deferred, Disk, LayerError, many_descriptors};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tracing::{debug, info, info_span};

mod explain;
mod free_space;
mod spot_checks;

/// Continues a run from its last committed layer, until the run is complete, `max_depth` is reached, or
/// `stop` is set. `observer` is notified of each step.
///
/// # Errors
/// If a file cannot be read or written, data are damaged, or counts contradict each other. Layers that were
/// committed before stay committed.
pub fn search(
    run: &mut RunDirectory,
    disk: &dyn Disk,
    options: Options,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<End> {
    let _span = info_span!("run", id = %&run.manifest.fingerprint.to_string()[..16]).entered();
    if let Some(space) = run.space.listed().cloned() {
        return list_search::search(run, &space, disk, options, stop, observer);
    }
    let begun = Instant::now();
    let store_path = run.claim_layers(disk)?;
    let resources = Resources {
        kernel: options.kernel,
        threads: options.threads,
        memory_bytes: options.memory_bytes,
        max_depth: options.max_depth,
    };
    let graph = run.graph.take();
    let colouring = match &graph {
        Some(graph) => graph.colouring().clone(),
        None => run.manifest.plan.cosets()?.colouring(run.space.cosets()?)?,
    };
    let space = run.space.cosets()?;
    run.manifest.plan.cosets()?.check(space, &colouring)?;
    observer.tables_begin();
    let job = Job::new(&run.manifest, (space, &colouring), graph, &run.path, resources, disk);
    let job = job.and_then(|mut job| job.order_shards().map(|()| job));
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
    let durable = run.visited()?.layers.last().map(|layer| layer.depth);
    let deferred = Deferred::new(disk, many_descriptors());
    let store = Store::at(&store_path, &deferred)?;
    let lasting = Store::at(&store_path, disk)?;
    discard_doubtful(run, &store, &job.geometry)?;
    let counters = Counters::default();
    stop.at_once.store(false, Ordering::Relaxed);
    // `halt` is also set when a task fails, so that the other tasks end early.
    let halt = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // More threads than shards would take turns, and each would build its own tables.
        let useful = if job.shares_tasks { options.threads } else { cut.shards() as usize };
        let pool = Pool::start(scope, options.threads.min(useful), &job, &store, &counters, &halt)
            .context("cannot start kernel threads")?;
        let removers = Removers::start(scope, options.threads, &store);
        Search {
            run,
            disk: &deferred,
            job: &job,
            store: &store,
            lasting: &lasting,
            pool,
            removers,
            counters: &counters,
            halt: &halt,
            stop,
            observer,
            options,
            archived: BTreeMap::new(),
            opened: None,
            newest: durable,
            durable,
            retired: Vec::new(),
            is_apart: false,
            spot_checks: None,
            must_check: durable.is_some(),
            begun,
            checkpoint_at: begun,
            process,
        }
        .go_on()
    })
}

struct Search<'a> {
    run: &'a mut RunDirectory,
    disk: &'a Deferred<'a>,
    job: &'a Job,
    /// The layers, on the disk wrapper whose syncs wait for a checkpoint.
    store: &'a Store<'a>,
    /// The same layers, on the disk itself, for files that replace durable ones.
    lasting: &'a Store<'a>,
    pool: Pool<'a>,
    removers: Removers<'a>,
    counters: &'a Counters,
    halt: &'a AtomicBool,
    stop: &'a Stop,
    observer: &'a dyn Observer,
    options: Options,
    /// The layers before the two newest that the search still reads, to subtract what was visited. Their
    /// files do not change any more, so the layers stay open: opening one again would check its data again.
    archived: BTreeMap<Depth, Arc<Layer>>,
    /// The layer that the search pulled from when it computed the last one, if its files stay open: the next
    /// one is computed from it as well.
    opened: Option<(Depth, Arc<Layer>)>,
    /// The newest layer that was computed.
    newest: Option<Depth>,
    /// The newest layer in the last checkpoint.
    durable: Option<Depth>,
    /// Layers that are marked as removed, and whose files are still to be deleted.
    retired: Vec<Depth>,
    /// Whether the file systems were asked to place the layers apart.
    is_apart: bool,
    /// The spot checks, once there was time for one.
    spot_checks: Option<SpotChecks>,
    /// Whether the next layer is always checked, because an earlier process may have ended while it checked
    /// that layer.
    must_check: bool,
    /// When this search began.
    begun: Instant,
    /// When the last checkpoint ended, or this search began.
    checkpoint_at: Instant,
    process: ProcessRow,
}

impl Search<'_> {
    fn go_on(&mut self) -> Result<End> {
        let end = self.make_layers();
        // After a failure as well, so that the layers before it are kept.
        let ended = self.checkpoint(None).and_then(|()| self.remove_retired());
        let end = end?;
        ended?;
        self.archive()?;
        Ok(end)
    }

    fn make_layers(&mut self) -> Result<End> {
        let Visited { layers, mut visited, .. } = self.run.visited()?;
        let all = self.run.all_states()?;
        self.store.require_run(self.run.manifest.fingerprint)?;
        self.store.sweep(&leftovers(self.store, &layers)?)?;
        self.archive()?;
        while visited < all {
            let depth = self.newest.map_or(Depth(0), Depth::next);
            if self.options.max_depth.is_some_and(|max| depth.0 > max) {
                return Ok(End::MaxDepth);
            }
            let Some(layer) = self.make(depth, all - visited)? else {
                return Ok(End::Stopped);
            };
            visited += layer.states;
            self.archive()?;
        }
        Ok(End::Complete)
    }

    /// Computes one layer and adds it to the journal. Returns `None` if the search was stopped. `left` is the
    /// number of states that are not visited yet.
    fn make(&mut self, depth: Depth, left: u64) -> Result<Option<LayerRow>> {
        let begun = Instant::now();
        self.require_room(depth, left)?;
        let Some(reports) = self.make_files(depth)? else {
            return Ok(None);
        };
        self.check_spots(depth, &reports, left)?;
        self.process.seconds = self.begun.elapsed().as_secs_f64();
        self.process.peak_anonymous_bytes = self.process.peak_anonymous_bytes.max(machine::anonymous_bytes());
        let symmetries = self.job.graph.space().symmetries().len() as u64;
        let seconds = begun.elapsed().as_secs_f64();
        let waits = self.counters.spent.waits(self.options.threads, begun.elapsed());
        let process = Some(&self.process);
        let commit = Commit { symmetries, seconds, process, waits: Some(&waits) };
        let Added { layer, retired } = add_layer(self.run, &reports, commit)?;
        self.newest = Some(depth);
        // Kernel threads need not wait for the removal.
        self.retired.extend(retired);
        self.checkpoint_if_due()?;
        self.observer.layer_committed(&layer);
        Ok(Some(layer))
    }

    fn checkpoint_if_due(&mut self) -> Result<()> {
        if self.checkpoint_at.elapsed() < self.options.checkpoint_every {
            return Ok(());
        }
        // For a search that ends before its first checkpoint is due, this does not pay off.
        if !self.is_apart {
            self.store.lay_apart();
            self.is_apart = true;
        }
        self.checkpoint(None)
    }

    /// Syncs everything that was written since the last checkpoint, and then commits the layers that were
    /// added and the shards `made`, whose sources may then be deleted.
    fn checkpoint(&mut self, made: Option<(&[ShardReport], Depth)>) -> Result<()> {
        // Deleted files need no sync.
        self.remove_retired()?;
        self.disk.flush().map_err(|error| self.explain_sync(error))?;
        if made.is_some() || self.run.journal.has_added() {
            failpoint::point("committing");
            checkpoint(self.run, self.lasting.disk(), made)?;
            failpoint::point("committed");
        }
        self.durable = self.newest;
        self.checkpoint_at = Instant::now();
        Ok(())
    }

    /// Removes the files of layers that nothing reads any more. If a crash takes the search back to the last
    /// checkpoint, it reads the two newest layers of that checkpoint.
    fn remove_retired(&mut self) -> Result<()> {
        let durable = self.durable;
        let is_kept = |depth: Depth| durable.is_some_and(|newest| (depth..=depth.next()).contains(&newest));
        let removed: Vec<Depth> = self.retired.extract_if(.., |depth| !is_kept(*depth)).collect();
        removed.into_iter().try_for_each(|depth| {
            self.remove_files(depth).map_err(|error| self.explain_deletion(depth, error))
        })
    }

    fn remove_files(&mut self, depth: Depth) -> Result<(), LayerError> {
        let files = self.store.shards(depth)?.into_iter().map(|shard| Task { depth, shard });
        // Files behind a symbolic link stay, and `Store::remove` logs that.
        for file in files.filter(|file| !self.store.directory_of(file.depth).is_symlink()) {
            self.removers.remove(file)?;
        }
        self.removers.finish()?;
        self.store.remove(depth)
    }

    /// Computes the files of a layer. Returns the reports in order of shards, or `None` if the search was
    /// stopped. If another program writes in the meantime to a file from which the layer is computed, no file
    /// of the layer counts: a coset that is read several times is compared with its checksum only once.
    fn make_files(&mut self, depth: Depth) -> Result<Option<Vec<ShardReport>>> {
        let prepared = self.store.remove_unfinished(depth).and_then(|()| self.store.prepare(depth));
        prepared.map_err(|error| self.explain(depth, error))?;
        let mut before = Vec::new();
        let older = self.older(depth);
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
        let ended = self.do_tasks(depth, &before);
        if let Err(changed) = before.iter().try_for_each(|layer| layer.check_unchanged()) {
            self.discard_made(depth)?;
            return Err(self.explain(depth, changed));
        }
        // A layer with a window does not stay in memory.
        self.opened = match (self.job.lookback, depth.previous(), before.pop()) {
            (Lookback::Two, Some(newest), Some(layer)) if !layer.is_windowed() => Some((newest, layer)),
            _ => None,
        };
        ended
    }

    /// Deletes the files of a layer that is not committed, except for those that cannot be computed again.
    fn discard_made(&self, depth: Depth) -> Result<()> {
        let given_back =
            self.run.journal.given_back(&self.run.visited()?.layers).context("cannot read run.db")?;
        let mut shards = self.job.geometry.cut.ids().filter(|shard| !given_back.contains_key(shard));
        let discarded = shards.try_for_each(|shard| self.store.discard(Task { depth, shard }));
        discarded.map_err(|error| self.explain_deletion(depth, error))
    }

    /// Runs all tasks of a layer, which read the layers `before` and the older one of two. Returns the
    /// reports in order of shards, or `None` if the search was stopped.
    fn do_tasks(&mut self, depth: Depth, before: &[Arc<Layer>]) -> Result<Option<Vec<ShardReport>>> {
        let cut = self.job.geometry.cut;
        let mut reports: Vec<Option<ShardReport>> = vec![None; cut.shards() as usize];
        let older = self.older(depth).zip(before.first());
        let older = older.map(|(older, newest)| self.open_older(depth, newest, older));
        let (older, sources) = older.transpose()?.unzip();
        let mut older = older.filter(|_| self.run.manifest.keep == Keep::Two);
        // A source stays open no longer than the task that reads it.
        let mut sources: Vec<Option<Arc<Layer>>> = sources.into_iter().flatten().map(Some).collect();
        let order = Arc::clone(&self.job.order);
        let mut tasks = order.shards().iter().map(|&shard| {
            let source = sources.get_mut(shard.0 as usize).and_then(Option::take);
            (Task { depth, shard }, before.iter().cloned().chain(source).collect())
        });
        self.counters.begin();
        // If the run keeps two layers, new shards whose sources are not released yet must fit on the disk,
        // so only a few tasks are submitted ahead.
        let ahead = match &older {
            Some(_) => Older::tasks_at_once(self.options.threads),
            None => cut.shards() as usize,
        };
        let mut running = 0;
        for (task, before) in tasks.by_ref().take(ahead) {
            self.pool.submit(task, before);
            running += 1;
        }
        self.observer.layer_begins(depth, cut.cosets().into(), cut.shards());
        // The kernel threads have work by now.
        let mut beside = self.remove_retired().inspect_err(|_| self.halt.store(true, Ordering::Relaxed));
        let mut failure: Option<TaskError> = None;
        while running > 0 {
            if self.stop.requested.load(Ordering::Relaxed) {
                self.halt.store(true, Ordering::Relaxed);
            }
            // Tasks that end while the journal is written are journalled together.
            for ended in self.pool.ended(TICK)? {
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
            if failure.is_none() && beside.is_ok() {
                beside = self.tidy(older.as_mut());
                // The other tasks end first, so that nothing is written any more when this returns.
                if beside.is_err() {
                    self.halt.store(true, Ordering::Relaxed);
                }
            }
            while running < ahead
                && !self.halt.load(Ordering::Relaxed)
                && let Some((task, before)) = tasks.next()
            {
                self.pool.submit(task, before);
                running += 1;
            }
        }
        let deleted = self.removers.finish();
        self.observer.layer_ends(self.progress());
        match failure {
            Some(error) => Err(self.explain_task(depth, error)),
            // If no task failed, a task without a report was stopped.
            None => {
                beside?;
                deleted.map_err(|error| self.explain_deletion(depth, error))?;
                Ok(reports.into_iter().collect())
            }
        }
    }

    /// Makes a checkpoint and deletes files that are no longer read, if it is time, while kernel threads
    /// work.
    fn tidy(&mut self, older: Option<&mut Older>) -> Result<()> {
        if let Some(older) = older {
            let made = older.due().map_err(|error| self.explain_deletion(older.depth(), error))?;
            if !made.is_empty() {
                self.checkpoint(Some((&made, older.depth())))?;
                let given_back = older.give_back(&made, &mut self.removers);
                given_back.map_err(|error| self.explain_deletion(older.depth(), error))?;
            }
        }
        self.checkpoint_if_due()?;
        self.remove_retired()
    }

    /// Returns the older of the two layers from which the layer at `depth` is computed, if there are two.
    fn older(&self, depth: Depth) -> Option<Depth> {
        depth.previous().and_then(Depth::previous).filter(|_| self.job.lookback == Lookback::Two)
    }

    /// Opens the older of the two layers, shard by shard, for the tasks of the layer at `depth`. No other
    /// file of that layer stays open.
    fn open_older(
        &mut self,
        depth: Depth,
        newest: &Arc<Layer>,
        older: Depth,
    ) -> Result<(Older, Vec<Arc<Layer>>)> {
        // If a layer has a window, no other layer stays in memory.
        let opened = self.opened.take().filter(|(opened, _)| *opened == older && !newest.is_windowed());
        let opened = opened.map(|(_, layer)| layer);
        let reports = self.run.journal.reports().context("cannot read run.db")?;
        let gives_back = self.run.manifest.keep == Keep::Two;
        let reports = reports.iter().filter(|report| gives_back && report.task.depth == depth);
        let made = reports.map(|report| (report.task.shard, ShardRow::new(report).digest)).collect();
        let digests = self.run.digests(older)?;
        Older::open(self.store, &self.job.geometry, newest, older, opened.as_deref(), &digests, &made)
            .map_err(|error| self.explain_task(depth, error))
    }

    fn progress(&self) -> Progress {
        let Counters { cosets, states, .. } = self.counters;
        Progress { cosets: cosets.load(Ordering::Relaxed), states: states.load(Ordering::Relaxed) }
    }

    /// Compresses the layers before the two newest that the last checkpoint has, if they are kept.
    fn archive(&mut self) -> Result<()> {
        let layers = self.run.journal.layers().context("cannot read run.db")?;
        for layer in layers.iter().filter(|layer| is_behind(layer, self.durable)) {
            let mut bytes = 0;
            for shard in self.job.geometry.cut.ids() {
                if self.stop.requested.load(Ordering::Relaxed) {
                    // The next process compresses the rest.
                    return Ok(());
                }
                bytes += self.lasting.archive_shard(&self.job.geometry, layer.depth, shard)?;
            }
            self.run.journal.set_files(layer.depth, Files::Archived).context("cannot write run.db")?;
            debug!(depth = layer.depth.0, bytes, "layer archived");
        }
        Ok(())
    }
}

/// Returns whether a layer is due for compression: it is older than the two newest, and its files are as the
/// search wrote them.
fn is_behind(layer: &LayerRow, newest: Option<Depth>) -> bool {
    layer.files == Files::Live && is_passed(layer.depth, newest)
}

/// Returns whether the layer at `depth` is before the two newest when `newest` is committed. The search reads
/// such a layer only to subtract visited states, if at all.
fn is_passed(depth: Depth, newest: Option<Depth>) -> bool {
    newest.is_some_and(|newest| depth.0 + 1 < newest.0)
}

/// Returns whether nothing remains to be done: every state is visited, kept layers are compressed, and there
/// is nothing to sweep.
///
/// # Errors
/// If the journal or the directory cannot be read, or the journal contradicts itself.
pub fn is_settled(run: &RunDirectory, disk: &dyn Disk) -> Result<bool> {
    let Visited { layers, is_complete, .. } = run.visited()?;
    if run.space.listed().is_some() {
        return Ok(is_complete);
    }
    // The workers compress and delete their own files. A shared store that no longer exists has nothing to
    // sweep.
    if is_complete && run.store_path()?.is_none_or(|store| !store.is_dir()) {
        return Ok(true);
    }
    let newest = layers.last().map(|layer| layer.depth);
    let behind = layers.iter().any(|layer| is_behind(layer, newest));
    Ok(is_complete
        && !behind
        && leftovers(&Store::at(&root_of_layers(&run.journal, &run.path)?, disk)?, &layers)?.is_empty())
}

/// Deletes the files of the current layer that a coordinator has left and that may be wrong: those that it
/// has invalidated, if they were not computed again since; those of shards with two different results; and
/// those that differ from their report. This process computes these shards itself.
fn discard_doubtful(run: &mut RunDirectory, store: &Store<'_>, geometry: &Geometry) -> Result<()> {
    let failed = "cannot read run.db";
    let reports = run.journal.reports().context(failed)?;
    let mut suspect = run.journal.suspect().context(failed)?;
    if reports.is_empty() && suspect.is_empty() {
        return Ok(());
    }
    store.require_run(run.manifest.fingerprint)?;
    let layers = run.visited()?.layers;
    let depth = Depth(layers.len() as u32);
    // A shard whose source was released cannot be computed again. The search compares its file with the
    // report.
    let given_back = run.journal.given_back(&layers).context(failed)?;
    let is_open = |task: &Task| task.depth == depth && !given_back.contains_key(&task.shard);
    let is_other = |report: &&ShardReport| {
        let file = store.open_shard(geometry, report.task.depth, report.task.shard);
        let file = file.and_then(|file| store::report(report.task, &file));
        file.is_ok_and(|file| report.difference(&file).is_some())
    };
    let open = reports.iter().filter(|report| is_open(&report.task));
    suspect.extend(open.filter(is_other).map(|report| report.task));
    suspect.retain(is_open);
    if suspect.is_empty() {
        return Ok(());
    }
    let suspect: Vec<Task> = suspect.into_iter().collect();
    run.journal.disown_doubted(&suspect).context("cannot write run.db")?;
    Ok(suspect.into_iter().try_for_each(|task| store.discard(task))?)
}

/// Returns the leftovers of interruptions in a run with these layers. The files of the current layer are not
/// leftovers.
///
/// # Errors
/// If the directory cannot be listed.
pub fn leftovers(store: &Store<'_>, layers: &[LayerRow]) -> Result<Leftovers> {
    let removed = |depth: Depth| layers.get(depth.0 as usize).is_some_and(|l| l.files == Files::Removed);
    // The current layer is computed from the shards that remain of the older of two layers, although the journal has
    // that layer as removed.
    let is_read = |depth: Depth| depth.0 as usize + 2 >= layers.len();
    Ok(store.leftovers(|depth| is_read(depth) || !removed(depth))?)
}
