//! The tasks of the current layer, and the tasks that recompute lost files: their progress, their owners, and
//! the workers that compute them.

use crate::cluster::event::Millis;
use fathom_engine::run::{Depth, ShardId, ShardOrder, ShardReport, Task};
use fathom_proto::{FailureKind, WorkerId};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The progress of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TaskProgress {
    /// No worker computes the task.
    #[default]
    Waiting,
    /// A worker computes the task. The time is that of the command, or of the worker's last heartbeat that
    /// listed it.
    Running(WorkerId, Millis),
    /// The report was received.
    Made(Arc<ShardReport>),
}

/// A task of the current layer, or a task that recomputes a lost file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskState {
    /// Number of times the task was assigned in this epoch.
    pub attempts: u32,
    /// Number of failures of a kind that another attempt rarely fixes.
    pub failures: u32,
    /// The worker that last found that the inputs of the task contradict each other.
    pub contradicted_by: Option<WorkerId>,
    /// The task is not assigned before this time.
    pub not_before: Millis,
    /// When the task was last assigned.
    pub given: Millis,
    /// Whether the task was last assigned as a recomputation, which ignores existing files.
    pub is_afresh: bool,
    /// The worker that computed the shard, if known.
    pub producer: Option<WorkerId>,
    /// Time from command to report.
    pub took: Option<Duration>,
    /// The newest failed attempts, oldest first.
    pub failed: VecDeque<FailedAttempt>,
    /// The progress of the task.
    pub making: TaskProgress,
}

/// A failed attempt at a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailedAttempt {
    /// The worker that made the attempt.
    pub worker: WorkerId,
    /// When the coordinator learned of the failure.
    pub at: Millis,
    /// The kind of failure; `None` if the worker left or was lost.
    pub failure: Option<FailureKind>,
}

/// Maximum number of failed attempts at a task that are kept.
const MAX_FAILED: usize = 8;

impl TaskState {
    /// Returns the report of the task, if there is one.
    pub fn report(&self) -> Option<&Arc<ShardReport>> {
        match &self.making {
            TaskProgress::Made(report) => Some(report),
            TaskProgress::Waiting | TaskProgress::Running(..) => None,
        }
    }
}

/// All tasks. Each waiting task is in one queue, and each running task is with one worker.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// The depth of the current layer.
    depth: Depth,
    /// The order in which the tasks of the current layer are assigned.
    order: Arc<ShardOrder>,
    known: BTreeMap<Task, TaskState>,
    /// The worker that should compute each shard of the current layer, by shard.
    owners: Vec<Option<WorkerId>>,
    /// Waiting tasks without an owner, repairs of lost files included.
    unowned: BTreeSet<Task>,
    /// Waiting tasks, by owner, as their places in the order.
    queues: BTreeMap<WorkerId, BTreeSet<u32>>,
    running: BTreeMap<WorkerId, BTreeSet<Task>>,
    /// Number of running tasks.
    underway: usize,
}

/// The empty sets, for a worker without running or waiting tasks.
static NONE: BTreeSet<Task> = BTreeSet::new();
static NO_PLACES: BTreeSet<u32> = BTreeSet::new();

impl Tasks {
    /// Returns the tasks of a layer, none of them started, without owners.
    pub(super) fn of_layer(depth: Depth, order: Arc<ShardOrder>) -> Self {
        let tasks = || order.shards().iter().map(|&shard| Task { depth, shard });
        Self {
            depth,
            known: tasks().map(|task| (task, TaskState::default())).collect(),
            owners: vec![None; order.shards().len()],
            unowned: tasks().collect(),
            queues: BTreeMap::new(),
            running: BTreeMap::new(),
            underway: 0,
            order,
        }
    }

    /// Returns a task, or `None` if there is no such task.
    pub fn get(&self, task: Task) -> Option<&TaskState> {
        self.known.get(&task)
    }

    /// Returns the depth of the current layer.
    pub fn depth(&self) -> Depth {
        self.depth
    }

    /// Returns the order in which the tasks of the current layer are assigned.
    pub fn order(&self) -> &Arc<ShardOrder> {
        &self.order
    }

    /// Returns whether the report of a task was received.
    pub fn is_made(&self, task: Task) -> bool {
        self.get(task).is_some_and(|state| state.report().is_some())
    }

    /// Returns all tasks, in order: repairs of lost files come first, because their depths are smaller.
    pub fn iter(&self) -> impl Iterator<Item = (Task, &TaskState)> {
        self.known.iter().map(|(task, state)| (*task, state))
    }

