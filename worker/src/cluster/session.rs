//! The worker's side of the session with its coordinator, as a pure state machine.
//!
//! [`Session::step`] takes an event and the time, changes only the session, and returns the actions to carry
//! out. The [driver](super::driver) carries them out and feeds their results back in; a simulation does the
//! same without a network. Lost messages are harmless: commands that did not arrive are given again, and
//! files whose reports did not arrive are in the inventory when the worker registers again.

use crate::cluster::holders::Holders;
use fathom_engine::run::{Depth, Task};
use fathom_proto::{Attempt, Copied, Done, Failure, FailureKind, LeaveReason, Outcome, StoredFile};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, info, warn};

/// The queued tasks should last for this time, so that there is work while more are requested.
const WORTH_HAVING: Duration = Duration::from_millis(200);
/// Maximum number of tasks per thread.
const MAX_TASKS: usize = 32;
/// Maximum number of checksums in a report, unless a single outcome has more: 16 MiB of the 64 MiB of a
/// message.
const MAX_CHECKSUMS: usize = 1 << 19;
/// An outcome waits this long for others to be reported with it, unless there is nothing else to do.
const TOGETHER: Duration = Duration::from_millis(100);

/// Why a session ended normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The coordinator told the worker to leave.
    Leave(LeaveReason),
    /// This process was told to stop.
    Told,
}

impl End {
    /// Returns why the session ended, in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Leave(LeaveReason::Done | LeaveReason::Clean) => "the run has ended",
            Self::Leave(LeaveReason::Stopped) => "the run was stopped",
            Self::Leave(LeaveReason::Drained) => "drained",
            Self::Leave(LeaveReason::Failed) => "the run has failed",
            Self::Leave(LeaveReason::CoordinatorGoes) => "the coordinator has stopped",
            Self::Told => "stopped by a signal",
        }
    }
}

/// A command of the coordinator, with the addresses of holders.
pub type Command = fathom_proto::Command<String>;

/// An event. Responses carry the session of their request, because they may arrive after the session has
/// ended.
#[derive(Clone, Debug)]
pub enum Input {
    /// Time has passed.
    Time,
    /// The coordinator has registered this worker.
    Registered {
        /// The number of the new session.
        session: u64,
        /// Interval between heartbeats.
        heartbeat: Duration,
        /// The depths of the layers to keep.
        needed: Vec<Depth>,
    },
    /// The coordinator has answered a heartbeat.
    HeartbeatAnswered {
        /// The session of the request.
        session: u64,
        /// Whether the session lasts.
        known: bool,
    },
    /// The coordinator has answered a request for commands.
    CommandsAnswered {
        /// The number of the request.
        number: u64,
        /// The session of the request.
        session: u64,
        /// Whether the session lasts.
        known: bool,
        /// The commands.
        commands: Vec<Command>,
        /// The holder map, if it has changed.
        holders: Option<Holders>,
    },
    /// The coordinator has received a report.
    ReportAnswered {
        /// The session of the request.
        session: u64,
        /// Whether the session lasts.
        known: bool,
    },
    /// A task has ended.
    TaskEnded {
        /// The shard.
        task: Task,
        /// Whether it was an audit.
        audit: bool,
        /// The result.
        result: Result<Done, Failure>,
        /// Time on a kernel thread; `None` if the task did not start.
        took: Option<Duration>,
    },
    /// A copy has ended.
    CopyEnded {
        /// The file.
        task: Task,
        /// The result.
        result: Result<Done, Failure>,
    },
    /// A file that was reported as damaged was checked, and deleted unless it is intact.
    Discarded {
        /// The file.
        task: Task,
        /// Its size and digest, if it is intact.
        whole: Option<Copied>,
    },
    /// This process was told to stop.
    Stop,
}

