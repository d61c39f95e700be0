//! The coordinator of the simulation: requests that arrive, and effects that are carried out.

use super::*;

impl Simulation {
    pub(super) fn start_coordinator(&mut self) {
        let files = &self.disks[0];
        self.coordinator.start(self.now, files);
        if let Some(state) = self.coordinator.state.as_ref().filter(|state| state.rules().shared_store) {
            // Missing files in a shared store are noticed when a worker reads them.
            let missing =
                state.files().iter().map(|(task, _)| task).filter(|&task| files.get(task).is_none());
            self.lost.extend(missing.map(|task| (0, task)));
        }
    }

    pub(super) fn tick(&mut self, epoch: u64) {
        if self.coordinator.state.is_none() || epoch != self.coordinator.epoch {
            return;
        }
        if self.coordinator.asleep_until > self.now {
            return self.at(self.coordinator.asleep_until, Happening::Tick(epoch));
        }
        self.apply(Event::Tick);
        self.later(100, 1000, Happening::Tick(epoch));
    }

    pub(super) fn arrives(&mut self, sender: Sender, epoch: u64, request: Request) {
        // The connection breaks when either process dies.
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
                    number: Some((sender.life.into(), sender.call)),
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
                Event::TakeCommands { request: number, session: SessionNumber(session), tasks, version }
            }
            Request::Report(session, count, outcomes) => {
                Event::Report { request: number, session: SessionNumber(session), number: count, outcomes }
            }
            Request::Leave(session) => Event::Leave(number, SessionNumber(session)),
        };
        self.apply(event);
    }

    /// Checks that a worker that has the version of the newest map, and so is not sent a map, has that map.
    pub(super) fn check_map(&self, sender: Sender, version: u64) {
        let worker = &self.workers[sender.worker];
        let (Some(state), Some(process)) = (&self.coordinator.state, &worker.process) else { return };
        if worker.life != sender.life || version != state.holder_map().version() {
            return;
        }
        let told = state.holder_map().broadcast();
        let told =
            told.unwrap_or_else(|| panic!("worker {} knows a map that nobody was told", sender.worker));
        let map = self.message(told);
        for &(depth, ref shards) in &told.layers {
            for file in (0..shards.len() as u32).map(|shard| Task { depth, shard: ShardId(shard) }) {
                assert_eq!(process.holders.of(file), map.of(file), "worker {} on {file:?}", sender.worker);
            }
        }
    }

    pub(super) fn request(&mut self) -> RequestId {
        self.requests += 1;
        RequestId(self.requests)
    }

    pub(super) fn apply(&mut self, event: Event) {
        let clock = self.coordinator.clock(self.now);
        let event = self.compared(event);
        let Some(state) = &mut self.coordinator.state else { return };
        let effects = state.apply(clock, event);
        state.check();
        for effect in effects {
            match effect {
                Effect::Reply(request, reply) => self.reply(request, reply),
                Effect::SaveReports(made, held) => self.coordinator.journal.save(made, held),
                Effect::Release(files, held) => {
                    for (file, _) in &files {
                        let new = Task { depth: file.depth.next().next(), shard: file.shard };
                        self.check_copies(new, "computed, and its source released");
                    }
                    if self.coordinator.rules.shared_store {
                        files.iter().for_each(|&(file, _)| self.remove(0, file));
                    }
                    self.coordinator.journal.give_back(files, held);
                }
                Effect::Doubt(task) => {
                    self.coordinator.journal.suspected.insert(task);
                }
                Effect::ForgetReports(tasks) => self.coordinator.journal.forget(&tasks),
                Effect::Quarantined(id) => {
                    assert!(self.workers[usize::from(id.0[0]) - 1].lies, "{id} was right");
                    self.coordinator.journal.quarantined.insert(id);
                }
                Effect::SaveWorker(id, name, address) => {
                    self.coordinator.journal.workers.insert(id, (name, address));
                }
                Effect::Commit(reports, _, held) => {
                    let depth = self.coordinator.journal.counts.len() as u32;
                    let right = (0..self.coordinator.rules.shards).map(|shard| report(depth, shard));
                    let is_wrong = |(report, right): &(&Arc<ShardReport>, ShardReport)| ***report != *right;
                    let wrong = reports.iter().zip(right).filter(is_wrong).map(|(report, _)| report.task);
                    let wrong: BTreeSet<Task> = wrong.collect();
                    // Nobody could audit the liar's shard, as the log says, or the shard was not selected for
                    // an audit. But once the liar is quarantined, its shards of this depth are recomputed.
                    let is_known = !self.coordinator.journal.quarantined.is_empty();
                    let may_be_wrong =
                        self.coordinator.rules.audit < PARTS || wrong.is_subset(&self.unaudited);
                    if !wrong.is_empty() && !is_known && may_be_wrong {
                        self.is_excused = true;
                        return;
                    }
                    assert!(wrong.is_empty(), "depth {depth} is wrong");
                    for report in &reports {
                        self.check_copies(report.task, "committed");
                    }
                    self.coordinator.journal.commit(&reports, held);
                }
                Effect::End(ending) => {
                    assert_eq!(self.ended.replace(ending), None, "a run ends once");
                }
                Effect::RetireShared(depth) => {
                    let done = self.coordinator.journal.counts.len() as u32;
                    assert!(depth.0 + 3 <= done, "depth {depth} is retired, and still read");
                    let keep = self.coordinator.rules.keep;
                    self.disks[0].retain(|task| keep == Keep::All || task.depth != depth);
                }
                Effect::DiscardShared(file) => self.remove(0, file),
                Effect::NoteTold => {}
                Effect::Note(note) => {
                    if matches!(note.kind, NoteKind::NotAudited | NoteKind::SelfCheck) {
                        self.unaudited.extend(note.task);
                    }
                    if self.is_told {
                        eprintln!(
                            "{:>8}   {} {:?} {:?} {:?}",
                            self.now,
                            note.kind.message(),
                            note.worker,
                            note.task,
                            note.detail
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

    /// Turns reports that contradict the files of a shared store into failures.
    fn compared(&self, mut event: Event) -> Event {
        let state = self.coordinator.state.as_ref().filter(|_| self.coordinator.rules.shared_store);
        if let (Some(state), Event::Report { outcomes, .. }) = (state, &mut event) {
            for outcome in outcomes {
                if let Ok(Done::Made(report) | Done::Found(report)) = &outcome.result
                    && !state.is_audit(outcome)
                    && !self.disks[0].supports(report)
                {
                    outcome.result = Err(Failure::Other("the report contradicts the file".into()));
                }
            }
        }
        event
    }

    /// Checks that enough workers have a file, counting those whose disks lost it.
    fn check_copies(&self, file: Task, what: &str) {
        let lost = self.lost.iter().filter(|(_, task)| *task == file).count();
        let there = self.disks.iter().filter(|files| files.get(file).is_some()).count() + lost;
        assert!(there >= self.coordinator.rules.replicas, "{file:?} is {what}");
    }

    /// Checks that a worker that backs off, because its disk is full or has failed, has nothing to compute or
    /// audit. A copy may have been commanded before.
    fn check_orders(&self, worker: usize, commands: &[Command]) {
        let Some(state) = &self.coordinator.state else { return };
        for order in commands {
            if let Command::Compute(..) | Command::Recompute(..) | Command::Audit(..) = order {
                let backoff_until = state.members()[id(worker)].backoff_until;
                let is_able = backoff_until <= self.coordinator.clock(self.now);
                assert!(is_able, "worker {worker} is given {order:?}, and rests");
            }
        }
    }

    pub(super) fn reply(&mut self, request: RequestId, reply: Reply) {
        let Some(sender) = self.waiting.remove(&request) else { panic!("{request:?} is answered twice") };
        if sender.worker == usize::MAX {
            return;
        }
        if let Reply::Commands(commands, _) = &reply {
            self.check_orders(sender.worker, commands);
        }
        let passes = self.cuts.passes(Host::Coordinator, Host::Worker(sender.worker), self.now);
        if !passes || self.is_lost() {
            return self.later(500, 5000, Happening::Retry(sender));
        }
        let answer = self.answer(sender, reply);
        self.soon(Happening::Answered(sender, answer));
    }

    pub(super) fn answer(&self, sender: Sender, reply: Reply) -> Answer {
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
            Reply::Registered { session, needed, .. } => {
                Input::Registered { session: session.0, heartbeat: self.coordinator.rules.heartbeat, needed }
            }
            Reply::Commands(commands, holders) => Input::CommandsAnswered {
                number,
                session,
                known,
                commands: commands
                    .into_iter()
                    .map(|order| order.with_holders(|id| Some(address(usize::from(id.0[0]) - 1))))
                    .collect(),
                holders: holders.map(|holders| self.message(&holders)),
            },
            _ if is_leaving => return Answer::Left,
            _ if number != 0 => {
                Input::CommandsAnswered { number, session, known, commands: Vec::new(), holders: None }
            }
            _ if is_report => Input::ReportAnswered { session, known },
            _ => Input::HeartbeatAnswered { session, known },
        })
    }

    /// Converts a holder map to a message and back.
    pub(super) fn message(&self, holders: &crate::cluster::event::Holders) -> Holders {
        let addresses = self.coordinator.journal.workers.iter();
        let addresses = addresses.map(|(id, (_, address))| (*id, address.clone())).collect();
        let mut message = message_of_holders(holders, &addresses);
        if self.planted == Some(Planted::StaleHolders) {
            message.version &= 0xffff_ffff;
        }
        Holders::new(message)
    }

    pub(super) fn kill_coordinator(&mut self, most: u64) {
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
}
