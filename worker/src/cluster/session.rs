//! The session with the coordinator: orders come, outcomes go, and in between it is told that this worker lives.
//!
//! Three loops run side by side: one asks for orders, one prepares tasks for the kernel threads one after another, so that
//! what they read is here before they begin, and one beats. Nothing that is lost on the way matters: orders that did
//! not arrive are given again, and files whose reports did not are found again.

use crate::cluster::Meter;
use crate::cluster::exchange::Exchange;
use crate::cluster::fetch::{Fetcher, Holders, said};
use crate::cluster::home::recover;
use crate::cluster::inputs::AllInputs;
use crate::pool::{Ended, NoThreads, Orders};
use crate::{Counters, Job, Store, TaskError};
use anyhow::{Result, anyhow};
use backon::{Backoff, BackoffBuilder, ExponentialBuilder};
use fathom_command::{bad_input, drill};
use fathom_layer::{Disk, LayerError, free_bytes};
use fathom_proto::access::{Access, ConnectError, Connection};
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_proto::v1::{self, LeaveReason};
use fathom_proto::{Attempt, Done, Failure, Outcome, WorkerId, convert};
use fathom_run::{Depth, Keep, Task};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::task::JoinSet;
use tonic::{Code, Status};
use tracing::{debug, info, warn};

/// For a connection to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// Tasks of so much time are worth having here, to be done while more are asked for.
const WORTH_HAVING: Duration = Duration::from_millis(100);
/// No more for a thread.
const MOST_TASKS: usize = 32;
/// Copies that are taken at once.
const COPIES_AT_ONCE: usize = 4;
/// How often a task that is being prepared looks whether it should stop.
const HALT_CHECK: Duration = Duration::from_millis(50);
/// Messages of the coordinator are not larger.
const MOST_MESSAGE_BYTES: usize = 64 << 20;

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

/// Calls the coordinator.
#[derive(Clone, Debug)]
pub struct Caller {
    access: Access,
    address: String,
    /// How long it may be silent.
    patience: Duration,
    client: Arc<Mutex<Option<CoordinatorClient<Connection>>>>,
    heard: Arc<Mutex<Instant>>,
    is_away: Arc<AtomicBool>,
}

impl Caller {
    /// Of the coordinator at an address, which may be silent for as long as that.
    pub fn new(access: Access, address: String, patience: Duration) -> Self {
        Self {
            access,
            address,
            patience,
            client: Arc::default(),
            heard: Arc::new(Mutex::new(Instant::now())),
            is_away: Arc::default(),
        }
    }

    async fn client(&self) -> Result<CoordinatorClient<Connection>, ConnectError> {
        if let Some(client) = self.client.lock().expect("nothing panics with the client").clone() {
            return Ok(client);
        }
        let connection = self.access.connect(&self.address, CONNECT).await?;
        let client = CoordinatorClient::new(connection)
            .max_decoding_message_size(MOST_MESSAGE_BYTES)
            .max_encoding_message_size(MOST_MESSAGE_BYTES);
        *self.client.lock().expect("nothing panics with the client") = Some(client.clone());
        Ok(client)
    }

    /// Has a call made again and again, until it is answered, makes no sense, or patience is at an end.
    ///
    /// # Errors
    /// If it is not answered.
    pub async fn call<T, F>(&self, call: impl Fn(CoordinatorClient<Connection>) -> F) -> Result<T>
    where
        F: Future<Output = Result<tonic::Response<T>, Status>>,
    {
        let mut pauses = self.pauses();
        loop {
            let reason = match self.client().await {
                Ok(client) => match call(client).await {
                    Ok(response) => {
                        self.answered();
                        return Ok(response.into_inner());
                    }
                    Err(status) => {
                        let behind = ConnectError::behind(&status).cloned();
                        match behind {
                            Some(error) if !error.may_pass() => return Err(bad_input!("{error}")),
                            Some(error) => error.to_string(),
                            None if is_final(&status) => return Err(bad_input!("{}", status.message())),
                            None => said(&status),
                        }
                    }
                },
                Err(error) if error.may_pass() => error.to_string(),
                Err(error) => return Err(bad_input!("{error}")),
            };
            // A broken connection is made anew.
            *self.client.lock().expect("nothing panics with the client") = None;
            let silent = self.heard.lock().expect("nothing panics with the clock").elapsed();
            if silent > self.patience {
                return Err(anyhow!(
                    "the coordinator was silent for {} s: {reason}; the store is as it was, and the same command goes on",
                    silent.as_secs()
                ));
            }
            if !self.is_away.swap(true, Ordering::Relaxed) {
                warn!(
                    reason,
                    patience_s = self.patience.as_secs(),
                    "coordinator cannot be reached; trying again"
                );
            }
            tokio::time::sleep(pauses.next().unwrap_or(CONNECT)).await;
        }
    }

