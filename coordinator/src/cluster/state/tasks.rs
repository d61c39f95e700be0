//! The tasks of the current layer, and those that make lost files again: how far each is, who should make it,
//! and who is at it.

use crate::cluster::event::Millis;
use fathom_run::{Depth, ShardId, ShardReport, Task, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How far a task is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum TaskProgress {
    /// Nobody is at it.
    #[default]
    Waiting,
    /// A worker is at it, and has last said so then, or was told to.
    Running(WorkerId, Millis),
    /// It was made.
    Made(Arc<ShardReport>),
}

/// A task of the current layer, or one that makes a lost file again.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskState {
    /// How often it was given out in this life of the coordinator.
    pub attempts: u32,
    /// How often it failed in a way that another attempt may not mend.
    pub failures: u32,
    /// Who has found last that its inputs contradict each other.
    pub contradicted_by: Option<WorkerId>,
    /// It is not given out before.
    pub not_before: Millis,
    /// When it was given out last.
    pub given: Millis,
    /// Who has made it, if that was in this life of the coordinator.
    pub maker: Option<WorkerId>,
    /// How long the maker took, from order to report.
    pub took: Option<Duration>,
    /// How far it is.
    pub making: TaskProgress,
}

impl TaskState {
    /// What was reported of it, if it was made.
    pub fn report(&self) -> Option<&Arc<ShardReport>> {
        match &self.making {
            TaskProgress::Made(report) => Some(report),
            TaskProgress::Waiting | TaskProgress::Running(..) => None,
        }
    }
}

/// All tasks. Each that waits is in one queue, each that runs is with one worker.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// The depth of the current layer.
    depth: Depth,
    known: BTreeMap<Task, TaskState>,
    /// Who should make each shard of the current layer.
    owners: Vec<Option<WorkerId>>,
    /// Tasks that wait and that nobody owns; those that make lost files again are among them.
    unowned: BTreeSet<Task>,
    /// Tasks that wait, by their owners.
    queues: BTreeMap<WorkerId, BTreeSet<Task>>,
    running: BTreeMap<WorkerId, BTreeSet<Task>>,
    /// How many tasks run in all.
    underway: usize,
}

/// What a worker has that has nothing.
static NONE: BTreeSet<Task> = BTreeSet::new();

impl Tasks {
    /// Those of a layer, none of them begun, owned by nobody.
    pub fn of_layer(depth: Depth, shards: u32) -> Self {
        let tasks = || (0..shards).map(|shard| Task { depth, shard: ShardId(shard) });
        Self {
            depth,
            known: tasks().map(|task| (task, TaskState::default())).collect(),
            owners: vec![None; shards as usize],
            unowned: tasks().collect(),
            queues: BTreeMap::new(),
            running: BTreeMap::new(),
            underway: 0,
        }
    }

    /// A task, if there is such a one.
    pub fn get(&self, task: Task) -> Option<&TaskState> {
        self.known.get(&task)
    }

    /// All tasks, in order: those that make lost files again come first.
    pub fn iter(&self) -> impl Iterator<Item = (Task, &TaskState)> {
        self.known.iter().map(|(task, state)| (*task, state))
    }

    /// Those that make lost files again.
    pub fn repairs(&self) -> impl Iterator<Item = (Task, &TaskState)> {
        self.known.range(..self.first()).map(|(task, state)| (*task, state))
    }

    /// The reports of those shards of the current layer that are made, and who has made each.
    pub fn reports(&self) -> impl Iterator<Item = (&Arc<ShardReport>, Option<WorkerId>)> {
        let of_layer = self.known.range(self.first()..).map(|(_, state)| state);
        of_layer.filter_map(|state| Some((state.report()?, state.maker)))
    }

    fn first(&self) -> Task {
        Task { depth: self.depth, shard: ShardId(0) }
    }

    /// Who should make a task; nobody in particular if it makes a lost file again.
    pub fn owner(&self, task: Task) -> Option<WorkerId> {
        self.owners.get(task.shard.0 as usize).copied().flatten().filter(|_| task.depth == self.depth)
    }

    /// Says by shard who should make the current layer.
    pub fn deal(&mut self, owners: Vec<Option<WorkerId>>) {
        self.owners = owners;
        self.queues.clear();
        self.unowned.clear();
        let waiting = self.known.iter().filter(|(_, state)| state.making == TaskProgress::Waiting);
        for task in waiting.map(|(task, _)| *task).collect::<Vec<_>>() {
            self.queue_mut(task).insert(task);
        }
    }

    /// The tasks that a worker should make and that nobody has begun.
    pub fn queue(&self, worker: WorkerId) -> &BTreeSet<Task> {
        self.queues.get(&worker).unwrap_or(&NONE)
    }

