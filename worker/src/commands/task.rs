//! `fathom-worker task`: computes shards of one layer from and to files, without a coordinator.

use crate::arguments::TaskArguments;
use anyhow::{Context, Result};
use fathom_command::exit::Interrupted;
use fathom_command::interrupt::on_request;
use fathom_command::{bad_input, log, machine};
use fathom_engine::directory::JOURNAL;
use fathom_engine::journal::Journal;
use fathom_engine::layers_root::{root_of_layers, why_not_opened};
use fathom_engine::run::{Depth, RunManifest, ShardId, Task, lock};
use fathom_engine::task::pool::{Ended, NoThreads};
use fathom_engine::task::{Counters, Job, Layer, Pool, Store, TaskError};
use fathom_layer::LocalDisk;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;
use tracing::info;

/// Interval between checks for finished tasks and signals.
const TICK: Duration = Duration::from_millis(100);

pub(crate) fn task(args: &TaskArguments, verbosity: log::Verbosity) -> Result<()> {
    let manifest = RunManifest::read(&args.run)?;
    let last = manifest.shards - 1;
    if let Some(range) = args.shards.iter().find(|range| *range.end() > last) {
        return Err(bad_input!(
            "the run in {} has shards 0 to {last}; shard {} does not exist",
            args.run.display(),
            range.end()
        ));
    }
    let _lock = lock::shared(&args.run)?;
    log::start(&log::file_of_host(&args.run, "task")?, verbosity.lines())?;
    log::tag(&manifest.fingerprint.to_string()[..16], &machine::host_name());
    let signal = Arc::new(AtomicUsize::new(0));
    let stop = Arc::new(AtomicBool::new(false));
    // The first signal stops at the next coset, a second one immediately.
    on_request({
        let (signal, stop) = (Arc::clone(&signal), Arc::clone(&stop));
        move |number| {
            signal.store(number as usize, Ordering::Relaxed);
            stop.store(true, Ordering::Relaxed);
        }
    })?;
    let job = Job::load(&manifest, &args.run, args.resources.resources(), &LocalDisk)?;
    let path = args.run.join(JOURNAL);
    let journal = Journal::open(&path, manifest.fingerprint);
    let journal = journal.with_context(|| format!("cannot use {}", path.display()))?;
    let store = Store::at(&root_of_layers(&journal, &args.run)?, &LocalDisk)?;
    let depth = Depth(args.depth);
    let Some(before) = before(&store, &job, &manifest, (&journal, &args.run), depth)? else {
        info!(depth = depth.0, "the depth is already finished");
        return Ok(());
    };
    store.prepare(depth)?;
    let shards: BTreeSet<u32> = args.shards.iter().flat_map(|range| range.clone()).collect();
    let tasks: Vec<Task> = shards.into_iter().map(|shard| Task { depth, shard: ShardId(shard) }).collect();
    let counters = Counters::default();
    let ended = std::thread::scope(|scope| -> Result<Result<(), TaskError>> {
        let threads = if job.shares_tasks { job.threads } else { job.threads.min(tasks.len()) };
        let pool = Pool::start(scope, threads, &job, &store, &counters, &stop)
            .context("cannot start kernel threads")?;
        tasks.iter().for_each(|&task| pool.submit(task, before.clone()));
        let mut running = tasks.len();
        let mut failure = Ok(());
        let mut made = Vec::new();
        while running > 0
            && let Ok(ended) = pool.ended(TICK)
        {
            for Ended { task, result, is_found, took, .. } in ended {
                running -= 1;
                match result {
                    Ok(report) => {
                        info!(
                            depth = task.depth.0,
                            shard = task.shard.0,
                            states = report.totals.states,
                            bytes = report.bytes,
                            seconds = took.as_secs_f64(),
                            "task done"
                        );
                        made.extend((!is_found).then_some(task));
                    }
                    Err(error) => {
                        // The other tasks are stopped too, because they are likely to fail in the same way.
                        stop.store(true, Ordering::Relaxed);
                        if failure.is_ok() || matches!(failure, Err(TaskError::Stopped)) {
                            failure = Err(error);
                        }
                    }
                }
            }
        }
        // A coset that several tasks read is compared with its checksum only once.
        if let Err(changed) = before.iter().try_for_each(|layer| layer.check_unchanged()) {
            made.into_iter().try_for_each(|task| store.discard(task))?;
            return Ok(Err(changed.into()));
        }
        if running > 0 { Err(NoThreads.into()) } else { Ok(failure) }
    })?;
    match ended {
        Ok(()) => Ok(()),
        Err(TaskError::Stopped) => Err(Interrupted {
            message: "stopped; run the same command to continue".into(),
            signal: signal.load(Ordering::Relaxed) as i32,
        }
        .into()),
        Err(error) => Err(error).with_context(|| format!("cannot compute depth {depth}")),
    }
}

/// Opens the layers that the layer at a depth is computed from, and checks them against the journal. Returns
/// `None` if the layer is merged already.
fn before(
    store: &Store<'_>,
    job: &Job,
    manifest: &RunManifest,
    (journal, run): (&Journal, &Path),
    depth: Depth,
) -> Result<Option<Vec<Arc<Layer>>>> {
    let merged =
        journal.layers().with_context(|| format!("cannot use {}", run.join(JOURNAL).display()))?.len();
    if (depth.0 as usize) < merged {
        return Ok(None);
    }
    let mut before = Vec::new();
    for below in job.lookback.below(depth) {
        let layer = store.open(&job.geometry, below);
        let layer = layer.map_err(|error| why_not_opened(journal, run, (depth, below), error))?;
        if below.0 as usize >= merged {
            return Err(bad_input!(
                "depth {depth} is computed from depth {below}, which is not merged: merge it first"
            ));
        }
        let digests = journal.digests(below, manifest.shards)?;
        layer.check_digests(&digests).with_context(|| format!("cannot compute depth {depth}"))?;
        before.push(Arc::new(job.windowed(layer, before.is_empty())));
    }
    Ok(Some(before))
}
