//! The invariants of a state between events. Tests call [`State::invariants`] after each event.

use crate::cluster::event::Millis;
use crate::cluster::parts::{Commit, HolderMap};
use crate::cluster::state::State;
use fathom_engine::run::{ShardId, Task};
use fathom_proto::WorkerId;

impl State {
    /// Returns what is committed.
    pub(in crate::cluster) fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Returns the holder map.
    pub(in crate::cluster) fn holder_map(&self) -> &HolderMap {
        &self.holder_map
    }

    /// Sets the share of audits, in millionths.
    pub(in crate::cluster) fn set_audit(&mut self, share: u32) {
        self.rules.audit = share;
    }

    /// Sets the size of a file, in bytes.
    pub(in crate::cluster) fn set_bytes(&mut self, task: Task, bytes: u64) {
        self.files.set_bytes(task, bytes);
    }

    /// Records that an audit by another worker agreed with a shard.
    pub(in crate::cluster) fn note_audited(&mut self, shard: ShardId) {
        self.scheduler.note_audited(shard);
    }

    /// Lets a worker back off until then.
    pub(in crate::cluster) fn rest_until(&mut self, id: WorkerId, until: Millis) {
        self.dirty += self.members.rest(id, until);
    }

    /// Panics if a table contradicts itself or another table.
    pub(in crate::cluster) fn check(&self) {
        self.tasks().check(|worker| self.members.is_alive(worker));
        self.files.check();
        self.members.check();
        let is_made = |task| self.tasks().is_made(task);
        self.audits.check(is_made, |worker| self.members.is_alive(worker));
        for (task, _) in self.tasks().iter().filter(|(_, state)| state.report().is_some()) {
            assert!(self.files.contains(task), "{task:?} is computed, but has no file");
        }
        for (id, _) in self.members.iter().filter(|(_, worker)| !worker.is_alive()) {
            assert!(self.files.coming_to(id).is_empty(), "{id} is gone, but copies are sent to it");
        }
        self.check_reconciled();
    }

    /// Panics if something has changed, and its consequences were not reconsidered.
    fn check_reconciled(&self) {
        if self.dirty.has_missing() {
            return;
        }
        assert_eq!(*self.files.missing(), self.find_missing(), "the missing files have changed");
        for task in self.scheduler.done() {
            assert!(self.is_done(task), "{task:?} is no longer done");
        }
        if self.ending().is_none() {
            assert_eq!(self.find_orphans(), [], "shards without a holder are not recomputed");
        }
    }
}
