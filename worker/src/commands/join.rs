//! `fathom-worker --join`: computes shards for a coordinator, and stores them.

use crate::arguments::JoinArguments;
use crate::cluster::Meter;
use crate::cluster::coordinator_client::{Caller, Place, RunEnded};
use crate::cluster::driver::{Identity, Worker};
use crate::cluster::files::OpenFiles;
use crate::cluster::peer_server::Exchange;
use crate::cluster::session::End;
use crate::cluster::store_directory::{self, Home, keep_definition};
use anyhow::{Context, Result, anyhow};
use fathom_command::activity::doing;
use fathom_command::exit::{NotDone, said_by_system};
use fathom_command::interrupt::on_request;
use fathom_command::{bad_input, log, machine};
use fathom_engine::run::{Keep, RunManifest, ShardId, ShardOrder};
use fathom_engine::shared_store::require_seen;
use fathom_engine::task::pool::Orders;
use fathom_engine::task::{Counters, Job, Resources, Store, Watched};
use fathom_layer::{Disk, LimitedDisk, LocalDisk};
use fathom_proto::LeaveReason;
use fathom_proto::access::{Access, server};
use fathom_proto::v1::DescribeRunResponse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{mpsc, watch};
use tracing::{info, warn};

/// Number of threads for the network.
const NETWORK_THREADS: usize = 2;
/// Time limit for running network tasks when the session ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_millis(100);

pub(crate) fn join(args: &JoinArguments, verbosity: log::Verbosity) -> Result<()> {
    let place = match (&args.join, &args.join_file) {
        (Some(address), _) => Some(Place::At(address.clone())),
        (None, file) => file.clone().map(Place::In),
    };
    let (Some(place), Some(store)) = (place, &args.store) else {
        return Err(bad_input!(
            "--join HOST:PORT (or --join-file FILE) and --store DIR are required (or use the subcommand 'task')"
        ));
    };
    match worked(args, place, store, verbosity) {
        Ok(true) => Ok(()),
        Err(error) if error.is::<RunEnded>() => {
            info!("nothing to do: the run has ended");
            Ok(())
        }
        Ok(false) => args.requeue_code.map_or(Ok(()), |code| Err(NotDone(code).into())),
        Err(error) => Err(error),
    }
}

/// Computes shards for the coordinator until the run ends, or until this worker is stopped. Returns whether the run has ended.
fn worked(args: &JoinArguments, place: Place, store: &Path, verbosity: log::Verbosity) -> Result<bool> {
    if let Some(parent) = args.child_of {
        machine::end_with(parent)?;
    }
    let access = Access::load(&args.access)?;
    access.may_listen(args.listen)?;
    // The disk is needed until the process ends.
    let limited: Option<&'static LimitedDisk> = match args.disk_limit {
        Some(most) => Some(Box::leak(Box::new(LimitedDisk::new(std::path::absolute(store)?, most)))),
        None => None,
    };
    let disk = limited.map_or(&LocalDisk as &'static dyn Disk, |limited| limited);
    let home = Home::open(store, disk)?;
    log::start(&home.log(), verbosity.lines())?;
    let stop = stop_on_signals()?;
    let runtime = Builder::new_multi_thread().worker_threads(NETWORK_THREADS).enable_all().build()?;
    let name = args.name.clone().unwrap_or_else(machine::host_name);
    let caller = Caller::new(access.clone(), place.clone(), args.patience);
    let described = runtime.block_on(async {
        let mut stop = stop.clone();
        tokio::select! {
            described = caller.describe(&name) => described.map(Some),
            _ = stop.wait_for(|&told| told) => Ok(None),
        }
    })?;
    let Some(described) = described else { return Ok(false) };
    let DescribeRunResponse { definition, shared_store, shared_store_id, watched, shard_order, lease_ms } =
        described;
    let access = access.for_lease(Duration::from_millis(lease_ms));
    let caller = Caller::new(access.clone(), place, args.patience);
    let manifest = RunManifest::from_toml(&definition).context("cannot use the coordinator's run")?;
    log::tag(&manifest.fingerprint.to_string()[..16], &home.id().to_string());
    let directory = home.of_run(manifest.fingerprint, disk)?;
    keep_definition(&directory, &manifest, disk)?;
    let shared_store = Some(PathBuf::from(shared_store)).filter(|path| !path.as_os_str().is_empty());
    if let Some(shared) = &shared_store {
        require_seen(shared, &shared_store_id)?;
    }
    // The store is needed until the process ends, by its threads and connections.
    let root = shared_store.as_ref().unwrap_or(&directory);
    let store: &'static Store<'static> = Box::leak(Box::new(Store::at(root, disk)?));
    if let Some((limited, shared)) = limited.zip(shared_store.clone()) {
        limited.limit_too(shared);
    }
    let (resources, shared) = resources(args);
    let mut job = Job::load(&manifest, root, resources, disk)?;
    if let Some(all) = shared {
        job.cache = job.cache.shared(all, sharers);
    }
    if !shard_order.is_empty() {
        let order = ShardOrder::new(shard_order.into_iter().map(ShardId).collect());
        let order = order.filter(|order| order.shards().len() == manifest.shards as usize);
        job.order =
            Arc::new(order.context("the coordinator's shard order does not list each shard exactly once")?);
    }
    let space = job.graph.space();
    let words = watched.iter().map(|tiles| fathom_engine::watch::word(tiles, space));
    let words: Vec<Vec<u8>> = words
        .collect::<Result<_, _>>()
        .map_err(|reason| anyhow!("the coordinator watches an invalid state: {reason}"))?;
    job.watched = Watched::new(&job.graph, &words);
    // These are needed for the same time.
    let job: &'static Job = Box::leak(Box::new(job));
    let counters: &'static Counters = Box::leak(Box::default());
    let halt: &'static AtomicBool = Box::leak(Box::default());
    let meter = Arc::new(Meter::default());
    let files = OpenFiles::new(store, job.geometry);
    let exchange = Exchange::new(files.clone(), job.geometry, Arc::clone(&meter)).with_counting(job, store);
    let listener = runtime.block_on(TcpListener::bind(args.listen));
    let listener = listener.map_err(|error| {
        let (address, why) = (args.listen, said_by_system(&error));
        bad_input!("cannot listen on {address}: {why}. Choose another address with --listen")
    })?;
    let address = advertised(args, listener.local_addr()?.port());
    info!(kernel = job.kernel(), cosets = job.graph.len(), address, "ready");
    serve(&runtime, &access, listener, exchange)?;
    let worker = Worker {
        identity: Identity {
            id: home.id(),
            name,
            address,
            threads: resources.threads,
            memory_bytes: resources.memory_bytes,
            disk_limit_bytes: args.disk_limit,
        },
        job,
        store,
        disk,
        imports: shared_store.is_none().then(|| directory.clone()),
        spill_policy: args.spill_policy,
        keep: manifest.keep,
        caller,
        access,
        meter,
        files,
        counters,
        halt,
    };
    let meter = Arc::clone(&worker.meter);
    let end = work(runtime, worker, stop)?;
    let (sent, received) = (meter.sent.load(Ordering::Relaxed), meter.received.load(Ordering::Relaxed));
    let (kept, spilled) = (meter.memory.kept(), meter.memory.spilled());
    info!(
        end = end.words(),
        sent_bytes = sent,
        received_bytes = received,
        kept_bytes = kept,
        spilled_bytes = spilled,
        "worker ends"
    );
    match end {
        End::Leave(LeaveReason::Clean) => {
            remove(&directory);
            Ok(true)
        }
        End::Leave(LeaveReason::Failed) => Err(anyhow!("the run has failed; see the coordinator's message")),
        // A drained worker is not to come back.
        End::Leave(LeaveReason::Done | LeaveReason::Drained) => Ok(true),
        End::Leave(LeaveReason::Stopped | LeaveReason::CoordinatorGoes) | End::Told => Ok(false),
    }
}

