//! `fathom run --workers N`: runs a coordinator in this process, and starts worker processes on this machine
//! that connect to it over loopback. Coordinator and workers share the run's directory.

use crate::arguments::{ClusterArguments, RunArguments};
use crate::commands::completion_hook;
use crate::commands::new_run::{open_or_begin, require_resources};
use crate::commands::page::{self, Shown};
use crate::commands::progress::coordinator::DisplayOptions;
use crate::commands::run_server::{Served, ended, listen, on_signals, report};
use anyhow::{Context, Result, anyhow};
use fathom_command::exit::Interrupted;
use fathom_command::interrupt::interrupts;
use fathom_command::{bad_input, log};
use fathom_coordinator::cluster::event::Ending;
use fathom_coordinator::cluster::handle::CoordinatorHandle;
use fathom_engine::directory::{LOG, RunDirectory};
use fathom_engine::journal::LayersAt;
use fathom_engine::layers_root;
use fathom_engine::run::{Producers, RunError, lock, saved_tables};
use fathom_engine::search::Options;
use fathom_engine::task::Store;
use fathom_layer::LocalDisk;
use fathom_page::Listening;
use fathom_proto::access::{Access, AccessArguments};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use tracing::{info, warn};

/// The name of the directory in the run's directory that has a directory for each worker.
const WORKERS: &str = "workers";
/// The maximum number of times a worker is started, including the first.
const MAX_STARTS: u32 = 10;
/// The time limit for the workers of a killed coordinator to end.
const WORKER_ENDS: Duration = Duration::from_secs(10);
/// The time limit for a worker to end once the run is over.
const WORKER_LEAVES: Duration = Duration::from_millis(250);
/// The time between two checks whether a worker has ended.
const LOOK_AGAIN: Duration = Duration::from_millis(20);
/// The same, while waiting for nothing else.
const LOOK_SOON: Duration = Duration::from_millis(1);
/// How a stopped run is continued.
const SAME: &str = "run the same command";
/// The pause between two starts.
const PAUSE: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &RunArguments, workers: u32, verbosity: log::Verbosity) -> Result<()> {
    let program = std::env::current_exe()?;
    let listening = page::listen(&args.http)?;
    // Each worker has at least one thread.
    let threads = args.search.options().threads.max(workers as usize);
    let producers = Producers { processes: workers, threads: Some(threads) };
    let options = args.search.options();
    let of_worker = Options {
        threads: threads / workers as usize,
        memory_bytes: options.memory_bytes / u64::from(workers),
        ..options
    };
    let store = args.store.as_deref();
    let mut run = open_or_begin(&args.space, &args.begin, store, producers, None, |space, plan, path| {
        require_resources(args, of_worker, space, plan, path)
    })?;
    log::start(&run.path.join(LOG), verbosity.lines())?;
    if let Some(ending) = ended(&run, args.search.max_depth)? {
        let shown = Shown::ended(listening, &args.http, &run)?;
        let reported = report(&ending, &run, args.search.json, SAME);
        run.unlock();
        let told = completion_hook::after(&args.search.on_done, &run.path, false, reported);
        shown.end(&run, page::state_of(&ending))?;
        return told;
    }
    with_workers(args, run, &program, workers, verbosity, listening)
}

