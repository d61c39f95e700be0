//! The decisions that follow from the state, whatever event changed it. They consider only what the changes
//! of the parts have affected.

use crate::cluster::event::{Command, Effect, Ending, LeaveReason, Millis, Note, NoteKind, Reply, note_of};
use crate::cluster::parts::{CopyState, Presence, TaskProgress, TaskState, Worker};
use crate::cluster::state::State;
use fathom_engine::run::{Depth, Keep, ShardReport, Task};
use fathom_proto::{Attempt, WorkerId};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

impl State {
    /// Brings the state up to date after an event: commits, repairs, copies, and answers.
    pub(super) fn reconcile(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        // Shards that were done may have lost a holder.
        let mut is_stale = self.dirty.take_missing();
        if is_stale {
            self.scheduler.recount();
        }
        // When the run ends, workers leave with their files and may come back with them.
        if self.dirty.take_orphans() && self.ending().is_none() {
            for task in self.find_orphans() {
                self.set_waiting(task, Millis(0));
            }
        }
        while self.ending().is_none() && self.is_layer_done() {
            self.commit_layer(now, effects);
        }
        is_stale |= self.dirty.take_missing();
        if is_stale {
            self.holder_map.change();
            self.dirty += self.files.set_missing(self.find_missing());
            self.check_given_back(now, effects);
            self.repair(now, effects);
        }
        if self.dirty.take_owners() {
            self.plan_owners(now);
        }
        if self.ending().is_none() {
            self.command_copies(now, effects);
            self.make_room_ahead(now, effects);
        }
        self.order_to_leave();
        self.give_orders(now, effects);
        self.finish(now, effects);
    }

    /// Commits the current layer, which is done, and starts the next one.
    fn commit_layer(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let depth = self.depth();
        let reports: Vec<Arc<ShardReport>> =
            self.tasks().reports().map(|(report, _)| Arc::clone(report)).collect();
        self.commit.add_layer(&reports);
        let took = now.since(self.scheduler.begun());
        let holders = self.files.iter().map(|(task, _)| task).filter(|task| task.depth.0 + 1 >= depth.0);
        let holders = holders.flat_map(|task| self.held_by(task)).collect();
        self.newest = self.holders_of((depth.0.saturating_sub(2)..=depth.0).map(Depth));
        effects.push(Effect::Commit(reports, took, holders));
        if let Some(retired) = depth.previous().and_then(Depth::previous) {
            if self.rules.shared_store {
                effects.push(Effect::RetireShared(retired));
            } else {
                for id in self.members.alive().map(|(id, _)| id).collect::<Vec<_>>() {
                    self.order(id, Command::RetireLayer(retired));
                }
            }
            if self.rules.keep != Keep::All {
                self.files.forget_layers(retired);
            }
        }
        self.audits.end_layer();
        self.dirty += self.scheduler.begin_next_layer(now);
        if let Some(ending) = self.is_through() {
            self.end(now, ending, effects);
        }
    }

    /// Returns the files that the current layer needs and that no live worker holds.
    pub(super) fn find_missing(&self) -> BTreeSet<Task> {
        let below = self.rules.lookback.below(self.depth());
        let missing = below.flat_map(|depth| self.orphaned(depth));
        let missing = missing.filter(|&task| !self.scheduler.is_given_back(task));
        // Shards of the current layer that cannot be computed again are needed, too.
        missing.chain(self.scheduler.given_back().filter(|&task| !self.is_held(task))).collect()
    }

