//! What the coordinator knows of a worker.

use crate::cluster::event::{LeaveReason, Millis, Order, Progress, RequestId};
use crate::cluster::rate::RecentRate;
use fathom_proto::Session;
use fathom_run::{Task, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

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
    /// For people.
    pub name: String,
    /// Where its peers reach it.
    pub address: String,
    /// Kernel threads.
    pub threads: u32,
    /// What computes; empty for one that is known from before.
    pub kernel: String,
    /// Whether it is there.
    pub presence: Presence,
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
    /// The tasks that it is at.
    pub running: BTreeSet<Task>,
    /// The tasks that it should make and that nobody has begun.
    pub queue: BTreeSet<Task>,
    /// The files that it has, whether it is there or not.
    pub holds: BTreeSet<Task>,
    /// The copies that were ordered from it, those that failed among them.
    pub coming: BTreeSet<Task>,
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
            running: BTreeSet::new(),
            queue: BTreeSet::new(),
            holds: BTreeSet::new(),
            coming: BTreeSet::new(),
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

    /// Whether it is there and stays.
    pub fn is_staying(&self) -> bool {
        matches!(self.presence, Presence::Alive(_)) && !self.draining && self.leaving.is_none()
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
