//! The search by lists of states: depth by depth, with the same journal, checkpoints and events as the search by
//! cosets. A search that is interrupted repeats the depth that it was working on.

use crate::commit::{Added, Commit, add_layer, checkpoint};
use crate::directory::{RunDirectory, Visited};
use crate::journal::{Files, ProcessRow, ShardRow};
use crate::list_files::{list_path, made, report};
use crate::observer::{self, Observer};
use crate::options::{End, Options, Stop, TICK};
use crate::run::{Depth, ListedSpace, Lookback, ShardId, ShardReport};
use crate::task::Store;
use crate::task::error::file_limit;
use anyhow::{Context, Result, anyhow};
use fathom_command::{failpoint, machine, shell};
use fathom_layer::{Deferred, Disk, LayerError, many_descriptors};
use fathom_lists::list_space::words;
use fathom_lists::{Failed, Identity, Key, Layer, ListFile, ListSpace, Progress, next_layer, with_key};
use indicatif::HumanBytes;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use tracing::info;

/// Continues a run by lists, as [`search`](crate::search::search) does.
///
/// # Errors
/// As [`search`](crate::search::search).
pub(crate) fn search(
    run: &mut RunDirectory,
    space: &ListedSpace,
    disk: &dyn Disk,
    options: Options,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<End> {
    with_key!(words(&space.puzzle, &space.labels), search_with(run, space, disk, options, stop, observer))
}

fn search_with<K: Key>(
    run: &mut RunDirectory,
    space: &ListedSpace,
    disk: &dyn Disk,
    options: Options,
    stop: &Stop,
    observer: &dyn Observer,
) -> Result<End> {
    let begun = Instant::now();
    let store_path = run.claim_layers(disk)?;
    let space = ListSpace::<K>::new(&space.puzzle, &space.labels);
    let process = ProcessRow {
        begun: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()),
        version: env!("CARGO_PKG_VERSION").into(),
        processor: machine::processor(),
        threads: options.threads,
        kernel: "lists".into(),
        memory_bytes: options.memory_bytes,
        cache_bytes: 0,
        seconds: 0.0,
        peak_anonymous_bytes: machine::anonymous_bytes(),
    };
    info!(kernel = "lists", shards = run.manifest.shards, state_bytes = space.state_bytes(), "ready");
    let deferred = Deferred::new(disk, many_descriptors());
    let store = Store::at(&store_path, &deferred)?;
    stop.at_once.store(false, Ordering::Relaxed);
    let mut search = Search {
        run,
        space,
        disk: &deferred,
        lasting: disk,
        store,
        options,
        stop,
        observer,
        before: Vec::new(),
        retired: Vec::new(),
        begun,
        checkpoint_at: begun,
        process,
    };
    let end = search.layers();
    // After a failure as well, so that the layers before it are kept.
    let ended = search.checkpoint();
    let end = end?;
    ended?;
    if end == End::Complete {
        search.run.journal.set_complete().context("cannot write run.db")?;
    }
    Ok(end)
}

struct Search<'a, K> {
    run: &'a mut RunDirectory,
    space: ListSpace<K>,
    /// The disk wrapper whose syncs wait for a checkpoint, and the disk itself.
    disk: &'a Deferred<'a>,
    lasting: &'a dyn Disk,
    store: Store<'a>,
    options: Options,
    stop: &'a Stop,
    observer: &'a dyn Observer,
    /// The layers from which the next one is computed, the newest last.
    before: Vec<Vec<ListFile<K>>>,
    /// Layers that the search no longer reads. Their files are deleted after the next checkpoint.
    retired: Vec<Depth>,
    begun: Instant,
    checkpoint_at: Instant,
    process: ProcessRow,
}

