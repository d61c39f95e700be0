//! The session with the coordinator: orders come, outcomes go, and in between it is told that this worker lives.
//!
//! Three loops run side by side: one asks for orders and has them carried out ([`orders`](super::orders)), one prepares tasks for the
//! kernel threads, so that what they read is here before they begin ([`prepare`](super::prepare)), and one beats. Nothing
//! that is lost on the way matters: orders that did not arrive are given again, and files whose reports did not are found
//! again.

use crate::cluster::Meter;
use crate::cluster::caller::Caller;
use crate::cluster::fetch::Fetcher;
use crate::cluster::files::OpenFiles;
use crate::cluster::holders::{Holders, KnownHolders};
use crate::cluster::home::recover;
use crate::cluster::inputs::AllInputs;
use anyhow::Result;
use fathom_command::failpoint;
use fathom_layer::{Disk, LayerError};
use fathom_proto::access::Access;
use fathom_proto::v1::{self, LeaveReason};
use fathom_proto::{Attempt, Done, Failure, Outcome};
use fathom_run::WorkerId;
use fathom_run::{Depth, Keep, Task};
use fathom_task::pool::{Ended, NoThreads, Orders};
use fathom_task::{Counters, Job, Store, TaskError};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Instant, sleep_until};
use tracing::{debug, info, warn};

/// Tasks of so much time are worth having here, to be done while more are asked for.
const WORTH_HAVING: Duration = Duration::from_millis(200);
/// No more for a thread.
const MOST_TASKS: usize = 32;
/// What ends waits so long for more to be reported with it, unless there is nothing else to do.
const TOGETHER: Duration = Duration::from_millis(100);
/// For what is said last.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// What a worker is, for its coordinator.
#[derive(Clone, Debug)]
pub struct Identity {
    /// By its store.
    pub id: WorkerId,
    /// For people.
    pub name: String,
    /// Where peers reach its exchange.
    pub address: String,
    /// Kernel threads.
    pub threads: usize,
    /// Bytes of memory that it takes.
    pub memory_bytes: u64,
}

/// What became of something that was ordered.
pub(super) enum Happened {
    /// A task or a copy ended.
    Ended(Outcome),
    /// The process was told to stop.
    Told,
    /// The session cannot go on.
    Broken(anyhow::Error),
}

/// A worker that has all that it needs.
pub struct Worker {
    /// What it is.
    pub identity: Identity,
    /// What it works on.
    pub job: &'static Job,
    /// Where files lie.
    pub store: &'static Store<'static>,
    /// How they are written.
    pub disk: &'static dyn Disk,
    /// Its directory, for cosets from peers; `None` if all files are in a store that all workers share.
    pub imports: Option<PathBuf>,
    /// What becomes of layers that are read no longer.
    pub keep: Keep,
    /// How the coordinator is called.
    pub caller: Caller,
    /// How peers are called.
    pub access: Access,
    /// What went over the network.
    pub meter: Arc<Meter>,
    /// The files that are open here, for tasks and for peers.
    pub files: OpenFiles,
    /// What the kernel threads have done.
    pub counters: &'static Counters,
    /// Set to have them stop.
    pub halt: &'static AtomicBool,
}

/// How a session ended in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The coordinator said so.
    Leave(LeaveReason),
    /// This process was told to stop.
    Told,
}

/// What the loops share.
pub(super) struct Shared {
    pub(super) worker: Worker,
    pub(super) pool: Orders,
    pub(super) fetcher: Fetcher,
    pub(super) inputs: AllInputs,
    session: AtomicU64,
    registering: tokio::sync::Mutex<()>,
    /// The depths whose directories were made.
    prepared: Mutex<BTreeSet<Depth>>,
    pub(super) holders: KnownHolders,
    underway: Mutex<Underway>,
    pub(super) happened: mpsc::UnboundedSender<Happened>,
}

/// A request for orders that is not answered.
#[derive(Clone, Copy)]
struct Asked {
    number: u64,
    tasks: u32,
}

/// How long tasks take, and so how many are worth having here: as many as are done while more are asked for.
#[derive(Default)]
struct Pace {
    /// The mean of the last ones.
    took: Duration,
}

impl Pace {
    fn note(&mut self, took: Duration) {
        self.took = (self.took * 3 + took) / 4;
    }

    /// Tasks for so many threads: two each, one to be done and one to be prepared, or more if they are short.
    fn most(&self, threads: usize) -> usize {
        let short = WORTH_HAVING.as_nanos() / self.took.as_nanos().max(1);
        threads * (short as usize).clamp(2, MOST_TASKS)
    }
}

