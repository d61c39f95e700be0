//! The workers of a run: their sessions, what they last reported about themselves, the commands that wait for
//! them, and their backoff.

use crate::cluster::event::{Command, LeaveReason, Millis, Progress, Registration, RequestId};
use crate::cluster::parts::Dirty;
use crate::cluster::parts::backoff::{MAX_BACKOFF, MAX_STRIKES, REST, Unreached, is_of_one_burst};
use crate::cluster::parts::random_numbers::Secret;
use fathom_engine::forecast::rate::Rate;
use fathom_proto::{Session, WorkerId};
use std::collections::BTreeMap;
use std::ops::Index;
use std::time::Duration;

/// Whether a worker has a session, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The session of the worker lasts.
    Alive(Session),
    /// The worker is known from an earlier epoch, and may register again at any moment.
    Reconnecting,
    /// The worker was silent for longer than its lease.
    Lost,
    /// The worker has left.
    Left,
}

/// A worker. Only [`Members`] changes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The display name.
    pub name: String,
    /// The address at which peers reach the worker.
    pub address: String,
    /// The address of the previous session, if it was different.
    pub superseded: Option<String>,
    /// Kernel threads.
    pub threads: u32,
    /// The kernel that the worker uses; empty for a worker that is known from an earlier epoch.
    pub kernel: String,
    presence: Presence,
    /// The numbers of the worker's process and of its last registration, if it has numbers.
    pub registration: Option<(u64, u64)>,
    /// Whether the worker has used its session, and so knows that it is registered.
    pub knows_session: bool,
    /// When the last message of the worker arrived.
    pub heard: Millis,
    /// The progress that the worker reported last.
    pub progress: Progress,
    /// When the worker last made progress on its commands, or had none.
    pub moved: Millis,
    /// The speed of the worker, in states.
    pub rate: Rate<Millis>,
    /// Whether the worker leaves once others hold its files.
    pub draining: bool,
    /// Whether an audit has shown that the worker computes wrong files.
    pub is_set_aside: bool,
    /// The worker gets nothing to compute or to copy until this time.
    pub backoff_until: Millis,
    /// Number of failures since the last success.
    pub strikes: u32,
    /// When the last failure was counted.
    pub struck: Option<Millis>,
    /// Peers that the worker could not reach.
    pub unreached: BTreeMap<WorkerId, Unreached>,
    /// Whether no holder of a file that tasks read is within the worker's reach.
    pub is_cut_off: bool,
    /// Commands that wait until the worker asks for them.
    pub commands: Vec<Command>,
    /// The worker's request that waits for commands.
    pub poll: Option<PendingPoll>,
    /// The number of the worker's last report in this session.
    pub reports: u64,
    /// Why the worker was told to leave, if it was.
    pub leaving: Option<LeaveReason>,
}

/// All workers that ever registered. A worker is alive while its session lasts.
#[derive(Clone, Debug, Default)]
pub struct Members {
    known: BTreeMap<WorkerId, Worker>,
    by_session: BTreeMap<Session, WorkerId>,
    /// Number of sessions started in this epoch.
    sessions: u64,
    /// When the coordinator last checked for silent workers.
    looked: Millis,
}