/// Serves a run to `workers` workers on this machine, until the run ends.
fn with_workers(
    args: &RunArguments,
    mut run: RunDirectory,
    program: &Path,
    workers: u32,
    verbosity: log::Verbosity,
    listening: Option<Listening>,
) -> Result<()> {
    let path = run.path.clone();
    let cluster = ClusterArguments {
        listen: SocketAddr::from(([127, 0, 0, 1], 0)),
        advertise: None,
        replicas: 1,
        lease: Duration::from_secs(30),
        max_depth: args.search.max_depth,
        // An audit by another worker would use the same memory, because all workers run on this machine.
        audit: 0,
        clean_stores: false,
    };
    let access = Access::load(&AccessArguments::default())?;
    let layers_at = layers_at(&run)?;
    let root = match &layers_at {
        LayersAt::RunDirectory => run.path.clone(),
        LayersAt::Store(store) => {
            run.claim(store, &LocalDisk)?;
            store.clone()
        }
        LayersAt::Workers => return Err(layers_root::with_workers(&run.path)),
    };
    let homes = homes(&run.path, workers)?;
    remove_unfinished(&run, &root)?;
    let options = args.search.options();
    let threads = (options.threads / homes.len()).max(1);
    let memory = options.memory_bytes / homes.len() as u64;
    let display = DisplayOptions { verbosity, max_depth: args.search.max_depth, holds_layers: true };
    if let Some(graph) = &run.graph {
        // Planning has computed the tables, so workers need not compute them again.
        saved_tables::keep(&root, run.manifest.fingerprint, graph, &LocalDisk);
    }
    let listener = listen(cluster.listen)?;
    let served = Served::begin(run, listener, &layers_at, &cluster, &access, display)?;
    on_signals(served.handle.clone(), CoordinatorHandle::stop);
    let shown = Shown::served(listening, &args.http, served.run(), &served.handle)?;
    let address = served.address.to_string();
    let token_file = served.token_file();
    let handle = served.handle.clone();
    let over = AtomicBool::new(false);
    let refusal = Mutex::new(None);
    let served = std::thread::scope(|scope| -> Result<_> {
        let mut keepers = Vec::new();
        for (number, home) in homes.iter().enumerate() {
            let mut command = Command::new(program);
            // Once this process has ended, another may continue in the run's directory, to which workers
            // write.
            command
                .arg("worker")
                .args(["--child-of", &std::process::id().to_string()])
                .args(["--join", &address, "--name", &format!("worker-{number}"), "--patience", "10s"])
                .args(["--threads", &threads.to_string(), "--memory", &format!("{memory}B")])
                .args(["--kernel", &options.kernel.to_string()])
                .arg("--store")
                .arg(home)
                .arg(if verbosity == log::Verbosity::Verbose { "-v" } else { "-q" })
                .stdin(Stdio::null())
                .stdout(Stdio::null());
            // Each worker applies the whole limit to the directory of the layers.
            if let Some(most) = args.search.disk_limit {
                command.args(["--disk-limit", &format!("{most}B")]);
            }
            // The user's environment variables for other commands must not affect these workers.
            for variable in ["FATHOM_KEYS", "FATHOM_THREADS", "FATHOM_MEMORY"] {
                command.env_remove(variable);
            }
            if let Some(token_file) = &token_file {
                command.arg("--token-file").arg(token_file);
            }
            let (over, refusal, handle) = (&over, &refusal, &handle);
            let keeper = scope.spawn(move || {
                if let Err(error) = keep_alive(command, over, || handle.is_ending()) {
                    refusal.lock().expect("no thread panics while it holds the lock").get_or_insert(error);
                    handle.stop();
                }
            });
            keepers.push(keeper);
        }
        let end = served.until_end();
        over.store(true, Ordering::Relaxed);
        keepers.iter().for_each(|keeper| keeper.thread().unpark());
        end
    });
    let (ending, mut run) = match served {
        Ok(served) => served,
        Err(error) => return completion_hook::after(&args.search.on_done, &path, false, Err(error)),
    };
    let signal = interrupts().signal.load(Ordering::Relaxed) as i32;
    let reported = match refusal.into_inner().expect("no thread panics while it holds the lock") {
        Some(error) => Err(error),
        None if ending == Ending::Stopped && signal > 0 => {
            let message = format!("stopped; run the same command to continue in {}", run.path.display());
            Err(Interrupted { message, signal }.into())
        }
        None => report(&ending, &run, args.search.json, SAME),
    };
    run.unlock();
    let ended = completion_hook::after(&args.search.on_done, &path, ending.is_stop(), reported);
    shown.end(&run, page::state_of(&ending))?;
    ended
}

/// Returns the location of the layers of a run. A run that was started by `fathom serve` and has no layers
/// yet can use its own directory.
fn layers_at(run: &RunDirectory) -> Result<LayersAt> {
    match run.journal.layers_at().context("cannot read run.db")? {
        LayersAt::Workers if run.visited()?.layers.is_empty() => Ok(LayersAt::RunDirectory),
        layers_at => Ok(layers_at),
    }
}

