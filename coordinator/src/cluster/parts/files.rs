//! The files of the current layer and of the layers that are still read: their holders, the copies under way,
//! and the files that have too few holders.

use crate::cluster::event::Millis;
use crate::cluster::parts::Dirty;
use crate::cluster::parts::backoff::PAUSE;
use fathom_engine::run::{Depth, ShardId, Task};
use fathom_layer::Digest;
use fathom_proto::WorkerId;
use std::collections::{BTreeMap, BTreeSet};

/// A layer file, and the stores that contain it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileHolders {
    /// The workers that have the file, alive or not.
    pub holders: BTreeSet<WorkerId>,
    /// Size in bytes; 0 for a file of a committed layer that is known only from the journal.
    pub bytes: u64,
    /// The digest of the checksums of its cosets.
    pub digest: Digest,
}

/// The progress of a commanded copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyState {
    /// The copy was commanded, or the worker last reported it under way, at this time.
    Ordered(Millis),
    /// The copy failed, and is not commanded again before this time.
    Failed(Millis),
}

/// All files and copies, indexed by file and by worker.
#[derive(Clone, Debug, Default)]
pub struct Files {
    known: BTreeMap<Task, FileHolders>,
    /// The files of each worker, alive or not.
    held: BTreeMap<WorkerId, BTreeSet<Task>>,
    copies: BTreeMap<(Task, WorkerId), CopyState>,
    /// The copies commanded from each worker, including failed ones.
    coming: BTreeMap<WorkerId, BTreeSet<Task>>,
    /// Files that are needed and that no live worker holds.
    missing: BTreeSet<Task>,
    /// Files that some worker needs, and none of whose holders that worker can reach: a third worker relays
    /// them.
    relayed: BTreeSet<Task>,
    /// Files that need more copies, and for which no worker could take one.
    under_replicated: BTreeSet<Task>,
    /// When the under-replicated files were last tried.
    tried: Millis,
}

/// The empty set, for a worker without files.
static NONE: BTreeSet<Task> = BTreeSet::new();

impl Files {
    /// Restores the files that the journal knows.
    pub fn new(files: Vec<(Task, FileHolders)>) -> Self {
        let mut held: BTreeMap<WorkerId, BTreeSet<Task>> = BTreeMap::new();
        for (task, file) in &files {
            for holder in &file.holders {
                held.entry(*holder).or_default().insert(*task);
            }
        }
        Self { known: files.into_iter().collect(), held, ..Self::default() }
    }

    /// Returns a file, or `None` if the file is unknown.
    pub fn get(&self, task: Task) -> Option<&FileHolders> {
        self.known.get(&task)
    }

    /// Returns whether a file is known.
    pub fn contains(&self, task: Task) -> bool {
        self.known.contains_key(&task)
    }

    /// Returns all files, in order.
    pub fn iter(&self) -> impl Iterator<Item = (Task, &FileHolders)> {
        self.known.iter().map(|(task, file)| (*task, file))
    }

    /// Returns the files of a layer, in the order of shards.
    pub fn of_layer(&self, depth: Depth) -> impl Iterator<Item = (ShardId, &FileHolders)> {
        let files = self.known.range(first(depth)..first(depth.next()));
        files.map(|(task, file)| (task.shard, file))
    }

    /// Returns the holders of a file, alive or not.
    pub fn holders(&self, task: Task) -> impl Iterator<Item = WorkerId> {
        self.known.get(&task).into_iter().flat_map(|file| file.holders.iter().copied())
    }

    /// Returns the files that a worker holds. The worker need not be alive.
    pub fn held_by(&self, worker: WorkerId) -> &BTreeSet<Task> {
        self.held.get(&worker).unwrap_or(&NONE)
    }

    /// Returns the files that are needed and that no live worker holds.
    pub fn missing(&self) -> &BTreeSet<Task> {
        &self.missing
    }

    /// Returns whether some worker needs a file and can reach none of its holders.
    pub fn is_relayed(&self, task: Task) -> bool {
        self.relayed.contains(&task)
    }

