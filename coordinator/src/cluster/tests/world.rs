//! A world of a few workers to which anything happens: they die and come back, messages are lost, come late or twice, the
//! coordinator is killed and comes back with what was durable. What must be true of every run is true of it: each layer is
//! committed once, with the right reports, when enough workers have its files; and when nothing more happens, it ends.

use super::table::{id, report, task};
use super::*;
use crate::cluster::event::{
    Effect, Ending, Event, Held, Millis, Order, Progress, Registration, Reply, RequestId,
};
use crate::cluster::state::{HeldFile, Past, State, digest_of};
use fathom_proto::{Attempt, Done, Failure, Outcome, Session};
use fathom_run::WorkerId;
use fathom_run::{Keep, Lookback, ShardId, ShardReport, Task};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[derive(Clone, Debug, Default)]
struct Worker {
    /// On its disk.
    store: BTreeSet<Task>,
    session: Option<Session>,
    version: u64,
    tasks: BTreeMap<Task, Attempt>,
    copies: BTreeMap<Task, Vec<WorkerId>>,
    waits: Option<RequestId>,
    /// Reports that did not go out yet.
    outbox: Vec<Outcome>,
    /// The next reply does not arrive.
    deaf: bool,
    /// It was told to leave.
    left: bool,
}

/// What the journal has.
#[derive(Clone, Debug, Default)]
struct Journal {
    counts: Vec<u64>,
    workers: BTreeMap<WorkerId, (String, String)>,
    holders: BTreeMap<Task, BTreeSet<WorkerId>>,
    reports: BTreeMap<Task, ShardReport>,
}

impl Journal {
    fn hold(&mut self, held: Held) {
        for (task, _) in &held {
            self.holders.remove(task);
        }
        for (task, id) in held {
            self.holders.entry(task).or_default().insert(id);
        }
    }
}

struct World {
    rules: Rules,
    state: State,
    epoch: u64,
    now: u64,
    asked: u64,
    workers: Vec<Worker>,
    journal: Journal,
    ended: Option<Ending>,
}

impl World {
    fn new(rules: Rules, workers: usize) -> Self {
        let state = State::new(rules, 1, Past::default());
        let workers = vec![Worker::default(); workers];
        let journal = Journal::default();
        Self { rules, state, epoch: 1, now: 0, asked: 0, workers, journal, ended: None }
    }

    /// The coordinator dies, or has ended, and begins again.
    fn restart(&mut self) {
        self.epoch += 1;
        self.now = 0;
        self.ended = None;
        let Journal { counts, workers, holders, reports } = self.journal.clone();
        let file = |task: Task| {
            let holders = holders.get(&task).cloned().unwrap_or_default();
            let digest = digest_of(&report(task.depth.0, task.shard.0));
            (task, HeldFile { holders, bytes: 0, digest })
        };
        let depth = counts.len() as u32;
        let first = if self.rules.keep == Keep::All { 0 } else { depth.saturating_sub(2) };
        let shards = self.rules.shards;
        let committed = (first..depth).flat_map(|depth| (0..shards).map(move |shard| task(depth, shard)));
        let files = committed.chain(reports.keys().copied()).map(file).collect();
        let workers = workers.into_iter().map(|(id, (name, address))| (id, name, address)).collect();
        let past = Past { counts, workers, files, reports: reports.into_values().collect() };
        self.state = State::new(self.rules, self.epoch, past);
        self.workers.iter_mut().for_each(|worker| worker.waits = None);
    }

    fn apply(&mut self, from: Option<usize>, event: impl FnOnce(RequestId) -> Event) -> Option<Reply> {
        self.asked += 1;
        let request = RequestId(self.asked);
        let mut answer = None;
        for effect in self.state.apply(Millis(self.now), event(request)) {
            match effect {
                Effect::Reply(to, reply) if to == request && from.is_some() => answer = Some(reply),
                Effect::Reply(to, reply) => {
                    if let Some(at) = self.workers.iter().position(|worker| worker.waits == Some(to)) {
                        self.workers[at].waits = None;
                        self.hear(at, reply);
                    }
                }
                Effect::SaveReports(reports, held) => {
                    self.journal.hold(held);
                    let reports = reports.iter().map(|report| (report.task, (**report).clone()));
                    self.journal.reports.extend(reports);
                }
                Effect::SaveWorker(id, name, address) => {
                    drop(self.journal.workers.insert(id, (name, address)))
                }
                Effect::Commit(reports, _, held) => {
                    self.journal.hold(held);
                    self.commit(&reports);
                }
                Effect::End(ending) => {
                    assert_eq!(self.ended.replace(ending), None, "a run ends once");
                }
                Effect::RetireShared(_) | Effect::DiscardShared(_) => panic!("nothing is shared"),
                Effect::Note(_) => {}
            }
        }
        answer
    }

