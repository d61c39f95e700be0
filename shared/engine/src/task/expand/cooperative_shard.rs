//! One task that several threads do together.
//!
//! If cosets are large, memory cannot hold the sources of as many shards as there are threads. So the threads
//! take the cosets of one shard, one after another, and read the sources of one neighbourhood. The
//! cosets go to the file in order: a thread that is early queues its coset and takes the next one, as
//! long as no more cosets wait than there are threads.

use crate::run::{ShardReport, Task};
use crate::task::expand::open_file::with_watched;
use crate::task::expand::visited_states::VisitedStates;
use crate::task::expand::{Computed, FETCH_AHEAD, Leftover, ShardFile, Unfinished, release_older};
use crate::task::layer::Copied;
use crate::task::waits::{Cause, Stopwatch};
use crate::task::{Counters, Expander, Layer, TaskError};
use fathom_layer::{LayerWriter, ReadAhead, Ready, Totals};
use fathom_space::CosetId;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// A task that several threads do together. Each of them receives the task once, and a thread that arrives
/// when no coset is left has nothing to do.
#[derive(Debug)]
pub(crate) struct CooperativeShard<'j> {
    task: Task,
    leftover: Leftover,
    threads: usize,
    taking: Mutex<Taking>,
    handing: Mutex<Handing<'j>>,
    /// Signals that a coset was written, or that the task has failed.
    moved: Condvar,
}

/// The state from which the threads take cosets.
#[derive(Debug, Default)]
struct Taking {
    /// The layers below the one to compute, the newest first. Empty when the last thread has left.
    before: Vec<Arc<Layer>>,
    is_begun: bool,
    /// The cosets that no thread has taken.
    cosets: Range<u32>,
    /// The task's shard of the second layer, if that layer is read bypassing the page cache.
    ahead: Option<ReadAhead>,
}

/// The state to which the threads hand over their cosets.
#[derive(Debug)]
struct Handing<'j> {
    /// The number of threads that have not left the task, including those that have not arrived yet.
    threads: usize,
    begun: Option<Instant>,
    writer: Option<LayerWriter<'j>>,
    /// The coset that is written next.
    next: u32,
    /// Cosets that wait for earlier ones.
    waiting: BTreeMap<u32, (Ready, Totals)>,
    /// Tensors that were written, for reuse.
    spare: Vec<Vec<u8>>,
    totals: Totals,
    /// The report of the file that an interrupted run left behind.
    found: Option<ShardReport>,
    failure: Option<TaskError>,
}

/// The beginning of a task.
enum Beginning<'j> {
    /// An interrupted run left the file behind.
    Found(ShardReport),
    /// The file is to be written.
    File(Box<LayerWriter<'j>>, Option<ReadAhead>),
}

/// A coset that a thread has taken.
#[derive(Debug)]
struct Taken {
    coset: CosetId,
    /// The number of its states that were visited before.
    visited: u32,
    /// The number of its states that were not.
    left: u64,
    /// Whether its states in the second layer were copied.
    is_copied: bool,
}

/// The data that the last thread of a task receives.
#[derive(Debug)]
pub(crate) struct Left<'j> {
    /// The time at which the task began, unless it failed before.
    pub(crate) begun: Option<Instant>,
    /// The layers below the one to compute.
    pub(crate) before: Vec<Arc<Layer>>,
    /// The result of the task.
    pub(crate) result: Result<ShardFile<'j>, TaskError>,
}

