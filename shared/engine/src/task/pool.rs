//! Kernel threads: plain threads that do tasks, fed by a bounded queue. A large file is made durable by
//! another thread, its finisher, while the kernel thread does its next task.

use crate::run::{ShardReport, Task};
use crate::task::expand::cooperative_shard::CooperativeShard;
use crate::task::expand::{Finished, Leftover, ShardFile, Unfinished};
use crate::task::waits::{Cause, Stopwatch};
use crate::task::{Counters, Expander, Job, Layer, Store, TaskError};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use fathom_command::numa;
use fathom_kernel::SimdLevel;
use fathom_layer::map::Stamp;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// The purpose for which a thread does a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The thread writes the task's file.
    Make(Leftover),
    /// The thread computes the report again, with this engine if one is given, and leaves no file.
    Audit(Option<SimdLevel>),
}

impl Purpose {
    /// Returns whether the task's file is not written.
    pub fn is_audit(self) -> bool {
        matches!(self, Self::Audit(_))
    }
}

/// A task that has ended, with or without a report.
#[derive(Debug)]
pub struct Ended {
    /// The task.
    pub task: Task,
    /// The purpose of the task.
    pub purpose: Purpose,
    /// The report, or the reason why there is none.
    pub result: Result<ShardReport, TaskError>,
    /// Whether the file is one that another process has written.
    pub is_found: bool,
    /// The file that the thread has written, if any.
    pub made: Option<Stamp>,
    /// The time that the task took.
    pub took: Duration,
    /// The newest layer that the task has read, whose cosets other tasks have read as well; `None` if the
    /// task has read none, because it is of depth 0 or its file already existed.
    pub newest: Option<Arc<Layer>>,
}

/// An order to a thread.
enum Order<'j> {
    /// A whole task.
    Alone { task: Task, purpose: Purpose, before: Vec<Arc<Layer>> },
    /// A part of a task that all threads do together.
    Together(Arc<CooperativeShard<'j>>),
}

/// The error that all threads have ended by panicking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("every kernel thread has panicked")]
pub struct NoThreads;

/// Does a part of a task. A panic must not leave the run waiting for a report.
fn caught<T>(task: Task, part: impl FnOnce() -> Result<T, TaskError>) -> Result<T, TaskError> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or(Err(TaskError::Panicked { task }))
}

/// A task that was computed, and whose file may still have to be made durable.
struct Computed {
    task: Task,
    purpose: Purpose,
    begun: Instant,
    /// As in [`Ended::newest`].
    newest: Option<Arc<Layer>>,
}

impl Computed {
    /// Drops all layers but the newest. This unmaps the files that only this task has read, which should not
    /// take the time of the thread that waits for tasks.
    fn new(task: Task, purpose: Purpose, begun: Instant, before: Vec<Arc<Layer>>) -> Self {
        Self { task, purpose, begun, newest: before.into_iter().next() }
    }

    fn ended(self, store: &Store<'_>, result: Result<Finished, TaskError>) -> Ended {
        let Self { task, purpose, begun, newest } = self;
        let is_found = result.as_ref().is_ok_and(|finished| finished.is_found);
        let has_made = result.is_ok() && !is_found && !purpose.is_audit();
        let made = has_made.then(|| Stamp::new(&store.path(task.depth, task.shard)).ok()).flatten();
        let result = result.map(|finished| finished.report);
        Ended { task, purpose, result, is_found, made, took: begun.elapsed(), newest }
    }
}

/// Checks that no program has written to the files of a task's own shard in the older layers that the task
/// has read. Of these layers a task reads nothing else, and the task's own file is not finished yet.
///
/// # Errors
/// [`TaskError::Layer`] for the first file that has changed.
fn own_unchanged(task: Task, before: &[Arc<Layer>]) -> Result<(), TaskError> {
    let mut own = before.iter().skip(1).filter_map(|layer| layer.file(task.shard));
    Ok(own.try_for_each(|file| file.check_unchanged())?)
}

/// Checks what a task has read, as far as that is checked before its file is finished: its own older files,
/// and the newest layer if a file already exists. In a store that workers share, another worker may have
/// written and reported that one while this process was suspended.
///
/// # Errors
/// [`TaskError::Layer`] for the first file that has changed.
fn checked<'j>(
    store: &Store<'_>,
    task: Task,
    before: &[Arc<Layer>],
    made: ShardFile<'j>,
) -> Result<ShardFile<'j>, TaskError> {
    own_unchanged(task, before)?;
    if let (ShardFile::Unfinished(_), Some(newest)) = (&made, before.first())
        && store.path(task.depth, task.shard).exists()
    {
        newest.check_unchanged()?;
    }
    Ok(made)
}

