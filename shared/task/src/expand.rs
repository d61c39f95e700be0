//! One task: makes a shard of a layer from the layers before it.

use crate::layer::bits;
use crate::union::OfTask;
use crate::waits::{Cause, Stopwatch};
use crate::{Counters, Job, Layer, Method, Store, TaskError};
use fathom_command::failpoint;
use fathom_kernel::{Engine, Kernel};
use fathom_layer::{LayerError, LayerWriter, NullDisk, Stored, Totals};
use fathom_run::{ShardReport, Task};
use fathom_space::{CosetId, Transform, Transforms};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many cosets ahead the sources of a coset are fetched: a read from disk takes about as long as a few
/// cosets.
const FETCH_AHEAD: u32 = 16;

/// A coset is nearly full if at most one in this many of its states is left. A few pulls may then find
/// everything that is left, and the other pulls can be skipped.
pub const NEARLY_FULL: u32 = 8;

/// Numbers of pulls after which a nearly full coset is checked for completion.
pub const COMPLETION_CHECKS: [u32; 3] = [3, 6, 12];

/// What happens to a complete file of the task that an interrupted run has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// The file is taken as the result of the task.
    Counts,
    /// The file is not read, and is replaced.
    IsReplaced,
}

/// The states that were visited before a task's depth.
struct Visited<'a> {
    /// The layers that the task reads, the newest first.
    layers: &'a [&'a Layer],
    /// The union of these layers, if there is one.
    union: Option<OfTask<'a>>,
}

/// Does tasks on one thread. Keeps the axis maps and bit networks that it has made for later cosets and
/// tasks.
pub struct Expander<'j> {
    job: &'j Job,
    transforms: Transforms<'j>,
    transform: Transform,
    kernel: Box<dyn Kernel + Send>,
    packed: Vec<u8>,
    /// The places of the words of the solved state, one for each free move.
    solved: BTreeSet<(CosetId, u32)>,
}

impl<'j> Expander<'j> {
    /// Makes an expander for the tasks of a run.
    pub fn new(job: &'j Job) -> Self {
        let shape = job.graph.shape();
        let engine = match job.method {
            Method::Cosets(engine) => engine,
            Method::Reference(_) => Engine::Portable,
        };
        let space = job.graph.space();
        Self {
            job,
            solved: space.words_of(space.solved()).filter_map(|word| job.graph.locate(&word)).collect(),
            transforms: Transforms::new(&job.graph),
            transform: Transform::default(),
            kernel: engine.kernel(shape).expect("a job has an engine that does its cosets here"),
            packed: vec![0; shape.packed_bytes() as usize],
        }
    }

    /// Does a task and writes its file. `before` has the layers [below](fathom_run::Lookback::below) the one
    /// to make, the newest first. If `stop` becomes true, the task ends at the next coset.
    ///
    /// # Errors
    /// [`TaskError`] if the task did not end with a report. No new file is left then.
    pub fn run(
        &mut self,
        store: &Store<'_>,
        task: Task,
        leftover: Leftover,
        before: &[&Layer],
        counters: &Counters,
        stop: &AtomicBool,
    ) -> Result<ShardReport, TaskError> {
        let mut watch = Stopwatch::start();
        let finished = match leftover {
            Leftover::Counts => self.finished(store, task, before, counters),
            Leftover::IsReplaced => Ok(None),
        };
        watch.lap(Cause::Sources);
        let computed = match finished {
            Ok(None) => self.compute_shard(store, task, before, counters, stop, &mut watch),
            Ok(Some(report)) => Ok(report),
            Err(error) => Err(error),
        };
        watch.add_to(&counters.spent);
        self.with_watched(store, computed?)
    }

    /// Adds the watched states that lie in a shard to its report.
    fn with_watched(&self, store: &Store<'_>, mut report: ShardReport) -> Result<ShardReport, TaskError> {
        let (job, task) = (self.job, report.task);
        report.watched = job.watched.found(job.geometry.cut.range(task.shard), || {
            store.open_shard(&job.geometry, task.depth, task.shard)
        })?;
        Ok(report)
    }

    /// Computes the report of a task once more, with another engine if `engine` is given and supports the
    /// cosets. Nothing is written, and the task's file is not read.
    ///
    /// # Errors
    /// The errors of [`Expander::run`].
    pub fn audit(
        &mut self,
        task: Task,
        engine: Option<Engine>,
        before: &[&Layer],
        stop: &AtomicBool,
    ) -> Result<ShardReport, TaskError> {
        let identity = self.job.geometry.identity(task.depth, task.shard);
        let writer = LayerWriter::create(&NullDisk, Path::new("audit"), identity)?;
        let other = engine.and_then(|engine| engine.kernel(self.job.graph.shape()));
        let usual = other.map(|other| std::mem::replace(&mut self.kernel, other));
        let mut watch = Stopwatch::start();
        let pushed = self.push_all(writer, task, before, &Counters::default(), stop, &mut watch);
        if let Some(usual) = usual {
            self.kernel = usual;
        }
        let (writer, totals) = pushed?;
        Ok(ShardReport { task, totals, bytes: 0, checksums: writer.abandon(), watched: Vec::new() })
    }