/// An action to carry out.
#[derive(Clone, Debug)]
pub enum Action {
    /// Join the run, with an inventory of the store. Answered by [`Input::Registered`].
    Register,
    /// Send a heartbeat. Answered by [`Input::HeartbeatAnswered`].
    Beat {
        /// The session.
        session: u64,
        /// The commands that have not ended.
        underway: Vec<Task>,
    },
    /// Request commands. Answered by [`Input::CommandsAnswered`].
    Ask {
        /// The number of the request.
        number: u64,
        /// The session.
        session: u64,
        /// Number of tasks wanted.
        tasks: u32,
        /// The version of the present holder map.
        holders_version: u64,
    },
    /// Report outcomes. Answered by [`Input::ReportAnswered`].
    Report {
        /// The session.
        session: u64,
        /// The number of the report, so that a report that arrives twice counts once.
        number: u64,
        /// The outcomes of commands.
        outcomes: Vec<Outcome>,
    },
    /// Use this holder map from now on.
    UseHolders(Arc<Holders>),
    /// Retire the layers that are not among these depths.
    KeepOnly(Vec<Depth>),
    /// Compute a shard. Answered by [`Input::TaskEnded`].
    Compute(Task),
    /// Compute a shard, even if there is a file of it. Answered by [`Input::TaskEnded`].
    Recompute(Task),
    /// Compute a shard again without keeping its file, if possible with another kernel than the named one.
    /// Answered by [`Input::TaskEnded`].
    Audit(Task, String),
    /// Copy a file from one of the peers at these addresses. Answered by [`Input::CopyEnded`].
    Copy(StoredFile, Vec<String>),
    /// Delete a file, if it is damaged. Answered by [`Input::Discarded`].
    Discard(StoredFile),
    /// Delete a file that is no longer read.
    Release(Task),
    /// Delete or compress a layer.
    RetireLayer(Depth),
    /// Stop the kernel threads: tasks end as [`Failure::Stopped`].
    Halt,
    /// Report the remaining outcomes, and leave.
    Finish {
        /// Why the session ends.
        end: End,
        /// The session; 0 if there was none.
        session: u64,
        /// The number of the last report.
        number: u64,
        /// The outcomes not reported yet.
        outcomes: Vec<Outcome>,
    },
}

/// A request for commands that has not been answered yet.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    number: u64,
    tasks: u32,
}

/// The time that tasks take, which determines how many the worker should have: enough to last while more
/// are requested.
#[derive(Clone, Debug, Default)]
struct Pace {
    /// Moving average of the time of a task.
    took: Duration,
}

impl Pace {
    fn note(&mut self, took: Duration) {
        self.took = (self.took * 3 + took) / 4;
    }

    /// Returns the number of tasks for `threads` threads: two per thread, one to compute and one to prepare,
    /// or more if tasks are short.
    fn most(&self, threads: usize) -> usize {
        let short = WORTH_HAVING.as_nanos() / self.took.as_nanos().max(1);
        threads * (short as usize).clamp(2, MAX_TASKS)
    }
}

/// The state of a session.
#[derive(Clone, Debug)]
pub struct Session {
    threads: usize,
    /// The number of the session; 0 before the first one.
    session: u64,
    /// Whether a registration is under way, or waits for files to be discarded, which must not be in the
    /// inventory.
    is_registering: bool,
    heartbeat: Duration,
    /// Whether a heartbeat is under way.
    is_beating: bool,
    beat_due: Duration,
    /// The holder map of this session; empty and of version 0 when a session begins, because peers in a map
    /// of an earlier session may no longer hold anything.
    holders: Arc<Holders>,
    /// Tasks that have not ended, with the last attempt commanded.
    tasks: BTreeMap<Task, Attempt>,
    /// Those of the tasks that ignore existing files of their shard.
    afresh: BTreeSet<Task>,
    /// Audits that have not ended, with the last attempt commanded.
    audits: BTreeMap<Task, Attempt>,
    /// Copies that have not ended.
    copies: BTreeSet<Task>,
    /// Files to check once the copies of them that are under way have ended.
    discard_after_copy: BTreeMap<Task, StoredFile>,
    /// Shards to recompute once the copies of them that are under way have ended: such a copy is of an
    /// earlier file, and must not replace the new one.
    make_after_copy: BTreeSet<Task>,
    /// Files being checked, to be deleted if they are damaged, each with the actions that wait for the
    /// check.
    discarding: BTreeMap<Task, Vec<Action>>,
    pace: Pace,
    pending_request: Option<PendingRequest>,
    requests: u64,
    ask_again: Duration,
    /// The outcomes not reported yet.
    outcomes: Vec<Outcome>,
    report_due: Duration,
    reports: u64,
    /// Whether a report is under way, and the files of its outcomes.
    is_reporting: bool,
    reporting: Vec<Task>,
    leaving: Option<End>,
    is_finished: bool,
}

