//! A coordinator's state for tests, with helpers that feed events in and show the effects as text.
//!
//! Workers are named by one letter. Effects become lines, such as `a <- make 1/0 #1.1, holders 0: a|b`. This
//! line answers the request of worker a: it must compute shard 0 of depth 1, in attempt 1 of epoch 1, and
//! shards 0 and 1 of depth 0 are held by a and b. Tests compare all lines. Notes for the log are omitted,
//! unless `notes` is set.

use crate::cluster::event::{
    Command, Effect, Event, Held, Holding, Millis, Progress, Registration, Reply, RequestId,
};
use crate::cluster::parts::FIRST_ATTEMPT;
use crate::cluster::parts::FileHolders;
use crate::cluster::report_bounds::Bounds;
use crate::cluster::state::{Past, Rules, State, digest_of};
use fathom_engine::run::{Depth, Keep, Lookback, ShardId, ShardReport, Task};
use fathom_layer::{Digest, Totals};
use fathom_proto::{Attempt, Copied, Done, Failure, Outcome, Session, StoredFile, WorkerId};
use std::collections::BTreeMap;
use std::time::Duration;

/// Returns rules for a space without end, with the given number of shards.
pub(super) fn rules(shards: u32) -> Rules {
    Rules {
        shards,
        states: u64::MAX,
        keep: Keep::Last,
        lookback: Lookback::Two,
        max_depth: None,
        shared_store: false,
        replicas: 1,
        lease: Duration::from_secs(10),
        heartbeat: Duration::from_secs(2),
        bounds: Bounds::none(),
        audit: 0,
        clean_stores: false,
    }
}

pub(super) fn task(depth: u32, shard: u32) -> Task {
    Task { depth: Depth(depth), shard: ShardId(shard) }
}

pub(super) fn id(name: &str) -> WorkerId {
    WorkerId([name.as_bytes()[0]; 16])
}

fn name(id: WorkerId) -> String {
    match id {
        WorkerId::SHARED_STORE => "shared".into(),
        id => char::from(id.0[0]).into(),
    }
}

fn file(task: Task) -> String {
    format!("{}/{}", task.depth, task.shard)
}

/// Returns the true report of a shard: 10 states, 1000 bytes.
pub(super) fn report(depth: u32, shard: u32) -> ShardReport {
    ShardReport {
        task: task(depth, shard),
        totals: Totals { stored: 10, states: 10, pairs: None, inverse_pairs: None },
        bytes: 1000,
        checksums: vec![Digest::new(format!("{depth}/{shard}").as_bytes())],
        watched: Vec::new(),
    }
}

/// Returns a file with the right digest.
pub(super) fn stored(depth: u32, shard: u32) -> StoredFile {
    StoredFile { task: task(depth, shard), digest: Some(digest_of(&report(depth, shard))) }
}

/// Returns a file with these holders.
pub(super) fn held(depth: u32, shard: u32, holders: &str) -> (Task, FileHolders) {
    let holders = holders.split_whitespace().map(id).collect();
    (task(depth, shard), FileHolders { holders, bytes: 1000, digest: digest_of(&report(depth, shard)) })
}

pub(super) fn damaged(depth: u32, shard: u32, address: Option<&str>) -> Failure {
    let address = address.map(|name| format!("{name}:1"));
    Failure::Damaged { file: task(depth, shard), address, message: "bits".into() }
}

pub(super) fn unreachable(depth: u32, shard: u32, peer: &str) -> Failure {
    let addresses = vec![format!("{peer}:1")];
    Failure::Unreachable { file: task(depth, shard), addresses, message: "silence".into() }
}

pub(super) struct Table {
    pub(super) state: State,
    pub(super) now: u64,
    /// Whether the lines include notes.
    pub(super) notes: bool,
    requests: BTreeMap<RequestId, String>,
    asked: u64,
    pub(super) sessions: BTreeMap<String, Session>,
    versions: BTreeMap<String, u64>,
}

impl Table {
    pub(super) fn new(rules: Rules) -> Self {
        Self::after(rules, 1, Past::default())
    }

    pub(super) fn after(rules: Rules, epoch: u64, past: Past) -> Self {
        Self {
            state: State::new(rules, epoch, past),
            now: 0,
            notes: false,
            requests: BTreeMap::new(),
            asked: 0,
            sessions: BTreeMap::new(),
            versions: BTreeMap::new(),
        }
    }