/// Creates the directories of `workers` workers.
fn homes(run: &Path, workers: u32) -> Result<Vec<PathBuf>> {
    let homes: Vec<PathBuf> = (0..workers).map(|number| run.join(WORKERS).join(number.to_string())).collect();
    for home in &homes {
        std::fs::create_dir_all(home).with_context(|| format!("cannot create {}", home.display()))?;
        await_end(home)?;
    }
    Ok(homes)
}

/// Removes unfinished files that killed workers left in the directory of the layers.
fn remove_unfinished(run: &RunDirectory, root: &Path) -> Result<()> {
    let store = Store::at(root, &LocalDisk)?;
    store.require_run(run.manifest.fingerprint)?;
    Ok(store.depths()?.into_iter().try_for_each(|depth| store.remove_unfinished(depth))?)
}

/// Waits until no worker holds the lock of a directory. When a coordinator is killed, the system kills its
/// workers, which takes a moment.
fn await_end(home: &Path) -> Result<()> {
    let begun = Instant::now();
    loop {
        match lock::exclusive(home) {
            Err(RunError::Busy { .. }) if begun.elapsed() < WORKER_ENDS => std::thread::sleep(LOOK_AGAIN),
            taken => return Ok(taken.map(drop)?),
        }
    }
}

/// Runs a worker and restarts it if it ends before the run does, because others may wait for its tasks or for
/// files in its store. Once the run is over, all workers that took part have left. A worker that is still
/// running is killed: it started too late and looks for the coordinator, or it hangs.
fn keep_alive(mut command: Command, over: &AtomicBool, is_ending: impl Fn() -> bool) -> Result<()> {
    for start in 1..=MAX_STARTS {
        let mut worker = command.spawn().context("cannot start a worker")?;
        let Some(status) = end_of(&mut worker, over)? else { return Ok(()) };
        if status.code() == Some(2) {
            return Err(bad_input!("a worker failed to start; see its message above"));
        }
        // At the end of the run, a worker may end before the coordinator does, so wait first.
        std::thread::park_timeout(PAUSE);
        if over.load(Ordering::Relaxed) || is_ending() {
            return Ok(());
        }
        warn!(%status, start, "worker ended");
    }
    Err(anyhow!("a worker died {MAX_STARTS} times; see its log in the run's directory"))
}

/// Waits until a worker ends, and returns its exit status. Returns `None` if the run ends first.
fn end_of(worker: &mut Child, over: &AtomicBool) -> Result<Option<ExitStatus>> {
    while !over.load(Ordering::Relaxed) {
        if let Some(status) = worker.try_wait().context("cannot wait for fathom-worker")? {
            return Ok(Some(status));
        }
        std::thread::park_timeout(LOOK_AGAIN);
    }
    if !ends_within(worker, WORKER_LEAVES) {
        info!(process = worker.id(), "killing a worker that is still running after the end of the run");
        // It may have ended in the meantime.
        let _ = worker.kill();
        ends_within(worker, WORKER_ENDS);
    }
    Ok(None)
}

fn ends_within(worker: &mut Child, time: Duration) -> bool {
    let begun = Instant::now();
    loop {
        match worker.try_wait() {
            Ok(None) if begun.elapsed() < time => std::thread::sleep(LOOK_SOON),
            Ok(None) => return false,
            Ok(Some(_)) | Err(_) => return true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;

    #[test]
    fn worker_still_running_after_the_run_is_killed() {
        let over = AtomicBool::new(false);
        let mut ends = Command::new("sh").args(["-c", "exit 3"]).spawn().unwrap();
        assert_eq!(end_of(&mut ends, &over).unwrap().and_then(|status| status.code()), Some(3));
        over.store(true, Ordering::Relaxed);
        let mut hangs = Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(end_of(&mut hangs, &over).unwrap(), None);
        assert_eq!(hangs.wait().unwrap().signal(), Some(signal_hook::consts::SIGKILL));
        keep_alive(Command::new("true"), &over, || true).unwrap();
    }
}