impl Members {
    /// Returns a worker, or `None` if it never registered.
    pub fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.known.get(&id)
    }

    /// Returns all workers.
    pub fn iter(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.known.iter().map(|(id, worker)| (*id, worker))
    }

    /// Returns the workers that are alive.
    pub fn alive(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.iter().filter(|(_, worker)| worker.is_alive())
    }

    /// Returns the worker of a session, or `None` if the session has ended.
    pub fn of_session(&self, session: Session) -> Option<WorkerId> {
        self.by_session.get(&session).copied()
    }

    /// Returns the live worker that peers reach at an address.
    pub fn at_address(&self, address: &str) -> Option<WorkerId> {
        self.alive().find(|(_, worker)| worker.address == address).map(|(id, _)| id)
    }

    /// Returns whether a worker is alive; a shared store always is.
    pub fn is_alive(&self, id: WorkerId) -> bool {
        id == WorkerId::SHARED_STORE || self.get(id).is_some_and(Worker::is_alive)
    }

    /// Returns a worker that is known to exist.
    fn worker(&mut self, id: WorkerId) -> &mut Worker {
        self.known.get_mut(&id).expect("workers are never forgotten")
    }

    /// Adds a worker that is known from an earlier epoch.
    pub fn restore(&mut self, id: WorkerId, name: String, address: String, is_set_aside: bool) {
        let worker = Worker { draining: is_set_aside, is_set_aside, ..Worker::known(name, address) };
        self.known.insert(id, worker);
    }

    /// Returns the number of a new session: a function of the secret, the epoch and the number of sessions
    /// before. The number is never 0.
    pub fn new_session(&mut self, secret: &Secret, epoch: u64) -> Session {
        self.sessions += 1;
        Session(secret.number(&[&epoch.to_le_bytes(), &self.sessions.to_le_bytes()]).max(1))
    }

    /// Returns why a worker cannot register, if it cannot: another worker has its id, or a later registration
    /// has arrived first.
    pub fn refusal(&self, registration: &Registration) -> Option<String> {
        let Registration { worker: id, address, number, .. } = registration;
        let known = self.get(*id)?;
        if known.is_alive() && known.superseded.as_ref() == Some(address) && known.address != *address {
            return Some(format!(
                "the worker at {} has the same id, {id}: a store was copied, or is used by two workers. Give each worker a separate store, without the file worker-id of another",
                known.address
            ));
        }
        let has_passed = number.is_some_and(|number| known.has_passed(number));
        has_passed.then(|| "a later registration of this worker has arrived first".into())
    }

    /// Starts the session of a worker that joins or comes back. A drained worker remains drained until it has
    /// reported that it left.
    pub fn join(&mut self, now: Millis, session: Session, registration: &Registration) -> Dirty {
        let Registration { worker: id, name, address, threads, kernel, number, .. } = registration;
        let known = self.get(*id);
        let is_set_aside = known.is_some_and(|worker| worker.is_set_aside);
        let is_drained = known.is_some_and(|worker| worker.draining && worker.presence() != Presence::Left);
        let superseded = known.map(|worker| worker.address.clone()).filter(|before| before != address);
        let worker = Worker {
            superseded,
            threads: *threads,
            kernel: kernel.clone(),
            presence: Presence::Alive(session),
            registration: *number,
            heard: now,
            moved: now,
            draining: is_set_aside || is_drained,
            is_set_aside,
            ..Worker::known(name.clone(), address.clone())
        };
        self.by_session.insert(session, *id);
        if let Some(Presence::Alive(session)) = self.known.insert(*id, worker).map(|before| before.presence) {
            self.by_session.remove(&session);
        }
        Dirty::missing().and(Dirty::owners()).and(Dirty::targets())
    }

    /// Ends the session of a worker, for the reason `presence`. Returns the request of the worker that waits
    /// for commands. Commands, and failures to reach this worker or of this worker to reach peers, are
    /// forgotten.
    ///
    /// # Panics
    /// If no worker with this id ever registered.
    pub fn end_session(&mut self, id: WorkerId, presence: Presence) -> (Option<PendingPoll>, Dirty) {
        for worker in self.known.values_mut() {
            worker.unreached.remove(&id);
        }
        let worker = self.worker(id);
        worker.unreached.clear();
        worker.commands.clear();
        let poll = worker.poll.take();
        if let Presence::Alive(session) = std::mem::replace(&mut worker.presence, presence) {
            self.by_session.remove(&session);
        }
        (poll, Dirty::owners())
    }

    /// Returns the worker of a session that lasts, and records the time of its message.
    pub fn touch(&mut self, now: Millis, session: Session) -> Option<WorkerId> {
        let id = self.of_session(session)?;
        let worker = self.worker(id);
        (worker.heard, worker.knows_session) = (now, true);
        Some(id)
    }

    /// Records the time of a message of a worker that may not know its session.
    pub fn heard(&mut self, now: Millis, id: WorkerId) {
        self.worker(id).heard = now;
    }

    /// Returns the workers that were silent for longer than their lease.
    pub fn silent(&mut self, now: Millis, lease: Duration) -> Vec<WorkerId> {
        // After a pause of the coordinator itself no worker counts as silent: the messages of workers may
        // still be waiting to be handled.
        if now.since(self.looked) > lease / 2 {
            self.known.values_mut().for_each(|worker| (worker.heard, worker.moved) = (now, now));
        }
        self.looked = now;
        let is_over = |worker: &Worker| match worker.presence() {
            Presence::Alive(_) | Presence::Reconnecting => now.since(worker.heard) > lease,
            Presence::Lost | Presence::Left => false,
        };
        self.iter().filter(|(_, worker)| is_over(worker)).map(|(id, _)| id).collect()
    }

    /// Stores the progress that a worker reports.
    pub fn note_progress(&mut self, now: Millis, id: WorkerId, progress: Progress) {
        let worker = self.worker(id);
        worker.rate.note(now, progress.found_states);
        if progress.has_moved_since(&worker.progress) {
            worker.moved = now;
        }
        worker.progress = progress;
    }

    /// Records the number of a worker's report. Returns whether the report is new; 0 is the number of reports
    /// that are not counted.
    pub fn takes_report(&mut self, id: WorkerId, number: u64) -> bool {
        let worker = self.worker(id);
        let is_new = number == 0 || number > worker.reports;
        if is_new {
            worker.reports = number;
        }
        is_new
    }

    /// Queues a command for a worker, to be sent when the worker next asks.
    pub fn command(&mut self, id: WorkerId, command: Command) -> Dirty {
        self.worker(id).commands.push(command);
        Dirty::worker(id)
    }

    /// Tells a worker to leave.
    pub fn order_to_leave(&mut self, id: WorkerId, reason: LeaveReason) -> Dirty {
        self.worker(id).leaving = Some(reason);
        self.command(id, Command::Leave(reason))
    }

    /// Keeps a worker's request for commands until there are some. Returns the request that waited before.
    pub fn ask(&mut self, id: WorkerId, poll: PendingPoll) -> (Option<PendingPoll>, Dirty) {
        let worker = self.worker(id);
        let older = worker.poll.replace(poll);
        // A worker that asks although it was told to leave has lost that reply, so tell it again. But workers
        // keep asking a coordinator that is shutting down, until it is gone.
        if let Some(reason) = worker.leaving.filter(|reason| *reason != LeaveReason::CoordinatorGoes)
            && !worker.commands.contains(&Command::Leave(reason))
        {
            worker.commands.push(Command::Leave(reason));
        }
        (older, Dirty::worker(id))
    }

    /// Takes the commands of a worker that asks for commands, with its request, which waits until
    /// [`Members::answered`].
    pub fn take_commands(&mut self, id: WorkerId) -> Option<(PendingPoll, Vec<Command>)> {
        let worker = self.worker(id);
        let poll = worker.poll?;
        Some((poll, std::mem::take(&mut worker.commands)))
    }

    /// Records that a worker's request for commands is answered.
    pub fn answered(&mut self, id: WorkerId) {
        self.worker(id).poll = None;
    }

    /// Takes the requests for commands that have waited for longer than `longest`.
    pub fn take_expired(&mut self, now: Millis, longest: Duration) -> Vec<PendingPoll> {
        let is_over = |poll: &mut PendingPoll| now.since(poll.since) > longest;
        self.known.values_mut().filter_map(|worker| worker.poll.take_if(is_over)).collect()
    }

    /// Marks a worker to leave once others hold its files.
    pub fn drain(&mut self, id: WorkerId) -> Dirty {
        self.worker(id).draining = true;
        Dirty::owners()
    }

    /// Quarantines a worker that computes wrong files: it computes nothing any more, and leaves once others
    /// hold its files.
    pub fn quarantined(&mut self, id: WorkerId) -> Dirty {
        self.worker(id).is_set_aside = true;
        self.drain(id)
    }

    /// Undoes the draining of workers that are not wrong, if no other worker stays: they were to leave only
    /// because others would stay. Returns these workers.
    pub fn take_drains_back(&mut self) -> (Vec<WorkerId>, Dirty) {
        let is_kept = |worker: &Worker| worker.draining && !worker.is_set_aside && worker.leaving.is_none();
        if self.alive().any(|(_, worker)| worker.is_staying()) {
            return (Vec::new(), Dirty::default());
        }
        let kept: Vec<WorkerId> =
            self.iter().filter(|(_, worker)| is_kept(worker)).map(|(id, _)| id).collect();
        kept.iter().for_each(|&id| self.worker(id).draining = false);
        let dirty = Dirty::owners().only_if(!kept.is_empty());
        (kept, dirty)
    }

    /// Records a success of a worker, which ends its failures in a row.
    pub fn note_success(&mut self, id: WorkerId) {
        self.worker(id).strikes = 0;
    }

    /// Counts a failure of a worker. After several failures in a row the worker backs off: returns their
    /// number and the length of the backoff.
    pub fn strike(&mut self, now: Millis, id: WorkerId) -> (Option<(u32, Duration)>, Dirty) {
        let worker = self.worker(id);
        if is_of_one_burst(worker.struck, now) {
            return (None, Dirty::default());
        }
        worker.struck = Some(now);
        worker.strikes += 1;
        let Some(doublings) = worker.strikes.checked_sub(MAX_STRIKES) else {
            return (None, Dirty::default());
        };
        let rest = (REST * 2_u32.pow(doublings.min(8))).min(MAX_BACKOFF);
        worker.backoff_until = now.after(rest);
        (Some((worker.strikes, rest)), Dirty::owners())
    }

    /// Lets a worker back off: it gets nothing until then, and others take over its tasks.
    pub fn rest(&mut self, id: WorkerId, until: Millis) -> Dirty {
        self.worker(id).backoff_until = until;
        Dirty::owners()
    }

    /// Ends the backoffs that are over.
    pub fn end_rests(&mut self, now: Millis) -> Dirty {
        let mut is_over = false;
        for worker in self.known.values_mut() {
            if worker.backoff_until != Millis(0) && worker.backoff_until <= now {
                worker.backoff_until = Millis(0);
                is_over = true;
            }
        }
        Dirty::owners().and(Dirty::targets()).only_if(is_over)
    }

    /// Counts a failure of a worker to reach a peer. Returns whether the pair was marked because of it, and
    /// was not before.
    pub fn note_unreached(
        &mut self,
        now: Millis,
        id: WorkerId,
        peer: WorkerId,
        message: &str,
    ) -> (bool, Dirty) {
        let unreached = self.worker(id).unreached.entry(peer).or_default();
        let was_marked = unreached.is_marked(now);
        let is_marked = unreached.count(now, message);
        (is_marked && !was_marked, Dirty::owners().only_if(is_marked))
    }

    /// Lets marked pairs be tried again after their time.
    pub fn retry_peers(&mut self, now: Millis) -> Dirty {
        let all = self.known.values_mut().flat_map(|worker| worker.unreached.values_mut());
        let retried = all.filter_map(|unreached| unreached.retry(now).then_some(())).count();
        Dirty::owners().and(Dirty::targets()).only_if(retried > 0)
    }

    /// Records whether no holder of a file that tasks read is within a worker's reach.
    pub fn set_cut_off(&mut self, id: WorkerId, is_cut_off: bool) {
        self.worker(id).is_cut_off = is_cut_off;
    }

    /// Panics if sessions and workers contradict each other.
    #[cfg(test)]
    pub fn check(&self) {
        let mut alive = 0;
        for (id, worker) in self.iter() {
            let Presence::Alive(session) = worker.presence else { continue };
            assert_eq!(self.by_session.get(&session), Some(&id), "owner of session {session:?}");
            alive += 1;
        }
        assert_eq!(self.by_session.len(), alive, "sessions of workers that are gone: {:?}", self.by_session);
        for (id, worker) in self.iter().filter(|(_, worker)| !worker.is_alive()) {
            assert!(worker.poll.is_none(), "{id} is gone, but asks for commands");
        }
    }
}

