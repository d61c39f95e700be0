//! Shards that are made twice, so that a worker is found whose reports are wrong.
//!
//! At least one shard of each depth, chosen at random when its report comes, is found once more by another
//! worker, and by the same one if there is no other; with another engine where there is one and time for it.
//! The depth is committed when both agree: a shard that is wrong is made again before anything is built on
//! it. Where they differ a third worker decides. Who is wrong is set aside: it makes nothing any more, its
//! shards of the current layer are made again, and it leaves when others hold what it holds. Without a third
//! worker the run ends with a message.
//!
//! Audits take at most the [share](crate::cluster::state::Rules::audit) of the time that all shards take,
//! beside `FREE`; where single shards take long this limit goes before the one shard of each depth.

use crate::cluster::apply::note_of;
use crate::cluster::event::{Effect, Ending, Millis, Note, NoteKind, Order};
use crate::cluster::failures::PAUSE;
use crate::cluster::state::{State, Worker, digest_of};
use fathom_layer::{Digest, Totals};
use fathom_proto::{Attempt, Done, Failure, Outcome};
use fathom_run::{ShardId, ShardReport, Task, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Audits of a run may take so long whatever their share: small depths are audited too.
const FREE: Duration = Duration::from_secs(2);
/// Failures of an audit after which the shard is not audited.
const MOST_FAILURES: u32 = 5;
/// How much longer another engine is thought to take, before it was measured.
const SLOWER: u32 = 16;
/// Attempts of audits are numbered from here on over all shards: none has the number of an attempt to make a
/// shard.
pub(super) const FIRST_ATTEMPT: u32 = 1 << 31;
/// Parts of the whole in which the share is given.
pub const PARTS: u32 = 1_000_000;

/// What somebody has found a shard to be; `None` if its inputs contradicted each other.
type Finding = Option<(Totals, Digest)>;

/// A shard that is audited.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Audit {
    /// Who has made the shard; `None` if that was in an earlier life of the coordinator.
    maker: Option<WorkerId>,
    /// What the maker has reported.
    made: Finding,
    /// What the first audit has found, if that was something else.
    other: Option<(WorkerId, Finding)>,
    /// How long the shard took.
    took: Duration,
    running: Option<Running>,
    failures: u32,
    /// It is not given out before.
    not_before: Millis,
}

/// A worker that is at an audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Running {
    worker: WorkerId,
    attempt: u32,
    given: Millis,
    /// When the worker has last said so.
    heard: Millis,
    /// Whether it was to use another engine.
    other_engine: bool,
}

/// The audits of a run.
#[derive(Clone, Debug, Default)]
pub struct Audits {
    open: BTreeMap<Task, Audit>,
    /// How long the shards took that were made in this life of the coordinator, and the audits.
    shards_took: Duration,
    audits_took: Duration,
    /// How long audits by another engine took, and the same shards before.
    other_engine: (Duration, Duration),
    /// Shards of the current layer of which a wrong file may lie with anybody.
    pub(super) disowned: BTreeSet<Task>,
    /// Shards of the current layer of which somebody had a file that was not reported: who has made that is
    /// not known.
    pub(super) unattributed: BTreeSet<Task>,
    /// Audits that were given out.
    given: u32,
    /// Audits that found what the maker had found.
    agreed: u64,
    /// Audits that found something else.
    differed: u64,
}

impl Audits {
    /// Audits that found what the maker of the shard had found, and those that found something else.
    pub fn results(&self) -> (u64, u64) {
        (self.agreed, self.differed)
    }

    /// Whether none is open.
    pub(super) fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Forgets those that are open: the run ends, or a layer begins.
    pub(super) fn clear(&mut self) {
        self.open.clear();
    }

    /// The shard is to be made again.
    pub(super) fn forget(&mut self, task: Task) {
        self.open.remove(&task);
    }

    /// Whether a shard is audited.
    pub(super) fn is_open(&self, task: Task) -> bool {
        self.open.contains_key(&task)
    }

    /// Whether a worker is at an audit.
    pub(super) fn are_with(&self, worker: WorkerId) -> bool {
        self.open.values().any(|audit| audit.running.is_some_and(|running| running.worker == worker))
    }

    /// Notes how long a shard took.
    pub(super) fn note(&mut self, took: Duration) {
        self.shards_took += took;
    }

