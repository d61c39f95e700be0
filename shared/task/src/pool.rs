//! Kernel threads: plain threads that do tasks, fed by a bounded queue.

use crate::expand::Leftover;
use crate::waits::Spent;
use crate::{Expander, Job, Layer, Store, TaskError};
use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use fathom_kernel::Engine;
use fathom_run::{ShardReport, Task};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{Builder, Scope};
use std::time::{Duration, Instant};

/// What the threads have done of the present layer, for progress.
#[derive(Debug, Default)]
pub struct Counters {
    /// Cosets done.
    pub cosets: AtomicU64,
    /// States found.
    pub states: AtomicU64,
    /// What the threads spent their time on.
    pub spent: Spent,
}

impl Counters {
    /// Sets them to zero, at the beginning of a layer.
    pub fn begin(&self) {
        self.cosets.store(0, Ordering::Relaxed);
        self.states.store(0, Ordering::Relaxed);
        self.spent.begin();
    }
}

/// What is done with a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Its file is made.
    Make(Leftover),
    /// What it comes to is found once more, with this engine if one is named, and only reported.
    Audit(Option<Engine>),
}

impl Purpose {
    /// Whether nothing is written.
    pub fn is_audit(self) -> bool {
        matches!(self, Self::Audit(_))
    }
}

/// A task that ended, one way or the other.
#[derive(Debug)]
pub struct Ended {
    /// The task.
    pub task: Task,
    /// What was done with it.
    pub purpose: Purpose,
    /// Its report, or why there is none.
    pub result: Result<ShardReport, TaskError>,
    /// How long it took.
    pub took: Duration,
}

struct Order {
    task: Task,
    purpose: Purpose,
    before: Vec<Arc<Layer>>,
}

/// All threads have ended, by panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("every kernel thread has panicked")]
pub struct NoThreads;

/// Threads that do tasks until the pool is dropped.
#[derive(Debug)]
pub struct Pool {
    orders: Orders,
    ended: Receiver<Ended>,
}

/// Gives tasks to the threads of a pool, which end when this is dropped.
#[derive(Debug)]
pub struct Orders(Sender<Order>);

impl Orders {
    /// Gives a task to the threads. `before` as in [`Expander::run`].
    pub fn submit(&self, task: Task, purpose: Purpose, before: Vec<Arc<Layer>>) {
        // Without threads there is nobody to take it, and what ends says so.
        let _ = self.0.send(Order { task, purpose, before });
    }
}

impl Pool {
    /// Starts `threads` threads, which end when the pool is dropped, and at the latest with the scope.
    ///
    /// # Errors
    /// If the operating system gives no thread.
    pub fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        threads: usize,
        job: &'env Job,
        store: &'env Store<'env>,
        counters: &'env Counters,
        stop: &'env AtomicBool,
    ) -> std::io::Result<Self> {
        // A layer's tasks are submitted together, and one layer at a time.
        let (orders, inbox) = bounded::<Order>(job.geometry.cut.shards() as usize);
        let (outbox, ended) = unbounded();
        for number in 0..threads {
            let (inbox, outbox) = (inbox.clone(), outbox.clone());
            Builder::new().name(format!("kernel-{number}")).spawn_scoped(scope, move || {
                let mut expander = Expander::new(job);
                for Order { task, purpose, before } in inbox {
                    let start = Instant::now();
                    let before: Vec<&Layer> = before.iter().map(|layer| &**layer).collect();
                    // A panic must not leave the run waiting for a report. The expander is not used again.
                    let run = AssertUnwindSafe(|| match purpose {
                        Purpose::Make(leftover) => {
                            expander.run(store, task, leftover, &before, counters, stop)
                        }
                        Purpose::Audit(engine) => expander.audit(store, task, engine, &before, stop),
                    });
                    let result = catch_unwind(run).unwrap_or(Err(TaskError::Panicked { task }));
                    let panicked = matches!(result, Err(TaskError::Panicked { .. }));
                    if outbox.send(Ended { task, purpose, result, took: start.elapsed() }).is_err()
                        || panicked
                    {
                        return;
                    }
                }
            })?;
        }
        Ok(Self { orders: Orders(orders), ended })
    }

    /// Has the threads make the file of a task. `before` as in [`Expander::run`].
    pub fn submit(&self, task: Task, before: Vec<Arc<Layer>>) {
        self.orders.submit(task, Purpose::Make(Leftover::Counts), before);
    }

    /// Its two ends, for threads of their own. Of tasks that end is heard until all threads have ended.
    pub fn into_ends(self) -> (Orders, impl Iterator<Item = Ended> + Send) {
        (self.orders, self.ended.into_iter())
    }

    /// Waits for the next task that ends; `None` if none did within the time.
    ///
    /// # Errors
    /// [`NoThreads`] if none is left to end any.
    pub fn next(&self, timeout: Duration) -> Result<Option<Ended>, NoThreads> {
        match self.ended.recv_timeout(timeout) {
            Ok(ended) => Ok(Some(ended)),
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => Err(NoThreads),
        }
    }
}