    fn answered(&self) {
        *self.heard.lock().expect("nothing panics with the clock") = Instant::now();
        if self.is_away.swap(false, Ordering::Relaxed) {
            info!("coordinator is back");
        }
    }

    fn pauses(&self) -> impl Backoff + use<> {
        ExponentialBuilder::default()
            .with_min_delay(Duration::from_millis(50))
            .with_max_delay(Duration::from_secs(10).min(self.patience))
            .without_max_times()
            .with_jitter()
            .build()
    }

    /// Asks what the run is.
    ///
    /// # Errors
    /// If the coordinator does not tell.
    pub async fn describe(&self, name: &str) -> Result<v1::DescribeRunResponse> {
        let request =
            v1::DescribeRunRequest { protocol_version: v1::PROTOCOL_VERSION, worker_name: name.into() };
        self.call(|mut client| {
            let request = request.clone();
            async move { client.describe_run(request).await }
        })
        .await
    }
}

/// Whether another call would end in the same way.
fn is_final(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unauthenticated
            | Code::PermissionDenied
            | Code::FailedPrecondition
            | Code::InvalidArgument
            | Code::Unimplemented
    )
}

/// What became of something that was ordered.
enum Happened {
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
    /// What peers get.
    pub exchange: Exchange,
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
struct Shared {
    worker: Worker,
    pool: Orders,
    fetcher: Fetcher,
    inputs: AllInputs,
    session: AtomicU64,
    registering: tokio::sync::Mutex<()>,
    /// The depths whose directories were made.
    prepared: Mutex<BTreeSet<Depth>>,
    holders: watch::Sender<Arc<Holders>>,
    underway: Mutex<Underway>,
    happened: mpsc::UnboundedSender<Happened>,
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

#[derive(Default)]
struct Underway {
    /// With the attempt that was ordered last.
    tasks: BTreeMap<Task, Attempt>,
    copies: BTreeSet<Task>,
    /// The depth of the newest task.
    depth: Option<Depth>,
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
        let (changed, _) = watch::channel(Arc::new(Holders::default()));
        let threads = self.identity.threads;
        let shared = Arc::new(Shared {
            fetcher: Fetcher::new(self.access.clone(), self.job.geometry, Arc::clone(&self.meter)),
            inputs: AllInputs::new(self.job, self.store, self.imports.clone()),
            worker: self,
            pool,
            session: AtomicU64::new(0),
            registering: tokio::sync::Mutex::default(),
            prepared: Mutex::default(),
            holders: changed,
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
        let result = loop {
            let busy = shared.underway().tasks.len();
            if let Some(end) = leaving
                && busy == 0
            {
                break Ok(end);
            }
            // There is always a request with the coordinator, for there are orders that are no tasks. One that asked for no tasks is
            // followed by one that does, when there is room for half of what may be here; the coordinator answers the
            // older one then, with nothing.
            let most = pace.most(threads);
            let free = if 2 * busy <= most { (most - busy) as u32 } else { 0 };
            let is_enough = asked.is_some_and(|asked| asked.tasks > 0 || free == 0);
            if leaving.is_none() && !is_enough {
                number += 1;
                asked = Some(Asked { number, tasks: free });
                while asks.try_join_next().is_some() {}
                asks.spawn(Arc::clone(&shared).ask(number, free, answers.clone()));
            }
            // What ends while a report is on its way waits for the next one.
            if !outcomes.is_empty() && reporting.is_empty() {
                reporting.spawn(Arc::clone(&shared).report(std::mem::take(&mut outcomes)));
            }
            tokio::select! {
                Some(_) = reporting.join_next() => {}
                ended = ended.recv() => match ended {
                    Some(Ended { task, result, took }) => {
                        pace.note(took);
                        outcomes.extend(shared.outcome(task, result, took));
                    }
                    None => break Err(NoThreads.into()),
                },
                Some(happened) = happens.recv() => match happened {
                    Happened::Ended(outcome) => outcomes.extend(shared.ended(outcome)),
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
        let _ = tokio::time::timeout(CONNECT, async {
            while reporting.join_next().await.is_some() {}
            last.await;
        })
        .await;
        shared.worker.halt.store(true, Ordering::Relaxed);
        if let Some(&newest) = shared.prepared().last() {
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
            let _ = tokio::time::timeout(CONNECT, left).await;
        }
        result
    }
}

impl Shared {
    fn underway(&self) -> std::sync::MutexGuard<'_, Underway> {
        self.underway.lock().expect("nothing panics with what is under way")
    }

    /// Joins the run. Returns how often to beat.
    async fn register(&self) -> Result<Duration> {
        let Worker { identity, job, store, imports, .. } = &self.worker;
        let inventory = match imports {
            Some(_) => {
                let whole = tokio::task::block_in_place(|| self.inventory())?;
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
            free_bytes: free_bytes(&store.layer_directory(Depth(0))).unwrap_or(0),
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
            let version = self.holders.borrow().version;
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
                self.holders.send_replace(Arc::new(Holders::new(holders)));
            }
            let orders = reply.orders.into_iter().filter_map(|order| order.kind).collect();
            let _ = answers.send((number, orders));
            Ok(())
        };
        if let Err(error) = asked.await {
            let _ = self.happened.send(Happened::Broken(error));
        }
    }

    /// Does what is ordered, or has it done. Returns why to leave, if that is ordered.
    fn obey(
        self: &Arc<Self>,
        order: v1::order::Kind,
        prepare: &mpsc::UnboundedSender<Task>,
    ) -> Result<Option<LeaveReason>> {
        use v1::order::Kind;
        let geometry = &self.worker.job.geometry;
        match order {
            Kind::MakeShard(v1::MakeShard { file, attempt }) => {
                let task = convert::file(file.as_ref(), geometry)?;
                let attempt = attempt.map_or(Attempt { epoch: 0, number: 0 }, Attempt::from);
                let mut underway = self.underway();
                if underway.depth != Some(task.depth) {
                    underway.depth = Some(task.depth);
                    self.worker.counters.begin();
                }
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "task ordered");
                // One that was ordered before, in another session, goes on for this attempt.
                if underway.tasks.insert(task, attempt).is_none() {
                    let _ = prepare.send(task);
                }
            }
            Kind::TakeCopy(v1::TakeCopy { file, addresses }) => {
                let task = convert::file(file.as_ref(), geometry)?;
                if self.underway().copies.insert(task) {
                    debug!(depth = task.depth.0, shard = task.shard.0, "copy ordered");
                    tokio::spawn(Arc::clone(self).copy(task, addresses));
                }
            }
            Kind::Discard(file) => {
                let task = convert::file(Some(&file), geometry)?;
                tokio::task::spawn_blocking({
                    let this = Arc::clone(self);
                    move || this.discard(task)
                });
            }
            Kind::RetireLayer(v1::RetireLayer { depth }) => {
                let this = Arc::clone(self);
                tokio::task::spawn_blocking(move || {
                    // What stays is removed when this worker registers next.
                    if let Err(error) = this.retire(Depth(depth)) {
                        warn!(depth, error = format!("{error:#}"), "layer not retired");
                    }
                });
            }
            Kind::Leave(v1::Leave { reason }) => {
                let reason = LeaveReason::try_from(reason).unwrap_or(LeaveReason::Unspecified);
                if reason != LeaveReason::CoordinatorGoes {
                    return Ok(Some(reason));
                }
                info!("the coordinator goes, and is waited for");
            }
        }
        Ok(None)
    }

    /// Deletes a file that is said to be damaged, if it is: what a peer says may be the fault of its own memory, and this may be
    /// the last copy. One that is whole is told of.
    fn discard(&self, task: Task) {
        let Worker { store, job, .. } = &self.worker;
        let (depth, shard) = (task.depth.0, task.shard.0);
        self.forget(task.depth);
        let checked = store
            .open_shard(&job.geometry, task.depth, task.shard)
            .and_then(|file| file.check_all().map(|()| file.bytes()));
        match checked {
            Ok(bytes) => {
                warn!(depth, shard, "a file was said to be damaged, and is whole: it stays");
                let result = Ok(Done::Copied(bytes));
                let _ = self.happened.send(Happened::Ended(Outcome { task, attempt: None, result }));
            }
            Err(error) => {
                warn!(depth, shard, %error, "damaged file discarded");
                if let Err(error) = store.discard(task) {
                    warn!(depth, shard, %error, "it cannot be deleted");
                }
            }
        }
    }

    fn forget(&self, depth: Depth) {
        self.inputs.forget(depth);
        self.worker.exchange.forget(depth);
    }

    fn retire(&self, depth: Depth) -> Result<()> {
        self.forget(depth);
        self.prepared().remove(&depth);
        let Worker { store, job, keep, .. } = &self.worker;
        match keep {
            Keep::Last => store.remove(depth)?,
            Keep::All => {
                for shard in store.shards(depth)? {
                    store.archive_shard(&job.geometry, depth, shard)?;
                }
            }
        }
        debug!(depth = depth.0, "layer retired");
        Ok(())
    }

    async fn copy(self: Arc<Self>, task: Task, addresses: Vec<String>) {
        static TURNS: Semaphore = Semaphore::const_new(COPIES_AT_ONCE);
        let _turn = TURNS.acquire().await;
        let Worker { store, disk, .. } = self.worker;
        let copied = self.fetcher.copy(store, disk, task, &addresses).await;
        let result = copied.map(Done::Copied);
        if result.is_ok() {
            self.inputs.came(task);
        }
        let _ = self.happened.send(Happened::Ended(Outcome { task, attempt: None, result }));
    }

    /// Prepares tasks in the order in which they come.
    async fn prepare_all(self: Arc<Self>, mut tasks: mpsc::UnboundedReceiver<Task>) {
        let mut ahead: Option<Depth> = None;
        while let Some(task) = tasks.recv().await {
            let prepared = match self.worker.halt.load(Ordering::Relaxed) {
                true => Err(Failure::Stopped),
                false => tokio::select! {
                    prepared = self.prepare(task) => prepared,
                    // A peer that is silent is not waited for.
                    () = self.halted() => Err(Failure::Stopped),
                },
            };
            let next = task.depth.next();
            if prepared.is_ok() && ahead.replace(next) != Some(next) {
                // While tasks are done there is time for the next layer's directory.
                let this = Arc::clone(&self);
                tokio::task::spawn_blocking(move || this.prepare_directory(next));
            }
            if let Err(failure) = prepared {
                let attempt = self.underway().tasks.get(&task).copied();
                let _ = self.happened.send(Happened::Ended(Outcome { task, attempt, result: Err(failure) }));
            }
        }
    }

    async fn halted(&self) {
        while !self.worker.halt.load(Ordering::Relaxed) {
            tokio::time::sleep(HALT_CHECK).await;
        }
    }

    /// Has all that a task reads here, and gives it to the kernel threads.
    async fn prepare(&self, task: Task) -> Result<(), Failure> {
        let Worker { job, store, disk, imports, .. } = &self.worker;
        let failed = |error: LayerError| self.failure(&error);
        let inputs = tokio::task::block_in_place(|| self.inputs.of(task.depth)).map_err(failed)?;
        if imports.is_some() {
            let holders = Arc::clone(&self.holders.borrow());
            for file in inputs.lacking(task.shard) {
                self.fetcher.copy(store, *disk, file, &holders.of(file)).await?;
                inputs.add(job, store, file).map_err(failed)?;
            }
            let needed = tokio::task::block_in_place(|| inputs.needed(job, task.shard)).map_err(failed)?;
            if let (Some(newest), Some(&depth)) = (inputs.layers.first(), inputs.depths.first())
                && !needed.is_empty()
            {
                self.fetcher.cosets(depth, &needed, newest, &holders).await?;
            }
        }
        self.prepare_directory(task.depth).map_err(failed)?;
        drill::point("computing");
        self.pool.submit(task, inputs.layers);
        Ok(())
    }

    /// Makes the directory of a layer, once: its name must be durable, and that takes the disk longer than a small task.
    fn prepare_directory(&self, depth: Depth) -> Result<(), LayerError> {
        if !self.prepared().contains(&depth) {
            self.worker.store.prepare(depth)?;
            self.prepared().insert(depth);
        }
        Ok(())
    }

    fn prepared(&self) -> std::sync::MutexGuard<'_, BTreeSet<Depth>> {
        self.prepared.lock().expect("nothing panics with it")
    }

    /// What a kernel thread's task has come to.
    fn outcome(
        &self,
        task: Task,
        result: Result<fathom_run::ShardReport, TaskError>,
        took: Duration,
    ) -> Option<v1::Outcome> {
        let attempt = self.underway().tasks.get(&task).copied();
        let result = match result {
            Ok(report) => {
                debug!(
                    depth = task.depth.0,
                    shard = task.shard.0,
                    attempt = attempt.map(tracing::field::display),
                    states = report.states,
                    bytes = report.bytes,
                    seconds = took.as_secs_f64(),
                    "task done"
                );
                // A file that was in the way of an older attempt may be read as a peer's source by now.
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
    fn ended(&self, outcome: Outcome) -> Option<v1::Outcome> {
        let Outcome { task, attempt, .. } = &outcome;
        let mut underway = self.underway();
        match attempt {
            Some(_) => underway.tasks.remove(task).is_some(),
            None => underway.copies.remove(task),
        };
        if let Err(failure) = &outcome.result {
            info!(
                depth = task.depth.0,
                shard = task.shard.0,
                attempt = attempt.map(tracing::field::display),
                reason = %failure,
                "not done"
            );
        }
        Some(outcome.into())
    }

    /// What a failure of the disk means to the coordinator.
    fn failure(&self, error: &LayerError) -> Failure {
        let message = crate::error::chain(error);
        let file = self.worker.store.task_of(error.path());
        match file {
            _ if error.is_disk_full() => Failure::DiskFull(message),
            Some(file) if error.is_damage() || error.is_missing() => {
                self.forget(file.depth);
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
        drill::point("reporting");
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