    /// Records a computed file. A new file has no holders yet.
    ///
    /// # Errors
    /// The digest of the known file, if it differs from `digest`.
    pub fn note(&mut self, task: Task, bytes: u64, digest: Digest) -> Result<(), Digest> {
        let new = FileHolders { holders: BTreeSet::new(), bytes, digest };
        let file = self.known.entry(task).or_insert(new);
        if file.digest != digest {
            return Err(file.digest);
        }
        file.bytes = bytes;
        Ok(())
    }

    /// Adds a holder to a file, a worker or the shared store, and forgets the copy commanded from it. Ignores
    /// unknown files.
    pub fn add_holder(&mut self, task: Task, worker: WorkerId) -> Dirty {
        let Some(file) = self.known.get_mut(&task) else {
            return Dirty::default();
        };
        file.holders.insert(worker);
        self.held.entry(worker).or_default().insert(task);
        // A worker that could not reach this file may now be able to compute again.
        Dirty::missing()
            .only_if(self.missing.contains(&task))
            .and(Dirty::owners().only_if(self.relayed.contains(&task)))
            .and(self.forget_copy(task, worker))
    }

    /// Removes a holder from a file, if it was one.
    pub fn remove_holder(&mut self, task: Task, worker: WorkerId) -> Dirty {
        if let Some(held) = self.held.get_mut(&worker) {
            held.remove(&task);
        }
        let was_held = self.known.get_mut(&task).is_some_and(|file| file.holders.remove(&worker));
        lost([task]).only_if(was_held)
    }

    /// Records that a worker is gone. It remains a holder of its files, because it may come back with them.
    /// The copies commanded from it are forgotten.
    pub fn lose(&mut self, worker: WorkerId) -> Dirty {
        let coming = self.coming.remove(&worker).unwrap_or_default();
        for &task in &coming {
            self.copies.remove(&(task, worker));
        }
        Dirty::copies(coming).and(lost(self.held_by(worker).iter().copied()))
    }

    /// Returns what must be reconsidered because a worker must leave once others hold its files.
    pub fn evacuate(&self, worker: WorkerId) -> Dirty {
        Dirty::copies(self.held_by(worker).iter().copied())
    }

    /// Forgets a file that may be wrong and is recomputed, with its copies. Returns `None` if the file was
    /// unknown.
    pub fn discard(&mut self, task: Task) -> Option<Dirty> {
        self.forget(task).map(|_| Dirty::missing())
    }

    /// Forgets a file that is no longer read, with its copies. Returns its holders.
    pub fn release(&mut self, task: Task) -> (BTreeSet<WorkerId>, Dirty) {
        let holders = self.forget(task).unwrap_or_default();
        (holders, Dirty::missing().only_if(self.missing.contains(&task)))
    }

    /// Forgets a file and its copies. Returns its holders, or `None` if the file was unknown.
    fn forget(&mut self, task: Task) -> Option<BTreeSet<WorkerId>> {
        self.under_replicated.remove(&task);
        let holders = self.known.remove(&task)?.holders;
        for holder in &holders {
            self.held.entry(*holder).or_default().remove(&task);
        }
        for (worker, _) in self.copies_of(task).collect::<Vec<_>>() {
            self.remove_copy(task, worker);
        }
        Some(holders)
    }

    /// Forgets the files of the layers up to and including `last`.
    pub fn forget_layers(&mut self, last: Depth) {
        let kept = first(last.next());
        self.known = self.known.split_off(&kept);
        self.copies.retain(|(task, _), _| *task >= kept);
        for tasks in self.held.values_mut().chain(self.coming.values_mut()) {
            *tasks = tasks.split_off(&kept);
        }
    }

    /// Returns the progress of a copy, or `None` if none was commanded.
    pub fn copy(&self, task: Task, worker: WorkerId) -> Option<CopyState> {
        self.copies.get(&(task, worker)).copied()
    }

    /// Returns the copies of a file that were commanded.
    pub fn copies_of(&self, task: Task) -> impl Iterator<Item = (WorkerId, CopyState)> {
        let all = (task, WorkerId([0; 16]))..=(task, WorkerId([u8::MAX; 16]));
        self.copies.range(all).map(|((_, worker), copying)| (*worker, *copying))
    }

