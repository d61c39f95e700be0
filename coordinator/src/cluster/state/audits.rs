//! Audits: shards that are computed twice, to find workers whose reports are wrong.
//!
//! At least one shard of each depth, chosen at random, is computed again by another worker, or by the same
//! worker if there is no other. The audit uses another kernel if there is one and time permits. The depth is
//! committed only after the audits agree, so that nothing is built on a wrong shard. If the two results
//! differ, a third worker decides. A worker that was wrong is quarantined: it computes nothing any more, its
//! shards of the current layer are computed again, and it leaves once others hold its files. Without a third
//! worker the run ends with a message.
//!
//! Audits take at most the [share](crate::cluster::state::Rules::audit) of the time of all shards, or `FREE`
//! if that is more. This limit takes precedence over the rule of one shard per depth: if a single shard takes
//! longer than the remaining time, it is not audited. With a share of 100%, every shard is audited, however
//! long that takes.

use crate::cluster::event::{Command, Effect, MadeShard, Millis, NoteKind, note_of};
use crate::cluster::parts::{Audit, Finding, PARTS, Worker};
use crate::cluster::state::{State, digest_of};
use fathom_engine::run::{ShardId, ShardReport, Task};
use fathom_proto::{Attempt, Done, Failure, Outcome, WorkerId};
use std::sync::Arc;
use std::time::Duration;

impl State {
    /// Returns an unpredictable number for each shard, which depends on the secret.
    fn lot(&self, what: &[u8], task: Task) -> u64 {
        let (depth, shard) = (task.depth.0.to_le_bytes(), task.shard.0.to_le_bytes());
        self.secret.number(&[what, &depth, &shard])
    }

    /// Returns whether a shard of the current layer is selected for an audit: one shard of each depth is, and
    /// of the others the given share.
    fn is_drawn(&self, task: Task) -> bool {
        let share = u64::from(self.rules.audit);
        let depth = Task { depth: task.depth, shard: ShardId(0) };
        let chosen = self.lot(b"shard of depth", depth) % u64::from(self.rules.shards);
        share > 0
            && (chosen == u64::from(task.shard.0) || self.lot(b"shard", task) % u64::from(PARTS) < share)
    }

    /// Opens an audit of a shard that was just computed, if the shard is selected and there is time, or if
    /// its result is suspect.
    pub(super) fn draw(&mut self, producer: Option<WorkerId>, report: &ShardReport, took: Duration) {
        self.audits.note_shard(took);
        let is_drawn = self.is_drawn(report.task) && self.audits.have_time(took, self.rules.audit);
        if is_drawn || self.audits.is_doubted(report.task) {
            self.dirty += self.audits.open(report.task, producer, finding(report), took);
        }
    }

    /// Opens audits again for the shards of the current layer that were computed in an earlier epoch: the
    /// open audits of that epoch were lost.
    pub fn draw_again(&mut self) {
        let is_audited = |task| self.is_drawn(task) || self.audits.is_doubted(task);
        let made = self.tasks().reports().filter(|(report, _)| is_audited(report.task));
        // A shard whose source was released cannot be computed again.
        let made = made.filter(|(report, _)| self.scheduler.can_be_made(report.task.shard));
        let made: Vec<MadeShard> = made.map(|(report, producer)| (Arc::clone(report), producer)).collect();
        for (report, producer) in made {
            self.draw(producer, &report, Duration::ZERO);
        }
    }

    /// Assigns an audit to a worker, if there is one that it may do.
    pub(super) fn give_audit(
        &mut self,
        now: Millis,
        id: WorkerId,
        effects: &mut Vec<Effect>,
    ) -> Option<Command> {
        if self.audits.is_empty() || !self.files.missing().is_empty() {
            return None;
        }
        let may_audit = |(task, audit): &(Task, &Audit)| self.may_audit(id, *task, audit, now);
        let (task, audit) = self.audits.waiting(now).find(may_audit)?;
        let other_engine = self.audits.have_time_for_other_engine(audit, self.rules.audit);
        let producer = audit.producer.and_then(|producer| self.members.get(producer));
        let kernel = producer.map_or("", |producer| &producer.kernel);
        let other_than = if other_engine { kernel.to_owned() } else { String::new() };
        let number = self.audits.give(task, id, other_engine, now);
        let attempt = Attempt { epoch: self.epoch, number };
        self.note_reader(task, id);
        effects.push(note_of(NoteKind::AuditGiven, Some(id), task, None));
        Some(Command::Audit(task, attempt, other_than))
    }

    /// Returns whether a worker may audit a shard: it has not computed the shard yet, or there is no other
    /// worker. A shard with two different results is not left to its producer while a worker of this run may
    /// come back.
    fn may_audit(&self, id: WorkerId, task: Task, audit: &Audit, now: Millis) -> bool {
        let is_doubted = self.audits.is_doubted(task);
        let may_come = |worker: &Worker| is_doubted && !worker.is_set_aside;
        let is_other = |(other, worker): (WorkerId, &Worker)| {
            !self.has_found(other, task, audit) && (worker.is_able(now) || may_come(worker))
        };
        !self.has_found(id, task, audit) || (audit.other.is_none() && !self.members.iter().any(is_other))
    }

    /// Returns whether a worker has computed a shard, or may have: another result of it proves nothing.
    pub(super) fn has_found(&self, id: WorkerId, task: Task, audit: &Audit) -> bool {
        self.may_have_made(id, task, audit.producer)
            || audit.other.as_ref().is_some_and(|(other, _)| *other == id)
    }

    /// Returns whether a worker computed a shard or, if the producer is unknown, may have computed it: it
    /// holds the file.
    pub(super) fn may_have_made(&self, id: WorkerId, task: Task, producer: Option<WorkerId>) -> bool {
        let is_held = || self.files.holders(task).any(|of| of == id || of == WorkerId::SHARED_STORE);
        producer.map_or_else(is_held, |producer| producer == id)
    }

    /// Returns whether an outcome is that of an audit.
    pub fn is_audit(&self, outcome: &Outcome) -> bool {
        let number = self.audits.attempt(outcome.task);
        number.is_some_and(|number| outcome.attempt == Some(Attempt { epoch: self.epoch, number }))
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
        let is_result = matches!(outcome.result, Ok(Done::Made(_) | Done::Found(_)));
        if !self.is_audit(outcome) || !self.audits.end(task, id, is_result, now) {
            return false;
        }
        match &outcome.result {
            Ok(Done::Made(report) | Done::Found(report)) => {
                self.members.note_success(id);
                self.judge(now, id, task, finding(report), effects);
            }
            Err(Failure::Contradiction(_)) => {
                self.judge(now, id, task, None, effects);
            }
            Ok(Done::Copied(_)) => effects.push(note_of(NoteKind::NoAnswer, Some(id), task, None)),
            Err(failure) => {
                if self.audits.fail(task, now) {
                    effects.push(note_of(NoteKind::NotAudited, Some(id), task, Some(failure.to_string())));
                    if self.audits.is_doubted(task) {
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
                    _ => self.strike(now, id, effects),
                }
            }
        }
        true
    }
}

fn finding(report: &ShardReport) -> Finding {
    Some((report.totals, digest_of(report), report.watched.clone()))
}