/// Ignores poisoning: the panic is recorded as the task's failure.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl<'j> CooperativeShard<'j> {
    /// Makes a task for `threads` threads. `before` has the layers below the one to compute, the newest
    /// first.
    pub(crate) fn new(task: Task, leftover: Leftover, before: Vec<Arc<Layer>>, threads: usize) -> Self {
        let taking = Taking { before, ..Taking::default() };
        let handing = Handing {
            threads,
            begun: None,
            writer: None,
            next: 0,
            waiting: BTreeMap::new(),
            spare: Vec::new(),
            totals: Totals::default(),
            found: None,
            failure: None,
        };
        Self {
            task,
            leftover,
            threads,
            taking: Mutex::new(taking),
            handing: Mutex::new(handing),
            moved: Condvar::new(),
        }
    }

    /// Returns the task.
    pub(crate) fn task(&self) -> Task {
        self.task
    }

    /// Returns the treatment of a file that an interrupted run left behind.
    pub(crate) fn leftover(&self) -> Leftover {
        self.leftover
    }

    /// Returns the layers below the one to compute.
    pub(crate) fn before(&self) -> Vec<Arc<Layer>> {
        lock(&self.taking).before.clone()
    }

    /// Takes the next coset, and copies its states in the second layer to `copied` if that layer is read
    /// ahead. The first thread starts the task. Returns `None` if no coset is left.
    ///
    /// # Errors
    /// [`TaskError`] if the task cannot start, or a source cannot be read.
    fn take(
        &self,
        expander: &Expander<'j>,
        before: &[&Layer],
        copied: &mut Copied,
    ) -> Result<Option<Taken>, TaskError> {
        let mut taking = lock(&self.taking);
        if !taking.is_begun {
            taking.is_begun = true;
            let begun = Instant::now();
            let beginning = expander.begin_shared(self, before)?;
            let mut handing = lock(&self.handing);
            handing.begun = Some(begun);
            match beginning {
                Beginning::Found(report) => handing.found = Some(report),
                Beginning::File(writer, ahead) => {
                    let cosets = expander.cosets(self.task);
                    handing.next = cosets.start;
                    handing.writer = Some(*writer);
                    (taking.cosets, taking.ahead) = (cosets, ahead);
                }
            }
        }
        let Some(coset) = taking.cosets.next().map(CosetId) else {
            return Ok(None);
        };
        let (visited, left) = expander.visited_and_left(coset, before)?;
        let is_copied = match &mut taking.ahead {
            Some(ahead) if left > 0 => {
                copied.fill(&ahead.coset(coset.0)?);
                true
            }
            _ => false,
        };
        Ok(Some(Taken { coset, visited, left, is_copied }))
    }

    /// Hands a coset over to be written in its turn. Waits if too many others wait already, unless this
    /// coset is the next one or the task has failed.
    ///
    /// # Errors
    /// [`TaskError`] if the disk refuses.
    fn hand_over(
        &self,
        coset: CosetId,
        ready: Ready,
        totals: Totals,
        counters: &Counters,
    ) -> Result<(), TaskError> {
        let must_wait = |handing: &mut Handing<'_>| {
            handing.next != coset.0 && handing.waiting.len() >= self.threads && handing.failure.is_none()
        };
        let waited = self.moved.wait_while(lock(&self.handing), must_wait);
        let mut handing = waited.unwrap_or_else(PoisonError::into_inner);
        if handing.failure.is_some() {
            return Ok(());
        }
        handing.waiting.insert(coset.0, (ready, totals));
        let Handing { writer, next, waiting, spare, totals, .. } = &mut *handing;
        let Some(writer) = writer else { return Ok(()) };
        while let Some((ready, here)) = waiting.remove(next) {
            writer.push_ready(&ready)?;
            *next += 1;
            *totals = *totals + here;
            spare.extend(ready.into_packed());
            counters.states.fetch_add(here.states, Ordering::Relaxed);
            counters.cosets.fetch_add(1, Ordering::Relaxed);
        }
        self.moved.notify_all();
        Ok(())
    }

    /// Returns a tensor with arbitrary content, if there is a spare one.
    fn spare(&self) -> Option<Vec<u8>> {
        lock(&self.handing).spare.pop()
    }

    /// Records that the task cannot be done. The other threads take no more cosets.
    pub(crate) fn fail(&self, error: TaskError) {
        lock(&self.taking).cosets = 0..0;
        let mut handing = lock(&self.handing);
        handing.waiting.clear();
        // The other threads stop for the same reason, or because of the failure.
        if handing.failure.as_ref().is_none_or(|known| matches!(known, TaskError::Stopped)) {
            handing.failure = Some(error);
        }
        self.moved.notify_all();
    }

    /// Records that a thread has finished its part of the task. The last thread gets the result.
    pub(crate) fn leave(&self) -> Option<Left<'j>> {
        let mut handing = lock(&self.handing);
        handing.threads -= 1;
        if handing.threads > 0 {
            return None;
        }
        let writer = handing.writer.take();
        let result = match (handing.failure.take(), handing.found.take()) {
            (Some(error), _) => Err(error),
            (None, Some(report)) => Ok(ShardFile::Reported(report)),
            (None, None) => Ok(ShardFile::Unfinished(Box::new(Unfinished {
                task: self.task,
                writer: writer.expect("a task that has not failed has begun"),
                totals: handing.totals,
            }))),
        };
        let begun = handing.begun;
        drop(handing);
        let Taking { before, .. } = std::mem::take(&mut *lock(&self.taking));
        if let Ok(ShardFile::Unfinished(_)) = result {
            let before: Vec<&Layer> = before.iter().map(|layer| &**layer).collect();
            release_older(self.task, &before);
        }
        Some(Left { begun, before, result })
    }
}