    /// Returns the report of a task whose complete file an interrupted run has left. If a source of the task
    /// was given back, the file must be there.
    fn finished(
        &self,
        store: &Store<'_>,
        task: Task,
        before: &[&Layer],
        counters: &Counters,
    ) -> Result<Option<ShardReport>, TaskError> {
        let job = self.job;
        let finished = match before.iter().any(|layer| layer.lacks(task.shard)) {
            true => match store.read_back(&job.geometry, task) {
                Err(source) if source.is_damage() || source.is_missing() => {
                    return Err(TaskError::GivenBack { task, source });
                }
                report => Some(report?),
            },
            false => store.finished(&job.geometry, task)?,
        };
        if let Some(report) = &finished {
            let cosets = job.geometry.cut.range(task.shard);
            counters.cosets.fetch_add((cosets.end - cosets.start).into(), Ordering::Relaxed);
            counters.states.fetch_add(report.totals.states, Ordering::Relaxed);
        }
        Ok(finished)
    }

    fn compute_shard(
        &mut self,
        store: &Store<'_>,
        task: Task,
        before: &[&Layer],
        counters: &Counters,
        stop: &AtomicBool,
        watch: &mut Stopwatch,
    ) -> Result<ShardReport, TaskError> {
        let job = self.job;
        let mut writer = store.writer(&job.geometry, task)?;
        // The new layer will be about as large as the newest. If both do not fit into the cache, the new one
        // would leave memory before it is read, so it is not cached at all.
        if before.first().is_some_and(|newest| newest.bytes() > job.cache.bytes() / 2) {
            writer.uncache();
        }
        let (writer, totals) = self.push_all(writer, task, before, counters, stop, watch)?;
        failpoint::point("writing");
        let (checksums, bytes) = writer.finish(totals)?;
        watch.lap(Cause::Sync);
        if let [newest, older @ ..] = before
            && newest.is_windowed()
        {
            older.iter().for_each(|layer| layer.release(task.shard));
        }
        Ok(ShardReport { task, totals, bytes, checksums, watched: Vec::new() })
    }

