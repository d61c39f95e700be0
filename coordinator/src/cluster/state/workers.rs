//! The workers, and who is there.

use crate::cluster::event::{LeaveReason, Millis, Order, Progress, RequestId};
use crate::cluster::rate::RecentRate;
use fathom_proto::Session;
use fathom_run::WorkerId;
use std::collections::BTreeMap;
use std::ops::Index;

/// Whether a worker is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Its session lasts.
    Alive(Session),
    /// It was there in an earlier life of the coordinator, and may come back at any moment.
    Awaited,
    /// It was silent for longer than its lease.
    Lost,
    /// It has left.
    Left,
}

/// A worker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worker {
    /// The name that people read.
    pub name: String,
    /// The address at which peers reach the worker.
    pub address: String,
    /// Kernel threads.
    pub threads: u32,
    /// What computes; empty for one that is known from before.
    pub kernel: String,
    presence: Presence,
    /// When it was heard last.
    pub heard: Millis,
    /// How far it is.
    pub progress: Progress,
    /// How fast it is.
    pub rate: RecentRate,
    /// Whether it shall leave when others hold all that it holds.
    pub draining: bool,
    /// Whether an audit has shown that it makes wrong files.
    pub is_set_aside: bool,
    /// Until when it gets nothing to make or to keep.
    pub rests_until: Millis,
    /// Its failures since its last success.
    pub strikes: u32,
    /// Peers that it could not reach.
    pub unreached: BTreeMap<WorkerId, Unreached>,
    /// Whether tasks read files that no peer within its reach has.
    pub is_cut_off: bool,
    /// Orders that wait until it asks.
    pub orders: Vec<Order>,
    /// Its request that waits for orders.
    pub poll: Option<PendingPoll>,
    /// The number of its last report in this session.
    pub reports: u64,
    /// Why it was told to leave, if it was.
    pub leaving: Option<LeaveReason>,
}

/// All workers that were ever there. Those whose sessions last are there.
#[derive(Clone, Debug, Default)]
pub struct Workers {
    known: BTreeMap<WorkerId, Worker>,
    by_session: BTreeMap<Session, WorkerId>,
}

impl Workers {
    /// A worker, if it was ever there.
    pub fn get(&self, id: WorkerId) -> Option<&Worker> {
        self.known.get(&id)
    }

    /// A worker, if it was ever there.
    pub fn get_mut(&mut self, id: WorkerId) -> Option<&mut Worker> {
        self.known.get_mut(&id)
    }

    /// All workers.
    pub fn iter(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.known.iter().map(|(id, worker)| (*id, worker))
    }

    /// All workers.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (WorkerId, &mut Worker)> {
        self.known.iter_mut().map(|(id, worker)| (*id, worker))
    }

    /// Those who are there.
    pub fn alive(&self) -> impl Iterator<Item = (WorkerId, &Worker)> {
        self.iter().filter(|(_, worker)| worker.is_alive())
    }

    /// The worker of a session, if it lasts.
    pub fn of_session(&self, session: Session) -> Option<WorkerId> {
        self.by_session.get(&session).copied()
    }

    /// The worker that its peers reach at an address.
    pub fn at_address(&self, address: &str) -> Option<WorkerId> {
        self.alive().find(|(_, worker)| worker.address == address).map(|(id, _)| id)
    }

    /// Adds one, whose session begins if it has one. A session of the same worker ends.
    pub fn insert(&mut self, id: WorkerId, worker: Worker) {
        if let Presence::Alive(session) = worker.presence {
            self.by_session.insert(session, id);
        }
        if let Some(Presence::Alive(session)) = self.known.insert(id, worker).map(|before| before.presence) {
            self.by_session.remove(&session);
        }
    }

    /// Ends the session of a worker.
    ///
    /// # Panics
    /// If there was never such a one.
    pub fn end_session(&mut self, id: WorkerId, presence: Presence) {
        let worker = self.known.get_mut(&id).expect("workers that were named once stay known");
        if let Presence::Alive(session) = std::mem::replace(&mut worker.presence, presence) {
            self.by_session.remove(&session);
        }
    }

    /// Panics if sessions and workers contradict each other.
    #[cfg(test)]
    pub fn check(&self) {
        let sessions = self.iter().filter_map(|(id, worker)| match worker.presence {
            Presence::Alive(session) => Some((session, id)),
            _ => None,
        });
        assert_eq!(sessions.collect::<BTreeMap<_, _>>(), self.by_session);
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
    /// How often.
    pub failures: u32,
    /// Until when the peer is not tried.
    pub until: Millis,
    /// What the worker said last.
    pub message: String,
}

/// A worker's request that waits for orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PendingPoll {
    /// The request.
    pub request: RequestId,
    /// How many tasks it would take.
    pub tasks: u32,
    /// The version of the holders that it knows.
    pub version: u64,
    /// Since when it waits.
    pub since: Millis,
}

impl Worker {
    /// One that is known from an earlier life of the coordinator.
    pub(super) fn known(name: String, address: String) -> Self {
        Self {
            name,
            address,
            threads: 1,
            kernel: String::new(),
            presence: Presence::Awaited,
            heard: Millis(0),
            progress: Progress::default(),
            rate: RecentRate::default(),
            draining: false,
            is_set_aside: false,
            rests_until: Millis(0),
            strikes: 0,
            unreached: BTreeMap::new(),
            is_cut_off: false,
            orders: Vec::new(),
            poll: None,
            reports: 0,
            leaving: None,
        }
    }

    /// One that has just registered.
    pub fn registered(
        name: String,
        address: String,
        threads: u32,
        kernel: String,
        session: Session,
        now: Millis,
    ) -> Self {
        let presence = Presence::Alive(session);
        Self { threads, kernel, presence, heard: now, ..Self::known(name, address) }
    }

    /// Whether it is there, and if not, why.
    pub fn presence(&self) -> Presence {
        self.presence
    }

    /// Whether its session lasts.
    pub fn is_alive(&self) -> bool {
        matches!(self.presence, Presence::Alive(_))
    }

    /// Whether it is there and stays.
    pub fn is_staying(&self) -> bool {
        self.is_alive() && !self.draining && self.leaving.is_none()
    }

    /// Whether it can make files: it is there, and reaches all that tasks read.
    pub fn is_able(&self, now: Millis) -> bool {
        self.is_willing(now) && !self.is_cut_off
    }

    /// Whether it can make and keep files.
    pub fn is_willing(&self, now: Millis) -> bool {
        self.is_staying() && self.rests_until <= now
    }
}