    fn commit(&mut self, reports: &[Arc<ShardReport>]) {
        let depth = self.journal.counts.len() as u32;
        let right = (0..self.rules.shards).map(|shard| Arc::new(report(depth, shard)));
        assert_eq!(reports, right.collect::<Vec<_>>());
        for report in reports {
            let holders = self.state.holders_alive(report.task).count();
            // A worker that died a moment ago still has its disk.
            let stores = self.workers.iter().filter(|worker| worker.store.contains(&report.task)).count();
            assert!(holders >= self.rules.replicas && stores >= self.rules.replicas, "{:?}", report.task);
        }
        self.journal.counts.push(reports.iter().map(|report| report.totals.states).sum());
        self.journal.reports.clear();
    }

    /// A worker gets a reply, unless it is lost.
    fn hear(&mut self, at: usize, reply: Reply) {
        let worker = &mut self.workers[at];
        if std::mem::take(&mut worker.deaf) {
            return;
        }
        match reply {
            Reply::Unknown => self.join(at),
            Reply::Orders(orders, holders) => {
                if let Some(holders) = holders {
                    worker.version = holders.version;
                }
                for order in orders {
                    match order {
                        Order::Make(task, attempt) => drop(worker.tasks.insert(task, attempt)),
                        Order::Copy(task, from) => drop(worker.copies.insert(task, from)),
                        Order::Discard(_) => panic!("nothing is damaged"),
                        Order::Retire(depth) if self.rules.keep == Keep::Last => {
                            assert!(depth.0 + 3 <= self.journal.counts.len() as u32, "{depth} is still read");
                            worker.store.retain(|task| task.depth != depth);
                        }
                        Order::Retire(_) => {}
                        Order::Leave(_) => worker.left = true,
                    }
                }
            }
            _ => {}
        }
    }

    fn join(&mut self, at: usize) {
        let worker = &mut self.workers[at];
        (worker.version, worker.waits) = (0, None);
        let registration = Registration {
            worker: id(NAMES[at]),
            name: NAMES[at].into(),
            address: format!("{}:1", NAMES[at]),
            threads: 1,
            memory_bytes: 0,
            kernel: String::new(),
            version: String::new(),
            inventory: worker.store.iter().copied().collect(),
        };
        if let Some(Reply::Registered { session, needed }) =
            self.apply(Some(at), |request| Event::Register(request, registration))
        {
            let worker = &mut self.workers[at];
            worker.session = Some(session);
            let keep = self.rules.keep;
            worker.store.retain(|task| keep == Keep::All || needed.contains(&task.depth));
        }
    }

    fn take(&mut self, at: usize) {
        let Some(session) = self.workers[at].session.filter(|_| !self.workers[at].left) else {
            return;
        };
        let (free, version) =
            (2_u32.saturating_sub(self.workers[at].tasks.len() as u32), self.workers[at].version);
        let next = RequestId(self.asked + 1);
        match self.apply(Some(at), |request| Event::TakeOrders(request, session, free, version)) {
            Some(reply) => self.hear(at, reply),
            None => self.workers[at].waits = Some(next),
        }
    }

    fn beat(&mut self, at: usize) {
        let Some(session) = self.workers[at].session else {
            return;
        };
        let worker = &self.workers[at];
        let underway = worker.tasks.keys().chain(worker.copies.keys()).copied().collect();
        let progress = Progress { underway, ..Progress::default() };
        if let Some(reply) = self.apply(Some(at), |request| Event::Heartbeat(request, session, progress)) {
            self.hear(at, reply);
        }
    }

    fn is_there(&self, task: Task) -> bool {
        self.workers.iter().any(|worker| worker.session.is_some() && worker.store.contains(&task))
    }

    /// Ends a task or a copy, as well as that can be.
    fn finish(&mut self, at: usize) {
        let unreachable = |file| Failure::Unreachable { file, message: String::new() };
        if let Some((task, attempt)) = self.workers[at].tasks.pop_first() {
            let newest = task.depth.previous();
            let sources = newest
                .into_iter()
                .flat_map(|depth| self.state.shards().map(move |shard| Task { depth, shard }));
            let older = self.rules.lookback.below(task.depth).skip(1);
            let own = older.map(|depth| Task { depth, shard: task.shard });
            let result = match sources.chain(own).find(|&file| !self.is_there(file)) {
                Some(file) if !self.workers[at].store.contains(&task) => Err(unreachable(file)),
                _ => {
                    self.workers[at].store.insert(task);
                    Ok(Done::Made(report(task.depth.0, task.shard.0)))
                }
            };
            self.workers[at].outbox.push(Outcome { task, attempt: Some(attempt), result });
        } else if let Some((task, from)) = self.workers[at].copies.pop_first() {
            let has = |worker: &Worker| worker.session.is_some() && worker.store.contains(&task);
            let result = match (0..self.workers.len())
                .any(|peer| from.contains(&id(NAMES[peer])) && has(&self.workers[peer]))
            {
                true => {
                    self.workers[at].store.insert(task);
                    Ok(Done::Copied(1000))
                }
                false => Err(unreachable(task)),
            };
            self.workers[at].outbox.push(Outcome { task, attempt: None, result });
        }
    }