/// What was ordered and has not ended.
#[derive(Default)]
pub(super) struct Underway {
    /// With the attempt that was ordered last.
    pub(super) tasks: BTreeMap<Task, Attempt>,
    pub(super) copies: BTreeSet<Task>,
    /// The depth of the newest task.
    pub(super) depth: Option<Depth>,
}

impl Worker {
    /// Works until the coordinator ends the session, or `stop` is true.
    ///
    /// # Errors
    /// If the coordinator cannot be reached for too long, or refuses this worker.
    pub async fn work(
        self,
        pool: Orders,
        mut ended: mpsc::UnboundedReceiver<Ended>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<End> {
        let (happened, mut happens) = mpsc::unbounded_channel();
        let (prepare, to_prepare) = mpsc::unbounded_channel();
        let threads = self.identity.threads;
        let shared = Arc::new(Shared {
            fetcher: Fetcher::new(self.access.clone(), self.job.geometry, Arc::clone(&self.meter)),
            inputs: AllInputs::new(self.job, self.store, self.files.clone(), self.imports.clone()),
            worker: self,
            pool,
            session: AtomicU64::new(0),
            registering: tokio::sync::Mutex::default(),
            prepared: Mutex::default(),
            holders: KnownHolders::default(),
            underway: Mutex::default(),
            happened,
        });
        let interval = tokio::select! {
            interval = shared.register() => interval?,
            _ = stop.wait_for(|&told| told) => return Ok(End::Told),
        };
        let told = shared.happened.clone();
        tokio::spawn(async move {
            let _ = stop.wait_for(|&told| told).await;
            let _ = told.send(Happened::Told);
        });
        let beating = tokio::spawn(Arc::clone(&shared).beat(interval));
        let preparing = tokio::spawn(Arc::clone(&shared).prepare_all(to_prepare));
        let (answers, mut answered) = mpsc::unbounded_channel();
        let mut asks = JoinSet::new();
        let mut asked: Option<Asked> = None;
        let mut number = 0;
        let mut pace = Pace::default();
        let mut reporting = JoinSet::new();
        let mut leaving: Option<End> = None;
        let mut outcomes = Vec::new();
        let mut due = Instant::now();
        let mut ask_again = Instant::now();
        let result = loop {
            let busy = shared.underway().tasks.len();
            if let Some(end) = leaving
                && busy == 0
            {
                break Ok(end);
            }
            // There is a request with the coordinator most of the time, for there are orders that are no tasks. One that asked for no
            // tasks is followed by one that does, when there is room for half of what may be here; the coordinator answers the
            // older one then, with nothing. Where that will be soon it is waited for.
            let most = pace.most(threads);
            let free = if 2 * busy <= most { (most - busy) as u32 } else { 0 };
            let is_enough = match asked {
                Some(asked) => asked.tasks > 0 || free == 0,
                None => free == 0 && Instant::now() < ask_again,
            };
            if leaving.is_none() && !is_enough {
                number += 1;
                asked = Some(Asked { number, tasks: free });
                while asks.try_join_next().is_some() {}
                asks.spawn(Arc::clone(&shared).ask(number, free, answers.clone()));
            }
            // What ends while a report is on its way waits for the next one, and for a moment if there is more to come.
            let is_due = busy == 0 || Instant::now() >= due;
            if !outcomes.is_empty() && reporting.is_empty() && is_due {
                reporting.spawn(Arc::clone(&shared).report(std::mem::take(&mut outcomes)));
            }
            if outcomes.is_empty() {
                due = Instant::now() + TOGETHER;
            }
            tokio::select! {
                () = sleep_until(due), if !outcomes.is_empty() && reporting.is_empty() => {}
                () = sleep_until(ask_again), if asked.is_none() && leaving.is_none() => {}
                Some(_) = reporting.join_next() => {}
                ended = ended.recv() => match ended {
                    Some(ended) => {
                        pace.note(ended.took);
                        outcomes.push(shared.outcome(ended));
                    }
                    None => break Err(NoThreads.into()),
                },
                Some(happened) = happens.recv() => match happened {
                    Happened::Ended(outcome) => outcomes.push(shared.ended(outcome)),
                    Happened::Told => {
                        info!("stopping at the next coset");
                        shared.worker.halt.store(true, Ordering::Relaxed);
                        leaving = leaving.or(Some(End::Told));
                    }
                    Happened::Broken(error) => break Err(error),
                },
                Some(answer) = answered.recv() => {
                    let (answered, orders): (u64, Vec<v1::order::Kind>) = answer;
                    asked = asked.filter(|asked| asked.number != answered);
                    ask_again = Instant::now() + WORTH_HAVING;
                    for order in orders {
                        if let Some(end) = shared.obey(order, &prepare)? {
                            if end != LeaveReason::Done && end != LeaveReason::Drained {
                                shared.worker.halt.store(true, Ordering::Relaxed);
                            }
                            leaving = leaving.or(Some(End::Leave(end)));
                        }
                    }
                }
            }
        };
        // If the coordinator cannot be told, the files tell it when this worker comes back.
        let last = Arc::clone(&shared).report(outcomes);
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, async {
            while reporting.join_next().await.is_some() {}
            last.await;
        })
        .await;
        shared.worker.halt.store(true, Ordering::Relaxed);
        if let Some(&newest) = shared.prepared().last()
            && shared.worker.imports.is_some()
        {
            // It was made ahead, and stays if there is anything in it.
            let _ = std::fs::remove_dir(shared.worker.store.layer_directory(newest));
        }
        beating.abort();
        preparing.abort();
        asks.abort_all();
        if result.is_ok() {
            let session = shared.session.load(Ordering::Relaxed);
            let last = v1::HeartbeatRequest { session, progress: Some(shared.progress()) };
            let left = async {
                let mut client = shared.worker.caller.client().await.ok()?;
                client.heartbeat(last).await.ok()?;
                client.leave(v1::LeaveRequest { session }).await.ok()
            };
            // If it cannot be told, it will notice.
            let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, left).await;
        }
        result
    }
}

