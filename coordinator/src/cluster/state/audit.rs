//! Audits: shards that are computed twice, to find workers whose reports are wrong.
//!
//! At least one shard of each depth, chosen at random, is computed again by another worker, or by the same
//! worker if there is no other. The audit uses another engine if there is one and time permits. The depth is
//! committed only after the audits agree, so that nothing is built on a wrong shard. If the two results
//! differ, a third worker decides. A worker that was wrong is set aside: it computes nothing any more, its
//! shards of the current layer are computed again, and it leaves once others hold its files. Without a third
//! worker the run ends with a message.
//!
//! Audits take at most the [share](crate::cluster::state::Rules::audit) of the time of all shards, or `FREE`
//! if that is more. This limit comes before the rule of one shard a depth: where a single shard takes longer
//! than the time left, it is not audited. With a share of all, every shard is audited, whatever time that
//! takes.

mod verdict;

use crate::cluster::event::{Effect, Millis, NoteKind, Order, note_of};
use crate::cluster::parts::backoff::PAUSE;
use crate::cluster::parts::{Dirty, Worker};
use crate::cluster::state::{State, digest_of};
use fathom_engine::run::{MadeShard, ShardId, ShardReport, Task, WorkerId};
use fathom_layer::{Digest, Totals};
use fathom_proto::{Attempt, Done, Failure, Outcome};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Audits of a run may take this much time whatever their share, so that small depths are audited too.
const FREE: Duration = Duration::from_secs(2);
/// Number of failures of an audit after which the shard is not audited.
const MOST_FAILURES: u32 = 5;
/// The assumed slowdown of another engine, before one was measured.
const SLOWER: u32 = 16;
/// Attempts of audits are numbered from here on, across all shards, so that no audit has the attempt number
/// of a task.
pub(in crate::cluster) const FIRST_ATTEMPT: u32 = 1 << 31;
/// Denominator of the share of audits.
pub const PARTS: u32 = 1_000_000;

/// The result of computing a shard: its counts, digest and watched states; `None` if its inputs contradicted
/// each other.
type Finding = Option<(Totals, Digest, Vec<u32>)>;

/// An open audit of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Audit {
    /// The worker that computed the shard; `None` if not known.
    maker: Option<WorkerId>,
    /// The result that the maker reported.
    made: Finding,
    /// The auditor and result of the first audit, if that result differs from the maker's.
    other: Option<(WorkerId, Finding)>,
    /// Time from order to report of the shard.
    took: Duration,
    running: Option<Running>,
    failures: u32,
    /// The audit is not given out before this time.
    not_before: Millis,
}

/// An audit that a worker computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Running {
    worker: WorkerId,
    attempt: u32,
    given: Millis,
    /// The time of the order, or of the worker's last heartbeat that listed the audit.
    heard: Millis,
    /// Whether another engine than the maker's was ordered.
    other_engine: bool,
}

/// The audits of a run.
#[derive(Clone, Debug, Default)]
pub struct Audits {
    open: BTreeMap<Task, Audit>,
    /// Time that the shards of this epoch took, and below it the time of their audits.
    shards_took: Duration,
    audits_took: Duration,
    /// Time of the audits by another engine, and time that the same shards took before.
    other_engine: (Duration, Duration),
    /// Shards of the current layer of which some store may contain a wrong file.
    pub(super) disowned: BTreeSet<Task>,
    /// Shards of the current layer that were made twice with different states: they are audited in any case.
    pub(in crate::cluster) doubted: BTreeSet<Task>,
    /// Number of audits given out.
    given: u32,
    /// Number of audits that agreed with the maker.
    agreed: u64,
    /// Number of audits that differed from the maker.
    differed: u64,
}

impl Audits {
    /// Returns the numbers of audits that agreed with the maker of the shard, and that differed.
    pub fn results(&self) -> (u64, u64) {
        (self.agreed, self.differed)
    }

    /// Returns whether no audit is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets all open audits, because the run ends.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// Forgets the audit of a shard, because the shard is computed again.
    pub(super) fn forget(&mut self, task: Task) {
        self.open.remove(&task);
    }

    /// Returns whether a shard has an open audit.
    pub(super) fn is_open(&self, task: Task) -> bool {
        self.open.contains_key(&task)
    }

    /// Returns how many audits a worker computes.
    pub(super) fn running_with(&self, worker: WorkerId) -> usize {
        let is_there = |audit: &&Audit| audit.running.is_some_and(|running| running.worker == worker);
        self.open.values().filter(is_there).count()
    }

    /// Adds the time that a shard took.
    pub(super) fn note(&mut self, took: Duration) {
        self.shards_took += took;
    }

    /// Returns the time that is left for audits of this share.
    fn left(&self, share: u32) -> Duration {
        let all = self.shards_took.as_secs_f64() * f64::from(share) / f64::from(PARTS);
        Duration::from_secs_f64(all).max(FREE).saturating_sub(self.audits_took)
    }

