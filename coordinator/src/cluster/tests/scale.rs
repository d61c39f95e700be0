//! Tests of the coordinator's cost in the largest runs: an event must not examine all shards.

use super::harness::{id, report};
use super::*;
use crate::cluster::event::{Command, Effect, Event, Millis, Progress, Registration, Reply, RequestId};
use crate::cluster::state::digest_of;
use crate::cluster::state::{Past, State};
use fathom_engine::run::Task;
use fathom_proto::WorkerId;
use fathom_proto::{Attempt, Copied, Done, Outcome, Session};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

struct Large {
    state: State,
    now: u64,
    asked: u64,
    events: u64,
    waits: BTreeMap<RequestId, usize>,
    sessions: Vec<(Session, u64)>,
    commands: Vec<(usize, Command)>,
}

fn worker(number: usize) -> WorkerId {
    let mut bytes = id("w").0;
    bytes[..4].copy_from_slice(&(number as u32).to_be_bytes());
    WorkerId(bytes)
}

impl Large {
    fn apply(&mut self, from: usize, event: impl FnOnce(RequestId, Session, u64) -> Event) {
        (self.asked, self.events) = (self.asked + 1, self.events + 1);
        let (session, version) = self.sessions[from];
        let request = RequestId(self.asked);
        self.waits.insert(request, from);
        for effect in self.state.apply(Millis(self.now), event(request, session, version)) {
            let Effect::Reply(request, reply) = effect else {
                continue;
            };
            let Some(at) = self.waits.remove(&request) else {
                continue;
            };
            match reply {
                Reply::Registered { session, .. } => self.sessions[at].0 = session,
                Reply::Commands(commands, holders) => {
                    self.sessions[at].1 = holders.map_or(self.sessions[at].1, |holders| holders.version);
                    self.commands.extend(commands.into_iter().map(|order| (at, order)));
                }
                _ => {}
            }
        }
    }

    fn join(&mut self, at: usize) {
        let registration = Registration {
            worker: worker(at),
            name: format!("host-{at}"),
            address: format!("host-{at}:1"),
            threads: 8,
            memory_bytes: 0,
            kernel: String::new(),
            version: String::new(),
            inventory: Vec::new(),
            number: None,
        };
        self.apply(at, |request, _, _| Event::Register(request, registration));
    }

    fn report(&mut self, at: usize, task: Task, attempt: Option<Attempt>) {
        let result = match attempt {
            Some(_) => Ok(Done::Made(report(task.depth.0, task.shard.0))),
            None => {
                let digest = digest_of(&report(task.depth.0, task.shard.0));
                Ok(Done::Copied(Copied { bytes: 1000, digest }))
            }
        };
        let outcome = Outcome { task, attempt, result };
        self.apply(at, |request, session, _| Event::Report {
            request,
            session,
            number: 0,
            outcomes: vec![outcome],
        });
        self.apply(at, |request, session, version| Event::TakeCommands {
            request,
            session,
            tasks: 16,
            version,
        });
    }
}

/// Layers of 16,384 shards with 1,024 workers: an event takes about 6 us, or 12 us with two replicas. Without
/// `FATHOM_TEST_SLOW` an eighth of both takes part in two layers.
#[test]
fn event_cost_is_small_in_a_large_run() {
    let workers = fathom_slow::choose(128, 1024);
    let shards = fathom_slow::choose(2048, 16_384);
    for replicas in fathom_slow::choose(2, 1)..=2 {
        let state = State::new(Rules { replicas, ..rules(shards) }, 1, Past::default());
        let sessions = vec![(Session(0), 0); workers];
        let mut large = Large {
            state,
            now: 0,
            asked: 0,
            events: 0,
            waits: BTreeMap::new(),
            sessions,
            commands: Vec::new(),
        };
        let begun = Instant::now();
        for at in 0..workers {
            large.join(at);
            large.apply(at, |request, session, version| Event::TakeCommands {
                request,
                session,
                tasks: 16,
                version,
            });
        }
        let joined = begun.elapsed();
        let (begun, events) = (Instant::now(), large.events);
        let mut worst = Duration::ZERO;
        while large.state.depth().0 < fathom_slow::choose(2, 4) {
            let commands = std::mem::take(&mut large.commands);
            assert!(!commands.is_empty(), "it is_stuck at depth {}", large.state.depth());
            for (at, order) in commands {
                let one = Instant::now();
                match order {
                    Command::Compute(task, attempt) => large.report(at, task, Some(attempt)),
                    Command::Copy(file, _) => large.report(at, file.task, None),
                    _ => {}
                }
                worst = worst.max(one.elapsed());
            }
            // Two seconds: all workers send heartbeats, and time passes.
            for tick in 0..20 {
                large.now += 100;
                large.apply(0, |_, _, _| Event::Tick);
                for at in (0..workers).filter(|at| at % 20 == tick) {
                    let underway = large.state.tasks().running(worker(at)).iter().copied().collect();
                    let progress = Progress { underway, ..Progress::default() };
                    large.apply(at, |request, session, _| Event::Heartbeat(request, session, progress));
                }
            }
        }
        let (took, events) = (begun.elapsed(), large.events - events);
        let each = took / events as u32;
        eprintln!(
            "{replicas} replicas: {workers} joined in {joined:?}; {events} events in {took:?}: {each:?} each, {worst:?} at worst"
        );
        let begun = Instant::now();
        for _ in 0..3 {
            large.now += 5_000;
            large.apply(0, |_, _, _| Event::Tick);
        }
        eprintln!("all lost at once: {:?}", begun.elapsed());
        assert_eq!(large.state.members().alive().count(), 0);
    }
}