    /// Starts tasks that recompute missing files, if their own inputs are available. If those are missing
    /// too, but known because all layers are kept, they are recomputed first.
    fn repair(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let mut wanted = self.files.missing().clone();
        let mut next: Vec<Task> = wanted.iter().copied().collect();
        let mut sources: BTreeMap<Depth, Vec<Task>> = BTreeMap::new();
        let mut begun = BTreeSet::new();
        while let Some(task) = next.pop() {
            let mut under_replicated = Vec::new();
            let mut is_lacking = false;
            let mut below = self.rules.lookback.below(task.depth);
            if let Some(newest) = below.next() {
                // All tasks of a depth read all shards of the layer below, so they lack the same files of it.
                let orphaned = sources.entry(newest).or_insert_with(|| {
                    under_replicated = self.orphaned(newest);
                    under_replicated.clone()
                });
                is_lacking = !orphaned.is_empty();
                // Of the older layers, a task reads only its own shard.
                let older = below.map(|depth| Task { depth, shard: task.shard });
                under_replicated.extend(older.filter(|&older| !self.is_held(older)));
                is_lacking |= !under_replicated.is_empty();
            }
            if !is_lacking {
                begun.insert(task);
            } else if self.rules.shared_store
                && under_replicated.iter().any(|task| !self.files.contains(*task))
            {
                let message = format!(
                    "shard {} of depth {} is damaged, and its sources no longer exist. Restore the file from a copy and serve the run again, or start a new run",
                    task.shard, task.depth
                );
                self.end(now, Ending::Failed(message), effects);
            }
            next.extend(
                under_replicated
                    .into_iter()
                    .filter(|task| self.files.contains(*task) && wanted.insert(*task)),
            );
        }
        for task in begun {
            // A file whose holder may come back at any moment is waited for.
            if !self.is_awaited(task) && self.scheduler.add_repair(task) {
                effects.push(note_of(NoteKind::MadeAgain, None, task, None));
            }
        }
        let is_wanted = |(task, state): &(Task, &TaskState)| {
            wanted.contains(task) || matches!(state.making, TaskProgress::Running(..))
        };
        let unwanted: Vec<Task> =
            self.tasks().repairs().filter(|repair| !is_wanted(repair)).map(|(task, _)| task).collect();
        for task in unwanted {
            self.scheduler.abandon_repair(task);
        }
    }

    /// Returns whether a file has a holder that is known from an earlier epoch and may still register again.
    fn is_awaited(&self, task: Task) -> bool {
        let is_awaited = |id| self.members.get(id).is_some_and(|w| w.presence() == Presence::Reconnecting);
        self.files.holders(task).any(is_awaited)
    }

    /// Commands copies of the files that have too few holders.
    fn command_copies(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let mut files = self.dirty.take_copies();
        if self.dirty.take_targets() {
            files.append(&mut self.files.take_under_replicated());
        }
        if self.rules.shared_store || files.is_empty() {
            return;
        }
        // Workers that can take copies, the least busy first.
        let mut targets: Option<BTreeSet<(usize, WorkerId)>> = None;
        for task in files {
            let from: Vec<WorkerId> = self.holders_alive(task).collect();
            let staying = from.iter().filter(|id| !self.members[**id].draining).count();
            let is_coming = |(id, copying): &(WorkerId, CopyState)| {
                matches!(copying, CopyState::Ordered(_)) && self.members[*id].is_willing(now)
            };
            let coming = self.files.copies_of(task).filter(is_coming).count();
            // If a worker cannot reach the holders, one more holder may be within its reach.
            let bridge = usize::from(self.files.is_relayed(task));
            let wanted = (self.rules.replicas + bridge).saturating_sub(staying + coming);
            if from.is_empty() || wanted == 0 {
                continue;
            }
            let targets = targets.get_or_insert_with(|| {
                let willing = self.members.iter().filter(|(_, worker)| worker.is_willing(now));
                willing.map(|(id, _)| (self.files.coming_to(id).len(), id)).collect()
            });
            let is_free = |(_, id): &&(usize, WorkerId)| match self.files.copy(task, *id) {
                Some(CopyState::Ordered(_)) => false,
                Some(CopyState::Failed(not_before)) => not_before <= now && self.reaches(*id, &from, now),
                None => !from.contains(id) && self.reaches(*id, &from, now),
            };
            let chosen: Vec<(usize, WorkerId)> =
                targets.iter().filter(is_free).take(wanted).copied().collect();
            if chosen.len() < wanted {
                self.files.note_under_replicated(task);
            }
            for (underway, id) in chosen {
                targets.remove(&(underway, id));
                targets.insert((underway + 1, id));
                self.files.set_copy(task, id, CopyState::Ordered(now));
                self.order(id, Command::Copy(self.stored(task), from.clone()));
                effects.push(note_of(NoteKind::CopyOrdered, Some(id), task, None));
            }
        }
    }

    /// Returns whether a worker can reach at least one of several holders.
    fn reaches(&self, id: WorkerId, holders: &[WorkerId], now: Millis) -> bool {
        holders.iter().any(|&holder| !self.members[id].cannot_reach(holder, now))
    }

