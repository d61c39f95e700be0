//! A worker's side of the session with its coordinator, as a pure state machine.
//!
//! [`Session::step`] takes what has happened and the time, changes nothing but the session, and returns what
//! is to be done. The [driver](super::driver) carries the actions out and hands their results back in; a
//! simulation does the same without a network. Nothing that is lost on the way matters: orders that did not
//! arrive are given again, and files whose reports did not arrive are found again when the worker registers.

use crate::cluster::holders::Holders;
use fathom_proto::v1::LeaveReason;
use fathom_proto::{Attempt, Copied, Done, Failure, Outcome, StoredFile};
use fathom_run::{Depth, Task};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tracing::{debug, info, warn};

/// Tasks of so much time are worth having here, to be done while more are asked for.
const WORTH_HAVING: Duration = Duration::from_millis(200);
/// No more tasks for a thread.
const MOST_TASKS: usize = 32;
/// An outcome waits so long for others to be reported with it, unless there is nothing else to do.
const TOGETHER: Duration = Duration::from_millis(100);

/// How a session ended in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The coordinator said so.
    Leave(LeaveReason),
    /// This process was told to stop.
    Told,
}

/// What the coordinator orders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// Make a shard.
    Make(Task, Attempt),
    /// Make a shard without a look at a file of it that is there: it may be wrong.
    MakeAfresh(Task, Attempt),
    /// Find once more what a shard comes to, if possible with another engine than the one of this name.
    Audit(Task, Attempt, String),
    /// Take a copy of a file from one of the peers at these addresses.
    Copy(StoredFile, Vec<String>),
    /// Delete a file that is said to be damaged or another one, if the file is.
    Discard(StoredFile),
    /// Delete a file, for it is read no longer.
    GiveBack(Task),
    /// A layer is read no longer, or for what was visited alone.
    Retire(Depth),
    /// Leave.
    Leave(LeaveReason),
}

/// What has happened. Answers carry the session of their request, for they may come when the session has
/// ended.
#[derive(Clone, Debug)]
pub enum Input {
    /// Time has passed.
    Time,
    /// The coordinator has registered this worker.
    Registered {
        /// The number of the new session.
        session: u64,
        /// How often to say that this worker lives.
        heartbeat: Duration,
        /// The layers to keep.
        needed: Vec<Depth>,
    },
    /// The coordinator has answered a heartbeat.
    HeartbeatAnswered {
        /// The session of the request.
        session: u64,
        /// Whether the session lasts.
        known: bool,
    },
    /// The coordinator has answered a request for orders.
    OrdersAnswered {
        /// The number of the request.
        number: u64,
        /// The session of the request.
        session: u64,
        /// Whether the session lasts.
        known: bool,
        /// What to do.
        orders: Vec<Order>,
        /// Who holds what, if that has changed.
        holders: Option<Holders>,
    },
    /// The coordinator has heard a report.
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
        /// How it ended.
        result: Result<Done, Failure>,
        /// How long a kernel thread was at it; none if the task was not begun.
        took: Option<Duration>,
    },
    /// A copy has ended.
    CopyEnded {
        /// The file.
        task: Task,
        /// How it ended.
        result: Result<Done, Failure>,
    },
    /// A file that was said to be damaged was looked at, and deleted unless it is whole.
    Discarded {
        /// The file.
        task: Task,
        /// The file, if it is whole.
        whole: Option<Copied>,
    },
    /// This process was told to stop.
    Stop,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Action {
    /// Join the run, with an inventory of the store. Answered by [`Input::Registered`].
    Register,
    /// Say that this worker lives. Answered by [`Input::HeartbeatAnswered`].
    Beat {
        /// The session.
        session: u64,
        /// What was ordered and has not ended.
        underway: Vec<Task>,
    },
    /// Ask for orders. Answered by [`Input::OrdersAnswered`].
    Ask {
        /// Counts the requests.
        number: u64,
        /// The session.
        session: u64,
        /// How many tasks are wanted.
        tasks: u32,
        /// The holder map that is known.
        holders_version: u64,
    },
    /// Tell how orders have ended. Answered by [`Input::ReportAnswered`].
    Report {
        /// The session.
        session: u64,
        /// Counts the reports, so that one that arrives twice counts once.
        number: u64,
        /// How orders have ended.
        outcomes: Vec<Outcome>,
    },
    /// Ask these holders from now on.
    UseHolders(Arc<Holders>),
    /// Retire the layers that are not among these.
    KeepOnly(Vec<Depth>),
    /// Make a shard. Answered by [`Input::TaskEnded`].
    Make(Task),
    /// Make a shard without a look at a file of it that is there. Answered by [`Input::TaskEnded`].
    MakeAfresh(Task),
    /// Find once more what a shard comes to, if possible with another engine than the one of this name.
    /// Answered by [`Input::TaskEnded`].
    Audit(Task, String),
    /// Take a copy of a file. Answered by [`Input::CopyEnded`].
    Copy(StoredFile, Vec<String>),
    /// Delete a file, if it is damaged. Answered by [`Input::Discarded`].
    Discard(StoredFile),
    /// Delete a file that is read no longer.
    GiveBack(Task),
    /// Delete or compress a layer.
    Retire(Depth),
    /// Have the kernel threads stop: tasks end as [`Failure::Stopped`].
    Halt,
    /// Report what is left, and leave.
    Finish {
        /// Why.
        end: End,
        /// The session; 0 if there was none.
        session: u64,
        /// The number of the last report.
        number: u64,
        /// What was not reported.
        outcomes: Vec<Outcome>,
    },
}

