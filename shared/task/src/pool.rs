//! Kernel threads: plain threads that do tasks, fed by a bounded queue. A large file is made durable by
//! another thread, its finisher, while the kernel thread does its next task.

use crate::expand::{Leftover, Made, Unfinished};
use crate::waits::{Cause, Spent, Stopwatch};
use crate::{Expander, Job, Layer, Store, TaskError};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use fathom_kernel::Engine;
use fathom_run::{ShardReport, Task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// What the threads have done of the current layer, for progress.
#[derive(Debug, Default)]
pub struct Counters {
    /// The number of cosets done.
    pub cosets: AtomicU64,
    /// The number of states found.
    pub states: AtomicU64,
    /// The time that the threads spent on each activity.
    pub spent: Spent,
}

impl Counters {
    /// Sets the counters to zero, at the beginning of a layer.
    pub fn begin(&self) {
        self.cosets.store(0, Ordering::Relaxed);
        self.states.store(0, Ordering::Relaxed);
        self.spent.begin();
    }
}

/// What a thread does with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// The thread makes the task's file.
    Make(Leftover),
    /// The thread computes the report once more, with this engine if one is given, and leaves no file.
    Audit(Option<Engine>),
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
    /// What the thread did with the task.
    pub purpose: Purpose,
    /// The report, or the reason why there is none.
    pub result: Result<ShardReport, TaskError>,
    /// The time that the task took.
    pub took: Duration,
}

struct Order {
    task: Task,
    purpose: Purpose,
    before: Vec<Arc<Layer>>,
}

/// The error that all threads have ended, by panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("every kernel thread has panicked")]
pub struct NoThreads;

/// Does a part of a task. A panic must not leave the run waiting for a report.
fn caught<T>(task: Task, part: impl FnOnce() -> Result<T, TaskError>) -> Result<T, TaskError> {
    catch_unwind(AssertUnwindSafe(part)).unwrap_or(Err(TaskError::Panicked { task }))
}

/// The thread that makes the large files of one kernel thread durable, one at a time.
struct Finisher<'d> {
    files: Sender<(Box<Unfinished<'d>>, Purpose, Instant)>,
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
        outbox: Sender<Ended>,
    ) -> std::io::Result<Self> {
        let (files, inbox) = bounded::<(Box<Unfinished<'d>>, Purpose, Instant)>(1);
        let (is_idle, idle) = bounded(1);
        Builder::new().name(format!("finisher-{number}")).spawn_scoped(scope, move || {
            let _ = is_idle.send(());
            for (file, purpose, begun) in inbox {
                let task = file.task();
                let result = caught(task, || file.finish(job, store));
                let _ = outbox.send(Ended { task, purpose, result, took: begun.elapsed() });
                let _ = is_idle.send(());
            }
        })?;
        Ok(Self { files, idle })
    }

    /// Waits until the file before is durable, or has failed.
    fn await_idle(&self) {
        let _ = self.idle.recv();
    }

    /// Makes a file durable, and reports its task. The thread must be [idle](Self::await_idle).
    fn finish(&self, file: Box<Unfinished<'d>>, purpose: Purpose, begun: Instant) {
        // The thread does not end before this.
        let _ = self.files.send((file, purpose, begun));
    }
}

/// Threads that do tasks until the pool is dropped.
#[derive(Debug)]
pub struct Pool {
    orders: Orders,
    ended: Receiver<Ended>,
}

/// The sending end of a pool. The threads end when it is dropped and the tasks given before are done.
#[derive(Debug)]
pub struct Orders(Sender<Order>);

impl Orders {
    /// Gives a task to the threads. `before` has the layers [below](fathom_run::Lookback::below) the one to
    /// make, the newest first.
    pub fn submit(&self, task: Task, purpose: Purpose, before: Vec<Arc<Layer>>) {
        // If all threads have ended, the order is lost, and the receiving end of the pool tells so.
        let _ = self.0.send(Order { task, purpose, before });
    }
}

impl Pool {
    /// Starts `threads` threads, which end when the pool is dropped and the tasks given before are done; the
    /// scope waits for them. If `stop` becomes true, tasks end early.
    ///
    /// # Errors
    /// If a thread cannot be spawned.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        job: &'env Job,
        store: &'env Store<'env>,
        counters: &'env Counters,
        stop: &'env AtomicBool,
    ) -> std::io::Result<Self> {
        // The tasks of one layer fit into the queue, so that submitting them does not block.
        let (orders, inbox) = bounded::<Order>(job.geometry.cut.shards() as usize);
        let (outbox, ended) = unbounded();
        for number in 0..threads {
            let (inbox, outbox) = (inbox.clone(), outbox.clone());
            Builder::new().name(format!("kernel-{number}")).spawn_scoped(scope, move || {
                let mut expander = Expander::new(job, store, counters, stop);
                let mut finisher: Option<Finisher> = None;
                for Order { task, purpose, before } in inbox {
                    let begun = Instant::now();
                    let mut watch = Stopwatch::start();
                    let before: Vec<&Layer> = before.iter().map(|layer| &**layer).collect();
                    let made = caught(task, || match purpose {
                        Purpose::Audit(engine) => expander.audit(task, engine, &before).map(Made::Reported),
                        Purpose::Make(leftover) => expander.make(task, leftover, &before, &mut watch),
                    });
                    let is_large = matches!(&made, Ok(Made::Unfinished(file)) if file.is_large());
                    if is_large && finisher.is_none() {
                        // If the system has no more threads, this one does all of it.
                        finisher = Finisher::start(scope, number, job, store, outbox.clone()).ok();
                    }
                    let result = match (made, &finisher) {
                        (Ok(Made::Unfinished(file)), Some(finisher)) if is_large => {
                            finisher.await_idle();
                            watch.lap(Cause::Sync);
                            watch.add_to(&counters.spent);
                            finisher.finish(file, purpose, begun);
                            continue;
                        }
                        (Ok(Made::Unfinished(file)), _) => caught(task, || file.finish(job, store)),
                        (Ok(Made::Reported(report)), _) => Ok(report),
                        (Err(error), _) => Err(error),
                    };
                    watch.lap(Cause::Sync);
                    if !purpose.is_audit() {
                        watch.add_to(&counters.spent);
                    }
                    // The thread ends after a panic, because its expander may be in any state.
                    let panicked = matches!(result, Err(TaskError::Panicked { .. }));
                    if outbox.send(Ended { task, purpose, result, took: begun.elapsed() }).is_err()
                        || panicked
                    {
                        return;
                    }
                }
            })?;
        }
        Ok(Self { orders: Orders(orders), ended })
    }

    /// Gives the threads a task whose file is to be made. `before` is as in
    /// [`Orders::submit`].
    pub fn submit(&self, task: Task, before: Vec<Arc<Layer>>) {
        self.orders.submit(task, Purpose::Make(Leftover::Counts), before);
    }

    /// Splits the pool into its two ends, for use by different threads. The iterator ends when all threads
    /// have ended.
    pub fn into_ends(self) -> (Orders, impl Iterator<Item = Ended> + Send) {
        (self.orders, self.ended.into_iter())
    }

    /// Waits for the next task that ends. Returns `None` if none does within `timeout`.
    ///
    /// # Errors
    /// [`NoThreads`] if all threads have ended.
    pub fn next(&self, timeout: Duration) -> Result<Option<Ended>, NoThreads> {
        match self.ended.recv_timeout(timeout) {
            Ok(ended) => Ok(Some(ended)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(NoThreads),
        }
    }
}