    /// The time that is left for audits of this share.
    fn left(&self, share: u32) -> Duration {
        let all = self.shards_took.as_secs_f64() * f64::from(share) / f64::from(PARTS);
        Duration::from_secs_f64(all).max(FREE).saturating_sub(self.audits_took)
    }

    /// How long an audit is thought to take by another engine.
    fn by_other_engine(&self, took: Duration) -> Duration {
        let (other, usual) = self.other_engine;
        match usual.is_zero() {
            true => took * SLOWER,
            false => took.mul_f64(other.as_secs_f64() / usual.as_secs_f64()),
        }
    }

    /// Has others do those audits of a worker that are lost. Returns the shards.
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

    /// Forgets what a worker has found, and what it is at: others find it.
    fn distrust(&mut self, worker: WorkerId) {
        self.give_up(worker, |_| true);
        for audit in self.open.values_mut() {
            audit.other.take_if(|(other, _)| *other == worker);
        }
    }

    /// Panics if an audit is of a shard that is not made, or with a worker that is gone.
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
    /// A number that nobody can foresee, for each shard another one.
    fn lot(&self, what: &[u8], task: Task) -> u64 {
        let (depth, shard) = (task.depth.0.to_le_bytes(), task.shard.0.to_le_bytes());
        let digest = Digest::of(&[&self.session_key[..], what, &depth, &shard].concat());
        u64::from_le_bytes(*digest.0.first_chunk().expect("a digest has 32 bytes"))
    }

    /// Whether the report of a shard of the current layer is to be audited. One shard of each depth is, and
    /// of the others as many as the share says.
    fn is_drawn(&self, task: Task) -> bool {
        let share = u64::from(self.rules.audit);
        let depth = Task { depth: task.depth, shard: ShardId(0) };
        let chosen = self.lot(b"shard of depth", depth) % u64::from(self.rules.shards);
        share > 0
            && (chosen == u64::from(task.shard.0) || self.lot(b"shard", task) % u64::from(PARTS) < share)
    }

