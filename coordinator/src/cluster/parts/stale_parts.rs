//! What must be reconsidered because something has changed.
//!
//! Events are frequent and shards are many, so the coordinator considers only what a change may have
//! affected. Each change of a part returns a [`Dirty`], and the state adds it to what it must reconsider.

use fathom_engine::run::Task;
use fathom_proto::WorkerId;
use std::collections::BTreeSet;
use std::mem::take;
use std::ops::AddAssign;

/// What must be reconsidered. The sum of two contains both.
#[must_use = "what a change has affected must be reconsidered"]
#[derive(Clone, Debug, Default)]
pub struct Dirty {
    missing: bool,
    orphans: bool,
    owners: bool,
    copies: BTreeSet<Task>,
    targets: bool,
    awake: BTreeSet<WorkerId>,
    all_awake: bool,
}

impl Dirty {
    /// Which files are missing, how they are recomputed, and who holds which file: a worker joined or left,
    /// or a needed file was lost or found.
    pub fn missing() -> Self {
        Self { missing: true, ..Self::default() }
    }

    /// Which shards of the current layer have no holder left.
    pub fn orphans() -> Self {
        Self { orphans: true, ..Self::default() }
    }

    /// Which worker computes which shard.
    pub fn owners() -> Self {
        Self { owners: true, ..Self::default() }
    }

    /// Whether these files need more copies.
    pub fn copies(files: impl IntoIterator<Item = Task>) -> Self {
        Self { copies: files.into_iter().collect(), ..Self::default() }
    }

    /// Which workers can take copies of the under-replicated files.
    pub fn targets() -> Self {
        Self { targets: true, ..Self::default() }
    }

    /// Whether there are commands for a worker.
    pub fn worker(id: WorkerId) -> Self {
        Self { awake: BTreeSet::from([id]), ..Self::default() }
    }

    /// Whether there are commands for any worker.
    pub fn all_workers() -> Self {
        Self { all_awake: true, ..Self::default() }
    }

    /// Returns this if `condition` holds, and otherwise nothing.
    pub fn only_if(self, condition: bool) -> Self {
        if condition { self } else { Self::default() }
    }

    /// Returns the union of both.
    pub fn and(mut self, other: Self) -> Self {
        self += other;
        self
    }

    /// Returns whether the missing files must be found.
    #[cfg(test)]
    pub fn has_missing(&self) -> bool {
        self.missing
    }

    /// Returns whether the missing files must be found, and resets this.
    pub fn take_missing(&mut self) -> bool {
        take(&mut self.missing)
    }

    /// Returns whether shards without a holder must be found, and resets this.
    pub fn take_orphans(&mut self) -> bool {
        take(&mut self.orphans)
    }

    /// Returns whether shards must be assigned to workers, and resets this.
    pub fn take_owners(&mut self) -> bool {
        take(&mut self.owners)
    }

    /// Takes the files that may need more copies.
    pub fn take_copies(&mut self) -> BTreeSet<Task> {
        take(&mut self.copies)
    }

    /// Returns whether the under-replicated files must be tried again, and resets this.
    pub fn take_targets(&mut self) -> bool {
        take(&mut self.targets)
    }

    /// Takes the workers for which there may be commands; `None` for all workers.
    pub fn take_awake(&mut self) -> Option<BTreeSet<WorkerId>> {
        let awake = take(&mut self.awake);
        (!take(&mut self.all_awake)).then_some(awake)
    }
}

impl AddAssign for Dirty {
    fn add_assign(&mut self, mut other: Self) {
        self.missing |= other.missing;
        self.orphans |= other.orphans;
        self.owners |= other.owners;
        self.copies.append(&mut other.copies);
        self.targets |= other.targets;
        self.awake.append(&mut other.awake);
        self.all_awake |= other.all_awake;
    }
}
