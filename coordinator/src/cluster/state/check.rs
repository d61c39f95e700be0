//! What must hold of a state between events. Tests call [`State::check`] after each.

use crate::cluster::state::{Presence, State, TaskProgress};
use fathom_run::{Task, WorkerId};

impl State {
    /// Panics if two tables contradict each other.
    pub(in crate::cluster) fn check(&self) {
        self.check_tasks();
        self.check_files();
        self.check_workers();
        let is_made = |task: Task| {
            self.tasks.get(&task).is_some_and(|state| matches!(state.making, TaskProgress::Made(_)))
        };
        self.audits.check(is_made, |worker| self.is_alive(worker));
    }

    fn check_tasks(&self) {
        if self.unsettled.owners {
            // Nothing was dealt out yet.
            return;
        }
        for (task, state) in &self.tasks {
            assert!(task.depth <= self.depth, "{task:?} lies ahead of depth {}", self.depth);
            let owner = self.owners[task.shard.0 as usize].filter(|_| task.depth == self.depth);
            let queued = match owner {
                Some(owner) => self.workers[&owner].queue.contains(task),
                None => self.anyone.contains(task),
            };
            let running: Vec<&WorkerId> = self
                .workers
                .iter()
                .filter(|(_, worker)| worker.running.contains(task))
                .map(|(id, _)| id)
                .collect();
            match &state.making {
                TaskProgress::Waiting => assert!(queued && running.is_empty(), "{task:?} waits nowhere"),
                TaskProgress::Running(worker, _) => {
                    assert!(!queued && running == [worker], "{task:?} runs at {worker}, not at {running:?}");
                    assert!(self.is_alive(*worker), "{task:?} runs at {worker}, who is gone");
                }
                TaskProgress::Made(report) => {
                    assert!(!queued && running.is_empty(), "{task:?} is made, and still ordered");
                    assert_eq!(report.task, *task);
                    assert!(self.files.contains_key(task), "{task:?} is made, and no file");
                }
            }
        }
        let queued = self.workers.values().flat_map(|worker| &worker.queue).chain(&self.anyone);
        for task in queued {
            assert!(self.tasks.contains_key(task), "{task:?} waits, and is no task");
        }
        let of_layer = self.tasks.keys().filter(|task| task.depth == self.depth).count();
        assert_eq!(of_layer, self.rules.shards as usize, "the current layer lacks tasks");
    }

    fn check_files(&self) {
        for (task, file) in &self.files {
            for holder in file.holders.iter().filter(|holder| **holder != WorkerId::SHARED_STORE) {
                assert!(
                    self.workers[holder].holds.contains(task),
                    "{holder} does not know that it holds {task:?}"
                );
            }
        }
        for (id, worker) in &self.workers {
            for task in &worker.holds {
                assert!(self.files[task].holders.contains(id), "{task:?} does not know that {id} holds it");
            }
            for task in &worker.coming {
                assert!(self.copies.contains_key(&(*task, *id)), "{task:?} comes to {id} from nowhere");
            }
        }
        for (task, id) in self.copies.keys() {
            assert!(self.workers[id].coming.contains(task), "{id} does not know that {task:?} comes");
        }
    }

    fn check_workers(&self) {
        for (session, id) in &self.by_session {
            assert_eq!(self.workers[id].presence, Presence::Alive(*session));
        }
        for (id, worker) in &self.workers {
            match worker.presence {
                Presence::Alive(session) => assert_eq!(self.by_session.get(&session), Some(id)),
                _ => assert!(
                    worker.running.is_empty() && worker.coming.is_empty() && worker.poll.is_none(),
                    "{id} is gone, and has work"
                ),
            }
        }
    }
}