    /// Creates a table with these workers, of one thread each.
    pub(super) fn with(rules: Rules, workers: &str) -> Self {
        let mut table = Self::new(rules);
        for worker in workers.split_whitespace() {
            table.join(worker);
        }
        table
    }

    /// Completes the depths before `depth` with the present workers. No request is open afterwards.
    pub(super) fn at_depth(mut self, depth: u32) -> Self {
        let workers: Vec<String> = self.sessions.keys().cloned().collect();
        for _ in 0..1000 {
            if self.state.depth().0 >= depth {
                return self;
            }
            for worker in &workers {
                let (id, state) = (id(worker), &self.state);
                if state.depth().0 >= depth
                    || (state.tasks().queue(id).len() == 0 && state.members()[id].commands.is_empty())
                {
                    continue;
                }
                for line in self.take(worker, 1).into_iter().filter(|line| line.contains("<-")) {
                    self.obey(&line);
                }
            }
        }
        panic!("depth {depth} is not reached");
    }

    /// Carries out the commands of a line, and those that follow from them.
    fn obey(&mut self, line: &str) {
        let (worker, commands) = line.split_once(" <- ").expect("an answer");
        let mut follow = Vec::new();
        for order in commands.split(", ") {
            let words: Vec<&str> = order.split_whitespace().collect();
            let number = |word: &str| -> (u32, u32) {
                let (depth, shard) = word.split_once('/').expect("a file");
                (depth.parse().expect("a depth"), shard.parse().expect("a shard"))
            };
            match words[..] {
                ["make", file, attempt] => {
                    let (depth, shard) = number(file);
                    let attempt = attempt.split_once('.').expect("an attempt").1.parse().expect("a number");
                    follow.extend(self.made(worker, depth, shard, attempt));
                }
                ["copy", file, ..] => {
                    let (depth, shard) = number(file);
                    follow.extend(self.copied(worker, depth, shard));
                }
                _ => {}
            }
        }
        for line in follow.into_iter().filter(|line| line.contains("<-")) {
            self.obey(&line);
        }
    }

    pub(super) fn apply(&mut self, event: Event) -> Vec<String> {
        let effects = self.state.apply(Millis(self.now), event);
        let lines: Vec<String> = effects.iter().map(|effect| self.line(effect)).collect();
        lines.into_iter().filter(|line| self.notes || !line.starts_with("note")).collect()
    }

    pub(super) fn ask(&mut self, who: &str, event: impl FnOnce(RequestId) -> Event) -> Vec<String> {
        self.asked += 1;
        let request = RequestId(self.asked);
        self.requests.insert(request, who.into());
        self.apply(event(request))
    }

    fn session(&self, worker: &str) -> Session {
        self.sessions.get(worker).copied().unwrap_or(Session(0))
    }

    pub(super) fn join(&mut self, worker: &str) -> Vec<String> {
        self.join_with(worker, 1, &[])
    }

    pub(super) fn join_with(&mut self, worker: &str, threads: u32, files: &[(u32, u32)]) -> Vec<String> {
        self.join_at(worker, &format!("{worker}:1"), threads, files)
    }

    pub(super) fn join_at(
        &mut self,
        worker: &str,
        address: &str,
        threads: u32,
        files: &[(u32, u32)],
    ) -> Vec<String> {
        self.register(worker, address, threads, files, None)
    }

    /// Joins with the given number of a registration of the given number of a process.
    pub(super) fn join_again(&mut self, worker: &str, number: (u64, u64)) -> Vec<String> {
        self.register(worker, &format!("{worker}:1"), 1, &[], Some(number))
    }

    fn register(
        &mut self,
        worker: &str,
        address: &str,
        threads: u32,
        files: &[(u32, u32)],
        number: Option<(u64, u64)>,
    ) -> Vec<String> {
        let registration = Registration {
            worker: id(worker),
            name: format!("host-{worker}"),
            address: address.into(),
            threads,
            memory_bytes: 1 << 30,
            kernel: "portable".into(),
            version: "0".into(),
            inventory: files.iter().map(|&(depth, shard)| stored(depth, shard)).collect(),
            number,
        };
        self.versions.remove(worker);
        self.ask(worker, |request| Event::Register(request, registration))
    }