impl<K: Key> Search<'_, K> {
    fn layers(&mut self) -> Result<End> {
        let Visited { layers, is_complete, .. } = self.run.visited()?;
        let next = Depth(layers.len() as u32);
        let removed = layers.iter().filter(|layer| layer.files == Files::Removed).map(|layer| layer.depth);
        removed.chain([next]).try_for_each(|depth| self.remove(depth))?;
        let lookback = self.run.space.lookback();
        if !is_complete {
            let mut below: Vec<Depth> = lookback.below(next).collect();
            below.reverse();
            self.before = below.into_iter().map(|depth| self.open(depth)).collect::<Result<_>>()?;
        }
        loop {
            let visited = self.run.visited()?;
            let depth = Depth(visited.layers.len() as u32);
            if is_complete || visited.all == Some(visited.visited) {
                return Ok(End::Complete);
            }
            if self.options.max_depth.is_some_and(|most| depth.0 > most) {
                return Ok(End::MaxDepth);
            }
            let begun = Instant::now();
            let Some(reports) = self.make(depth)? else {
                return Ok(End::Stopped);
            };
            if reports.iter().all(|report| report.totals.states == 0) {
                self.remove(depth)?;
                return self.last(&visited);
            }
            self.process.seconds = self.begun.elapsed().as_secs_f64();
            self.process.peak_anonymous_bytes =
                self.process.peak_anonymous_bytes.max(machine::anonymous_bytes());
            let seconds = begun.elapsed().as_secs_f64();
            let commit = Commit { symmetries: 1, seconds, process: Some(&self.process), waits: None };
            let Added { layer, retired } = add_layer(self.run, &reports, commit)?;
            let newest = self.open(depth)?;
            if lookback == Lookback::Two && self.before.len() == 2 {
                self.before.remove(0);
            }
            self.before.push(newest);
            self.retired.extend(retired);
            if self.checkpoint_at.elapsed() >= self.options.checkpoint_every {
                self.checkpoint()?;
            }
            self.observer.layer_committed(&layer);
        }
    }

    /// Ends the search, whose last layer has no successors that are new.
    fn last(&self, visited: &Visited) -> Result<End> {
        match visited.all {
            Some(all) if all != visited.visited => Err(anyhow!(
                "the counts do not add up: no more states are reached after {}, but the space has {all}. The run is wrong: do not use its results",
                visited.visited
            )),
            _ => Ok(End::Complete),
        }
    }

    /// Opens the files of a committed layer.
    fn open(&self, depth: Depth) -> Result<Vec<ListFile<K>>> {
        let digests = self.run.digests(depth)?;
        let open = |(shard, &expected)| {
            let file = self.open_file(depth, ShardId(shard))?;
            let got = ShardRow::new(&report(depth, ShardId(shard), &file)).digest;
            match got == expected {
                true => Ok(file),
                false => Err(LayerError::Replaced { path: file.path().into(), got, expected }),
            }
        };
        let files: Result<_, LayerError> = (0..).zip(&digests).map(open).collect();
        files.map_err(|error| self.explain(depth, error))
    }

    fn open_file(&self, depth: Depth, shard: ShardId) -> Result<ListFile<K>, LayerError> {
        let fingerprint = self.run.manifest.fingerprint;
        let identity = Identity { fingerprint, depth: depth.0, shard: shard.0 };
        ListFile::open(&self.space, &list_path(&self.store, depth, shard), identity)
    }

    /// Computes the files of a layer; returns `None` if the search was stopped.
    fn make(&self, depth: Depth) -> Result<Option<Vec<ShardReport>>> {
        self.store.prepare(depth).map_err(|error| self.explain(depth, error))?;
        let shards = self.run.manifest.shards;
        let layer = Layer {
            space: &self.space,
            fingerprint: self.run.manifest.fingerprint,
            depth: depth.0,
            shards,
            before: &self.before,
            directory: &self.store.directory_of(depth),
            threads: self.options.threads,
            memory_bytes: self.options.memory_bytes,
        };
        let sources = self.before.last().map_or(0, |newest| newest.iter().map(|f| f.written().states).sum());
        self.observer.layer_begins(depth, sources, shards);
        let progress = Progress::default();
        let seen = || observer::Progress {
            cosets: progress.expanded.load(Ordering::Relaxed),
            states: progress.states.load(Ordering::Relaxed),
        };
        let begun = Instant::now();
        let written = std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel();
            let (layer, disk, progress) = (&layer, self.disk, &progress);
            scope.spawn(move || done.send(next_layer(layer, disk, progress)));
            loop {
                match ended.recv_timeout(TICK) {
                    Ok(written) => return written,
                    Err(mpsc::RecvTimeoutError::Timeout) => self.observer.progress(seen()),
                    Err(mpsc::RecvTimeoutError::Disconnected) => panic!("the search of a layer panicked"),
                }
                if self.stop.requested.load(Ordering::Relaxed) {
                    progress.stop.store(true, Ordering::Relaxed);
                }
            }
        });
        self.observer.layer_ends(seen());
        let written = match written {
            Ok(written) => written,
            Err(Failed::Stopped) => {
                self.remove(depth)?;
                return Ok(None);
            }
            Err(Failed::Layer(error)) => {
                let error = self.explain(depth, error);
                // The files only take space; the next process deletes them otherwise.
                let _ = self.remove(depth);
                return Err(error);
            }
        };
        let reports: Vec<ShardReport> =
            (0..).zip(&written).map(|(shard, written)| made(depth, ShardId(shard), written)).collect();
        reports.iter().for_each(|report| self.observer.shard_made(report, begun.elapsed()));
        Ok(Some(reports))
    }

    /// Makes everything durable, commits the layers that were added, and deletes what is no longer read.
    fn checkpoint(&mut self) -> Result<()> {
        self.disk.flush().map_err(|error| self.explain(Depth(self.before.len() as u32), error))?;
        if self.run.journal.has_added() {
            failpoint::point("committing");
            checkpoint(self.run, self.lasting, None)?;
            failpoint::point("committed");
        }
        self.checkpoint_at = Instant::now();
        std::mem::take(&mut self.retired).into_iter().try_for_each(|depth| self.remove(depth))
    }

    /// Deletes the files of a layer, if there are any. A link is not followed.
    fn remove(&self, depth: Depth) -> Result<()> {
        remove(&self.store.directory_of(depth), self.disk)
            .with_context(|| format!("cannot delete {}", self.store.directory_of(depth).display()))
    }

    /// Adds advice to an error at a depth.
    fn explain(&self, depth: Depth, error: LayerError) -> anyhow::Error {
        let path = shell::path(&self.run.path);
        let full = error.is_disk_full() || error.is_quota();
        let advice = match (full, self.disk.limit_bytes()) {
            _ if error.is_file_limit() => file_limit(depth, &path),
            (true, Some(limit)) => format!(
                "no disk space is left at depth {depth} within --disk-limit {}; free some space or raise --disk-limit, then continue with 'fathom resume {path}'",
                HumanBytes(limit)
            ),
            (true, None) => format!(
                "the disk is full at depth {depth}; free some space, then continue with 'fathom resume {path}'"
            ),
            _ if error.is_damage() || error.is_missing() => format!(
                "depth {depth} could not be computed because a file of an earlier layer is damaged or missing; restore the file from a backup, or remove {path} and start again"
            ),
            _ => format!("depth {depth} could not be computed"),
        };
        anyhow::Error::new(error).context(advice)
    }
}

fn remove(directory: &Path, disk: &dyn Disk) -> std::io::Result<()> {
    if directory.is_symlink() || !directory.is_dir() {
        return Ok(());
    }
    for entry in std::fs::read_dir(directory)? {
        let path = entry?.path();
        let is_ours = |end| path.extension().is_some_and(|extension| extension == end);
        if ["list", "spill", "tmp"].into_iter().any(is_ours) {
            disk.remove(&path)?;
        }
    }
    disk.remove_directory(directory)
}
