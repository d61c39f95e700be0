//! What follows from the result of an audit: agreement, a third worker that decides, the quarantine of a
//! worker whose shards are computed again, or the end of the run.

use crate::cluster::event::{Effect, Ending, LeaveReason, Millis, NoteKind, note_of, note_of_worker};
use crate::cluster::parts::{Audit, Finding, Worker};
use crate::cluster::state::State;
use fathom_engine::run::Task;
use fathom_proto::WorkerId;
use std::collections::{BTreeMap, BTreeSet};

impl State {
    /// Compares the result of an audit with the results of others.
    pub(super) fn judge(
        &mut self,
        now: Millis,
        auditor: WorkerId,
        task: Task,
        found: Finding,
        effects: &mut Vec<Effect>,
    ) {
        let Some(Audit { producer, made, other, .. }) = self.audits.get(task).cloned() else {
            return;
        };
        if let Some((other, found_before)) = other {
            self.audits.forget(task);
            let findings = [(producer, &made), (Some(other), &found_before), (Some(auditor), &found)];
            return match producer {
                _ if found == made => {
                    // Three workers have computed the shard, and two of them agree.
                    self.audits.agree(task);
                    self.scheduler.note_audited(task.shard);
                    self.quarantined(now, other, task, effects);
                }
                Some(producer) if found == found_before => self.quarantined(now, producer, task, effects),
                _ => self.disagree(now, task, &findings, effects),
            };
        }
        if found == made {
            self.audits.agree(task);
            let is_own = self.may_have_made(auditor, task, producer);
            let kind = if is_own { NoteKind::SelfCheck } else { NoteKind::Audited };
            if kind == NoteKind::Audited {
                self.scheduler.note_audited(task.shard);
            }
            effects.push(note_of(kind, Some(auditor), task, None));
            return;
        }
        self.note_doubt(task, effects);
        let findings = [(producer, &made), (Some(auditor), &found)];
        let detail = Some(self.said(&findings));
        effects.push(note_of(NoteKind::AuditDiffers, Some(auditor), task, detail));
        let is_third =
            |(id, worker): (WorkerId, &Worker)| Some(id) != producer && id != auditor && worker.is_staying();
        if producer.is_none() {
            // The producer is unknown, so no worker is to blame: the shard is computed and audited again.
            self.forget_made(task, effects);
            effects.push(Effect::ForgetReports(vec![task]));
        } else if producer != Some(auditor) && self.members.iter().any(is_third) {
            self.dirty += self.audits.await_third(task, auditor, found);
        } else {
            self.disagree(now, task, &findings, effects);
        }
    }

    /// Returns a message about a shard with two different results: who found which, and who decides.
    pub(in crate::cluster) fn dispute(&self) -> Option<String> {
        self.audits.iter().find_map(|(task, audit)| {
            let Some((auditor, found)) = &audit.other else {
                return self.undecided(task, audit);
            };
            let is_third = |(id, worker): (WorkerId, &Worker)| {
                Some(id) != audit.producer && id != *auditor && worker.is_staying()
            };
            let decides = match self.members.alive().any(is_third) {
                true => "a third worker decides",
                false => "a third worker must decide, but none is connected: start one",
            };
            Some(format!(
                "shard {} of depth {} was computed twice with different states: {}; {decides}",
                task.shard,
                task.depth,
                self.said(&[(audit.producer, &audit.made), (Some(*auditor), found)])
            ))
        })
    }

    /// Returns a message about a suspect shard if no connected worker may audit the shard, while others of
    /// this run may come back.
    fn undecided(&self, task: Task, audit: &Audit) -> Option<String> {
        let others = || self.members.iter().filter(|(id, _)| !self.has_found(*id, task, audit));
        let waits = self.audits.is_doubted(task)
            && self.audits.attempt(task).is_none()
            && others().any(|(_, worker)| !worker.is_set_aside)
            && !others().any(|(_, worker)| worker.is_alive() && worker.is_staying());
        waits.then(|| {
            format!(
                "shard {} of depth {} was computed twice with different states, and no connected worker may decide: start another one",
                task.shard, task.depth
            )
        })
    }