    /// Returns the tasks that recompute lost files.
    pub fn repairs(&self) -> impl Iterator<Item = (Task, &TaskState)> {
        self.known.range(..self.first()).map(|(task, state)| (*task, state))
    }

    /// Returns the reports of the current layer, in order, each with the worker that computed the shard.
    pub fn reports(&self) -> impl Iterator<Item = (&Arc<ShardReport>, Option<WorkerId>)> {
        let of_layer = self.known.range(self.first()..).map(|(_, state)| state);
        of_layer.filter_map(|state| Some((state.report()?, state.producer)))
    }

    fn first(&self) -> Task {
        Task { depth: self.depth, shard: ShardId(0) }
    }

    /// Returns the worker that should compute a task. A repair has no owner.
    pub fn owner(&self, task: Task) -> Option<WorkerId> {
        self.owners.get(task.shard.0 as usize).copied().flatten().filter(|_| task.depth == self.depth)
    }

    /// Sets the owner of each shard of the current layer, and sorts the waiting tasks into the queues.
    pub(super) fn deal(&mut self, owners: Vec<Option<WorkerId>>) {
        self.owners = owners;
        self.queues.clear();
        self.unowned.clear();
        let waiting = self.known.iter().filter(|(_, state)| state.making == TaskProgress::Waiting);
        for task in waiting.map(|(task, _)| *task).collect::<Vec<_>>() {
            self.enter(task);
        }
    }

    /// Returns the waiting tasks that a worker owns, in the order in which they are assigned.
    pub fn queue(&self, worker: WorkerId) -> impl DoubleEndedIterator<Item = Task> + ExactSizeIterator {
        let places = self.queues.get(&worker).unwrap_or(&NO_PLACES).iter();
        places.map(|&place| Task { depth: self.depth, shard: self.order.shards()[place as usize] })
    }

    /// Returns the waiting tasks without an owner; repairs of lost files come first.
    pub fn unowned(&self) -> &BTreeSet<Task> {
        &self.unowned
    }

    /// Returns the tasks that a worker computes.
    pub fn running(&self, worker: WorkerId) -> &BTreeSet<Task> {
        self.running.get(&worker).unwrap_or(&NONE)
    }

    /// Returns the number of running tasks.
    pub fn underway(&self) -> usize {
        self.underway
    }

    /// Puts a waiting task into its queue.
    fn enter(&mut self, task: Task) {
        match self.owner(task) {
            Some(owner) => {
                self.queues.entry(owner).or_default().insert(self.order.place(task.shard));
            }
            None => drop(self.unowned.insert(task)),
        }
    }

    /// Changes the progress of a task. A waiting task is not assigned before `not_before`. Returns the
    /// previous progress, or `None` if there is no such task.
    pub(super) fn set(
        &mut self,
        task: Task,
        making: TaskProgress,
        not_before: Millis,
    ) -> Option<TaskProgress> {
        let state = self.known.get_mut(&task)?;
        state.not_before = not_before;
        let was = std::mem::replace(&mut state.making, making.clone());
        self.leave(task, &was);
        match making {
            TaskProgress::Waiting => self.enter(task),
            TaskProgress::Running(worker, _) => {
                self.running.entry(worker).or_default().insert(task);
                self.underway += 1;
            }
            TaskProgress::Made(_) => {}
        }
        Some(was)
    }

    fn leave(&mut self, task: Task, was: &TaskProgress) {
        match was {
            TaskProgress::Waiting => match self.owner(task) {
                Some(owner) => {
                    self.queues.entry(owner).or_default().remove(&self.order.place(task.shard));
                }
                None => drop(self.unowned.remove(&task)),
            },
            TaskProgress::Running(worker, _) => {
                self.running.entry(*worker).or_default().remove(&task);
                self.underway -= 1;
            }
            TaskProgress::Made(_) => {}
        }
    }

    /// Assigns a task to a worker, perhaps to be recomputed. Returns the number of the attempt.
    ///
    /// # Panics
    /// If there is no such task.
    pub(super) fn begin(&mut self, task: Task, worker: WorkerId, is_afresh: bool, now: Millis) -> u32 {
        self.set(task, TaskProgress::Running(worker, now), now);
        let state = self.expected(task);
        state.attempts += 1;
        state.is_afresh = is_afresh;
        state.given = now;
        state.attempts
    }