/// The thread that syncs the large files of one kernel thread, one at a time.
struct Finisher<'d> {
    files: Sender<(Box<Unfinished<'d>>, Computed)>,
    /// Has a message whenever the thread has nothing to do.
    idle: Receiver<()>,
}

impl<'d> Finisher<'d> {
    /// Starts the thread, which ends when the finisher is dropped.
    fn start<'scope>(
        scope: &'scope Scope<'scope, 'd>,
        number: usize,
        job: &'d Job,
        store: &'d Store<'d>,
        tell: impl Fn(Ended) -> bool + Send + 'scope,
    ) -> std::io::Result<Self> {
        let (files, inbox) = bounded::<(Box<Unfinished<'d>>, Computed)>(1);
        let (is_idle, idle) = bounded(1);
        Builder::new().name(format!("finisher-{number}")).spawn_scoped(scope, move || {
            let _ = is_idle.send(());
            for (file, computed) in inbox {
                let result = caught(computed.task, || file.finish(job, store));
                tell(computed.ended(store, result));
                let _ = is_idle.send(());
            }
        })?;
        Ok(Self { files, idle })
    }

    /// Waits until the previous file is durable, or has failed.
    fn await_idle(&self) {
        let _ = self.idle.recv();
    }

    /// Makes a file durable, and reports its task. The thread must be [idle](Self::await_idle).
    fn finish(&self, file: Box<Unfinished<'d>>, computed: Computed) {
        // The thread does not end before the finisher is dropped.
        let _ = self.files.send((file, computed));
    }
}

/// The outcome of an order.
struct Done<'j> {
    /// The task and its result, unless other threads still work on the task.
    ended: Option<(Computed, Result<ShardFile<'j>, TaskError>)>,
    /// Whether the thread must end, because its expander may be in an inconsistent state.
    has_panicked: bool,
}

/// Carries out an order, except for making the file durable.
fn do_order<'j>(
    store: &Store<'_>,
    expander: &mut Expander<'j>,
    order: Order<'j>,
    watch: &mut Stopwatch,
) -> Done<'j> {
    let is_panic = |error: &TaskError| matches!(error, TaskError::Panicked { .. });
    let now = Instant::now();
    match order {
        Order::Alone { task, purpose, before } => {
            let layers: Vec<&Layer> = before.iter().map(|layer| &**layer).collect();
            let made = caught(task, || match purpose {
                Purpose::Audit(engine) => expander.audit(task, engine, &layers).map(ShardFile::Reported),
                Purpose::Make(leftover) => expander.make(task, leftover, &layers, watch),
            });
            let has_panicked = made.as_ref().is_err_and(is_panic);
            let made = made.and_then(|made| checked(store, task, &before, made));
            let computed = Computed::new(task, purpose, now, before);
            watch.lap(Cause::Subtract);
            Done { ended: Some((computed, made)), has_panicked }
        }
        Order::Together(joint) => {
            let task = joint.task();
            let helped = caught(task, || expander.help(&joint, watch));
            let has_panicked = helped.as_ref().is_err_and(is_panic);
            if let Err(error) = helped {
                joint.fail(error);
            }
            let purpose = Purpose::Make(joint.leftover());
            let ended = joint.leave().map(|left| {
                let begun = left.begun.unwrap_or(now);
                let made = left.result.and_then(|made| checked(store, task, &left.before, made));
                (Computed::new(task, purpose, begun, left.before), made)
            });
            watch.lap(Cause::Subtract);
            Done { ended, has_panicked }
        }
    }
}

/// Threads that do tasks until the pool is dropped.
#[derive(Debug)]
pub struct Pool<'j> {
    orders: Orders<'j>,
    ended: Receiver<Ended>,
}

/// Gives orders to threads. These end when it is dropped and the tasks given before are done.
#[derive(Debug)]
pub struct Orders<'j> {
    orders: Sender<Order<'j>>,
    /// The number of threads that compute a file together.
    together: usize,
}