    /// Returns the files that a worker was told to copy, including failed copies.
    pub fn coming_to(&self, worker: WorkerId) -> &BTreeSet<Task> {
        self.coming.get(&worker).unwrap_or(&NONE)
    }

    /// Sets the progress of a copy by a worker.
    pub fn set_copy(&mut self, task: Task, worker: WorkerId, copying: CopyState) {
        self.copies.insert((task, worker), copying);
        self.coming.entry(worker).or_default().insert(task);
    }

    /// Forgets that a worker was told to copy a file.
    pub fn forget_copy(&mut self, task: Task, worker: WorkerId) -> Dirty {
        self.remove_copy(task, worker);
        Dirty::copies([task])
    }

    fn remove_copy(&mut self, task: Task, worker: WorkerId) {
        if let Some(coming) = self.coming.get_mut(&worker) {
            coming.remove(&task);
        }
        self.copies.remove(&(task, worker));
    }

    /// Sets which needed files no live worker holds. Tasks start only when none is missing.
    pub fn set_missing(&mut self, missing: BTreeSet<Task>) -> Dirty {
        self.missing = missing;
        Dirty::all_workers()
    }

    /// Sets which files some worker needs and cannot reach.
    pub fn set_relayed(&mut self, relayed: BTreeSet<Task>) -> Dirty {
        let before = std::mem::replace(&mut self.relayed, relayed);
        Dirty::copies(self.relayed.difference(&before).copied())
    }

    /// Records that a file needs more copies, and that no worker could take one.
    pub fn note_under_replicated(&mut self, task: Task) {
        self.under_replicated.insert(task);
    }

    /// Takes the files that need more copies and for which no worker could take one, to try them again.
    pub fn take_under_replicated(&mut self) -> BTreeSet<Task> {
        std::mem::take(&mut self.under_replicated)
    }

    /// Lets the under-replicated files be tried again from time to time, because failed copies may be
    /// commanded again after a while.
    pub fn retry(&mut self, now: Millis) -> Dirty {
        let is_due = now.since(self.tried) >= PAUSE;
        if is_due {
            self.tried = now;
        }
        Dirty::targets().only_if(is_due)
    }

    /// Panics if the indices by file and by worker contradict each other.
    #[cfg(test)]
    pub fn check(&self) {
        // Two indices have the same pairs of a file and a worker if each pair of one is in the other, and
        // both have as many. Sets of pairs would take most of the time of tests that simulate clusters.
        let agree =
            |of: &BTreeMap<WorkerId, BTreeSet<Task>>, count, other: &dyn Fn(Task, WorkerId) -> bool| {
                let pairs = || of.iter().flat_map(|(&id, tasks)| tasks.iter().map(move |&task| (task, id)));
                pairs().all(|(task, id)| other(task, id)) && pairs().count() == count
            };
        let is_held = |task, id| self.known.get(&task).is_some_and(|file| file.holders.contains(&id));
        let holders = self.known.values().map(|file| file.holders.len()).sum();
        assert!(agree(&self.held, holders, &is_held), "holders: {:?}, {:?}", self.held, self.known);
        let is_coming = |task, id| self.copies.contains_key(&(task, id));
        assert!(
            agree(&self.coming, self.copies.len(), &is_coming),
            "copies: {:?}, {:?}",
            self.coming,
            self.copies
        );
    }

    /// Sets the size of a file, in bytes.
    #[cfg(test)]
    pub fn set_bytes(&mut self, task: Task, bytes: u64) {
        self.known.get_mut(&task).expect("a known file").bytes = bytes;
    }
}

/// Returns what must be reconsidered when files have fewer live holders than before.
fn lost(files: impl IntoIterator<Item = Task>) -> Dirty {
    Dirty::missing().and(Dirty::orphans()).and(Dirty::copies(files))
}

/// Returns the first file of a layer, in the order of files.
fn first(depth: Depth) -> Task {
    Task { depth, shard: ShardId(0) }
}
