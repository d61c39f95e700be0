//! What an event changes.
//!
//! [`State::apply`] is pure: the time is an argument, and the call only changes the state and returns the
//! effects to carry out, in order. First the event changes the state. Then [`State::reconcile`] commits the
//! layer, commands copies, schedules lost files to be recomputed, and gives waiting workers their commands.

use crate::cluster::event::{Effect, Ending, Event, MadeShard, Millis, NoteKind, Reply, note};
use crate::cluster::parts::{Dirty, PendingPoll, Presence};
use crate::cluster::state::State;
use fathom_engine::run::Task;
use fathom_proto::Session;
use std::sync::Arc;
use std::time::Duration;

/// A request for commands is answered after this time, even if there are none.
const MAX_WAIT: Duration = Duration::from_secs(20);
/// Reports are made durable after this time. Until then the files in the stores preserve them.
const SAVE_EVERY: Duration = Duration::from_millis(500);

impl State {
    /// Handles an event. Returns the effects to carry out, in order.
    pub fn apply(&mut self, now: Millis, event: Event) -> Vec<Effect> {
        let mut effects = Vec::new();
        match event {
            Event::Register(request, registration) => self.register(now, request, registration, &mut effects),
            Event::Heartbeat(request, session, progress) => {
                let reply = self.heartbeat(now, session, progress, &mut effects);
                effects.push(Effect::Reply(request, reply));
            }
            Event::TakeCommands { request, session, tasks, version } => {
                let poll = PendingPoll { request, tasks, version, since: now };
                self.take_commands(now, session, poll, &mut effects);
            }
            Event::Report { request, session, number, outcomes } => {
                let reply = match self.members.touch(now, session) {
                    None => {
                        for outcome in &outcomes {
                            effects.push(note(NoteKind::LateReport, None, outcome, None));
                        }
                        Reply::Unknown
                    }
                    Some(worker) if !self.members.takes_report(worker, number) => Reply::Known,
                    Some(worker) => {
                        for outcome in outcomes {
                            self.report(now, worker, outcome, &mut effects);
                        }
                        Reply::Known
                    }
                };
                effects.push(Effect::Reply(request, reply));
            }
            Event::Leave(request, session) => {
                if let Some(worker) = self.members.touch(now, session) {
                    self.remove_worker(now, worker, Presence::Left, NoteKind::Left, &mut effects);
                }
                effects.push(Effect::Reply(request, Reply::Known));
            }
            Event::Drain(request, name) => {
                let reply = match self.drain(&name, &mut effects) {
                    Ok(said) => Reply::Said(said),
                    Err(refused) => Reply::Refused(refused),
                };
                effects.push(Effect::Reply(request, reply));
            }
            Event::Stop(request) => {
                let said = match self.members.alive().count() {
                    0 => "stopping: no worker is connected".into(),
                    1 => "stopping: 1 worker will stop at the next coset".into(),
                    workers => format!("stopping: {workers} workers will stop at the next coset"),
                };
                effects.push(Effect::Reply(request, Reply::Said(said)));
                self.end(now, Ending::Stopped, &mut effects);
            }
            Event::Terminate => self.end(now, Ending::Terminated, &mut effects),
            Event::Tick => {
                self.tick(now, &mut effects);
                self.release_drained();
            }
        }
        self.reconcile(now, &mut effects);
        effects
    }

    /// Keeps a worker's request for commands until there are some.
    fn take_commands(&mut self, now: Millis, session: Session, poll: PendingPoll, effects: &mut Vec<Effect>) {
        let Some(id) = self.members.touch(now, session) else {
            effects.push(Effect::Reply(poll.request, Reply::Unknown));
            return;
        };
        let (older, dirty) = self.members.ask(id, poll);
        self.dirty += dirty;
        effects.extend(older.map(|poll| Effect::Reply(poll.request, Reply::Commands(Vec::new(), None))));
    }

    /// Starts to end the run: see [`Shutdown::begin`](crate::cluster::parts::Shutdown::begin).
    pub(super) fn end(&mut self, now: Millis, ending: Ending, effects: &mut Vec<Effect>) {
        self.audits.clear();
        if self.shutdown.begin(now, ending) {
            self.save(now, effects);
        }
    }

    /// Does what follows only from the time: silent workers are lost, requests for commands are answered,
    /// reports are made durable, and workers and peers whose backoff is over are tried again.
    fn tick(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        for id in self.members.silent(now, self.rules.lease) {
            self.remove_worker(now, id, Presence::Lost, NoteKind::Lost, effects);
        }
        self.lose_stalled(now, effects);
        for poll in self.members.take_expired(now, MAX_WAIT) {
            effects.push(Effect::Reply(poll.request, Reply::Commands(Vec::new(), None)));
        }
        if now.since(self.commit.saved()) > SAVE_EVERY {
            self.save(now, effects);
        }
        self.give_back(effects);
        self.dirty += self.members.retry_peers(now).and(self.members.end_rests(now));
        self.dirty += self.files.retry(now);
        // Tasks and audits that had to wait may be assigned now.
        self.dirty += Dirty::all_workers();
    }

    /// Makes the reports durable that are not durable yet.
    pub(super) fn save(&mut self, now: Millis, effects: &mut Vec<Effect>) {
        let shards = self.commit.take_unsaved(now);
        let depth = self.depth();
        let made: Vec<MadeShard> = shards
            .into_iter()
            .filter_map(|shard| {
                let state = self.tasks().get(Task { depth, shard })?;
                Some((Arc::clone(state.report()?), state.producer))
            })
            .collect();
        if !made.is_empty() {
            let holders = made.iter().flat_map(|(report, _)| self.held_by(report.task)).collect();
            effects.push(Effect::SaveReports(made, holders));
        }
    }
}