impl<'env> Orders<'env> {
    /// Starts `threads` threads, which end when the orders are dropped and the tasks given before are done;
    /// the scope waits for them. If `stop` becomes true, tasks end early. If the job
    /// [needs it](Job::shares_tasks), all threads do a task together. They call `tell` with each task that
    /// ends, and end if `tell` returns that nobody is interested.
    ///
    /// # Errors
    /// If a thread cannot be spawned.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        job: &'env Job,
        store: &'env Store<'env>,
        counters: &'env Counters,
        stop: &'env AtomicBool,
        tell: impl Fn(Ended) -> bool + Clone + Send + 'scope,
    ) -> std::io::Result<Self> {
        let (orders, inbox) = unbounded::<Order<'env>>();
        for number in 0..threads {
            let (inbox, tell) = (inbox.clone(), tell.clone());
            Builder::new().name(format!("kernel-{number}")).spawn_scoped(scope, move || {
                numa::bind(number, threads);
                let mut expander = Expander::new(job, store, counters, stop);
                let mut finisher: Option<Finisher> = None;
                for order in inbox {
                    let mut watch = Stopwatch::start();
                    let Done { ended, has_panicked } = do_order(store, &mut expander, order, &mut watch);
                    let Some((mut computed, made)) = ended else {
                        watch.add_to(&counters.spent);
                        if has_panicked {
                            return;
                        }
                        continue;
                    };
                    let is_large = matches!(&made, Ok(ShardFile::Unfinished(file)) if file.is_large());
                    if is_large && finisher.is_none() {
                        // If no more threads can be spawned, this one does all the work.
                        finisher = Finisher::start(scope, number, job, store, tell.clone()).ok();
                    }
                    let is_audit = computed.purpose.is_audit();
                    if !is_audit && matches!(made, Ok(ShardFile::Reported(_))) {
                        computed.newest = None;
                    }
                    let result = match (made, &finisher) {
                        (Ok(ShardFile::Unfinished(file)), Some(finisher)) if is_large => {
                            finisher.await_idle();
                            watch.lap(Cause::Sync);
                            watch.add_to(&counters.spent);
                            finisher.finish(file, computed);
                            continue;
                        }
                        (Ok(ShardFile::Unfinished(file)), _) => {
                            caught(computed.task, || file.finish(job, store))
                        }
                        (Ok(ShardFile::Reported(report)), _) => Ok(Finished { report, is_found: !is_audit }),
                        (Err(error), _) => Err(error),
                    };
                    watch.lap(Cause::Sync);
                    if !is_audit {
                        watch.add_to(&counters.spent);
                    }
                    if !tell(computed.ended(store, result)) || has_panicked {
                        return;
                    }
                }
            })?;
        }
        let together = if job.shares_tasks { threads } else { 1 };
        Ok(Self { orders, together })
    }

    /// Gives a task to the threads. `before` has the layers [below](crate::run::Lookback::below) the one to
    /// compute, the newest first.
    pub fn submit(&self, task: Task, purpose: Purpose, before: Vec<Arc<Layer>>) {
        // If all threads have ended, orders are lost, and the receiver of results reports that.
        match purpose {
            Purpose::Make(leftover) if self.together > 1 => {
                let joint = Arc::new(CooperativeShard::new(task, leftover, before, self.together));
                for _ in 0..self.together {
                    let _ = self.orders.send(Order::Together(Arc::clone(&joint)));
                }
            }
            _ => drop(self.orders.send(Order::Alone { task, purpose, before })),
        }
    }
}

impl<'env> Pool<'env> {
    /// Starts threads as [`Orders::start`] does, which report finished tasks to the pool.
    ///
    /// # Errors
    /// If a thread cannot be spawned.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        job: &'env Job,
        store: &'env Store<'env>,
        counters: &'env Counters,
        stop: &'env AtomicBool,
    ) -> std::io::Result<Self> {
        let (outbox, ended) = unbounded();
        let tell = move |ended| outbox.send(ended).is_ok();
        Ok(Self { orders: Orders::start(scope, threads, job, store, counters, stop, tell)?, ended })
    }

    /// Gives the threads a task whose file is to be written. `before` is as in [`Orders::submit`].
    pub fn submit(&self, task: Task, before: Vec<Arc<Layer>>) {
        self.orders.submit(task, Purpose::Make(Leftover::Counts), before);
    }

    /// Waits until a task has ended, and returns all tasks that have. Returns none if none ends within
    /// `timeout`.
    ///
    /// # Errors
    /// [`NoThreads`] if all threads have ended.
    pub fn ended(&self, timeout: Duration) -> Result<Vec<Ended>, NoThreads> {
        match self.ended.recv_timeout(timeout) {
            Ok(first) => Ok(std::iter::once(first).chain(self.ended.try_iter()).collect()),
            Err(RecvTimeoutError::Timeout) => Ok(Vec::new()),
            Err(RecvTimeoutError::Disconnected) => Err(NoThreads),
        }
    }
}
