//! One task: computes a shard of a layer from the layers before it.

use crate::run::{Lookback, ShardReport, Task};
use crate::task::expand::open_file::{is_later, with_watched};
use crate::task::expand::visited_states::VisitedStates;
use crate::task::layer::{Copied, bits};
use crate::task::waits::{Cause, Stopwatch};
use crate::task::{Counters, Job, Layer, Method, Store, TaskError};
use fathom_command::failpoint;
use fathom_kernel::{Kernel, SimdLevel};
use fathom_layer::{LayerError, LayerWriter, NullDisk, Stored, Totals};
use fathom_space::{CosetId, Transform, Transforms};
use std::collections::BTreeSet;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) mod cooperative_shard;
pub mod open_file;
mod visited_states;

pub use open_file::{Finished, ShardFile, Unfinished};

/// How many cosets ahead the sources of a coset are prefetched: a read from disk takes about as long as
/// computing a few cosets.
const FETCH_AHEAD: u32 = 16;

/// A coset is nearly full if at most one in this many of its states is left. A few pulls may then find
/// everything that is left, and the other pulls can be skipped.
pub const NEARLY_FULL: u32 = 8;

/// Numbers of pulls after which a nearly full coset is checked for completion.
pub const COMPLETION_CHECKS: [u32; 3] = [3, 6, 12];

/// The treatment of a complete file of the task that an interrupted run left behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// The file is taken as the result of the task.
    Counts,
    /// The file is not read, and is replaced.
    IsReplaced,
}

/// A coset that was computed.
struct Computed {
    coset: CosetId,
    /// The number of its states that were visited before.
    visited: u32,
    /// The number of its states that were not.
    left: u64,
    /// The number of states found, which are in the expander's `packed` if there are any; `None` if they are
    /// still in the kernel.
    found: Option<u32>,
}

/// Returns whether packed bits have the one at a position.
fn contains(packed: &[u8], position: u32) -> bool {
    packed[position as usize / 8] >> (position % 8) & 1 == 1
}

/// Evicts the older layers' files of a finished task from memory, if memory is short.
fn release_older(task: Task, before: &[&Layer]) {
    if let [newest, older @ ..] = before
        && newest.is_windowed()
    {
        older.iter().for_each(|layer| layer.release(task.shard));
    }
}

/// Does tasks on one thread. Keeps the axis maps and bit networks that it has built for later cosets and
/// tasks, as far as the [job](Job::map_bytes) has memory for them.
pub struct Expander<'j> {
    job: &'j Job,
    store: &'j Store<'j>,
    counters: &'j Counters,
    /// Ends a task at the next coset when it becomes true.
    stop: &'j AtomicBool,
    transforms: Transforms<'j>,
    transform: Transform,
    kernel: Box<dyn Kernel + Send>,
    /// How often the maps had been [dropped](Transforms::dropped) when the kernel dropped what it derived
    /// from them.
    dropped: u64,
    packed: Vec<u8>,
    /// A buffer for a coset of the second layer.
    copied: Copied,
    /// The places of the words of the solved state, one for each free move.
    solved: BTreeSet<(CosetId, u32)>,
}

impl<'j> Expander<'j> {
    /// Makes an expander for the tasks of a run. If `stop` becomes true, tasks end at the next coset.
    pub fn new(job: &'j Job, store: &'j Store<'j>, counters: &'j Counters, stop: &'j AtomicBool) -> Self {
        let shape = job.graph.shape();
        let engine = match job.method {
            Method::Cosets(engine) => engine,
            Method::Reference(_) => SimdLevel::Portable,
        };
        let space = job.graph.space();
        Self {
            job,
            store,
            counters,
            stop,
            solved: space.words_of(space.solved()).filter_map(|word| job.graph.locate(&word)).collect(),
            transforms: Transforms::within(&job.graph, job.map_bytes),
            transform: Transform::default(),
            dropped: 0,
            kernel: engine.kernel(shape).expect("a job has an engine that does its cosets here"),
            packed: vec![0; shape.packed_bytes() as usize],
            copied: Copied::default(),
        }
    }