    /// Estimates the time of an audit by another engine, where the shard took `took`.
    fn by_other_engine(&self, took: Duration) -> Duration {
        let (other, usual) = self.other_engine;
        match usual.is_zero() {
            true => took * SLOWER,
            false => took.mul_f64(other.as_secs_f64() / usual.as_secs_f64()),
        }
    }

    /// Takes the lost audits of a worker away from it, so that they are given out again. Returns their
    /// shards.
    fn give_up(&mut self, worker: WorkerId, is_lost: impl Fn(Running) -> bool) -> Vec<Task> {
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
    fn distrust(&mut self, worker: WorkerId) {
        self.give_up(worker, |_| true);
        for audit in self.open.values_mut() {
            audit.other.take_if(|(other, _)| *other == worker);
        }
    }

    /// Panics if an audit is of a shard that is not made, or with a worker that is not alive.
    #[cfg(test)]
    pub(super) fn check(&self, made: impl Fn(Task) -> bool, is_alive: impl Fn(WorkerId) -> bool) {
        for (&task, audit) in &self.open {
            assert!(made(task), "{task:?} is audited, and not made");
            if let Some(running) = audit.running {
                assert!(is_alive(running.worker), "{} audits {task:?}, and is gone", running.worker);
            }
        }
    }
}

impl State {
    /// Returns a number for each shard that nobody can foresee, because it depends on the secret.
    fn lot(&self, what: &[u8], task: Task) -> u64 {
        let (depth, shard) = (task.depth.0.to_le_bytes(), task.shard.0.to_le_bytes());
        self.secret.number(&[what, &depth, &shard])
    }

    /// Returns whether a shard of the current layer is drawn for an audit: one shard of each depth is, and of
    /// the others as many as the share says.
    fn is_drawn(&self, task: Task) -> bool {
        let share = u64::from(self.rules.audit);
        let depth = Task { depth: task.depth, shard: ShardId(0) };
        let chosen = self.lot(b"shard of depth", depth) % u64::from(self.rules.shards);
        share > 0
            && (chosen == u64::from(task.shard.0) || self.lot(b"shard", task) % u64::from(PARTS) < share)
    }

    /// Opens an audit of a shard that was just made, if the shard is drawn and there is time, or if
    /// its result is doubted.
    pub(super) fn draw(&mut self, maker: Option<WorkerId>, report: &ShardReport, took: Duration) {
        self.audits.note(took);
        let share = self.rules.audit;
        let is_drawn = self.is_drawn(report.task) && (share == PARTS || took <= self.audits.left(share));
        if !is_drawn && !self.audits.doubted.contains(&report.task) {
            return;
        }
        let audit = Audit {
            maker,
            made: finding(report),
            other: None,
            took,
            running: None,
            failures: 0,
            not_before: Millis(0),
        };
        self.audits.open.insert(report.task, audit);
        self.dirty += Dirty::all_workers();
    }

    /// Opens audits again for the shards of the current layer that were made in an earlier epoch: the open
    /// audits of that epoch were lost.
    pub fn draw_again(&mut self) {
        let is_audited = |task| self.is_drawn(task) || self.audits.doubted.contains(&task);
        let made = self.tasks().reports().filter(|(report, _)| is_audited(report.task));
        // A shard whose source was given back cannot be computed again.
        let made = made.filter(|(report, _)| self.scheduler.can_be_made(report.task.shard));
        let made: Vec<MadeShard> = made.map(|(report, maker)| (Arc::clone(report), maker)).collect();
        for (report, maker) in made {
            self.draw(maker, &report, Duration::ZERO);
        }
    }

    /// Gives a worker an audit, if there is one that it may do.
    pub(super) fn give_audit(
        &mut self,
        now: Millis,
        id: WorkerId,
        effects: &mut Vec<Effect>,
    ) -> Option<Order> {
        if self.audits.is_empty() || !self.files.missing().is_empty() {
            return None;
        }
        let mut open = self.audits.open.iter().filter(|(_, a)| a.running.is_none() && a.not_before <= now);
        let (&task, audit) = open.find(|(task, audit)| self.may_audit(id, **task, audit, now))?;
        // A deciding audit uses the usual engine, and so does an audit without the time for another engine.
        let other_engine = audit.other.is_none()
            && self.audits.by_other_engine(audit.took) <= self.audits.left(self.rules.audit);
        let maker = audit.maker.and_then(|maker| self.members.get(maker));
        let kernel = maker.map_or("", |maker| &maker.kernel);
        let other_than = if other_engine { kernel.to_owned() } else { String::new() };
        self.audits.given += 1;
        let attempt = Attempt { epoch: self.epoch, number: FIRST_ATTEMPT + self.audits.given };
        let running = Running { worker: id, attempt: attempt.number, given: now, heard: now, other_engine };
        self.audits.open.get_mut(&task)?.running = Some(running);
        self.note_reader(task, id);
        effects.push(note_of(NoteKind::AuditGiven, Some(id), task, None));
        Some(Order::Audit(task, attempt, other_than))
    }