/// Returns the resource limits of this worker. Without `--memory` the host's memory is shared with its
/// other workers, and the second value is the memory of all of them.
fn resources(args: &JoinArguments) -> (Resources, Option<u64>) {
    let resources = args.resources.resources();
    if args.resources.has_memory() {
        return (resources, None);
    }
    let all = resources.memory_bytes;
    (Resources { memory_bytes: all / sharers() as u64, ..resources }, Some(all))
}

/// Returns the number of workers that share the memory, this one included.
fn sharers() -> usize {
    machine::sharers("fathom-worker")
}

/// Removes the files of a complete run from the stores. The results are with the coordinator.
fn remove(directory: &Path) {
    let path = directory.display();
    let removed = store_directory::remove_run(directory);
    match removed {
        Ok(bytes) => info!(%path, bytes, "store cleaned"),
        Err(error) => warn!(%path, %error, "store could not be cleaned"),
    }
}

/// Returns the address at which peers reach this worker. If the host is omitted, the coordinator fills in
/// the address that it sees.
fn advertised(args: &JoinArguments, port: u16) -> String {
    match &args.advertise {
        Some(reached) => reached.with_port(port),
        None if args.listen.ip().is_unspecified() => format!(":{port}"),
        None => format!("{}:{port}", host(args)),
    }
}

fn host(args: &JoinArguments) -> String {
    match args.listen.ip() {
        std::net::IpAddr::V6(ip) => format!("[{ip}]"),
        std::net::IpAddr::V4(ip) => ip.to_string(),
    }
}

/// Serves peers until the process ends.
fn serve(runtime: &Runtime, access: &Access, listener: TcpListener, exchange: Exchange) -> Result<()> {
    let _in_runtime = runtime.enter();
    let incoming = access.incoming(listener)?;
    let services = exchange.into_services(access);
    runtime.spawn(async move {
        let until_the_end = std::future::pending();
        if let Err(error) = server::serve(services, incoming, until_the_end).await {
            tracing::error!(error = &error as &dyn std::error::Error, "serving peers has ended");
        }
    });
    Ok(())
}

/// Works with its own kernel threads until the session ends.
fn work(runtime: Runtime, worker: Worker, stop: watch::Receiver<bool>) -> Result<End> {
    let (job, store, counters, halt) = (worker.job, worker.store, worker.counters, worker.halt);
    let threads = worker.identity.threads;
    let keeps_all = worker.keep == Keep::All;
    let mut compressing = None;
    std::thread::scope(|scope| {
        let (sender, ended) = mpsc::unbounded_channel();
        let tell = move |ended| sender.send(ended).is_ok();
        let orders = Orders::start(scope, threads, job, store, counters, halt, tell);
        let orders = orders.context("cannot start kernel threads")?;
        let end = runtime.block_on(worker.work(orders, ended, stop));
        // The kernel threads get no more commands, however the session ended.
        halt.store(true, Ordering::Relaxed);
        runtime.shutdown_timeout(SHUTDOWN_TIMEOUT);
        // The kernel threads end when nothing else uses the worker: layers are compressed to the end.
        compressing = keeps_all.then(|| doing("compressing the last layers"));
        end
    })
}

/// Returns a channel that is true from the first signal on. A second signal ends the process immediately.
fn stop_on_signals() -> Result<watch::Receiver<bool>> {
    let (told, stop) = watch::channel(false);
    on_request(move |_| {
        told.send_replace(true);
    })?;
    Ok(stop)
}