impl Shared {
    pub(super) fn underway(&self) -> MutexGuard<'_, Underway> {
        self.underway.lock().expect("nothing panics with what is under way")
    }

    pub(super) fn prepared(&self) -> MutexGuard<'_, BTreeSet<Depth>> {
        self.prepared.lock().expect("nothing panics with it")
    }

    /// Joins the run. Returns how often to beat.
    async fn register(&self) -> Result<Duration> {
        let Worker { identity, job, store, imports, .. } = &self.worker;
        let inventory = match imports {
            Some(_) => {
                let whole = block_in_place(|| self.inventory())?;
                whole.into_iter().map(Into::into).collect()
            }
            None => Vec::new(),
        };
        let request = v1::RegisterRequest {
            protocol_version: v1::PROTOCOL_VERSION,
            fingerprint: job.geometry.fingerprint.to_vec().into(),
            worker_id: identity.id.0.to_vec().into(),
            name: identity.name.clone(),
            exchange_address: identity.address.clone(),
            threads: identity.threads as u32,
            memory_bytes: identity.memory_bytes,
            kernel: job.kernel().into(),
            version: env!("CARGO_PKG_VERSION").into(),
            inventory,
        };
        let registered = self
            .worker
            .caller
            .call(|mut client| {
                let request = request.clone();
                async move { client.register(request).await }
            })
            .await?;
        self.holders.begin_session(registered.session);
        self.session.store(registered.session, Ordering::Relaxed);
        if imports.is_some() {
            let needed: BTreeSet<Depth> = registered.needed_depths.into_iter().map(Depth).collect();
            for depth in store.depths()?.into_iter().filter(|depth| !needed.contains(depth)) {
                self.retire(depth)?;
            }
        }
        info!(session = registered.session, "registered");
        Ok(Duration::from_millis(registered.heartbeat_interval_ms.max(10)))
    }

    /// The whole files in the store. Before the first session unfinished ones are removed; later some may be under way.
    fn inventory(&self) -> Result<Vec<Task>> {
        let Worker { store, job, .. } = &self.worker;
        if self.session.load(Ordering::Relaxed) == 0 {
            return recover(store, &job.geometry);
        }
        let mut whole = Vec::new();
        for depth in store.depths()? {
            whole.extend(store.shards(depth)?.into_iter().map(|shard| Task { depth, shard }));
        }
        Ok(whole)
    }

    /// Registers again, because the coordinator does not know the session any more.
    async fn register_again(&self, ended: u64) -> Result<()> {
        // The other loops may have found out too.
        let _one_at_a_time = self.registering.lock().await;
        if self.session.load(Ordering::Relaxed) != ended {
            return Ok(());
        }
        warn!(session = ended, "the session has ended; registering again");
        self.register().await.map(|_| ())
    }

    async fn beat(self: Arc<Self>, interval: Duration) {
        let mut ticks = tokio::time::interval(interval);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.beat_once().await {
                let _ = self.happened.send(Happened::Broken(error));
                return;
            }
        }
    }

    async fn beat_once(&self) -> Result<()> {
        let session = self.session.load(Ordering::Relaxed);
        let request = v1::HeartbeatRequest { session, progress: Some(self.progress()) };
        let reply = self
            .worker
            .caller
            .call(|mut client| {
                let request = request.clone();
                async move { client.heartbeat(request).await }
            })
            .await?;
        if !reply.known {
            self.register_again(session).await?;
        }
        Ok(())
    }

    fn progress(&self) -> v1::Progress {
        let Worker { counters, meter, store, .. } = &self.worker;
        let underway = self.underway();
        let tasks = underway.tasks.keys().chain(&underway.copies);
        v1::Progress {
            depth: underway.depth.map_or(0, |depth| depth.0),
            cosets: counters.cosets.load(Ordering::Relaxed),
            states: counters.states.load(Ordering::Relaxed),
            sent_bytes: meter.sent.load(Ordering::Relaxed),
            received_bytes: meter.received.load(Ordering::Relaxed),
            free_bytes: self.worker.disk.free_bytes(&store.layer_directory(Depth(0))).unwrap_or(0),
            underway: tasks.map(|&task| task.into()).collect(),
        }
    }

    /// Asks for orders once, and passes them on with the number of the request.
    async fn ask(
        self: Arc<Self>,
        number: u64,
        free: u32,
        answers: mpsc::UnboundedSender<(u64, Vec<v1::order::Kind>)>,
    ) {
        let asked = async {
            let session = self.session.load(Ordering::Relaxed);
            let version = self.holders.newest().version;
            debug!(free, "asking for orders");
            let request = v1::TakeOrdersRequest { session, tasks: free, holders_version: version };
            let reply = self
                .worker
                .caller
                .call(|mut client| async move { client.take_orders(request).await })
                .await?;
            if !reply.known {
                self.register_again(session).await?;
            }
            if let Some(holders) = reply.holders {
                self.holders.update(session, Holders::new(holders));
            }
            let orders = reply.orders.into_iter().filter_map(|order| order.kind).collect();
            let _ = answers.send((number, orders));
            Ok(())
        };
        if let Err(error) = asked.await {
            let _ = self.happened.send(Happened::Broken(error));
        }
    }

    /// What a kernel thread's task has come to.
    fn outcome(&self, ended: Ended) -> v1::Outcome {
        let Ended { task, result, took } = ended;
        let attempt = self.underway().tasks.get(&task).copied();
        let result = match result {
            Ok(report) => {
                debug!(
                    depth = task.depth.0,
                    shard = task.shard.0,
                    attempt = attempt.map(tracing::field::display),
                    states = report.totals.states,
                    bytes = report.bytes,
                    seconds = took.as_secs_f64(),
                    "task done"
                );
                Ok(Done::Made(report))
            }
            Err(TaskError::Layer(error)) => Err(self.failure(&error)),
            Err(TaskError::Stopped) => Err(Failure::Stopped),
            Err(error @ TaskError::TooManyStates { .. }) => Err(Failure::Contradiction(error.to_string())),
            Err(error @ TaskError::Panicked { .. }) => Err(Failure::Other(error.to_string())),
        };
        self.ended(Outcome { task, attempt, result })
    }

    /// Notes that something ended. Returns what is to be reported of it.
    fn ended(&self, outcome: Outcome) -> v1::Outcome {
        let Outcome { task, attempt, .. } = &outcome;
        let mut underway = self.underway();
        if attempt.is_some() {
            underway.tasks.remove(task);
        } else {
            underway.copies.remove(task);
        }
        if let Err(failure) = &outcome.result {
            info!(
                depth = task.depth.0,
                shard = task.shard.0,
                attempt = attempt.map(tracing::field::display),
                reason = %failure,
                "not done"
            );
        }
        outcome.into()
    }

    /// What a failure of the disk means to the coordinator.
    pub(super) fn failure(&self, error: &LayerError) -> Failure {
        let message = fathom_task::error::chain(error);
        let file = self.worker.store.task_of(error.path());
        match file {
            _ if error.is_disk_full() => Failure::DiskFull(message),
            Some(file) if error.is_damage() || error.is_missing() => {
                self.inputs.forget(file.depth);
                Failure::Damaged { file, address: None, message }
            }
            _ => Failure::Other(message),
        }
    }

    /// Reports until the coordinator has heard it, or knows nothing of the session any more.
    async fn report(self: Arc<Self>, outcomes: Vec<v1::Outcome>) {
        if outcomes.is_empty() {
            return;
        }
        let session = self.session.load(Ordering::Relaxed);
        failpoint::point("reporting");
        let request = v1::ReportRequest { session, outcomes };
        let reported = async {
            let reply = self
                .worker
                .caller
                .call(|mut client| {
                    let request = request.clone();
                    async move { client.report(request).await }
                })
                .await?;
            if !reply.known {
                // The files are told of in the inventory.
                self.register_again(session).await?;
            }
            Ok(())
        };
        if let Err(error) = reported.await {
            let _ = self.happened.send(Happened::Broken(error));
        }
    }
}
