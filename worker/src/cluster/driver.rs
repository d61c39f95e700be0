//! Carries out the decisions of the [session](super::session): calls the coordinator, and starts tasks and
//! copies.
//!
//! One loop passes the events to the session, one by one, and never waits for a call or the disk: each call
//! is a separate tokio task, and its response comes back as an [`Input`]. Beside the loop, `prepare` fetches
//! the inputs of tasks before the kernel threads start them, and `completion` handles finished tasks.
//! `commands` copies, discards and retires files.

mod commands;
mod completion;
mod prepare;

use crate::cluster::coordinator_client::Caller;
use crate::cluster::files::OpenFiles;
use crate::cluster::holders::Holders;
use crate::cluster::inputs::AllInputs;
use crate::cluster::peer_client::Fetcher;
use crate::cluster::session::{Action, End, Input, Session};
use crate::cluster::store_directory::recover;
use crate::cluster::{Meter, failure};
use anyhow::Result;
use completion::Unreported;
use fathom_command::{failpoint, machine};
use fathom_engine::run::{Depth, Keep, Task};
use fathom_engine::task::expand::Leftover;
use fathom_engine::task::pool::{Ended, NoThreads, Orders, Purpose};
use fathom_engine::task::{Counters, Job, SpillPolicy, Store};
use fathom_layer::{Disk, LayerError};
use fathom_proto::access::Access;
use fathom_proto::access::Connection;
use fathom_proto::v1;
use fathom_proto::v1::coordinator_client::CoordinatorClient;
use fathom_proto::{Failure, Outcome, Sealed, StoredFile, Usage, WorkerId, convert};
use prepare::Work;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::{JoinSet, block_in_place};
use tokio::time::{Instant, sleep_until};
use tonic::Response;
use tracing::warn;
use uuid::Uuid;

type Client = CoordinatorClient<Connection>;

/// Time for the last report, and again for leaving, when a worker ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// How often a worker that ends while it registers checks whether the coordinator is still there.
const REGISTRATION_POLL: Duration = Duration::from_millis(50);

/// A worker's description of itself for the coordinator.
#[derive(Clone, Debug)]
pub struct Identity {
    /// The id of the worker's store.
    pub id: WorkerId,
    /// The display name.
    pub name: String,
    /// The address at which peers reach the worker's exchange.
    pub address: String,
    /// Kernel threads.
    pub threads: usize,
    /// The memory limit, in bytes.
    pub memory_bytes: u64,
    /// Maximum size in bytes of the files in its store, if there is a limit.
    pub disk_limit_bytes: Option<u64>,
}

/// A worker that is ready to work.
pub struct Worker {
    /// The worker's description of itself.
    pub identity: Identity,
    /// The run, with the tables for its tasks.
    pub job: &'static Job,
    /// The store of the layer files.
    pub store: &'static Store<'static>,
    /// The disk that files are written to.
    pub disk: &'static dyn Disk,
    /// The directory for cosets from peers; `None` if all files are in a store that all workers share.
    pub imports: Option<PathBuf>,
    /// What happens to cosets from peers that exceed the memory for them.
    pub spill_policy: SpillPolicy,
    /// Which layers are kept once they are no longer read.
    pub keep: Keep,
    /// Calls the coordinator.
    pub caller: Caller,
    /// The credentials for calls to peers.
    pub access: Access,
    /// Traffic with peers.
    pub meter: Arc<Meter>,
    /// The open files, for tasks and for peers.
    pub files: OpenFiles,
    /// Counts of what the kernel threads have done.
    pub counters: &'static Counters,
    /// Set to stop the kernel threads.
    pub halt: &'static AtomicBool,
}

/// Calls to the coordinator under way.
#[derive(Default)]
struct Calls {
    /// Reports. The worker waits for them when it ends.
    reports: JoinSet<()>,
    /// All other calls, and copies of files.
    others: JoinSet<()>,
}

