//! The workers of the simulation: processes that start and end, tasks, copies, disks.

use super::*;

impl Simulation {
    pub(super) fn start_worker(&mut self, worker: usize) {
        if self.workers[worker].process.is_some() {
            return;
        }
        let of = &mut self.workers[worker];
        of.life += 1;
        let (session, actions) = Session::begin(of.threads);
        of.process = Some(Process {
            session,
            began: self.now,
            holders: Arc::default(),
            calls: BTreeMap::new(),
            last_call: 0,
            has_registered: false,
            wake: None,
            is_halted: false,
            queue: VecDeque::new(),
            busy: 0,
            last_words: None,
        });
        self.carry_out(worker, actions);
    }

    /// Ends the process of a worker, and schedules a new one.
    pub(super) fn end_worker(&mut self, worker: usize, most: u64) {
        self.workers[worker].process = None;
        self.workers[worker].life += 1;
        self.later(100, most, Happening::StartWorker(worker));
    }

    pub(super) fn step(&mut self, worker: usize, input: Input) {
        let now = self.now;
        let Some(process) = &mut self.workers[worker].process else { return };
        let actions = process.session.step(Duration::from_millis(now - process.began), input);
        self.carry_out(worker, actions);
        let life = self.workers[worker].life;
        let Some(process) = &mut self.workers[worker].process else { return };
        let wake = process.session.wake().map(|wake| process.began + wake.as_millis() as u64 + 1);
        if wake != process.wake {
            process.wake = wake;
            if let Some(wake) = wake {
                self.at(wake.max(now + 1), Happening::Inside(worker, life, Inside::Wake));
            }
        }
    }

    pub(super) fn carry_out(&mut self, worker: usize, actions: Vec<Action>) {
        let Rules { keep, shared_store, .. } = self.coordinator.rules;
        let life = self.workers[worker].life;
        for action in actions {
            let Some(process) = &mut self.workers[worker].process else { return };
            match action {
                Action::Register => {
                    let stored =
                        |(task, file): (Task, DiskFile)| StoredFile { task, digest: Some(file.digest(task)) };
                    let inventory = self.files(worker).iter().map(stored).collect();
                    self.call(worker, Request::Register(inventory));
                }
                Action::Beat { session, underway } => self.call(worker, Request::Beat(session, underway)),
                Action::Ask { number, session, tasks, holders_version } => {
                    let version = match self.planted {
                        Some(Planted::StaleHolders) => process.holders.version,
                        None => holders_version,
                    };
                    self.call(worker, Request::Ask(number, session, tasks, version));
                }
                Action::Report { session, number, outcomes } => {
                    self.call(worker, Request::Report(session, number, outcomes));
                }
                Action::UseHolders(holders) => {
                    if self.planted.is_none() || holders.version != 0 {
                        process.holders = holders;
                    }
                }
                Action::KeepOnly(_) if shared_store => {}
                Action::KeepOnly(needed) => {
                    let oldest = needed.iter().min();
                    self.files_mut(worker).retain(|task| {
                        keep == Keep::All || oldest.is_none_or(|&oldest| task.depth >= oldest)
                    });
                }
                Action::Compute(task) => {
                    let work = Work { task, audit: false, afresh: false };
                    self.soon(Happening::Inside(worker, life, Inside::Prepared(work)));
                }
                Action::Recompute(task) => {
                    let work = Work { task, audit: false, afresh: true };
                    self.soon(Happening::Inside(worker, life, Inside::Prepared(work)));
                }
                Action::Audit(task, _) => {
                    let work = Work { task, audit: true, afresh: false };
                    self.soon(Happening::Inside(worker, life, Inside::Prepared(work)));
                }
                Action::Copy(file, from) => {
                    self.soon(Happening::Inside(worker, life, Inside::Copied(file, from)));
                }
                Action::Discard(file) => self.soon(Happening::Inside(worker, life, Inside::Discarded(file))),
                Action::Release(file) => {
                    assert!(
                        self.coordinator.journal.is_given_back(file),
                        "{file:?} is deleted, and still read"
                    );
                    self.remove(worker, file);
                }
                Action::RetireLayer(depth) => {
                    let done = self.coordinator.journal.counts.len() as u32;
                    assert!(depth.0 + 3 <= done, "depth {depth} is retired, and still read");
                    self.files_mut(worker).retain(|task| keep == Keep::All || task.depth > depth);
                }
                Action::Halt => process.is_halted = true,
                Action::Finish { session: 0, .. } => return self.end_worker(worker, 5000),
                Action::Finish { session, number, outcomes, .. } => {
                    process.last_words = Some(VecDeque::from([Request::Leave(session)]));
                    process.calls.retain(|_, call| matches!(call.request, Request::Report(..)));
                    self.call(worker, Request::Report(session, number, outcomes));
                }
            }
        }
    }

