//! The scheduler: one thing happens after another, and what must always hold is checked after each.

use super::Planted;
use super::network::{Answer, Call, Cuts, Happening, Host, Inside, Request, Sender};
use super::process::{Coordinator, Process, StoredFile, Worker};
use crate::cluster::event::{
    Effect, Ending, Event, LeaveReason, Order, Progress, Registration, Reply, RequestId,
};
use crate::cluster::service::message_of_holders;
use crate::cluster::state::{Presence, Rules};
use crate::cluster::tests::table::{report, rules};
use fathom_proto::{Done, Failure, Session as SessionNumber, v1};
use fathom_run::{Keep, Lookback, ShardId, Task, WorkerId};
use fathom_worker::cluster::holders::Holders;
use fathom_worker::cluster::session::{Action, Input, Order as WorkerOrder, Session};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// The last depth of every simulated run.
const LAST_DEPTH: u32 = 5;
/// Faults happen for so long at most, in simulated milliseconds.
const FAULTS_END: u64 = 40_000;
/// Kinds of faults.
const KINDS: u8 = 11;
/// A run ends at most so long after its last fault. The longest rest of a worker takes 8 minutes of it.
const BOUND: u64 = 1_800_000;
/// A worker gives up when the coordinator was silent for so long.
const PATIENCE: u64 = 300_000;

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// It is complete, with the right counts.
    Right,
    /// What went wrong.
    Wrong(String),
}

pub(super) struct Simulation {
    rng: fastrand::Rng,
    /// Simulated milliseconds.
    pub(super) now: u64,
    sequence: u64,
    queue: BTreeMap<(u64, u64), Happening>,
    pub(super) coordinator: Coordinator,
    pub(super) workers: Vec<Worker>,
    cuts: Cuts,
    requests: u64,
    /// Whom the coordinator has to answer.
    waiting: BTreeMap<RequestId, Sender>,
    /// Of 256 messages so many are lost.
    lossy: u8,
    /// Of 256 requests so many arrive twice.
    doubling: u8,
    /// The kinds of faults that happen.
    kinds: Vec<u8>,
    heals_at: u64,
    /// Files that a disk has lost, and that may still be believed to be there.
    lost: BTreeSet<(usize, Task)>,
    ended: Option<Ending>,
    is_told: bool,
    planted: Option<Planted>,
}

pub(super) fn id(worker: usize) -> WorkerId {
    WorkerId([worker as u8 + 1; 16])
}

fn address(worker: usize) -> String {
    format!("w{worker}:1")
}