/// The state that the loop and its calls share.
struct Shared {
    worker: Worker,
    pool: Orders<'static>,
    fetcher: Arc<Fetcher>,
    inputs: AllInputs,
    /// The number of this process in registrations, and the number of its last one.
    process: u64,
    registrations: AtomicU64,
    /// The depths whose directories were created.
    prepared: Mutex<BTreeSet<Depth>>,
    /// The number of tasks that the kernel threads have.
    computing: AtomicUsize,
    /// Signals that a task has ended.
    task_ended: Notify,
    /// The tasks that have ended and are not reported yet.
    unreported: Unreported,
    /// The tasks whose inputs are being fetched, or are about to be.
    fetching: Mutex<BTreeSet<Task>>,
    /// The holder map of the present session.
    holders: Mutex<Arc<Holders>>,
    /// The depth of the newest task.
    depth: Mutex<Option<Depth>>,
    /// The layers that this process has compressed. Locked while it retires more, so that no layer is
    /// compressed by two threads.
    compressed: Mutex<BTreeSet<Depth>>,
    /// Whether this process was told to stop.
    stop: watch::Receiver<bool>,
    /// Sends events to the loop, or the error that ends the session.
    inputs_of_session: mpsc::UnboundedSender<Result<Input>>,
}

impl Worker {
    /// Works until the coordinator ends the session, or `stop` is true. Boxed, so that all of the work is
    /// compiled with this library.
    ///
    /// # Errors
    /// If the coordinator cannot be reached for too long, or refuses this worker.
    pub fn work(
        self,
        pool: Orders<'static>,
        ended: mpsc::UnboundedReceiver<Ended>,
        stop: watch::Receiver<bool>,
    ) -> Pin<Box<dyn Future<Output = Result<End>>>> {
        Box::pin(self.session(pool, ended, stop))
    }

    async fn session(
        self,
        pool: Orders<'static>,
        mut ended: mpsc::UnboundedReceiver<Ended>,
        mut stop: watch::Receiver<bool>,
    ) -> Result<End> {
        let (sender, mut happened) = mpsc::unbounded_channel();
        let (prepare, to_prepare) = mpsc::unbounded_channel();
        let (mut session, first) = Session::begin(self.identity.threads);
        let shared = Arc::new(Shared {
            fetcher: Arc::new(Fetcher::new(self.access.clone(), self.job.geometry, Arc::clone(&self.meter))),
            inputs: AllInputs::new(
                self.job,
                self.store,
                self.files.clone(),
                self.keep,
                self.imports.clone(),
                Arc::clone(&self.meter.memory),
                self.spill_policy,
            ),
            worker: self,
            pool,
            process: Uuid::new_v4().as_u64_pair().0 | 1,
            registrations: AtomicU64::new(0),
            prepared: Mutex::default(),
            computing: AtomicUsize::new(0),
            task_ended: Notify::new(),
            unreported: Unreported::default(),
            fetching: Mutex::default(),
            holders: Mutex::default(),
            depth: Mutex::default(),
            compressed: Mutex::default(),
            stop: stop.clone(),
            inputs_of_session: sender,
        });
        let told = Arc::clone(&shared);
        tokio::spawn(async move {
            if stop.wait_for(|&told| told).await.is_ok() {
                told.happened(Input::Stop);
            }
        });
        let (runtime, preparing) = (Handle::current(), Arc::clone(&shared));
        // It reads files, and would otherwise move the runtime to another thread each time.
        let preparing =
            tokio::task::spawn_blocking(move || runtime.block_on(preparing.prepare_all(to_prepare)));
        let mut calls = Calls::default();
        let begun = Instant::now();
        let mut actions = first;
        let result = 'session: loop {
            for action in actions {
                if let Action::Finish { end, session, number, outcomes } = action {
                    break 'session Ok((end, session, number, outcomes));
                }
                while calls.reports.try_join_next().is_some() || calls.others.try_join_next().is_some() {}
                shared.carry_out(action, &prepare, &mut calls);
            }
            let wake = session.wake();
            let input = tokio::select! {
                Some(happened) = happened.recv() => match happened {
                    Ok(input) => input,
                    Err(error) => break Err(error),
                },
                ended = ended.recv() => match ended {
                    Some(ended) => shared.task_ended(ended),
                    None => break Err(NoThreads.into()),
                },
                () = sleep_until(begun + wake.unwrap_or_default()), if wake.is_some() => Input::Time,
            };
            actions = session.step(begun.elapsed(), input);
        };
        shared.worker.halt.store(true, Ordering::Relaxed);
        if let Some(&newest) = shared.prepared().last()
            && shared.worker.imports.is_some()
        {
            // The directory was created ahead of the next layer. Only an empty directory is removed.
            let _ = shared.worker.store.remove_empty(newest);
        }
        drop(prepare);
        let end = match result {
            Ok((end, known, number, outcomes)) => {
                let newer = match session.is_registering() {
                    true => shared.registered(&mut happened).await,
                    false => None,
                };
                shared.leave(newer.unwrap_or(known), number, outcomes, &mut calls).await;
                Ok(end)
            }
            Err(error) => Err(error),
        };
        // Tasks that are still running when the runtime shuts down would panic in a sleep.
        calls.reports.shutdown().await;
        calls.others.shutdown().await;
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, preparing).await;
        end
    }
}

