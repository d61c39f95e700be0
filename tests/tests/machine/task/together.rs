//! Tasks that all threads of a pool do together write the same files as tasks of one thread each.

use fathom_engine::run::{Depth, RunManifest, ShardReport, Task, budget};
use fathom_engine::run::{Keep, SpaceSpec};
use fathom_engine::task::expand::Leftover;
use fathom_engine::task::pool::{Ended, Orders, Purpose};
use fathom_engine::task::{Counters, Job, Kernel, Layer, Resources, Store, TaskError};
use fathom_layer::map::Stamp;
use fathom_layer::{Disk, LayerError, LimitedDisk, LocalDisk};
use fathom_puzzle::{Metric, PuzzleSpec, family};
use fathom_space::{Labels, Plan};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, SystemTime};

const SHARDS: u32 = 3;
const MIB: u64 = 1 << 20;

/// Creates a job for a puzzle, with `cache_bytes` bytes for layers in addition to what tables and threads
/// take.
fn job(puzzle: &str, threads: usize, cache_bytes: u64, directory: &Path) -> Job {
    let (source, metric) = match puzzle.parse() {
        Ok(board) => (PuzzleSpec::Board(board), Metric::Multi),
        Err(_) => (PuzzleSpec::Defined(Box::new(family::by_name(puzzle).unwrap())), Metric::Given),
    };
    let labels = Labels::distinct(source.cells());
    let question = SpaceSpec { source, metric, labels };
    let space = question.space().unwrap();
    let plan = Plan::new(&space).unwrap();
    let process =
        budget::memory_bytes(&space, plan.patterns, plan.representative_cosets, &plan.shape, threads);
    let manifest = RunManifest::plan(question, &space, &plan, Some(SHARDS), Keep::All, false).unwrap();
    let memory_bytes = process + cache_bytes;
    let resources = Resources { kernel: Kernel::Fastest, threads, memory_bytes, max_depth: None };
    Job::load(&manifest, directory, resources, &LocalDisk).unwrap()
}

/// Does tasks with the threads of a pool, and returns their outcomes, in the order of shards.
fn ended(job: &Job, store: &Store<'_>, tasks: &[Task], before: &[Arc<Layer>], stop: bool) -> Vec<Ended> {
    ended_with(Leftover::Counts, job, store, tasks, before, stop)
}

fn ended_with(
    leftover: Leftover,
    job: &Job,
    store: &Store<'_>,
    tasks: &[Task],
    before: &[Arc<Layer>],
    stop: bool,
) -> Vec<Ended> {
    let (counters, stop) = (Counters::default(), AtomicBool::new(stop));
    let mut all = std::thread::scope(|scope| {
        let (outbox, ended) = channel();
        let tell = move |ended| outbox.send(ended).is_ok();
        let orders = Orders::start(scope, job.threads, job, store, &counters, &stop, tell).unwrap();
        let make = Purpose::Make(leftover);
        tasks.iter().for_each(|&task| orders.submit(task, make, before.to_vec()));
        drop(orders);
        ended.into_iter().collect::<Vec<_>>()
    });
    all.sort_by_key(|ended| ended.task);
    let done = all.iter().filter_map(|ended| ended.result.as_ref().ok());
    let (cosets, states) = done.fold((0, 0), |(cosets, states), report| {
        (cosets + report.checksums.len() as u64, states + report.totals.states)
    });
    if all.iter().all(|ended| ended.result.is_ok()) {
        assert_eq!(counters.cosets.load(Ordering::Relaxed), cosets);
        assert_eq!(counters.states.load(Ordering::Relaxed), states);
    }
    all
}

fn tasks(job: &Job, depth: Depth) -> Vec<Task> {
    job.geometry.cut.ids().map(|shard| Task { depth, shard }).collect()
}

/// Opens the files that tasks at a depth read.
fn before(job: &Job, store: &Store<'_>, depth: Depth) -> Vec<Arc<Layer>> {
    let below = job.lookback.below(depth);
    let open = |(number, below)| job.windowed(store.open(&job.geometry, below).unwrap(), number == 0);
    below.enumerate().map(open).map(Arc::new).collect()
}

/// Searches a space, and returns the reports of all tasks.
fn search(job: &Job, store: &Store<'_>) -> Vec<ShardReport> {
    let mut reports: Vec<ShardReport> = Vec::new();
    for depth in (0..).map(Depth) {
        store.prepare(depth).unwrap();
        let before = before(job, store, depth);
        let of_depth = ended(job, store, &tasks(job, depth), &before, false);
        let of_depth: Vec<_> = of_depth.into_iter().map(|ended| ended.result.unwrap()).collect();
        assert_eq!(of_depth.len(), SHARDS as usize);
        if of_depth.iter().all(|report| report.totals.states == 0) {
            return reports;
        }
        // Tasks found done have the same reports.
        if depth.0 == 4 {
            let again = ended(job, store, &tasks(job, depth), &before, false);
            assert!(again.into_iter().map(|ended| ended.result.unwrap()).eq(of_depth.iter().cloned()));
        }
        reports.extend(of_depth);
    }
    unreachable!("a search ends")
}

#[test]
fn threads_together_write_the_same_files_as_single_threads() {
    let mut found = Vec::new();
    // With so little memory for layers, the largest are read ahead and written behind.
    for (threads, shares_tasks, cache_bytes) in [(1, false, 1 << 30), (3, true, 1 << 30), (3, true, 7 * MIB)]
    {
        let directory = tempfile::tempdir().unwrap();
        let mut job = job("pancake:11", threads, cache_bytes, directory.path());
        job.shares_tasks = shares_tasks;
        let store = Store::at(directory.path(), &LocalDisk).unwrap();
        found.push(search(&job, &store));
        let files = std::fs::read_dir(store.directory_of(Depth(4))).unwrap();
        assert_eq!(files.count(), SHARDS as usize, "only the files of the layer remain");
    }
    let states: u64 = found[0].iter().map(|report| report.totals.states).sum();
    assert_eq!(states, (1..=11).product::<u64>());
    assert_eq!(found[1], found[0]);
    assert_eq!(found[2], found[0]);
}