/// A request for orders that is not answered.
#[derive(Clone, Copy, Debug)]
struct PendingRequest {
    number: u64,
    tasks: u32,
}

/// How long tasks take, and so how many are worth having here: as many as are done while more are asked for.
#[derive(Clone, Debug, Default)]
struct Pace {
    /// The mean of the last ones.
    took: Duration,
}

impl Pace {
    fn note(&mut self, took: Duration) {
        self.took = (self.took * 3 + took) / 4;
    }

    /// Tasks for so many threads: two each, one to be done and one to be prepared, or more if they are short.
    fn most(&self, threads: usize) -> usize {
        let short = WORTH_HAVING.as_nanos() / self.took.as_nanos().max(1);
        threads * (short as usize).clamp(2, MOST_TASKS)
    }
}

/// The state of a session.
#[derive(Clone, Debug)]
pub struct Session {
    threads: usize,
    /// The number that the coordinator gave it; 0 before the first one.
    session: u64,
    /// Whether a registration is on its way, or waits for files to be discarded: they are not to be in the
    /// inventory.
    is_registering: bool,
    heartbeat: Duration,
    /// Whether a heartbeat is on its way.
    is_beating: bool,
    beat_due: Duration,
    /// The holder map of this session; empty and of version 0 when a session begins. A map of an earlier
    /// life of the coordinator would name peers that hold nothing.
    holders: Arc<Holders>,
    /// Tasks that were ordered and have not ended, with the attempt that was ordered last.
    tasks: BTreeMap<Task, Attempt>,
    /// Audits, likewise.
    audits: BTreeMap<Task, Attempt>,
    /// Copies that were ordered and have not ended.
    copies: BTreeSet<Task>,
    /// Files that are to be looked at when the copies of them have ended that are under way.
    discard_after_copy: BTreeMap<Task, StoredFile>,
    /// Files that are being looked at, to be deleted if they are damaged, with what was ordered for them
    /// since.
    discarding: BTreeMap<Task, Vec<Action>>,
    pace: Pace,
    pending_request: Option<PendingRequest>,
    requests: u64,
    ask_again: Duration,
    /// How orders have ended, as far as no report tells.
    outcomes: Vec<Outcome>,
    report_due: Duration,
    reports: u64,
    /// Whether a report is on its way.
    is_reporting: bool,
    leaving: Option<End>,
    is_finished: bool,
}