    /// Does a task and writes its file, which is not durable yet. `before` has the layers
    /// [below](crate::run::Lookback::below) the one to compute, the newest first.
    ///
    /// # Errors
    /// [`TaskError`] if the task was not computed. No new file is left then.
    pub(crate) fn make(
        &mut self,
        task: Task,
        leftover: Leftover,
        before: &[&Layer],
        watch: &mut Stopwatch,
    ) -> Result<ShardFile<'j>, TaskError> {
        self.require_time()?;
        let finished = match leftover {
            Leftover::Counts => self.finished(task, before),
            Leftover::IsReplaced => Ok(None),
        };
        watch.lap(Cause::Sources);
        match finished? {
            Some(report) => with_watched(self.job, self.store, report).map(ShardFile::Reported),
            None => self.compute_shard(task, before, watch).map(|file| ShardFile::Unfinished(Box::new(file))),
        }
    }

    /// Computes the report of a task again, with another engine if `engine` is given and supports the
    /// cosets. Nothing is written, and the task's file is not read.
    ///
    /// # Errors
    /// [`TaskError`] if the task did not end with a report.
    pub fn audit(
        &mut self,
        task: Task,
        engine: Option<SimdLevel>,
        before: &[&Layer],
    ) -> Result<ShardReport, TaskError> {
        let identity = self.job.geometry.identity(task.depth, task.shard);
        let writer = LayerWriter::create(&NullDisk, Path::new("audit"), identity)?;
        let other = engine.and_then(|engine| engine.kernel(self.job.graph.shape()));
        let dropped = self.dropped;
        let usual = other.map(|other| std::mem::replace(&mut self.kernel, other));
        let mut watch = Stopwatch::start();
        let visited = VisitedStates::begin(self, task, before, None)?;
        let Self { job, counters, .. } = *self;
        let mut watched = Vec::new();
        let done = |coset: CosetId, here: &Totals, packed: &[u8]| {
            counters.audited_cosets.fetch_add(1, Ordering::Relaxed);
            if here.stored > 0 {
                watched.extend(job.watched.in_coset(coset.0, |position| contains(packed, position)));
            }
        };
        let pushed = self.push_all(writer, task, visited, done, &mut watch);
        if let Some(usual) = usual {
            self.kernel = usual;
            self.dropped = dropped;
        }
        let (writer, totals) = pushed?;
        Ok(ShardReport { task, totals, bytes: 0, checksums: writer.abandon(), watched })
    }

    /// Checks that the thread was not asked to stop: reading back an existing file takes long.
    fn require_time(&self) -> Result<(), TaskError> {
        if self.stop.load(Ordering::Relaxed) { Err(TaskError::Stopped) } else { Ok(()) }
    }

    /// Returns the report of a task whose complete file an interrupted run has left, and makes the file
    /// durable. If a source of the task was released, the file must be there. A file that counts other
    /// things than this run is computed again: two runs that differ only in what they count share a store. So
    /// is a file that is no later than what it was computed from: an earlier process may have read bytes that
    /// were put right since, and died before it noticed.
    fn finished(&self, task: Task, before: &[&Layer]) -> Result<Option<ShardReport>, TaskError> {
        let Self { job, store, counters, .. } = *self;
        let finished = match before.iter().any(|layer| layer.lacks(task.shard)) {
            true => match store.read_back(&job.geometry, task) {
                Err(source) if source.is_damage() || source.is_missing() => {
                    return Err(TaskError::GivenBack { task, source });
                }
                report => Some(report?),
            },
            false if is_later(&store.path(task.depth, task.shard), task, before) => {
                store.finished(&job.geometry, task)?.filter(|report| job.counts_as(&report.totals))
            }
            false => None,
        };
        if finished.is_some() {
            store.make_durable(task)?;
        }
        if let Some(report) = &finished {
            let cosets = job.geometry.cut.range(task.shard);
            counters.cosets.fetch_add((cosets.end - cosets.start).into(), Ordering::Relaxed);
            counters.states.fetch_add(report.totals.states, Ordering::Relaxed);
        }
        Ok(finished)
    }

    fn compute_shard(
        &mut self,
        task: Task,
        before: &[&Layer],
        watch: &mut Stopwatch,
    ) -> Result<Unfinished<'j>, TaskError> {
        let counters = self.counters;
        let (writer, direct_io) = self.writer(task, before)?;
        let visited = VisitedStates::begin(self, task, before, direct_io)?;
        watch.lap(Cause::Subtract);
        let done = |_, here: &Totals, _: &[u8]| {
            counters.states.fetch_add(here.states, Ordering::Relaxed);
            counters.cosets.fetch_add(1, Ordering::Relaxed);
        };
        let (writer, totals) = self.push_all(writer, task, visited, done, watch)?;
        release_older(task, before);
        Ok(Unfinished { task, writer, totals })
    }

    /// Starts the file of a task. Returns the size of the buffers for data that passes through memory once,
    /// if that data bypasses the page cache.
    fn writer(&self, task: Task, before: &[&Layer]) -> Result<(LayerWriter<'j>, Option<usize>), TaskError> {
        let mut writer = self.store.writer(&self.job.geometry, task)?;
        let Some(&newest) = before.first() else {
            return Ok((writer, None));
        };
        let (bypasses_page_cache, buffer_bytes) =
            (self.job.bypasses_page_cache(newest), self.job.buffer_bytes());
        if bypasses_page_cache {
            writer.uncache();
        }
        if bypasses_page_cache || self.job.writes_behind(newest) {
            writer.write_behind(buffer_bytes);
        }
        Ok((writer, bypasses_page_cache.then_some(buffer_bytes)))
    }

    /// Returns the cosets of a task.
    fn cosets(&self, task: Task) -> Range<u32> {
        self.job.geometry.cut.range(task.shard)
    }

    /// Returns the number of states of a coset that were visited before, and the number of those that were
    /// not.
    fn visited_and_left(&self, coset: CosetId, before: &[&Layer]) -> Result<(u32, u64), LayerError> {
        let visited = before.first().map_or(Ok(0), |layer| layer.states(coset).map(|(_, count)| count))?;
        Ok((visited, self.job.graph.states_per_coset().saturating_sub(u64::from(visited))))
    }

    /// Computes the cosets of a task and pushes them to `writer`. Returns the writer, and the sum of the
    /// counts. `done(coset, counts, packed)` is called for each coset; `packed` has its states if there are
    /// any.
    fn push_all<'d>(
        &mut self,
        mut writer: LayerWriter<'d>,
        task: Task,
        mut visited: VisitedStates<'_>,
        mut done: impl FnMut(CosetId, &Totals, &[u8]),
        watch: &mut Stopwatch,
    ) -> Result<(LayerWriter<'d>, Totals), TaskError> {
        let job = self.job;
        let before = visited.layers();
        let mut totals = job.nothing();
        let cosets = job.geometry.cut.range(task.shard);
        for coset in cosets.clone().take(FETCH_AHEAD as usize) {
            self.prefetch(CosetId(coset), before)?;
        }
        let mut batch = Vec::new();
        self.kernel.forget();
        for coset in cosets.clone().map(CosetId) {
            if coset.0 + FETCH_AHEAD < cosets.end {
                self.prefetch(CosetId(coset.0 + FETCH_AHEAD), before)?;
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(TaskError::Stopped);
            }
            let (count, left) = self.visited_and_left(coset, before)?;
            watch.lap(Cause::Sources);
            let found = if left == 0 { Some(0) } else { self.find(task, coset, &mut visited, left, watch)? };
            batch.push(Computed { coset, visited: count, left, found });
            // The content of `packed` is pushed immediately. Then nothing is in the kernel, because all
            // cosets of a task are found in the same way.
            let is_packed = found.is_some_and(|found| found > 0);
            if !is_packed && coset.0 + 1 < cosets.end && batch.len() < self.kernel.batch() {
                continue;
            }
            for computed in batch.drain(..) {
                self.was_made(&computed, before);
                let coset = computed.coset;
                let here = self.push(&mut writer, task, computed, watch)?;
                totals = totals + here;
                done(coset, &here, &self.packed);
                watch.lap(Cause::Kernel);
            }
        }
        Ok((writer, totals))
    }

    /// Pushes a coset to `writer`, and returns its counts.
    fn push(
        &mut self,
        writer: &mut LayerWriter<'_>,
        task: Task,
        computed: Computed,
        watch: &mut Stopwatch,
    ) -> Result<Totals, TaskError> {
        let found = self.pack(task, &computed, watch)?;
        writer.push(&self.packed, found, computed.visited + found)?;
        watch.lap(Cause::Write);
        Ok(self.count(computed.coset, found))
    }

    /// Copies the states of a coset to `packed`, if there are any, and returns their number.
    fn pack(&mut self, task: Task, computed: &Computed, watch: &mut Stopwatch) -> Result<u32, TaskError> {
        let &Computed { coset, left, found, .. } = computed;
        let mut found = found.unwrap_or_else(|| self.kernel.pack(&mut self.packed));
        watch.lap(Cause::Kernel);
        if found > 0 && failpoint::flips("found") {
            self.lose_first();
            found -= 1;
        }
        if u64::from(found) > left {
            return Err(TaskError::TooManyStates { task, coset: coset.0, found, left });
        }
        Ok(found)
    }

    /// Returns the counts of a coset whose states are in `packed`.
    fn count(&mut self, coset: CosetId, found: u32) -> Totals {
        let packed = &self.packed;
        self.job.count(&mut self.transforms, coset, found, |position| contains(packed, position))
    }

    /// Prefetches the sources of a coset, as far as they will probably be read. Does nothing if the newest
    /// layer has no window, or if the coset is full.
    fn prefetch(&self, coset: CosetId, before: &[&Layer]) -> Result<(), TaskError> {
        let Some(newest) = before.first().filter(|newest| newest.is_windowed()) else {
            return Ok(());
        };
        let (_, left) = self.visited_and_left(coset, before)?;
        if left > 0 {
            let most =
                if self.may_be_complete_early(left) { COMPLETION_CHECKS[1] as usize } else { usize::MAX };
            let mut sources = self.job.graph.sources(coset).take(most);
            sources.try_for_each(|(_, source)| newest.prefetch(source))?;
            newest.prefetch(coset)?;
        }
        Ok(())
    }

    /// Records when the sources of a coset that was computed are read next, for the window of the newest
    /// layer.
    fn was_made(&self, computed: &Computed, before: &[&Layer]) {
        let Some(newest) = before.first().filter(|newest| newest.is_windowed()) else { return };
        let graph = &*self.job.graph;
        let sources = |coset| graph.sources(coset).map(|(_, source)| source);
        // If moves are closed under inverses, a coset is read for exactly the cosets that are read for it.
        let readers = |source| (self.job.lookback == Lookback::Two).then(|| sources(source));
        let read = (computed.left > 0).then(|| sources(computed.coset)).into_iter().flatten();
        newest.was_read_for(computed.coset, read, readers);
    }

    /// Finds the states of a coset at the task's depth, writes them to `packed`, and returns their number. If
    /// there are none, `packed` is unspecified. Returns `None` if the kernel has the states, and will
    /// [pack](Kernel::pack) them. `left` is the number of the coset's states that were not visited before.
    fn find(
        &mut self,
        task: Task,
        coset: CosetId,
        visited: &mut VisitedStates<'_>,
        left: u64,
        watch: &mut Stopwatch,
    ) -> Result<Option<u32>, TaskError> {
        if let Method::Reference(_) = self.job.method {
            return Ok(Some(self.look_up(task, coset)));
        }
        match visited.layers().first() {
            None => Ok(Some(self.solved(coset))),
            Some(newest) => self.pull(coset, newest, visited, left, watch),
        }
    }

    /// Finds the states of a coset to which moves lead from `newest` and that were not visited before.
    fn pull(
        &mut self,
        coset: CosetId,
        newest: &Layer,
        visited: &mut VisitedStates<'_>,
        left: u64,
        watch: &mut Stopwatch,
    ) -> Result<Option<u32>, TaskError> {
        let graph = &*self.job.graph;
        let checks = if self.may_be_complete_early(left) { &COMPLETION_CHECKS[..] } else { &[] };
        let mut sources = graph.sources(coset);
        let mut pulled = 0;
        for check in checks.iter().map(|&check| check as usize).chain([usize::MAX]) {
            if pulled > 0 && newest.is_windowed() {
                // Whatever was prefetched long ago is already in memory.
                sources.clone().take(check - pulled).try_for_each(|(_, source)| newest.prefetch(source))?;
            }
            let mut part: Vec<(usize, Stored<'_>)> = Vec::new();
            while pulled + part.len() < check
                && let Some((mv, source)) = sources.next()
            {
                match newest.coset(source)? {
                    Stored::Empty => {}
                    stored => part.push((mv, stored)),
                }
            }
            watch.lap(Cause::Sources);
            if pulled == 0 && !part.is_empty() {
                self.kernel.clear();
            }
            for (number, (mv, stored)) in part.iter().enumerate() {
                if let Some((_, later)) = part.get(number + 1) {
                    self.kernel.expect(bits(later));
                }
                if self.kernel.map_bytes() > self.job.map_bytes {
                    self.transforms.drop_maps();
                }
                self.transforms.of_move(coset, *mv, &mut self.transform);
                if self.dropped != self.transforms.dropped() {
                    self.dropped = self.transforms.dropped();
                    self.kernel.drop_maps();
                }
                self.kernel.pull(bits(stored), &self.transform, self.transforms.maps());
            }
            pulled += part.len();
            watch.lap(Cause::Kernel);
            if pulled == check {
                visited.subtract_from(&mut *self.kernel, coset)?;
                let found = self.kernel.pack(&mut self.packed);
                watch.lap(Cause::Subtract);
                if u64::from(found) == left {
                    return Ok(Some(found));
                }
            }
        }
        if pulled == 0 {
            return Ok(Some(0));
        }
        visited.subtract_from(&mut *self.kernel, coset)?;
        watch.lap(Cause::Subtract);
        Ok(None)
    }

    /// Returns whether a coset with `left` unvisited states is checked for completion.
    fn may_be_complete_early(&self, left: u64) -> bool {
        self.kernel.batch() == 1
            && left.saturating_mul(NEARLY_FULL.into()) <= self.job.graph.states_per_coset()
    }

    /// Removes the first state from `packed`, to simulate a memory fault.
    fn lose_first(&mut self) {
        if let Some(byte) = self.packed.iter_mut().find(|byte| **byte != 0) {
            *byte &= *byte - 1;
        }
    }

    /// Writes the words of the solved state in this coset to `packed`. Returns their number.
    fn solved(&mut self, coset: CosetId) -> u32 {
        // `packed` is not cleared for a coset without one: of millions of cosets, only a few have one.
        if !self.solved.iter().any(|&(of_word, _)| of_word == coset) {
            return 0;
        }
        self.packed.fill(0);
        let mut found = 0;
        for &(_, position) in self.solved.iter().filter(|&&(of_word, _)| of_word == coset) {
            self.packed[position as usize / 8] |= 1 << (position % 8);
            found += 1;
        }
        found
    }

    /// Writes the states of a coset that the reference kernel found at the task's depth to `packed`. Returns
    /// their number.
    fn look_up(&mut self, task: Task, coset: CosetId) -> u32 {
        let Method::Reference(distances) = &self.job.method else {
            return 0;
        };
        let mut words = self.job.graph.words(coset);
        self.packed.fill(0);
        let mut states = 0;
        for position in self.job.graph.shape().positions() {
            if distances.of(words.at(position)) == Some(task.depth.0) {
                self.packed[position as usize / 8] |= 1 << (position % 8);
                states += 1;
            }
        }
        states
    }
}

#[cfg(test)]
mod tests;