    /// Enters a shard that was computed in an earlier epoch, with the worker that computed it, if known.
    ///
    /// # Panics
    /// If there is no such task.
    pub(super) fn restore(&mut self, report: ShardReport, producer: Option<WorkerId>) {
        let task = report.task;
        self.set(task, TaskProgress::Made(Arc::new(report)), Millis(0));
        self.expected(task).producer = producer;
    }

    /// Records which worker computed a task. Returns the time from command to report.
    ///
    /// # Panics
    /// If there is no such task.
    pub(super) fn note_producer(&mut self, task: Task, producer: Option<WorkerId>, now: Millis) -> Duration {
        let state = self.expected(task);
        let took = now.since(state.given);
        (state.producer, state.took) = (producer, Some(took));
        took
    }

    /// Counts a failure of a kind that another attempt rarely fixes. Returns the number of such failures.
    ///
    /// # Panics
    /// If there is no such task.
    pub(super) fn note_failure(&mut self, task: Task) -> u32 {
        let state = self.expected(task);
        state.failures += 1;
        state.failures
    }

    /// Stores a failed attempt.
    ///
    /// # Panics
    /// If there is no such task.
    pub(super) fn note_failed_attempt(&mut self, task: Task, attempt: FailedAttempt) {
        let failed = &mut self.expected(task).failed;
        failed.push_back(attempt);
        if failed.len() > MAX_FAILED {
            failed.pop_front();
        }
    }

    /// Records that a worker found that the inputs of a task contradict each other. Returns the worker that
    /// last found the same, if any.
    ///
    /// # Panics
    /// If there is no such task.
    pub(super) fn note_contradiction(&mut self, task: Task, worker: WorkerId) -> Option<WorkerId> {
        self.expected(task).contradicted_by.replace(worker)
    }

    fn expected(&mut self, task: Task) -> &mut TaskState {
        self.known.get_mut(&task).expect("only known tasks are assigned")
    }

    /// Adds a task that recomputes a lost file. Returns whether it is new.
    pub(super) fn add_repair(&mut self, task: Task) -> bool {
        let is_new = !self.known.contains_key(&task);
        if is_new {
            self.known.insert(task, TaskState::default());
            self.unowned.insert(task);
        }
        is_new
    }

    /// Removes a task.
    pub(super) fn forget(&mut self, task: Task) {
        if let Some(state) = self.known.remove(&task) {
            self.leave(task, &state.making);
        }
    }

    /// Panics if a task is in no queue or worker, or in two, or with a worker that is not alive.
    #[cfg(test)]
    pub fn check(&self, is_alive: impl Fn(WorkerId) -> bool) {
        let owned = self.queues.keys().flat_map(|&owner| self.queue(owner));
        let queued = owned.chain(self.unowned.iter().copied());
        let running =
            self.running.iter().flat_map(|(worker, tasks)| tasks.iter().map(move |task| (worker, task)));
        assert_eq!(self.underway, self.running.values().map(BTreeSet::len).sum::<usize>());
        for task in queued {
            assert!(self.known.contains_key(&task), "{task:?} waits, but is not a task");
        }
        for (worker, task) in running {
            let is_there = self
                .known
                .get(task)
                .is_some_and(|state| matches!(state.making, TaskProgress::Running(at, _) if at == *worker));
            assert!(is_there, "{task:?} does not know that it runs at {worker}");
            assert!(is_alive(*worker), "{task:?} runs at {worker}, which is gone");
        }
        for (&task, state) in &self.known {
            assert!(task.depth <= self.depth, "{task:?} is ahead of depth {}", self.depth);
            let is_queued = match self.owner(task) {
                Some(owner) => {
                    let queue = self.queues.get(&owner);
                    queue.is_some_and(|queue| queue.contains(&self.order.place(task.shard)))
                }
                None => self.unowned.contains(&task),
            };
            let waits = state.making == TaskProgress::Waiting;
            assert_eq!(is_queued, waits, "{task:?} waits in no queue, or does not wait");
            if let TaskProgress::Running(worker, _) = state.making {
                assert!(
                    self.running(worker).contains(&task),
                    "{worker} does not know that it is at {task:?}"
                );
            }
            if let Some(report) = state.report() {
                assert_eq!(report.task, task);
            }
        }
        let of_layer = self.known.range(self.first()..).count();
        assert_eq!(of_layer, self.owners.len(), "the current layer lacks tasks");
    }
}