    /// Computes the cosets of a task and pushes them to `writer`. Returns the writer, and the sum of the
    /// counts.
    fn push_all<'d>(
        &mut self,
        mut writer: LayerWriter<'d>,
        task: Task,
        before: &[&Layer],
        counters: &Counters,
        stop: &AtomicBool,
        watch: &mut Stopwatch,
    ) -> Result<(LayerWriter<'d>, Totals), TaskError> {
        let job = self.job;
        let mut totals = job.nothing();
        let union = match &job.union {
            Some(union) if before.len() > 1 => union.of_task(task.shard, before)?,
            _ => None,
        };
        watch.lap(Cause::Subtract);
        let visited = Visited { layers: before, union };
        let cosets = job.geometry.cut.range(task.shard);
        for coset in cosets.clone().take(FETCH_AHEAD as usize) {
            self.prefetch(CosetId(coset), before)?;
        }
        for coset in cosets.clone().map(CosetId) {
            if coset.0 + FETCH_AHEAD < cosets.end {
                self.prefetch(CosetId(coset.0 + FETCH_AHEAD), before)?;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(TaskError::Stopped);
            }
            let count = before.first().map_or(Ok(0), |layer| layer.states(coset).map(|(_, count)| count))?;
            let left = job.graph.states_per_coset().saturating_sub(u64::from(count));
            watch.lap(Cause::Sources);
            let mut found = if left == 0 { 0 } else { self.find(task, coset, &visited, left, watch)? };
            watch.lap(Cause::Kernel);
            if found > 0 && failpoint::flips("found") {
                self.lose_first();
                found -= 1;
            }
            if u64::from(found) > left {
                return Err(TaskError::TooManyStates { task, coset: coset.0, found, left });
            }
            writer.push(&self.packed, found, count + found)?;
            watch.lap(Cause::Write);
            if found > 0 {
                let packed = &self.packed;
                let contains = |position: u32| packed[position as usize / 8] >> (position % 8) & 1 == 1;
                let here = job.count(&mut self.transforms, coset, found, contains);
                totals = totals + here;
                counters.states.fetch_add(here.states, Ordering::Relaxed);
            }
            counters.cosets.fetch_add(1, Ordering::Relaxed);
            watch.lap(Cause::Kernel);
        }
        Ok((writer, totals))
    }

    /// Prefetches the sources of a coset. Does nothing if the newest layer has no window, or if the coset is
    /// full.
    fn prefetch(&self, coset: CosetId, before: &[&Layer]) -> Result<(), TaskError> {
        let Some(newest) = before.first().filter(|newest| newest.is_windowed()) else {
            return Ok(());
        };
        if u64::from(newest.states(coset)?.1) < self.job.graph.states_per_coset() {
            for (_, source) in self.job.graph.sources(coset) {
                newest.prefetch(source)?;
            }
            newest.prefetch(coset)?;
        }
        Ok(())
    }

    /// Finds the states of a coset at the task's depth, writes them to `packed`, and returns their number. If
    /// there are none, `packed` is unspecified. `left` is the number of the coset's states that were not
    /// visited before.
    fn find(
        &mut self,
        task: Task,
        coset: CosetId,
        visited: &Visited<'_>,
        left: u64,
        watch: &mut Stopwatch,
    ) -> Result<u32, TaskError> {
        if let Method::Reference(_) = self.job.method {
            return Ok(self.look_up(task, coset));
        }
        match visited.layers.first() {
            None => Ok(self.solved(coset)),
            Some(newest) => self.pull(coset, newest, visited, left, watch),
        }
    }

    /// Finds the states of a coset to which moves lead from `newest` and that were not visited before.
    fn pull(
        &mut self,
        coset: CosetId,
        newest: &Layer,
        visited: &Visited<'_>,
        left: u64,
        watch: &mut Stopwatch,
    ) -> Result<u32, TaskError> {
        let nearly_full = left.saturating_mul(NEARLY_FULL.into()) <= self.job.graph.states_per_coset();
        let sources = self.job.graph.sources(coset);
        let sources = sources.map(|(mv, source)| Ok((mv, newest.coset(source)?)));
        let mut sources: Vec<(usize, Stored<'_>)> = sources.collect::<Result<_, LayerError>>()?;
        sources.retain(|(_, stored)| !matches!(stored, Stored::Empty));
        watch.lap(Cause::Sources);
        let mut pulled = 0;
        for (number, (mv, stored)) in sources.iter().enumerate() {
            if pulled == 0 {
                self.kernel.clear();
            }
            if nearly_full && COMPLETION_CHECKS.contains(&pulled) {
                watch.lap(Cause::Kernel);
                let found = self.without(coset, visited)?;
                watch.lap(Cause::Subtract);
                if u64::from(found) == left {
                    return Ok(found);
                }
            }
            pulled += 1;
            if let Some((_, later)) = sources.get(number + 1) {
                self.kernel.expect(bits(later));
            }
            self.transforms.of_move(coset, *mv, &mut self.transform);
            self.kernel.pull(bits(stored), &self.transform, self.transforms.maps());
        }
        if pulled == 0 {
            return Ok(0);
        }
        watch.lap(Cause::Kernel);
        let found = self.without(coset, visited);
        watch.lap(Cause::Subtract);
        found
    }

    /// Removes the first state from `packed`, to simulate a fault of the memory.
    fn lose_first(&mut self) {
        if let Some(byte) = self.packed.iter_mut().find(|byte| **byte != 0) {
            *byte &= *byte - 1;
        }
    }

    /// Writes the states that the kernel has collected and that were not visited before to `packed`. Returns
    /// their number.
    fn without(&mut self, coset: CosetId, visited: &Visited<'_>) -> Result<u32, TaskError> {
        match &visited.union {
            Some(union) => self.kernel.subtract(union.coset(coset)),
            None => {
                for layer in visited.layers {
                    self.kernel.subtract(bits(&layer.coset(coset)?));
                }
            }
        }
        Ok(self.kernel.pack(&mut self.packed))
    }

    /// Writes the words of the solved state that lie in this coset to `packed`. Returns their number.
    fn solved(&mut self, coset: CosetId) -> u32 {
        // `packed` is not cleared for a coset without one, as all but a few of millions are.
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

    /// Writes the states of a coset that the reference engine found at the task's depth to `packed`. Returns
    /// their number.
    fn look_up(&mut self, task: Task, coset: CosetId) -> u32 {
        let Method::Reference(distances) = &self.job.method else {
            return 0;
        };
        let shape = self.job.graph.shape();
        self.packed.fill(0);
        let mut states = 0;
        for position in shape.positions() {
            if distances.of(&self.job.graph.word_at(coset, position)) == Some(task.depth.0) {
                self.packed[position as usize / 8] |= 1 << (position % 8);
                states += 1;
            }
        }
        states
    }
}