    pub(super) fn inside(&mut self, worker: usize, life: u32, inside: Inside) {
        let of = &self.workers[worker];
        if of.life != life || of.process.is_none() {
            return;
        }
        if of.asleep_until > self.now {
            return self.at(of.asleep_until, Happening::Inside(worker, life, inside));
        }
        let took = Some(Duration::from_millis(100));
        match inside {
            Inside::Wake => {
                if let Some(process) = &mut self.workers[worker].process {
                    process.wake = None;
                }
                self.step(worker, Input::Time);
            }
            Inside::Prepared(work @ Work { task, audit, .. }) => match self.prepare(worker, task) {
                Ok(()) => {
                    if let Some(process) = &mut self.workers[worker].process {
                        process.queue.push_back(work);
                    }
                    self.begin_tasks(worker);
                }
                Err(failure) => {
                    let result = Err(failure);
                    self.step(worker, Input::TaskEnded { task, audit, result, took: None });
                }
            },
            Inside::Computed(work @ Work { task, audit, .. }) => {
                if let Some(process) = &mut self.workers[worker].process {
                    process.busy -= 1;
                }
                let result = self.compute(worker, work).map(|(file, is_found)| match is_found {
                    true => Done::Found(file.report(task)),
                    false => Done::Made(file.report(task)),
                });
                self.step(worker, Input::TaskEnded { task, audit, result, took });
                self.begin_tasks(worker);
            }
            Inside::Copied(stored @ StoredFile { task, .. }, from) => {
                let copied = |file: DiskFile| Copied { bytes: 1000, digest: file.digest(task) };
                let result = self.copy(worker, stored, &from).map(|file| Done::Copied(copied(file)));
                self.step(worker, Input::CopyEnded { task, result });
            }
            Inside::Discarded(StoredFile { task, digest }) => {
                let is_meant = |file: &DiskFile| digest.is_none_or(|digest| digest == file.digest(task));
                let file = self.files(worker).get(task);
                let whole = file.filter(|file| !file.is_damaged && is_meant(file));
                if whole.is_none() {
                    self.remove(worker, task);
                    // A late command, from before the worker had this file, deletes what the disk has damaged
                    // since.
                    if file.is_some_and(DiskFile::is_spoiled) {
                        self.lost.insert((self.disk(worker), task));
                    }
                }
                let whole = whole.map(|file| Copied { bytes: 1000, digest: file.digest(task) });
                self.step(worker, Input::Discarded { task, whole });
            }
        }
    }

    pub(super) fn begin_tasks(&mut self, worker: usize) {
        let threads = self.workers[worker].threads;
        let life = self.workers[worker].life;
        while let Some(process) = &mut self.workers[worker].process
            && process.busy < threads
            && let Some(work) = process.queue.pop_front()
        {
            process.busy += 1;
            let most = if self.rng.u8(..) < 16 { 5000 } else { 300 };
            self.later(10, most, Happening::Inside(worker, life, Inside::Computed(work)));
        }
    }

    /// Returns the result of a task, and whether it existed already. An audit neither reads nor writes the
    /// file of its shard.
    pub(super) fn compute(&mut self, worker: usize, work: Work) -> Result<(DiskFile, bool), Failure> {
        let Work { task, audit, afresh } = work;
        let there = self.files(worker).get(task);
        let lie = match &self.workers[worker] {
            Worker { lies: false, .. } => 0,
            // Odd shards are wrong at even depths, and even ones at odd depths.
            Worker { is_consistent: true, .. } => (task.depth.0 + task.shard.0) % 2,
            _ if self.rng.bool() => self.rng.u32(2..),
            _ => 0,
        };
        // The task may find a complete file.
        let found = there.filter(|file| !audit && !afresh && !file.is_damaged && !file.is_other);
        let file = found.unwrap_or(DiskFile { lie, ..DiskFile::default() });
        if !audit {
            self.write(worker, task, file)?;
        }
        Ok((file, found.is_some()))
    }