    /// Reports what has ended; `twice` if the reply to the first time is lost.
    fn send(&mut self, at: usize, twice: bool) {
        let Some(session) = self.workers[at].session else {
            return;
        };
        let outcomes = std::mem::take(&mut self.workers[at].outbox);
        if outcomes.is_empty() {
            return;
        }
        if twice {
            self.apply(Some(at), |request| Event::Report(request, session, outcomes.clone()));
        }
        if let Some(reply) = self.apply(Some(at), |request| Event::Report(request, session, outcomes)) {
            self.hear(at, reply);
        }
    }

    fn die(&mut self, at: usize) {
        self.workers[at] = Worker { store: std::mem::take(&mut self.workers[at].store), ..Worker::default() };
    }

    fn tick(&mut self, millis: u64) {
        self.now += millis;
        self.apply(None, |_| Event::Tick);
    }

    /// What a worker believed to hold a file must have.
    fn check(&self) {
        for (task, file) in &self.state.files {
            for holder in &file.holders {
                let at = NAMES.iter().position(|name| id(name) == *holder).expect("a worker");
                let is_retired = self.rules.keep == Keep::Last && task.depth.0 + 2 < self.state.depth.0;
                assert!(
                    is_retired || self.workers[at].store.contains(task),
                    "{holder} does not have {task:?}"
                );
            }
        }
    }

    /// One thing happens.
    fn happen(&mut self, what: u8, at: usize) {
        let at = at % self.workers.len();
        match what {
            0..=19 => self.take(at),
            20..=44 => self.finish(at),
            45..=64 => self.send(at, false),
            65..=67 => self.send(at, true),
            68..=77 => self.beat(at),
            78..=81 => self.tick(100),
            82 => self.tick(1500),
            83 => self.tick(6000),
            84 => self.tick(10_001),
            85..=86 => self.die(at),
            87..=93 if self.workers[at].session.is_none() => self.join(at),
            87..=93 => self.take(at),
            94..=95 => self.workers[at].deaf = true,
            96 => self.restart(),
            97 => drop(self.apply(None, |_| Event::Terminate)),
            98 => drop(self.apply(None, Event::Stop)),
            _ => drop(self.apply(None, |request| Event::Drain(request, NAMES[at].into()))),
        }
        if !matches!(self.ended, None | Some(Ending::MaxDepth)) {
            self.restart();
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn every_run_ends_and_is_right(
        shards in 1..7_u32,
        workers in 1..5_usize,
        twice in any::<bool>(),
        keep in prop::sample::select(vec![Keep::Last, Keep::All]),
        far in any::<bool>(),
        happenings in prop::collection::vec((0..100_u8, 0..4_usize), 0..400),
    ) {
        let replicas = if twice && workers > 1 { 2 } else { 1 };
        let (keep, lookback) = if far { (Keep::All, Lookback::All) } else { (keep, Lookback::Two) };
        let rules = Rules { replicas, keep, lookback, max_depth: Some(6), ..rules(shards) };
        let mut world = World::new(rules, workers);
        for (what, at) in happenings {
            world.happen(what, at);
            world.check();
        }
        // Nothing more happens but work; who has left is started again, until the run is through.
        for _ in 0..400 {
            if world.ended == Some(Ending::MaxDepth) {
                break;
            }
            if world.ended.is_some() {
                world.restart();
            }
            for at in 0..workers {
                let worker = &mut world.workers[at];
                worker.deaf = false;
                if worker.left && worker.tasks.is_empty() {
                    if let Some(session) = worker.session.take() {
                        world.apply(None, |request| Event::Leave(request, session));
                    }
                    world.die(at);
                    if world.state.ending.is_some() {
                        continue;
                    }
                }
                if world.workers[at].session.is_none() && world.state.ending.is_none() {
                    world.join(at);
                }
                world.beat(at);
                (0..4).for_each(|_| world.finish(at));
                world.send(at, false);
                world.take(at);
            }
            world.tick(500);
            world.check();
        }
        prop_assert_eq!(&world.ended, &Some(Ending::MaxDepth), "{:#?}", world.state.tasks);
        prop_assert_eq!(world.journal.counts, vec![u64::from(shards) * 10; 7]);
        prop_assert!(world.state.files.keys().all(|task| task.shard < ShardId(shards)));
    }
}