impl Shared {
    /// Waits for the response to a registration under way, and returns the new session. A coordinator that
    /// has received the registration considers this worker alive, until it leaves or a lease has passed.
    /// Returns `None` if the coordinator refuses the worker, or cannot be reached.
    async fn registered(&self, happened: &mut mpsc::UnboundedReceiver<Result<Input>>) -> Option<u64> {
        let begun = Instant::now();
        while begun.elapsed() < SHUTDOWN_TIMEOUT && !self.worker.caller.is_away() {
            match tokio::time::timeout(REGISTRATION_POLL, happened.recv()).await {
                Ok(Some(Ok(Input::Registered { session, .. }))) => return Some(session),
                Ok(Some(Err(_)) | None) => return None,
                Ok(Some(Ok(_))) | Err(_) => {}
            }
        }
        None
    }

    /// Reports the last outcomes, and leaves the run.
    async fn leave(self: &Arc<Self>, session: u64, number: u64, outcomes: Vec<Outcome>, calls: &mut Calls) {
        if session == 0 {
            return;
        }
        // If the report fails, the inventory of the next registration contains the results.
        calls.reports.spawn(Arc::clone(self).report(session, number, outcomes));
        let reports = async { while calls.reports.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, reports).await;
        let last = v1::LeaveRequest { session, progress: Some(self.progress(&[])) };
        let left = async { self.worker.caller.client().await.ok()?.leave(last).await.ok() };
        let _ = tokio::time::timeout(SHUTDOWN_TIMEOUT, left).await;
    }