    /// Tasks that wait and that nobody owns; those that make lost files again come first.
    pub fn unowned(&self) -> &BTreeSet<Task> {
        &self.unowned
    }

    /// The tasks that a worker is at.
    pub fn running(&self, worker: WorkerId) -> &BTreeSet<Task> {
        self.running.get(&worker).unwrap_or(&NONE)
    }

    /// How many tasks workers are at.
    pub fn underway(&self) -> usize {
        self.underway
    }

    fn queue_mut(&mut self, task: Task) -> &mut BTreeSet<Task> {
        match self.owner(task) {
            Some(owner) => self.queues.entry(owner).or_default(),
            None => &mut self.unowned,
        }
    }

    /// Changes how far a task is. One that waits is not given out before then. Returns how far it was; `None`
    /// if there is no such task.
    pub fn set(&mut self, task: Task, making: TaskProgress, not_before: Millis) -> Option<TaskProgress> {
        let state = self.known.get_mut(&task)?;
        state.not_before = not_before;
        let was = std::mem::replace(&mut state.making, making.clone());
        self.leave(task, &was);
        match making {
            TaskProgress::Waiting => drop(self.queue_mut(task).insert(task)),
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
            TaskProgress::Waiting => drop(self.queue_mut(task).remove(&task)),
            TaskProgress::Running(worker, _) => {
                self.running.entry(*worker).or_default().remove(&task);
                self.underway -= 1;
            }
            TaskProgress::Made(_) => {}
        }
    }

    /// Gives a task to a worker. Returns the number of the attempt.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn begin(&mut self, task: Task, worker: WorkerId, now: Millis) -> u32 {
        self.set(task, TaskProgress::Running(worker, now), now);
        let state = self.expected(task);
        state.attempts += 1;
        state.given = now;
        state.attempts
    }

    /// Notes who has made a task. Returns how long that took, from order to report.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn note_maker(&mut self, task: Task, maker: Option<WorkerId>, now: Millis) -> Duration {
        let state = self.expected(task);
        let took = now.since(state.given);
        (state.maker, state.took) = (maker, Some(took));
        took
    }

    /// Notes that a task failed in a way that another attempt may not mend. Returns how often it did.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn note_failure(&mut self, task: Task) -> u32 {
        let state = self.expected(task);
        state.failures += 1;
        state.failures
    }

    /// Notes that a worker has found that the inputs of a task contradict each other. Returns who has found
    /// that before.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn note_contradiction(&mut self, task: Task, worker: WorkerId) -> Option<WorkerId> {
        self.expected(task).contradicted_by.replace(worker)
    }

    fn expected(&mut self, task: Task) -> &mut TaskState {
        self.known.get_mut(&task).expect("only tasks that are known are given out")
    }

    /// Adds one that makes a lost file again. Returns whether it is new.
    pub fn add_repair(&mut self, task: Task) -> bool {
        let is_new = !self.known.contains_key(&task);
        if is_new {
            self.known.insert(task, TaskState::default());
            self.unowned.insert(task);
        }
        is_new
    }

    /// Removes one that makes a lost file again.
    pub fn forget(&mut self, task: Task) {
        if let Some(state) = self.known.remove(&task) {
            self.leave(task, &state.making);
        }
    }

    /// Panics if a task waits or runs nowhere, or in two places, or with a worker that is gone.
    #[cfg(test)]
    pub fn check(&self, is_alive: impl Fn(WorkerId) -> bool) {
        let queued = self.queues.values().flatten().chain(&self.unowned);
        let running =
            self.running.iter().flat_map(|(worker, tasks)| tasks.iter().map(move |task| (worker, task)));
        assert_eq!(self.underway, self.running.values().map(BTreeSet::len).sum::<usize>());
        for task in queued {
            assert!(self.known.contains_key(task), "{task:?} waits, and is no task");
        }
        for (worker, task) in running {
            let is_there = self
                .known
                .get(task)
                .is_some_and(|state| matches!(state.making, TaskProgress::Running(at, _) if at == *worker));
            assert!(is_there, "{task:?} does not know that it runs at {worker}");
            assert!(is_alive(*worker), "{task:?} runs at {worker}, who is gone");
        }
        for (&task, state) in &self.known {
            assert!(task.depth <= self.depth, "{task:?} lies ahead of depth {}", self.depth);
            let queue = self.owner(task).map_or(&self.unowned, |owner| self.queue(owner));
            let waits = state.making == TaskProgress::Waiting;
            assert_eq!(queue.contains(&task), waits, "{task:?} waits in no queue, or does not wait");
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