    /// Like [`Table::take`], without the holder map.
    pub(super) fn commands(&mut self, worker: &str, tasks: u32) -> Vec<String> {
        let lines = self.take(worker, tasks).into_iter();
        lines.map(|line| line.split(", holders").next().unwrap_or_default().to_owned()).collect()
    }

    pub(super) fn take(&mut self, worker: &str, tasks: u32) -> Vec<String> {
        let (session, version) = (self.session(worker), self.versions.get(worker).copied().unwrap_or(0));
        self.ask(worker, |request| Event::TakeCommands { request, session, tasks, version })
    }

    pub(super) fn beat(&mut self, worker: &str, underway: &[(u32, u32)]) -> Vec<String> {
        let underway = underway.iter().map(|&(depth, shard)| task(depth, shard)).collect();
        let (session, progress) = (self.session(worker), Progress { underway, ..Progress::default() });
        self.ask(worker, |request| Event::Heartbeat(request, session, progress))
    }

    pub(super) fn outcome(&mut self, worker: &str, outcome: Outcome) -> Vec<String> {
        let session = self.session(worker);
        self.ask(worker, |request| Event::Report { request, session, number: 0, outcomes: vec![outcome] })
    }

    pub(super) fn attempt(&self, number: u32) -> Option<Attempt> {
        Some(Attempt { epoch: self.state.epoch(), number })
    }

    pub(super) fn made(&mut self, worker: &str, depth: u32, shard: u32, attempt: u32) -> Vec<String> {
        let (attempt, result) = (self.attempt(attempt), Ok(Done::Made(report(depth, shard))));
        self.outcome(worker, Outcome { task: task(depth, shard), attempt, result })
    }

    /// Like [`Table::made`], but with a wrong report, a different one for each worker.
    pub(super) fn made_wrong(&mut self, worker: &str, depth: u32, shard: u32, attempt: u32) -> Vec<String> {
        let mut report = report(depth, shard);
        report.checksums = vec![Digest::new(worker.as_bytes())];
        let (attempt, result) = (self.attempt(attempt), Ok(Done::Made(report)));
        self.outcome(worker, Outcome { task: task(depth, shard), attempt, result })
    }

    /// Like [`Table::made_wrong`], but the worker claims to have found the file.
    pub(super) fn found_wrong(&mut self, worker: &str, depth: u32, shard: u32, attempt: u32) -> Vec<String> {
        let mut report = report(depth, shard);
        report.checksums = vec![Digest::new(worker.as_bytes())];
        let (attempt, result) = (self.attempt(attempt), Ok(Done::Found(report)));
        self.outcome(worker, Outcome { task: task(depth, shard), attempt, result })
    }

    /// Reports the result of audit `number`. Audits are numbered across all shards.
    pub(super) fn audited(&mut self, worker: &str, depth: u32, shard: u32, number: u32) -> Vec<String> {
        self.made(worker, depth, shard, FIRST_ATTEMPT + number)
    }

    pub(super) fn failed(
        &mut self,
        worker: &str,
        depth: u32,
        shard: u32,
        attempt: u32,
        failure: Failure,
    ) -> Vec<String> {
        let attempt = self.attempt(attempt);
        self.outcome(worker, Outcome { task: task(depth, shard), attempt, result: Err(failure) })
    }

    pub(super) fn copied(&mut self, worker: &str, depth: u32, shard: u32) -> Vec<String> {
        let result = Ok(Done::Copied(Copied { bytes: 1000, digest: digest_of(&report(depth, shard)) }));
        self.outcome(worker, Outcome { task: task(depth, shard), attempt: None, result })
    }

    pub(super) fn copy_failed(
        &mut self,
        worker: &str,
        depth: u32,
        shard: u32,
        failure: Failure,
    ) -> Vec<String> {
        self.outcome(worker, Outcome { task: task(depth, shard), attempt: None, result: Err(failure) })
    }

    pub(super) fn leave(&mut self, worker: &str) -> Vec<String> {
        let session = self.session(worker);
        self.ask(worker, |request| Event::Leave(request, session))
    }

    pub(super) fn drain(&mut self, worker: &str) -> Vec<String> {
        let worker = worker.to_owned();
        self.ask("person", |request| Event::Drain(request, worker))
    }

    pub(super) fn stop(&mut self) -> Vec<String> {
        self.ask("person", Event::Stop)
    }