impl Index<WorkerId> for Members {
    type Output = Worker;

    fn index(&self, id: WorkerId) -> &Worker {
        &self.known[&id]
    }
}

/// A worker's request that waits for commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPoll {
    /// The request.
    pub request: RequestId,
    /// Number of tasks that the worker can take.
    pub tasks: u32,
    /// The version of the holder map that the worker has.
    pub version: u64,
    /// When the request arrived.
    pub since: Millis,
}

impl Worker {
    /// Returns a worker that is known from an earlier epoch.
    fn known(name: String, address: String) -> Self {
        Self {
            name,
            address,
            superseded: None,
            threads: 1,
            kernel: String::new(),
            presence: Presence::Reconnecting,
            registration: None,
            knows_session: false,
            heard: Millis(0),
            progress: Progress::default(),
            moved: Millis(0),
            rate: Rate::default(),
            draining: false,
            is_set_aside: false,
            backoff_until: Millis(0),
            strikes: 0,
            struck: None,
            unreached: BTreeMap::new(),
            is_cut_off: false,
            commands: Vec::new(),
            poll: None,
            reports: 0,
            leaving: None,
        }
    }

    /// Returns whether a registration with these numbers of a process and of the registration is outdated: a
    /// later one of the same process has arrived, or the worker has left, or has used the session of this
    /// very registration before the session was lost. A message of an earlier process is not distinguished
    /// from one of a new process; the present process then registers again.
    fn has_passed(&self, (process, number): (u64, u64)) -> bool {
        self.registration.is_some_and(|(last_process, last)| {
            let is_over = match self.presence {
                Presence::Alive(_) | Presence::Reconnecting => false,
                Presence::Lost => self.knows_session,
                Presence::Left => true,
            };
            process == last_process && (number < last || number == last && is_over)
        })
    }

    /// Returns whether the worker has a session, and if not, why.
    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// Returns whether the worker's session lasts.
    pub fn is_alive(&self) -> bool {
        matches!(self.presence, Presence::Alive(_))
    }

    /// Returns whether the worker is alive and is not to leave.
    pub fn is_staying(&self) -> bool {
        self.is_alive() && !self.draining && self.leaving.is_none()
    }

    /// Returns whether the worker can compute shards: it is willing, and can reach all files that tasks read.
    pub fn is_able(&self, now: Millis) -> bool {
        self.is_willing(now) && !self.is_cut_off
    }

    /// Returns whether the worker can take copies: it stays, and is not in backoff.
    pub fn is_willing(&self, now: Millis) -> bool {
        self.is_staying() && self.backoff_until <= now
    }

    /// Returns whether the worker has had commands for this time, and made no progress on them.
    pub fn is_stuck(&self, now: Millis, time: Duration) -> bool {
        !self.progress.underway.is_empty() && now.since(self.moved) >= time
    }

    /// Returns whether a peer is marked as unreachable for this worker.
    pub fn cannot_reach(&self, peer: WorkerId, now: Millis) -> bool {
        self.unreached.get(&peer).is_some_and(|unreached| unreached.is_marked(now))
    }
}