    /// Returns whether a worker may audit a shard: its store for what the shard reads does not rest, and it
    /// has not computed the shard yet, or there is nobody else. A shard of which two results differed is not
    /// left to its maker while a worker of this run may come back.
    fn may_audit(&self, id: WorkerId, task: Task, audit: &Audit, now: Millis) -> bool {
        let is_doubted = self.audits.doubted.contains(&task);
        let may_come = |worker: &Worker| is_doubted && !worker.is_set_aside;
        let can = |worker: &Worker| worker.is_able(now) && worker.can_keep(task.shard, now);
        let is_other = |(other, worker): (WorkerId, &Worker)| {
            !self.has_found(other, task, audit) && (can(worker) || may_come(worker))
        };
        let may_decide = || {
            !self.has_found(id, task, audit) || (audit.other.is_none() && !self.members.iter().any(is_other))
        };
        self.members[id].can_keep(task.shard, now) && may_decide()
    }

    /// Returns whether a worker has computed a shard, or may have: a result of its own says nothing more.
    fn has_found(&self, id: WorkerId, task: Task, audit: &Audit) -> bool {
        self.may_have_made(id, task, audit.maker)
            || audit.other.as_ref().is_some_and(|(other, _)| *other == id)
    }

    /// Returns whether a worker made a shard or, if the maker is not known, may have made it: it holds the
    /// file.
    fn may_have_made(&self, id: WorkerId, task: Task, maker: Option<WorkerId>) -> bool {
        let is_held = || self.files.holders(task).any(|of| of == id || of == WorkerId::SHARED_STORE);
        maker.map_or_else(is_held, |maker| maker == id)
    }

    /// Returns whether an outcome is that of an audit.
    pub fn is_audit(&self, outcome: &Outcome) -> bool {
        let running = self.audits.open.get(&outcome.task).and_then(|audit| audit.running);
        running.is_some_and(|running| {
            outcome.attempt == Some(Attempt { epoch: self.epoch, number: running.attempt })
        })
    }

    /// Handles the outcome of an audit. Returns whether the outcome was one.
    pub(super) fn audited(
        &mut self,
        now: Millis,
        id: WorkerId,
        outcome: &Outcome,
        effects: &mut Vec<Effect>,
    ) -> bool {
        let task = outcome.task;
        if !self.is_audit(outcome) {
            return false;
        }
        let is_doubted = self.audits.doubted.contains(&task);
        let Some(audit) = self.audits.open.get_mut(&task) else {
            return false;
        };
        let Some(running) = audit.running.take_if(|running| running.worker == id) else {
            return false;
        };
        let took = now.since(running.given);
        self.audits.audits_took += took;
        match &outcome.result {
            Ok(Done::Made(report) | Done::Found(report)) => {
                if running.other_engine {
                    self.audits.other_engine.0 += took;
                    self.audits.other_engine.1 += audit.took;
                }
                self.members.note_success(id);
                self.judge(now, id, task, finding(report), effects);
            }
            Err(Failure::Contradiction(_)) => {
                self.judge(now, id, task, None, effects);
            }
            Ok(Done::Copied(_)) => effects.push(note_of(NoteKind::NoAnswer, Some(id), task, None)),
            Err(failure) => {
                audit.failures += 1;
                audit.not_before = now.after(PAUSE);
                if audit.failures >= MOST_FAILURES {
                    self.audits.forget(task);
                    effects.push(note_of(NoteKind::NotAudited, Some(id), task, Some(failure.to_string())));
                    if is_doubted {
                        // Nothing has decided between two results, so the shard is computed again.
                        self.forget_made(task, effects);
                        effects.push(Effect::ForgetReports(vec![task]));
                    }
                }
                match failure {
                    Failure::Damaged { file, address, .. } => {
                        if self.damaged(id, *file, address.as_deref(), effects) {
                            self.strike(now, id, effects);
                        }
                    }
                    Failure::Unreachable { file, addresses, message } => {
                        self.unreached(now, id, *file, addresses, message, effects);
                    }
                    Failure::DiskFull(_) => self.rest(now, id),
                    Failure::Store { number, stores, message, .. } => {
                        self.rest_store(now, id, (*number, *stores), message);
                    }
                    _ => self.strike(now, id, effects),
                }
            }
        }
        true
    }

    /// Has the running audits of a worker given out again.
    pub(super) fn give_up_audits(&mut self, id: WorkerId) {
        self.audits.give_up(id, |_| true);
    }

    /// Updates the audits that a worker lists in a heartbeat. Takes away the audits that it has not listed
    /// for a while, and returns their shards.
    pub(super) fn audits_heard(&mut self, now: Millis, id: WorkerId, underway: &BTreeSet<Task>) -> Vec<Task> {
        let patience = 3 * self.rules.heartbeat;
        for (_, audit) in self.audits.open.iter_mut().filter(|(task, _)| underway.contains(task)) {
            if let Some(running) = audit.running.as_mut().filter(|running| running.worker == id) {
                running.heard = now;
            }
        }
        self.audits.give_up(id, |running| now.since(running.heard) > patience)
    }
}

fn finding(report: &ShardReport) -> Finding {
    Some((report.totals, digest_of(report), report.watched.clone()))
}