    /// Ends the run, because nothing decides which result of a shard is right.
    fn disagree(
        &mut self,
        now: Millis,
        task: Task,
        findings: &[(Option<WorkerId>, &Finding)],
        effects: &mut Vec<Effect>,
    ) {
        let workers: BTreeSet<WorkerId> = findings.iter().filter_map(|(id, _)| *id).collect();
        let what = match workers.len() {
            1 => "the worker's memory or a kernel is faulty. Start a worker on another host",
            2 => "one of the two is wrong, and a third worker is needed to decide which. Start one",
            _ => "no two agree. Check the memory of these hosts, and start workers on others",
        };
        let message = format!(
            "shard {} of depth {} was computed twice with different states: {}; {what}, then serve the run again",
            task.shard,
            task.depth,
            self.said(findings)
        );
        let message = match self.forget_made_by(now, &workers, effects).first() {
            Some(lost) => self.beyond_repair(lost, &message),
            None => message,
        };
        self.end(now, Ending::Failed(message), effects);
    }

    /// Describes which worker found which result.
    fn said(&self, findings: &[(Option<WorkerId>, &Finding)]) -> String {
        let of_one = |(id, finding): &(Option<WorkerId>, &Finding)| {
            let name = match id {
                Some(id) => {
                    self.members.get(*id).map_or_else(|| id.to_string(), |worker| worker.name.clone())
                }
                None => "an earlier report".into(),
            };
            match finding {
                Some((totals, digest, watched)) => {
                    let numbers: String = watched.iter().map(|number| format!(" {}", number + 1)).collect();
                    let watched = if watched.is_empty() { "" } else { ", watched states" };
                    format!("{name} found {} states, digest {digest}{watched}{numbers}", totals.states)
                }
                None => format!("{name} found that its sources contradict each other"),
            }
        };
        findings.iter().map(of_one).collect::<Vec<_>>().join("; ")
    }

    /// Quarantines a wrong worker: others compute its shards of the current layer again, and it leaves once
    /// others hold its files.
    fn quarantined(&mut self, now: Millis, id: WorkerId, task: Task, effects: &mut Vec<Effect>) {
        self.audits.distrust(id);
        let lost = self.forget_made_by(now, &BTreeSet::from([id]), effects);
        if self.members[id].is_set_aside {
            // An earlier audit by this worker differed too, and had its consequences.
            return;
        }
        self.dirty += self.members.quarantined(id).and(self.files.evacuate(id));
        let name = self.members[id].name.clone();
        effects.push(note_of(NoteKind::Quarantined, Some(id), task, Some(name)));
        effects.push(Effect::Quarantined(id));
        if self.rules.shared_store {
            // A file that the worker is computing would replace the right file.
            self.dirty += self.members.order_to_leave(id, LeaveReason::Stopped);
        }
        let (kept, dirty) = self.members.take_drains_back();
        self.dirty += dirty;
        for id in kept {
            effects.push(note_of_worker(NoteKind::Stays, id, Some(self.members[id].name.clone())));
        }
        if let Some(lost) = lost.first() {
            let what = format!(
                "shard {} of depth {} was computed twice with different states, and {} was wrong",
                task.shard, task.depth, self.members[id].name
            );
            let message = self.beyond_repair(lost, &what);
            self.end(now, Ending::Failed(message), effects);
        }
    }

    /// Returns a message about a shard that may be wrong and cannot be computed again.
    fn beyond_repair(&self, lost: &Task, what: &str) -> String {
        format!(
            "{what}; shard {} of depth {} may be wrong too, and cannot be recomputed because the run keeps only two layers. Start a new run with other workers, and with --keep last or --audit 100%",
            lost.shard, lost.depth
        )
    }