    /// Lets `millis` milliseconds pass, and sends a tick.
    pub(super) fn tick(&mut self, millis: u64) -> Vec<String> {
        self.now += millis;
        self.apply(Event::Tick)
    }

    fn line(&mut self, effect: &Effect) -> String {
        match effect {
            Effect::Reply(request, reply) => {
                let who = self.requests.remove(request).expect("each request is answered once");
                let said = self.said(&who, reply);
                format!("{who} <- {said}")
            }
            Effect::SaveReports(made, held) => {
                format!("save {}, held {}", files(made.iter().map(|(report, _)| report.task)), by(held))
            }
            Effect::Release(given, held) => {
                let given = files(given.iter().map(|(task, _)| *task));
                format!("release {given}, held {}", by(held))
            }
            Effect::Doubt(task) => format!("doubt {}", files(std::iter::once(*task))),
            Effect::ForgetReports(tasks) => format!("forget {}", files(tasks.iter().copied())),
            Effect::Quarantined(id) => format!("set aside {}", name(*id)),
            Effect::SaveWorker(id, ..) => format!("save worker {}", name(*id)),
            Effect::Commit(reports, took, held) => {
                let files = files(reports.iter().map(|r| r.task));
                format!("commit {files} in {} ms, held {}", took.as_millis(), by(held))
            }
            Effect::RetireShared(depth) => format!("retire shared {depth}"),
            Effect::DiscardShared(task) => format!("discard shared {}", file(*task)),
            Effect::NoteTold => "told".into(),
            Effect::Note(note) => {
                let worker = note.worker.map(|id| format!(" {}", name(id))).unwrap_or_default();
                let task = note.task.map(|task| format!(" {}", file(task))).unwrap_or_default();
                format!("note {}{worker}{task}", note.kind.message())
            }
            Effect::End(ending) => format!("end {ending:?}"),
        }
    }

    fn said(&mut self, who: &str, reply: &Reply) -> String {
        match reply {
            Reply::Registered { session, needed } => {
                self.sessions.insert(who.into(), *session);
                let needed: Vec<String> = needed.iter().map(Depth::to_string).collect();
                format!("registered, keeps {}", needed.join(" "))
            }
            Reply::Unknown => "unknown".into(),
            Reply::Known => "known".into(),
            Reply::Commands(commands, holders) => {
                let mut words: Vec<String> = commands.iter().map(order).collect();
                if let Some(holders) = holders {
                    self.versions.insert(who.into(), holders.version);
                    let shard = |held: &Holding| held.holders.iter().map(|&id| name(id)).collect::<String>();
                    let shards = |shards: &[Holding]| shards.iter().map(shard).collect::<Vec<_>>();
                    let layer = |(depth, of): &(Depth, Vec<_>)| format!(" {depth}: {}", shards(of).join("|"));
                    words.push(format!("holders{}", holders.layers.iter().map(layer).collect::<String>()));
                }
                match words.is_empty() {
                    true => "nothing".into(),
                    false => words.join(", "),
                }
            }
            Reply::Said(text) => format!("said {text}"),
            Reply::Refused(text) => format!("refused {text}"),
        }
    }
}

fn by(held: &Held) -> String {
    held.iter().map(|(task, id)| format!("{} {}", file(*task), name(*id))).collect::<Vec<_>>().join(", ")
}

fn files(tasks: impl Iterator<Item = Task>) -> String {
    tasks.map(file).collect::<Vec<_>>().join(" ")
}

fn order(order: &Command) -> String {
    match order {
        Command::Compute(task, attempt) => format!("make {} #{attempt}", file(*task)),
        Command::Recompute(task, attempt) => format!("make {} afresh #{attempt}", file(*task)),
        Command::Audit(task, attempt, other_than) => {
            let attempt = Attempt { number: attempt.number - FIRST_ATTEMPT, ..*attempt };
            let other_than = if other_than.is_empty() { "" } else { &format!(" not {other_than}") };
            format!("audit {} #{attempt}{other_than}", file(*task))
        }
        Command::Copy(stored, from) => {
            format!("copy {} from {}", file(stored.task), from.iter().map(|&id| name(id)).collect::<String>())
        }
        Command::Discard(stored) => format!("discard {}", file(stored.task)),
        Command::Release(task) => format!("release {}", file(*task)),
        Command::RetireLayer(depth) => format!("retire {depth}"),
        Command::Leave(reason) => format!("leave {reason:?}"),
    }
}