impl Simulation {
    pub(super) fn new(seed: u64, planted: Option<Planted>) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let workers = rng.usize(1..5);
        let (keep, lookback) = match rng.u8(0..4) {
            0 => (Keep::All, Lookback::All),
            1 => (Keep::All, Lookback::Two),
            _ => (Keep::Last, Lookback::Two),
        };
        let rules = Rules {
            keep,
            lookback,
            replicas: if workers > 1 { rng.usize(1..3) } else { 1 },
            max_depth: Some(LAST_DEPTH),
            ..rules(rng.u32(1..7))
        };
        let mut simulation = Self {
            coordinator: Coordinator::new(rules),
            workers: (0..workers).map(|_| Worker { threads: rng.usize(1..3), ..Worker::default() }).collect(),
            now: 0,
            sequence: 0,
            queue: BTreeMap::new(),
            cuts: Cuts::default(),
            requests: 0,
            waiting: BTreeMap::new(),
            lossy: if rng.bool() { rng.u8(0..40) } else { 0 },
            doubling: if rng.bool() { rng.u8(0..40) } else { 0 },
            kinds: Vec::new(),
            heals_at: rng.u64(1000..FAULTS_END),
            lost: BTreeSet::new(),
            ended: None,
            is_told: false,
            planted,
            rng,
        };
        simulation.later(0, 10, Happening::StartCoordinator);
        for worker in 0..workers {
            simulation.later(0, 5000, Happening::StartWorker(worker));
        }
        let kinds = simulation.rng.usize(1..5);
        simulation.kinds = simulation.rng.choose_multiple(0..KINDS, kinds);
        for _ in 0..simulation.rng.u32(0..25) {
            let at = simulation.rng.u64(0..simulation.heals_at);
            simulation.at(at, Happening::Fault);
        }
        simulation.at(simulation.heals_at, Happening::Heal);
        simulation
    }

    /// Prints each event.
    pub(super) fn told(mut self) -> Self {
        self.is_told = true;
        self
    }

    pub(super) fn run(mut self) -> Outcome {
        while let Some(((at, _), happening)) = self.queue.pop_first() {
            self.now = at;
            if at > self.heals_at + BOUND {
                break;
            }
            self.tell(&happening);
            self.happen(happening);
            self.check();
            match &self.ended {
                Some(Ending::MaxDepth) => return self.verdict(),
                Some(Ending::Failed(message)) => return Outcome::Wrong(message.clone()),
                _ => {}
            }
        }
        let counts = &self.coordinator.journal.counts;
        Outcome::Wrong(format!(
            "{} of {} depths are done {} s after the last fault",
            counts.len(),
            LAST_DEPTH + 1,
            BOUND / 1000
        ))
    }

    fn verdict(&self) -> Outcome {
        let right = vec![u64::from(self.coordinator.rules.shards) * 10; LAST_DEPTH as usize + 1];
        let counts = &self.coordinator.journal.counts;
        if *counts == right { Outcome::Right } else { Outcome::Wrong(format!("counts {counts:?}")) }
    }

    fn tell(&self, happening: &Happening) {
        if self.is_told && !matches!(happening, Happening::Tick(_) | Happening::Inside(_, _, Inside::Wake)) {
            let text = format!("{happening:?}");
            eprintln!("{:>8} {}", self.now, text.chars().take(200).collect::<String>());
        }
    }

    fn at(&mut self, at: u64, happening: Happening) {
        self.sequence += 1;
        self.queue.insert((at, self.sequence), happening);
    }

    /// Something happens between so many and so many milliseconds from now.
    pub(super) fn later(&mut self, least: u64, most: u64, happening: Happening) {
        let at = self.now + self.rng.u64(least..=most);
        self.at(at, happening);
    }

    /// How long a message or a small piece of work takes: mostly little, now and then much.
    fn soon(&mut self, happening: Happening) {
        let most = if self.rng.u8(..) < 8 { 4000 } else { 30 };
        self.later(1, most, happening);
    }

    fn is_lost(&mut self) -> bool {
        self.rng.u8(..) < self.lossy
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Arrives(sender, epoch, request) => self.arrives(sender, epoch, request),
            Happening::Answered(sender, answer) => self.answered(sender, answer),
            Happening::Retry(sender) => self.retry(sender),
            Happening::Inside(worker, life, inside) => self.inside(worker, life, inside),
            Happening::Tick(epoch) => self.tick(epoch),
            Happening::StartCoordinator => {
                if self.coordinator.state.is_none() {
                    self.coordinator.start(self.now);
                    self.later(10, 1000, Happening::Tick(self.coordinator.epoch));
                }
            }
            Happening::StartWorker(worker) => self.start_worker(worker),
            Happening::Fault => self.fault(),
            Happening::Heal => self.heal(),
        }
    }

    // The coordinator.

    fn tick(&mut self, epoch: u64) {
        if self.coordinator.state.is_none() || epoch != self.coordinator.epoch {
            return;
        }
        if self.coordinator.asleep_until > self.now {
            return self.at(self.coordinator.asleep_until, Happening::Tick(epoch));
        }
        self.apply(Event::Tick);
        self.later(100, 1000, Happening::Tick(epoch));
    }

    fn arrives(&mut self, sender: Sender, epoch: u64, request: Request) {
        // A connection ends with either process.
        if self.coordinator.state.is_none() || epoch != self.coordinator.epoch {
            return self.later(50, 2000, Happening::Retry(sender));
        }
        if self.coordinator.asleep_until > self.now {
            return self.at(self.coordinator.asleep_until, Happening::Arrives(sender, epoch, request));
        }
        let number = self.request();
        self.waiting.insert(number, sender);
        let event = match request {
            Request::Register(inventory) => {
                let registration = Registration {
                    worker: id(sender.worker),
                    name: format!("w{}", sender.worker),
                    address: address(sender.worker),
                    threads: self.workers[sender.worker].threads as u32,
                    memory_bytes: 0,
                    kernel: String::new(),
                    version: String::new(),
                    inventory,
                };
                Event::Register(number, registration)
            }
            Request::Beat(session, underway) => {
                Event::Heartbeat(number, SessionNumber(session), Progress { underway, ..Progress::default() })
            }
            Request::Ask(_, session, tasks, version) => {
                let version = match self.planted {
                    Some(Planted::StaleHolders) if version != 0 => self.coordinator.epoch << 32 | version,
                    _ => version,
                };
                self.check_map(sender, version);
                Event::TakeOrders { request: number, session: SessionNumber(session), tasks, version }
            }
            Request::Report(session, count, outcomes) => {
                Event::Report { request: number, session: SessionNumber(session), number: count, outcomes }
            }
            Request::Leave(session) => Event::Leave(number, SessionNumber(session)),
        };
        self.apply(event);
    }

    /// A worker that names the number of the newest map, and so is told none, has that map.
    fn check_map(&self, sender: Sender, version: u64) {
        let worker = &self.workers[sender.worker];
        let (Some(state), Some(process)) = (&self.coordinator.state, &worker.process) else { return };
        if worker.life != sender.life || version != state.version {
            return;
        }
        let told = state.told.as_ref().filter(|told| told.version == version);
        let told =
            told.unwrap_or_else(|| panic!("worker {} knows a map that nobody was told", sender.worker));
        let map = self.message(told);
        for &(depth, ref shards) in &told.layers {
            for file in (0..shards.len() as u32).map(|shard| Task { depth, shard: ShardId(shard) }) {
                assert_eq!(process.holders.of(file), map.of(file), "worker {} on {file:?}", sender.worker);
            }
        }
    }

    fn request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    fn apply(&mut self, event: Event) {
        let clock = self.coordinator.clock(self.now);
        let Some(state) = &mut self.coordinator.state else { return };
        for effect in state.apply(clock, event) {
            match effect {
                Effect::Reply(request, reply) => self.reply(request, reply),
                Effect::SaveReports(reports, held) => self.coordinator.journal.save(&reports, held),
                Effect::SaveWorker(id, name, address) => {
                    self.coordinator.journal.workers.insert(id, (name, address));
                }
                Effect::Commit(reports, _, held) => {
                    let depth = self.coordinator.journal.counts.len() as u32;
                    let right = (0..self.coordinator.rules.shards).map(|shard| report(depth, shard));
                    assert!(
                        reports.iter().map(|report| (**report).clone()).eq(right),
                        "depth {depth} is wrong"
                    );
                    for report in &reports {
                        let has = |worker: &&Worker| worker.store.contains_key(&report.task);
                        let lost = self.lost.iter().filter(|(_, task)| *task == report.task).count();
                        let there = self.workers.iter().filter(has).count() + lost;
                        assert!(there >= self.coordinator.rules.replicas, "{:?} is committed", report.task);
                    }
                    self.coordinator.journal.commit(&reports, held);
                }
                Effect::End(ending) => {
                    assert_eq!(self.ended.replace(ending), None, "a run ends once");
                }
                Effect::RetireShared(_) | Effect::DiscardShared(_) => panic!("nothing is shared"),
                Effect::Note(note) => {
                    if self.is_told {
                        eprintln!(
                            "{:>8}   {} {:?} {:?} {:?}",
                            self.now, note.what, note.worker, note.task, note.detail
                        );
                    }
                }
            }
        }
        if matches!(self.ended, Some(Ending::Stopped | Ending::Terminated)) {
            self.ended = None;
            self.kill_coordinator(3000);
        }
    }

    fn reply(&mut self, request: RequestId, reply: Reply) {
        let Some(sender) = self.waiting.remove(&request) else { panic!("{request:?} is answered twice") };
        if sender.worker == usize::MAX {
            return;
        }
        let passes = self.cuts.passes(Host::Coordinator, Host::Worker(sender.worker), self.now);
        if !passes || self.is_lost() {
            return self.later(500, 5000, Happening::Retry(sender));
        }
        let answer = self.answer(sender, reply);
        self.soon(Happening::Answered(sender, answer));
    }

    fn answer(&self, sender: Sender, reply: Reply) -> Answer {
        let call =
            self.workers[sender.worker].process.as_ref().and_then(|process| process.calls.get(&sender.call));
        let (number, session, is_leaving) = match call.map(|call| &call.request) {
            Some(Request::Ask(number, session, ..)) => (*number, *session, false),
            Some(Request::Beat(session, _) | Request::Report(session, ..)) => (0, *session, false),
            Some(Request::Leave(_)) => (0, 0, true),
            _ => (0, 0, false),
        };
        let is_report = matches!(call.map(|call| &call.request), Some(Request::Report(..)));
        let known = !matches!(reply, Reply::Unknown);
        Answer::Input(match reply {
            Reply::Registered { session, needed } => {
                Input::Registered { session: session.0, heartbeat: self.coordinator.rules.heartbeat, needed }
            }
            Reply::Orders(orders, holders) => Input::OrdersAnswered {
                number,
                session,
                known,
                orders: orders.into_iter().map(order).collect(),
                holders: holders.map(|holders| self.message(&holders)),
            },
            _ if is_leaving => return Answer::Left,
            _ if number != 0 => {
                Input::OrdersAnswered { number, session, known, orders: Vec::new(), holders: None }
            }
            _ if is_report => Input::ReportAnswered { session, known },
            _ => Input::HeartbeatAnswered { session, known },
        })
    }

    /// A holder map as it goes over the wire.
    fn message(&self, holders: &crate::cluster::event::Holders) -> Holders {
        let addresses = self.coordinator.journal.workers.iter();
        let addresses = addresses.map(|(id, (_, address))| (*id, address.clone())).collect();
        let mut message = message_of_holders(holders, &addresses);
        if self.planted == Some(Planted::StaleHolders) {
            message.version &= 0xffff_ffff;
        }
        Holders::new(message)
    }

    fn kill_coordinator(&mut self, most: u64) {
        self.coordinator.state = None;
        self.waiting.clear();
        for worker in 0..self.workers.len() {
            let life = self.workers[worker].life;
            let calls = self.workers[worker].process.iter().flat_map(|process| &process.calls);
            let senders: Vec<Sender> =
                calls.map(|(&call, of)| Sender { worker, life, call, attempt: of.attempt }).collect();
            for sender in senders {
                self.later(50, 2000, Happening::Retry(sender));
            }
        }
        self.later(100, most, Happening::StartCoordinator);
    }

    // Calls.

    fn call(&mut self, worker: usize, request: Request) {
        let now = self.now;
        let Some(process) = &mut self.workers[worker].process else { return };
        process.last_call += 1;
        let call = process.last_call;
        process.calls.insert(call, Call { request, attempt: 0, since: now });
        self.send(worker, call);
    }

    fn send(&mut self, worker: usize, call: u64) {
        let life = self.workers[worker].life;
        let Some(of) = self.workers[worker].process.as_ref().and_then(|process| process.calls.get(&call))
        else {
            return;
        };
        let sender = Sender { worker, life, call, attempt: of.attempt };
        let (epoch, request) = (self.coordinator.epoch, of.request.clone());
        let passes = self.cuts.passes(Host::Worker(worker), Host::Coordinator, self.now);
        if !passes || self.is_lost() {
            return self.later(100, 5000, Happening::Retry(sender));
        }
        if self.rng.u8(..) < self.doubling {
            self.soon(Happening::Arrives(sender, epoch, request.clone()));
        }
        self.soon(Happening::Arrives(sender, epoch, request));
    }

    /// The process of a sender, if it still lives, is awake, and waits for this very attempt. One that sleeps gets it later.
    fn expects(&mut self, sender: Sender, again: impl FnOnce() -> Happening) -> bool {
        let worker = &self.workers[sender.worker];
        let call = worker.process.as_ref().and_then(|process| process.calls.get(&sender.call));
        if worker.life != sender.life || call.is_none_or(|call| call.attempt != sender.attempt) {
            return false;
        }
        let wakes = worker.asleep_until;
        if wakes > self.now {
            self.at(wakes, again());
            return false;
        }
        true
    }

    fn answered(&mut self, sender: Sender, answer: Answer) {
        let again = answer.clone();
        if !self.expects(sender, || Happening::Answered(sender, again)) {
            return;
        }
        let Some(process) = &mut self.workers[sender.worker].process else { return };
        process.calls.remove(&sender.call);
        match (&mut process.last_words, answer) {
            (None, Answer::Input(input)) => self.step(sender.worker, input),
            (None, Answer::Left) => {}
            (Some(words), _) => match words.pop_front() {
                Some(request) => self.call(sender.worker, request),
                None => self.end_worker(sender.worker, 5000),
            },
        }
    }

    fn retry(&mut self, sender: Sender) {
        if !self.expects(sender, || Happening::Retry(sender)) {
            return;
        }
        let now = self.now;
        let Some(process) = &mut self.workers[sender.worker].process else { return };
        let Some(call) = process.calls.get_mut(&sender.call) else { return };
        call.attempt += 1;
        let patience = if process.last_words.is_some() { 5000 } else { PATIENCE };
        if now - call.since > patience {
            return self.end_worker(sender.worker, 5000);
        }
        self.send(sender.worker, sender.call);
    }

    // Workers.

    fn start_worker(&mut self, worker: usize) {
        if self.workers[worker].process.is_some() {
            return;
        }
        let of = &mut self.workers[worker];
        of.life += 1;
        let (session, actions) = Session::begin(of.threads);
        of.process = Some(Process {
            session,
            began: self.now,
            holders: Arc::default(),
            calls: BTreeMap::new(),
            last_call: 0,
            wake: None,
            is_halted: false,
            queue: VecDeque::new(),
            busy: 0,
            last_words: None,
        });
        self.carry_out(worker, actions);
    }

    /// The process of a worker ends, and somebody starts it again.
    fn end_worker(&mut self, worker: usize, most: u64) {
        self.workers[worker].process = None;
        self.workers[worker].life += 1;
        self.later(100, most, Happening::StartWorker(worker));
    }

    fn step(&mut self, worker: usize, input: Input) {
        let now = self.now;
        let Some(process) = &mut self.workers[worker].process else { return };
        let actions = process.session.step(Duration::from_millis(now - process.began), input);
        self.carry_out(worker, actions);
        let life = self.workers[worker].life;
        let Some(process) = &mut self.workers[worker].process else { return };
        let wake = process.session.wake().map(|wake| process.began + wake.as_millis() as u64 + 1);
        if wake != process.wake {
            process.wake = wake;
            if let Some(wake) = wake {
                self.at(wake.max(now + 1), Happening::Inside(worker, life, Inside::Wake));
            }
        }
    }

    fn carry_out(&mut self, worker: usize, actions: Vec<Action>) {
        let keep = self.coordinator.rules.keep;
        let life = self.workers[worker].life;
        for action in actions {
            let of = &mut self.workers[worker];
            let Some(process) = &mut of.process else { return };
            match action {
                Action::Register => {
                    let inventory = of.store.keys().copied().collect();
                    self.call(worker, Request::Register(inventory));
                }
                Action::Beat { session, underway } => self.call(worker, Request::Beat(session, underway)),
                Action::Ask { number, session, tasks, holders_version } => {
                    let version = match self.planted {
                        Some(Planted::StaleHolders) => process.holders.version,
                        None => holders_version,
                    };
                    self.call(worker, Request::Ask(number, session, tasks, version));
                }
                Action::Report { session, number, outcomes } => {
                    self.call(worker, Request::Report(session, number, outcomes));
                }
                Action::UseHolders(holders) => {
                    if self.planted.is_none() || holders.version != 0 {
                        process.holders = holders;
                    }
                }
                Action::KeepOnly(needed) => {
                    of.store.retain(|task, _| keep == Keep::All || needed.contains(&task.depth));
                }
                Action::Make(task) => self.soon(Happening::Inside(worker, life, Inside::Prepared(task))),
                Action::Copy(task, from) => {
                    self.soon(Happening::Inside(worker, life, Inside::Copied(task, from)));
                }
                Action::Discard(task) => self.soon(Happening::Inside(worker, life, Inside::Discarded(task))),
                Action::Retire(depth) => {
                    let done = self.coordinator.journal.counts.len() as u32;
                    assert!(depth.0 + 3 <= done, "depth {depth} is retired, and still read");
                    of.store.retain(|task, _| keep == Keep::All || task.depth != depth);
                }
                Action::Halt => process.is_halted = true,
                Action::Finish { session: 0, .. } => return self.end_worker(worker, 5000),
                Action::Finish { session, number, outcomes, .. } => {
                    process.last_words = Some(VecDeque::from([Request::Leave(session)]));
                    process.calls.retain(|_, call| matches!(call.request, Request::Report(..)));
                    self.call(worker, Request::Report(session, number, outcomes));
                }
            }
        }
    }

    fn inside(&mut self, worker: usize, life: u32, inside: Inside) {
        let of = &self.workers[worker];
        if of.life != life || of.process.is_none() {
            return;
        }
        if of.asleep_until > self.now {
            return self.at(of.asleep_until, Happening::Inside(worker, life, inside));
        }
        let took = Some(Duration::from_millis(100));
        match inside {
            Inside::Wake => {
                if let Some(process) = &mut self.workers[worker].process {
                    process.wake = None;
                }
                self.step(worker, Input::Time);
            }
            Inside::Prepared(task) => match self.prepare(worker, task) {
                Ok(()) => {
                    if let Some(process) = &mut self.workers[worker].process {
                        process.queue.push_back(task);
                    }
                    self.begin_tasks(worker);
                }
                Err(failure) => {
                    self.step(worker, Input::TaskEnded { task, result: Err(failure), took: None });
                }
            },
            Inside::Computed(task) => {
                if let Some(process) = &mut self.workers[worker].process {
                    process.busy -= 1;
                }
                let result =
                    self.write(worker, task).map(|()| Done::Made(report(task.depth.0, task.shard.0)));
                self.step(worker, Input::TaskEnded { task, result, took });
                self.begin_tasks(worker);
            }
            Inside::Copied(task, from) => {
                let result = self.copy(worker, task, &from).map(|()| Done::Copied(1000));
                self.step(worker, Input::CopyEnded { task, result });
            }
            Inside::Discarded(task) => {
                let store = &mut self.workers[worker].store;
                let whole = store.get(&task).is_some_and(|file| !file.is_damaged);
                if !whole {
                    store.remove(&task);
                    self.lost.remove(&(worker, task));
                }
                self.step(worker, Input::Discarded { task, whole: whole.then_some(1000) });
            }
        }
    }

    fn begin_tasks(&mut self, worker: usize) {
        let threads = self.workers[worker].threads;
        let life = self.workers[worker].life;
        while let Some(process) = &mut self.workers[worker].process
            && process.busy < threads
            && let Some(task) = process.queue.pop_front()
        {
            process.busy += 1;
            let most = if self.rng.u8(..) < 16 { 5000 } else { 300 };
            self.later(10, most, Happening::Inside(worker, life, Inside::Computed(task)));
        }
    }

    /// Has all there that a task reads.
    fn prepare(&mut self, worker: usize, task: Task) -> Result<(), Failure> {
        let Some(process) = &self.workers[worker].process else { return Err(Failure::Stopped) };
        if process.is_halted {
            return Err(Failure::Stopped);
        }
        let holders = Arc::clone(&process.holders);
        let mut depths = self.coordinator.rules.lookback.below(task.depth);
        let newest = depths.next();
        for depth in newest.into_iter().chain(depths) {
            let own = Task { depth, shard: task.shard };
            if !self.workers[worker].store.contains_key(&own) {
                self.copy(worker, own, &holders.of(own))?;
            }
        }
        let shards = (0..self.coordinator.rules.shards).map(ShardId);
        for file in
            newest.into_iter().flat_map(|depth| shards.clone().map(move |shard| Task { depth, shard }))
        {
            match self.workers[worker].store.get(&file) {
                Some(StoredFile { is_damaged: true }) => return Err(damaged(file, None)),
                Some(_) => {}
                None => self.fetch(worker, file, &holders.of(file))?,
            }
        }
        Ok(())
    }

    /// Reads a file of a peer.
    fn fetch(&self, worker: usize, file: Task, addresses: &[String]) -> Result<(), Failure> {
        let mut failure = Failure::Unreachable { file, message: "nobody holds it".into() };
        for peer in (0..self.workers.len()).filter(|&peer| addresses.contains(&address(peer))) {
            let of = &self.workers[peer];
            let is_there = of.process.is_some() && of.asleep_until <= self.now;
            if !is_there || !self.cuts.connected(Host::Worker(worker), Host::Worker(peer), self.now) {
                continue;
            }
            match of.store.get(&file) {
                Some(StoredFile { is_damaged: false }) => return Ok(()),
                Some(_) => failure = damaged(file, Some(address(peer))),
                None => failure = damaged(file, Some(address(peer))),
            }
        }
        Err(failure)
    }

    fn copy(&mut self, worker: usize, file: Task, from: &[String]) -> Result<(), Failure> {
        if self.workers[worker].store.get(&file).is_some_and(|file| !file.is_damaged) {
            return Ok(());
        }
        self.fetch(worker, file, from)?;
        self.write(worker, file)
    }

    fn write(&mut self, worker: usize, file: Task) -> Result<(), Failure> {
        let of = &mut self.workers[worker];
        if of.process.as_ref().is_none_or(|process| process.is_halted) {
            return Err(Failure::Stopped);
        }
        if of.full_until > self.now {
            return Err(Failure::DiskFull("no room".into()));
        }
        of.store.insert(file, StoredFile::default());
        self.lost.remove(&(worker, file));
        Ok(())
    }

    // Faults.

    fn fault(&mut self) {
        let worker = self.rng.usize(..self.workers.len());
        // Each seed has a few kinds of faults only: rare meetings of two kinds are found so.
        let Some(&fault) = self.rng.choice(&self.kinds) else { return };
        if self.is_told {
            eprintln!("{:>8} fault {fault} at worker {worker}", self.now);
        }
        match fault {
            0 => self.end_worker(worker, 25_000),
            1 => self.workers[worker].asleep_until = self.now + self.rng.u64(500..30_000),
            2 => self.kill_coordinator(15_000),
            3 => self.coordinator.asleep_until = self.now + self.rng.u64(500..30_000),
            4 => self.coordinator.jumped += self.rng.u64(1000..60_000),
            5 => {
                let other = self.rng.usize(..self.workers.len() + 1);
                let other = if other < self.workers.len() { Host::Worker(other) } else { Host::Coordinator };
                let (from, to) = match self.rng.bool() {
                    true => (Host::Worker(worker), other),
                    false => (other, Host::Worker(worker)),
                };
                let until = self.now + self.rng.u64(1000..40_000);
                self.cuts.cut(from, to, until);
            }
            6 => self.workers[worker].full_until = self.now + self.rng.u64(1000..40_000),
            7 => self.spoil(worker, false),
            8 => self.spoil(worker, true),
            9 => {
                let name = format!("w{worker}");
                self.person(|request| Event::Drain(request, name));
            }
            _ => match self.rng.bool() {
                true => self.person(Event::Stop),
                false if self.coordinator.asleep_until <= self.now => self.apply(Event::Terminate),
                false => {}
            },
        }
    }

    fn person(&mut self, event: impl FnOnce(RequestId) -> Event) {
        if self.coordinator.state.is_none() || self.coordinator.asleep_until > self.now {
            return;
        }
        let request = self.request();
        self.waiting.insert(request, Sender { worker: usize::MAX, life: 0, call: 0, attempt: 0 });
        self.apply(event(request));
    }

    /// A disk loses a file, or changes a bit of it, if the run can get over that: all layers are kept, or somebody else is
    /// known to have the file.
    fn spoil(&mut self, worker: usize, is_lost: bool) {
        let Some(state) = &self.coordinator.state else { return };
        let is_whole =
            |at: usize, task: &Task| self.workers[at].store.get(task).is_some_and(|f| !f.is_damaged);
        let elsewhere = |task: &Task| {
            let holders = state.files.get(task).into_iter().flat_map(|file| &file.holders);
            let mut others = holders.map(|id| usize::from(id.0[0]) - 1).filter(|&other| other != worker);
            others.any(|other| is_whole(other, task))
        };
        let keeps_all = self.coordinator.rules.keep == Keep::All;
        let files: Vec<Task> = self.workers[worker]
            .store
            .keys()
            .filter(|task| is_whole(worker, task) && (keeps_all || elsewhere(task)))
            .copied()
            .collect();
        let Some(&file) = self.rng.choice(&files) else { return };
        match is_lost {
            true => {
                self.workers[worker].store.remove(&file);
                self.lost.insert((worker, file));
            }
            false => drop(self.workers[worker].store.insert(file, StoredFile { is_damaged: true })),
        }
    }

    fn heal(&mut self) {
        self.cuts.heal();
        (self.lossy, self.doubling) = (0, 0);
        self.coordinator.asleep_until = self.coordinator.asleep_until.min(self.now);
        for worker in &mut self.workers {
            worker.asleep_until = worker.asleep_until.min(self.now);
            worker.full_until = worker.full_until.min(self.now);
        }
    }

    /// What must hold after every event.
    fn check(&self) {
        let Some(state) = &self.coordinator.state else { return };
        state.check();
        for (task, file) in &state.files {
            for holder in &file.holders {
                let worker = usize::from(holder.0[0]) - 1;
                let is_retired =
                    self.coordinator.rules.keep == Keep::Last && task.depth.0 + 2 < state.depth.0;
                // A session that no process has, of a registration that came late, ends soon.
                let number = self.workers[worker].process.as_ref().map(|process| process.session.number());
                let is_gone = match state.workers[holder].presence {
                    Presence::Alive(session) => Some(session.0) != number,
                    _ => true,
                };
                assert!(
                    is_retired
                        || is_gone
                        || self.workers[worker].store.contains_key(task)
                        || self.lost.contains(&(worker, *task)),
                    "worker {worker} is believed to hold {task:?}"
                );
            }
        }
    }
}

fn damaged(file: Task, address: Option<String>) -> Failure {
    Failure::Damaged { file, address, message: "bits".into() }
}

fn order(order: Order) -> WorkerOrder {
    match order {
        Order::Make(task, attempt) => WorkerOrder::Make(task, attempt),
        Order::Copy(task, from) => {
            WorkerOrder::Copy(task, from.iter().map(|id| address(usize::from(id.0[0]) - 1)).collect())
        }
        Order::Discard(task) => WorkerOrder::Discard(task),
        Order::Retire(depth) => WorkerOrder::Retire(depth),
        Order::Leave(reason) => WorkerOrder::Leave(match reason {
            LeaveReason::Done => v1::LeaveReason::Done,
            LeaveReason::Stopped => v1::LeaveReason::Stopped,
            LeaveReason::Drained => v1::LeaveReason::Drained,
            LeaveReason::Failed => v1::LeaveReason::Failed,
            LeaveReason::CoordinatorGoes => v1::LeaveReason::CoordinatorGoes,
        }),
    }
}
