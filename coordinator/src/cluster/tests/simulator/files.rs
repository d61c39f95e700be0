//! The files of a simulated worker, in one store or spread over several, or of all workers.

use crate::cluster::state::digest_of;
use crate::cluster::tests::table::report;
use fathom_engine::run::stores::number_of;
use fathom_engine::run::{ShardReport, Task};
use fathom_layer::Digest;
use fathom_proto::Failure;
use std::collections::BTreeMap;

/// A file on a worker's disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskFile {
    /// Some bits are not as written; every reader notices.
    pub(super) is_damaged: bool,
    /// The disk returns another whole file, such as that of a test run.
    pub(super) is_other: bool,
    /// A wrong file of a worker that lies, with a number that differs each time; 0 if the file is right.
    pub(super) lie: u32,
}

impl DiskFile {
    pub(super) fn is_right(self) -> bool {
        self == Self::default()
    }

    /// Returns whether the disk has changed the file.
    pub(super) fn is_spoiled(self) -> bool {
        self.is_damaged || self.is_other
    }

    /// Returns the report of a task that finds this file.
    pub(super) fn report(self, task: Task) -> ShardReport {
        let right = report(task.depth.0, task.shard.0);
        match (self.is_other, self.lie) {
            (true, _) => ShardReport { checksums: vec![Digest::of(b"another file")], ..right },
            (false, 0) => right,
            (false, lie) => ShardReport { checksums: vec![Digest::of(&lie.to_le_bytes())], ..right },
        }
    }

    /// Returns the digest of its checksums.
    pub(super) fn digest(self, task: Task) -> Digest {
        digest_of(&self.report(task))
    }
}

/// One of the stores of a worker.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Store {
    /// There is no room before this time.
    pub(super) full_until: u64,
    /// Writes fail before this time.
    pub(super) fails_until: u64,
    /// The process has found that the store cannot be read, and no longer uses it.
    pub(super) is_gone: bool,
}

/// The files of a worker, or of all workers. What lies in a store that is gone cannot be seen.
#[derive(Debug)]
pub(super) struct Files {
    all: BTreeMap<Task, DiskFile>,
    pub(super) stores: Vec<Store>,
}

impl Files {
    pub(super) fn in_stores(number: usize) -> Self {
        Self { all: BTreeMap::new(), stores: vec![Store::default(); number] }
    }

    /// Returns the number of the store in which the file of a task lies, and the number of stores.
    pub(super) fn place(&self, task: Task) -> (u32, u32) {
        let stores = self.stores.len() as u32;
        (number_of(task.shard, stores), stores)
    }

    fn is_seen(&self, task: Task) -> bool {
        !self.stores[self.place(task).0 as usize].is_gone
    }

    pub(super) fn get(&self, task: Task) -> Option<DiskFile> {
        self.all.get(&task).copied().filter(|_| self.is_seen(task))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Task, DiskFile)> {
        self.all.iter().map(|(&task, &file)| (task, file)).filter(|&(task, _)| self.is_seen(task))
    }

    pub(super) fn insert(&mut self, task: Task, file: DiskFile) {
        self.all.insert(task, file);
    }

    /// Returns whether there is a file that says what a report says.
    pub(super) fn supports(&self, report: &ShardReport) -> bool {
        self.get(report.task).is_some_and(|file| file.report(report.task) == *report)
    }

    /// Writes a file.
    pub(super) fn write(&mut self, now: u64, task: Task, file: DiskFile) -> Result<(), Failure> {
        let (number, stores) = self.place(task);
        let store = self.stores[number as usize];
        let is_full = store.full_until > now;
        if !is_full && store.fails_until <= now && !store.is_gone {
            self.insert(task, file);
            return Ok(());
        }
        let message = "cannot write".to_owned();
        Err(match stores {
            1 if is_full => Failure::DiskFull(message),
            1 => Failure::Other(message),
            _ => Failure::Store { number, stores, is_full, message },
        })
    }

    /// Deletes a file, if it can be seen.
    pub(super) fn remove(&mut self, task: Task) {
        self.retain(|other| other != task);
    }

    /// Deletes the files that can be seen and are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(Task) -> bool) {
        let stores = self.stores.clone();
        let is_gone = |task: Task| stores[number_of(task.shard, stores.len() as u32) as usize].is_gone;
        self.all.retain(|&task, _| is_gone(task) || keep(task));
    }
}
