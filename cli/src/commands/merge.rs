//! `fathom merge`: commits a layer whose tasks were not assigned by a coordinator but, for example, by a job
//! scheduler.

use crate::arguments::MergeArguments;
use crate::commands::result;
use anyhow::{Context, Result};
use fathom_command::{bad_input, log, shell};
use fathom_engine::commit::{Commit, commit_layer};
use fathom_engine::directory::{LOG, RunDirectory, Visited};
use fathom_engine::layers_root::why_not_opened;
use fathom_engine::run::{Depth, Geometry, Lookback, ShardId, ShardReport, Task, saved_tables};
use fathom_engine::search::leftovers;
use fathom_engine::task::{Store, Watched};
use fathom_engine::watch;
use fathom_layer::{LayerError, LocalDisk};
use rayon::prelude::*;
use std::path::Path;
use std::time::SystemTime;

pub(crate) fn merge(args: &MergeArguments, verbosity: log::Verbosity) -> Result<()> {
    let mut run = RunDirectory::open(&args.dir)?;
    log::start(&run.path.join(LOG), verbosity.lines())?;
    let root = run.claim_layers(&LocalDisk)?;
    let store = Store::at(&root, &LocalDisk)?;
    let Visited { layers, visited, .. } = run.visited()?;
    let all = run.all_states()?;
    let (depth, next) = (Depth(args.depth), Depth(layers.len() as u32));
    if depth < next || visited == all {
        // The layer is already committed, perhaps by a driver that was interrupted, or is beyond the last
        // one.
        return report(&run, &store, args.json);
    }
    if depth > next {
        return Err(bad_input!(
            "cannot merge depth {depth}: depth {next} is not finished. Compute its shards with 'fathom-worker task --run {path} --depth {next} --shards 0-{last}', then run 'fathom merge {path} --depth {next}'",
            path = shell::path(&args.dir),
            last = run.manifest.shards - 1
        ));
    }
    let suspect = run.journal.suspect().context("cannot read run.db")?.into_iter();
    let suspect: Vec<ShardId> = suspect.filter(|task| task.depth == depth).map(|task| task.shard).collect();
    require_certain(&args.dir, depth, &suspect, "are suspect according to an audit by the coordinator")?;
    let (space, colouring) = run.manifest.open()?;
    let geometry = Geometry::new(&run.manifest, &space, &colouring)?;
    let watched = run.journal.watched().context("cannot read run.db")?;
    let watched = match watched.is_empty() {
        true => Watched::default(),
        false => {
            let words: Vec<Vec<u8>> =
                watched.iter().map(|state| state.word(&space)).collect::<Result<_>>()?;
            let id = run.manifest.fingerprint;
            Watched::new(&saved_tables::cosets(&run.path, id, &space, &colouring, &LocalDisk)?, &words)
        }
    };
    let way_out = |shards: &[ShardId]| {
        let (path, shards) = (shell::path(&args.dir), said(shards));
        format!("run 'fathom-worker task --run {path} --depth {depth} --shards {shards}'")
    };
    // Each task has checked the digests of the files that it read. They are checked again here because, if a
    // file changed meanwhile, it would be unknown which tasks have read the changed file.
    for below in Lookback::new(&space).below(depth) {
        let digests = run.digests(below)?;
        let layer = store.open(&geometry, below);
        let layer = layer.map_err(|error| why_not_opened(&run.journal, &run.path, (depth, below), error))?;
        layer.check_digests(&digests).with_context(|| format!("cannot merge depth {depth}"))?;
    }
    let shards: Vec<ShardId> = geometry.cut.ids().collect();
    let is_there = |shard: &ShardId| store.path(depth, *shard).exists();
    let missing: Vec<ShardId> = shards.iter().copied().filter(|shard| !is_there(shard)).collect();
    if !missing.is_empty() {
        let (missed, shards) = (missing.len(), shards.len());
        return Err(bad_input!(
            "depth {depth} is missing {missed} of {shards} shards: {}",
            way_out(&missing)
        ));
    }
    // The files may be from a process that died before they were durable.
    store.make_layer_durable(depth)?;
    let read = |&shard: &ShardId| -> Result<ShardReport, LayerError> {
        let made = store.read_back(&geometry, Task { depth, shard })?;
        let open = || store.open_shard(&geometry, depth, shard);
        Ok(ShardReport { watched: watched.found(geometry.cut.range(shard), open)?, ..made })
    };
    let read: Vec<Result<ShardReport, LayerError>> = shards.par_iter().map(read).collect();
    let unusable = shards.iter().zip(&read).filter(|(_, report)| report.is_err());
    let unusable: Vec<ShardId> = unusable.map(|(shard, _)| *shard).collect();
    let reports: Result<Vec<ShardReport>, LayerError> = read.into_iter().collect();
    let reports = reports.with_context(|| format!("cannot merge depth {depth}: {}", way_out(&unusable)))?;
    let journalled = run.journal.reports().context("cannot read run.db")?;
    let differs = |report: &&ShardReport| {
        let made = reports.get(report.task.shard.0 as usize);
        report.task.depth == depth && made.is_some_and(|made| report.difference(made).is_some())
    };
    let other: Vec<ShardId> = journalled.iter().filter(differs).map(|report| report.task.shard).collect();
    require_certain(&args.dir, depth, &other, "do not match their reports in run.db")?;
    let modified = |shard: &ShardId| store.path(depth, *shard).metadata().and_then(|file| file.modified());
    let times: Vec<SystemTime> = shards.iter().flat_map(modified).collect();
    let symmetries = space.symmetries().len() as u64;
    let commit = Commit { symmetries, seconds: seconds(&times), process: None, waits: None };
    commit_layer(&mut run, &LocalDisk, &reports, commit, &|_, _| Ok(()))?;
    report(&run, &store, args.json)
}

/// Checks that no shard's file is suspect; `reason` says why those in `suspect` are.
fn require_certain(run: &Path, depth: Depth, suspect: &[ShardId], reason: &str) -> Result<()> {
    if suspect.is_empty() {
        return Ok(());
    }
    Err(bad_input!(
        "cannot merge depth {depth}: the files of shards {shards} {reason}. Recompute them with 'fathom resume {path}' or 'fathom serve'",
        shards = said(suspect),
        path = shell::path(run)
    ))
}

/// Deletes the files that are no longer needed, including those left by an interrupted merge, and prints the
/// result so far.
fn report(run: &RunDirectory, store: &Store<'_>, json: bool) -> Result<()> {
    store.require_run(run.manifest.fingerprint)?;
    store.sweep(&leftovers(store, &run.visited()?.layers)?)?;
    watch::write(run, &LocalDisk)?;
    result::print(run, json)
}

/// Returns the time from the first finished file to the last, in seconds. It is the only record of how long
/// the layer took.
fn seconds(times: &[SystemTime]) -> f64 {
    let span = times.iter().min().zip(times.iter().max());
    span.and_then(|(first, last)| last.duration_since(*first).ok()).map_or(0.0, |span| span.as_secs_f64())
}

/// Formats shards as ranges, in the syntax of `--shards`.
fn said(shards: &[ShardId]) -> String {
    let ranges = shards.chunk_by(|a, b| a.0 + 1 == b.0).map(|range| match range {
        [one] => one.to_string(),
        _ => format!("{}-{}", range[0], range[range.len() - 1]),
    });
    ranges.collect::<Vec<_>>().join(",")
}
