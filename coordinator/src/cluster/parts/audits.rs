//! The open audits: shards that are computed twice, who computes them again, and the earlier results.

use crate::cluster::event::Millis;
use crate::cluster::parts::Dirty;
use crate::cluster::parts::backoff::PAUSE;
use fathom_engine::run::Task;
use fathom_layer::{Digest, Totals};
use fathom_proto::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// Audits of a run may take this much time independently of their share, so that small depths are audited
/// too.
const FREE: Duration = Duration::from_secs(2);
/// Number of failures of an audit after which the shard is not audited.
const MAX_FAILURES: u32 = 5;
/// The assumed slowdown of another kernel, before one was measured.
const SLOWER: u32 = 16;
/// Attempts of audits are numbered from here on, across all shards, so that no audit has the attempt number
/// of a task.
pub const FIRST_ATTEMPT: u32 = 1 << 31;
/// Denominator of the share of audits.
pub const PARTS: u32 = 1_000_000;

/// The result of computing a shard: its counts, digest and watched states; `None` if its inputs contradicted
/// each other.
pub type Finding = Option<(Totals, Digest, Vec<u32>)>;

/// An open audit of a shard. Only [`Audits`] changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Audit {
    /// The worker that computed the shard; `None` if not known.
    pub producer: Option<WorkerId>,
    /// The result that the producer reported.
    pub made: Finding,
    /// The auditor and result of the first audit, if that result differs from the producer's.
    pub other: Option<(WorkerId, Finding)>,
    /// Time from command to report of the shard.
    took: Duration,
    running: Option<Running>,
    failures: u32,
    /// The audit is not assigned before this time.
    not_before: Millis,
}

/// An audit that a worker computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Running {
    worker: WorkerId,
    attempt: u32,
    given: Millis,
    /// The time of the command, or of the worker's last heartbeat that listed the audit.
    heard: Millis,
    /// Whether another kernel than the producer's was requested.
    other_engine: bool,
}

/// The audits of a run.
#[derive(Clone, Debug, Default)]
pub struct Audits {
    open: BTreeMap<Task, Audit>,
    /// Time that the shards of this epoch took; the next field has the time of their audits.
    shards_took: Duration,
    audits_took: Duration,
    /// Time of the audits by another kernel, and time that the same shards took before.
    other_engine: (Duration, Duration),
    /// Shards of the current layer of which some store may contain a wrong file.
    invalidated: BTreeSet<Task>,
    /// Shards of the current layer that were computed twice with different states: they are always audited.
    suspected: BTreeSet<Task>,
    /// Number of audits assigned.
    given: u32,
    /// Number of audits that agreed with the producer.
    agreed: u64,
    /// Number of audits that differed from the producer.
    differed: u64,
}

impl Audits {
    /// Returns the numbers of audits that agreed with the producer of the shard, and that differed.
    pub fn results(&self) -> (u64, u64) {
        (self.agreed, self.differed)
    }

    /// Returns whether some store may contain a wrong file of a shard of the current layer.
    pub fn is_disowned(&self, task: Task) -> bool {
        self.invalidated.contains(&task)
    }

    /// Returns whether a shard of the current layer was computed twice with different states.
    pub fn is_doubted(&self, task: Task) -> bool {
        self.suspected.contains(&task)
    }

    /// Records that some store may contain wrong files of these shards of the current layer.
    pub fn disown(&mut self, tasks: impl IntoIterator<Item = Task>) {
        self.invalidated.extend(tasks);
    }

    /// Records that two results of a shard of the current layer differ: the shard is audited from then on.
    /// Returns whether none differed before.
    pub fn doubt(&mut self, task: Task) -> bool {
        self.differed += 1;
        self.suspected.insert(task)
    }

