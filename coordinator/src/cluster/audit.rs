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

use crate::cluster::apply::{note_of, note_of_worker};
use crate::cluster::event::{Effect, Ending, LeaveReason, Millis, NoteKind, Order};
use crate::cluster::failures::PAUSE;
use crate::cluster::state::{State, Worker, digest_of};
use fathom_layer::{Digest, Totals};
use fathom_proto::{Attempt, Done, Failure, Outcome};
use fathom_run::{ShardId, ShardReport, Task, WorkerId};
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
pub(super) const FIRST_ATTEMPT: u32 = 1 << 31;
/// Denominator of the share of audits.
pub const PARTS: u32 = 1_000_000;

/// The result of computing a shard; `None` if its inputs contradicted each other.
type Finding = Option<(Totals, Digest)>;

/// An open audit of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Audit {
    /// The worker that computed the shard; `None` if not known, as for shards of an earlier epoch.
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
    pub(super) doubted: BTreeSet<Task>,
    /// Shards of the current layer of which a worker had an unreported file: their maker is not known.
    pub(super) unattributed: BTreeSet<Task>,
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

    /// Returns whether a worker computes an audit.
    pub(super) fn are_with(&self, worker: WorkerId) -> bool {
        self.open.values().any(|audit| audit.running.is_some_and(|running| running.worker == worker))
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
    /// Returns a number for each shard that nobody can foresee, because it depends on the secret key.
    fn lot(&self, what: &[u8], task: Task) -> u64 {
        let (depth, shard) = (task.depth.0.to_le_bytes(), task.shard.0.to_le_bytes());
        let digest = Digest::of(&[&self.session_key[..], what, &depth, &shard].concat());
        u64::from_le_bytes(*digest.0.first_chunk().expect("a digest has 32 bytes"))
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

    /// Opens an audit of a shard that was just made, if the shard is drawn and there is time, or if its result
    /// is doubted.
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
        self.unsettled.all_awake = true;
    }

    /// Opens audits again for the shards of the current layer that were made in an earlier epoch: the open
    /// audits of that epoch were lost.
    pub fn draw_again(&mut self) {
        let made = self.tasks.reports().map(|(report, _)| report).filter(|report| self.is_drawn(report.task));
        // A shard whose source was given back cannot be computed again.
        let made = made.filter(|report| !self.given.contains(report.task.shard));
        let made: Vec<Arc<ShardReport>> = made.cloned().collect();
        for report in made {
            self.draw(None, &report, Duration::ZERO);
        }
    }

    /// Gives a worker an audit, if there is one that it may do.
    pub(super) fn give_audit(
        &mut self,
        now: Millis,
        id: WorkerId,
        effects: &mut Vec<Effect>,
    ) -> Option<Order> {
        if self.audits.is_empty() || !self.missing.is_empty() {
            return None;
        }
        let mut open = self.audits.open.iter().filter(|(_, a)| a.running.is_none() && a.not_before <= now);
        let (&task, audit) = open.find(|(task, audit)| self.may_audit(id, **task, audit, now))?;
        // A deciding audit uses the usual engine, and so does an audit without the time for another engine.
        let other_engine = audit.other.is_none()
            && self.audits.by_other_engine(audit.took) <= self.audits.left(self.rules.audit);
        let maker = audit.maker.and_then(|maker| self.workers.get(maker));
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

    /// Returns whether a worker may audit a shard: it has not computed the shard yet, or there is nobody
    /// else.
    fn may_audit(&self, id: WorkerId, task: Task, audit: &Audit, now: Millis) -> bool {
        let has_found = |id: WorkerId| {
            self.may_have_made(id, task, audit.maker) || audit.other.is_some_and(|(other, _)| other == id)
        };
        let is_other = |(other, worker): (WorkerId, &Worker)| !has_found(other) && worker.is_able(now);
        !has_found(id) || (audit.other.is_none() && !self.workers.iter().any(is_other))
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
        let Some(audit) = self.audits.open.get_mut(&task) else {
            return false;
        };
        let Some(running) = audit.running.take_if(|running| running.worker == id) else {
            return false;
        };
        let took = now.since(running.given);
        self.audits.audits_took += took;
        match &outcome.result {
            Ok(Done::Made(report)) => {
                if running.other_engine {
                    self.audits.other_engine.0 += took;
                    self.audits.other_engine.1 += audit.took;
                }
                self.worker(id).strikes = 0;
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
                    let is_disputed = audit.other.is_some();
                    self.audits.forget(task);
                    effects.push(note_of(NoteKind::NotAudited, Some(id), task, Some(failure.to_string())));
                    if is_disputed {
                        // The two results remain undecided, so the shard is computed again.
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

    /// Compares the result of an audit with the results of others.
    fn judge(
        &mut self,
        now: Millis,
        auditor: WorkerId,
        task: Task,
        found: Finding,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Audit { maker, made, other, .. }) = self.audits.open.get(&task).cloned() else {
            return;
        };
        if let Some((other, found_before)) = other {
            self.audits.forget(task);
            let findings = [(maker, made), (Some(other), found_before), (Some(auditor), found)];
            return match maker {
                _ if found == made => self.set_aside(now, other, task, effects),
                Some(maker) if found == found_before => self.set_aside(now, maker, task, effects),
                _ => self.disagree(now, task, &findings, effects),
            };
        }
        if found == made {
            self.audits.agreed += 1;
            self.audits.forget(task);
            let is_own = self.may_have_made(auditor, task, maker);
            let kind = if is_own { NoteKind::SelfCheck } else { NoteKind::Audited };
            if kind == NoteKind::Audited {
                self.given.audited(task.shard);
            }
            effects.push(note_of(kind, Some(auditor), task, None));
            return;
        }
        self.audits.differed += 1;
        let findings = [(maker, made), (Some(auditor), found)];
        let detail = Some(self.said(&findings));
        effects.push(note_of(NoteKind::AuditDiffers, Some(auditor), task, detail));
        let is_third =
            |(id, worker): (WorkerId, &Worker)| Some(id) != maker && id != auditor && worker.is_staying();
        if maker.is_none() {
            // The maker is not known, so nobody is to blame: the shard is made and audited again.
            self.forget_made(task, effects);
            effects.push(Effect::ForgetReports(vec![task]));
        } else if maker != Some(auditor) && self.workers.iter().any(is_third) {
            let audit = self.audits.open.get_mut(&task).expect("it was there before");
            audit.other = Some((auditor, found));
            self.unsettled.all_awake = true;
        } else {
            self.disagree(now, task, &findings, effects);
        }
    }

    /// Returns a message about a shard with two different results: who found which, and who decides.
    pub(super) fn dispute(&self) -> Option<String> {
        let mut open = self.audits.open.iter();
        open.find_map(|(task, audit)| {
            let (auditor, found) = audit.other?;
            let is_third = |(id, worker): (WorkerId, &Worker)| {
                Some(id) != audit.maker && id != auditor && worker.is_staying()
            };
            let decides = match self.workers.alive().any(is_third) {
                true => "a third worker decides",
                false => "a third worker must decide, and none is there: start one",
            };
            Some(format!(
                "shard {} of depth {} was made twice with different states: {}; {decides}",
                task.shard,
                task.depth,
                self.said(&[(audit.maker, audit.made), (Some(auditor), found)])
            ))
        })
    }

    /// Ends the run, because nothing decides which result of a shard is right.
    fn disagree(
        &mut self,
        now: Millis,
        task: Task,
        findings: &[(Option<WorkerId>, Finding)],
        effects: &mut Vec<Effect>,
    ) {
        let workers: BTreeSet<WorkerId> = findings.iter().filter_map(|(id, _)| *id).collect();
        let what = match workers.len() {
            1 => "the worker's memory or a kernel is at fault: start another worker on another host",
            2 => "one of the two is wrong, and a third worker would tell which: start one more",
            _ => "no two agree: look at the memory of these hosts, and start others",
        };
        let message = format!(
            "shard {} of depth {} was made twice with different states: {}; {what}, then serve the run again",
            task.shard,
            task.depth,
            self.said(findings)
        );
        let message = match self.forget_made_by(&workers, effects).first() {
            Some(lost) => self.beyond_repair(lost, &message),
            None => message,
        };
        self.end(now, Ending::Failed(message), effects);
    }

    /// Says who found which result, for people.
    fn said(&self, findings: &[(Option<WorkerId>, Finding)]) -> String {
        let of_one = |(id, finding): &(Option<WorkerId>, Finding)| {
            let name = match id {
                Some(id) => {
                    self.workers.get(*id).map_or_else(|| id.to_string(), |worker| worker.name.clone())
                }
                None => "an earlier report".into(),
            };
            match finding {
                Some((totals, digest)) => {
                    format!("{name} has found {} states, digest {digest}", totals.states)
                }
                None => format!("{name} has found that its sources contradict each other"),
            }
        };
        findings.iter().map(of_one).collect::<Vec<_>>().join("; ")
    }

    /// Sets a wrong worker aside: others compute its shards of the current layer again, and it leaves once
    /// others hold its files.
    fn set_aside(&mut self, now: Millis, id: WorkerId, task: Task, effects: &mut Vec<Effect>) {
        self.audits.distrust(id);
        let lost = self.forget_made_by(&BTreeSet::from([id]), effects);
        let worker = self.worker(id);
        if worker.is_set_aside {
            // An earlier audit by this worker differed too, and had its consequences.
            return;
        }
        worker.draining = true;
        worker.is_set_aside = true;
        let name = worker.name.clone();
        effects.push(note_of(NoteKind::SetAside, Some(id), task, Some(name)));
        effects.push(Effect::SetAside(id));
        let running = self.tasks.running(id).clone();
        for &task in &running {
            self.set_waiting(task, now);
        }
        if self.rules.shared_store {
            // What the worker is making would replace the right file, or be found by others, in the next
            // epoch too.
            self.worker(id).leaving = Some(LeaveReason::Stopped);
            self.order(id, Order::Leave(LeaveReason::Stopped));
            let making: Vec<Task> = running.into_iter().filter(|task| task.depth == self.depth).collect();
            self.audits.disowned.extend(&making);
            effects.push(Effect::ForgetReports(making));
        }
        self.unsettled.files.extend(self.files.held_by(id));
        self.unsettled.owners = true;
        self.take_drains_back(effects);
        if let Some(lost) = lost.first() {
            let what = format!(
                "shard {} of depth {} was made twice with different states, and {} was wrong",
                task.shard, task.depth, self.workers[id].name
            );
            let message = self.beyond_repair(lost, &what);
            self.end(now, Ending::Failed(message), effects);
        }
    }

    /// Returns a message for people about a shard that may be wrong and cannot be computed again.
    fn beyond_repair(&self, lost: &Task, what: &str) -> String {
        format!(
            "{what}; shard {} of depth {}, which may be wrong too, cannot be made again, for the run keeps two layers and what the shard was made from was given back: begin again with other workers, and with --keep last, or with --audit 100%",
            lost.shard, lost.depth
        )
    }

    /// Keeps drained workers that are not wrong, if no other workers stay: they were to leave only because
    /// others would stay.
    fn take_drains_back(&mut self, effects: &mut Vec<Effect>) {
        if self.workers.alive().any(|(_, worker)| worker.is_staying()) {
            return;
        }
        for (id, worker) in self.workers.iter_mut() {
            if worker.draining && !worker.is_set_aside && worker.leaving.is_none() {
                worker.draining = false;
                let detail = Some(worker.name.clone());
                effects.push(note_of_worker(NoteKind::Stays, id, detail));
            }
        }
    }

    /// Forgets the shards of the current layer that these workers made or, if the maker is not known, may
    /// have made. If such a shard can be made again, any worker may have made it, whoever holds it now;
    /// otherwise its holders may. Shards that were reported and are to be made again, because their holders
    /// were gone, are forgotten too: some worker may come back with such a file. Shards that an audit
    /// confirmed and whose sources were given back stay. Returns the other shards whose sources were given
    /// back: they cannot be computed again.
    fn forget_made_by(&mut self, workers: &BTreeSet<WorkerId>, effects: &mut Vec<Effect>) -> Vec<Task> {
        let is_theirs = |task: Task, maker: Option<WorkerId>| {
            let is_anyones = maker.is_none() && !self.given.contains(task.shard);
            is_anyones || workers.iter().any(|&id| self.may_have_made(id, task, maker))
        };
        let makers: BTreeMap<Task, Option<WorkerId>> =
            self.tasks.reports().map(|(report, maker)| (report.task, maker)).collect();
        let known = self.files.of_layer(self.depth).map(|(shard, _)| Task { depth: self.depth, shard });
        let made = known.filter(|task| makers.get(task).is_none_or(|&maker| is_theirs(*task, maker)));
        let made: Vec<Task> = made.filter(|&task| !self.is_settled(task)).collect();
        let lost = made.iter().copied().filter(|task| self.given.contains(task.shard)).collect();
        for &task in &made {
            self.forget_made(task, effects);
        }
        effects.push(Effect::ForgetReports(made));
        lost
    }

    /// Handles a result of a shard of the current layer that differs from what was reported before. The shard
    /// is made again and audited, so that whoever was wrong is found.
    pub(super) fn doubt(&mut self, id: WorkerId, task: Task, effects: &mut Vec<Effect>) {
        let detail = "an earlier report says otherwise".to_owned();
        effects.push(note_of(NoteKind::AuditDiffers, Some(id), task, Some(detail)));
        self.audits.differed += 1;
        self.audits.doubted.insert(task);
        self.forget_made(task, effects);
        effects.push(Effect::ForgetReports(vec![task]));
    }

    /// Forgets a made shard, because its file may be wrong, and has it made again.
    fn forget_made(&mut self, task: Task, effects: &mut Vec<Effect>) {
        if self.files.forget(task).is_none() {
            return;
        }
        if self.rules.shared_store {
            // A process that continues the run alone would take the file in a shared store for its own.
            effects.push(Effect::DiscardShared(task));
        }
        // Files in the stores of workers stay: a worker ignores its own file when it makes the shard afresh,
        // and a file with another digest than the reported one makes no holder.
        self.audits.disowned.insert(task);
        self.done = 0;
        self.unsettled.moved = true;
        self.unsettled.files.remove(&task);
        self.unsettled.lacking.remove(&task);
        self.unsaved.retain(|shard| *shard != task.shard);
        self.set_waiting(task, Millis(0));
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
    Some((report.totals, digest_of(report)))
}