impl Session {
    /// Begins to join the run, with so many kernel threads.
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
            audits: BTreeMap::new(),
            copies: BTreeSet::new(),
            discard_after_copy: BTreeMap::new(),
            discarding: BTreeMap::new(),
            pace: Pace::default(),
            pending_request: None,
            requests: 0,
            ask_again: Duration::ZERO,
            outcomes: Vec::new(),
            report_due: Duration::ZERO,
            reports: 0,
            is_reporting: false,
            leaving: None,
            is_finished: false,
        };
        (session, vec![Action::Register])
    }

    /// Takes what has happened, and returns what is to be done, in order. Times are since the process began.
    /// After [`Action::Finish`] nothing is to be done any more.
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
            Input::OrdersAnswered { number, session, known, orders, holders } => {
                if self.pending_request.is_some_and(|request| request.number == number) {
                    self.pending_request = None;
                    self.ask_again = now + WORTH_HAVING;
                }
                if self.lasts(session, known, &mut actions) {
                    if let Some(holders) = holders.filter(|new| new.version > self.holders.version) {
                        self.holders = Arc::new(holders);
                        actions.push(Action::UseHolders(Arc::clone(&self.holders)));
                    }
                    orders.into_iter().for_each(|order| self.obey(order, &mut actions));
                }
            }
            Input::ReportAnswered { session, known } => {
                self.is_reporting = false;
                // If the session has ended, the inventory tells what the report told.
                self.lasts(session, known, &mut actions);
            }
            Input::TaskEnded { task, audit, result, took } => {
                if let Some(took) = took.filter(|_| !audit) {
                    self.pace.note(took);
                }
                let ordered = if audit { &mut self.audits } else { &mut self.tasks };
                if let Some(attempt) = ordered.remove(&task) {
                    self.ended(now, Outcome { task, attempt: Some(attempt), result }, took);
                }
            }
            Input::CopyEnded { task, result } => {
                let was_ordered = self.copies.remove(&task);
                match self.discard_after_copy.remove(&task) {
                    // What was copied is about to be looked at, and perhaps deleted: nothing is said of it.
                    Some(file) => actions.push(Action::Discard(file)),
                    None if was_ordered => self.ended(now, Outcome { task, attempt: None, result }, None),
                    None => {}
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

    /// When [`Input::Time`] is to come, if nothing happens before.
    pub fn wake(&self) -> Option<Duration> {
        if self.is_registering || self.is_finished {
            return None;
        }
        let beat = (!self.is_beating).then_some(self.beat_due);
        let ask = (self.pending_request.is_none() && self.leaving.is_none()).then_some(self.ask_again);
        let report = (!self.outcomes.is_empty() && !self.is_reporting).then_some(self.report_due);
        beat.into_iter().chain(ask).chain(report).min()
    }

    /// The number that the coordinator gave it; 0 before the first one.
    pub fn number(&self) -> u64 {
        self.session
    }

    /// What was ordered and has not ended.
    pub fn underway(&self) -> Vec<Task> {
        self.tasks.keys().chain(self.audits.keys()).chain(&self.copies).copied().collect()
    }

    /// Whether an answer is of the present session, and the session lasts. Registers again if the session has
    /// ended.
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

    /// Registers, when no file is being discarded. The inventory tells of what has ended so far: a report of
    /// it in the new session would speak of files as they were in the old one.
    fn register(&mut self, actions: &mut Vec<Action>) {
        if self.discarding.is_empty() {
            self.outcomes.clear();
            actions.push(Action::Register);
        }
    }

    fn obey(&mut self, order: Order, actions: &mut Vec<Action>) {
        match order {
            Order::Make(task, attempt) => {
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "task ordered");
                // A task that was ordered before, in another session, goes on for this attempt.
                if self.tasks.insert(task, attempt).is_none() {
                    self.after_discard(task, Action::Make(task), actions);
                }
            }
            Order::MakeAfresh(task, attempt) => {
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "task ordered afresh");
                // One that is under way may have found the wrong file: its report is late, and this order is
                // given again.
                if let Entry::Vacant(entry) = self.tasks.entry(task) {
                    entry.insert(attempt);
                    self.after_discard(task, Action::MakeAfresh(task), actions);
                }
            }
            Order::Audit(task, attempt, other_than) => {
                debug!(depth = task.depth.0, shard = task.shard.0, %attempt, "audit ordered");
                if self.audits.insert(task, attempt).is_none() {
                    actions.push(Action::Audit(task, other_than));
                }
            }
            Order::Copy(file, addresses) => {
                let task = file.task;
                if self.copies.insert(task) {
                    debug!(depth = task.depth.0, shard = task.shard.0, "copy ordered");
                    self.after_discard(task, Action::Copy(file, addresses), actions);
                }
            }
            Order::Discard(file) => {
                if let Entry::Vacant(entry) = self.discarding.entry(file.task) {
                    entry.insert(Vec::new());
                    match self.copies.contains(&file.task) {
                        true => drop(self.discard_after_copy.insert(file.task, file)),
                        false => actions.push(Action::Discard(file)),
                    }
                }
            }
            Order::GiveBack(file) => actions.push(Action::GiveBack(file)),
            Order::Retire(depth) => actions.push(Action::Retire(depth)),
            Order::Leave(LeaveReason::CoordinatorGoes) => {
                info!("the coordinator goes, and is waited for");
            }
            Order::Leave(reason) => {
                if !matches!(reason, LeaveReason::Done | LeaveReason::Clean | LeaveReason::Drained) {
                    actions.push(Action::Halt);
                }
                self.leaving.get_or_insert(End::Leave(reason));
            }
        }
    }

    /// A file that is about to be deleted is made or copied when that is done.
    fn after_discard(&mut self, task: Task, action: Action, actions: &mut Vec<Action>) {
        match self.discarding.get_mut(&task) {
            Some(waiting) => waiting.push(action),
            None => actions.push(action),
        }
    }

    /// Notes how something ended, to be reported.
    fn ended(&mut self, now: Duration, outcome: Outcome, took: Option<Duration>) {
        let Outcome { task, attempt, result } = &outcome;
        let attempt = attempt.map(tracing::field::display);
        match result {
            Ok(Done::Made(report)) => debug!(
                depth = task.depth.0,
                shard = task.shard.0,
                attempt,
                states = report.totals.states,
                bytes = report.bytes,
                seconds = took.unwrap_or_default().as_secs_f64(),
                "task done"
            ),
            Ok(Done::Copied(_)) => {}
            Err(failure) => {
                info!(depth = task.depth.0, shard = task.shard.0, attempt, reason = %failure, "not done");
            }
        }
        if self.outcomes.is_empty() {
            self.report_due = now + TOGETHER;
        }
        self.outcomes.push(outcome);
    }

    /// What follows from what is known now: requests, reports, the end.
    fn follow(&mut self, now: Duration, actions: &mut Vec<Action>) {
        let busy = self.tasks.len() + self.audits.len();
        if self.is_finished {
            return;
        }
        if let Some(end) = self.leaving
            && busy == 0
            && self.discarding.is_empty()
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
        // There is a request with the coordinator most of the time, for there are orders that are no tasks. A
        // request for no tasks is followed by one for tasks when there is room for half of what may
        // be here; the coordinator then answers the older one with nothing. Where there will be room
        // soon, the session waits for it.
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
            debug!(free, "asking for orders");
            actions.push(Action::Ask { number, session, tasks: free, holders_version: self.holders.version });
        }
        // What ends while a report is on its way waits for the next one, and for a moment if there is more to
        // come.
        if !self.outcomes.is_empty() && !self.is_reporting && (busy == 0 || now >= self.report_due) {
            self.is_reporting = true;
            self.reports += 1;
            let outcomes = std::mem::take(&mut self.outcomes);
            actions.push(Action::Report { session, number: self.reports, outcomes });
        }
    }
}

#[cfg(test)]
mod tests;