    /// Lets drained workers leave: those that compute nothing, and whose files are held by enough of the
    /// workers that stay, or by all of them if there are fewer than enough.
    pub(super) fn release_drained(&mut self) {
        if !self.members.alive().any(|(_, worker)| worker.draining && worker.leaving.is_none()) {
            return;
        }
        let staying = self.members.alive().filter(|(_, worker)| worker.is_staying()).count();
        let enough = self.rules.replicas.min(staying).max(1);
        let is_safe = |task: &Task| {
            let holders = self.holders_alive(*task).filter(|id| self.members[*id].is_staying());
            holders.take(enough).count() == enough
        };
        let free: Vec<WorkerId> = self
            .members
            .alive()
            .filter(|(_, worker)| worker.draining && worker.leaving.is_none())
            .filter(|(id, _)| {
                self.tasks().running(*id).is_empty() && self.files.held_by(*id).iter().all(is_safe)
            })
            .filter(|(id, _)| self.audits.running_with(*id) == 0)
            .map(|(id, _)| id)
            .collect();
        for id in free {
            self.dirty += self.members.order_to_leave(id, LeaveReason::Drained);
        }
    }

    /// Tells all workers to leave when the run ends.
    fn order_to_leave(&mut self) {
        let Some(reason) = self.shutdown.leave_reason(self.rules.clean_stores) else {
            return;
        };
        let untold = |(_, worker): &(WorkerId, &Worker)| worker.leaving != Some(reason);
        for id in self.members.alive().filter(untold).map(|(id, _)| id).collect::<Vec<_>>() {
            self.dirty += self.members.order_to_leave(id, reason);
        }
    }

    /// Answers the waiting requests for commands of those workers that have commands.
    fn give_orders(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let awake = match self.dirty.take_awake() {
            Some(awake) => awake,
            None => self.members.iter().map(|(id, _)| id).collect(),
        };
        // If one worker finds nothing to take over, neither do the others.
        let mut may_take_over = true;
        // Workers do not wait for log writes.
        let mut notes = Vec::new();
        for id in awake {
            let Some((poll, mut commands)) = self.members.take_commands(id) else {
                continue;
            };
            if self.members[id].is_able(now)
                && self.ending().is_none()
                && poll.tasks > 0
                && !self.scheduler.is_behind()
            {
                commands.extend(self.give_audit(now, id, effects));
                for task in self.tasks_for(id, poll.tasks as usize, now, &mut may_take_over) {
                    let is_afresh = !self.may_use_own_file(id, task);
                    let number = self.scheduler.begin(task, id, is_afresh, now);
                    let attempt = Attempt { epoch: self.epoch, number };
                    self.note_reader(task, id);
                    commands.push(match is_afresh {
                        true => Command::Recompute(task, attempt),
                        false => Command::Compute(task, attempt),
                    });
                    notes.push(Effect::Note(Note {
                        kind: NoteKind::TaskGiven,
                        worker: Some(id),
                        task: Some(task),
                        attempt: Some(attempt),
                        detail: None,
                    }));
                }
            }
            if commands.is_empty() {
                continue;
            }
            // Workers without a task do not need the holder map.
            let reads = commands.iter().any(|order| {
                matches!(order, Command::Compute(..) | Command::Recompute(..) | Command::Audit(..))
            });
            let news = reads && poll.version != self.holder_map.version();
            let holders = news.then(|| self.holders());
            self.members.answered(id);
            effects.push(Effect::Reply(poll.request, Reply::Commands(commands, holders)));
        }
        effects.extend(notes);
    }

    /// Returns whether a worker that computes a shard may use an existing file of it. If the shard was
    /// reported before, only a holder has that very file; others may have a copy of an earlier one.
    fn may_use_own_file(&self, id: WorkerId, task: Task) -> bool {
        if self.audits.is_disowned(task) {
            return false;
        }
        self.files.get(task).is_none() || self.files.holders(task).any(|holder| holder == id)
    }

    /// Ends the run once all workers have left or had the time to. Workers known from an earlier epoch are
    /// waited for too: they may be about to register, and would otherwise keep trying until their patience
    /// ends.
    fn finish(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let is_to_be_told =
            |worker: &Worker| worker.is_alive() || worker.presence() == Presence::Reconnecting;
        let is_awaited = || self.members.iter().any(|(_, worker)| is_to_be_told(worker));
        let Some(ending) = self.shutdown.finish(now, is_awaited) else {
            return;
        };
        self.save(now, effects);
        if ending != Ending::Terminated {
            effects.push(Effect::NoteTold);
        }
        effects.push(Effect::End(ending));
    }
}