/// Creates a job whose threads work together, and computes the first `depths` layers.
fn begun<'d>(directory: &Path, disk: &'d dyn Disk, depths: u32) -> (Job, Store<'d>) {
    let mut job = job("2x4", 3, 1 << 30, directory);
    job.shares_tasks = true;
    let store = Store::at(directory, disk).unwrap();
    for depth in (0..depths).map(Depth) {
        store.prepare(depth).unwrap();
        let before = before(&job, &store, depth);
        assert!(ended(&job, &store, &tasks(&job, depth), &before, false).iter().all(|e| e.result.is_ok()));
    }
    store.prepare(Depth(depths)).unwrap();
    (job, store)
}

/// In a store that workers share, the file may be that of another worker, which has read the changed layer.
#[test]
fn no_file_is_replaced_after_a_source_has_changed() {
    for shares_tasks in [true, false] {
        let directory = tempfile::tempdir().unwrap();
        let (mut job, store) = begun(directory.path(), &LocalDisk, 5);
        job.shares_tasks = shares_tasks;
        let (before, tasks) = (before(&job, &store, Depth(4)), tasks(&job, Depth(4)));
        let path = before[0].files().next().unwrap().path();
        // Later by more than one tick of the file system's clock.
        let later = SystemTime::now() + Duration::from_secs(1);
        File::options().write(true).open(path).unwrap().set_modified(later).unwrap();
        let stamps = || tasks.iter().map(|task| Stamp::new(&store.path(task.depth, task.shard)).unwrap());
        let stay: Vec<Stamp> = stamps().collect();
        let replaced =
            |before: &[Arc<Layer>]| ended_with(Leftover::IsReplaced, &job, &store, &tasks, before, false);
        let all = replaced(&before);
        let is_changed =
            |ended: &Ended| matches!(ended.result, Err(TaskError::Layer(LayerError::Changed { .. })));
        assert!(all.iter().all(is_changed), "{all:?}");
        assert!(stamps().eq(stay));
        // A task that opens the file now has read nothing else.
        assert!(replaced(&self::before(&job, &store, Depth(4))).iter().all(|ended| ended.made.is_some()));
    }
}

/// Checks that each task at a depth has ended once, with an error, and left no file.
fn assert_all_failed(job: &Job, store: &Store<'_>, depth: Depth, all: &[Ended]) {
    assert!(all.iter().map(|ended| ended.task).eq(tasks(job, depth)));
    assert!(all.iter().all(|ended| ended.result.is_err()), "{all:?}");
    let files = std::fs::read_dir(store.directory_of(all[0].task.depth)).unwrap();
    assert_eq!(files.count(), 0);
}

#[test]
fn stopped_or_refused_task_ends_once() {
    let directory = tempfile::tempdir().unwrap();
    let (job, store) = begun(directory.path(), &LocalDisk, 4);
    let (depth, before) = (Depth(4), before(&job, &store, Depth(4)));
    let stopped = ended(&job, &store, &tasks(&job, depth), &before, true);
    assert_all_failed(&job, &store, depth, &stopped);
    assert!(stopped.iter().all(|ended| matches!(ended.result, Err(TaskError::Stopped))));
    let full = LimitedDisk::new(directory.path().into(), 1);
    let full = Store::at(directory.path(), &full).unwrap();
    let refused = ended(&job, &full, &tasks(&job, depth), &before, false);
    assert_all_failed(&job, &store, depth, &refused);
    let is_full = |ended: &Ended| matches!(&ended.result, Err(TaskError::Layer(e)) if e.is_disk_full());
    assert!(refused.iter().all(is_full), "{refused:?}");
    // Nothing is left that would prevent the tasks from being done.
    assert!(ended(&job, &store, &tasks(&job, depth), &before, false).iter().all(|e| e.result.is_ok()));
}

#[test]
fn task_whose_threads_panic_ends_once() {
    let directory = tempfile::tempdir().unwrap();
    let (job, store) = begun(directory.path(), &LocalDisk, 4);
    // A coset of a shard that is not here is read, which only a bug would do.
    let task = tasks(&job, Depth(4))[0];
    let partial = |depth| {
        let layer = Layer::partial(job.geometry.cut, None);
        layer.add(task.shard, Arc::new(store.open_shard(&job.geometry, depth, task.shard).unwrap()));
        Arc::new(layer)
    };
    let all = ended(&job, &store, &[task], &[partial(Depth(3)), partial(Depth(2))], false);
    assert!(matches!(all[..], [Ended { result: Err(TaskError::Panicked { .. }), .. }]), "{all:?}");
    let files = std::fs::read_dir(store.directory_of(task.depth)).unwrap();
    assert_eq!(files.count(), 0);
}

#[test]
fn tasks_are_shared_if_memory_is_short() {
    let directory = tempfile::tempdir().unwrap();
    let shares = |board, threads, cache| job(board, threads, cache, directory.path()).shares_tasks;
    assert!(shares("2x7", 2, 64 * MIB));
    assert!(!shares("2x7", 1, 64 * MIB), "one thread does all tasks anyway");
    assert!(!shares("2x7", 2, 8 << 30), "memory holds all layers");
    assert!(!shares("2x7", 2, 2 * MIB), "no memory for waiting cosets");
    assert!(!shares("3x4", 2, 2 * MIB), "cosets are too small");
}