    /// Restores the state of the shards of the current layer from an earlier epoch. A suspect shard without a
    /// report is invalidated too: its file may be found, and its producer would be unknown.
    pub fn restore(
        &mut self,
        invalidated: BTreeSet<Task>,
        suspected: BTreeSet<Task>,
        is_made: impl Fn(Task) -> bool,
    ) {
        self.invalidated.extend(invalidated);
        self.invalidated.extend(suspected.iter().copied().filter(|&task| !is_made(task)));
        self.suspected.extend(suspected);
    }

    /// Forgets the state of the shards of the current layer, because it is committed.
    pub fn end_layer(&mut self) {
        self.invalidated.clear();
        self.suspected.clear();
    }

    /// Returns whether no audit is open.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets all open audits, because the run ends.
    pub fn clear(&mut self) {
        self.open.clear();
    }

    /// Forgets the audit of a shard, because the shard is computed again.
    pub fn forget(&mut self, task: Task) {
        self.open.remove(&task);
    }

    /// Returns whether a shard has an open audit.
    pub fn is_open(&self, task: Task) -> bool {
        self.open.contains_key(&task)
    }

    /// Returns the open audit of a shard.
    pub fn get(&self, task: Task) -> Option<&Audit> {
        self.open.get(&task)
    }

    /// Returns the open audits, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Task, &Audit)> {
        self.open.iter().map(|(task, audit)| (*task, audit))
    }

    /// Returns the audits that may be assigned now, in order.
    pub fn waiting(&self, now: Millis) -> impl Iterator<Item = (Task, &Audit)> {
        self.iter().filter(move |(_, audit)| audit.running.is_none() && audit.not_before <= now)
    }

    /// Returns how many audits a worker computes.
    pub fn running_with(&self, worker: WorkerId) -> usize {
        let is_there = |audit: &&Audit| audit.running.is_some_and(|running| running.worker == worker);
        self.open.values().filter(is_there).count()
    }

    /// Adds the time that a shard took.
    pub fn note_shard(&mut self, took: Duration) {
        self.shards_took += took;
    }

    /// Returns whether there is time to audit a shard that took `took`, for audits of this share.
    pub fn have_time(&self, took: Duration, share: u32) -> bool {
        share == PARTS || took <= self.left(share)
    }

    /// Returns whether there is time to audit a shard with another kernel, for audits of this share. A
    /// deciding audit uses the usual kernel.
    pub fn have_time_for_other_engine(&self, audit: &Audit, share: u32) -> bool {
        audit.other.is_none() && self.by_other_engine(audit.took) <= self.left(share)
    }

    /// Opens an audit of a shard that took `took`.
    pub fn open(&mut self, task: Task, producer: Option<WorkerId>, made: Finding, took: Duration) -> Dirty {
        let not_before = Millis(0);
        let audit = Audit { producer, made, other: None, took, running: None, failures: 0, not_before };
        self.open.insert(task, audit);
        Dirty::all_workers()
    }

    /// Assigns an open audit to a worker. Returns the number of the attempt.
    ///
    /// # Panics
    /// If there is no such audit.
    pub fn give(&mut self, task: Task, worker: WorkerId, other_engine: bool, now: Millis) -> u32 {
        self.given += 1;
        let attempt = FIRST_ATTEMPT + self.given;
        let running = Running { worker, attempt, given: now, heard: now, other_engine };
        self.expected(task).running = Some(running);
        attempt
    }

    /// Returns the number of the attempt at the audit of a shard that is under way.
    pub fn attempt(&self, task: Task) -> Option<u32> {
        self.get(task)?.running.map(|running| running.attempt)
    }

    /// Unassigns an audit from a worker that reports its outcome. `is_result` says whether the outcome is a
    /// result. Returns whether the worker had the audit.
    pub fn end(&mut self, task: Task, worker: WorkerId, is_result: bool, now: Millis) -> bool {
        let Some(audit) = self.open.get_mut(&task) else {
            return false;
        };
        let Some(running) = audit.running.take_if(|running| running.worker == worker) else {
            return false;
        };
        let took = now.since(running.given);
        self.audits_took += took;
        if is_result && running.other_engine {
            self.other_engine.0 += took;
            self.other_engine.1 += audit.took;
        }
        true
    }

    /// Counts a failure of an audit, which is tried again after a pause. After `MAX_FAILURES` failures the
    /// audit is forgotten: returns whether it is.
    ///
    /// # Panics
    /// If there is no such audit.
    pub fn fail(&mut self, task: Task, now: Millis) -> bool {
        let audit = self.expected(task);
        audit.failures += 1;
        audit.not_before = now.after(PAUSE);
        let is_over = audit.failures >= MAX_FAILURES;
        if is_over {
            self.forget(task);
        }
        is_over
    }

    /// Closes the audit of a shard, because a result agrees with that of the producer.
    pub fn agree(&mut self, task: Task) {
        self.agreed += 1;
        self.forget(task);
    }

    /// Lets a third worker decide between the producer of a shard and an auditor with another result.
    ///
    /// # Panics
    /// If there is no such audit.
    pub fn await_third(&mut self, task: Task, auditor: WorkerId, found: Finding) -> Dirty {
        self.expected(task).other = Some((auditor, found));
        Dirty::all_workers()
    }

    fn expected(&mut self, task: Task) -> &mut Audit {
        self.open.get_mut(&task).expect("only open audits are assigned and judged")
    }

    /// Records which audits a worker listed in a heartbeat. Unassigns those that it has not listed for longer
    /// than `patience`, so that they are assigned again, and returns their shards.
    pub fn hear(
        &mut self,
        worker: WorkerId,
        listed: &BTreeSet<Task>,
        now: Millis,
        patience: Duration,
    ) -> Vec<Task> {
        for (_, audit) in self.open.iter_mut().filter(|(task, _)| listed.contains(task)) {
            if let Some(running) = audit.running.as_mut().filter(|running| running.worker == worker) {
                running.heard = now;
            }
        }
        self.take_away(worker, |running| now.since(running.heard) > patience)
    }

    /// Reassigns the running audits of a worker.
    pub fn give_up(&mut self, worker: WorkerId) {
        self.take_away(worker, |_| true);
    }

    /// Returns the time that is left for audits of this share.
    fn left(&self, share: u32) -> Duration {
        let all = self.shards_took.as_secs_f64() * f64::from(share) / f64::from(PARTS);
        Duration::from_secs_f64(all).max(FREE).saturating_sub(self.audits_took)
    }

    /// Estimates the time of an audit with another kernel, if the shard took `took`.
    fn by_other_engine(&self, took: Duration) -> Duration {
        let (other, usual) = self.other_engine;
        match usual.is_zero() {
            true => took * SLOWER,
            false => took.mul_f64(other.as_secs_f64() / usual.as_secs_f64()),
        }
    }

    /// Unassigns the lost audits of a worker, so that they are assigned again. Returns their shards.
    fn take_away(&mut self, worker: WorkerId, is_lost: impl Fn(Running) -> bool) -> Vec<Task> {
        let mut lost = Vec::new();
        for (&task, audit) in &mut self.open {
            if audit.running.is_some_and(|running| running.worker == worker && is_lost(running)) {
                audit.running = None;
                lost.push(task);
            }
        }
        lost
    }

    /// Forgets the findings and the running audits of a worker, so that others compute them.
    pub fn distrust(&mut self, worker: WorkerId) {
        self.give_up(worker);
        for audit in self.open.values_mut() {
            audit.other.take_if(|(other, _)| *other == worker);
        }
    }

    /// Panics if an audit is of a shard that is not computed, or with a worker that is not alive.
    #[cfg(test)]
    pub fn check(&self, made: impl Fn(Task) -> bool, is_alive: impl Fn(WorkerId) -> bool) {
        for (&task, audit) in &self.open {
            assert!(made(task), "{task:?} is audited, but not computed");
            if let Some(running) = audit.running {
                assert!(is_alive(running.worker), "{} audits {task:?}, but is gone", running.worker);
            }
        }
    }
}