    /// Forgets the shards of the current layer that these workers computed or, if the producer is unknown,
    /// may have computed. If such a shard can be computed again, any worker may have computed it, whoever
    /// holds it now; otherwise its holders may. Shards that were reported and are to be recomputed, because
    /// their holders were gone, are forgotten too: some worker may come back with such a file. Shards that an
    /// audit confirmed and whose sources were released are kept. Files of the current layer that were not
    /// reported are not used from now on. Returns the other shards whose sources were released: they cannot
    /// be computed again.
    fn forget_made_by(
        &mut self,
        now: Millis,
        workers: &BTreeSet<WorkerId>,
        effects: &mut Vec<Effect>,
    ) -> Vec<Task> {
        let is_theirs = |task: Task, producer: Option<WorkerId>| {
            let is_anyones = producer.is_none() && self.scheduler.can_be_made(task.shard);
            is_anyones || workers.iter().any(|&id| self.may_have_made(id, task, producer))
        };
        let producers: BTreeMap<Task, Option<WorkerId>> =
            self.tasks().reports().map(|(report, producer)| (report.task, producer)).collect();
        let known = self.files.of_layer(self.depth()).map(|(shard, _)| Task { depth: self.depth(), shard });
        let made =
            known.filter(|task| producers.get(task).is_none_or(|&producer| is_theirs(*task, producer)));
        let made: Vec<Task> = made.filter(|&task| !self.scheduler.is_settled(task)).collect();
        let lost = made.iter().copied().filter(|task| !self.scheduler.can_be_made(task.shard)).collect();
        for &task in &made {
            self.forget_made(task, effects);
        }
        // Reports of these workers that are on their way are ignored.
        for &id in workers {
            for task in self.tasks().running(id).clone() {
                self.set_waiting(task, now);
            }
        }
        // Files that were not reported may be theirs, whoever finds them, in the next epoch too.
        let is_reported = |task: &Task| self.tasks().get(*task).is_some_and(|state| state.report().is_some());
        let all = self.shards().map(|shard| Task { depth: self.depth(), shard });
        let unreported = all.filter(|task| !is_reported(task) && !self.audits.is_disowned(*task));
        let unreported: Vec<Task> = unreported.collect();
        self.audits.disown(unreported.iter().copied());
        effects.push(Effect::ForgetReports([made, unreported].concat()));
        lost
    }

    /// Handles a result of a shard of the current layer that differs from an earlier report. The shard is
    /// computed again and audited, so that the wrong worker is found.
    pub(super) fn doubt(&mut self, id: WorkerId, task: Task, effects: &mut Vec<Effect>) {
        let detail = "an earlier report differs".to_owned();
        effects.push(note_of(NoteKind::AuditDiffers, Some(id), task, Some(detail)));
        self.note_doubt(task, effects);
        self.forget_made(task, effects);
        effects.push(Effect::ForgetReports(vec![task]));
    }

    /// Records that two results of a shard of the current layer differ: the shard is audited from then on,
    /// also by a coordinator that is restarted before the results are decided.
    fn note_doubt(&mut self, task: Task, effects: &mut Vec<Effect>) {
        if self.audits.doubt(task) {
            effects.push(Effect::Doubt(task));
        }
    }

    /// Forgets a computed shard, because its file may be wrong, and schedules it to be computed again.
    pub(super) fn forget_made(&mut self, task: Task, effects: &mut Vec<Effect>) {
        let Some(dirty) = self.files.discard(task) else {
            return;
        };
        self.dirty += dirty;
        if self.rules.shared_store {
            // A single process that continues the run would use the file in a shared store.
            effects.push(Effect::DiscardShared(task));
        }
        // Files in the stores of workers are kept: a worker ignores its own file when it recomputes the
        // shard, and a file with another digest than the reported one does not make its owner a holder.
        self.audits.disown([task]);
        self.commit.forget(task.shard);
        self.set_waiting(task, Millis(0));
    }
}
