//! The faults, and the invariants that hold despite them.

use super::*;

impl Simulation {
    pub(super) fn fault(&mut self) {
        let worker = self.rng.usize(..self.workers.len());
        // Each seed enables only a few kinds of faults, so that rare combinations of two kinds come up.
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
            6 => {
                let until = self.now + self.rng.u64(1000..40_000);
                self.files_mut(worker).full_until = until;
            }
            7 => self.spoil(worker, None),
            8 => self.spoil(worker, Some(DiskFile { is_damaged: true, ..DiskFile::default() })),
            10 => self.spoil(worker, Some(DiskFile { is_other: true, ..DiskFile::default() })),
            9 => {
                let name = format!("w{worker}");
                self.person(|request| Event::Drain(request, name));
            }
            12 => {
                self.kill_coordinator(15_000);
                self.foreign_until = self.now + self.rng.u64(500..30_000);
            }
            13 => self.flipping = self.rng.u8(1..200),
            _ => match self.rng.bool() {
                true => self.person(Event::Stop),
                false if self.coordinator.asleep_until <= self.now => self.apply(Event::Terminate),
                false => {}
            },
        }
    }

    pub(super) fn person(&mut self, event: impl FnOnce(RequestId) -> Event) {
        if self.coordinator.state.is_none() || self.coordinator.asleep_until > self.now {
            return;
        }
        let request = self.request();
        self.waiting.insert(request, Sender { worker: usize::MAX, life: 0, call: 0, attempt: 0 });
        self.apply(event(request));
    }

    /// Makes a disk lose or change a file, if the run can recover: all layers are kept, or another known
    /// holder has the file.
    pub(super) fn spoil(&mut self, worker: usize, spoiled: Option<DiskFile>) {
        let Some(state) = &self.coordinator.state else { return };
        let is_whole = |at: usize, task: &Task| self.files(at).get(*task).is_some_and(|file| file.is_right());
        let elsewhere = |task: &Task| {
            let holders = state.files().holders(*task).filter(|&id| id != WorkerId::SHARED_STORE);
            let mut others = holders.map(|id| usize::from(id.0[0]) - 1).filter(|&other| other != worker);
            others.any(|other| is_whole(other, task))
        };
        let keeps_all = self.coordinator.rules.keep == Keep::All;
        let files: Vec<Task> = self
            .files(worker)
            .iter()
            .map(|(task, _)| task)
            .filter(|task| is_whole(worker, task) && (keeps_all || elsewhere(task)))
            .collect();
        let Some(&file) = self.rng.choice(&files) else { return };
        match spoiled {
            None => {
                let disk = self.disk(worker);
                self.disks[disk].remove(file);
                self.lost.insert((disk, file));
            }
            Some(spoiled) => self.files_mut(worker).insert(file, spoiled),
        }
    }

    pub(super) fn heal(&mut self) {
        self.cuts.heal();
        (self.lossy, self.doubling, self.flipping) = (0, 0, 0);
        self.foreign_until = self.foreign_until.min(self.now);
        self.coordinator.asleep_until = self.coordinator.asleep_until.min(self.now);
        for worker in &mut self.workers {
            worker.asleep_until = worker.asleep_until.min(self.now);
        }
        for files in &mut self.disks {
            files.full_until = files.full_until.min(self.now);
        }
    }

    /// Checks the coordinator's beliefs about the disks. The invariants of its state are checked wherever
    /// the state changes.
    pub(super) fn check(&self) {
        let Some(state) = &self.coordinator.state else { return };
        for (task, file) in state.files().iter() {
            for holder in &file.holders {
                let is_shared = *holder == WorkerId::SHARED_STORE;
                let worker = if is_shared { 0 } else { usize::from(holder.0[0]) - 1 };
                let is_retired =
                    self.coordinator.rules.keep != Keep::All && task.depth.0 + 2 < state.depth().0;
                // The session of a late registration, which no process has, ends soon.
                let number = self.workers[worker].process.as_ref().map(|process| process.session.number());
                let is_gone = match state.members().get(*holder).map(WorkerState::presence) {
                    Some(Presence::Alive(session)) => Some(session.0) != number,
                    Some(_) => true,
                    None => false,
                };
                assert!(
                    is_retired
                        || is_gone
                        || self.files(worker).get(task).is_some()
                        || self.lost.contains(&(self.disk(worker), task)),
                    "worker {worker} is believed to hold {task:?}"
                );
            }
        }
    }
}
