//! The invariants of a state between events. Tests call [`State::check`] after each event.

use crate::cluster::state::State;

impl State {
    /// Panics if a table contradicts itself or another table.
    pub(in crate::cluster) fn check(&self) {
        self.tasks.check(|worker| self.is_alive(worker));
        self.files.check();
        self.workers.check();
        let is_made = |task| self.tasks.get(task).is_some_and(|state| state.report().is_some());
        self.audits.check(is_made, |worker| self.is_alive(worker));
        for (task, _) in self.tasks.iter().filter(|(_, state)| state.report().is_some()) {
            assert!(self.files.contains(task), "{task:?} is made, and no file");
        }
        for (id, _) in self.workers.iter().filter(|(_, worker)| !worker.is_alive()) {
            assert!(self.files.coming_to(id).is_empty(), "{id} is gone, and copies come to it");
        }
    }
}
