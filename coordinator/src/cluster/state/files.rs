//! The files of the layers that are still read, and of the current one: who has them, and to whom copies
//! come.

use crate::cluster::event::Millis;
use fathom_layer::Digest;
use fathom_run::{Depth, ShardId, Task, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// A layer file, wherever it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldFile {
    /// Who has it, whether they are there or not.
    pub holders: BTreeSet<WorkerId>,
    /// Its bytes.
    pub bytes: u64,
    /// The digest of its cosets' checksums.
    pub digest: Digest,
}

/// A copy that was ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// The worker has last said so then, or was told to.
    Ordered(Millis),
    /// It failed, and is not ordered again before.
    Failed(Millis),
}

/// All files and copies, by file and by worker.
#[derive(Clone, Debug, Default)]
pub struct Files {
    known: BTreeMap<Task, HeldFile>,
    /// What each worker has, whether it is there or not.
    held: BTreeMap<WorkerId, BTreeSet<Task>>,
    copies: BTreeMap<(Task, WorkerId), CopyState>,
    /// The copies that were ordered from each worker, those that failed among them.
    coming: BTreeMap<WorkerId, BTreeSet<Task>>,
}

/// What a worker has that has nothing.
static NONE: BTreeSet<Task> = BTreeSet::new();

impl Files {
    /// Those of an earlier life of the coordinator.
    pub fn new(files: Vec<(Task, HeldFile)>) -> Self {
        let mut held: BTreeMap<WorkerId, BTreeSet<Task>> = BTreeMap::new();
        for (task, file) in &files {
            for holder in &file.holders {
                held.entry(*holder).or_default().insert(*task);
            }
        }
        Self { known: files.into_iter().collect(), held, ..Self::default() }
    }

    /// A file, if there is such a one.
    pub fn get(&self, task: Task) -> Option<&HeldFile> {
        self.known.get(&task)
    }

    /// Whether there is such a file.
    pub fn contains(&self, task: Task) -> bool {
        self.known.contains_key(&task)
    }

    /// All files, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Task, &HeldFile)> {
        self.known.iter().map(|(task, file)| (*task, file))
    }

    /// The files of a layer.
    pub fn of_layer(&self, depth: Depth) -> impl Iterator<Item = (ShardId, &HeldFile)> {
        let files = self.known.range(first(depth)..first(depth.next()));
        files.map(|(task, file)| (task.shard, file))
    }

    /// Who has a file, whether they are there or not.
    pub fn holders(&self, task: Task) -> impl Iterator<Item = WorkerId> {
        self.known.get(&task).into_iter().flat_map(|file| file.holders.iter().copied())
    }

    /// What a worker has, whether it is there or not.
    pub fn held_by(&self, worker: WorkerId) -> &BTreeSet<Task> {
        self.held.get(&worker).unwrap_or(&NONE)
    }

    /// Notes a file that was made, which nobody has yet if it is new.
    ///
    /// # Errors
    /// The digest of the file that is known, if that is another one.
    pub fn note(&mut self, task: Task, bytes: u64, digest: Digest) -> Result<(), Digest> {
        let new = HeldFile { holders: BTreeSet::new(), bytes, digest };
        let file = self.known.entry(task).or_insert(new);
        if file.digest != digest {
            return Err(file.digest);
        }
        file.bytes = bytes;
        Ok(())
    }

    /// A worker has a file now, however it came. Returns whether the file is known.
    pub fn add_holder(&mut self, task: Task, worker: WorkerId) -> bool {
        let Some(file) = self.known.get_mut(&task) else {
            return false;
        };
        file.holders.insert(worker);
        self.held.entry(worker).or_default().insert(task);
        self.forget_copy(task, worker);
        true
    }

    /// A worker does not have a file. Returns whether it did.
    pub fn remove_holder(&mut self, task: Task, worker: WorkerId) -> bool {
        if let Some(held) = self.held.get_mut(&worker) {
            held.remove(&task);
        }
        self.known.get_mut(&task).is_some_and(|file| file.holders.remove(&worker))
    }

    /// Forgets a file and its copies. Returns who had it, if it was known.
    pub fn forget(&mut self, task: Task) -> Option<BTreeSet<WorkerId>> {
        let holders = self.known.remove(&task)?.holders;
        for holder in &holders {
            self.remove_holder(task, *holder);
        }
        for (worker, _) in self.copies_of(task).collect::<Vec<_>>() {
            self.forget_copy(task, worker);
        }
        Some(holders)
    }

    /// Forgets the files of a layer and of those before it.
    pub fn forget_layers(&mut self, last: Depth) {
        let kept = first(last.next());
        self.known = self.known.split_off(&kept);
        self.copies.retain(|(task, _), _| *task >= kept);
        for tasks in self.held.values_mut().chain(self.coming.values_mut()) {
            *tasks = tasks.split_off(&kept);
        }
    }

    /// How far a copy is that was ordered.
    pub fn copy(&self, task: Task, worker: WorkerId) -> Option<CopyState> {
        self.copies.get(&(task, worker)).copied()
    }

    /// The copies of a file that were ordered.
    pub fn copies_of(&self, task: Task) -> impl Iterator<Item = (WorkerId, CopyState)> {
        let all = (task, WorkerId([0; 16]))..=(task, WorkerId([u8::MAX; 16]));
        self.copies.range(all).map(|((_, worker), copying)| (*worker, *copying))
    }

    /// The files of which copies were ordered from a worker, those that failed among them.
    pub fn coming_to(&self, worker: WorkerId) -> &BTreeSet<Task> {
        self.coming.get(&worker).unwrap_or(&NONE)
    }

    /// Notes how far a copy is that comes to a worker.
    pub fn set_copy(&mut self, task: Task, worker: WorkerId, copying: CopyState) {
        self.copies.insert((task, worker), copying);
        self.coming.entry(worker).or_default().insert(task);
    }

    /// Forgets that a copy comes to a worker. Returns how far it was.
    pub fn forget_copy(&mut self, task: Task, worker: WorkerId) -> Option<CopyState> {
        if let Some(coming) = self.coming.get_mut(&worker) {
            coming.remove(&task);
        }
        self.copies.remove(&(task, worker))
    }

    /// Panics if files and workers contradict each other.
    #[cfg(test)]
    pub fn check(&self) {
        let pairs = |of: &BTreeMap<WorkerId, BTreeSet<Task>>| -> BTreeSet<(Task, WorkerId)> {
            of.iter().flat_map(|(worker, tasks)| tasks.iter().map(|task| (*task, *worker))).collect()
        };
        let of_file = |(task, file): (Task, &HeldFile)| -> Vec<_> {
            file.holders.iter().map(|holder| (task, *holder)).collect()
        };
        assert_eq!(pairs(&self.held), self.iter().flat_map(of_file).collect(), "who holds what");
        assert_eq!(pairs(&self.coming), self.copies.keys().copied().collect(), "what comes to whom");
    }

    /// Changes the bytes of a file.
    #[cfg(test)]
    pub fn set_bytes(&mut self, task: Task, bytes: u64) {
        self.known.get_mut(&task).expect("a known file").bytes = bytes;
    }
}

/// The first file of a layer, in the order of files.
fn first(depth: Depth) -> Task {
    Task { depth, shard: ShardId(0) }
}
