//! The workers and their sessions.

use crate::cluster::event::{LeaveReason, Millis, Order, Progress, RequestId};
use fathom_forecast::rate::Rate;
use fathom_proto::{Session, WorkerId};
use std::collections::BTreeMap;
use std::ops::Index;

/// Whether a worker has a session, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The session of the worker lasts.
    Alive(Session),
    /// The worker is known from an earlier epoch, and may register again at any moment.
    Awaited,
    /// The worker was silent for longer than its lease.
    Lost,
    /// The worker has left.
    Left,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The name that people read.
    pub name: String,
    /// The address at which peers reach the worker.
    pub address: String,
    /// The address of the session before, if it was another one.
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
    /// When the worker had last done something for its orders, or had none.
    pub moved: Millis,
    /// The speed of the worker, in states.
    pub rate: Rate<Millis>,
    /// Whether the worker leaves once others hold its files.
    pub draining: bool,
    /// Whether an audit has shown that the worker computes wrong files.
    pub is_set_aside: bool,
    /// Until this time the worker gets nothing to compute or to copy.
    pub rests_until: Millis,
    /// Number of failures since the last success.
    pub strikes: u32,
    /// When the last failure was counted.
    pub struck: Option<Millis>,
    /// Peers that the worker could not reach.
    pub unreached: BTreeMap<WorkerId, Unreached>,
    /// Whether a file that tasks read has no holder within the worker's reach.
    pub is_cut_off: bool,
    /// Orders that wait until the worker asks.
    pub orders: Vec<Order>,
    /// The worker's request that waits for orders.
    pub poll: Option<PendingPoll>,
    /// The number of the worker's last report in this session.
    pub reports: u64,
    /// Why the worker was told to leave, if it was.
    pub leaving: Option<LeaveReason>,
}

/// All workers that ever registered. A worker is alive while its session lasts.
#[derive(Clone, Debug, Default)]
pub struct Workers {
    known: BTreeMap<WorkerId, Worker>,
    by_session: BTreeMap<Session, WorkerId>,
}

impl Workers {
    /// Returns a worker, or `None` if it never registered.
    pub fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.known.get(&id)
    }

    /// Returns a worker, or `None` if it never registered.
    pub fn get_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.known.get_mut(&id)
    }

    /// Returns all workers.
    pub fn iter(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.known.iter().map(|(id, worker)| (*id, worker))
    }

    /// Returns all workers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (WorkerId, &mut Worker)> {
        self.known.iter_mut().map(|(id, worker)| (*id, worker))
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

    /// Adds a worker, or replaces it. The session of the new entry begins, and that of the replaced one ends.
    pub fn insert(&mut self, id: WorkerId, worker: Worker) {
        if let Presence::Alive(session) = worker.presence {
            self.by_session.insert(session, id);
        }
        if let Some(Presence::Alive(session)) = self.known.insert(id, worker).map(|before| before.presence) {
            self.by_session.remove(&session);
        }
    }

    /// Ends the session of a worker, for the reason `presence`.
    ///
    /// # Panics
    /// If no worker with this id ever registered.
    pub fn end_session(&mut self, id: WorkerId, presence: Presence) {
        let worker = self.known.get_mut(&id).expect("workers that were named once stay known");
        if let Presence::Alive(session) = std::mem::replace(&mut worker.presence, presence) {
            self.by_session.remove(&session);
        }
    }

    /// Panics if sessions and workers contradict each other.
    #[cfg(test)]
    pub fn check(&self) {
        let mut alive = 0;
        for (id, worker) in self.iter() {
            let Presence::Alive(session) = worker.presence else { continue };
            assert_eq!(self.by_session.get(&session), Some(&id), "whose session {session:?} is");
            alive += 1;
        }
        assert_eq!(self.by_session.len(), alive, "sessions of workers that are gone: {:?}", self.by_session);
        for (id, worker) in self.iter().filter(|(_, worker)| !worker.is_alive()) {
            assert!(worker.poll.is_none(), "{id} is gone, and asks for orders");
        }
    }
}

impl Index<WorkerId> for Workers {
    type Output = Worker;

    fn index(&self, id: WorkerId) -> &Worker {
        &self.known[&id]
    }
}

/// A peer that a worker could not reach.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unreached {
    /// Number of failures.
    pub failures: u32,
    /// When the last failure was counted.
    pub counted: Option<Millis>,
    /// Until this time the peer is not tried.
    pub until: Millis,
    /// The last message of the worker about it.
    pub message: String,
}

/// A worker's request that waits for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPoll {
    /// The request.
    pub request: RequestId,
    /// Number of tasks that the worker would take.
    pub tasks: u32,
    /// The version of the holder map that the worker has.
    pub version: u64,
    /// When the request arrived.
    pub since: Millis,
}

impl Worker {
    /// Returns a worker that is known from an earlier epoch.
    pub(super) fn known(name: String, address: String) -> Self {
        Self {
            name,
            address,
            superseded: None,
            threads: 1,
            kernel: String::new(),
            presence: Presence::Awaited,
            registration: None,
            knows_session: false,
            heard: Millis(0),
            progress: Progress::default(),
            moved: Millis(0),
            rate: Rate::default(),
            draining: false,
            is_set_aside: false,
            rests_until: Millis(0),
            strikes: 0,
            struck: None,
            unreached: BTreeMap::new(),
            is_cut_off: false,
            orders: Vec::new(),
            poll: None,
            reports: 0,
            leaving: None,
        }
    }

    /// Returns a worker that has just registered.
    pub fn registered(
        name: String,
        address: String,
        threads: u32,
        kernel: String,
        session: Session,
        now: Millis,
    ) -> Self {
        let presence = Presence::Alive(session);
        Self { threads, kernel, presence, heard: now, moved: now, ..Self::known(name, address) }
    }

    /// Returns whether a registration with these numbers of a process and of the registration comes too late:
    /// a later one of the same process has come, or the worker has left, or has used the session of this very
    /// registration before the session was lost. A message of an earlier process is not told apart from one
    /// of a new process; the present process then registers again.
    pub fn has_passed(&self, (process, number): (u64, u64)) -> bool {
        self.registration.is_some_and(|(last_process, last)| {
            let is_over = match self.presence {
                Presence::Alive(_) | Presence::Awaited => false,
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

    /// Returns whether the worker can compute shards: it is willing, and within reach of all files that tasks
    /// read.
    pub fn is_able(&self, now: Millis) -> bool {
        self.is_willing(now) && !self.is_cut_off
    }

    /// Returns whether the worker can take copies: it stays, and does not rest.
    pub fn is_willing(&self, now: Millis) -> bool {
        self.is_staying() && self.rests_until <= now
    }
}