    /// Has a shard audited that was just made, if its lot is drawn and there is time.
    pub(super) fn draw(&mut self, maker: Option<WorkerId>, report: &ShardReport, took: Duration) {
        self.audits.note(took);
        if !self.is_drawn(report.task) || took > self.audits.left(self.rules.audit) {
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

    /// Has shards audited that were made in an earlier life of the coordinator, of the same depth: audits
    /// that were open then were lost.
    pub fn draw_again(&mut self) {
        let made = self.tasks.reports().map(|(report, _)| report).filter(|report| self.is_drawn(report.task));
        // What some were made from is not there any more.
        let made = made.filter(|report| !self.given.contains(report.task.shard));
        let made: Vec<Arc<ShardReport>> = made.cloned().collect();
        for report in made {
            self.draw(None, &report, Duration::ZERO);
        }
    }

    /// Gives a worker an audit, if there is one for it.
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
        let (&task, audit) = open.find(|(_, audit)| self.may_audit(id, audit, now))?;
        // One that is to decide uses its usual engine, like one for which there is no time to use another.
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

    /// Whether a worker may say what a shard is: one that has not yet, unless there is nobody else.
    fn may_audit(&self, id: WorkerId, audit: &Audit, now: Millis) -> bool {
        let has_found =
            |id: WorkerId| audit.maker == Some(id) || audit.other.is_some_and(|(other, _)| other == id);
        let is_other = |(other, worker): (WorkerId, &Worker)| !has_found(other) && worker.is_able(now);
        !has_found(id) || (audit.other.is_none() && !self.workers.iter().any(is_other))
    }

    /// Whether an outcome is that of an audit.
    pub fn is_audit(&self, outcome: &Outcome) -> bool {
        let running = self.audits.open.get(&outcome.task).and_then(|audit| audit.running);
        running.is_some_and(|running| {
            outcome.attempt == Some(Attempt { epoch: self.epoch, number: running.attempt })
        })
    }

    /// Handles what a worker says of an audit. Returns whether it was one.
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
                        // Nobody has decided who is right.
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
                    Failure::Unreachable { file, message } => {
                        self.unreached(now, id, *file, message, effects);
                    }
                    Failure::DiskFull(_) => self.rest(now, id),
                    _ => self.strike(now, id, effects),
                }
            }
        }
        true
    }

    /// Compares what a worker has found a shard to be with what others have.
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
            let kind = if maker == Some(auditor) { NoteKind::SelfCheck } else { NoteKind::Audited };
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
            // Nobody is to blame; the shard is made again, and audited again.
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

    /// A shard that two have found different: who has found what, and who decides.
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

    /// Ends the run, because nobody can tell what a shard is.
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

    /// Who has found what, in words.
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

    /// A worker is wrong: what it has made of the current layer is made again by others, and it leaves when
    /// others hold what it holds.
    fn set_aside(&mut self, now: Millis, id: WorkerId, task: Task, effects: &mut Vec<Effect>) {
        self.audits.distrust(id);
        let lost = self.forget_made_by(&BTreeSet::from([id]), effects);
        let worker = self.worker(id);
        if worker.is_set_aside {
            // Audits that it made before that differ from others too.
            return;
        }
        worker.draining = true;
        worker.is_set_aside = true;
        let name = worker.name.clone();
        effects.push(note_of(NoteKind::SetAside, Some(id), task, Some(name)));
        effects.push(Effect::SetAside(id));
        for task in self.tasks.running(id).clone() {
            self.set_waiting(task, now);
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

    /// What to do about a shard that may be wrong, and cannot be made again.
    fn beyond_repair(&self, lost: &Task, what: &str) -> String {
        format!(
            "{what}; shard {} of depth {}, which may be wrong too, cannot be made again, for the run keeps two layers and what the shard was made from was given back: begin again with other workers, and with --keep last, or with --audit 100%",
            lost.shard, lost.depth
        )
    }

    /// Where only workers are left that are to leave, those stay that are not wrong: they were to leave
    /// because somebody else would stay.
    fn take_drains_back(&mut self, effects: &mut Vec<Effect>) {
        if self.workers.alive().any(|(_, worker)| worker.is_staying()) {
            return;
        }
        for (id, worker) in self.workers.iter_mut() {
            if worker.draining && !worker.is_set_aside && worker.leaving.is_none() {
                worker.draining = false;
                let detail = Some(worker.name.clone());
                effects.push(Effect::Note(Note {
                    kind: NoteKind::Stays,
                    worker: Some(id),
                    task: None,
                    attempt: None,
                    detail,
                }));
            }
        }
    }

    /// Forgets the shards of the current layer that these workers have made. Of shards from an earlier life
    /// of the coordinator it is known only who holds them. Returns those that cannot be made again; those
    /// with which an audit has agreed stay.
    fn forget_made_by(&mut self, workers: &BTreeSet<WorkerId>, effects: &mut Vec<Effect>) -> Vec<Task> {
        let is_theirs = |task: Task, maker: Option<WorkerId>| match maker {
            Some(maker) => workers.contains(&maker),
            None => self.files.holders(task).any(|holder| workers.contains(&holder)),
        };
        let made = self.tasks.reports().map(|(report, maker)| (report.task, maker));
        let made: Vec<Task> =
            made.filter(|&(task, maker)| is_theirs(task, maker)).map(|(task, _)| task).collect();
        let made: Vec<Task> = made.into_iter().filter(|&task| !self.is_settled(task)).collect();
        let lost = made.iter().copied().filter(|task| self.given.contains(task.shard)).collect();
        for &task in &made {
            self.forget_made(task, effects);
        }
        effects.push(Effect::ForgetReports(made));
        lost
    }

    /// Forgets a shard that was made: its file is not the right one.
    fn forget_made(&mut self, task: Task, effects: &mut Vec<Effect>) {
        let Some(holders) = self.files.forget(task) else {
            return;
        };
        if holders.contains(&WorkerId::SHARED_STORE) {
            // One process that goes on alone would take the file in a shared store for its own work.
            effects.push(Effect::DiscardShared(task));
        }
        // Files in stores of workers stay where they are: a worker that is to make the shard does not look at
        // its own, and another digest than the one that will be reported makes no holder.
        self.audits.disowned.insert(task);
        self.done = 0;
        self.unsettled.moved = true;
        self.unsettled.files.remove(&task);
        self.unsettled.lacking.remove(&task);
        self.unsaved.retain(|shard| *shard != task.shard);
        self.set_waiting(task, Millis(0));
    }

    /// Whatever a worker was auditing is audited again.
    pub(super) fn give_up_audits(&mut self, id: WorkerId) {
        self.audits.give_up(id, |_| true);
    }

    /// Takes what a worker says that it is at; gives up the audits of which it knows nothing. Returns those.
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