    fn prepared(&self) -> MutexGuard<'_, BTreeSet<Depth>> {
        self.prepared.lock().expect("the lock is never poisoned: no code panics while holding it")
    }

    /// Returns the holder map.
    fn holders(&self) -> Arc<Holders> {
        Arc::clone(&self.holders.lock().expect("the lock is never poisoned: no code panics while holding it"))
    }

    /// Sends an event to the loop.
    fn happened(&self, input: Input) {
        // A loop that has ended needs no events.
        let _ = self.inputs_of_session.send(Ok(input));
    }

    fn fetching(&self) -> MutexGuard<'_, BTreeSet<Task>> {
        self.fetching.lock().expect("the lock is never poisoned: no code panics while holding it")
    }

    /// Carries out an action, or starts it.
    fn carry_out(self: &Arc<Self>, action: Action, prepare: &mpsc::UnboundedSender<Work>, calls: &mut Calls) {
        let this = Arc::clone(self);
        match action {
            Action::Register => drop(calls.others.spawn(this.answer(|this| this.register()))),
            Action::Beat { session, underway } => {
                drop(calls.others.spawn(this.answer(move |this| this.beat(session, underway))));
            }
            Action::Ask { number, session, tasks, holders_version } => {
                let request = v1::TakeCommandsRequest { session, tasks, holders_version };
                drop(calls.others.spawn(this.answer(move |this| this.ask(number, request))));
            }
            Action::Report { session, number, outcomes } => {
                drop(calls.reports.spawn(this.report(session, number, outcomes)));
            }
            Action::UseHolders(holders) => {
                *self.holders.lock().expect("the lock is never poisoned: no code panics while holding it") =
                    holders;
            }
            Action::KeepOnly(needed) => drop(tokio::task::spawn_blocking(move || this.keep_only(&needed))),
            Action::Compute(task) => self.make(prepare, task, Purpose::Make(Leftover::Counts)),
            Action::Recompute(task) => self.make(prepare, task, Purpose::Make(Leftover::IsReplaced)),
            Action::Audit(task, other_than) => {
                let engine = self.worker.job.engine_other_than(&other_than);
                let _ = prepare.send(Work { task, purpose: Purpose::Audit(engine) });
            }
            Action::Copy(file, addresses) => drop(calls.others.spawn(this.copy(file, addresses))),
            Action::Discard(file) => drop(tokio::task::spawn_blocking(move || this.discard(file))),
            Action::Release(file) => drop(tokio::task::spawn_blocking(move || this.give_back(file))),
            Action::RetireLayer(depth) => drop(tokio::task::spawn_blocking(move || this.retire_up_to(depth))),
            Action::Halt => self.worker.halt.store(true, Ordering::Relaxed),
            Action::Finish { .. } => unreachable!("the loop ends with it"),
        }
    }

    /// Passes a task on to be prepared and computed.
    fn make(&self, prepare: &mpsc::UnboundedSender<Work>, task: Task, purpose: Purpose) {
        let mut depth =
            self.depth.lock().expect("the lock is never poisoned: no code panics while holding it");
        if depth.replace(task.depth) != Some(task.depth) {
            self.worker.counters.begin();
        }
        self.fetching().insert(task);
        let _ = prepare.send(Work { task, purpose });
    }

    /// Makes a call, and sends its response or its error to the loop.
    async fn answer<F: Future<Output = Result<Input>>>(self: Arc<Self>, call: impl FnOnce(Arc<Self>) -> F) {
        let answer = call(Arc::clone(&self)).await;
        let _ = self.inputs_of_session.send(answer);
    }

    /// Registers with the coordinator.
    async fn register(self: Arc<Self>) -> Result<Input> {
        let Worker { identity, job, imports, .. } = &self.worker;
        // From now on the contents of the store count.
        self.look_again();
        let inventory = match imports {
            Some(_) => {
                let stored = block_in_place(|| self.inventory())?;
                stored.into_iter().map(Into::into).collect()
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
            process: self.process,
            registration: self.registrations.fetch_add(1, Ordering::Relaxed) + 1,
        };
        let registered = self.worker.caller.register(request).await?;
        Ok(Input::Registered {
            session: registered.session,
            heartbeat: Duration::from_millis(registered.heartbeat_interval_ms.max(10)),
            needed: registered.needed_depths.into_iter().map(Depth).collect(),
        })
    }

    /// Returns the complete files in the store, and makes them durable. Unfinished files are removed only
    /// before the first session: later they may belong to running tasks.
    fn inventory(&self) -> Result<Vec<StoredFile>> {
        let Worker { store, job, files, caller, .. } = &self.worker;
        let tasks = match caller.has_registered() {
            false => {
                let there = recover(store, &job.geometry, self.worker.imports.is_none())?;
                // A process may have been killed before it had made the name of a file durable.
                let depths: BTreeSet<Depth> = there.iter().map(|task| task.depth).collect();
                depths.into_iter().try_for_each(|depth| store.make_layer_durable(depth))?;
                there
            }
            true => {
                let depths = store.depths()?.into_iter();
                let shards = depths.map(|depth| Ok((depth, store.shards(depth)?)));
                let shards = shards.collect::<Result<Vec<_>, LayerError>>()?.into_iter();
                shards
                    .flat_map(|(depth, shards)| shards.into_iter().map(move |shard| Task { depth, shard }))
                    .collect()
            }
        };
        let mut inventory = Vec::new();
        for task in tasks {
            match files.open(task).and_then(|file| file.digest()) {
                Ok(digest) => inventory.push(StoredFile { task, digest: Some(digest) }),
                Err(error) if error.is_damage() => {
                    warn!(%error, depth = task.depth.0, shard = task.shard.0, "damaged file discarded");
                    self.inputs.forget(task.depth);
                    store.discard_wrong(&job.geometry, task)?;
                }
                // The file has been removed in the meantime, for example with its layer.
                Err(error) if error.is_missing() => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(inventory)
    }

    async fn beat(self: Arc<Self>, session: u64, underway: Vec<Task>) -> Result<Input> {
        let request = v1::HeartbeatRequest { session, progress: Some(self.progress(&underway)) };
        let call = |mut client: Client| {
            let request = request.clone();
            async move { client.heartbeat(request).await }
        };
        let known = self.worker.caller.call(call).await?.known;
        Ok(Input::HeartbeatAnswered { session, known })
    }

    fn progress(&self, underway: &[Task]) -> v1::Progress {
        let Worker { counters, meter, store, .. } = &self.worker;
        let depth = *self.depth.lock().expect("the lock is never poisoned: no code panics while holding it");
        v1::Progress {
            depth: depth.map_or(0, |depth| depth.0),
            cosets: counters.cosets.load(Ordering::Relaxed),
            states: counters.states.load(Ordering::Relaxed),
            sent_bytes: meter.sent.load(Ordering::Relaxed),
            received_bytes: meter.received.load(Ordering::Relaxed),
            free_bytes: store.free_bytes().unwrap_or(0),
            underway: underway.iter().map(|&task| task.into()).collect(),
            fetching: self.fetching().iter().map(|&task| task.into()).collect(),
            usage: Some(self.usage().into()),
            audited_cosets: counters.audited_cosets.load(Ordering::Relaxed),
            found_states: counters.states_of_all_layers(),
        }
    }

    fn usage(&self) -> Usage {
        let [read_bytes, written_bytes] = machine::disk_bytes().unwrap_or_default();
        Usage {
            memory_bytes: machine::anonymous_bytes().unwrap_or(0),
            memory_limit_bytes: self.worker.job.cache.memory_bytes(),
            read_bytes,
            written_bytes,
            disk_limit_bytes: self.worker.identity.disk_limit_bytes,
            fetches: self.worker.meter.fetches(),
            kept_bytes: self.worker.meter.memory.kept(),
            spilled_bytes: self.worker.meter.memory.spilled(),
        }
    }

    /// Requests commands once.
    async fn ask(self: Arc<Self>, number: u64, request: v1::TakeCommandsRequest) -> Result<Input> {
        let call = |mut client: Client| async move {
            // A message that was changed on its way is a call that failed.
            let reply = client.take_commands(request).await?.into_inner();
            Ok(Response::new(reply.open()?))
        };
        let reply = self.worker.caller.call(call).await?;
        let geometry = &self.worker.job.geometry;
        let commands = reply.commands.into_iter().map(|command| convert::command(command, geometry));
        Ok(Input::CommandsAnswered {
            number,
            session: request.session,
            known: reply.known,
            commands: commands.collect::<Result<_, _>>()?,
            holders: reply.holders.map(Holders::new),
        })
    }

    /// Reports outcomes. Repeats the call until the coordinator answers, or the caller gives up.
    async fn report(self: Arc<Self>, session: u64, number: u64, outcomes: Vec<Outcome>) {
        if outcomes.is_empty() {
            return;
        }
        failpoint::point("reporting");
        let outcomes = self.confirmed(outcomes).into_iter().map(v1::Outcome::from).collect();
        let request = v1::ReportRequest { session, number, outcomes, ..Default::default() }.seal();
        self.answer(|this| async move {
            let call = |mut client: Client| {
                let request = request.clone();
                async move { client.report(request).await }
            };
            let known = this.worker.caller.call(call).await?.known;
            Ok(Input::ReportAnswered { session, known })
        })
        .await;
    }

    /// Converts an error of the disk to a failure for the coordinator.
    fn failure(&self, error: &LayerError) -> Failure {
        let store = self.worker.store;
        match store.task_of(error.path()) {
            Some(file) if error.is_damage() || error.is_missing() => {
                self.inputs.forget(file.depth);
                Failure::Damaged { file, address: None, message: fathom_engine::task::error::chain(error) }
            }
            _ => failure::of_disk(error),
        }
    }
}