impl Session {
    /// Starts to join the run, with `threads` kernel threads.
    pub fn begin(threads: usize) -> (Self, Vec<Action>) {
        let session = Self {
            threads,
            session: 0,
            is_registering: true,
            heartbeat: Duration::ZERO,
            is_beating: false,
            beat_due: Duration::ZERO,
            holders: Arc::default(),
            tasks: BTreeMap::new(),
            afresh: BTreeSet::new(),
            audits: BTreeMap::new(),
            copies: BTreeSet::new(),
            discard_after_copy: BTreeMap::new(),
            make_after_copy: BTreeSet::new(),
            discarding: BTreeMap::new(),
            pace: Pace::default(),
            pending_request: None,
            requests: 0,
            ask_again: Duration::ZERO,
            outcomes: Vec::new(),
            report_due: Duration::ZERO,
            reports: 0,
            is_reporting: false,
            reporting: Vec::new(),
            leaving: None,
            is_finished: false,
        };
        (session, vec![Action::Register])
    }

    /// Handles an event, and returns the actions to carry out, in order. `now` is the time since the process
    /// started. [`Action::Finish`] is the last action.
    pub fn step(&mut self, now: Duration, input: Input) -> Vec<Action> {
        let mut actions = Vec::new();
        match input {
            Input::Time => {}
            Input::Registered { session, heartbeat, needed } => {
                info!(session, "registered");
                self.session = session;
                self.is_registering = false;
                self.heartbeat = heartbeat;
                (self.is_beating, self.beat_due) = (false, now);
                (self.pending_request, self.ask_again) = (None, now);
                self.holders = Arc::default();
                actions.push(Action::UseHolders(Arc::clone(&self.holders)));
                actions.push(Action::KeepOnly(needed));
            }
            Input::HeartbeatAnswered { session, known } => {
                if self.lasts(session, known, &mut actions) {
                    self.is_beating = false;
                    self.beat_due = self.beat_due.max(now.saturating_sub(self.heartbeat)) + self.heartbeat;
                }
            }
            Input::CommandsAnswered { number, session, known, commands, holders } => {
                if self.pending_request.is_some_and(|request| request.number == number) {
                    self.pending_request = None;
                    self.ask_again = now + WORTH_HAVING;
                }
                if self.lasts(session, known, &mut actions) {
                    if let Some(holders) = holders.filter(|new| new.version > self.holders.version) {
                        self.holders = Arc::new(holders);
                        actions.push(Action::UseHolders(Arc::clone(&self.holders)));
                    }
                    commands.into_iter().for_each(|order| self.obey(order, &mut actions));
                }
            }
            Input::ReportAnswered { session, known } => {
                self.is_reporting = false;
                self.reporting.clear();
                // If the session has ended, the inventory replaces the report.
                self.lasts(session, known, &mut actions);
            }
            Input::TaskEnded { task, audit, result, took } => {
                if let Some(took) = took.filter(|_| !audit) {
                    self.pace.note(took);
                }
                let ordered = if audit { &mut self.audits } else { &mut self.tasks };
                if !audit {
                    self.afresh.remove(&task);
                }
                if let Some(attempt) = ordered.remove(&task) {
                    self.ended(now, Outcome { task, attempt: Some(attempt), result }, took);
                }
            }
            Input::CopyEnded { task, result } => {
                let was_ordered = self.copies.remove(&task);
                match self.discard_after_copy.remove(&task) {
                    // The copy is about to be checked and perhaps deleted, so it is not reported.
                    Some(file) => actions.push(Action::Discard(file)),
                    None if was_ordered => self.ended(now, Outcome { task, attempt: None, result }, None),
                    None => {}
                }
                if self.make_after_copy.remove(&task) {
                    self.after_discard(task, Action::Recompute(task), &mut actions);
                }
            }
            Input::Discarded { task, whole } => {
                if let Some(copied) = whole {
                    self.ended(now, Outcome { task, attempt: None, result: Ok(Done::Copied(copied)) }, None);
                }
                actions.extend(self.discarding.remove(&task).unwrap_or_default());
                if self.is_registering {
                    self.register(&mut actions);
                }
            }
            Input::Stop => {
                info!("stopping at the next coset");
                self.leaving.get_or_insert(End::Told);
                actions.push(Action::Halt);
            }
        }
        self.follow(now, &mut actions);
        actions
    }

