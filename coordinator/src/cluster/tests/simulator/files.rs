//! The files of a simulated worker, or of all workers.

use crate::cluster::state::digest_of;
use crate::cluster::tests::harness::report;
use fathom_engine::run::{ShardReport, Task};
use fathom_layer::Digest;
use fathom_proto::Failure;
use std::collections::BTreeMap;

/// A file on a worker's disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct DiskFile {
    /// Some bits are not as written; every reader notices this.
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
            (true, _) => ShardReport { checksums: vec![Digest::new(b"another file")], ..right },
            (false, 0) => right,
            (false, lie) => ShardReport { checksums: vec![Digest::new(&lie.to_le_bytes())], ..right },
        }
    }

    /// Returns the digest of its checksums.
    pub(super) fn digest(self, task: Task) -> Digest {
        digest_of(&self.report(task))
    }
}

/// The files of a worker, or of all workers.
#[derive(Debug, Default)]
pub(super) struct Files {
    all: BTreeMap<Task, DiskFile>,
    /// The disk is full before this time.
    pub(super) full_until: u64,
}

impl Files {
    pub(super) fn get(&self, task: Task) -> Option<DiskFile> {
        self.all.get(&task).copied()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Task, DiskFile)> {
        self.all.iter().map(|(&task, &file)| (task, file))
    }

    pub(super) fn insert(&mut self, task: Task, file: DiskFile) {
        self.all.insert(task, file);
    }

    /// Returns whether there is a file that matches a report.
    pub(super) fn supports(&self, report: &ShardReport) -> bool {
        self.get(report.task).is_some_and(|file| file.report(report.task) == *report)
    }

    /// Writes a file.
    pub(super) fn write(&mut self, now: u64, task: Task, file: DiskFile) -> Result<(), Failure> {
        if self.full_until > now {
            return Err(Failure::DiskFull("cannot write".into()));
        }
        self.insert(task, file);
        Ok(())
    }

    /// Deletes a file.
    pub(super) fn remove(&mut self, task: Task) {
        self.all.remove(&task);
    }

    /// Deletes the files that are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(Task) -> bool) {
        self.all.retain(|&task, _| keep(task));
    }
}