    /// Fetches all inputs of a task.
    pub(super) fn prepare(&mut self, worker: usize, task: Task) -> Result<(), Failure> {
        let Some(process) = &self.workers[worker].process else { return Err(Failure::Stopped) };
        if process.is_halted {
            return Err(Failure::Stopped);
        }
        let holders = Arc::clone(&process.holders);
        let shared_store = self.coordinator.rules.shared_store;
        let mut depths = self.coordinator.rules.lookback.below(task.depth);
        let newest = depths.next();
        for depth in newest.into_iter().chain(depths) {
            let own = Task { depth, shard: task.shard };
            match self.files(worker).get(own) {
                None if shared_store => return Err(damaged(own, None)),
                None => drop(self.copy(worker, holders.stored(own), &holders.of(own))?),
                // In a shared store another worker may have replaced the file.
                Some(file) if shared_store && is_noticed(own, file, &holders) => {
                    return Err(damaged(own, None));
                }
                Some(_) => {}
            }
        }
        let shards = (0..self.coordinator.rules.shards).map(ShardId);
        for file in
            newest.into_iter().flat_map(|depth| shards.clone().map(move |shard| Task { depth, shard }))
        {
            match self.files(worker).get(file) {
                Some(stored) if !is_noticed(file, stored, &holders) => {}
                Some(_) => return Err(damaged(file, None)),
                None if shared_store => return Err(damaged(file, None)),
                None => drop(self.fetch(worker, holders.stored(file), &holders.of(file))?),
            }
        }
        Ok(())
    }

    /// Reads a file from a peer.
    pub(super) fn fetch(
        &self,
        worker: usize,
        StoredFile { task: file, digest }: StoredFile,
        addresses: &[String],
    ) -> Result<DiskFile, Failure> {
        let is_meant = |stored: &DiskFile| {
            !stored.is_damaged && digest.is_none_or(|digest| digest == stored.digest(file))
        };
        let mut failure = Failure::Unreachable {
            file,
            addresses: addresses.to_vec(),
            message: "no worker holds it".into(),
        };
        for peer in (0..self.workers.len()).filter(|&peer| addresses.contains(&address(peer))) {
            let of = &self.workers[peer];
            let is_there = of.process.is_some() && of.asleep_until <= self.now;
            if !is_there || !self.cuts.connected(Host::Worker(worker), Host::Worker(peer), self.now) {
                continue;
            }
            match self.files(peer).get(file) {
                Some(stored) if is_meant(&stored) => return Ok(stored),
                Some(_) => failure = damaged(file, Some(address(peer))),
                None => failure = damaged(file, Some(address(peer))),
            }
        }
        Err(failure)
    }

    pub(super) fn copy(
        &mut self,
        worker: usize,
        stored: StoredFile,
        from: &[String],
    ) -> Result<DiskFile, Failure> {
        let StoredFile { task, digest } = stored;
        let is_meant =
            |file: &DiskFile| !file.is_damaged && digest.is_none_or(|digest| digest == file.digest(task));
        if let Some(file) = self.files(worker).get(task).filter(|file| is_meant(file)) {
            return Ok(file);
        }
        let file = self.fetch(worker, stored, from)?;
        self.write(worker, task, file).map(|()| file)
    }

    pub(super) fn write(&mut self, worker: usize, task: Task, file: DiskFile) -> Result<(), Failure> {
        if self.workers[worker].process.as_ref().is_none_or(|process| process.is_halted) {
            return Err(Failure::Stopped);
        }
        let (now, disk) = (self.now, self.disk(worker));
        self.disks[disk].write(now, task, file)?;
        self.lost.remove(&(disk, task));
        Ok(())
    }

    /// Deletes a file that a worker sees.
    pub(super) fn remove(&mut self, worker: usize, task: Task) {
        let disk = self.disk(worker);
        self.disks[disk].remove(task);
        self.lost.remove(&(disk, task));
    }
}

/// Returns whether a worker that opens a file notices that the file is not the reported one.
///
/// # Panics
/// If the file is not, and the worker cannot notice.
fn is_noticed(task: Task, file: DiskFile, holders: &Holders) -> bool {
    let reported = holders.stored(task).digest;
    assert!(file.lie == 0 || reported.is_some(), "{task:?} is wrong, and is read");
    !file.is_right() && (file.is_damaged || reported.is_none_or(|reported| reported != file.digest(task)))
}

fn damaged(file: Task, address: Option<String>) -> Failure {
    Failure::Damaged { file, address, message: "bits".into() }
}