    /// Returns when [`Input::Time`] is due, if no other event comes first.
    pub fn wake(&self) -> Option<Duration> {
        if self.is_registering || self.is_finished {
            return None;
        }
        let beat = (!self.is_beating).then_some(self.beat_due);
        let ask = (self.pending_request.is_none() && self.leaving.is_none()).then_some(self.ask_again);
        let report = (!self.outcomes.is_empty() && !self.is_reporting).then_some(self.report_due);
        beat.into_iter().chain(ask).chain(report).min()
    }

    /// Returns the number of the session; 0 before the first one.
    pub fn number(&self) -> u64 {
        self.session
    }

    /// Returns whether a registration has not been answered yet.
    pub fn is_registering(&self) -> bool {
        self.is_registering
    }

    /// Returns the files of the commands that have not ended, or whose outcomes the coordinator may not have
    /// yet: a command that the coordinator considers lost would be given again.
    pub fn underway(&self) -> Vec<Task> {
        let commands = self.tasks.keys().chain(self.audits.keys()).chain(&self.copies);
        let ended = self.outcomes.iter().map(|outcome| &outcome.task).chain(&self.reporting);
        commands.chain(ended).copied().collect()
    }

    /// Returns whether a response belongs to the present session and the session lasts. Registers again if
    /// the session has ended.
    fn lasts(&mut self, session: u64, known: bool, actions: &mut Vec<Action>) -> bool {
        if session != self.session || self.is_registering {
            return false;
        }
        if !known {
            warn!(session, "the session has ended; registering again");
            self.is_registering = true;
            self.register(actions);
        }
        known
    }

    /// Registers, unless a file is being discarded. The inventory contains the results so far. The outcomes
    /// of the old session are dropped, because the files may have changed since.
    fn register(&mut self, actions: &mut Vec<Action>) {
        if self.discarding.is_empty() {
            self.outcomes.clear();
            self.reporting.clear();
            actions.push(Action::Register);
        }
    }