impl<'j> Expander<'j> {
    /// Starts a task that threads do together.
    ///
    /// # Errors
    /// [`TaskError`] if the task's file cannot be started, or a source cannot be read.
    fn begin_shared(
        &self,
        joint: &CooperativeShard<'j>,
        before: &[&Layer],
    ) -> Result<Beginning<'j>, TaskError> {
        let task = joint.task();
        self.require_time()?;
        if joint.leftover() == Leftover::Counts
            && let Some(report) = self.finished(task, before)?
        {
            return with_watched(self.job, self.store, report).map(Beginning::Found);
        }
        let (writer, direct_io) = self.writer(task, before)?;
        let ahead = direct_io.map(|bytes| self.ahead(task, before, bytes)).transpose()?.flatten();
        Ok(Beginning::File(Box::new(writer), ahead))
    }

    /// Does a thread's part of a task that threads do together.
    ///
    /// # Errors
    /// [`TaskError`] if a coset was not computed or written. The task has then
    /// [failed](CooperativeShard::fail).
    pub(crate) fn help(
        &mut self,
        joint: &CooperativeShard<'j>,
        watch: &mut Stopwatch,
    ) -> Result<(), TaskError> {
        let task = joint.task();
        let before = joint.before();
        let before: Vec<&Layer> = before.iter().map(|layer| &**layer).collect();
        let (ahead, end) = (FETCH_AHEAD.max(self.job.threads as u32), self.cosets(task).end);
        let mut copied = std::mem::take(&mut self.copied);
        self.kernel.forget();
        while let Some(Taken { coset, visited, left, is_copied }) = joint.take(self, &before, &mut copied)? {
            watch.lap(Cause::Subtract);
            if self.stop.load(Ordering::Relaxed) {
                return Err(TaskError::Stopped);
            }
            // The threads before this one have prefetched the cosets up to the last of these.
            let first = if coset.0 == self.cosets(task).start { coset.0 } else { coset.0 + ahead };
            for later in first..=coset.0 + ahead {
                if later < end {
                    self.prefetch(CosetId(later), &before)?;
                }
            }
            watch.lap(Cause::Sources);
            let mut here = VisitedStates::of_coset(&before, is_copied.then_some(&copied));
            let found = if left == 0 { Some(0) } else { self.find(task, coset, &mut here, left, watch)? };
            let computed = Computed { coset, visited, left, found };
            self.was_made(&computed, &before);
            let found = self.pack(task, &computed, watch)?;
            let totals = self.count(coset, found);
            watch.lap(Cause::Kernel);
            let ready = Ready::new(&mut self.packed, found, visited + found);
            let handed = joint.hand_over(coset, ready, totals, self.counters);
            if self.packed.is_empty() {
                let bytes = self.job.geometry.packed_bytes as usize;
                self.packed = joint.spare().unwrap_or_else(|| vec![0; bytes]);
            }
            watch.lap(Cause::Write);
            handed?;
        }
        watch.lap(Cause::Sources);
        self.copied = copied;
        Ok(())
    }
}