    fn obey(&mut self, order: Command, actions: &mut Vec<Action>) {
        match order {
            Command::Compute(task, attempt) => {
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "task received");
                // A task from a command of an earlier session continues under this attempt.
                if self.tasks.insert(task, attempt).is_none() {
                    self.after_discard(task, Action::Compute(task), actions);
                }
            }
            Command::Recompute(task, attempt) => {
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "recomputation received");
                if self.afresh.contains(&task) {
                    // The task continues under this attempt.
                    self.tasks.insert(task, attempt);
                } else if let Entry::Vacant(entry) = self.tasks.entry(task) {
                    // Otherwise a running task may use the wrong file, so it keeps its old attempt. Its
                    // report will be ignored, and this command given again.
                    entry.insert(attempt);
                    self.afresh.insert(task);
                    match self.copies.contains(&task) {
                        true => drop(self.make_after_copy.insert(task)),
                        false => self.after_discard(task, Action::Recompute(task), actions),
                    }
                }
            }
            Command::Audit(task, attempt, other_than) => {
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "audit received");
                if self.audits.insert(task, attempt).is_none() {
                    actions.push(Action::Audit(task, other_than));
                }
            }
            Command::Copy(file, addresses) => {
                let task = file.task;
                if self.copies.insert(task) {
                    debug!(depth = task.depth.0, shard = task.shard.0, "copy command received");
                    self.after_discard(task, Action::Copy(file, addresses), actions);
                }
            }
            Command::Discard(file) => {
                if let Entry::Vacant(entry) = self.discarding.entry(file.task) {
                    entry.insert(Vec::new());
                    match self.copies.contains(&file.task) {
                        true => drop(self.discard_after_copy.insert(file.task, file)),
                        false => actions.push(Action::Discard(file)),
                    }
                }
            }
            Command::Release(file) => actions.push(Action::Release(file)),
            Command::RetireLayer(depth) => actions.push(Action::RetireLayer(depth)),
            Command::Leave(LeaveReason::CoordinatorGoes) => {
                info!("the coordinator is shutting down; waiting for its return");
            }
            Command::Leave(reason) => {
                if !matches!(reason, LeaveReason::Done | LeaveReason::Clean | LeaveReason::Drained) {
                    actions.push(Action::Halt);
                }
                self.leaving.get_or_insert(End::Leave(reason));
            }
        }
    }

    /// Computes or copies a file; if the file is being discarded, waits until that has ended.
    fn after_discard(&mut self, task: Task, action: Action, actions: &mut Vec<Action>) {
        match self.discarding.get_mut(&task) {
            Some(waiting) => waiting.push(action),
            None => actions.push(action),
        }
    }

    /// Adds an outcome to the next report.
    fn ended(&mut self, now: Duration, outcome: Outcome, took: Option<Duration>) {
        let Outcome { task, attempt, result } = &outcome;
        let attempt = attempt.map(tracing::field::display);
        match result {
            Ok(Done::Made(report) | Done::Found(report)) => debug!(
                depth = task.depth.0,
                shard = task.shard.0,
                attempt,
                states = report.totals.states,
                bytes = report.bytes,
                seconds = took.unwrap_or_default().as_secs_f64(),
                "task done"
            ),
            Ok(Done::Copied(_)) => {}
            Err(failure) if failure.kind() == FailureKind::Stopped => {
                debug!(depth = task.depth.0, shard = task.shard.0, attempt, "handed back");
            }
            Err(failure) => {
                info!(depth = task.depth.0, shard = task.shard.0, attempt, reason = %failure, "not done");
            }
        }
        if self.outcomes.is_empty() {
            self.report_due = now + TOGETHER;
        }
        self.outcomes.push(outcome);
    }

    /// Returns how many of the outcomes the next report contains.
    fn in_next_report(&self) -> usize {
        let checksums = |outcome: &Outcome| match &outcome.result {
            Ok(Done::Made(report) | Done::Found(report)) => report.checksums.len(),
            Ok(Done::Copied(_)) | Err(_) => 0,
        };
        let mut left = MAX_CHECKSUMS;
        let fits = |outcome: &&Outcome| match left.checked_sub(checksums(outcome)) {
            Some(rest) => {
                left = rest;
                true
            }
            None => false,
        };
        self.outcomes.iter().take_while(fits).count().max(1).min(self.outcomes.len())
    }

    /// Adds the actions that follow from the state: requests, reports, the end.
    fn follow(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let busy = self.tasks.len() + self.audits.len();
        if self.is_finished {
            return;
        }
        if let Some(end) = self.leaving
            && busy == 0
            && self.discarding.is_empty()
            && (self.is_registering || self.in_next_report() == self.outcomes.len())
        {
            self.is_finished = true;
            let outcomes = std::mem::take(&mut self.outcomes);
            self.reports += 1;
            actions.push(Action::Finish { end, session: self.session, number: self.reports, outcomes });
            return;
        }
        if self.is_registering {
            return;
        }
        let session = self.session;
        if !self.is_beating && now >= self.beat_due {
            self.is_beating = true;
            actions.push(Action::Beat { session, underway: self.underway() });
        }
        // The coordinator has a request most of the time, because some commands are not tasks. A request
        // for no tasks is followed by one for tasks once at least half of the places for tasks are free; the
        // coordinator then answers the older request with nothing. While there are fewer free places, the
        // session waits instead of requesting a few tasks.
        let most = self.pace.most(self.threads);
        let free = if 2 * busy <= most { (most - busy) as u32 } else { 0 };
        let is_enough = match self.pending_request {
            Some(request) => request.tasks > 0 || free == 0,
            None => free == 0 && now < self.ask_again,
        };
        if self.leaving.is_none() && !is_enough {
            self.requests += 1;
            let number = self.requests;
            self.pending_request = Some(PendingRequest { number, tasks: free });
            debug!(free, "asking for commands");
            actions.push(Action::Ask { number, session, tasks: free, holders_version: self.holders.version });
        }
        // Outcomes wait while a report is under way, and for a moment if more will follow.
        if !self.outcomes.is_empty() && !self.is_reporting && (busy == 0 || now >= self.report_due) {
            self.is_reporting = true;
            self.reports += 1;
            let outcomes: Vec<Outcome> = self.outcomes.drain(..self.in_next_report()).collect();
            self.reporting = outcomes.iter().map(|outcome| outcome.task).collect();
            actions.push(Action::Report { session, number: self.reports, outcomes });
        }
    }
}

#[cfg(test)]
mod tests;
